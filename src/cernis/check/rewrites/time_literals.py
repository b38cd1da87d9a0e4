"""The time of a program, as its directives say; dates, durations and clocks in that time.

`2026-03-29T03:00Z` becomes a time-point. Where something is computed, `hour(T)` becomes
`hour(T, Z, N)`, with the number of the program's zone and how many time-points make a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

from cernis.check.amounts import FARTHEST
from cernis.check.reporter import Report
from cernis.errors import DataError
from cernis.knowledge.zone_clock import CLOCK_RANGES, zone_number
from cernis.source import Source
from cernis.syntax.printer import show
from cernis.syntax.time_scale import NO_UNIT, UNITS, FinerThanUnit, TimeScale, zone_of
from cernis.syntax.tokens import ticks_of
from cernis.syntax.tree import (
    Atom,
    Compound,
    DateTime,
    Directive,
    Duration,
    Item,
    Number,
    Term,
    Text,
    Where,
    functor,
)

_HELP: Final = 'write, say, :- time(unit(ms), zone("Europe/Athens"), round(down)).'


@dataclass(frozen=True, slots=True)
class ChosenTime:
    """What the caller says of a program's time; None leaves it to the program."""

    unit: str | None = None
    zone: str | None = None
    rounds: bool | None = None

    def over(self, scale: TimeScale) -> TimeScale:
        """The scale, but for what is chosen."""
        return TimeScale(
            scale.unit if self.unit is None else self.unit,
            scale.zone if self.zone is None else self.zone,
            scale.rounds if self.rounds is None else self.rounds,
            scale.is_zone_said or self.zone is not None,
        )


AS_DIRECTED: Final = ChosenTime()
"""Nothing is chosen: directives say what time is."""


def read_times(
    items: Iterable[Item], chosen: ChosenTime, report: Report, sources: Iterable[Source]
) -> tuple[list[Item], TimeScale]:
    """The items without dates and durations, which become numbers; and the time they count in."""
    items = list(items)
    scale = time_scale(items, chosen, report)
    terms = ClockTerms(scale, report)
    if scale.unit == "s" and not may_ask_clocks(source.text for source in sources):
        return items, scale
    timed = [
        item if isinstance(item, Directive) else mapped(item, terms.rewritten) for item in items
    ]
    return timed, replace(scale, is_zone_asked=terms.asks_zone)


def time_scale(items: Iterable[Item], chosen: ChosenTime, report: Report) -> TimeScale:
    """The time of a program, by its directives and by what is chosen."""
    scale = TimeScale()
    for item in items:
        goal = item.goal if isinstance(item, Directive) else None
        if isinstance(goal, Compound) and goal.functor == "time":
            scale = _said(goal, scale, report)
    return chosen.over(scale)


def _said(goal: Compound, scale: TimeScale, report: Report) -> TimeScale:
    for option in goal.args:
        value = option.args[0] if isinstance(option, Compound) and len(option.args) == 1 else None
        name = option.functor if isinstance(option, Compound) else ""
        text = _word(value)
        reader = _OPTIONS.get(name)
        fitting = None if reader is None or text is None else reader(scale, text)
        if fitting is None:
            report.error("C064", f"{show(option)} says nothing about time: {_expected(name, text)}",
                         option.span, help=_HELP)  # fmt: skip
        else:
            scale = fitting
    return scale


def _expected(name: str, text: str | None) -> str:
    if name == "unit":
        return NO_UNIT
    if name == "zone" and text is not None:
        return f"there is no time zone {text!r}"
    return "there are unit, zone and round(down)"


def _word(term: Term | None) -> str | None:
    return term.name if isinstance(term, Atom) else term.value if isinstance(term, Text) else None


def _zone(scale: TimeScale, name: str) -> TimeScale | None:
    try:
        zone_of(name)
    except DataError:
        return None
    return replace(scale, zone=name, is_zone_said=True)


_OPTIONS: Final[dict[str, Callable[[TimeScale, str], TimeScale | None]]] = {
    "unit": lambda scale, name: replace(scale, unit=name) if name in UNITS else None,
    "zone": _zone,
    "round": lambda scale, name: replace(scale, rounds=True) if name == "down" else None,
}


# -- dates, durations and clocks ---------------------------------------------------------------

_COMPUTING: Final = frozenset({"<", ">", "=<", ">=", "=:=", "=\\=", "is"})
_EQUATIONS: Final = frozenset({"=", "\\="})
"""In conditions of patterns these compute, too."""

_DATE: Final = "write one like 2026-03-29T03:00Z, or without a zone for one in the program's"


_TRACES: Final = re.compile(rf"\d-\d\dT\d\d:|\b(?:{'|'.join(CLOCK_RANGES)})\s*\(")


def may_ask_clocks(texts: Iterable[str]) -> bool:
    """May there be a date or a clock function in some texts? So most programs need no rewriting."""
    return any(_TRACES.search(text) for text in texts)


@dataclass(slots=True)
class ClockTerms:
    """Turns the times of a program into numbers, and its clock functions into arithmetic."""

    scale: TimeScale
    report: Report
    asks_zone: bool = False
    """Does a rule have a time without a zone, or ask a clock?"""
    computing: frozenset[str] = field(default=_COMPUTING)

    def rewritten(self, node: Any) -> Any:
        """What stands for a part of a program; None for what stays, as far as it is looked at."""
        if isinstance(node, DateTime):
            return self._instant(node)
        if isinstance(node, Duration):
            return self._duration(node)
        if isinstance(node, Where) and self.computing is _COMPUTING:
            inside = replace_computing(self, _COMPUTING | _EQUATIONS)
            new = mapped(node, inside.rewritten)
            self.asks_zone |= inside.asks_zone
            return new
        if isinstance(node, Compound) and node.functor in self.computing and len(node.args) == 2:
            return self._comparison(node)
        return None

    def _comparison(self, goal: Compound) -> Compound:
        one, other = (mapped(arg, self._computed) for arg in goal.args)
        self._check_range(goal.functor, *goal.args)
        self._check_range(goal.functor, *reversed(goal.args))
        return replace(goal, args=(one, other))

    def _computed(self, node: Any) -> Any:
        """What stands for a part of an expression."""
        if isinstance(node, Compound) and len(node.args) == 1 and node.functor in CLOCK_RANGES:
            self.asks_zone = True
            inner = mapped(node.args[0], self._computed)
            constants = Number(zone_number(self.scale.zone)), Number(self.scale.per_second)
            return Compound(node.functor, (inner, *constants), node.span)
        if isinstance(node, DateTime):
            return self._instant(node)
        return self._duration(node) if isinstance(node, Duration) else None

    def _duration(self, node: Duration) -> Number | None:
        """Where time-points are seconds, durations stay what they are."""
        if self.scale.unit == "s":
            return None
        return Number(ticks_of(node.amount, node.unit, self.scale.per_second), node.span)

    def _instant(self, node: DateTime) -> Number:
        nanoseconds = self.scale.written(node.text)
        self.asks_zone |= not node.has_zone
        point = 0
        if nanoseconds is None:
            self.report.error("C064", f"{node.text} is no date and time", node.span, help=_DATE)
        else:
            try:
                point = self.scale.point(nanoseconds, node.text)
            except FinerThanUnit as error:
                self.report.error("C064", str(error), node.span)
        if abs(point) > FARTHEST:
            message = f"{node.text} is too far from 1970 to be counted in {self.scale.unit}"
            self.report.error("C064", message, node.span, help="choose a longer unit of time")
        return Number(point, node.span)

    def _check_range(self, comparison: str, asked: Term, number: Term) -> None:
        """Report a comparison with a number that no clock shows."""
        name, arity = functor(asked)
        values = CLOCK_RANGES.get(name) if arity == 1 else None
        if values is None or not isinstance(number, Number):
            return
        low, high = values
        beyond = 0 if comparison in ("=:=", "=\\=", "=", "\\=", "is") else 1
        if not low - beyond <= number.value <= high + beyond:
            days = ", from Monday to Sunday" if name == "weekday" else ""
            message = f"{name} is a number from {low} to {high}{days}; it is never {number.value}"
            self.report.error("C064", message, number.span)


def replace_computing(terms: ClockTerms, computing: frozenset[str]) -> ClockTerms:
    """The same for a place in which other goals compute."""
    return ClockTerms(terms.scale, terms.report, terms.asks_zone, computing)


def mapped(node: Any, rule: Callable[[Any], Any]) -> Any:
    """A tree with each outermost part that the rule has an answer for replaced by it."""
    new = rule(node)
    if new is not None:
        return new
    if isinstance(node, tuple):
        parts = tuple(mapped(part, rule) for part in node)
        return node if all(a is b for a, b in zip(parts, node, strict=True)) else parts
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changes = {}
    for each in fields(node):
        if each.name != "span":
            value = getattr(node, each.name)
            changed = mapped(value, rule)
            if changed is not value:
                changes[each.name] = changed
    return replace(node, **changes) if changes else node
