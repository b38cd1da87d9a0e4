"""The time of a program, as its directives say, and its durations as numbers of that time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from cernis.check.reporter import Report
from cernis.check.rewrites.clock_terms import ClockTerms, mapped, may_ask_clocks
from cernis.errors import DataError
from cernis.source import Source
from cernis.syntax.printer import show
from cernis.syntax.time_scale import NO_UNIT, UNITS, TimeScale, zone_of
from cernis.syntax.tree import Atom, Compound, Directive, Item, Term, Text

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
