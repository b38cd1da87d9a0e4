"""Finding rows by the values of their columns: codes, whole numbers, and numbers that are not."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels.array_types import Floats, Integers
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import Finder

Array = Floats | Integers

LETTERS = Domain(["a", "b", "c"])


def column(kind: str, random: np.random.Generator, length: int) -> Array:
    """A column of few different values."""
    drawn = random.integers(-2, 3, length)
    if kind == "codes":
        return abs(drawn)
    if kind == "halves":
        return drawn / 2
    return drawn * (1 << 40) if kind == "far" else drawn


def domain_of(kind: str) -> Domain | None:
    return LETTERS if kind == "codes" else None


def found_plainly(own: list[Array], wanted: list[Array]) -> list[tuple[int, int]]:
    """Each row asked for with each of its matches."""
    rows = list(zip(*(c.tolist() for c in own), strict=True))
    asked = zip(*(c.tolist() for c in wanted), strict=True)
    return [(at, to) for at, one in enumerate(asked) for to, row in enumerate(rows) if row == one]


@pytest.mark.parametrize("seed", range(60))
def test_matches_are_those_with_equal_values(seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds = random.choice(["codes", "whole", "halves", "far"], size=random.integers(1, 4))
    count = int(random.integers(0, 12))
    own = [column(kind, random, count) for kind in kinds]
    # A whole number may be asked for as a float, and the other way round.
    asked = ["halves" if k == "whole" and random.random() < 0.4 else k for k in kinds]
    wanted = [column(kind, random, 20) for kind in asked]
    finder = Finder([(c, domain_of(k)) for c, k in zip(own, kinds, strict=True)], count)
    rows, places = finder.all(wanted, 20)
    expected = found_plainly(own, wanted)
    found = sorted(zip(rows.tolist(), places.tolist(), strict=True))
    assert found == expected, f"seed {seed}: {kinds}"
    assert finder.unique == (len(set(zip(*(c.tolist() for c in own), strict=True))) == count)
    if finder.unique:
        one = finder.one(wanted, 20)
        assert [(at, to) for at, to in enumerate(one.tolist()) if to >= 0] == expected


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 2.0**63, -(2.0**63)])
def test_what_is_no_whole_number_is_not_found(number: float) -> None:
    own = np.array([0, 1, 2])
    finder = Finder([(own, None), (own, None)], 3)
    assert finder.one([np.array([number]), np.array([1])], 1).tolist() == [-1]
    assert finder.one([np.array([1]), np.array([number])], 1).tolist() == [-1]
