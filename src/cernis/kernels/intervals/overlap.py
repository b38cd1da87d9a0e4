"""Which intervals of two lists have a point in common."""

from __future__ import annotations

import numpy as np

from cernis.kernels import bounds
from cernis.kernels.array_types import Integers
from cernis.kernels.compile import FEW_ROWS, body, kernel
from cernis.kernels.intervals.open_intervals import pair_with_open


@body
def _sweep(
    most: int, writing: bool, starts1: Integers, ends1: Integers, starts2: Integers,
    ends2: Integers, open1: Integers, open2: Integers, first: Integers, second: Integers,
) -> int:  # fmt: skip
    """Go through time once, with the intervals of both lists that have begun and not yet ended."""
    count, i, j, many1, many2 = 0, 0, 0, 0, 0
    while (i < len(starts1) or j < len(starts2)) and count <= most:
        if j >= len(starts2) or (i < len(starts1) and starts1[i] <= starts2[j]):
            many2, count = pair_with_open(
                i, starts1[i], ends2, open2, many2, count, writing, first, second
            )
            open1[many1] = i
            many1 += 1
            i += 1
        else:
            many1, count = pair_with_open(
                j, starts2[j], ends1, open1, many1, count, writing, second, first
            )
            open2[many2] = j
            many2 += 1
            j += 1
    return count


@kernel(
    "integer integers integers integers integers writable-integers writable-integers",
    "integer",
    rows=FEW_ROWS,
)
def _count(
    most: int, starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    open1: Integers, open2: Integers,
) -> int:  # fmt: skip
    return _sweep(most, False, starts1, ends1, starts2, ends2, open1, open2, open1, open2)


@kernel(
    "integer integers integers integers integers writable-integers writable-integers "
    "writable-integers writable-integers",
    "integer",
    rows=FEW_ROWS,
)
def _fill(
    most: int, starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    open1: Integers, open2: Integers, first: Integers, second: Integers,
) -> int:  # fmt: skip
    return _sweep(most, True, starts1, ends1, starts2, ends2, open1, open2, first, second)


def overlaps(
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers
) -> tuple[Integers, Integers]:
    """All pairs of overlapping intervals, one of each list; both are sorted by start.

    Time is swept once. Each interval that begins meets those of the other list that have begun
    and not ended, and those that have ended are dropped on the way; so the cost follows the pairs
    found, whatever the number of intervals. The sweep is made twice, to count and to write.
    """
    most, lists = bounds.MOST_PAIRS, (starts1, ends1, starts2, ends2)
    open_places = np.empty(len(starts1), np.int64), np.empty(len(starts2), np.int64)
    count = bounds.bounded(_count(most, *lists, *open_places))
    first, second = np.empty(count, np.int64), np.empty(count, np.int64)
    _fill(most, *lists, *open_places, first, second)
    return first, second


def overlaps_plain(
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers
) -> tuple[Integers, Integers]:
    """The twin of `overlaps`: compares every interval with every other. In another order."""
    meet = (starts1[:, None] < ends2[None, :]) & (starts2[None, :] < ends1[:, None])
    first, second = np.nonzero(meet)
    return first.astype(np.int64), second.astype(np.int64)
