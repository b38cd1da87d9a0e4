"""Definitions that depend on one another by constants: `close(A, B, 25)` on `close(A, B, 24)`.

By its name alone such a fluent depends on itself. Where every definition has a constant at some
argument, the definitions with the same constants become those of a fluent of their own, `close of
25`, which is not part of the results. The original fluent holds whenever one of these does, and
literals with these constants refer to them. Events are treated in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from cernis.check.model import (
    ChangeRule,
    Changes,
    Definitions,
    Event,
    EventRule,
    Happens,
    HoldsFor,
    Pair,
    Relation,
    StaticRule,
    temporal,
)
from cernis.check.rewrites.mixed_kinds import copied_pair
from cernis.check.rewrites.renaming import rename_events, rename_pairs
from cernis.knowledge.digraphs import strong_components
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Number, Term, Text, Variable

Constants: TypeAlias = tuple[Term, ...]
"""What stands at the places by which a relation is split."""


def split_by_constants(definitions: Definitions) -> bool:
    """Split the relations that depend on themselves into parts; False if none can be split."""
    split = False
    for relation in _recursive(definitions):
        heads: list[Pair | Event] = [
            *_pairs(relation, definitions),
            *_events(relation, definitions),
        ]
        places = _places(heads)
        if places and _can_be_split(relation, places, definitions):
            _Split(relation, places, heads).apply(definitions)
            split = True
    return split


def _recursive(definitions: Definitions) -> list[Relation]:
    """The relations that depend on themselves, by their names."""
    needs: dict[Relation, list[Relation]] = {}
    rules: list[ChangeRule | EventRule] = [*definitions.changes, *definitions.events]
    for rule in rules:
        head = rule.event if isinstance(rule, EventRule) else rule.pair
        needs.setdefault(head.relation, []).extend(
            literal.event.relation if isinstance(literal, Happens) else literal.pair.relation
            for literal in temporal(rule.body)
        )
    for static in definitions.statics:
        needs.setdefault(static.pair.relation, []).extend(
            literal.pair.relation for literal in static.body if isinstance(literal, HoldsFor)
        )
    loops = strong_components(needs, needs)
    return [each for loop in loops for each in loop if len(loop) > 1 or each in needs[each]]


def _pairs(relation: Relation, definitions: Definitions) -> list[Pair]:
    effects = definitions.effects
    pairs = [
        *(rule.pair for rule in definitions.changes),
        *(rule.pair for rule in definitions.statics),
        *(rule.pair for rule in definitions.initials),
        *(effect.source for effect in effects),
        *(effect.target for effect in effects if effect.target is not None),
    ]
    return [pair for pair in pairs if pair.relation == relation]


def _events(relation: Relation, definitions: Definitions) -> list[Event]:
    return [rule.event for rule in definitions.events if rule.event.relation == relation]


def _places(heads: list[Pair | Event]) -> tuple[int, ...]:
    """The arguments that are constants in all heads, and not the same one everywhere."""
    arity = len(heads[0].args) if heads else 0
    columns = [[head.args[position] for head in heads] for position in range(arity)]
    return tuple(
        position for position, terms in enumerate(columns)
        if all(isinstance(term, (Atom, Number, Text)) for term in terms) and len(set(terms)) > 1
    )  # fmt: skip


def _can_be_split(relation: Relation, places: tuple[int, ...], definitions: Definitions) -> bool:
    """A change is one of a part: a literal about whatever change keeps the whole together."""
    bodies = [rule.body for rule in definitions.changes]
    bodies += [rule.body for rule in definitions.events]
    return all(
        not isinstance(literal.pair.args[place], Variable)
        for body in bodies
        for literal in temporal(body)
        if isinstance(literal, Changes) and literal.pair.relation == relation
        for place in places
    )


class _Split:
    """The parts of one relation, by the constants of their heads."""

    def __init__(
        self, relation: Relation, places: tuple[int, ...], heads: Iterable[Pair | Event]
    ) -> None:
        self._relation = relation
        self._places = places
        self._heads = tuple(heads)
        self._parts = {self._constants(head): self._named(head) for head in self._heads}

    def _constants(self, entity: Pair | Event) -> Constants:
        return tuple(entity.args[place] for place in self._places)

    def _named(self, entity: Pair | Event) -> Relation:
        constants = ", ".join(map(show, self._constants(entity)))
        return Relation(f"{self._relation.name} of {constants}", self._relation.arity)

    def _part(self, entity: Pair | Event) -> Relation:
        if entity.relation != self._relation:
            return entity.relation
        return self._parts.get(self._constants(entity), self._relation)

    def apply(self, definitions: Definitions) -> None:
        definitions.auxiliary.update(self._parts.values())
        for part in self._parts.values():
            definitions.keep_ending_values(self._relation, part)
        wholes = [
            copied_pair(head, self._part(head), self._places)
            for head in self._heads
            if isinstance(head, Pair)
        ]
        happenings = [self._copied(head) for head in self._heads if isinstance(head, Event)]
        rename_pairs(definitions, lambda pair, _: replace(pair, relation=self._part(pair)))
        rename_events(definitions, lambda event: replace(event, relation=self._part(event)))
        definitions.statics = [
            replace(rule, pair=replace(rule.pair, relation=self._part(rule.pair)))
            for rule in definitions.statics
        ]
        definitions.groundings += [
            replace(rule, entity=replace(rule.entity, relation=part))
            for rule in definitions.groundings
            if rule.entity.relation == self._relation
            for part in self._parts.values()
        ]
        definitions.statics += _once(wholes)
        definitions.events += happenings

    def _copied(self, event: Event) -> EventRule:
        """The rule that the event happens whenever its part does."""
        args = tuple(
            arg if position in self._places else Variable(f"A{position}", event.span)
            for position, arg in enumerate(event.args)
        )
        whole = replace(event, args=args)
        part = Happens(replace(whole, relation=self._part(event)), False, event.span)
        return EventRule(whole, "T", (part,), event.span)


def _once(rules: Iterable[StaticRule]) -> list[StaticRule]:
    """Rules for one pair once, although several heads define it."""
    distinct: dict[tuple[object, ...], StaticRule] = {}
    for rule in rules:
        distinct.setdefault((rule.pair.args, rule.pair.value_name, rule.body), rule)
    return list(distinct.values())
