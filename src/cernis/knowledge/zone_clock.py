"""What a clock in some zone shows at a time-point: the hour, the minute, the weekday, the date.

As functions of arithmetic these take numbers only: a time-point, the number of a zone, and how many
time-points make a second. The number of a zone follows from its name, so that it is the same in
every process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zlib import crc32

from cernis.syntax.time_scale import zone_of

HOUR: Final = 3600
DAY: Final = 24 * HOUR

EARLIEST: Final = -62_135_510_400
LATEST: Final = 253_402_214_400
"""Seconds since 1970 between which there are dates: a day off the years 1 and 9999."""

CLOCK_RANGES: Final = {"hour": (0, 23), "minute": (0, 59), "weekday": (1, 7), "date": None}
"""The functions, with their least and greatest values; a date is the time at which the day begins.

Weekdays are counted from Monday.
"""

_EPOCH: Final = datetime(1970, 1, 1)
_NAMES: Final[dict[int, str]] = {}
"""Zones by their numbers, as far as they are known."""


@cache
def zone_number(name: str) -> int:
    """The number of a zone."""
    _NAMES[crc32(name.encode())] = name
    return crc32(name.encode())


@cache
def zone_named(number: int) -> str:
    """The name of the zone with a number; a ValueError if there is none."""
    if number not in _NAMES:
        from zoneinfo import available_timezones

        signs = [f"{sign}{h:02}{colon}{m:02}" for sign in "+-" for h in range(24)
                 for m in range(60) for colon in (":", "")]  # fmt: skip
        for name in (*available_timezones(), *signs, "UTC", "Z"):
            zone_number(name)
    if number not in _NAMES:
        raise ValueError(f"no zone has the number {number}")
    return _NAMES[number]


@cache
def fixed_offset(zone: str) -> int | None:
    """How many seconds a zone is always ahead of UTC; None if that changes."""
    offset = zone_of(zone).utcoffset(None)
    return None if offset is None else round(offset.total_seconds())


def day_start(day: int, zone: str) -> int:
    """The second since 1970 at which a day, counted from 1970-01-01, begins in a zone.

    Where clocks skip midnight, the day begins after it; where they show it twice, with the first.
    """
    midnight = (_EPOCH + timedelta(days=day)).replace(tzinfo=zone_of(zone))
    passed = midnight.astimezone(UTC) - _EPOCH.replace(tzinfo=UTC)
    return passed.days * DAY + passed.seconds


def shown(name: str, clock: int) -> int:
    """What a clock shows that is so many seconds after 1970 in its own zone.

    >>> shown("hour", 3 * HOUR + 7), shown("weekday", 0), shown("minute", -60)
    (3, 4, 59)
    """
    if name == "hour":
        return clock // HOUR % 24
    if name == "minute":
        return clock // 60 % 60
    return (clock // DAY + 3) % 7 + 1


_INNER: Final = re.compile(r"\b(hour|minute|weekday|date)\(([^(),]+), ([0-9]+), ([0-9]+)\)")


def with_plain_clocks(text: str, show_time: Callable[[int], str] = str) -> str:
    """A text about a program with clocks as users write them; of a time-point, with what they show.

    >>> with_plain_clocks(f"hour(T, {zone_number('UTC')}, 1) >= 22")
    'hour(T) >= 22'
    >>> with_plain_clocks(f"hour(82800, {zone_number('UTC')}, 1) >= 22")
    '23 (the hour of 82800 in UTC) >= 22'
    """

    def plain(inner: re.Match[str]) -> str:
        name, time, code, per_second = inner.groups()
        try:
            zone = zone_named(int(code))
            if not time.lstrip("-").isdigit():
                return f"{name}({time})"
            value = clock_function(name, int(time), int(code), int(per_second))
        except ValueError:
            return inner[0]
        number = show_time(value) if name == "date" else str(value)
        return f"{number} (the {name} of {show_time(int(time))} in {zone})"

    return _INNER.sub(plain, text) if "(" in text else text


def clock_function(name: str, time: object, zone_code: object, per_second: object) -> int:
    """The value of one of the functions; a ValueError where there is none."""
    if not isinstance(time, int) or not isinstance(zone_code, int):
        raise ValueError("only a time-point has an hour and a date")
    assert isinstance(per_second, int)
    seconds, zone = time // per_second, zone_named(zone_code)
    if not EARLIEST <= seconds <= LATEST:
        raise ValueError("too far from 1970")
    offset = fixed_offset(zone)
    if offset is None:
        then = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=UTC)
        difference = then.astimezone(zone_of(zone)).utcoffset()
        assert difference is not None
        offset = difference.days * DAY + difference.seconds
    if name == "date":
        return day_start((seconds + offset) // DAY, zone) * per_second
    return shown(name, seconds + offset)
