"""How to run a program: windows and bounds as users write them, and as whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, TypeAlias

from cernis.check.amounts import is_length
from cernis.errors import DataError
from cernis.records.times import SECONDS, call_time, duration_ticks
from cernis.syntax.time_scale import TimeScale
from cernis.syntax.tokens import DURATION_UNITS, ticks_of

_MOST_DIGITS: Final = 20

Length: TypeAlias = int | str | timedelta
"""A length of time: in time-points, with a unit of its own, `2h`, or a timedelta of any library."""

Point: TypeAlias = int | str | datetime | date
"""A time-point: a whole number, or a date or time of any kind."""


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
    epoch: bool = False
    """Do times come out as whole numbers, though the input has dates?"""


def settings(
    window: Length | None = None, step: Length | None = None, start: Point | None = None,
    end: Point | None = None, tick: int | None = None, ties: str | None = None,
    scale: TimeScale = SECONDS, epoch: bool = False,
) -> Settings:  # fmt: skip
    """Settings from what users write; dates and lengths with a unit count in that of the scale."""
    if tick is not None and not (isinstance(tick, int) and is_length(tick, 1)):
        raise DataError(f"the tick must be a positive whole number below 2**62, not {tick}")
    if ties not in (None, "break", "initiation"):
        raise DataError(f"ties are settled by break or initiation, not by {ties}")
    chosen = Settings(
        None if window is None else length(window, "window", scale),
        None if step is None else length(step, "step", scale),
        None if start is None else point(start, "start", scale),
        None if end is None else point(end, "end", scale),
        tick,
        ties,
        epoch,
    )
    if chosen.start is not None and chosen.end is not None and chosen.end < chosen.start:
        raise DataError(f"the run ends at {chosen.end}, before it starts at {chosen.start}")
    return chosen


def length(value: Length, name: str, scale: TimeScale = SECONDS) -> int:
    """A length of time as a positive whole number of time-points.

    >>> length("2h", "window"), length(90, "step"), length("2s", "step", TimeScale("ms"))
    (7200, 90, 2000)
    """
    if isinstance(value, str):
        number = _written_length(value.strip().replace(" ", ""), scale)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        number = duration_ticks(value, scale)
    if number is None or not is_length(number, 1) or number != int(number):
        finer = "" if scale.unit == "s" else f"; it must be whole {scale.unit}"
        raise DataError(f"{name} must be a positive whole number, or like 90s, 30min or 2h{finer}")
    return int(number)


def _written_length(text: str, scale: TimeScale) -> float | None:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(digits) :]
    if not digits.replace(".", "", 1).isdecimal() or len(digits) >= _MOST_DIGITS:
        return None
    number: float = float(digits) if "." in digits else int(digits)
    if not unit:
        return number
    return ticks_of(number, unit, scale.per_second) if unit in DURATION_UNITS else None


def point(value: Point, name: str, scale: TimeScale = SECONDS) -> int:
    """A time-point as a whole number, from a whole number, date or time of any kind.

    >>> point("17", "start"), point("1970-01-02", "end")
    (17, 86400)
    """
    return call_time(value, scale, name)
