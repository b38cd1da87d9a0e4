"""Windows that slide: an aggregate over the latest values at each row, each value touched twice.

Rows lie group by group; `lows[r]` is the first row of the window that ends with row r, and never
decreases within a group. The window is kept as two stacks. The front one holds, for each of its
rows, the aggregate from there to its last row; the back one has a single aggregate, of all rows
since. When the front one is used up, all that is in the window becomes the front one. So every row
is folded at most twice, whatever the length of the window, and nothing is ever taken out of a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cernis.kernels.array_types import Array, Floats, Integers
from cernis.kernels.compile import body, kernel

SUM, LEAST, GREATEST = 0, 1, 2


@kernel("integers integers integer writable-integers", "nothing")
def _lows(firsts: Integers, ends: Integers, span: int, lows: Integers) -> None:
    low = 0
    for row in range(len(ends)):
        low = max(low, firsts[row])
        while ends[low] < ends[row] - span:
            low += 1
        lows[row] = low


def lows_of_span(firsts: Integers, ends: Integers, span: int) -> Integers:
    """The first row of each window of a length in time: what ended at most so long before.

    `firsts` is the first row of each row's group. Within a group, rows are sorted by their end.
    """
    lows = np.empty(len(ends), np.int64)
    _lows(firsts, ends, span, lows)
    return lows


def lows_of_span_plain(firsts: Integers, ends: Integers, span: int) -> Integers:
    """The twin of `lows_of_span`."""
    near = [
        [place for place in range(first, row + 1) if ends[row] - ends[place] <= span]
        for row, first in enumerate(firsts.tolist())
    ]
    return np.array([place[0] for place in near], np.int64)


@body
def _folded(kind: int, one: Any, other: Any) -> Any:
    if kind == SUM:
        return one + other
    if kind == LEAST:
        return min(one, other)
    return max(one, other)


@body
def _slide(
    kind: int, firsts: Integers, lows: Integers, values: Any, front: Any, folded: Any
) -> None:
    last = -1
    back = values[0]
    for row in range(len(values)):
        if firsts[row] == row:
            last = row - 1
        back = values[row] if last == row - 1 else _folded(kind, back, values[row])
        if lows[row] > last:
            front[row] = values[row]
            for own in range(row - 1, lows[row] - 1, -1):
                front[own] = _folded(kind, values[own], front[own + 1])
            last = row
            folded[row] = front[lows[row]]
        else:
            folded[row] = _folded(kind, front[lows[row]], back)


@kernel("integer integers integers integers writable-integers writable-integers", "nothing")
def _slide_integers(
    kind: int, firsts: Integers, lows: Integers, values: Integers, front: Integers, folded: Integers
) -> None:
    if len(values):
        _slide(kind, firsts, lows, values, front, folded)


@kernel("integer integers integers floats writable-floats writable-floats", "nothing")
def _slide_floats(
    kind: int, firsts: Integers, lows: Integers, values: Floats, front: Floats, folded: Floats
) -> None:
    if len(values):
        _slide(kind, firsts, lows, values, front, folded)


def slide(kind: int, firsts: Integers, lows: Integers, values: Array) -> Array:
    """The sum, least or greatest of the values of each row's window."""
    front, folded = np.empty_like(values), np.empty_like(values)
    if values.dtype == np.float64:
        _slide_floats(kind, firsts, lows, values, front, folded)
    else:
        _slide_integers(kind, firsts, lows, values, front, folded)
    return folded


def slide_plain(kind: int, firsts: Integers, lows: Integers, values: Array) -> Array:
    """The twin of `slide`; a window lies within the group that `firsts` tells."""
    folds: dict[int, Callable[[Array], Any]]
    folds = {SUM: np.sum, LEAST: np.min, GREATEST: np.max}
    windows = [values[max(low, first) : row + 1] for row, (low, first) in
               enumerate(zip(lows.tolist(), firsts.tolist(), strict=True))]  # fmt: skip
    return np.array([folds[kind](own) for own in windows], values.dtype)


@kernel("integers integers writable-integers", "nothing")
def _turns(firsts: Integers, lows: Integers, lasts: Integers) -> None:
    last = -1
    for row in range(len(lows)):
        if firsts[row] == row:
            last = row - 1
        if lows[row] > last:
            last = row
        lasts[row] = last


def turns(firsts: Integers, lows: Integers) -> Integers:
    """For each row the last row of the front stack by then: the row itself where it is renewed."""
    lasts = np.empty(len(lows), np.int64)
    _turns(firsts, lows, lasts)
    return lasts


def turns_plain(firsts: Integers, lows: Integers) -> Integers:
    """The twin of `turns`."""
    lasts: list[int] = []
    for row, (first, low) in enumerate(zip(firsts.tolist(), lows.tolist(), strict=True)):
        before = row - 1 if first == row else lasts[-1]
        lasts.append(row if low > before else before)
    return np.array(lasts, np.int64)
