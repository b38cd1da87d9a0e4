"""Copies of pairs of another lane, for statically determined fluents over lanes of one key.

A formula is about bits of one word. What another lane of the same key holds is initiated in a copy
where the pair starts there, and terminated where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cernis.check.model import Boundary, FluentKind, Pair, Relation
from cernis.plan.logical import Definition, Fetch, InitialPoints, IntervalRule, PointRule, Scan
from cernis.plan.sweep.lanes import SweepWay, copied_fluent
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    names_of,
    with_constants,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.syntax.tree import Term, Variable

Keys = Mapping[Relation, tuple[int, ...]]


def fetched_relations(definition: Definition) -> Iterator[Relation]:
    """The fluents whose intervals a definition asks for."""
    for rule in definition.rules:
        if isinstance(rule, IntervalRule):
            yield from (step.pair.relation for step in rule.steps if isinstance(step, Fetch))


@dataclass
class StaticCopies:
    """A statically determined definition whose pairs are of several lanes with keys `keys`.

    `ways` are those of the part that it is to go to: what is no lane there is copied.
    """

    source: Definition
    keys: Keys
    ways: Mapping[Relation, SweepWay]
    definitions: Mapping[Relation, Definition]
    number: int = 0
    """Copies have this number in their names."""
    positions: tuple[int, ...] = ()
    """Where the key stands in the heads."""
    originals: dict[Relation, Relation] = field(default_factory=dict)
    """By copy: the fluent that it is of."""
    _pairs: dict[Relation, list[Pair]] = field(default_factory=dict)

    def definition(self) -> Definition:
        """The definition with copies in the place of pairs of other lanes."""
        rules = []
        for rule in self.source.rules:
            if not isinstance(rule, IntervalRule):
                raise NotSweptError("has values of several kinds", rule.span)
            steps = tuple(
                replace(step, pair=self._copied(step.pair)) if isinstance(step, Fetch) else step
                for step in rule.steps
            )
            rules.append(replace(rule, steps=steps))
            self._find_key(rule)
        return replace(self.source, rules=tuple(rules))

    def _find_key(self, rule: IntervalRule) -> None:
        for step in rule.steps:
            if isinstance(step, Fetch):
                key = [step.pair.args[place] for place in self.keys[step.pair.relation]]
                if not all(term in rule.head.args for term in key):
                    raise NotSweptError("reads what is not of its key", step.span)
                positions = tuple(rule.head.args.index(term) for term in key)
                if self.positions not in ((), positions):
                    raise NotSweptError("reads what is not of its key", step.span)
                self.positions = positions

    def _copied(self, pair: Pair) -> Pair:
        if self.ways.get(pair.relation) is SweepWay.LANE:
            return pair
        definition = self.definitions[pair.relation]
        is_initial = any(isinstance(rule, InitialPoints) for rule in definition.rules)
        if definition.kind != FluentKind.SIMPLE or definition.groundings or is_initial:
            raise NotSweptError("reads what may hold without a start", pair.span)
        self._pairs.setdefault(pair.relation, []).append(pair)
        copy = copied_fluent(pair.relation, self.number)
        self.originals[copy] = pair.relation
        return replace(pair, relation=copy)

    def key_of(self, copy: Definition) -> tuple[int, ...]:
        """Where the key stands in a copy: where it stands in the fluent."""
        return self.keys[self.originals[copy.relation]]

    def of_pairs(
        self, values_of: Callable[[AskedLiteral, list[str]], list[dict[str, Term]]]
    ) -> Iterator[Definition]:
        """A definition of each copy; `values_of` gives what variables of instances stand for."""
        for relation, pairs in self._pairs.items():
            copy = copied_fluent(relation, self.number)
            rules: dict[Pair, tuple[PointRule, PointRule]] = {}
            for pair in pairs:
                literal = AskedLiteral(
                    AskedKind.HOLDS, relation, pair.args, pair.value, False, pair.span
                )
                others = [t for place, t in enumerate(literal.terms)
                          if place not in self.keys[relation]]  # fmt: skip
                for values in values_of(literal, sorted(names_of(others))):
                    known = with_values(pair, values)
                    if Variable("_") in (*known.args, known.value):
                        raise NotSweptError("reads whatever value there is", pair.span)
                    rules[known] = _copying(known, copy)
            listed = tuple(rule for both in rules.values() for rule in both)
            named = self.definitions[relation].values
            yield Definition(copy, FluentKind.SIMPLE, named, listed)


def with_values(pair: Pair, values: dict[str, Term]) -> Pair:
    """A pair with constants in the place of some variables."""
    args, value = with_constants(pair.args, values), with_constants(pair.value, values)
    return replace(pair, args=args, value=value)


def _copying(pair: Pair, copy: Relation) -> tuple[PointRule, PointRule]:
    """A copy begins where the pair starts, and ceases where it ends."""
    head = replace(pair, relation=copy)
    starts, ends = (
        Scan(Boundary(edge, pair, False, pair.span), "", pair.span) for edge in ("start", "end")
    )
    return (
        PointRule("initiation", head, (starts,), (), pair.span),
        PointRule("termination", head, (ends,), (), pair.span),
    )
