"""Arrays in as few bytes as give exactly the same arrays back.

Whole numbers are stored as distances from the least of them, in as few bytes as that takes. Floats
of one decimal are stored as tenths where that gives exactly the same floats back.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from cernis.kernels.array_types import Array
from cernis.tables.interval_tables import INFINITY

Narrow: TypeAlias = tuple[str, Any, Array]
"""What was done to an array, with which number, and what is left."""

_SIZES: Final = (np.uint8, np.uint16, np.uint32)
_WHOLE, _OPEN, _TENTHS, _RAW, SAME = "whole", "open", "tenths", "raw", "same"
KINDS: Final = frozenset({_WHOLE, _OPEN, _TENTHS, _RAW, SAME})
"""What may have been done to an array: `SAME` keeps one number and a length."""


def narrow(array: Array) -> Narrow:
    """An array in as few bytes as give exactly the same array back.

    >>> kind, least, kept = narrow(np.array([1000, 1003]))
    >>> kept.dtype, widen((kind, least, kept)).tolist()
    (dtype('uint8'), [1000, 1003])
    """
    if not len(array) or array.dtype == np.bool_:
        return _RAW, None, np.ascontiguousarray(array)
    if array.dtype == np.float64:
        return _tenths(array)
    low, high = int(array.min()), int(array.max())
    if low == high:
        return SAME, (low, len(array)), np.empty(0, np.uint8)
    if high == INFINITY:
        return _open(array)
    return _whole(array, low, high)


def _whole(array: Array, low: int, high: int) -> Narrow:
    for size in _SIZES:
        if high - low <= np.iinfo(size).max:
            shifted = array - low if low else array
            return _WHOLE, low, shifted.astype(size)
    return _RAW, None, np.ascontiguousarray(array)


def _open(ends: Array) -> Narrow:
    """Ends of intervals, some of them open: an open one is stored as the least of all minus one."""
    closed = ends[ends < INFINITY]
    if not len(closed) or int(closed.min()) == np.iinfo(np.int64).min:
        return _RAW, None, np.ascontiguousarray(ends)
    low = int(closed.min()) - 1
    kind, least, kept = _whole(np.where(ends == INFINITY, low, ends), low, int(closed.max()))
    return (_OPEN, least, kept) if kind == _WHOLE else (_RAW, None, np.ascontiguousarray(ends))


def _tenths(floats: Array) -> Narrow:
    with np.errstate(invalid="ignore", over="ignore"):
        tenths = np.rint(floats * 10)
        whole = tenths.astype(np.int32)
    same = (whole / 10).view(np.int64) == np.ascontiguousarray(floats).view(np.int64)
    if not same.all():
        return _RAW, None, np.ascontiguousarray(floats)
    return _TENTHS, None, narrow(whole.astype(np.int64))  # type: ignore[return-value]


def widen(narrowed: Narrow) -> Array:
    """The array that was narrowed."""
    kind, number, kept = narrowed
    if kind == SAME:
        return np.full(number[1], number[0], np.int64)
    if kind == _TENTHS:
        return _from_tenths(kept)  # type: ignore[arg-type]
    if kind == _RAW:
        return kept
    wide = kept.astype(np.int64)
    if number:
        wide += number
    if kind == _OPEN:
        wide[kept == 0] = INFINITY
    return wide


def _from_tenths(narrowed: Narrow) -> Array:
    kind, least, kept = narrowed
    if kind != _WHOLE:
        return widen(narrowed) / 10
    # Tenths are 32 bits wide at most, so floats hold them as they are.
    wide = kept.astype(np.float64)
    if least:
        wide += least
    wide /= 10
    return wide
