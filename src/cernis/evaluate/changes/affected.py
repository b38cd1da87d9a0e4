"""How changes spread through a cycle whose rules have no key in common.

A rule reads other relations of its cycle through literals. If a row of one of them changes, only
those instances of the head are affected that agree with the row on the variables that the literal
and the head share. So a definition is evaluated again for the affected instances alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Boundary, Changes, Event, Pair, Relation
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.query_context import Context, constant_column
from cernis.plan.logical import (
    AntiStab,
    Definition,
    EventAntiJoin,
    EventJoin,
    PointOperator,
    PointRule,
    Scan,
    Stab,
)
from cernis.syntax.tree import Term, Variable
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import Finder

FLUENT, EVENT, INITIATIONS, TERMINATIONS = "fluent", "event", "initiations", "terminations"


@dataclass(frozen=True, slots=True)
class Literal:
    """What a rule reads: a relation of its cycle, as a fluent, an event, or its changes."""

    kind: str
    relation: Relation
    terms: tuple[Term, ...]
    """Its arguments and, but for an event, its value."""


@dataclass(slots=True)
class Changed:
    """Rows of a relation that are new, or no longer there: arguments and value."""

    kind: str
    relation: Relation
    columns: list[Array]
    domains: list[Domain | None]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


def literals(steps: Iterable[PointOperator]) -> Iterator[Literal]:
    """The literals over time of a rule's steps, at any depth."""
    for step in steps:
        if isinstance(step, (Stab, AntiStab)):
            yield Literal(FLUENT, step.pair.relation, (*step.pair.args, step.pair.value))
        elif isinstance(step, (Scan, EventJoin, EventAntiJoin)):
            yield _occurrence(step.occurrence)
        for branch in getattr(step, "branches", ()):
            yield from literals(branch)
        yield from literals(getattr(step, "body", ()))


def _occurrence(occurrence: Event | Boundary | Changes) -> Literal:
    if isinstance(occurrence, Event):
        return Literal(EVENT, occurrence.relation, occurrence.args)
    pair = occurrence.pair
    terms = (*pair.args, pair.value)
    if isinstance(occurrence, Boundary):
        return Literal(FLUENT, pair.relation, terms)
    return Literal(INITIATIONS if occurrence.initiates else TERMINATIONS, pair.relation, terms)


@dataclass(slots=True)
class Instances:
    """Instances of a relation: those that agree with some row of some constraint."""

    relation: Relation
    domains: list[Domain | None]
    constraints: list[tuple[tuple[int, ...], list[Array]]] = field(default_factory=list)
    everything: bool = False
    _finders: list[tuple[tuple[int, ...], Finder]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.everything or bool(self.constraints)

    def add(self, positions: tuple[int, ...], columns: list[Array]) -> None:
        """Add what has these values at these positions."""
        self.constraints.append((positions, columns))

    def mask(self, relation: Relation, arguments: list[Array]) -> Booleans | None:
        """For each row: is it one of these instances? None for another relation."""
        if relation != self.relation or self.everything:
            return None
        found = np.zeros(len(arguments[0]), np.bool_)
        for positions, finder in self._built():
            wanted = [arguments[at] for at in positions]
            found |= finder.one(wanted, len(found)) >= 0
        return found

    def _built(self) -> list[tuple[tuple[int, ...], Finder]]:
        """One finder for all constraints on the same positions."""
        if not self._finders:
            for positions in dict.fromkeys(own for own, _ in self.constraints):
                parts = [columns for own, columns in self.constraints if own == positions]
                columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
                domains = [self.domains[at] for at in positions]
                finder = Finder(list(zip(columns, domains, strict=True)), len(columns[0]))
                self._finders.append((positions, finder))
        return self._finders


class Reading:
    """One definition of a cycle: what it reads, and what of it is affected by a change."""

    def __init__(
        self, relation: Relation, definition: Definition, domains: list[Domain | None]
    ) -> None:
        self.relation = relation
        self.definition = definition
        self.domains = domains
        rules = [rule for rule in definition.rules if isinstance(rule, PointRule)]
        self._literals = [(rule, own) for rule in rules for own in literals(rule.steps)]
        self.can_be_cut = relation.arity > 0 and not any(rule.open_variables for rule in rules)
        self.affected = Instances(relation, domains)

    def hear(self, change: Changed) -> None:
        """Note what a change affects."""
        for rule, literal in self._literals:
            if literal.kind == change.kind and literal.relation == change.relation:
                self._note(rule.head, literal, change)

    def taken(self) -> Instances:
        """What is affected so far; from now on nothing is."""
        affected, self.affected = self.affected, Instances(self.relation, self.domains)
        affected.everything |= bool(affected.constraints) and not self.can_be_cut
        return affected

    def _note(self, head: Event | Pair, literal: Literal, change: Changed) -> None:
        if self.affected.everything:
            return
        rows = _agreeing(literal, change)
        if not len(rows):
            return
        shared = [
            (at, literal.terms.index(term))
            for at, term in enumerate(head.args)
            if isinstance(term, Variable) and term.name != "_" and term in literal.terms
        ]
        if not shared:
            self.affected.everything = True
            return
        columns = [change.columns[own][rows] for _, own in shared]
        self.affected.add(tuple(at for at, _ in shared), columns)


def _agreeing(literal: Literal, change: Changed) -> Integers:
    """The changed rows that agree with the constants of a literal."""
    mask = np.ones(len(change), np.bool_)
    for term, column, domain in zip(literal.terms, change.columns, change.domains, strict=True):
        if not isinstance(term, Variable):
            wanted = constant_column(term, domain).data[0]
            # A value of -1 is any.
            mask &= (column == wanted) | (column == -1)
    return np.flatnonzero(mask)


def slot_domains_of(kind: str, relation: Relation, context: Context) -> list[Domain | None]:
    """The encodings of a relation's arguments and, but for an event, of its value."""
    slots: list[int | str] = list(range(relation.arity))
    if kind == EVENT:
        return [context.domain("event", relation, at) for at in slots]
    value = context.domain("fluent", relation, "value")
    if value is None and kind != FLUENT:
        value = context.domains.value_domain(relation)
    return [*(context.domain("fluent", relation, at) for at in slots), value]
