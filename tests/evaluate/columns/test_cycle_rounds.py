"""Cycles: stretches of time, entities that drop out and spreading changes do not change answers."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.answers.result import as_text
from cernis.errors import CernisError
from cernis.evaluate.columns import cycle_rounds as cycles
from cernis.evaluate.columns.differences import differing, differing_plain, earliest
from cernis.kernels.array_types import Integers
from tests.agreement.backend import FEATURES, engine_text
from tests.agreement.compare import by_engine, scenarios
from tests.reference.cases import Case, read_cases

CASES = [
    case for case in read_cases(Path(__file__).parents[2] / "cases")
    if case.needs <= FEATURES and "cycles" in case.needs
]  # fmt: skip


def _no_walk(*_: object) -> None:
    """Says of every cycle that it cannot be decided in one walk through time."""


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_by_stretches(case: Case, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "try_walk", _no_walk)
    monkeypatch.setattr(cycles, "MOST_ROUNDS", rounds)
    assert engine_text(case) == case.expected


@pytest.mark.parametrize("first", range(9200, 9400, 50))
def test_random_programs_by_stretches(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "try_walk", _no_walk)
    compared = 0
    for seed in range(first, first + 50):
        for scenario, program in islice(scenarios(seed, 1), 1):
            monkeypatch.setattr(cycles, "MOST_ROUNDS", 1 << 40)
            try:
                whole = as_text(by_engine(scenario, program).answer)
            except CernisError:
                continue
            for rounds in (0, 2):
                monkeypatch.setattr(cycles, "MOST_ROUNDS", rounds)
                assert as_text(by_engine(scenario, program).answer) == whole, f"seed {seed}"
            compared += 1
    assert compared > 40


rows = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(5, 8)), max_size=8)


@given(rows, rows)
def test_rows_that_only_one_table_has(
    old: list[tuple[int, int, int]], new: list[tuple[int, int, int]]
) -> None:
    one, other = (
        [np.array([r[at] for r in own], np.int64) for at in range(3)] for own in (old, new)
    )
    found = differing(one, other).tolist()
    assert found == [row not in new for row in old] + [row not in old for row in new]
    if old and new:
        assert differing_plain(one, other).tolist() == found


@given(rows.map(set).map(sorted), rows.map(set).map(sorted))
def test_the_first_point_that_differs(
    old: list[tuple[int, int, int]], new: list[tuple[int, int, int]]
) -> None:
    """Rows are an instance and an interval; nothing is said of what differs later."""
    one, other = (
        [np.array([r[at] for r in own], np.int64) for at in range(3)] for own in (old, new)
    )
    changed = differing(one, other)
    if not changed.any():
        return
    found = earliest(one, other, changed, 0, 1)
    for point in range(found + 1):
        assert _at(old, point + 1) == _at(new, point + 1) or point == found


def _at(table: list[tuple[int, int, int]], point: int) -> set[int]:
    return {instance for instance, start, end in table if start <= point < end}


def _columns(table: list[tuple[int, int, int]]) -> list[Integers]:
    return [np.array([row[at] for row in table], np.int64) for at in range(3)]
