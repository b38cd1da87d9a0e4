"""How to run a program: windows and bounds as users write them, and as whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, TypeAlias

from cernis.check.amounts import FARTHEST, is_length
from cernis.errors import DataError
from cernis.records.times import Unusable, seconds_of, time_point
from cernis.syntax.tokens import DURATION_UNITS

_MOST_DIGITS: Final = 20

Length: TypeAlias = int | str | timedelta
"""A length of time: in units of the input's time, or with a unit of its own, `2h`."""

Point: TypeAlias = int | str | datetime | date
"""A time-point: a whole number, or a date or time, which counts in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run a program; None leaves it to the program, or to the input.

    By default a run starts one tick before the first occurrence and ends with the last occurrence
    or arrival. A window without a step has steps of its own size; a step without a window sees
    everything so far.
    """

    window: int | None = None
    step: int | None = None
    start: int | None = None
    end: int | None = None
    tick: int | None = None
    ties: str | None = None


def settings(
    window: Length | None = None, step: Length | None = None, start: Point | None = None,
    end: Point | None = None, tick: int | None = None, ties: str | None = None,
) -> Settings:  # fmt: skip
    """Settings from what users write."""
    if tick is not None and not (isinstance(tick, int) and is_length(tick, 1)):
        raise DataError(f"the tick must be a positive whole number below 2**62, not {tick}")
    if ties not in (None, "break", "initiation"):
        raise DataError(f"ties are settled by break or initiation, not by {ties}")
    chosen = Settings(
        None if window is None else length(window, "window"),
        None if step is None else length(step, "step"),
        None if start is None else point(start, "start"),
        None if end is None else point(end, "end"),
        tick,
        ties,
    )
    if chosen.start is not None and chosen.end is not None and chosen.end < chosen.start:
        raise DataError(f"the run ends at {chosen.end}, before it starts at {chosen.start}")
    return chosen


def length(value: Length, name: str) -> int:
    """A length of time as a positive whole number; with a unit, in seconds.

    >>> length("2h", "window"), length(90, "step")
    (7200, 90)
    """
    number: float | None = None
    if isinstance(value, timedelta):
        number = value.total_seconds()
    elif isinstance(value, str):
        text = value.strip().replace(" ", "")
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        factor = DURATION_UNITS.get(text[len(digits) :], 1 if text == digits else None)
        if (
            factor is not None
            and digits.replace(".", "", 1).isdecimal()
            and len(digits) < _MOST_DIGITS
        ):
            number = float(digits) * factor if "." in digits else int(digits) * factor
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if number is None or not is_length(number, 1) or number != int(number):
        raise DataError(f"{name} must be a positive whole number, or like 90s, 30min or 2h")
    return int(number)


def point(value: Point, name: str) -> int:
    """A time-point as a whole number; a date or time in seconds since 1970.

    >>> point("17", "start"), point("1970-01-02", "end")
    (17, 86400)
    """
    if isinstance(value, str):
        text = value.strip()
        digits = text.removeprefix("-")
        number = (
            int(text) if digits.isdecimal() and len(digits) < _MOST_DIGITS else seconds_of(text)
        )
    else:
        try:
            number = time_point(value)
        except Unusable:
            number = None
    if number is None or abs(number) > FARTHEST:
        raise DataError(f"{name} must be a whole number, or a time like 2025-01-31T12:00:00")
    return number
