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


class Ended(StrEnum):
    """Which terminations of a fluent."""

    WHATEVER = "whatever"
    ANY = "any"
    SAID = "said"
    EACH = "each"

    @property
    def has_value(self) -> bool:
        """Is the value an argument of the table?"""
        return self in (Ended.SAID, Ended.EACH)

    def of(self, relation: Relation) -> Relation:
        """The event of these terminations."""
        return Relation(f"{relation.name} ended, {self}", relation.arity + self.has_value)


def asked(step: Scan | EventJoin) -> PointOperator:
    """A step that asks for terminations, as one of those events."""
    changes = step.occurrence
    assert isinstance(changes, Changes)
    value = changes.pair.value
    if not isinstance(value, Variable):
        return of_value(step)
    kind = Ended.WHATEVER if value.name == "_" else Ended.EACH
    return replace(step, occurrence=_event(kind, changes))


def of_value(step: Scan | EventJoin) -> PointOperator:
    """A step that asks for terminations of a known value: those that say it, and those of any."""
    changes = step.occurrence
    assert isinstance(changes, Changes)
    events = [_event(kind, changes) for kind in (Ended.SAID, Ended.ANY)]
    return Branches(tuple((replace(step, occurrence=event),) for event in events), step.span)


def of_whatever(step: EventJoin) -> PointOperator:
    """A step that asks for terminations, of whatever value."""
    assert isinstance(step.occurrence, Changes)
    return replace(step, occurrence=_event(Ended.WHATEVER, step.occurrence))


def _event(kind: Ended, changes: Changes) -> Event:
    pair = changes.pair
    args: tuple[Term, ...] = (*pair.args, pair.value) if kind.has_value else pair.args
    return Event(kind.of(pair.relation), args, changes.span)
