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


def length(given: Length, what: str) -> int:
    """A length of time as a positive whole number; with a unit, in seconds.

    >>> length("2h", "window"), length(90, "step")
    (7200, 90)
    """
    found: float | None = None
    if isinstance(given, timedelta):
        found = given.total_seconds()
    elif isinstance(given, str):
        text = given.strip().replace(" ", "")
        number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        factor = DURATION_UNITS.get(text[len(number) :], 1 if text == number else None)
        if (
            factor is not None
            and number.replace(".", "", 1).isdecimal()
            and len(number) < _MOST_DIGITS
        ):
            found = float(number) * factor if "." in number else int(number) * factor
    elif isinstance(given, int) and not isinstance(given, bool):
        found = given
    if found is None or not is_length(found, 1) or found != int(found):
        raise DataError(f"{what} must be a positive whole number, or like 90s, 30min or 2h")
    return int(found)


def point(given: Point, what: str) -> int:
    """A time-point as a whole number; a date or time in seconds since 1970.

    >>> point("17", "start"), point("1970-01-02", "end")
    (17, 86400)
    """
    if isinstance(given, str):
        text = given.strip()
        digits = text.removeprefix("-")
        found = int(text) if digits.isdecimal() and len(digits) < _MOST_DIGITS else seconds_of(text)
    else:
        try:
            found = time_point(given)
        except Unusable:
            found = None
    if found is None or abs(found) > FARTHEST:
        raise DataError(f"{what} must be a whole number, or a time like 2025-01-31T12:00:00")
    return found
