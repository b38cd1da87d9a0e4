"""Shelves and stretches against plain lists of rows."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels.intervals.stretches import cut, cut_plain, lie_in
from cernis.tables.shelves import GroupedRows

Row = tuple[float, ...]


def _rows(shelf: GroupedRows, places: tuple[np.ndarray, np.ndarray]) -> list[Row]:
    columns = [column.tolist() for column in shelf.rows(places[0])]
    return list(zip(places[1].tolist(), *columns, strict=True))


def _some_stretches(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Two stretches each of some groups, sorted and disjoint."""
    groups = np.unique(rng.integers(0, 12, 4))
    low, width = rng.integers(0, 60, len(groups)), rng.integers(0, 30, len(groups))
    starts = np.stack([low, low + width + 5], 1).ravel()
    ends = np.stack([low + width, low + width + 20], 1).ravel()
    return np.repeat(groups, 2), starts, ends


@pytest.mark.parametrize("seed", range(24))
def test_a_shelf_is_a_list_of_rows_by_group_and_time(seed: int) -> None:
    rng = np.random.default_rng(seed)
    has_intervals = bool(seed % 2)
    shelf, model = GroupedRows(3, has_intervals), list[Row]()
    for step in range(30):
        count = int(rng.integers(0, 40 if seed % 3 else 400))
        groups, times = rng.integers(0, 8, count), rng.integers(0, 100, count)
        ends, values = times + rng.integers(1, 30, count), rng.integers(0, 5, count)
        more = values.astype(np.float64) if step > 5 else values
        places = shelf.everything()
        found = _rows(shelf, places)
        assert [row[:2] for row in found] == sorted(row[:2] for row in model)
        assert sorted(found) == sorted(model)
        gone = rng.permutation(np.flatnonzero(rng.random(len(found)) < 0.3))
        for at in gone.tolist():
            model.remove(found[at])
        model += zip(*(c.tolist() for c in (groups, times, ends, more)), strict=True)
        shelf.exchange((places[0][gone], places[1][gone]), groups, [times, ends, more])
        _ask(shelf, model, has_intervals, rng)
        if step == 20:
            shelf.forget(20)
            kept = _rows(shelf, shelf.everything())
            if not has_intervals:
                assert sorted(kept) == sorted(row for row in model if row[1] > 20)
            else:
                assert {row for row in model if row[2] > 20} <= set(kept)
            model = kept
        assert len(shelf) == len(model)


def _ask(
    shelf: GroupedRows, model: list[Row], has_intervals: bool, rng: np.random.Generator
) -> None:
    asked = _some_stretches(rng)
    stretches = list(zip(*(column.tolist() for column in asked), strict=True))
    found = _rows(shelf, shelf.within(*asked))
    expected = [row for row in model for g, low, high in stretches if row[0] == g
                and low <= row[1] < high]  # fmt: skip
    assert sorted(found) == sorted(expected)
    if has_intervals:
        found = _rows(shelf, shelf.overlapping(*asked))
        expected = [row for row in model if any(row[0] == g and row[1] <= high and row[2] >= low
                                                for g, low, high in stretches)]  # fmt: skip
        assert sorted(found) == sorted(expected)
        reaching = _rows(shelf, shelf.reaching(60))
        assert sorted(reaching) == sorted(row for row in model if row[2] >= 60)


@pytest.mark.parametrize("seed", range(50))
def test_cut_is_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 12))
    owners, starts = rng.integers(0, 4, count), rng.integers(0, 40, count)
    ends = starts + rng.integers(1, 20, count)
    stretches: list[tuple[int, int, int]] = []
    for group in range(4):
        edges = np.sort(rng.choice(60, 2 * int(rng.integers(0, 4)), replace=False)).tolist()
        stretches += [(group, a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    groups, lows, highs = np.array(stretches, np.int64).reshape(-1, 3).T
    for inside in (True, False):
        given = owners, starts, ends, groups, lows, highs, inside
        for one, other in zip(cut(*given), cut_plain(*given), strict=True):
            assert one.tolist() == other.tolist()
    expected = [
        any(g == owner and low <= point < high for g, low, high in stretches)
        for owner, point in zip(owners.tolist(), starts.tolist(), strict=True)
    ]
    assert lie_in(owners, starts, groups, lows, highs).tolist() == expected
