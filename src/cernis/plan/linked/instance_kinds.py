"""Which definitions have instances of one kind, and in which order their arguments are its tuple.

The arguments of a relation that are a constant in all its heads are written out, as in lanes. The
others are the tuple of its instances. Two relations are of one kind if a rule asks for both of them
with the same variables: then their instances share a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cernis.check.model import Event, Pair, Relation
from cernis.knowledge.ground_values import is_ground
from cernis.plan.logical import Definition, InitialPoints, IntervalRule, PointRule
from cernis.plan.sweep.rule_bodies import AskedLiteral
from cernis.plan.sweep.unfit import NotSweptError
from cernis.source import Span
from cernis.syntax.tree import Term, Variable


def tuple_positions(definition: Definition) -> tuple[int, ...]:
    """The arguments of a definition that are not the same kind of constant in all its heads."""
    heads = [
        rule.head.args for rule in definition.rules
        if isinstance(rule, PointRule | InitialPoints | IntervalRule)
    ]  # fmt: skip
    return tuple(
        place for place in range(definition.relation.arity)
        if not all(is_ground(args[place]) for args in heads)
    )  # fmt: skip


@dataclass(slots=True)
class KindTable:
    """The kind of each relation, and the positions of its tuple in the order of the kind."""

    positions: dict[Relation, tuple[int, ...]]
    kind: dict[Relation, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kind = {relation: number for number, relation in enumerate(self.positions)}

    @classmethod
    def of(cls, definitions: Mapping[Relation, Definition]) -> KindTable:
        """A table in which every relation has a kind of its own."""
        return cls({relation: tuple_positions(each) for relation, each in definitions.items()})

    def names(self, literal: AskedLiteral | Pair | Event) -> tuple[str, ...]:
        """The variables that stand for the tuple in a literal or head, in the kind's order."""
        terms = [literal.args[place] for place in self.positions[literal.relation]]
        return variable_names(terms, literal.span)

    def join(self, literals: Iterable[AskedLiteral | Pair | Event]) -> None:
        """Let the relations of one rule that have the same variables be of one kind."""
        known: dict[frozenset[str], tuple[Relation, tuple[str, ...]]] = {}
        for literal in literals:
            names = self.names(literal)
            first = known.setdefault(frozenset(names), (literal.relation, names))
            if self.kind[first[0]] != self.kind[literal.relation]:
                self._merge(self.kind[first[0]], literal.relation, first[1], names)

    def _merge(
        self, kind: int, relation: Relation, wanted: tuple[str, ...], names: tuple[str, ...]
    ) -> None:
        """Bring all relations of one kind into another, in its order."""
        order = [names.index(name) for name in wanted]
        merged = self.kind[relation]
        for each in [r for r, number in self.kind.items() if number == merged]:
            self.kind[each] = kind
            self.positions[each] = tuple(self.positions[each][place] for place in order)


def variable_names(terms: Iterable[Term], span: Span) -> tuple[str, ...]:
    """The names of terms that must be different variables."""
    terms = list(terms)
    names = [term.name for term in terms if isinstance(term, Variable) and term.name != "_"]
    if len(names) != len(terms):
        raise NotSweptError("asks for instances by a part of their arguments", span)
    if len(set(names)) != len(names):
        raise NotSweptError("asks for instances with equal arguments", span)
    return tuple(names)
