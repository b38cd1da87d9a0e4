"""Blobs: arrays packed into bytes for an exchange, and back.

Rows are what an exchange in the JVM costs; a blob is one row with thousands of records in it. It is
written and read within one job, so it is a pickle of plain arrays and has no version. Whole numbers
are stored as distances from the least of them, in as few bytes as that takes. Floats of one decimal
are stored as tenths where that gives exactly the same floats back.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.knowledge.values import Value
from cernis.runtime.columns import INFINITE, Coded, Column, Form, Integers, RecordColumns
from cernis.tables.columns import Array
from cernis.tables.domains import Domain

Narrow: TypeAlias = tuple[str, Any, npt.NDArray[Any]]
"""What was done to an array, with which number, and what is left."""

_SIZES = (np.uint8, np.uint16, np.uint32)
_WHOLE, _OPEN, _TENTHS, _RAW, _SAME = "whole", "open", "tenths", "raw", "same"


def dumps(content: object) -> bytes:
    """Bytes of a blob."""
    return pickle.dumps(content, protocol=5)


def loads(blob: Any) -> Any:
    """What a blob holds."""
    return pickle.loads(blob)


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
        return _SAME, (low, len(array)), np.empty(0, np.uint8)
    if high == INFINITE:
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
    closed = ends[ends < INFINITE]
    if not len(closed) or int(closed.min()) == np.iinfo(np.int64).min:
        return _RAW, None, np.ascontiguousarray(ends)
    low = int(closed.min()) - 1
    kind, least, kept = _whole(np.where(ends == INFINITE, low, ends), low, int(closed.max()))
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
    if kind == _SAME:
        return np.full(number[1], number[0], np.int64)
    if kind == _TENTHS:
        return _from_tenths(kept)  # type: ignore[arg-type]
    if kind == _RAW:
        return kept
    wide = kept.astype(np.int64)
    if number:
        wide += number
    if kind == _OPEN:
        wide[kept == 0] = INFINITE
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


# -- columns -----------------------------------------------------------------------------------


def packed_column(column: Column) -> Any:
    """A column of numbers or of any values, of which only those in use are kept."""
    if not isinstance(column, Coded):
        return narrow(column)
    values, codes = column.values, column.codes
    if len(codes) < len(values) or len(values) > 256:
        used, codes = np.unique(codes, return_inverse=True)
        values = [values[at] for at in used.tolist()]
    return values, narrow(np.asarray(codes))


def unpacked_column(given: Any) -> Column:
    """The column that was packed."""
    if len(given) == 2:
        return Coded(given[0], widen(given[1]))
    return widen(given)


def decoded(codes: Array, domain: Domain | None) -> Column:
    """Codes of a domain as a column; numbers as they are."""
    if domain is None:
        return codes
    is_used = np.zeros(len(domain), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    places = np.zeros(len(domain), np.int64)
    places[used] = np.arange(len(used))
    values = domain.decode(used)
    whole = _as_integers(values)
    return Coded(values, places[codes]) if whole is None else whole[places[codes]]


def _as_integers(values: Sequence[Value]) -> Integers | None:
    """Values as an array, if all are whole numbers that one can hold; none give none."""
    if set(map(type, values)) != {int}:
        return None
    try:
        found = np.array(values, np.int64)
    except OverflowError:
        return None
    return found if int(found.min()) >= -INFINITE else None


def encoded(column: Column, domain: Domain | None) -> Array:
    """A column as codes of a domain; as numbers if there is none."""
    if isinstance(column, Coded):
        if domain is None:
            from cernis.tables.domains import numbers

            return numbers(column.values)[column.codes]
        codes = domain.encode(column.values)  # type: ignore[arg-type]
        return codes[column.codes] if len(codes) else np.empty(0, np.int64)
    if domain is None:
        return column
    if column.dtype == np.int64:
        return domain.encode_integers(column)  # type: ignore[arg-type]
    distinct, inverse = np.unique(column, return_inverse=True)
    return domain.encode(distinct.tolist())[inverse]


# -- records -----------------------------------------------------------------------------------


def packed_records(part: RecordColumns) -> tuple[Any, ...]:
    """Records of one form. An arrival at the occurrence or start is left out."""
    arrival, start = part.times[:2]
    at_once = arrival is start or bool(np.array_equal(arrival, start))
    return (
        part.form,
        None if at_once else narrow(arrival),
        [narrow(time) for time in part.times[1:]],
        [packed_column(column) for column in part.columns],
        narrow(part.places),
        None if part.retracts is None or not part.retracts.any() else part.retracts,
        None if part.gone is None else narrow(part.gone),
        None if part.chances is None else narrow(part.chances),
    )


def unpacked_records(given: tuple[Any, ...]) -> RecordColumns:
    """The records that were packed."""
    form, arrival, others, columns, places, retracts, gone, chances = given
    assert isinstance(form, Form)
    times = [widen(time) for time in others]
    times.insert(0, times[0] if arrival is None else widen(arrival))
    return RecordColumns(
        form, times, [unpacked_column(column) for column in columns], widen(places), retracts,
        None if gone is None else widen(gone), None if chances is None else widen(chances),
    )  # fmt: skip
