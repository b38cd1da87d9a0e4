"""Explains what phrases stand for in the words of the phrases.

`F=V for at least D` and `no E within D after A` are made of timers: fluents and events that no
program names. An explanation does not show them. It says how long a pair has held, or when the
event happened after which nothing came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Final

from cernis.check.model import (
    Boundary,
    Changes,
    Definitions,
    DelayedEffect,
    Event,
    EventRule,
    Happens,
    Literal,
    Pair,
    Relation,
)
from cernis.explain.body_proofs import Bindings, match_all, terms
from cernis.explain.histories import History, Instance
from cernis.explain.point_texts import point_text
from cernis.explain.questions import entity_text
from cernis.knowledge.ground_values import is_ground, value
from cernis.knowledge.terms import substitute
from cernis.plan.builder import Plan, make_plan
from cernis.plan.sweep.delay_plans import in_units
from cernis.syntax import show
from cernis.syntax.tree import Atom, Term

_VARIABLE: Final = re.compile(rf"\b[{ascii_uppercase}]\b")
_TIMED: Final = ("when ", "while ")
"""How the names of timers of `for at least` begin; the phrase follows."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer of an instance: what it waits after, and how long."""

    about: Pair | Event
    """The pair that has to hold for so long, or the event after which nothing may come."""
    delay: Term

    @property
    def instance(self) -> Instance:
        """The arguments and the value of the pair."""
        assert isinstance(self.about, Pair)
        return tuple(map(value, self.about.args)), value(self.about.value)


def with_timers(plan: Plan) -> Plan:
    """A plan whose answers have timers, too; the same plan if it has none."""
    definitions = plan.checked.definitions
    if not definitions.auxiliary:
        return plan
    shown = replace(definitions, auxiliary=set())
    return make_plan(replace(plan.checked, definitions=shown))


def phrase_text(name: str, args: tuple[Term, ...]) -> str:
    """The name of a timer with its arguments in place of the variables.

    >>> phrase_text("while idle(A)=true for at least 15min", (Atom("p1"),))
    'idle(p1)=true for at least 15min'
    """
    for word in _TIMED:
        name = name.removeprefix(word)
    known = dict(zip(ascii_uppercase, map(show, args), strict=False))
    return _VARIABLE.sub(lambda letter: known.get(letter[0], "_"), name)


def timer_of(
    definitions: Definitions, relation: Relation, args: tuple[Term, ...], reached: Term
) -> Timer | None:
    """The timer whose fluent has these arguments, if `reached` is its value when time is up."""
    if relation not in definitions.auxiliary:
        return None
    for effect in definitions.effects:
        if effect.target is not None and effect.target.relation == relation:
            known = match_all((*effect.target.args, effect.target.value), (*args, reached), {})
            timer = None if known is None else _started(definitions, effect, args, known)
            if timer is not None:
                return timer
    return None


def _started(
    definitions: Definitions, effect: DelayedEffect, args: tuple[Term, ...], known: Bindings
) -> Timer | None:
    """What starts a timer: the beginning of a pair, or an event."""
    for rule in definitions.changes:
        if rule.initiates and rule.pair.relation == effect.source.relation and rule.body:
            bound = match_all(rule.pair.args, args, {}) or {}
            about = _started_by(rule.body[0])
            if about is not None:
                filled = _filled(about, bound)
                return Timer(filled, substitute(effect.delay, known))
    return None


def _started_by(literal: Literal) -> Pair | Event | None:
    if isinstance(literal, Boundary):
        return literal.pair
    return literal.event if isinstance(literal, Happens) else None


def _filled(about: Pair | Event, bound: Bindings) -> Pair | Event:
    args = tuple(substitute(arg, bound) for arg in about.args)
    if isinstance(about, Pair):
        return replace(about, args=args, value=substitute(about.value, bound))
    return replace(about, args=args)


def length_of(delay: Term) -> int:
    """A length of time in time-points."""
    length = value(in_units(delay))
    assert isinstance(length, int | float)
    return int(length)


def is_ground_pair(about: Pair | Event) -> bool:
    """Is it a pair without variables?"""
    return isinstance(about, Pair) and all(map(is_ground, (*about.args, about.value)))


def missed_event(
    definitions: Definitions, relation: Relation, args: tuple[Term, ...]
) -> tuple[Timer, Event] | None:
    """Of `no E within D after A`: the timer that A starts, and E."""
    if relation not in definitions.auxiliary:
        return None
    for rule in definitions.events:
        known = match_all(rule.event.args, args, {}) if rule.event.relation == relation else None
        if known is not None:
            return _missed(definitions, rule, known)
    return None


def _missed(
    definitions: Definitions, rule: EventRule, known: Bindings
) -> tuple[Timer, Event] | None:
    due, absent = rule.body[:2]
    if not isinstance(due, Changes) or not isinstance(absent, Happens):
        return None
    waiting = tuple(substitute(arg, known) for arg in due.pair.args)
    timer = timer_of(definitions, due.pair.relation, waiting, Atom("due"))
    event = _filled(absent.event, known)
    assert isinstance(event, Event)
    return None if timer is None else (timer, event)


def held_so_far(timer: Timer, history: History, time: int) -> str:
    """Since when the pair of a timer has held at a point where time is not up, or that it does not.

    A text to follow the name of the pair.
    """
    assert isinstance(timer.about, Pair)
    spans = history.fluent(timer.about.relation).get(timer.instance)
    span = next((each for each in spans if each[0] <= time < each[1]), None)
    if span is None:
        return "does not hold"
    return f"has held since {point_text(span[0])} only; {show(timer.delay)} is up later"


def came_in_time(
    definitions: Definitions, history: History, literal: Literal, bindings: Bindings, time: int
) -> str | None:
    """Why `no E within D after A` did not happen, if that is what a literal asks for.

    It tells of the last A up to a point.
    """
    if not isinstance(literal, Happens):
        return None
    args = tuple(substitute(arg, bindings) for arg in literal.event.args)
    missed = missed_event(definitions, literal.event.relation, args)
    if missed is None:
        return None
    timer, absent = missed
    first = _last(history, timer.about, time)
    name = entity_text(timer.about.relation, timer.about.args, None)
    if first is None:
        return f"no {name} up to {point_text(time)}"
    until = first + length_of(timer.delay)
    came = _last(history, absent, until)
    after = f"{show(timer.delay)} after {name} at {point_text(first)}"
    if came is None or came < first:
        return f"{after} is {point_text(until)}"
    return (
        f"{entity_text(absent.relation, absent.args, None)} at {point_text(came)}, within {after}"
    )


def _last(history: History, event: Pair | Event, time: int) -> int | None:
    """When an event happened last up to a point; its variables may have any value."""
    times = [
        each.time
        for each in history.events(event.relation)
        if each.time <= time and match_all(event.args, terms(each.args), {}) is not None
    ]
    return max(times, default=None)
