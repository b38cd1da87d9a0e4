"""Links: by which arguments a stage that has no key falls apart into components of the data.

A record *links* the entities that stand at some of its arguments. Entities that are linked,
directly or through others, form a connected component. A stage may be evaluated component by
component if everything that one application of a rule looks at belongs to one component.

The planner chooses argument positions. Call a row *coherent* if the entities at its chosen
positions all belong to one component. Records of the input are coherent, because each of them links
the entities that it names. The choice is right if, in every rule,

- the literals that the rule cannot do without are coherent, and are connected with one another by
  variables at chosen positions; so all of them are about the same component;
- every other literal shares such a variable with them, so its rows can be sent to that component;
- the variables at the chosen positions of the head are among theirs; so the derived row is coherent
  too, and the reasoning carries on to the rules that use it.

Facts link nothing: only records do.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations

from cernis.check.catalogue import pattern_head
from cernis.check.checker import Checked
from cernis.check.model import (
    ChangeRule,
    Collect,
    Either,
    IntervalOperation,
    Literal,
    Pair,
    Relation,
    Rule,
    StaticRule,
    Temporal,
    Unless,
)
from cernis.plan.uses import Use, about, head_of, indispensable, uses_of
from cernis.syntax.tree import Variable

Positions = tuple[int, ...]
Slot = tuple[Relation, int]
Names = frozenset[str]

_MOST_CLASSES = 2
"""Entities of more kinds than this are not linked: they would hardly ever fall apart."""


@dataclass(frozen=True, slots=True)
class Links:
    """The arguments by which the records of a stage are linked."""

    positions: dict[Relation, Positions]
    """Of all that the stage defines and reads: where the entities stand. None is empty."""
    sources: dict[Relation, Positions]
    """The input whose records link several entities, read by the stage or by earlier ones."""
    kinds: dict[Slot, int]
    """The kind of entity that stands at an argument. Equal values of two kinds are two entities."""


class Linker:
    """Finds the links of a program's stages."""

    def __init__(self, checked: Checked) -> None:
        definitions = checked.definitions
        self._checked = checked
        self._rules: dict[Relation, list[Rule]] = {}
        rules: list[Rule] = [*definitions.changes, *definitions.events, *definitions.statics]
        for rule in rules:
            self._rules.setdefault(head_of(rule)[0], []).append(rule)
        self._given = frozenset(rule.pair.relation for rule in definitions.initials)
        self._grounded = frozenset(
            each.entity.relation for each in definitions.groundings if isinstance(each.entity, Pair)
        )
        self._matched = frozenset(pattern_head(rule).relation for rule in definitions.patterns)

    def links(self, defined: frozenset[Relation]) -> Links | None:
        """The links of a stage that defines some relations; None if it has none."""
        if defined & self._matched:
            return None
        below = self._below(defined)
        slots = [
            (relation, position) for relation in sorted(below) for position in range(relation.arity)
        ]
        kinds = list(dict.fromkeys(map(self._kind, slots)))
        for count in range(1, _MOST_CLASSES + 1):
            for chosen in combinations(kinds, count):
                some = frozenset(slot for slot in slots if self._kind(slot) in chosen)
                trial = _Trial(self, defined, below)
                if trial.fits(some):
                    return self._chosen(trial.least(some), defined, kinds)
        return None

    def _chosen(
        self, slots: frozenset[Slot], defined: frozenset[Relation], kinds: list[Hashable]
    ) -> Links:
        positions = positions_of(slots)
        here = defined | {
            relation for rule in self.rules_of(defined) for relation, _ in uses_of(rule)
        }
        sources = {
            relation: there for relation, there in positions.items()
            if relation not in self._rules and len(there) > 1
        }  # fmt: skip
        return Links(
            {relation: positions[relation] for relation in sorted(here)}, sources,
            {slot: kinds.index(self._kind(slot)) for slot in sorted(slots)},
        )  # fmt: skip

    def _kind(self, slot: Slot) -> Hashable:
        relation, position = slot
        is_event = relation in self._checked.catalogue.events
        return self._checked.types.find(("event" if is_event else "fluent", relation, position))

    def _below(self, relations: Iterable[Relation]) -> frozenset[Relation]:
        """Some relations, and all that their rules depend on."""
        below: set[Relation] = set()
        waiting = set(relations)
        while waiting:
            below |= waiting
            waiting = {r for rule in self.rules_of(waiting) for r, _ in uses_of(rule)} - below
        return frozenset(below)

    def rules_of(self, relations: Iterable[Relation]) -> list[Rule]:
        """The rules that define some relations."""
        return [rule for relation in relations for rule in self._rules.get(relation, ())]

    def is_input(self, relation: Relation) -> bool:
        """Is a relation given by records?"""
        return relation not in self._rules and relation not in self._matched | self._given

    def may_arise(self, relation: Relation) -> bool:
        """May instances of a relation come from elsewhere than bodies of rules over time?"""
        return relation in self._matched | self._given

    def is_grounded(self, relation: Relation) -> bool:
        """Does grounding say which instances of a relation there are?"""
        return relation in self._grounded


def positions_of(slots: Iterable[Slot]) -> dict[Relation, Positions]:
    """The arguments that are chosen of each relation."""
    positions: dict[Relation, Positions] = {}
    for relation, position in sorted(slots):
        positions[relation] = (*positions.get(relation, ()), position)
    return positions


@dataclass(slots=True)
class _Trial:
    """Tries choices of arguments for one stage."""

    linker: Linker
    defined: frozenset[Relation]
    below: frozenset[Relation]

    def least(self, slots: frozenset[Slot]) -> frozenset[Slot]:
        """A choice that fits, from which nothing can be left out; input goes first, as it links."""
        order = sorted(slots, key=lambda slot: (not self.linker.is_input(slot[0]), slot))
        for slot in (*order, *order):
            if slot in slots and self.fits(slots - {slot}):
                slots -= {slot}
        return slots

    def fits(self, slots: frozenset[Slot]) -> bool:
        """Does everything that one application of a rule looks at belong to one component?"""
        positions = positions_of(slots)
        if not self.defined <= positions.keys():
            return False
        check = _Check(self.linker, positions, self.below)
        return self.defined <= check.coherent and all(
            check.has_place(rule) for rule in self.linker.rules_of(sorted(self.defined))
        )


class _Check:
    """What a choice of arguments comes to."""

    def __init__(
        self, linker: Linker, positions: dict[Relation, Positions], below: frozenset[Relation]
    ) -> None:
        self._linker = linker
        self._positions = positions
        self.coherent = below
        while True:
            kept = frozenset(relation for relation in self.coherent if self._is_coherent(relation))
            if kept == self.coherent:
                break
            self.coherent = kept

    def _is_coherent(self, relation: Relation) -> bool:
        if len(self._positions.get(relation, ())) < 2:
            return True
        if self._linker.may_arise(relation):
            return False
        return all(map(self._passes_on, self._linker.rules_of([relation])))

    def _passes_on(self, rule: Rule) -> bool:
        """Are all entities of the head in the component of the body?"""
        body = self._names_of_body(rule)
        return body is not None and self._covered(rule, body)

    def has_place(self, rule: Rule) -> bool:
        """Do a rule's head and all of its literals belong to one component?"""
        body = self._names_of_body(rule)
        return body is not None and bool(self._names(head_of(rule)) & body) and (
            self._covered(rule, body)
        )  # fmt: skip

    def _covered(self, rule: Rule, body: Names) -> bool:
        relation, args = head_of(rule)
        chosen = [args[position] for position in self._positions.get(relation, ())]
        if not all(isinstance(term, Variable) for term in chosen):
            return False
        names = {term.name for term in chosen if isinstance(term, Variable)}
        if isinstance(rule, ChangeRule) and not rule.initiates:
            # Arguments that a termination leaves open range over instances that are there.
            return not names - body or not self._linker.is_grounded(relation)
        return names <= body

    def _names(self, use: Use) -> Names:
        """The variables at the chosen arguments of a literal."""
        relation, args = use
        terms = [args[position] for position in self._positions.get(relation, ())]
        return frozenset(t.name for t in terms if isinstance(t, Variable) and t.name != "_")

    def _names_of_body(self, rule: Rule) -> Names | None:
        """The variables of a body's component; None if it is not one."""
        if isinstance(rule, StaticRule):
            return self._names_of_lists(rule)
        first = next(
            (names for each in rule.body if (names := self._linking(each)) is not None), None
        )
        return None if first is None else self._reached(rule.body, first)

    def _names_of_lists(self, rule: StaticRule) -> Names | None:
        needed = [use for use in indispensable(rule) if use[0] in self.coherent]
        if not needed:
            return self._names_of_any(rule)
        names = self._names(needed[0])
        waiting = [self._names(use) for use in needed[1:]]
        while near := [list_names for list_names in waiting if list_names & names]:
            names = names.union(*near)
            waiting = [list_names for list_names in waiting if not list_names & names]
        return names if all(self._names(use) & names for use in uses_of(rule)) else None

    def _names_of_any(self, rule: StaticRule) -> Names | None:
        """Where no single list is needed, each must name all entities of the head."""
        head = self._names(head_of(rule))
        is_wide = len(self._positions.get(rule.pair.relation, ())) > 1
        against = any(
            isinstance(step, IntervalOperation) and step.operator == "complement_all"
            for step in rule.body
        )
        fits = all(head <= self._names(use) and use[0] in self.coherent for use in uses_of(rule))
        return head if fits and not (is_wide and against) else None

    def _linking(self, literal: Literal) -> Names | None:
        """The variables of a literal whose rows are of one component and must be there."""
        if not isinstance(literal, Temporal) or literal.negated:
            return None
        use = about(literal)
        return self._names(use) if use[0] in self.coherent else None

    def _reached(self, body: tuple[Literal, ...], names: Names) -> Names | None:
        """The variables that connect a body, beginning with some; None if it is not connected."""
        waiting = [each for each in body if isinstance(each, Temporal | Either | Unless | Collect)]
        while waiting:
            parts = [self._one(each, names) for each in waiting]
            reached = {place: added for place, added in enumerate(parts) if added is not None}
            if not reached:
                return None
            names = names.union(*reached.values())
            waiting = [each for place, each in enumerate(waiting) if place not in reached]
        return names

    def _one(self, literal: Literal, names: Names) -> Names | None:
        """What one part of a body adds; None if it is not reached."""
        if isinstance(literal, Either):
            reached = [self._reached(branch, names) for branch in literal.branches]
            known = [branch_names for branch_names in reached if branch_names is not None]
            return frozenset.intersection(*known) if len(known) == len(reached) else None
        if isinstance(literal, Unless | Collect):
            return None if self._reached(literal.body, names) is None else frozenset()
        assert isinstance(literal, Temporal)
        if not self._names(about(literal)) & names:
            return None
        return self._linking(literal) or frozenset()
