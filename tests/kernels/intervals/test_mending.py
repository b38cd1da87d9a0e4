"""Intervals mended where points have changed, against intervals made anew."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels.intervals.mending import Pool, mend, mend_plain, write_marks
from cernis.tables.shelves import GroupedRows

CODES = np.array([1, 0, 3, -2], np.int64)
"""The actions of four bits: two values begun, one ended, all ended."""
GROUPS = 6
Rows = dict[tuple[int, int], int]


def _marks(rng: np.random.Generator, span: int) -> Rows:
    """Marks at points of groups."""
    size = int(rng.integers(0, 60))
    keys = zip(rng.integers(0, GROUPS, size), rng.integers(0, span, size), strict=True)
    return {(int(g), int(t)): int(rng.choice([0, 0, 1, 2, 4, 5, 8])) for g, t in keys}


def _events(rows: Rows) -> GroupedRows:
    shelf = GroupedRows(2)
    _put(shelf, [(g, t, flags << 8) for (g, t), flags in rows.items()])
    return shelf


def _put(shelf: GroupedRows, rows: list[tuple[int, ...]]) -> None:
    columns = np.array(rows, np.int64).reshape(len(rows), 1 + shelf.width).T
    gone = shelf.everything()
    shelf.exchange(gone, columns[0], list(columns[1:]))


def _intervals(events: Pool, points: Pool) -> list[tuple[int, ...]]:
    """The intervals of all groups, from nothing."""
    groups, times = np.arange(GROUPS), np.full(GROUPS, -1)
    nothing = GroupedRows(3, True).raw
    _, found = mend_plain(groups, times, -2, 1, events, 1, 8, CODES, points, nothing)
    return sorted(found)


def _differ(old: list[tuple[int, ...]], new: list[tuple[int, ...]], span: int) -> set[object]:
    def values(rows: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
        return {(g, t, v) for g, s, e, v in rows for t in range(s, min(e, span + 3))}

    return {row[:2] for row in values(old) ^ values(new)}


def _thinned(
    points: list[tuple[int, int]], before: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Behind the last query, the first point of each group, and some others."""
    first = {g: t for g, t in reversed(points) if t > before}
    return [(g, t) for g, t in points if t <= first.get(g, before) or rng.random() < 0.3]


@pytest.mark.parametrize("seed", range(150))
def test_mended_is_made_anew(seed: int) -> None:
    rng = np.random.default_rng(seed)
    span, before = 40, int(rng.integers(5, 40))
    old, new = _marks(rng, before + 1), _marks(rng, span)
    # Late changes are few: most points up to the last query stay as they are.
    kept = {key: own for key, own in old.items() if rng.random() < 0.9}
    some = {k: own for k, own in new.items() if k[1] > before or rng.random() < 0.1}
    new = {**some, **kept}
    before_points, after_points = GroupedRows(2), GroupedRows(2)
    rows = [(g, t, int(rng.choice(CODES))) for g, t in old if rng.random() < 0.2]
    more = [(g, t, int(rng.choice(CODES))) for g, t in some if rng.random() < 0.2]
    _put(before_points, rows)
    _put(after_points, rows + more)
    lists = GroupedRows(3, True)
    held = _intervals(_events(old).raw, before_points.raw)
    _put(lists, held)
    changed = {key for key in old.keys() | new.keys() if old.get(key, 0) != new.get(key, 0)}
    changed |= {row[:2] for row in more}
    points = np.array(_thinned(sorted(changed), before, rng), np.int64).reshape(-1, 2)
    given = (
        np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1]), before, 1,
        _events(new).raw, 1, 8, CODES, after_points.raw, lists.raw,
    )  # fmt: skip
    gone, come, dirt, _ = mend(*given)
    places = lists.raw[0][:3, gone[0]]
    left = set(zip(gone[1].tolist(), *places.tolist(), strict=True))
    found = set(zip(*come.tolist(), strict=True))
    assert (left, found) == mend_plain(*given)
    expected = _intervals(_events(new).raw, after_points.raw)
    assert sorted(set(held) - left | found) == expected
    stained = {(g, t) for g, s, e in dirt.T.tolist() for t in range(s, min(e, span + 3))}
    assert stained >= _differ(held, expected, span)
    assert all(a[0] < b[0] or a[2] < b[1] for a, b in zip(dirt.T, dirt.T[1:], strict=False))


def test_room_is_made_for_many_intervals() -> None:
    events, nothing = GroupedRows(2), GroupedRows(2)
    times = np.arange(20_000)
    events.exchange(events.everything(), np.zeros(20_000, np.int64), [times, (1 + times % 2) << 8])
    first = np.zeros(1, np.int64)
    given = first, first, -1, 1, events.raw, 1, 8, CODES, nothing.raw, GroupedRows(3, True).raw
    come = mend(*given)[1]
    assert come.shape == (4, 10_000)
    assert come[1].tolist() == list(range(1, 20_001, 2))
    assert set((come[2] - come[1]).tolist()) == {1}


def test_marks_are_written_where_they_differ() -> None:
    shelf = GroupedRows(2)
    groups = np.array([0, 0, 0, 0, 1, 1])
    times = np.array([1, 2, 8, 9, 7, 8])
    shelf.exchange(shelf.everything(), groups, [times, np.full(6, 3 | 7 << 16)])
    places = shelf.everything()[0]
    flags = np.array([1, 0, 2, 2, 0, 4], np.uint8)
    changed = np.empty((2, 6), np.int64)
    count = write_marks(shelf.raw[0], 1, 8, places, groups, flags, 5, times, *changed)
    assert changed[:, :count].tolist() == [[0, 0, 1], [1, 8, 8]]
    assert (shelf.column(1, places) == (3 | 7 << 16 | flags.astype(np.int64) << 8)).all()
