"""The body of a rule over time-points, sorted into what a lane can ask.

Choices with literals over time in them are written out, so that each body is a conjunction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from cernis.check.model import Boundary, Changes, Event, Pair, Relation
from cernis.plan.logical import (
    Aggregate,
    AntiStab,
    Branches,
    Compute,
    EventAntiJoin,
    EventJoin,
    Except,
    Lookup,
    PointOperator,
    Resolve,
    Scan,
    Stab,
    names_in,
    parts_of,
)
from cernis.plan.properties.cycle_causes import is_temporal
from cernis.plan.sweep.unfit import NotSweptError
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Compound, Sequence, Term, Variable

Steps = tuple[PointOperator, ...]

COUNTS = "counts or collects what holds at a point"

_MOST_BODIES = 64
"""A rule whose choices give more bodies is not written out."""


class AskedKind(StrEnum):
    """What a literal over time asks about a point."""

    EVENT = "event"
    HOLDS = "holds"
    START = "start"
    END = "end"
    INITIATION = "initiation"
    TERMINATION = "termination"


@dataclass(frozen=True, slots=True)
class AskedLiteral:
    """A literal over time; it has a value unless it is about an event."""

    kind: AskedKind
    relation: Relation
    args: tuple[Term, ...]
    value: Term | None
    negated: bool
    span: Span = NOWHERE

    @property
    def terms(self) -> tuple[Term, ...]:
        """The arguments, and the value if there is one."""
        return self.args if self.value is None else (*self.args, self.value)


@dataclass(frozen=True, slots=True)
class ConjunctiveBody:
    """The literals over time of a body, its conditions, and conjunctions that must not be true."""

    literals: tuple[AskedLiteral, ...]
    conditions: Steps
    exceptions: tuple[Except, ...]
    time: str
    span: Span
    gate: Relation | None = None
    """The event of another lane without which its records do not count."""
    is_sent: bool = False
    """Is its record a point that another lane sends? Only then it may count what holds."""

    @property
    def counts(self) -> tuple[Aggregate, ...]:
        """Its conditions that count or collect what holds or happens at the point."""
        return tuple(step for step in self.conditions if isinstance(step, Aggregate))

    def names(self) -> set[str]:
        """The names of all variables."""
        terms = [term for literal in self.literals for term in literal.terms]
        return set(names_in((tuple(terms), self.conditions, self.exceptions))) - {"_"}

    def literals_inside(self) -> Iterator[AskedLiteral]:
        """All literals over time, those of exceptions included."""
        yield from self.literals
        for each in self.exceptions:
            for body in bodies_of(each.body, self.time, each.span):
                yield from body.literals_inside()


def bodies_of(steps: Steps, time: str = "", span: Span = NOWHERE) -> list[ConjunctiveBody]:
    """The bodies that a pipeline is written out to."""
    written_out = list(_written_out(steps))
    if len(written_out) > _MOST_BODIES:
        raise NotSweptError("has too many alternatives to write out", span)
    return [_body(each, time, span) for each in written_out]


def _written_out(steps: Steps) -> Iterator[Steps]:
    for position, step in enumerate(steps):
        if isinstance(step, Branches) and is_temporal(step):
            for branch in step.branches:
                yield from _written_out((*steps[:position], *branch, *steps[position + 1 :]))
            return
    yield steps


def _body(steps: Steps, time: str, span: Span) -> ConjunctiveBody:
    literals: list[AskedLiteral] = []
    conditions: list[PointOperator] = []
    exceptions: list[Except] = []
    for step in steps:
        if isinstance(step, Scan):
            time = step.time or time
        if isinstance(step, Aggregate):
            conditions.append(step)
        elif any(isinstance(part, Aggregate) for part in parts_of(step)):
            raise NotSweptError(COUNTS, step.span)
        elif isinstance(step, Except) and is_temporal(step):
            exceptions.append(step)
        elif is_temporal(step):
            literals.append(_literal(step))
        else:
            conditions.append(step)
    return ConjunctiveBody(tuple(literals), tuple(conditions), tuple(exceptions), time, span)


def _literal(step: PointOperator) -> AskedLiteral:
    if isinstance(step, Stab | AntiStab):
        pair, is_negated = step.pair, isinstance(step, AntiStab)
        return AskedLiteral(
            AskedKind.HOLDS, pair.relation, pair.args, pair.value, is_negated, step.span
        )
    assert isinstance(step, Scan | EventJoin | EventAntiJoin)
    occurrence, is_negated = step.occurrence, isinstance(step, EventAntiJoin)
    if isinstance(occurrence, Event):
        return AskedLiteral(
            AskedKind.EVENT, occurrence.relation, occurrence.args, None, is_negated, step.span
        )
    kind = _kind_of(occurrence)
    pair = occurrence.pair
    return AskedLiteral(kind, pair.relation, pair.args, pair.value, is_negated, step.span)


def _kind_of(occurrence: Boundary | Changes) -> AskedKind:
    if isinstance(occurrence, Changes):
        return AskedKind.INITIATION if occurrence.initiates else AskedKind.TERMINATION
    if occurrence.edge == "startI":
        raise NotSweptError("asks for the first point of an interval", occurrence.span)
    return AskedKind(occurrence.edge)


# -- variables and their values --------------------------------------------------------------


def names_of(terms: Iterable[object]) -> set[str]:
    """The names of the variables in some terms or steps, each `_` left out."""
    return {name for term in terms for name in names_in(term)} - {"_"}


def bound_names(step: PointOperator) -> set[str]:
    """The variables that a condition can give a value."""
    if isinstance(step, Compute):
        return {step.variable}
    if isinstance(step, Aggregate):
        return names_of([step.result])
    if isinstance(step, Lookup) or (isinstance(step, Resolve) and not step.negated):
        return set(step.binds)
    if isinstance(step, Branches):
        each = [set().union(*map(bound_names, branch)) for branch in step.branches]
        return set.intersection(*each)
    return set()


@lru_cache(maxsize=8192)
def names_asked(step: PointOperator) -> frozenset[str]:
    """All variables that a condition mentions, one that it computes included."""
    names = set()
    for part in parts_of(step):
        if isinstance(part, Compute):
            names.add(part.variable)
        elif isinstance(part, Variable):
            names.add(part.name)
    return frozenset(names - {"_"})


N = TypeVar("N")


def with_constants(node: N, values: dict[str, Term]) -> N:
    """Steps or terms with constants in the place of some variables."""
    return _with_constants(node, values)  # type: ignore[return-value]


def _with_constants(node: object, values: dict[str, Term]) -> object:
    if isinstance(node, Variable):
        return values.get(node.name, node)
    if isinstance(node, tuple):
        return tuple(_with_constants(each, values) for each in node)
    if isinstance(node, Compound):
        args = tuple(_with_constants(arg, values) for arg in node.args)
        return Compound(node.functor, args, node.span)  # type: ignore[arg-type]
    if isinstance(node, Sequence):
        items = tuple(_with_constants(item, values) for item in node.items)
        tail = _with_constants(node.tail, values)
        return Sequence(items, tail, node.span)  # type: ignore[arg-type]
    return _step_with_constants(node, values)


def _step_with_constants(node: object, values: dict[str, Term]) -> object:
    fields = {}
    for name in ("condition", "expression", "goal", "body", "branches"):
        if hasattr(node, name):
            fields[name] = _with_constants(getattr(node, name), values)
    for name in ("on", "binds"):
        if hasattr(node, name):
            fields[name] = tuple(each for each in getattr(node, name) if each not in values)
    return replace(node, **fields) if fields else node  # type: ignore[type-var]


def head_terms(head: Pair | Event) -> tuple[Term, ...]:
    """The arguments of a head, and its value if it is a pair."""
    return (*head.args, head.value) if isinstance(head, Pair) else head.args
