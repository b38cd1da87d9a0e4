"""Distinct combinations of values, in every way they may be found."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.kernels.array_types import Array
from cernis.operators import distinct as module
from cernis.operators.distinct import distinct, with_first_times
from cernis.tables.domains import Domain

KINDS = ("codes", "numbers", "floats", "huge")


def column(kind: str, random: Random, length: int) -> tuple[Array, Domain | None]:
    if kind == "codes":
        return np.array([random.randrange(4) for _ in range(length)]), Domain("abcd")
    if kind == "numbers":
        return np.array([random.randint(-2, 2) for _ in range(length)]), None
    if kind == "floats":
        return np.array([random.choice((0.5, -1.25, 3.0)) for _ in range(length)]), None
    return np.array([random.choice((-(1 << 61), 0, 1 << 61)) for _ in range(length)]), None


@pytest.mark.parametrize("table", [0, 1 << 22], ids=["hashed", "through a table"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_are_numbered_as_their_values_are(
    seed: int, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TABLE", table)
    random = Random(seed)
    length = random.randint(1, 30)
    kinds = [random.choice(KINDS) for _ in range(random.randint(1, 3))]
    columns, domains = zip(*(column(kind, random, length) for kind in kinds), strict=True)
    rows = list(zip(*(each.tolist() for each in columns), strict=True))
    first, which = distinct(list(columns), domains)
    assert [rows[at] for at in first[which].tolist()] == rows
    assert sorted(first.tolist()) == [at for at in range(length) if rows.index(rows[at]) == at]


def test_the_first_time_of_each_combination() -> None:
    columns: list[Array] = [np.array([1, 0, 1, 0]), np.array([7, 7, 7, 8])]
    found, times = with_first_times(columns, [Domain("ab"), None], np.array([5, 9, 3, 1]))
    rows = zip(*(each.tolist() for each in found), times.tolist(), strict=True)
    assert sorted(rows) == [(0, 7, 9), (0, 8, 1), (1, 7, 3)]
