"""The times of case files: whole numbers, lengths after the start, clock times, dates and times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from cernis.errors import DataError
from cernis.session.settings import length, point
from cernis.syntax.time_scale import TimeScale, zone_of

_WHOLE: Final = re.compile(r"[+-]?\d+")
_LENGTH: Final = re.compile(r"(?:\d+(?:\.\d+)?\s?[a-z]+\s?)+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s?([a-z]+)")
_CLOCK: Final = re.compile(r"(\d{1,3}):(\d\d)(?::(\d\d)(?:\.(\d+))?)?")
_DAY: Final = 86_400

TIME: Final = (
    r"(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"
    r"|\d{1,3}:\d\d(?::\d\d(?:\.\d+)?)?"
    r"|\d+(?:\.\d+)?[a-z]+(?:\s?\d+(?:\.\d+)?[a-z]+)*|[+-]?\d+)"
)
"""A time as a regular expression."""


class TimeStyle(StrEnum):
    """How a case file writes its times; answers are shown in the same way."""

    NUMBER = "whole numbers"
    LENGTH = "lengths after the start"
    CLOCK = "clock times"
    DATE = "dates and times"


def style_of(text: str) -> TimeStyle:
    """The way in which a time is written.

    >>> style_of("17").name, style_of("1h30min").name, style_of("10:05").name
    ('NUMBER', 'LENGTH', 'CLOCK')
    """
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return TimeStyle.NUMBER
    if _CLOCK.fullmatch(text):
        return TimeStyle.CLOCK
    return TimeStyle.LENGTH if _LENGTH.fullmatch(text) else TimeStyle.DATE


@dataclass(frozen=True, slots=True)
class CaseClock:
    """Reads and writes the times of one case.

    Lengths count from `origin`; clock times are of the day of the origin. Answers are shown in the
    `style`.
    """

    scale: TimeScale = TimeScale()  # noqa: RUF009 - it is frozen
    origin: int = 0
    style: TimeStyle = TimeStyle.NUMBER

    def read(self, text: str) -> int:
        """The time-point of a written time; a DataError if it is none.

        >>> clock = CaseClock(origin=86_400 + 3_600)
        >>> clock.read("10min"), clock.read("10:00"), clock.read("17")
        (90600, 122400, 17)
        """
        text = text.strip()
        kind = style_of(text)
        if kind is TimeStyle.LENGTH:
            return self.origin + self.ticks(text)
        clock = _CLOCK.fullmatch(text)
        if clock:
            seconds = int(clock[1]) * 3_600 + int(clock[2]) * 60 + int(clock[3] or 0)
            fraction = (clock[4] or "").ljust(9, "0")[:9]
            return self._midnight + self.scale.point(seconds * 10**9 + int(fraction), text)
        try:
            return point(text, "the time", self.scale)
        except DataError:
            raise DataError(
                f"{text!r} is no time; write 17, 10min, 10:05, or 2025-01-31T10:05:00"
            ) from None

    def ticks(self, text: str) -> int:
        """A length of time, which may have several parts, in time-points.

        >>> CaseClock().ticks("1h30min"), CaseClock().ticks("90")
        (5400, 90)
        """
        parts = _PART.findall(text)
        if not parts or _WHOLE.fullmatch(text.strip()):
            return length(text, "a length", self.scale)
        if "".join(amount + unit for amount, unit in parts) != re.sub(r"\s", "", text):
            raise DataError(f"{text!r} is no length of time; write 90, 90s, 10min or 1h30min")
        return sum(
            length(amount + unit, "a length", self.scale) for amount, unit in parts if float(amount)
        )

    def show(self, time: int) -> str:
        """A time-point in the style of the case.

        >>> CaseClock(style=TimeStyle.CLOCK).show(36_305)
        '10:05:05'
        """
        if self.style is TimeStyle.LENGTH and time >= self.origin:
            return self.length_text(time - self.origin)
        if self.style is TimeStyle.CLOCK and time >= self._midnight:
            return self._clock_text(time - self._midnight)
        if self.style is TimeStyle.DATE:
            return self._date_text(time)
        return str(time)

    def length_text(self, ticks: int) -> str:
        """A length of time in its largest units.

        >>> CaseClock().length_text(5_405), CaseClock().length_text(0)
        ('1h30min5s', '0s')
        """
        seconds, rest = divmod(ticks, self.scale.per_second)
        hours, minutes, left = seconds // 3_600, seconds // 60 % 60, seconds % 60
        parts = [
            f"{hours}h" * bool(hours),
            f"{minutes}min" * bool(minutes),
            f"{left}s" * bool(left),
        ]
        if rest:
            parts.append(f"{rest * 1000 // self.scale.per_second}ms")
        return "".join(parts) or "0s"

    def _clock_text(self, ticks: int) -> str:
        seconds, rest = divmod(ticks, self.scale.per_second)
        text = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}"
        if seconds % 60 or rest:
            text += f":{seconds % 60:02}"
        digits = len(str(self.scale.per_second)) - 1
        return f"{text}.{rest:0{digits}}" if rest else text

    def _date_text(self, time: int) -> str:
        seconds, rest = divmod(time, self.scale.per_second)
        try:
            shown = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        except OverflowError:
            return str(time)
        text = shown.astimezone(zone_of(self.scale.zone)).strftime("%Y-%m-%dT%H:%M:%S")
        digits = len(str(self.scale.per_second)) - 1
        return f"{text}.{rest:0{digits}}" if rest else text

    @property
    def _midnight(self) -> int:
        """The first time-point of the day of the origin, in the zone of the program."""
        seconds = self.origin // self.scale.per_second
        if abs(seconds) < _DAY:
            return 0
        local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        day = local.astimezone(zone_of(self.scale.zone)).replace(hour=0, minute=0, second=0)
        return int(day.timestamp()) * self.scale.per_second
