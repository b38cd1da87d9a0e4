"""Numbers for combinations of coded values."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.tables.domains import Domain
from cernis.tables.registers import Register


def register(width: int) -> Register:
    return Register([Domain(range(9)) for _ in range(width)])


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_combination_keeps_its_number_and_is_new_once(width: int) -> None:
    random, made = Random(width), register(width)
    known: dict[tuple[int, ...], int] = {}
    for _ in range(20):
        rows = [tuple(random.randrange(9) for _ in range(width)) for _ in range(6)]
        columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
        expected_new = set(rows) - known.keys()
        numbers, new = made.enter(columns, len(rows))
        for row, number in zip(rows, numbers.tolist(), strict=True):
            assert known.setdefault(row, number) == number
        assert set(new.tolist()) == {known[row] for row in expected_new}
        assert made.count == len(known)
        assert list(zip(*(c.tolist() for c in made.columns(numbers)), strict=True)) == rows
    assert sorted(made.known().tolist()) == sorted(known.values())


def test_what_was_never_entered_is_not_found() -> None:
    made = register(2)
    made.enter([np.array([1, 2]), np.array([3, 4])], 2)
    found = made.find([np.array([1, 1, 2, 8]), np.array([3, 4, 4, 8])], 4)
    assert (found >= 0).tolist() == [True, False, True, False]
    assert register(1).find([np.array([5])], 1).tolist() == [-1]


def test_of_no_columns_there_is_one_combination() -> None:
    made = register(0)
    numbers, new = made.enter([], 3)
    assert numbers.tolist() == [0, 0, 0]
    assert new.tolist() == [0]
    assert made.columns(numbers) == []


def test_combinations_by_some_of_their_codes_also_after_more_came() -> None:
    made = register(2)
    made.enter([np.array([1, 1, 2]), np.array([3, 4, 3])], 3)
    for more in ([], [(1, 5)]):
        for one, other in more:
            made.enter([np.array([one]), np.array([other])], 1)
        rows, numbers = made.matching((0,), [np.array([1, 7])], 2)
        assert rows.tolist() == [0] * len(rows)
        codes = [column.tolist() for column in made.columns(numbers)]
        assert sorted(zip(*codes, strict=True)) == [(1, 3), (1, 4), *more]
