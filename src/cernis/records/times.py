"""Single dates and times as time-points: whole numbers of the program's unit since 1970, in UTC."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np

from cernis.check.amounts import FARTHEST
from cernis.errors import DataError
from cernis.syntax.time_scale import NANOSECONDS, FinerThanUnit, TimeScale

NO_TIME: Final = "a time must be a whole number or like 2026-03-29T03:00"
NO_TIME_AT_ALL: Final = "the time is missing"

SECONDS: Final = TimeScale()
"""The time of programs that say nothing of it."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
WITH_POINT: Final = re.compile(r"[+-]?[0-9]{1,300}[.][0-9]{0,300}")
"""A number that is not whole, or that may be."""
_NUMPY_UNITS: Final = {"D": 86_400 * NANOSECONDS, "h": 3_600 * NANOSECONDS, "m": 60 * NANOSECONDS,
                       "s": NANOSECONDS, "ms": 1_000_000, "us": 1_000, "ns": 1,
                       "W": 7 * 86_400 * NANOSECONDS}  # fmt: skip


class Unusable(Exception):
    """Why a record cannot be used."""


class TooFine(Unusable):
    """A time is finer than the unit of the program."""


def is_date(time: Any) -> bool:
    """Is it a date or time, or the text of one, and not a whole number?

    >>> is_date(7), is_date("7"), is_date("2025-01-31"), is_date(date(2025, 1, 31))
    (False, False, True, True)
    """
    if isinstance(time, str):
        return not (_WHOLE.fullmatch(time.strip()) or WITH_POINT.fullmatch(time.strip()))
    return isinstance(time, date | np.datetime64)


def time_point(time: Any, scale: TimeScale = SECONDS) -> int:
    """A time-point from a whole number, from a date or time, or from either written as text.

    What is none is `Unusable`; a time that is finer than the unit is `TooFine`.

    >>> time_point(7), time_point("7"), time_point("1970-01-01T00:01")
    (7, 7, 60)
    """
    if hasattr(time, "as_py"):
        time = _of_arrow(time)
    if isinstance(time, str) and WITH_POINT.fullmatch(time.strip()):
        return _whole(Decimal(time.strip()), scale)
    if not is_date(time):
        return _whole(time, scale)
    nanoseconds = _nanoseconds(time, scale)
    if nanoseconds is None:
        raise Unusable(NO_TIME)
    try:
        return scale.point(nanoseconds, time)
    except FinerThanUnit as error:
        raise TooFine(str(error)) from None


def call_time(time: Any, scale: TimeScale, name: str = "the time") -> int:
    """The time-point of a time that a caller says; a DataError says what is wrong with it."""
    try:
        point = time_point(time, scale)
    except TooFine as error:
        raise DataError(f"{name}: {error}") from None
    except Unusable:
        point = FARTHEST + 1
    if abs(point) > FARTHEST:
        raise DataError(f"{name} must be a whole number, or a time like 2025-01-31T12:00:00")
    return point


def duration_ticks(length: Any, scale: TimeScale) -> float | None:
    """The length of a `timedelta` of any library in time-points; None if it is none."""
    if isinstance(length, np.timedelta64):
        unit, count = np.datetime_data(length)
        if np.isnat(length) or unit not in _NUMPY_UNITS:
            return None
        nanoseconds = int(length.astype(np.int64)) * count * _NUMPY_UNITS[unit]
    elif isinstance(length, timedelta) and length == length:
        microseconds = length // timedelta(microseconds=1)
        nanoseconds = microseconds * 1_000 + getattr(length, "nanoseconds", 0)
    else:
        return None
    ticks, rest = divmod(nanoseconds, NANOSECONDS // scale.per_second)
    return ticks + 0.5 if rest else ticks


def _whole(time: Any, scale: TimeScale) -> int:
    if hasattr(time, "item"):
        time = time.item()
    if isinstance(time, str):
        return int(time)
    if isinstance(time, Decimal) or (isinstance(time, float) and math.isfinite(time)):
        if time != math.floor(time) and not scale.rounds:
            raise TooFine(str(FinerThanUnit(f"{time:f}".rstrip("0"), scale.unit)))
        time = math.floor(time)
    if not isinstance(time, int) or isinstance(time, bool):
        raise Unusable(NO_TIME)
    return time


def _of_arrow(scalar: Any) -> Any:
    """Arrow's times as numpy's, which hold every unit; with a zone they are in UTC already."""
    import pyarrow as pa

    if not pa.types.is_timestamp(scalar.type) or not scalar.is_valid:
        return scalar.as_py()
    time = np.datetime64(scalar.value, scalar.type.unit)
    return time if scalar.type.tz is None else f"{time}Z"


def _nanoseconds(time: Any, scale: TimeScale) -> int | None:
    """Nanoseconds since 1970; None of what is no time, or of a time that is missing."""
    if isinstance(time, str):
        return scale.written(time.strip())
    if time != time:
        # A time that is missing in a data frame is not equal to itself.
        return None
    if isinstance(time, np.datetime64):
        return _of_numpy(time, scale)
    if not isinstance(time, datetime):
        return scale.nanoseconds(time)
    # Only pandas' times have nanoseconds; the rest of them is a datetime.
    more: int = getattr(time, "nanosecond", 0)
    plain = time.to_pydatetime(warn=False) if hasattr(time, "to_pydatetime") else time
    return scale.nanoseconds(plain) + more


def _of_numpy(time: np.datetime64, scale: TimeScale) -> int | None:
    unit, count = np.datetime_data(time)
    if np.isnat(time):
        return None
    if unit not in _NUMPY_UNITS:
        time, unit, count = time.astype("datetime64[D]"), "D", 1
    nanoseconds = int(time.astype(np.int64)) * count * _NUMPY_UNITS[unit]
    if scale.zone == "UTC":
        return nanoseconds
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    plain = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return scale.nanoseconds(plain) + rest
