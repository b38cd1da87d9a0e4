"""Terminations as conditions, for uncertain fluents of which some rule ends any value.

They are kept in four tables, each like that of an uncertain event: all terminations, whatever their
value; those whose rules leave the value open; those whose rules name the value; and those of each
value, in which a termination with an open value stands once for each known value.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from cernis.check.model import Changes, Event, Relation
from cernis.plan.logical import Branches, EventJoin, PointOperator, Scan
from cernis.syntax.tree import Term, Variable


class TerminationKind(StrEnum):
    """Which terminations of a fluent a table has."""

    WHATEVER = "whatever"
    ANY = "any"
    SAID = "said"
    EACH = "each"

    @property
    def has_value(self) -> bool:
        """Is the value an argument of the table?"""
        return self in (TerminationKind.SAID, TerminationKind.EACH)

    def of(self, relation: Relation) -> Relation:
        """The event of these terminations."""
        return Relation(f"{relation.name} ended, {self}", relation.arity + self.has_value)


def termination_step(step: Scan | EventJoin) -> PointOperator:
    """A step that reads terminations, rewritten to read one of these tables."""
    changes = step.occurrence
    assert isinstance(changes, Changes)
    value = changes.pair.value
    if not isinstance(value, Variable):
        return step_of_value(step)
    kind = TerminationKind.WHATEVER if value.name == "_" else TerminationKind.EACH
    return replace(step, occurrence=_event(kind, changes))


def step_of_value(step: Scan | EventJoin) -> PointOperator:
    """A step that reads terminations of a known value: those that name it, and those of any."""
    changes = step.occurrence
    assert isinstance(changes, Changes)
    events = [_event(kind, changes) for kind in (TerminationKind.SAID, TerminationKind.ANY)]
    return Branches(tuple((replace(step, occurrence=event),) for event in events), step.span)


def step_of_any_value(step: EventJoin) -> PointOperator:
    """A step that reads terminations, whatever their value."""
    assert isinstance(step.occurrence, Changes)
    return replace(step, occurrence=_event(TerminationKind.WHATEVER, step.occurrence))


def _event(kind: TerminationKind, changes: Changes) -> Event:
    pair = changes.pair
    args: tuple[Term, ...] = (*pair.args, pair.value) if kind.has_value else pair.args
    return Event(kind.of(pair.relation), args, changes.span)
