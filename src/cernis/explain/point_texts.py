"""How explanations write time-points and intervals: one place for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from cernis.records.times import call_time
from cernis.syntax.time_scale import TimeScale, zone_of
from cernis.tables.interval_tables import INFINITY

_MARKED: Final = re.compile("\x02(-?[0-9]+)\x03")
_OF_DAY: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


def point_text(time: int) -> str:
    """A time-point in a text, marked until it is known how times are to be shown.

    >>> with_times(f"at {point_text(13)}", str)
    'at 13'
    """
    return "inf" if time >= INFINITY else f"\x02{time}\x03"


def with_times(text: str, show_time: Callable[[int], str]) -> str:
    """A text with its time-points as they are to be shown."""
    return _MARKED.sub(lambda marked: show_time(int(marked[1])), text)


def point_asked(text: str, scale: TimeScale, end: int) -> int:
    """The time-point that a question is about; a time of day is the last one up to an end.

    >>> point_asked("00:01", TimeScale(), 86_500), point_asked("7", TimeScale(), 100)
    (86460, 7)
    """
    of_day = _OF_DAY.fullmatch(text.strip())
    if of_day is None:
        return call_time(text, scale, "the time")
    hours, minutes, seconds = (int(part or 0) for part in of_day.groups())
    last = datetime.fromtimestamp(end // scale.per_second, UTC).astimezone(zone_of(scale.zone))
    asked_time = last.replace(hour=hours, minute=minutes, second=seconds, microsecond=0)
    if asked_time > last:
        asked_time -= timedelta(days=1)
    return int(asked_time.timestamp()) * scale.per_second


def interval_text(interval: tuple[int, int]) -> str:
    """An interval as it is shown.

    >>> with_times(interval_text((14, 20)), str)
    '[14,20)'
    """
    return f"[{point_text(interval[0])},{point_text(interval[1])})"
