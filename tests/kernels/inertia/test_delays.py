"""From points to intervals with delayed effects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia.delays import Effects, hold_delayed
from cernis.kernels.inertia.plain_inertia import INFINITY, hold, hold_each
from cernis.kernels.inertia.points import NO_ACTION, NO_EFFECT
from tests.kernels.drawn import actions, bases, carried, integers, rows

VALUES = 3
Rows = tuple[Integers, Integers, Integers]


def _no_effects() -> Effects:
    none = np.full((1, 1), NO_ACTION)
    return Effects(
        np.zeros(VALUES, np.int64), np.full((1, 1), NO_EFFECT), none, none, integers([0])
    )


@given(
    bases().flatmap(
        lambda b: st.tuples(rows(b, actions(VALUES)), carried(b, VALUES, one_each=True))
    )
)
def test_without_effects_it_is_hold(given_rows: tuple[Rows, Rows]) -> None:
    own, before = given_rows
    known = np.unique(np.concatenate([own[0], before[0]]))
    found = hold_delayed(known, *own, *before, before[2], _no_effects(), INFINITY - 1, 1)
    expected = hold(*own, *before, 1)
    assert [c.tolist() for c in found[:4]] == [c.tolist() for c in expected[:4]]
    assert found[11] == expected[4]


@given(
    bases().flatmap(
        lambda b: st.tuples(rows(b, actions(VALUES)), carried(b, VALUES, one_each=False))
    )
)
def test_without_effects_it_is_hold_each(given_rows: tuple[Rows, Rows]) -> None:
    own, before = given_rows
    known = np.unique(np.concatenate([own[0], before[0]]))
    found = hold_delayed(
        known, *own, *before, before[2], _no_effects(), INFINITY - 1, 1, "initiation"
    )
    expected = hold_each(*own, *before, 1)
    both = [list(zip(*(c.tolist() for c in each[:4]), strict=True)) for each in (found, expected)]
    assert sorted(both[0]) == sorted(both[1])
    assert found[11] == expected[4]


def _one_instance(
    points: list[tuple[int, int]], postponable: int, ties: str
) -> list[tuple[int, int, int]]:
    """Values, starts and ends, where the value 0 leads to the value 1 ten later."""
    none = integers([])
    told = integers([NO_ACTION, 3]).reshape(1, 2)
    effects = Effects(
        integers([1, 0]), integers([NO_EFFECT, 10]).reshape(1, 2), told, told,
        integers([0, postponable]),
    )  # fmt: skip
    found = hold_delayed(
        integers([0]), np.zeros(len(points), np.int64), integers([own[0] for own in points]),
        integers([own[1] for own in points]), none, none, none, none, effects, 100, 1, ties,
    )  # fmt: skip
    return list(zip(*(column.tolist() for column in found[1:4]), strict=True))


@pytest.mark.parametrize("ties", ["break", "initiation"])
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
    postponable: int, end: int | None, expected: list[tuple[int, int, int]], ties: str
) -> None:
    """Initiated at 2, 4 and 6; ten later another value, unless terminated before."""
    points = [(2, 1), (4, 1), (6, 1)] + ([] if end is None else [(end, 0)])
    assert _one_instance(points, postponable, ties) == expected


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("break", [(0, 3, 7), (0, 10, 17), (1, 17, INFINITY)]),
        ("initiation", [(0, 3, 17), (1, 17, INFINITY)]),
    ],
)
def test_after_a_break_effects_count_from_the_initiation_there(
    ties: str, expected: list[tuple[int, int, int]]
) -> None:
    """Initiated at 2, 6 and 9, and terminated at 6: the effect that was due at 12 is cancelled."""
    assert _one_instance([(2, 1), (6, 0), (6, 1), (9, 1)], 0, ties) == expected


@pytest.mark.parametrize("postponable", [0, 1])
@pytest.mark.parametrize(
    ("points", "expected"),
    [
        # The effect and a further initiation tie, and both lose; the latter has its effect.
        ([(1, 1), (11, 1)], [(0, 2, 12), (1, 22, INFINITY)]),
        # An initiation that loses to a termination has its effect all the same.
        ([(1, 1), (1, 0)], [(1, 12, INFINITY)]),
        # It is broken before.
        ([(1, 1), (1, 0), (5, 0)], []),
        # Two values tie: the effect of the one breaks nothing that holds.
        ([(1, 1), (1, 3)], [(1, 12, INFINITY)]),
        # What lost holds later, and ends by the effect of the first initiation, or of the last.
        ([(1, 1), (1, 0), (4, 1)], None),
    ],
)
def test_what_loses_a_tie_has_its_effects(
    postponable: int,
    points: list[tuple[int, int]],
    expected: list[tuple[int, int, int]] | None,
) -> None:
    due = 15 if postponable else 12
    wanted = [(0, 5, due), (1, due, INFINITY)] if expected is None else expected
    assert _one_instance(points, postponable, "break") == wanted
