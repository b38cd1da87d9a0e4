"""From marks on rows to intervals."""

from typing import TypeAlias

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Bytes, Integers
from cernis.kernels.inertia.marked_rows import (
    MOST_ACTIONS,
    Stretches,
    hold_rows,
    hold_rows_plain,
    mark,
    mark_plain,
    stretches,
    stretches_plain,
)
from cernis.kernels.inertia.plain_inertia import hold
from tests.kernels.drawn import actions, bases, carried, integers, rows

VALUES = 3
Input: TypeAlias = tuple[
    Stretches, Integers, Bytes, Integers, Integers, Integers, Integers, Integers, Integers,
    Integers, int,
]  # fmt: skip


def _whole(groups: Integers, times: Integers) -> Stretches:
    found = stretches(groups, times)
    assert found is not None
    return found


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    base = draw(bases())
    codes = draw(st.lists(actions(VALUES), max_size=MOST_ACTIONS, unique=True).map(integers))
    flags = st.integers(0, (1 << len(codes)) - 1)
    marks = draw(st.sampled_from([flags, st.just(0) | flags]))
    # Long stretches of one mark, also across groups, are passed over.
    drawn = draw(rows(base, marks, most=60))
    long: int = draw(st.sampled_from([1, 20]))
    groups, times, own = (np.repeat(column, long) for column in drawn)
    times = times + np.arange(len(times)) if draw(st.booleans()) else times
    order = np.lexsort((times, groups))
    groups, times = groups[order], times[order]
    more = draw(rows(base, actions(VALUES), most=10))
    before = draw(carried(base, VALUES, one_each=True))
    own = own[order].astype(np.uint8)
    return _whole(groups, times), times, own, codes, *more, *before, 1


@given(inputs())
def test_hold_rows_equals_its_twin(given_input: Input) -> None:
    found, expected = hold_rows(*given_input), hold_rows_plain(*given_input)
    assert [column.tolist() for column in found[:4]] == [own.tolist() for own in expected[:4]]
    assert found[4] == expected[4]


@given(inputs())
def test_without_rows_it_is_hold(given_input: Input) -> None:
    none = integers([])
    rest = given_input[4:]
    found = hold_rows(_whole(none, none), none, none.astype(np.uint8), integers([]), *rest)
    assert [column.tolist() for column in found[:4]] == [own.tolist() for own in hold(*rest)[:4]]


def test_long_stretches_without_marks() -> None:
    """Also where marks do not begin at a multiple of eight."""
    none = integers([])
    marks = np.zeros(1001, np.uint8)
    marks[[3, 300, 999]] = 1, 2, 1
    for shift in range(9):
        times = np.arange(1001 - shift)
        own = _whole(times // 500, times)
        found = hold_rows(
            own, times, marks[shift:], integers([1, 0]), none, none, none, none, none, none, 1
        )
        plain = hold_rows_plain(
            own, times, marks[shift:], integers([1, 0]), none, none, none, none, none, none, 1
        )
        assert [column.tolist() for column in found[:4]] == [own.tolist() for own in plain[:4]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12).map(sorted), bases())
def test_stretches_equal_their_twin(points: list[tuple[int, int]], base: int) -> None:
    groups, times = (integers([point[at] for point in points]) + base for at in (0, 1))
    found, plain = stretches(groups, times), stretches_plain(groups, times)
    assert (found is None) == (plain is None)
    if found is not None and plain is not None:
        assert [own.tolist() for own in found] == [own.tolist() for own in plain]


@given(st.lists(st.integers(0, 9), max_size=12).map(integers), st.integers(0, MOST_ACTIONS - 1))
def test_mark_equals_its_twin(chosen: Integers, bit: int) -> None:
    found, expected = np.full(10, 16, np.uint8), np.full(10, 16, np.uint8)
    mark(found, chosen, bit)
    mark_plain(expected, chosen, bit)
    assert found.tolist() == expected.tolist()
