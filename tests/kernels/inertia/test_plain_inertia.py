"""From points to intervals: each kernel, its twin, and the definition."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia.plain_inertia import (
    INFINITY,
    Held,
    hold,
    hold_each,
    hold_each_plain,
    hold_plain,
)
from tests.kernels.drawn import Pairs, actions, bases, carried, integers, is_maximal, rows

VALUES = 3
Input: TypeAlias = tuple[Integers, Integers, Integers, Integers, Integers, Integers, int]
Kernel: TypeAlias = Callable[..., Held]
Answer: TypeAlias = tuple[dict[tuple[int, int], Pairs], int]


@st.composite
def inputs(draw: st.DrawFn, one_each: bool) -> Input:
    base = draw(bases())
    own = draw(rows(base, actions(VALUES)))
    return *own, *draw(carried(base, VALUES, one_each)), draw(st.sampled_from([1, 40]))


def listed(found: Held) -> list[tuple[int, ...]]:
    """The intervals in a definite order."""
    return sorted(zip(*(column.tolist() for column in found[:4]), strict=True))


def answer(found: Held) -> Answer:
    """The intervals of each instance and value, in the order they were given."""
    pairs: dict[tuple[int, int], Pairs] = {}
    for instance, value, start, end in zip(*(c.tolist() for c in found[:4]), strict=True):
        pairs.setdefault((instance, value), []).append((start, end))
    return pairs, found[4]


def joined(pairs: Iterable[tuple[int, int]]) -> Pairs:
    found: Pairs = []
    for start, end in sorted(pairs):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def defined(
    instances: Integers, times: Integers, codes: Integers, carried_instances: Integers,
    carried_values: Integers, carried_starts: Integers, tick: int, ties: str,
) -> Answer:  # fmt: skip
    """The definition: an initiation holds until the first break behind it.

    A break of a value is a termination of it, or an initiation of another one. By the rule
    `break`, an initiation at a break does not count.
    """
    points = list(zip(instances.tolist(), times.tolist(), codes.tolist(), strict=True))
    before = list(
        zip(carried_instances.tolist(), carried_values.tolist(), carried_starts.tolist(),
            strict=True)
    )  # fmt: skip
    pairs: dict[tuple[int, int], Pairs] = {}
    conflicts = 0
    for instance in {own[0] for own in points} | {own[0] for own in before}:
        mine = [(time, code) for own, time, code in points if own == instance]
        begun = {time: {code // 2 for at, code in mine if at == time and code % 2}
                 for time, _ in mine}  # fmt: skip
        conflicts += sum(len(values) > 1 for values in begun.values())
        for value in range(VALUES):
            breaks = {time for time, code in mine if code in (-2, 2 * value)}
            breaks |= {time for time, values in begun.items() if values - {value}}
            starts = [
                (time, time + tick) for time, values in begun.items()
                if value in values and (ties == "initiation" or time not in breaks)
            ]  # fmt: skip
            starts += [(start - 2**62, start) for own, held, start in before
                       if (own, held) == (instance, value)]  # fmt: skip
            ends = [min((t + tick for t in breaks if t > time), default=INFINITY)
                    for time, _ in starts]  # fmt: skip
            if starts:
                found = zip((start for _, start in starts), ends, strict=True)
                pairs[instance, value] = joined(found)
    return pairs, conflicts


@given(inputs(one_each=True))
def test_hold_equals_its_twin(given_input: Input) -> None:
    found, expected = hold(*given_input), hold_plain(*given_input)
    assert listed(found) == listed(expected)
    assert found[4] == expected[4]


@given(inputs(one_each=False))
def test_hold_each_equals_its_twin(given_input: Input) -> None:
    found, expected = hold_each(*given_input), hold_each_plain(*given_input)
    assert listed(found) == listed(expected)
    assert found[4] == expected[4]


@given(inputs(one_each=True))
def test_hold_is_inertia_with_breaks_before_initiations(given_input: Input) -> None:
    assert answer(hold(*given_input)) == defined(*given_input, "break")


@given(inputs(one_each=False))
def test_hold_each_is_inertia_with_initiations_before_breaks(given_input: Input) -> None:
    assert answer(hold_each(*given_input)) == defined(*given_input, "initiation")


@given(inputs(one_each=True))
def test_a_fluent_has_one_value_at_a_time(given_input: Input) -> None:
    found = hold(*given_input)
    rows_found = list(zip(*(column.tolist() for column in found[:4]), strict=True))
    assert rows_found == sorted(rows_found, key=lambda own: (own[0], own[2]))
    for instance in {own[0] for own in rows_found}:
        edges = [edge for own in rows_found if own[0] == instance for edge in own[2:]]
        assert edges == sorted(edges)
    assert all(map(is_maximal, answer(found)[0].values()))


@given(inputs(one_each=False))
def test_intervals_of_a_value_are_maximal(given_input: Input) -> None:
    assert all(map(is_maximal, answer(hold_each(*given_input))[0].values()))


def held(kernel: Kernel, *points: tuple[int, int]) -> list[tuple[int, ...]]:
    """Value, start and end for the actions of one instance."""
    none = integers([])
    times, codes = integers([own[0] for own in points]), integers([own[1] for own in points])
    found = kernel(integers([0] * len(points)), times, codes, none, none, none, 1)
    return [own[1:] for own in listed(found)]


BEGIN, END, BEGIN_OTHER, END_ALL = 1, 0, 3, -2


@pytest.mark.parametrize("kernel", [hold, hold_each])
def test_later_initiations_and_terminations_change_nothing(kernel: Kernel) -> None:
    assert held(kernel, (50, BEGIN), (65, BEGIN), (75, END), (86, END)) == [(0, 51, 76)]


@pytest.mark.parametrize("kernel", [hold, hold_each])
def test_another_value_and_all_break(kernel: Kernel) -> None:
    assert held(kernel, (5, BEGIN), (9, BEGIN_OTHER)) == [(0, 6, 10), (1, 10, INFINITY)]
    assert held(kernel, (5, BEGIN), (9, END_ALL)) == [(0, 6, 10)]


def test_ties() -> None:
    assert held(hold, (5, BEGIN), (5, BEGIN_OTHER)) == []
    assert held(hold_each, (5, BEGIN), (5, BEGIN_OTHER)) == [(0, 6, INFINITY), (1, 6, INFINITY)]
    assert held(hold, (5, BEGIN), (9, END), (9, BEGIN)) == [(0, 6, 10)]
    assert held(hold_each, (5, BEGIN), (9, END), (9, BEGIN)) == [(0, 6, INFINITY)]


@pytest.mark.parametrize("kernel", [hold, hold_each])
def test_what_is_carried_stays_where_nothing_happens(kernel: Kernel) -> None:
    none = integers([])
    found = kernel(none, none, none, integers([2, 7]), integers([1, 0]), integers([-5, 3]), 1)
    assert listed(found) == [(2, 1, -5, INFINITY), (7, 0, 3, INFINITY)]
    assert listed(kernel(none, none, none, none, none, none, 1)) == []
