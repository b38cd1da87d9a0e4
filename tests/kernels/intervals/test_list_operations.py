"""Union, intersection and relative complement of lists of intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia.plain_inertia import INFINITY
from cernis.kernels.intervals.list_operations import (
    Lists,
    cover,
    cover_plain,
    maximal,
    maximal_plain,
    pack,
    subtract,
    subtract_plain,
)
from tests.kernels.drawn import Pairs, bases, collections, groups, integers, is_maximal, unpacked


@st.composite
def covers(draw: st.DrawFn, operands: int) -> tuple[Integers, Integers, Integers, Integers]:
    lists = draw(collections(draw(bases())))
    results = draw(st.integers(0, 5))
    names = draw(groups(operands * results, len(lists[0]) - 1))
    return names.reshape(operands, results), *lists


@st.composite
def twins(draw: st.DrawFn, number: int) -> list[Lists]:
    """Collections with the same number of lists, around the same base."""
    base, lists = draw(bases()), draw(st.integers(0, 4))
    one = collections(base, least=lists).map(lambda found: pack(unpacked(found)[:lists]))
    return [draw(one) for _ in range(number)]


def same(found: Lists, expected: Lists) -> bool:
    return unpacked(found) == unpacked(expected)


@pytest.mark.parametrize("operands", [1, 2, 3, 4, 5])
@given(st.data())
def test_cover_equals_its_twin(operands: int, data: st.DataObject) -> None:
    names, offsets, starts, ends = data.draw(covers(operands))
    least = data.draw(st.integers(1, operands + 1))
    found = cover(names, offsets, starts, ends, least)
    assert same(found, cover_plain(names, offsets, starts, ends, least))
    assert all(map(is_maximal, unpacked(found)))
    assert found[0][0] == 0
    assert len(found[0]) == names.shape[1] + 1


@given(twins(2))
def test_subtract_equals_its_twin(lists: list[Lists]) -> None:
    found = subtract(*lists[0], *lists[1])
    assert same(found, subtract_plain(*lists[0], *lists[1]))
    assert all(map(is_maximal, unpacked(found)))


def combined(lists: list[Lists], least: int) -> Lists:
    """List by list, what at least so many collections cover."""
    number = len(lists[0][0]) - 1
    stacked = pack([own for each in lists for own in unpacked(each)])
    return cover(np.arange(number * len(lists)).reshape(len(lists), number), *stacked, least)


@given(twins(4))
def test_taking_away_one_by_one_is_taking_away_the_union(lists: list[Lists]) -> None:
    left = lists[0]
    for other in lists[1:]:
        left = subtract(*left, *other)
    assert same(left, subtract(*lists[0], *combined(lists[1:], 1)))


@given(twins(2))
def test_what_is_left_and_what_is_shared_are_the_whole(lists: list[Lists]) -> None:
    left, shared = subtract(*lists[0], *lists[1]), combined(lists, 2)
    assert same(combined([left, shared], 1), lists[0])
    assert not len(combined([left, shared], 2)[1])


@given(twins(3))
def test_the_order_of_operands_is_no_matter(lists: list[Lists]) -> None:
    for least in (1, 2, 3):
        assert same(combined(lists, least), combined(lists[::-1], least))


def united(first: Pairs, second: Pairs) -> Pairs:
    return unpacked(combined([pack([first]), pack([second])], 1))[0]


def shared(first: Pairs, second: Pairs) -> Pairs:
    return unpacked(combined([pack([first]), pack([second])], 2))[0]


def left_of(first: Pairs, second: Pairs) -> Pairs:
    return unpacked(subtract(*pack([first]), *pack([second])))[0]


def test_examples() -> None:
    assert united([(5, 20), (26, 30)], [(28, 35)]) == [(5, 20), (26, 35)]
    assert shared([(26, 31)], [(21, 26), (30, 40)]) == [(30, 31)]
    less = left_of([(5, 20), (26, 50)], [(1, 4), (18, 22)])
    assert left_of(less, [(28, 35)]) == [(5, 18), (26, 28), (35, 50)]


def test_what_has_changed() -> None:
    a = left_of([(10, 15), (23, 30), (40, 50), (60, 70)], [(10, 12), (27, 30), (43, 47)])
    a = united(a, [(54, 58), (80, 90), (95, 100)])
    b = left_of([(17, 21), (26, 35), (43, 47), (54, 65)], [(19, 21), (43, 47), (60, 65)])
    b = united(b, [(37, 41), (82, 87), (105, 120)])
    assert united(a, b) == [
        (12, 15), (17, 19), (23, 35), (37, 43), (47, 50), (54, 70), (80, 90), (95, 100), (105, 120)
    ]  # fmt: skip
    assert shared(a, b) == [(26, 27), (40, 41), (54, 58), (82, 87)]
    assert left_of(a, b) == [
        (12, 15), (23, 26), (41, 43), (47, 50), (60, 70), (80, 82), (87, 90), (95, 100)
    ]  # fmt: skip


def test_neighbours_join_and_open_ends_stay_open() -> None:
    assert united([(1, 5)], [(5, 9)]) == [(1, 9)]
    assert united([(1, INFINITY)], [(5, 9)]) == [(1, INFINITY)]
    assert shared([(1, INFINITY)], [(5, INFINITY)]) == [(5, INFINITY)]
    assert left_of([(1, INFINITY)], [(5, INFINITY)]) == [(1, 5)]
    assert left_of([(1, INFINITY)], [(5, 9)]) == [(1, 5), (9, INFINITY)]


def test_no_operand_covers_nothing() -> None:
    none = integers([])
    found = cover(np.empty((0, 3), np.int64), integers([0]), none, none, 1)
    assert unpacked(found) == [[], [], []]


@st.composite
def stretches(draw: st.DrawFn) -> tuple[Integers, Integers, Integers]:
    """Intervals of owners, sorted by owner and start, overlapping."""
    base = draw(bases())
    row = st.tuples(st.integers(0, 2), st.integers(0, 15), st.integers(1, 6), st.booleans())
    found = sorted(draw(st.lists(row, max_size=30)), key=lambda own: own[:2])
    ends = [INFINITY if is_open else base + start + length for _, start, length, is_open in found]
    return (
        integers([own[0] for own in found]),
        base + integers([own[1] for own in found]),
        integers(ends),
    )


@given(stretches())
def test_maximal_equals_its_twin(given_rows: tuple[Integers, Integers, Integers]) -> None:
    found, expected = maximal(*given_rows), maximal_plain(*given_rows)
    assert [own.tolist() for own in found] == [own.tolist() for own in expected]
    for owner in set(found[0].tolist()):
        own = found[0] == owner
        assert is_maximal(list(zip(found[1][own].tolist(), found[2][own].tolist(), strict=True)))
