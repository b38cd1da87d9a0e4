"""One point of a lane: vectors of delayed effects, the twin, and the meaning by dictionaries."""

import random

import numpy as np
import pytest

from cernis.kernels.sweep import lane_tables as lt
from cernis.kernels.sweep.transition import plain_transition, transitions, with_derived
from tests.kernels.sweep.simple_lanes import (
    Delay,
    Event,
    Fluent,
    LaneProgram,
    NamedTables,
    Rule,
    SimpleLane,
    Static,
    random_program,
    tables_of,
)

ALL_ALLOWED = 2**64 - 1


def step(tables: lt.LaneTables, fired: int, word: int, allowed: int = ALL_ALLOWED) -> list[int]:
    """One transition by the kernel."""
    columns = transitions(tables, *(np.array([own], np.uint64) for own in (fired, word, allowed)))
    return [int(column[0]) for column in columns]


def walk(
    named: NamedTables, records: list[tuple[int, str]], query: int
) -> list[tuple[str, int, int]]:
    """The intervals of a key by one transition after the other, timers beside it."""
    tables, tick = named.tables, named.tables.tick
    names = {bit: name for name, bit in named.state.items()}
    word = with_derived(tables, 0, ALL_ALLOWED)
    since = {bit: 1 for bit in range(64) if word >> bit & 1}
    armed_at: dict[int, int] = {}
    closed: list[tuple[str, int, int]] = []
    last = 0
    while True:
        dues = [
            (armed_at[row[lt.ARMED]] + row[lt.DELAY], row[lt.DUE])
            for row in tables.delays.tolist()
            if word >> row[lt.ARMED] & 1
        ]
        points = [time for time, _ in [*records, *dues] if last < time <= query]
        if not points:
            break
        point = min(points)
        fired = named.fired_word(event for time, event in records if time == point)
        fired |= sum(1 << bit for time, bit in dues if time == point)
        new, armed, _, _ = step(tables, fired, word)
        assert plain_transition(tables, fired, word, ALL_ALLOWED)[:2] == (new, armed)
        armed_at |= {bit: point for bit in range(64) if armed >> bit & 1}
        for bit in range(64):
            if (new & ~word) >> bit & 1:
                since[bit] = point + tick
            elif (word & ~new) >> bit & 1:
                closed.append((names[bit], since.pop(bit), point + tick))
        word, last = new, point
    open_ones = [(names[bit], start, np.iinfo(np.int64).max) for bit, start in since.items()]
    return sorted(own for own in [*closed, *open_ones] if not own[0].startswith("armed"))


def delayed(
    is_postponable: bool, delay: int, is_rtec: bool = False, chain: bool = False
) -> LaneProgram:
    """A fluent with the values v, w and u, and the effect of v after the delay."""
    rules = (
        Rule("init", "v", any=frozenset({"on"})),
        Rule("term", "v", any=frozenset({"off"})),
    )
    delays = [Delay("v", delay, "w", is_postponable)]
    if chain:
        delays.append(Delay("w", 2, "u", False))
    fluent = Fluent(("v", "w", "u"), rules, tuple(delays))
    return LaneProgram(("on", "off"), (), (fluent,), "break", is_rtec)


NEVER = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("program", "on", "off", "expected"),
    [
        (delayed(False, 10), [2, 4, 6], [], [("v", 3, 13), ("w", 13, NEVER)]),
        (delayed(True, 10), [2, 4, 6], [], [("v", 3, 17), ("w", 17, NEVER)]),
        (delayed(False, 10), [2, 4, 6], [8], [("v", 3, 9)]),
        (delayed(True, 10), [2, 4, 6], [8], [("v", 3, 9)]),
        (delayed(False, 10), [2, 4, 6], [14], [("v", 3, 13), ("w", 13, NEVER)]),
        (delayed(True, 10), [2, 4, 6], [14], [("v", 3, 15)]),
        (delayed(False, 4), [1, 5], [], [("v", 2, 6), ("w", 10, NEVER)]),
        (delayed(True, 4), [1, 5], [], [("v", 2, 6), ("w", 10, NEVER)]),
        (delayed(True, 4, is_rtec=True), [1, 5], [], [("v", 2, 10), ("w", 10, NEVER)]),
        (delayed(False, 4, chain=True), [1, 5], [], [("u", 8, NEVER), ("v", 2, 6)]),
    ],
)
def test_delayed_effects_of_initiations_that_win_or_lose(
    program: LaneProgram, on: list[int], off: list[int], expected: list[tuple[str, int, int]]
) -> None:
    records = [(time, "on") for time in on] + [(time, "off") for time in off]
    assert walk(tables_of(program), records, 100) == expected
    simple = SimpleLane(program)
    simple.walk(records, 100)
    assert simple.intervals() == expected


def test_two_values_at_once_leave_none_and_are_a_conflict() -> None:
    rules = tuple(Rule("init", pair, any=frozenset({f"to {pair}"})) for pair in "ab")
    program = LaneProgram(("to a", "to b"), (), (Fluent(("a", "b"), rules),))
    named = tables_of(program)
    both = named.fired_word(["to a", "to b"])
    assert step(named.tables, both, named.state_word(["a"])) == [0, 0, 0, 1]
    counted = named.tables._replace(ties=lt.INITIATION)
    assert step(counted, both, 0) == [named.state_word(["a", "b"]), 0, 0, 1]


def test_a_value_that_is_not_allowed_breaks_others_and_has_no_effect() -> None:
    named = tables_of(delayed(False, 4))
    on, held = named.fired_word(["on"]), named.state_word(["w"])
    assert step(named.tables, on, held, held) == [0, 0, 0, 0]


def test_signals_reach_later_blocks_at_the_same_point() -> None:
    program = LaneProgram(
        ("e",),
        ("d",),
        (
            Event((Rule("signal", "d", any=frozenset({"e"}), neg=frozenset({"a"})),)),
            Fluent(("a",), (Rule("init", "a", any=frozenset({"d"})),)),
            Static("s", ((frozenset({"a"}), frozenset()),)),
            Fluent(("b",), (Rule("init", "b", starts=frozenset({"s"})),)),
        ),
    )
    named = tables_of(program)
    held = named.state_word(["a", "s", "b"])
    assert step(named.tables, 1, 0) == [held, 0, named.fired_word(["d"]), 0]
    assert step(named.tables, 1, held) == [held, 0, 0, 0]


@pytest.mark.parametrize("seed", range(40))
def test_random_lanes_by_kernel_twin_and_meaning(seed: int) -> None:
    r = random.Random(seed)
    program = random_program(r)
    named = tables_of(program)
    times = [program.tick * r.randint(1, 60) for _ in range(40)]
    records = [(time, r.choice(program.events)) for time in times]
    simple = SimpleLane(program)
    simple.begin(())
    query = 80 * program.tick
    simple.walk(records, query)
    start = program.tick  # what holds at first holds from the first point
    found = [
        (pair, start if since == 1 else since, end)
        for pair, since, end in walk(named, records, query)
    ]
    assert found == simple.intervals(), f"seed {seed}"
