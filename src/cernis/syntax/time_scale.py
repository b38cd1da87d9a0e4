"""The time of a program: the unit that its time-points count, and the zone of times without one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from typing import Final

from cernis.errors import DataError

UNITS: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""How many of each unit make a second."""

NANOSECONDS: Final = UNITS["ns"]
NO_UNIT: Final = "the unit of time is s, ms, us or ns"

_FRACTION: Final = re.compile(r"(?<=:\d\d)[.,](\d+)")
_WITH_POINT: Final = re.compile(r"[+-]?[0-9]+[.][0-9]*")
_UTC: Final = re.compile(r" ?(?:UTC|GMT|z)$")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class FinerThanUnit(Exception):
    """A time that is finer than the unit of a program: as it was written, and the unit."""

    def __str__(self) -> str:
        written, unit = self.args
        if _WITH_POINT.fullmatch(written):
            return (
                f"{written} is no whole number, and times count whole "
                f"{'seconds' if unit == 's' else unit}: count a finer unit, such as ms, and say "
                "time_unit=ms, or have times rounded down by `:- time(round(down)).` or "
                "round_times=True"
            )
        finer = "ms" if unit == "s" else "us" if unit == "ms" else "ns"
        unit_name = "has a fraction of a second" if unit == "s" else f"is finer than {unit}"
        return (
            f"{written} {unit_name}, and times count whole {'seconds' if unit == 's' else unit}: "
            f"write `:- time(unit({finer})).` in the rules or say time_unit={finer}, or have times "
            "rounded down by `:- time(round(down)).` or round_times=True"
        )


@dataclass(frozen=True, slots=True)
class TimeScale:
    """How times become time-points, which are whole numbers of a unit since 1970, in UTC."""

    unit: str = "s"
    zone: str = "UTC"
    """The zone of times that are written without one, and of `hour` and its like."""
    rounds: bool = False
    """Is a time that is finer than the unit rounded down? Else it is an error."""
    is_zone_said: bool = field(default=False, compare=False, repr=False)
    """Does the program or its caller say the zone? Else a Spark session may say it."""
    is_zone_asked: bool = field(default=False, compare=False, repr=False)
    """Do the rules depend on the zone: have they times without one, or ask what clocks show?"""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise DataError(f"{NO_UNIT}, not {self.unit!r}")
        zone_of(self.zone)

    @property
    def per_second(self) -> int:
        """How many time-points there are in a second."""
        return UNITS[self.unit]

    def unless_said(self, zone: str) -> TimeScale:
        """The scale with another zone, unless the program or its caller says one.

        >>> TimeScale().unless_said("+02:00").zone
        '+02:00'
        """
        return self if self.is_zone_said else replace(self, zone=zone)

    def point(self, nanoseconds: int, written: object) -> int:
        """The time-point of so many nanoseconds since 1970; `written` is for the error."""
        ticks, rest = divmod(nanoseconds, NANOSECONDS // self.per_second)
        if rest and not self.rounds:
            raise FinerThanUnit(str(written), self.unit)
        return ticks

    def nanoseconds(self, time: date) -> int:
        """A date or time as nanoseconds since 1970; without a zone of its own, it is in ours.

        A time that a clock shows twice is the earlier one; one that a clock skips counts on from
        the time before.

        >>> TimeScale(zone="Europe/Athens").nanoseconds(datetime(1970, 1, 1, 2))
        0
        """
        if not isinstance(time, datetime):
            time = datetime(time.year, time.month, time.day)
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone_of(self.zone))
        passed = time.astimezone(UTC) - _EPOCH
        seconds = passed.days * 86_400 + passed.seconds
        return seconds * NANOSECONDS + passed.microseconds * 1_000

    def written(self, text: str) -> int | None:
        """A date or time of ISO 8601 as nanoseconds since 1970; None if it is none.

        `UTC` and `GMT` are other words for `Z`.

        >>> TimeScale().written("1970-01-01 00:00:00.000000007 UTC"), TimeScale().written("soon")
        (7, None)
        """
        text = _UTC.sub("Z", text)
        fraction = _FRACTION.search(text)
        whole = text if fraction is None else text[: fraction.start()] + text[fraction.end() :]
        digits = "" if fraction is None else fraction[1]
        try:
            time = datetime.fromisoformat(whole)
            return self.nanoseconds(time) + int(digits[:9].ljust(9, "0"))
        except (ValueError, OverflowError):
            return None


@cache
def zone_of(name: str) -> tzinfo:
    """The zone of a name such as `Europe/Athens`, or of an offset such as `+02:00`."""
    from zoneinfo import ZoneInfo

    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if name in ("UTC", "Z"):
        return UTC
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3])
        from datetime import timezone

        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise DataError(
            f"there is no time zone {name!r}: write one such as Europe/Athens, UTC or +02:00"
        ) from None
