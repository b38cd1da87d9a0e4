"""Shelves against plain lists of rows."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.tables.shelves import GroupedRows

Row = tuple[float, ...]


def _rows(shelf: GroupedRows, places: tuple[np.ndarray, np.ndarray]) -> list[Row]:
    columns = [column.tolist() for column in shelf.rows(places[0])]
    return list(zip(places[1].tolist(), *columns, strict=True))


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
        _ask(shelf, model, rng)
        if step == 20:
            shelf.forget(20)
            kept = _rows(shelf, shelf.everything())
            if not has_intervals:
                assert sorted(kept) == sorted(row for row in model if row[1] > 20)
            else:
                assert {row for row in model if row[2] > 20} <= set(kept)
            model = kept
        assert len(shelf) == len(model)


def _ask(shelf: GroupedRows, model: list[Row], rng: np.random.Generator) -> None:
    groups = np.unique(rng.integers(0, 12, 4))
    found = _rows(shelf, shelf.of_groups(groups))
    expected = [row for row in model if row[0] in groups.tolist()]
    assert [row[:2] for row in found] == sorted(row[:2] for row in expected)
    assert sorted(found) == sorted(expected)
    wanted = [(row[0], row[1]) for row in model if rng.random() < 0.2]
    wanted += zip(rng.integers(0, 12, 5).tolist(), rng.integers(0, 100, 5).tolist(), strict=True)
    pairs = np.array(wanted, np.int64)
    found = _rows(shelf, shelf.at_times(pairs[:, 0], pairs[:, 1]))
    assert sorted(found) == sorted(row for row in model if row[:2] in wanted)
