"""Columns of dates and times of any kind as time-points, a column at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.amounts import FARTHEST
from cernis.errors import DataError
from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.text_fields import Fields, number_texts, read_times
from cernis.kernels.text_times import CLOCK, INSTANT, NO_TIME, TOO_FINE, read_written_times
from cernis.records.arrow_arrays import as_arrow, as_numpy, is_text_type
from cernis.records.fields import fields_of
from cernis.records.times import SECONDS, WITH_POINT
from cernis.records.times import is_date as is_date_text
from cernis.syntax.time_scale import NANOSECONDS, UNITS, FinerThanUnit, TimeScale

_MOST_DIGITS: Final = 4_000
_SHORTEST_SHIFT: Final = 60
"""Clocks are set forward or back by more seconds than this."""
_BLOCK: Final = 1 << 15
"""How many times are scaled at once, so that what is between stays in the cache."""


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


Warn: TypeAlias = Callable[[str], None]
"""Hears of times that are probably not meant as they are read."""


def _ignore(text: str) -> None:
    """Nobody hears of it."""


def time_points(
    column: pa.ChunkedArray, described: str, missing: int | None = None, *, live: bool = False,
    scale: TimeScale = SECONDS, warn: Warn = _ignore,
) -> TimePoints:  # fmt: skip
    """A column of times as whole numbers, which of them are times, and whether any was a date.

    Dates and times become time-points of the scale. Text may be whole numbers, dates or times. An
    empty cell is `missing`, if that is given. A time that is finer than the unit is a DataError,
    unless the scale rounds; among `live` records it is not known.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        plain = pc.cast(column, kind.value_type)
        return time_points(plain, described, missing, live=live, scale=scale, warn=warn)
    gaps = as_numpy(column.is_null()) if column.null_count else None
    if is_text_type(kind):
        texts = column if gaps is None else column.fill_null(pa.scalar("", kind))
        return fields_as_times(
            fields_of(texts), gaps, described, missing, live=live, scale=scale, warn=warn
        )  # fmt: skip
    known = np.ones(len(column), np.bool_) if gaps is None else ~gaps
    if gaps is not None and not pa.types.is_null(kind):
        column = column.fill_null(pa.scalar(0, pa.int64()).cast(kind))
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if is_time:
        read = _instants(column, scale, lambda text: warn(f"column {described}: {text}"))
    else:
        read = _numbers(column, known, described, scale)
    too_fine = read.too_fine & known
    if not live and too_fine.any():
        raise DataError(f"column {described}: {_finer(column, too_fine, scale)}")
    whole, known = read.ticks, known & read.known & ~too_fine
    if missing is not None and gaps is not None:
        whole, known = np.where(gaps, missing, whole), known | gaps
    return TimePoints(whole, known, is_time and len(column) > 0)


def _finer(column: pa.ChunkedArray, too_fine: Booleans, scale: TimeScale) -> FinerThanUnit:
    first = column[int(np.argmax(too_fine))]
    return FinerThanUnit(first.cast(pa.string()).as_py(), scale.unit)


# -- numbers ---------------------------------------------------------------------------------


def _numbers(
    column: pa.ChunkedArray, known: Booleans, described: str, scale: TimeScale
) -> _Instants:
    kind, nothing = column.type, np.zeros(len(column), np.bool_)
    if pa.types.is_null(kind):
        return _Instants(np.zeros(len(column), np.int64), known, nothing)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _whole_floats(pc.cast(column, pa.float64()), known, scale)
    if not pa.types.is_integer(kind):
        raise DataError(
            f"column {described} has the type {kind}; a time is a whole number or a date"
            f"{_remedy(str(kind))}"
        )
    whole = as_numpy(pc.cast(column, pa.int64(), safe=False))
    if pa.types.is_uint64(kind):
        whole = np.where(whole < 0, FARTHEST + 1, whole)
    return _Instants(whole, known, nothing)


def _remedy(kind: str) -> str:
    """What to do with columns of types that may be thought to be times."""
    if "period" in kind:
        return ': df["COLUMN"].dt.to_timestamp() makes dates of periods'
    if kind.startswith("duration"):
        return ": add a duration to the time from which it counts"
    return ": add the day to a time of day" if kind.startswith("time") else ""


def _whole_floats(column: pa.ChunkedArray, known: Booleans, scale: TimeScale) -> _Instants:
    """Floats that are whole numbers; a fraction of a tick is too fine, or is rounded down."""
    floats = as_numpy(column)
    known = known & np.isfinite(floats)
    floats = np.where(known, floats, 0)
    near = np.clip(np.floor(floats), -FARTHEST - 1024, FARTHEST + 1024)
    too_fine = np.zeros(len(floats), np.bool_) if scale.rounds else floats != np.floor(floats)
    return _Instants(near.astype(np.int64), known, too_fine)


_SKIPPED: Final = (
    "clocks in {zone} skip {count} of the times, such as {first}: they count on from the time "
    "before; write times with a zone, as 2026-03-29T03:30+02:00"
)
_DOUBLED: Final = (
    "clocks in {zone} show {count} of the times twice, such as {first}: they are taken to be the "
    "earlier ones; write times with a zone, as 2026-10-25T03:30+02:00"
)
_MIXED: Final = (
    "some times have a zone, and {count} have none, such as {first}: these are taken to be in "
    "{zone}; write a zone with each, or say timezone="
)


# -- dates and times -------------------------------------------------------------------------


def _instants(column: pa.ChunkedArray, scale: TimeScale, warn: Warn) -> _Instants:
    """Arrow's dates and times; those without a zone are in the scale's."""
    kind = column.type
    exact = column if pa.types.is_timestamp(kind) else pc.cast(column, pa.timestamp("s"))
    counts = as_numpy(pc.cast(exact, pa.int64()))
    if exact.type.tz is None and scale.zone != "UTC":
        counts = _in_zone(counts, exact.type.unit, scale, warn)
    return _scaled(counts, exact.type.unit, scale)


def _scaled(counts: Integers, unit: str, scale: TimeScale) -> _Instants:
    """Counts of a unit as time-points; what lies too far away stays so."""
    known = np.ones(len(counts), np.bool_)
    if UNITS[unit] > scale.per_second:
        return _rounded_down(counts, UNITS[unit] // scale.per_second, scale.rounds)
    ratio = scale.per_second // UNITS[unit]
    if ratio > 1:
        far = FARTHEST // ratio
        beyond = np.where(counts > 0, FARTHEST + 1, -FARTHEST - 1)
        is_near = (counts <= far) & (counts >= -far)
        counts = np.where(is_near, np.where(is_near, counts, 0) * ratio, beyond)
    return _Instants(counts, known, np.zeros_like(known))


def _rounded_down(counts: Integers, ratio: int, is_asked: bool) -> _Instants:
    """Counts of a finer unit, and which of them lie between time-points, unless that is asked."""
    ticks, too_fine = np.empty_like(counts), np.zeros(len(counts), np.bool_)
    for low in range(0, len(counts), _BLOCK):
        rows = slice(low, low + _BLOCK)
        np.floor_divide(counts[rows], ratio, out=ticks[rows])
        if not is_asked:
            np.not_equal(ticks[rows] * ratio, counts[rows], out=too_fine[rows])
    return _Instants(ticks, np.ones(len(counts), np.bool_), too_fine)


def _in_zone(counts: Integers, unit: str, scale: TimeScale, warn: Warn) -> Integers:
    """Times of clocks in the scale's zone as times in UTC.

    A time that clocks show twice is the earlier one. One that they skip counts on from the time
    before; Arrow has no word for that, and as there are few of these, they are read one by one.
    """
    clock = as_arrow(np.ascontiguousarray(counts)).cast(pa.timestamp(unit))
    before, after = (
        as_numpy(
            pc.assume_timezone(clock, scale.zone, ambiguous=choice, nonexistent=choice).cast(
                pa.int64()
            )
        )
        for choice in ("earliest", "latest")
    )
    odd = np.flatnonzero(before != after)
    is_skipped = after[odd] - before[odd] < _SHORTEST_SHIFT * UNITS[unit]
    skipped, doubled = odd[is_skipped], odd[~is_skipped]
    for rows, words in ((skipped, _SKIPPED), (doubled, _DOUBLED)):
        if len(rows):
            warn(words.format(count=len(rows), zone=scale.zone, first=clock[int(rows[0])]))
    if len(skipped):
        before = before.copy()
        distinct, places = np.unique(counts[skipped], return_inverse=True)
        read = [_skipped_time(count, unit, scale) for count in distinct.tolist()]
        before[skipped] = np.array(read, np.int64)[places]
    return before


def _skipped_time(count: int, unit: str, scale: TimeScale) -> int:
    seconds, rest = divmod(count, UNITS[unit])
    clock = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return scale.nanoseconds(clock) // (NANOSECONDS // UNITS[unit]) + rest


# -- text ------------------------------------------------------------------------------------


def fields_as_times(
    fields: Fields, gaps: Booleans | None, described: str, missing: int | None = None, *,
    live: bool = False, scale: TimeScale = SECONDS, warn: Warn = _ignore,
) -> TimePoints:  # fmt: skip
    """Fields of text as `time_points` gives them; those in `gaps` are empty cells."""
    read, is_date = _written(fields, gaps, scale, lambda text: warn(f"column {described}: {text}"))
    known = read.known if gaps is None else read.known & ~gaps
    too_fine = read.too_fine & known
    if not live and too_fine.any():
        first = fields.some(np.flatnonzero(too_fine)[:1]).all_written()[0].decode().strip()
        raise DataError(f"column {described}: {FinerThanUnit(first, scale.unit)}")
    known &= ~too_fine
    dated = bool((known & is_date).any())
    if missing is None or gaps is None:
        return TimePoints(read.ticks, known, dated)
    return TimePoints(np.where(gaps, missing, read.ticks), known | gaps, dated)


def usual_dates(fields: Fields, scale: TimeScale, warn: Warn) -> tuple[Integers, Booleans]:
    """Fields that are dates or times of the usual form as time-points, and which of them are.

    Those that are finer than the unit, and are not to be rounded, are none.
    """
    read = _dates(fields, scale, warn)
    return read.ticks, read.known & ~read.too_fine


def _written(
    fields: Fields, gaps: Booleans | None, scale: TimeScale, warn: Warn
) -> tuple[_Instants, Booleans]:
    """Times written as whole numbers, or as dates or times of ISO 8601; which are the latter."""
    is_date = np.zeros(len(fields.lows), np.bool_)
    ticks = read_times(fields, False, is_date)
    rows = np.flatnonzero(is_date)
    if not len(rows):
        return _Instants(ticks, np.ones_like(is_date), np.zeros_like(is_date)), is_date
    if len(rows) == len(ticks):
        result = _dates(fields, scale, warn)
    else:
        result = _Instants(ticks, ~is_date, np.zeros_like(is_date))
        _fill(result, rows, _dates(fields.some(rows), scale, warn))
    others = np.flatnonzero(~result.known if gaps is None else ~result.known & ~gaps)
    if len(others):
        part, is_date[others] = _unusual(fields.some(others), scale)
        _fill(result, others, part)
    return result, is_date


def _dates(fields: Fields, scale: TimeScale, warn: Warn) -> _Instants:
    """Dates and times of the usual form; what is of another is not known."""
    kinds, ticks = read_written_times(fields, scale.per_second)
    if not scale.is_zone_said and (kinds & INSTANT).any() and (kinds & CLOCK).any():
        rows = np.flatnonzero(kinds & CLOCK)
        first = fields.some(rows[:1]).all_written()[0].decode()
        warn(_MIXED.format(count=len(rows), zone=scale.zone, first=first))
    if scale.zone != "UTC":
        rows = np.flatnonzero(kinds & CLOCK)
        ticks[rows] = _in_zone(ticks[rows], scale.unit, scale, warn)
    too_fine = np.zeros(len(kinds), np.bool_) if scale.rounds else (kinds & TOO_FINE) > 0
    return _Instants(ticks, kinds != NO_TIME, too_fine)


def _fill(result: _Instants, rows: Integers, part: _Instants) -> None:
    for whole, some in zip(result, part, strict=True):
        whole[rows] = some


def _unusual(fields: Fields, scale: TimeScale) -> tuple[_Instants, Booleans]:
    """Fields that are read one distinct one at a time, and which are no whole numbers."""
    codes, rows = number_texts(fields)
    texts = [each.decode("utf-8", "replace").strip() for each in fields.some(rows).all_written()]
    ticks, known, too_fine = zip(*(_one_text(text, scale) for text in texts), strict=True)
    flags = np.array([known, too_fine, [is_date_text(text) for text in texts]], np.bool_)[:, codes]
    return _Instants(np.array(ticks, np.int64)[codes], flags[0], flags[1]), flags[2]


def _one_text(text: str, scale: TimeScale) -> tuple[int, bool, bool]:
    """The time-point of a text, whether it is one, and whether it is too fine for the scale."""
    digits = text.removeprefix("-").removeprefix("+")
    if digits.isdecimal() and digits.isascii() and len(digits) < _MOST_DIGITS:
        return max(min(int(text), FARTHEST + 1), -FARTHEST - 1), True, False
    if WITH_POINT.fullmatch(text):
        near = max(min(math.floor(float(text)), FARTHEST + 1), -FARTHEST - 1)
        return near, True, not scale.rounds and not float(text).is_integer()
    nanoseconds = scale.written(text)
    if nanoseconds is None:
        return 0, False, False
    try:
        ticks = scale.point(nanoseconds, text)
    except FinerThanUnit:
        return 0, True, True
    return max(min(ticks, FARTHEST + 1), -FARTHEST - 1), True, False
