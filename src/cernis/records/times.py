"""Dates and times as time-points: whole seconds since 1970, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np

NO_TIME: Final = "a time must be a whole number"

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_FRACTION: Final = re.compile(r"[.,][0-9]*[1-9]")


class Unusable(Exception):
    """Why a record cannot be used."""


class SubSecond(Unusable):
    """A time with a fraction of a second, as it was written."""

    def __str__(self) -> str:
        return (
            f"{self.args[0]} has a fraction of a second, and dates and times become whole seconds: "
            "round them, or give whole numbers of a finer unit, such as milliseconds since 1970"
        )


def seconds_of(text: str) -> int | None:
    """A date or time of ISO 8601 as whole seconds since 1970, in UTC; None if it is none.

    >>> seconds_of("1970-01-02"), seconds_of("1970-01-01T00:01:00+01:00"), seconds_of("soon")
    (86400, -3540, None)
    """
    time = _written(text)
    if time is None or has_fraction(text):
        return None
    return _seconds(time)


def has_fraction(text: str) -> bool:
    """Is it a date or time of ISO 8601 that is not in whole seconds?

    >>> has_fraction("2025-01-31T12:00:00.5"), has_fraction("2025-01-31T12:00:00.0")
    (True, False)
    """
    return _FRACTION.search(text) is not None and _written(text) is not None


def time_point(time: Any) -> int:
    """A time-point from a whole number, from a date or time, or from either written as text.

    What is none is `Unusable`; a time with a fraction of a second is `SubSecond`.

    >>> time_point(7), time_point("7"), time_point("1970-01-01T00:01")
    (7, 7, 60)
    """
    if isinstance(time, np.datetime64):
        return _seconds_of_numpy(time)
    if hasattr(time, "item"):
        time = time.item()
    if isinstance(time, str):
        return _time_written(time.strip())
    if isinstance(time, date):
        return _seconds_of_date(time)
    if isinstance(time, float) and time.is_integer():
        time = int(time)
    if not isinstance(time, int) or isinstance(time, bool):
        raise Unusable(NO_TIME)
    return time


def _time_written(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return int(text)
    if has_fraction(text):
        raise SubSecond(text)
    seconds = seconds_of(text)
    if seconds is None:
        raise Unusable(NO_TIME)
    return seconds


def _seconds_of_date(time: date) -> int:
    if time != time:
        # A data frame's time that is missing is no time, and not equal to itself.
        raise Unusable(NO_TIME)
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if time.microsecond or getattr(time, "nanosecond", 0):
        raise SubSecond(str(time))
    return _seconds(time)


def _seconds_of_numpy(time: np.datetime64) -> int:
    if np.isnat(time):
        raise Unusable(NO_TIME)
    seconds = time.astype("datetime64[s]")
    if seconds != time:
        raise SubSecond(str(time))
    return int(seconds.astype(np.int64))


def _written(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _seconds(time: datetime) -> int:
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
