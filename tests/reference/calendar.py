"""Times in rules as section 1 of the semantics has them: dates, durations, and what clocks show.

Dates become time-points and durations lengths in the unit that `:- time(...)` says. What a rule
asks of a clock, `hour(T)`, becomes a function whose name says the zone and how many time-points
make a second; it is computed for one time at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cernis.syntax.tree import (
    Atom,
    Compound,
    DateTime,
    Directive,
    Duration,
    Item,
    Number,
    Text,
)

SECONDS = {
    "ms": 0.001, "msec": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
    "w": 604800, "week": 604800, "weeks": 604800,
}  # fmt: skip

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
CLOCKS = ("hour", "minute", "weekday", "date")
COMPUTING = ("<", ">", "=<", ">=", "=:=", "=\\=", "is", "=", "\\=")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timed(items: Iterable[Item]) -> list[Item]:
    """The items of a program with all times in its unit, and clocks in its zone."""
    items = list(items)
    unit, zone = "s", "UTC"
    for item in items:
        if isinstance(item, Directive) and isinstance(item.goal, Compound):
            for option in item.goal.args if item.goal.functor == "time" else ():
                assert isinstance(option, Compound)
                word = option.args[0]
                assert isinstance(word, Atom | Text)
                name = word.name if isinstance(word, Atom) else word.value
                unit = name if option.functor == "unit" else unit
                zone = name if option.functor == "zone" else zone
    return [each if isinstance(each, Directive) else _timed(each, unit, zone) for each in items]


def _timed(node: Any, unit: str, zone: str) -> Any:
    if isinstance(node, DateTime):
        time = datetime.fromisoformat(node.text)
        time = time if time.tzinfo else time.replace(tzinfo=ZoneInfo(zone))
        return Number((time - EPOCH) // timedelta(microseconds=1) * PER_SECOND[unit] // 10**6)
    if isinstance(node, Duration) and unit != "s":
        milliseconds = round(SECONDS[node.unit] * 1000)
        return Number(int(node.amount * milliseconds * PER_SECOND[unit] / 1000))
    if isinstance(node, Compound) and node.functor in COMPUTING:
        node = replace(node, args=tuple(_with_zone(arg, unit, zone) for arg in node.args))
    if isinstance(node, tuple):
        return tuple(_timed(part, unit, zone) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {
        f.name: _timed(getattr(node, f.name), unit, zone) for f in fields(node) if f.name != "span"
    }
    return replace(node, **parts)


def _with_zone(term: Any, unit: str, zone: str) -> Any:
    if not isinstance(term, Compound):
        return term
    args = tuple(_with_zone(arg, unit, zone) for arg in term.args)
    name = term.functor
    if name in CLOCKS and len(args) == 1:
        name = f"{name} in {zone} by {PER_SECOND[unit]}"
    return Compound(name, args)


def is_clock(name: str) -> bool:
    """Is it the name of a function that a clock answers?"""
    return name.partition(" in ")[0] in CLOCKS and " in " in name


def clock(name: str, point: float) -> int:
    """What the clock of a zone shows at a time-point; a ValueError if it shows nothing."""
    if not isinstance(point, int):
        raise ValueError("a time-point is a whole number")
    asked, _, rest = name.partition(" in ")
    zone, _, per_second = rest.partition(" by ")
    try:
        then = EPOCH + timedelta(seconds=point // int(per_second))
        here = then.astimezone(ZoneInfo(zone))
    except OverflowError as error:
        raise ValueError("there is no such date") from error
    if asked == "weekday":
        return here.isoweekday()
    if asked == "date":
        midnight = here.replace(hour=0, minute=0, second=0, fold=0)
        return (midnight.astimezone(UTC) - EPOCH) // timedelta(seconds=1) * int(per_second)
    return here.hour if asked == "hour" else here.minute
