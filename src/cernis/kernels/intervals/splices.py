"""Lists of intervals computed again on some stretches, where those of many groups are kept.

The intervals of a group are one list, disjoint and apart, kept as `kernels.shelf_rows` does. On the
stretches what was there gives way to what was found there. What meets at the edge of a stretch
becomes one.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix
from cernis.kernels.compile import kernel
from cernis.kernels.inertia.marked_rows import INFINITY, NOTHING
from cernis.kernels.intervals.mending import (
    COME,
    DIRT,
    GONE,
    Pool,
    WrittenChanges,
    _add_interval,
    _begin,
    _rows,
    _settle,
    rows_of,
)
from cernis.kernels.shelf_rows import _first_late


@kernel(
    "integers integers integers integers integers integers integer "
    "writable-matrix integers integers "
    "writable-integers writable-matrix writable-matrix writable-matrix",
    "nothing",
)
def _splice(
    groups: Integers, lows: Integers, highs: Integers,
    found_groups: Integers, found_starts: Integers, found_ends: Integers, value: int,
    lists: Matrix, list_firsts: Integers, list_sizes: Integers,
    counts: Integers, gone: Matrix, come: Matrix, dirt: Matrix,
) -> None:  # fmt: skip
    """At the end of a stretch an interval may be held that goes on after it, as `tail` does."""
    changes = WrittenChanges(counts, gone, come, dirt)
    stretch, row = 0, 0
    while stretch < len(groups):
        group = groups[stretch]
        while row < len(found_groups) and found_groups[row] < group:
            row += 1
        first, stop = _begin(group, list_firsts, list_sizes)
        held, start, end = NOTHING, 0, 0
        old, tail = first, -1
        while stretch < len(groups) and groups[stretch] == group:
            low, high = lows[stretch], highs[stretch]
            near = _first_late(lists, 1, first, stop, low)
            if held != NOTHING and near == tail:
                end = min(end, low)
            else:
                if held != NOTHING:
                    _settle(group, held, start, end, end, old, stop, lists,
                            changes)  # fmt: skip
                    held = NOTHING
                old = near
                if near < stop and lists[0, near] < low:
                    held, start, end = value << 1 | 1, lists[0, near], min(low, lists[1, near])
            while row < len(found_groups) and found_groups[row] == group:
                if found_starts[row] >= high:
                    break
                piece, piece_end = max(low, found_starts[row]), min(high, found_ends[row])
                if piece < piece_end and held != NOTHING and piece <= end:
                    end = max(end, piece_end)
                elif piece < piece_end:
                    if held != NOTHING:
                        old = _add_interval(group, held, start, end, old, stop, lists,
                                   changes)  # fmt: skip
                    held, start, end = value << 1 | 1, piece, piece_end
                if found_ends[row] > high:
                    break
                row += 1
            tail = stop if high == INFINITY else _first_late(lists, 1, near, stop, high + 1)
            if tail < stop and lists[0, tail] <= high:
                if held == NOTHING or end < high:
                    old = _settle(group, held, start, end, 0, old, stop, lists,
                                  changes)  # fmt: skip
                    held, start = value << 1 | 1, high
                end = lists[1, tail]
            else:
                old = _settle(group, held, start, end, high, old, stop, lists,
                              changes)  # fmt: skip
                held, tail = NOTHING, -1
            stretch += 1
        if held != NOTHING:
            _settle(group, held, start, end, end, old, stop, lists, changes)


def splice(
    groups: Integers, lows: Integers, highs: Integers,
    found_groups: Integers, found_starts: Integers, found_ends: Integers, value: int, lists: Pool,
) -> tuple[Matrix, Matrix, Matrix]:  # fmt: skip
    """How lists of intervals change if, on stretches of groups, they are computed again.

    Stretches are sorted by group and start, and apart; so are the intervals found, of which only
    what lies in the stretches counts. Gives the places and groups of intervals that are gone;
    groups, starts, ends and values of those that come; and groups, starts and ends of stretches on
    which they differ, disjoint and sorted.
    """
    there = rows_of(groups, lists)
    # Each stretch adds at most what is found in it, and what lies at its two ends.
    room = len(found_groups) + 3 * len(groups) + 1
    counts = np.zeros(4, np.int64)
    gone, come, dirt = (
        np.empty((width, size), np.int64)
        for width, size in ((2, there), (4, room), (3, there + room))
    )
    _splice(
        groups, lows, highs, found_groups, found_starts, found_ends, value, *lists,
        counts, gone, come, dirt,
    )  # fmt: skip
    return gone[:, : counts[GONE]], come[:, : counts[COME]], dirt[:, : counts[DIRT]]


def splice_plain(
    groups: Integers, lows: Integers, highs: Integers,
    found_groups: Integers, found_starts: Integers, found_ends: Integers, value: int, lists: Pool,
) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:  # fmt: skip
    """The twin of `splice`, point by point: what is gone, and what comes."""
    gone, come = set[tuple[int, ...]](), set[tuple[int, ...]]()
    stretches = list(zip(groups.tolist(), lows.tolist(), highs.tolist(), strict=True))
    pieces = list(
        zip(found_groups.tolist(), found_starts.tolist(), found_ends.tolist(), strict=True)
    )
    for group in {own for own, _, _ in stretches}:
        old = {(group, s, e, v) for s, e, v in _rows(lists, group, 3)}
        dirty = {t for g, s, e in stretches if g == group for t in range(s, e)}
        points = {t for _, s, e, _ in old for t in range(s, e)} - dirty
        points |= {t for g, s, e in pieces if g == group for t in range(s, e)} & dirty
        starts = sorted(t for t in points if t - 1 not in points)
        ends = sorted(t + 1 for t in points if t + 1 not in points)
        new = {(group, s, e, value) for s, e in zip(starts, ends, strict=True)}
        gone |= old - new
        come |= new - old
    return gone, come
