"""Differences of tables, column by column, are those that looking at each row gives."""

import random

import numpy as np
import pytest

from cernis.compare.row_differences import TimedRows, differences
from cernis.tables.interval_tables import INFINITY

Row = tuple[int, int, int]

RUN_END = 60


def random_rows(rng: random.Random) -> list[Row]:
    """Disjoint intervals of a few instances; the last one may be open."""
    rows = []
    for instance in range(rng.randrange(5)):
        time = 0
        for _ in range(rng.randrange(5)):
            start = time + rng.randrange(1, 5)
            time = start + rng.randrange(1, 6)
            rows.append((instance, start, time))
        if rows and rng.random() < 0.3:
            instance, start, _ = rows.pop()
            rows.append((instance, start, INFINITY))
            break
    rng.shuffle(rows)
    return rows


def timed(rows: list[Row]) -> TimedRows:
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)] or [
        np.empty(0, np.int64)
    ] * 3
    return TimedRows([(columns[0], None)], columns[1], columns[2])


def points(row: Row) -> set[tuple[int, int]]:
    return {(row[0], time) for time in range(row[1], min(row[2], RUN_END))}


def all_points(rows: list[Row]) -> set[tuple[int, int]]:
    return {point for row in rows for point in points(row)}


@pytest.mark.parametrize("seed", range(60))
def test_differences_are_those_of_each_row(seed: int) -> None:
    rng = random.Random(seed)
    old, new = random_rows(rng), random_rows(rng)
    new += [row for row in old if rng.random() < 0.5 and not points(row) & all_points(new)]
    result = differences(timed(old), timed(new), RUN_END)
    assert result.only_old.tolist() == [row not in new for row in old], seed
    assert result.only_new.tolist() == [row not in old for row in new], seed
    moved = [row not in new and bool(points(row) & all_points(new)) for row in old]
    assert result.old_moved.tolist() == moved, seed
    moved = [row not in old and bool(points(row) & all_points(old)) for row in new]
    assert result.new_moved.tolist() == moved, seed
    before, after = all_points(old), all_points(new)
    assert (result.time_before, result.time_after) == (len(before), len(after)), seed
    assert (result.gained, result.lost) == (len(after - before), len(before - after)), seed


def test_an_interval_that_ends_with_the_run_is_not_an_open_one() -> None:
    result = differences(timed([(1, 5, RUN_END)]), timed([(1, 5, INFINITY)]), RUN_END)
    assert (result.old_moved.tolist(), result.gained, result.lost) == ([True], 0, 0)
