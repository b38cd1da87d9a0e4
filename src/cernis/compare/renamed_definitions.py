"""The definitions of a version under other names, so that two versions fit into one program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from cernis.check.catalogue import pattern_head
from cernis.check.model import (
    Condition,
    Definitions,
    Event,
    IntervalFilter,
    Pair,
    Relation,
    flatten,
)
from cernis.knowledge.resolution.builtins import builtin
from cernis.syntax.tree import Atom, Clause, Compound, EventAtom, PatternRule, Term, Where, functor

Node = TypeVar("Node")

_CONTROL = frozenset({(",", 2), (";", 2), ("->", 2), ("^", 2)})
_EDGES = frozenset({"start", "end", "startI", "endI"})


@dataclass(frozen=True, slots=True)
class NewNames:
    """Other names for events and fluents, and for predicates."""

    relations: Mapping[Relation, Relation]
    predicates: Mapping[Relation, Relation]

    def relation(self, relation: Relation) -> Relation:
        """The name of an event or fluent."""
        return self.relations.get(relation, relation)

    def node(self, node: Node) -> Node:
        """A rule, or a part of one, with the new names."""
        return self._node(node)  # type: ignore[no-any-return]

    def clause(self, clause: Clause) -> Clause:
        """A clause of background knowledge."""
        return replace(
            clause, head=self._goal(clause.head), body=tuple(map(self._goal, clause.body))
        )

    def _node(self, node: Any) -> Any:
        if isinstance(node, Pair | Event):
            return self._entity(node)
        if isinstance(node, Condition):
            return replace(node, goal=self._goal(node.goal))
        if isinstance(node, PatternRule):
            pattern = self._node(node.pattern)
            return replace(node, head=self._head(node.head), pattern=pattern)
        if isinstance(node, EventAtom):
            return replace(node, term=self._atom(node.term))
        if isinstance(node, Where):
            conditions = tuple(map(self._goal, node.conditions))
            return replace(node, pattern=self._node(node.pattern), conditions=conditions)
        if isinstance(node, tuple):
            return tuple(map(self._node, node))
        if is_dataclass(node) and not isinstance(node, Term | type):
            return self._fields(node)
        return node

    def _fields(self, node: Any) -> Any:
        changed: dict[str, Any] = {}
        for each in fields(node):
            part = getattr(node, each.name)
            if each.name == "goals" and not isinstance(node, IntervalFilter):
                changed[each.name] = tuple(map(self._goal, part))
            elif isinstance(part, tuple) or (is_dataclass(part) and not isinstance(part, Term)):
                changed[each.name] = self._node(part)
        return replace(node, **changed) if changed else node

    def _entity(self, node: Pair | Event) -> Pair | Event:
        new = self.relations.get(node.relation)
        return node if new is None else replace(node, relation=new, term=self._atom(node.term))

    def _head(self, head: Term) -> Term:
        new = self.relations.get(pattern_head(PatternRule(head, EventAtom(head))).relation)
        return head if new is None else _renamed(head, new)

    def _atom(self, term: Term) -> Term:
        """An event, a pair or an edge of one, as patterns have them."""
        if isinstance(term, Compound):
            if term.functor == "=" and len(term.args) == 2:
                return replace(term, args=(self._atom(term.args[0]), term.args[1]))
            if term.functor in _EDGES and functor(term.args[0]) == ("=", 2):
                return replace(term, args=(self._atom(term.args[0]), *term.args[1:]))
        if isinstance(term, Compound | Atom):
            new = self.relations.get(flatten(term)[0])
            return term if new is None else _renamed(term, new)
        return term

    def _goal(self, term: Term) -> Term:
        """A goal with the new names of the predicates that it calls, at any depth."""
        if not self.predicates:
            return term
        name = functor(term)
        if not isinstance(term, Compound):
            new = self.predicates.get(Relation(*name))
            return Atom(new.name, term.span) if new and isinstance(term, Atom) else term
        if name in _CONTROL:
            return replace(term, args=tuple(map(self._goal, term.args)))
        known = builtin(*name)
        if known is not None and known.goals:
            args = [
                self._goal(arg) if position in known.goals else arg
                for position, arg in enumerate(term.args)
            ]
            return replace(term, args=tuple(args))
        new = self.predicates.get(Relation(*name))
        return term if new is None else replace(term, functor=new.name)


def _renamed(term: Term, relation: Relation) -> Term:
    """A term with the name of a relation that is new."""
    name = relation.name.partition("(")[0]
    return replace(term, functor=name) if isinstance(term, Compound) else Atom(name, term.span)


def renamed_definitions(
    definitions: Definitions, names: NewNames, relations: frozenset[Relation]
) -> Definitions:
    """Those rules of a version that define some relations, under their new names."""

    def kept(relation: Relation) -> bool:
        return relation in relations

    renamed = names.node
    settings = definitions.settings
    return Definitions(
        [renamed(each) for each in definitions.changes if kept(each.pair.relation)],
        [renamed(each) for each in definitions.events if kept(each.event.relation)],
        [renamed(each) for each in definitions.statics if kept(each.pair.relation)],
        [renamed(each) for each in definitions.initials if kept(each.pair.relation)],
        [renamed(each) for each in definitions.effects if kept(each.source.relation)],
        [renamed(each) for each in definitions.postponables if kept(each.pair.relation)],
        [renamed(each) for each in definitions.groundings if kept(each.entity.relation)],
        patterns=[
            renamed(each) for each in definitions.patterns if kept(pattern_head(each).relation)
        ],
        shapes={
            names.relation(each): shape
            for each, shape in definitions.shapes.items()
            if kept(each)
        },
        declared_events={
            names.relation(each): renamed(event)
            for each, event in definitions.declared_events.items()
            if kept(each)
        },
        declared_fluents={
            names.relation(each): renamed(pair)
            for each, pair in definitions.declared_fluents.items()
            if kept(each)
        },
        outputs={names.relation(each) for each in definitions.outputs if kept(each)},
        auxiliary={names.relation(each) for each in definitions.auxiliary if kept(each)},
        declared_values=[
            renamed(each) for each in definitions.declared_values if kept(each.relation)
        ],
        ending_values={
            names.relation(each): values
            for each, values in definitions.ending_values.items()
            if kept(each)
        },
        settings=replace(
            settings,
            consumption_of=tuple(
                (str(names.relations[each]), consumption)
                for name, consumption in settings.consumption_of
                for each in names.relations
                if name in (each.name, str(each))
            ),
        ),
    )  # fmt: skip
