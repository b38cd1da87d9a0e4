"""How changes spread through a cycle whose rules have no common key.

A rule reads other relations of its cycle through literals. If a row of such a relation changes,
only those instances of the head are affected that agree with the row on the variables that the
literal and the head share. So a definition is evaluated again for the affected instances alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Event, Pair, Relation
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.logical import (
    Definition,
    PointRule,
)
from cernis.plan.properties.rule_reads import EVENT, FLUENT, ReadLiteral, literals
from cernis.syntax.tree import Variable
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import Finder


@dataclass(slots=True)
class ChangedRows:
    """Rows of a relation that were added or removed: their arguments and values."""

    kind: str
    relation: Relation
    columns: list[Array]
    domains: list[Domain | None]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


@dataclass(slots=True)
class AffectedInstances:
    """The instances of a relation that agree with some row of some constraint."""

    relation: Relation
    domains: list[Domain | None]
    constraints: list[tuple[tuple[int, ...], list[Array]]] = field(default_factory=list)
    everything: bool = False
    _finders: list[tuple[tuple[int, ...], Finder]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.everything or bool(self.constraints)

    def add(self, positions: tuple[int, ...], columns: list[Array]) -> None:
        """Add the instances that have these values at these positions."""
        self.constraints.append((positions, columns))

    def mask(self, relation: Relation, arguments: list[Array]) -> Booleans | None:
        """For each row, whether it is about one of the instances; None for another relation."""
        if relation != self.relation or self.everything:
            return None
        is_affected = np.zeros(len(arguments[0]), np.bool_)
        for positions, finder in self._built():
            wanted = [arguments[position] for position in positions]
            is_affected |= finder.one(wanted, len(is_affected)) >= 0
        return is_affected

    def _built(self) -> list[tuple[tuple[int, ...], Finder]]:
        """One finder for all constraints on the same positions."""
        if not self._finders:
            for positions in dict.fromkeys(constrained for constrained, _ in self.constraints):
                parts = [
                    columns for constrained, columns in self.constraints if constrained == positions
                ]
                columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
                domains = [self.domains[position] for position in positions]
                finder = Finder(list(zip(columns, domains, strict=True)), len(columns[0]))
                self._finders.append((positions, finder))
        return self._finders


class AffectedDefinition:
    """One definition of a cycle, and those of its instances that changes have affected."""

    def __init__(
        self, relation: Relation, definition: Definition, domains: list[Domain | None]
    ) -> None:
        self.relation = relation
        self.definition = definition
        self.domains = domains
        rules = [rule for rule in definition.rules if isinstance(rule, PointRule)]
        self._literals = [(rule, literal) for rule in rules for literal in literals(rule.steps)]
        self.can_be_cut = relation.arity > 0 and not any(rule.open_variables for rule in rules)
        self.affected = AffectedInstances(relation, domains)

    def note_change(self, change: ChangedRows) -> None:
        """Note the instances that a change affects."""
        for rule, literal in self._literals:
            if literal.kind == change.kind and literal.relation == change.relation:
                self._note_affected(rule.head, literal, change)

    def take_affected(self) -> AffectedInstances:
        """The instances that are affected so far; after this call none are."""
        affected, self.affected = self.affected, AffectedInstances(self.relation, self.domains)
        affected.everything |= bool(affected.constraints) and not self.can_be_cut
        return affected

    def _note_affected(self, head: Event | Pair, literal: ReadLiteral, change: ChangedRows) -> None:
        if self.affected.everything:
            return
        rows = _agreeing(literal, change)
        if not len(rows):
            return
        shared = [
            (position, literal.terms.index(term))
            for position, term in enumerate(head.args)
            if isinstance(term, Variable) and term.name != "_" and term in literal.terms
        ]
        if not shared:
            self.affected.everything = True
            return
        columns = [change.columns[term][rows] for _, term in shared]
        self.affected.add(tuple(position for position, _ in shared), columns)


def _agreeing(literal: ReadLiteral, change: ChangedRows) -> Integers:
    """The changed rows that agree with the constants of a literal."""
    mask = np.ones(len(change), np.bool_)
    for term, column, domain in zip(literal.terms, change.columns, change.domains, strict=True):
        if not isinstance(term, Variable):
            wanted = constant_column(term, domain).data[0]
            # The value -1 stands for any value.
            mask &= (column == wanted) | (column == -1)
    return np.flatnonzero(mask)


def slot_domains_of(kind: str, relation: Relation, encoding: ValueEncoding) -> list[Domain | None]:
    """The domains of a relation's arguments and, unless it is an event, of its value."""
    if kind == EVENT:
        return encoding.event(relation)
    arguments, value = encoding.fluent(relation)
    if value is None and kind != FLUENT:
        value = encoding.domains.value_domain(relation)
    return [*arguments, value]
