"""The walk of a lane over many keys: what a query visits, what it tells, what is set aside."""

import random

import numpy as np
import pytest

from cernis.evaluate.sweep.lane_state import LaneState
from cernis.evaluate.sweep.lane_storage import KnownTransitions
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.lane_arrays import HAS_CONFLICTS
from cernis.kernels.sweep.lane_tables import LaneTables
from tests.fuzz.lanes import rows_of
from tests.kernels.sweep.simple_lanes import Delay, Fluent, LaneProgram, Rule, tables_of

ALL_ALLOWED = 2**64 - 1
ON, OFF = 1, 2


def switch(delay: int | None = None) -> LaneTables:
    """A fluent that `on` initiates and `off` terminates, and that ends by itself after a delay."""
    rules = (Rule("init", "v", any=frozenset({"on"})), Rule("term", "v", any=frozenset({"off"})))
    delays = () if delay is None else (Delay("v", delay, None, False),)
    return tables_of(LaneProgram(("on", "off"), (), (Fluent(("v",), rules, delays),))).tables


def lane(keys: int, delay: int | None = None) -> LaneState:
    state = LaneState(switch(delay))
    state.add_keys(np.zeros(keys, np.uint64), np.full(keys, ALL_ALLOWED, np.uint64))
    return state


def change(state: LaneState, *records: tuple[int, int, int], gone: bool = False) -> None:
    keys, times, fired = (np.array(column) for column in zip(*records, strict=True))
    state.change(keys, times, fired.astype(np.uint64), gone=gone)


def test_an_open_interval_that_ends_has_gone_and_come() -> None:
    state = lane(2)
    change(state, (1, 5, ON))
    assert rows_of(state.update(0, 10).come) == [(0, 1, 6, NEVER)]
    change(state, (1, 12, OFF))
    changes = state.update(0, 20)
    assert rows_of(changes.gone) == [(0, 1, 6, NEVER)]
    assert rows_of(changes.come) == [(0, 1, 6, 13)]
    assert rows_of(state.intervals()) == [(0, 1, 6, 13)]


def test_an_interval_keeps_its_start_when_its_record_is_forgotten() -> None:
    state = lane(1)
    change(state, (0, 5, ON))
    state.update(0, 10)
    assert rows_of(state.update(50, 60).come) == []
    assert rows_of(state.intervals()) == [(0, 0, 6, NEVER)]


def test_a_run_goes_on_with_the_transitions_of_one_that_has_ended() -> None:
    known, tables = KnownTransitions(), switch(delay=7)
    answers = []
    for count in (40, 40, 3):
        assert known.is_free
        state = LaneState(tables, known=known)
        assert not known.is_free
        state.add_keys(np.zeros(count, np.uint64), np.full(count, ALL_ALLOWED, np.uint64))
        change(state, *((key, 5 + key, ON if key % 3 else OFF) for key in range(count)))
        change(state, *((key, 9 + key, OFF) for key in range(0, count, 2)))
        first = rows_of(state.update(0, 30).come)
        answers.append((first, rows_of(state.update(20, 90).come), rows_of(state.intervals())))
        del state
    assert answers[0] == answers[1]
    assert [row for row in answers[0][0] if row[1] < 3] == answers[2][0]


def test_what_is_due_happens_without_records() -> None:
    state = lane(3, delay=100)
    change(state, (2, 5, ON))
    state.update(0, 10)
    assert rows_of(state.update(60, 90).come) == []
    assert rows_of(state.update(160, 190).come) == [(0, 2, 6, 106)]


def test_records_after_the_query_wait() -> None:
    state = lane(1)
    change(state, (0, 15, ON))
    assert rows_of(state.update(0, 10).come) == []
    assert rows_of(state.update(0, 20).come) == [(0, 0, 16, NEVER)]


def test_what_cannot_be_used_is_counted() -> None:
    state = lane(1)
    state.update(0, 10)
    change(state, (0, 4, ON), (0, 12, ON))
    change(state, (0, 13, ON), gone=True)
    changes = state.update(5, 15)
    assert (changes.too_late, changes.unmatched) == (1, 1)


def test_initial_states_are_told_once() -> None:
    state = LaneState(switch(), start=100)
    state.add_keys(np.array([1, 0], np.uint64), np.full(2, ALL_ALLOWED, np.uint64))
    assert rows_of(state.update(100, 110).come) == [(0, 0, 101, NEVER)]
    assert rows_of(state.update(100, 120).come) == []


def test_more_states_than_there_are_ids() -> None:
    """Twenty fluents in all their states: rows become wide, and nothing else changes."""
    events = tuple(f"{kind}{n}" for n in range(20) for kind in ("on", "off"))
    fluents = tuple(
        Fluent(
            (f"v{n}",),
            (
                Rule("init", f"v{n}", any=frozenset({f"on{n}"})),
                Rule("term", f"v{n}", any=frozenset({f"off{n}"})),
            ),
        )
        for n in range(20)
    )
    tables = tables_of(LaneProgram(events, (), fluents)).tables
    r = np.random.default_rng(1)
    count, keys = 150_000, 10
    columns = (r.integers(0, keys, count), np.arange(1, count + 1), r.integers(0, 40, count))
    totals = []
    for is_wide in (False, True):
        state = LaneState(tables)
        if is_wide:
            state._widen()
        state.add_keys(np.zeros(keys, np.uint64), np.full(keys, ALL_ALLOWED, np.uint64))
        for half in (slice(0, count // 3), slice(count // 3, count)):
            fired = np.uint64(1) << columns[2][half].astype(np.uint64)
            state.change(columns[0][half], columns[1][half], fired)
            state.update(0, int(columns[1][half][-1]))
        assert state._is_wide
        totals.append(rows_of(state.intervals()))
    assert totals[0] == totals[1]
    assert len(totals[0]) > 30_000


def test_times_far_apart() -> None:
    state = lane(2)
    change(state, (0, 5, ON), (1, 6, ON))
    state.update(0, 10)
    far = 2**33
    change(state, (0, far, OFF))
    changes = state.update(far - 100, far + 10)
    assert rows_of(changes.come) == [(0, 0, 6, far + 1)]
    assert not state._is_wide
    change(state, (1, 2 * far, OFF))
    assert rows_of(state.update(far - 50, 2 * far).come) == [(0, 1, 7, 2 * far + 1)]
    assert state._is_wide
    assert rows_of(state.intervals()) == [(0, 0, 6, far + 1), (0, 1, 7, 2 * far + 1)]


@pytest.mark.parametrize("seed", range(12))
def test_conflicts_are_counted_where_there_may_be_some(seed: int) -> None:
    """Keys without a mark have none, as a count over all keys shows."""
    r = random.Random(seed)
    rules = tuple(Rule("init", value, any=frozenset({f"to {value}"})) for value in "vw")
    state = LaneState(
        tables_of(LaneProgram(("to v", "to w"), (), (Fluent(("v", "w"), rules),))).tables
    )
    state.add_keys(np.zeros(3, np.uint64), np.full(3, ALL_ALLOWED, np.uint64))
    given: list[tuple[int, int, int]] = []
    known = edge = 0
    for query in range(10, 80, 10):
        edge = max(edge, query - r.choice([10, 25]))
        rows = {(r.randrange(3), r.randint(edge + 1, query), r.choice([1, 2])) for _ in range(9)}
        new = sorted(rows - {*given})
        change(state, *new)
        gone = [row for row in given if row[1] > edge and r.random() < 0.3]
        if gone:
            change(state, *gone, gone=True)
        given = [row for row in given if row not in gone] + new
        state.update(edge, query)
        counted = state.conflicts()
        state._marks[: state.key_count] |= HAS_CONFLICTS
        points = {(key, time) for key, time, _ in given if time > edge}
        fired = {point: {f for k, t, f in given if (k, t) == point} for point in points}
        expected = sum(len(each) == 2 for each in fired.values())
        assert counted == state.conflicts() == expected, f"seed {seed}, query {query}"
        known += counted
    assert known
