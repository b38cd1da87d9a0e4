"""From points to intervals with delayed effects."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.delays import NO_EFFECT, hold_delayed
from cernis.kernels.inertia import INFINITY, hold

from .drawn import Integers, actions, bases, carried, integers, rows

VALUES = 3
Rows = tuple[Integers, Integers, Integers]


@given(
    bases().flatmap(
        lambda b: st.tuples(rows(b, actions(VALUES)), carried(b, VALUES, one_each=True))
    )
)
def test_without_effects_it_is_hold(given_rows: tuple[Rows, Rows]) -> None:
    own, before = given_rows
    known = np.unique(np.concatenate([own[0], before[0]]))
    none, size = np.full(VALUES, NO_EFFECT), (VALUES, len(known))
    found: Any = hold_delayed(
        known, *own, *before, before[2], np.full(size, NO_EFFECT), none, np.ones(size, np.int64),
        np.zeros(VALUES, np.int64), INFINITY - 1, 1,
    )  # fmt: skip
    expected = hold(*own, *before, 1)
    assert [c.tolist() for c in found[:4]] == [c.tolist() for c in expected[:4]]
    assert found[10] == expected[4]


@pytest.mark.parametrize(
    ("postponable", "end", "expected"),
    [
        (0, None, [(0, 3, 13), (1, 13, INFINITY)]),
        (1, None, [(0, 3, 17), (1, 17, INFINITY)]),
        (0, 8, [(0, 3, 9)]),
        (1, 8, [(0, 3, 9)]),
        (0, 14, [(0, 3, 13), (1, 13, INFINITY)]),
        (1, 14, [(0, 3, 15)]),
    ],
)
def test_an_effect_takes_place_unless_its_value_is_broken_before(
    postponable: int, end: int | None, expected: list[tuple[int, int, int]]
) -> None:
    """Initiated at 2, 4 and 6; ten later another value, unless terminated before."""
    points = [(2, 1), (4, 1), (6, 1)] + ([] if end is None else [(end, 0)])
    times, codes = integers([own[0] for own in points]), integers([own[1] for own in points])
    none, one = integers([]), np.ones((2, 1), np.int64)
    found: Any = hold_delayed(
        integers([0]), np.zeros(len(points), np.int64), times, codes, none, none, none, none,
        integers([10, NO_EFFECT]).reshape(2, 1), integers([1, -1]), one, integers([postponable, 0]),
        100, 1,
    )  # fmt: skip
    assert list(zip(*(column.tolist() for column in found[1:4]), strict=True)) == expected
