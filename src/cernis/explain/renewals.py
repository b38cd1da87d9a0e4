"""Which initiations kept a pair going: those that postponed the delayed effect that ends it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cernis.check.model import Boundary, Happens, Pair, Relation
from cernis.explain.body_proofs import Bindings, match_all, terms
from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import History, Instance
from cernis.explain.phrase_causes import length_of
from cernis.explain.point_texts import point_text
from cernis.knowledge.ground_values import is_ground, term_of
from cernis.knowledge.terms import substitute
from cernis.syntax import show
from cernis.syntax.tree import Term

if TYPE_CHECKING:
    from cernis.explain.causes import CauseTrees

_MOST: Final = 100
"""So many renewals of one interval are named."""


@dataclass(frozen=True, slots=True)
class Postponed:
    """The delay of an effect that initiations postpone, and whether one when it is due does."""

    delay: Term
    length: int
    until_due: bool


def renewals(
    causes: CauseTrees, relation: Relation, instance: Instance, first: int, time: int, depth: int
) -> Iterator[Reason]:
    """The initiations after the one at `first` without which a pair would not hold at `time`.

    Each is the last one before the effect of the one before was due, so there are as few as can be.
    """
    effect = _postponed(causes, relation, instance)
    if effect is None:
        return
    points = sorted(_possible_points(causes, relation, first, time))
    for _ in range(_MOST):
        due = first + effect.length
        if due >= time:
            return
        last = due if effect.until_due else due - 1
        for point in reversed([each for each in points if first < each <= last]):
            cause = causes.initiation(relation, instance, point, depth + 1)
            if cause is not None:
                within = "at most" if effect.until_due else "less than"
                text = f"initiated again at {point_text(point)}, {within} {show(effect.delay)}"
                reason = Reason("kept", f"{text} after {point_text(first)}")
                reason.reasons.append(cause)
                yield reason
                first = point
                break
        else:
            return


def _postponed(causes: CauseTrees, relation: Relation, instance: Instance) -> Postponed | None:
    """The shortest of the effects of a pair, if its initiations postpone them."""
    is_due = [
        each.until_due
        for each in causes.definitions.postponables
        if _bound(causes, each.pair, each.goals, relation, instance) is not None
    ]
    delays = []
    for effect in causes.definitions.effects if is_due else ():
        bound = _bound(causes, effect.source, effect.goals, relation, instance)
        delay = None if bound is None else substitute(effect.delay, bound)
        if delay is not None and is_ground(delay):
            delays.append(Postponed(delay, length_of(delay), is_due[0]))
    return min(delays, key=lambda each: each.length, default=None)


def _bound(
    causes: CauseTrees, pair: Pair, goals: tuple[Term, ...], relation: Relation, instance: Instance
) -> Bindings | None:
    """The bindings with which the head of a declaration is a pair and its goals are true."""
    if pair.relation != relation:
        return None
    actual = (*terms(instance[0]), term_of(instance[1]))
    known = match_all((*pair.args, pair.value), actual, {})
    return None if known is None else causes.goals(goals, known)


def _possible_points(causes: CauseTrees, relation: Relation, first: int, time: int) -> set[int]:
    """The points between two others at which a rule that initiates a fluent may fire."""
    points: set[int] = set()
    for rule in causes.definitions.changes:
        if rule.initiates and rule.pair.relation == relation and rule.body:
            trigger = rule.body[0]
            if isinstance(trigger, Happens):
                happenings = causes.history.events(trigger.event.relation)
                points.update(each.time for each in happenings)
            elif isinstance(trigger, Boundary):
                points.update(_edges(causes.history, trigger))
    return {each for each in points if first < each < time}


def _edges(history: History, trigger: Boundary) -> Iterator[int]:
    """The points at which intervals of a fluent begin or end, as a rule sees them."""
    for _, spans in history.fluent(trigger.pair.relation).items():
        for start, end in spans:
            if trigger.edge == "startI":
                yield start
            else:
                yield (start if trigger.edge == "start" else end) - history.tick
