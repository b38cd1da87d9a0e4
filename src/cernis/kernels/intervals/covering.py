"""All intervals of a key that hold at a point, where a key has many lists and few of them hold.

Intervals `[start, end)` lie key by key, `offsets[k]:offsets[k+1]` being those of key k, sorted by
start. They may overlap. Points come key by key, too, and ascend.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels import bounds
from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.compile import body, kernel
from cernis.kernels.intervals.open_intervals import pair_with_open


@body
def _sweep(
    most: int, writing: bool, keys: Integers, points: Integers, offsets: Integers, starts: Integers,
    ends: Integers, open_places: Integers, rows: Integers, places: Integers,
) -> int:  # fmt: skip
    """Go through the points once, with the intervals that have begun and not yet ended."""
    key, coming, stop, size, count = -1, 0, 0, 0, 0
    for row in range(len(keys)):
        if keys[row] != key:
            key = keys[row]
            coming, stop, size = offsets[key], offsets[key + 1], 0
        while coming < stop and starts[coming] <= points[row]:
            open_places[size] = coming
            size += 1
            coming += 1
        size, count = pair_with_open(
            row, points[row], ends, open_places, size, count, writing, rows, places
        )
        if count > most:
            break
    return count


@kernel("integer integers integers integers integers integers writable-integers", "integer")
def _count(
    most: int, keys: Integers, points: Integers, offsets: Integers, starts: Integers,
    ends: Integers, open_places: Integers,
) -> int:  # fmt: skip
    return _sweep(
        most, False, keys, points, offsets, starts, ends, open_places, open_places, open_places
    )


@kernel(
    "integer integers integers integers integers integers writable-integers writable-integers "
    "writable-integers",
    "integer",
)
def _fill(
    most: int, keys: Integers, points: Integers, offsets: Integers, starts: Integers,
    ends: Integers, open_places: Integers, rows: Integers, places: Integers,
) -> int:  # fmt: skip
    return _sweep(most, True, keys, points, offsets, starts, ends, open_places, rows, places)


def covering(
    keys: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> tuple[Integers, Integers]:
    """All pairs of a point and an interval of its key that holds there, in the order of points.

    An interval that has ended is dropped when the next point passes it. So the cost is that of
    the points, the intervals and the pairs, and not of all combinations.
    """
    open_places = np.empty(len(starts), np.int64)
    most = bounds.MOST_PAIRS
    count = bounds.bounded(_count(most, keys, points, offsets, starts, ends, open_places))
    rows, places = np.empty(count, np.int64), np.empty(count, np.int64)
    _fill(most, keys, points, offsets, starts, ends, open_places, rows, places)
    return rows, places


def covering_plain(
    keys: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> tuple[Integers, Integers]:
    """The twin of `covering`: every interval of the key, one point after the other."""
    pairs = [
        (row, place)
        for row, (key, point) in enumerate(zip(keys.tolist(), points.tolist(), strict=True))
        for place in range(offsets[key], offsets[key + 1])
        if starts[place] <= point < ends[place]
    ]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


@kernel("integers integers integers integers integers writable-booleans", "nothing")
def _covered(
    keys: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers,
    is_covered: Booleans,
) -> None:  # fmt: skip
    key, coming, stop, reach = -1, 0, 0, 0
    for row in range(len(keys)):
        point = points[row]
        if keys[row] != key:
            key = keys[row]
            coming, stop, reach = offsets[key], offsets[key + 1], point
        while coming < stop and starts[coming] <= point:
            reach = max(reach, ends[coming])
            coming += 1
        is_covered[row] = reach > point


def covered(
    keys: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """For each point: does some interval of its key hold there?

    Of the intervals that have begun, one holds just if the latest of their ends is still to come.
    So one number per key decides, however many hold.
    """
    found = np.empty(len(points), np.bool_)
    _covered(keys, points, offsets, starts, ends, found)
    return found


def covered_plain(
    keys: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """The twin of `covered`: is there a pair?"""
    rows, _ = covering_plain(keys, points, offsets, starts, ends)
    return np.isin(np.arange(len(points)), rows)
