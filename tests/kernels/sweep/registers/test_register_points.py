"""Values that no bit stands for: what initiates, replaces, ends and contradicts them."""

import numpy as np
import pytest

from cernis.evaluate.sweep.lane_state import LaneState
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.registers import guards, register_points, register_tables
from tests.fuzz.lanes import rows_of
from tests.kernels.sweep.simple_lanes import (
    Guard,
    LaneProgram,
    NamedTables,
    OpenFluent,
    OpenRule,
    Rule,
    tables_of,
)

SET, END = frozenset({"p0"}), frozenset({"p1"})


def lane(is_wide: bool, *rules: OpenRule, guards: tuple[Guard, ...] = ()) -> tuple:
    """A lane of one fluent that takes any value, with a record of `p0` or `p1` for each."""
    fluent = OpenFluent("r0", (), rules)
    named = tables_of(LaneProgram(("p0", "p1"), (), (fluent,), guards=guards))
    state = LaneState(named.tables)
    if is_wide:
        state._widen()
    state.add_keys(np.zeros(1, np.uint64), np.full(1, 2**64 - 1, np.uint64))
    return state, named


def change(state: LaneState, named: NamedTables, *records: tuple[int, str], gone=False) -> None:
    times = np.array([time for time, _ in records])
    fired = np.array([named.fired_word([event]) for _, event in records], np.uint64)
    values = np.array([int(event.partition(":")[2]) for _, event in records])
    payload = np.column_stack([values, values.astype(np.float64).view(np.int64)])
    state.change(np.zeros(len(times), np.int64), times, fired, gone=gone, payload=payload)


SETS = OpenRule(Rule("init", "", any=SET), "payload")
ENDS = OpenRule(Rule("term", "", any=END), "payload")


@pytest.mark.parametrize("is_wide", [False, True])
def test_another_value_ends_the_one_before_and_the_same_again_does_nothing(is_wide: bool) -> None:
    state, named = lane(is_wide, SETS)
    change(state, named, (2, "p0:7"), (5, "p0:7"), (9, "p0:8"))
    told = [row[2:] for row in rows_of(state.update(0, 20).values_come)]
    assert told == [(3, 10, 7), (10, NEVER, 8)]


@pytest.mark.parametrize("is_wide", [False, True])
def test_two_values_at_one_point_are_a_conflict_and_none_holds(is_wide: bool) -> None:
    state, named = lane(is_wide, SETS)
    change(state, named, (2, "p0:7"), (5, "p0:8"), (5, "p0:9"))
    changes = state.update(0, 20)
    assert [row[2:] for row in rows_of(changes.values_come)] == [(3, 6, 7)]
    assert changes.conflicts == state.conflicts() == 1
    change(state, named, (5, "p0:9"), gone=True)
    changes = state.update(0, 20)
    assert [row[2:] for row in rows_of(changes.values_come)] == [(6, NEVER, 8)]
    assert (changes.conflicts, state.conflicts()) == (-1, 0)


@pytest.mark.parametrize("is_wide", [False, True])
def test_only_the_value_that_is_terminated_ends(is_wide: bool) -> None:
    state, named = lane(is_wide, SETS, ENDS)
    change(state, named, (2, "p0:7"), (5, "p1:8"), (9, "p1:7"), (12, "p0:3"), (12, "p1:3"))
    assert [row[2:] for row in rows_of(state.update(0, 20).values_come)] == [(3, 10, 7)]


def test_a_value_keeps_its_start_at_the_edge() -> None:
    state, named = lane(False, SETS)
    change(state, named, (2, "p0:7"), (5, "p0:8"))
    state.update(0, 20)
    state.update(30, 40)
    assert [row[2:] for row in rows_of(state.value_intervals())] == [(6, NEVER, 8)]
    restored = LaneState.restored(state.tables, state.saved())
    change(restored, named, (45, "p0:1"))
    assert [row[2:] for row in rows_of(restored.update(35, 50).values_come)] == [
        (6, 46, 8),
        (46, NEVER, 1),
    ]


def test_guards_compare_with_the_value_before_the_point() -> None:
    """A value that falls by more than 2 is not taken."""
    guard = Guard("g0", "p0", "r0", "more", 2)
    taken = OpenRule(Rule("init", "", any=SET, none=frozenset({"g0"})), "payload")
    state, named = lane(False, taken, guards=(guard,))
    change(state, named, (2, "p0:7"), (5, "p0:5"), (8, "p0:1"), (11, "p0:3"))
    told = [row[2:] for row in rows_of(state.update(0, 20).values_come)]
    assert told == [(3, 6, 7), (6, 12, 5), (12, NEVER, 3)]
    assert register_tables.GUARD in named.tables.registers.guards[:, 0]
    assert guards.guard_bits is register_points.guard_bits
