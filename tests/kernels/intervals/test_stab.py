"""Points against intervals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.inertia.plain_inertia import INFINITY
from cernis.kernels.intervals.list_operations import pack
from cernis.kernels.intervals.stab import stab, stab_plain
from tests.kernels.drawn import Pairs, bases, collections, groups, integers, intervals, sized


@st.composite
def questions(draw: st.DrawFn, sort: bool, most: int) -> tuple[Any, ...]:
    base = draw(bases())
    lists = draw(collections(base, most=most))
    points = integers(draw(sized(st.integers(-2, 4 * most), 40))) + base
    own = draw(groups(len(points), len(lists[0]) - 1))
    if sort:
        order = np.lexsort((points, own))
        own, points = own[order], points[order]
    return own, points, *lists


@given(questions(sort=True, most=12))
def test_sorted_points_are_found_as_by_its_twin(question: tuple[Any, ...]) -> None:
    assert stab(*question).tolist() == stab_plain(*question).tolist()


@given(questions(sort=False, most=12))
def test_points_in_any_order_are_found_as_by_its_twin(question: tuple[Any, ...]) -> None:
    assert stab(*question).tolist() == stab_plain(*question).tolist()


@given(bases().flatmap(lambda base: intervals(base, most=80)), st.data())
def test_long_lists_are_searched_as_they_are_walked(own: Pairs, data: st.DataObject) -> None:
    first = own[0][0] if own else 0
    points = first + np.sort(integers(data.draw(sized(st.integers(-2, 400), 40))))
    groups, lists = np.zeros(len(points), np.int64), pack([own])
    one_by_one = [stab(groups[:1], points[at : at + 1], *lists) for at in range(len(points))]
    assert stab(groups, points, *lists).tolist() == [bool(found[0]) for found in one_by_one]
    assert stab(groups, points, *lists).tolist() == stab_plain(groups, points, *lists).tolist()


@pytest.mark.parametrize(
    ("point", "holds"), [(50, False), (51, True), (75, True), (76, False), (90, True)]
)
def test_starts_are_in_and_ends_are_not(point: int, holds: bool) -> None:
    lists = pack([[(51, 76), (80, INFINITY)]])
    assert stab(integers([0]), integers([point]), *lists).tolist() == [holds]


def test_nothing_holds_at_no_point_or_in_no_list() -> None:
    none = integers([])
    assert stab(none, none, *pack([])).tolist() == []
    assert stab(integers([-1, 0]), integers([1, 1]), *pack([[]])).tolist() == [False, False]
