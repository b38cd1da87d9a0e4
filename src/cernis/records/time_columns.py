"""Columns of dates and times of any kind as time-points, a column at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.amounts import FARTHEST
from cernis.errors import DataError
from cernis.kernels.array_types import Booleans, Integers
from cernis.records.arrow_arrays import as_arrow
from cernis.records.times import SECONDS
from cernis.syntax.time_scale import NANOSECONDS, UNITS, FinerThanUnit, TimeScale

_PLAIN_DIGITS: Final = 18
"""A whole number of so many digits always fits into 64 bits."""
_MOST_DIGITS: Final = 4_000
_CLOCK: Final = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?"
_NAIVE: Final = f"^{_CLOCK}$"
_ZONED: Final = rf"^{_CLOCK}(?:Z|[+-]\d\d:?\d\d)$"
_FINE: Final = r"\.\d"
_FINEST: Final = r"\.\d{7}"


class TimePoints(NamedTuple):
    """Times as whole numbers, which of them are known, and whether any was a date or time."""

    times: Integers
    known: Booleans
    dated: bool = False


class _Instants(NamedTuple):
    """Times as time-points; which are known; and the place of the first too fine, else -1."""

    ticks: Integers
    known: Booleans
    too_fine: Booleans


def time_points(
    column: pa.ChunkedArray, described: str, missing: int | None = None, *, live: bool = False,
    scale: TimeScale = SECONDS,
) -> TimePoints:  # fmt: skip
    """A column of times as whole numbers, which of them are times, and whether any was a date.

    Dates and times become time-points of the scale. Text may be whole numbers, dates or times. An
    empty cell is `missing`, if that is given. A time that is finer than the unit is a DataError,
    unless the scale rounds; among `live` records it is not known.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        plain = pc.cast(column, kind.value_type)
        return time_points(plain, described, missing, live=live, scale=scale)
    known, gaps = np.ones(len(column), np.bool_), None
    if column.null_count:
        known, gaps = column.is_valid().to_numpy(), column.is_null().to_numpy()
        column = column if pa.types.is_null(kind) else column.fill_null(_nothing(kind))
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if is_time or _is_text(kind):
        read = _instants(column, scale) if is_time else _written(column, scale)
        too_fine = read.too_fine & known
        if not live and too_fine.any():
            raise DataError(f"column {described}: {_finer(column, too_fine, scale)}")
        whole, known = read.ticks, known & read.known & ~too_fine
        dated = is_time or bool((known & ~_are_numbers(column)).any())
    else:
        whole, known = _numbers(column, known, described)
        dated = False
    if missing is not None and gaps is not None:
        whole, known = np.where(gaps, missing, whole), known | gaps
    return TimePoints(whole, known, dated and len(column) > 0)


def _finer(column: pa.ChunkedArray, too_fine: Booleans, scale: TimeScale) -> FinerThanUnit:
    first = column[int(np.argmax(too_fine))]
    return FinerThanUnit(first.cast(pa.string()).as_py(), scale.unit)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _nothing(kind: pa.DataType) -> pa.Scalar:
    """What an empty cell is filled with; its mask says that it is empty."""
    return pa.scalar("", kind) if _is_text(kind) else pa.scalar(0, pa.int64()).cast(kind)


# -- numbers ---------------------------------------------------------------------------------


def _numbers(column: pa.ChunkedArray, known: Booleans, described: str) -> tuple[Integers, Booleans]:
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), known
    if pa.types.is_floating(kind):
        return _whole_floats(column, known)
    if not pa.types.is_integer(kind):
        raise DataError(
            f"column {described} has the type {kind}; a time is a whole number or a date"
        )
    whole = pc.cast(column, pa.int64(), safe=False).to_numpy()
    if pa.types.is_uint64(kind):
        whole = np.where(whole < 0, FARTHEST + 1, whole)
    return whole, known


def _whole_floats(column: pa.ChunkedArray, known: Booleans) -> tuple[Integers, Booleans]:
    floats = column.to_numpy().astype(np.float64)
    known = known & np.isfinite(floats)
    floats = np.where(known, floats, 0)
    near = np.clip(floats, -FARTHEST - 1024, FARTHEST + 1024)
    return near.astype(np.int64), known & (floats == np.floor(floats))


# -- dates and times -------------------------------------------------------------------------


def _instants(column: pa.ChunkedArray, scale: TimeScale) -> _Instants:
    """Arrow's dates and times; those without a zone are in the scale's."""
    kind = column.type
    exact = column if pa.types.is_timestamp(kind) else pc.cast(column, pa.timestamp("s"))
    counts = pc.cast(exact, pa.int64()).to_numpy()
    if exact.type.tz is None and scale.zone != "UTC":
        counts = _in_zone(counts, exact.type.unit, scale)
    return _scaled(counts, exact.type.unit, scale)


def _scaled(counts: Integers, unit: str, scale: TimeScale) -> _Instants:
    """Counts of a unit as time-points; what lies too far away stays so."""
    known = np.ones(len(counts), np.bool_)
    if UNITS[unit] > scale.per_second:
        ratio = UNITS[unit] // scale.per_second
        ticks = counts // ratio
        too_fine = np.zeros_like(known) if scale.rounds else ticks * ratio != counts
        return _Instants(ticks, known, too_fine)
    ratio = scale.per_second // UNITS[unit]
    if ratio > 1:
        far = FARTHEST // ratio
        beyond = np.where(counts > 0, FARTHEST + 1, -FARTHEST - 1)
        is_near = (counts <= far) & (counts >= -far)
        counts = np.where(is_near, np.where(is_near, counts, 0) * ratio, beyond)
    return _Instants(counts, known, np.zeros_like(known))


def _in_zone(counts: Integers, unit: str, scale: TimeScale) -> Integers:
    """Times of clocks in the scale's zone as times in UTC.

    A time that clocks show twice is the earlier one. One that they skip counts on from the time
    before; Arrow has no word for that, and as there are few of these, they are read one by one.
    """
    clock = as_arrow(np.ascontiguousarray(counts)).cast(pa.timestamp(unit))
    before, after = (
        pc.assume_timezone(clock, scale.zone, ambiguous="earliest", nonexistent=choice)
        .cast(pa.int64())
        .to_numpy()
        for choice in ("earliest", "latest")
    )
    skipped = np.flatnonzero(before != after)
    if len(skipped):
        after = after.copy()
        distinct, places = np.unique(counts[skipped], return_inverse=True)
        read = [_skipped_time(count, unit, scale) for count in distinct.tolist()]
        after[skipped] = np.array(read, np.int64)[places]
    return after  # type: ignore[no-any-return]


def _skipped_time(count: int, unit: str, scale: TimeScale) -> int:
    seconds, rest = divmod(count, UNITS[unit])
    clock = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return scale.nanoseconds(clock) // (NANOSECONDS // UNITS[unit]) + rest


# -- text ------------------------------------------------------------------------------------


def _texts(column: pa.ChunkedArray) -> pa.Array:
    texts = pc.utf8_trim_whitespace(pc.cast(column, pa.large_string())).combine_chunks()
    return texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts


def _matches(texts: pa.Array, expression: str) -> Booleans:
    return pc.match_substring_regex(texts, expression).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _are_numbers(column: pa.ChunkedArray) -> Booleans:
    return _matches(_texts(column), "^[+-]?[0-9]+$")


def _written(column: pa.ChunkedArray, scale: TimeScale) -> _Instants:
    """Times written as whole numbers, or else as dates or times of ISO 8601."""
    texts = _texts(column)
    plain = _matches(texts, f"^-?[0-9]{{1,{_PLAIN_DIGITS}}}$")
    nothing = np.zeros(len(texts), np.bool_)
    numbers = pc.cast(pc.if_else(as_arrow(plain), texts, "0"), pa.int64()).to_numpy()
    result = _Instants(np.array(numbers), plain.copy(), nothing)
    for expression, is_zoned in ((_NAIVE, False), (_ZONED, True)):
        if not result.known.all():
            rows = np.flatnonzero(~result.known & _matches(texts, expression))
            _fill(result, rows, _usual(texts.take(as_arrow(rows)), is_zoned, scale))
    others = np.flatnonzero(~result.known)
    if len(others):
        _fill(result, others, _unusual(texts.take(as_arrow(others)), scale))
    return result


def _fill(result: _Instants, rows: Integers, part: _Instants | None) -> None:
    if part is not None:
        for whole, some in zip(result, part, strict=True):
            whole[rows] = some


def _usual(texts: pa.Array, is_zoned: bool, scale: TimeScale) -> _Instants | None:
    """Times of the usual form, all with or all without a zone; None if some is no time."""
    if not len(texts):
        return None
    unit = "ns" if pc.any(pc.match_substring_regex(texts, _FINEST)).as_py() else "us"
    unit = unit if pc.any(pc.match_substring_regex(texts, _FINE)).as_py() else "s"
    try:
        read = pc.cast(texts, pa.timestamp(unit, "UTC" if is_zoned else None))
    except pa.ArrowInvalid:
        return None
    return _instants(pa.chunked_array([read]), scale)


def _unusual(texts: pa.Array, scale: TimeScale) -> _Instants:
    """Texts that are read one distinct one at a time."""
    coded = texts.dictionary_encode()
    rows = [_one_text(text, scale) for text in coded.dictionary.to_pylist()]
    codes = coded.indices.to_numpy()
    ticks, known, too_fine = (np.array(part) for part in zip(*rows, strict=True))
    return _Instants(ticks.astype(np.int64)[codes], known[codes], too_fine[codes])


def _one_text(text: str, scale: TimeScale) -> tuple[int, bool, bool]:
    """The time-point of a text, whether it is one, and whether it is too fine for the scale."""
    digits = text.removeprefix("-").removeprefix("+")
    if digits.isdecimal() and digits.isascii() and len(digits) < _MOST_DIGITS:
        return max(min(int(text), FARTHEST + 1), -FARTHEST - 1), True, False
    nanoseconds = scale.written(text)
    if nanoseconds is None:
        return 0, False, False
    try:
        ticks = scale.point(nanoseconds, text)
    except FinerThanUnit:
        return 0, True, True
    return max(min(ticks, FARTHEST + 1), -FARTHEST - 1), True, False
