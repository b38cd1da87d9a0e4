"""What rules over time-points read: relations as fluents or events, or the changes of fluents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cernis.check.model import Boundary, Changes, Event, Relation
from cernis.plan.logical import (
    AntiStab,
    EventAntiJoin,
    EventJoin,
    Fetch,
    IntervalRule,
    PointOperator,
    PointRule,
    Scan,
    Stab,
    Stratum,
)
from cernis.syntax.tree import Term

FLUENT, EVENT, INITIATIONS, TERMINATIONS = "fluent", "event", "initiations", "terminations"


@dataclass(frozen=True, slots=True)
class ReadLiteral:
    """A literal by which a rule reads a relation: as a fluent, an event, or its changes."""

    kind: str
    relation: Relation
    terms: tuple[Term, ...]
    """The arguments and, unless it is an event, the value."""


def literals(steps: Iterable[PointOperator]) -> Iterator[ReadLiteral]:
    """The literals over time of a rule's steps, at any depth."""
    for step in steps:
        if isinstance(step, (Stab, AntiStab)):
            yield ReadLiteral(FLUENT, step.pair.relation, (*step.pair.args, step.pair.value))
        elif isinstance(step, (Scan, EventJoin, EventAntiJoin)):
            yield _occurrence(step.occurrence)
        for branch in getattr(step, "branches", ()):
            yield from literals(branch)
        yield from literals(getattr(step, "body", ()))


def _occurrence(occurrence: Event | Boundary | Changes) -> ReadLiteral:
    if isinstance(occurrence, Event):
        return ReadLiteral(EVENT, occurrence.relation, occurrence.args)
    pair = occurrence.pair
    terms = (*pair.args, pair.value)
    if isinstance(occurrence, Boundary):
        return ReadLiteral(FLUENT, pair.relation, terms)
    return ReadLiteral(INITIATIONS if occurrence.initiates else TERMINATIONS, pair.relation, terms)


def is_anchored(rule: object, key: tuple[int, ...]) -> bool:
    """Has a rule a literal with all arguments of the key that must be true for it to fire?

    If not, the rule may derive something for keys that no record has named.
    """
    if isinstance(rule, IntervalRule):
        lists = {step.output: step.pair.args for step in rule.steps if isinstance(step, Fetch)}
        wanted = [rule.head.args[position] for position in key]
        return all(
            any(set(wanted) <= set(lists[name]) for name in needed)
            for needed in rule.needs.alternatives
        )
    if not isinstance(rule, PointRule):
        return True
    wanted = [rule.head.args[position] for position in key]
    steps = [step for step in rule.steps if isinstance(step, (Scan, EventJoin, Stab))]
    return any(set(wanted) <= set(literal.terms) for literal in literals(steps))


def watched_by(stratum: Stratum) -> set[Relation]:
    """The fluents of other strata whose initiations or terminations the rules of one read."""
    rules = [r for d in stratum.definitions for r in d.rules if isinstance(r, PointRule)]
    return {
        literal.relation
        for rule in rules
        for literal in literals(rule.steps)
        if literal.kind in (INITIATIONS, TERMINATIONS)
    } - set(stratum.relations)
