"""Unrolled families: which instances of a relation a key can have, and which values variables take.

A relation is *unrolled* if its arguments beside the key, and its value, take few values that the
program's text and facts show. Each instance and value is a bit then. The instances are found from
below: what rules with constants give comes first, then what rules make of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cernis.check.model import Event, Pair, Relation
from cernis.knowledge.ground_values import canonical, is_ground
from cernis.plan.sweep.fact_values import KnownFacts, constants_in
from cernis.plan.sweep.held_values import compared_names, names_carried, open_literals
from cernis.plan.sweep.lanes import OPEN, Arguments
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    names_asked,
    names_of,
)
from cernis.plan.sweep.unfit import FamilyError, NotSweptError, OpenValueError
from cernis.source import Span
from cernis.syntax.tree import Term, Variable

Values = dict[str, Term]
"""Variables with the constants they stand for."""

MOST_VALUES = 8
"""So many values of an argument are unrolled, and no more."""

_MOST_ASSIGNMENTS = 64


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a relation for a key, with its value if it is a fluent."""

    relation: Relation
    arguments: Arguments
    value: Term | None = None

    @property
    def terms(self) -> Arguments:
        """The arguments, and the value if there is one."""
        return self.arguments if self.value is None else (*self.arguments, self.value)


@dataclass(slots=True)
class KnownInstances:
    """The instances of relations that the lanes and lists of a stage have."""

    keys: Mapping[Relation, tuple[int, ...]]
    of: dict[Relation, dict[Instance, None]] = field(default_factory=dict)
    ended: dict[Relation, dict[Arguments, None]] = field(default_factory=dict)
    """Arguments of instances that rules terminate, whether they are ever initiated or not."""
    registers: frozenset[Relation] = frozenset()
    """The fluents that take any value: only values that rules name have instances."""

    def arguments(self, relation: Relation, pattern: Arguments) -> Iterator[Arguments]:
        """The arguments of instances that may be terminated and agree with a pattern."""
        known = [instance.arguments for instance in self.of.get(relation, ())]
        for arguments in dict.fromkeys([*known, *self.ended.get(relation, ())]):
            pairs = zip(arguments, pattern, strict=True)
            if all(wanted is None or term == wanted for term, wanted in pairs):
                yield arguments

    def add(self, instance: Instance) -> bool:
        """Note an instance; is it new?"""
        known = self.of.setdefault(instance.relation, {})
        if instance in known:
            return False
        known[instance] = None
        self._check(instance.relation)
        return True

    def _check(self, relation: Relation) -> None:
        columns = zip(*(instance.terms for instance in self.of[relation]), strict=True)
        for place, column in enumerate(columns):
            if len(set(column) - {OPEN}) > MOST_VALUES:
                if place == relation.arity and relation in self.registers:
                    raise NotSweptError("has too many values that rules name")
                raise too_many(relation, place)

    def matching(self, relation: Relation, pattern: Arguments) -> Iterator[Instance]:
        """The instances that agree with the constants of a pattern."""
        for instance in self.of.get(relation, ()):
            pairs = zip(instance.terms, pattern, strict=True)
            if all(asked is None or term == asked for term, asked in pairs):
                yield instance

    def named(self, relation: Relation, pattern: Arguments, span: Span) -> list[Instance]:
        """The same, where a pattern must not fit values that no rule names."""
        matches = list(self.matching(relation, pattern))
        if any(instance.value == OPEN for instance in matches):
            raise NotSweptError(f"reads {relation} with whatever value it has", span)
        return matches


def too_many(relation: Relation, place: int) -> NotSweptError:
    """Why a relation is not unrolled."""
    if place == relation.arity:
        return OpenValueError("needs a register for its open value")
    return FamilyError(f"needs a family: more than {MOST_VALUES} instances of a key")


def pattern_of(terms: Iterable[Term], key: tuple[int, ...], values: Values) -> Arguments:
    """What is asked of the terms of an instance: constants, and None for whatever it is."""
    return tuple(
        None if place in key else _constant_of(term, values) for place, term in enumerate(terms)
    )


def _constant_of(term: Term, values: Values) -> Term | None:
    if isinstance(term, Variable):
        return values.get(term.name)
    if not is_ground(term):
        raise NotSweptError("takes terms apart")
    return canonical(term)


def check_key(
    literal: AskedLiteral | Pair | Event, keys: Mapping[Relation, tuple[int, ...]],
    key_names: tuple[str, ...],
) -> None:  # fmt: skip
    """A literal must have the variables of the key at the places of its relation's key."""
    positions, key = keys.get(literal.relation), [Variable(name) for name in key_names]
    if positions is None or [literal.args[place] for place in positions] != key:
        raise NotSweptError(f"reads {literal.relation} by another key", literal.span)


def check_other_places(
    terms: tuple[Term, ...], positions: tuple[int, ...], key_names: tuple[str, ...], span: Span
) -> None:
    """The key of an instance must stand at the places of the key and nowhere else."""
    others = [term for place, term in enumerate(terms) if place not in positions]
    if names_of(others) & set(key_names):
        raise NotSweptError("has its key among its other arguments too", span)


@dataclass(frozen=True, slots=True)
class RuleScope:
    """A body with its head: which variables are the key, which are unrolled, which are free."""

    body: ConjunctiveBody
    head: tuple[Term, ...]
    head_key: tuple[int, ...]
    key_names: tuple[str, ...]
    records: frozenset[Relation]
    keys: Mapping[Relation, tuple[int, ...]]
    open_names: frozenset[str] = frozenset()
    """Variables of the head that nothing gives a value."""
    joined_head: AskedLiteral | None = None
    """The head of a termination, which concerns only instances that there are."""
    allowed: Mapping[str, frozenset[Term]] = field(default_factory=dict)
    """Values that groundings allow for variables of the head."""
    registers: frozenset[Relation] = frozenset()
    """The fluents that take any value."""
    carried: str | None = None
    """The value of the head, if it may be any that a record has."""

    def unrolled(self) -> list[str]:
        """The variables that must stand for constants: those of instances, but for the key."""
        names: dict[str, None] = {}
        for place, term in enumerate(self.head):
            is_free = place not in self.head_key and isinstance(term, Variable)
            if is_free and term.name not in self.open_names:  # type: ignore[union-attr]
                names[term.name] = None  # type: ignore[union-attr]
        for literal in self.body.literals:
            names.update(dict.fromkeys(self._asked_names(literal)))
        for name in self._joining():
            names[name] = None
        records = [each for each in self.body.literals
                   if self._is_record(each) and not each.negated]  # fmt: skip
        for name in compared_names(self.body, self.registers, names_carried(records)):
            names[name] = None
        left_out = {"_", self.body.time, self.carried, *self.key_names}
        return [name for name in names if name not in left_out]

    def _asked_names(self, literal: AskedLiteral) -> Iterator[str]:
        """Variables of an instance that something else mentions; others stand for anything."""
        if literal.relation in self.records and literal.kind is AskedKind.EVENT:
            return
        positions = self.keys.get(literal.relation, ())
        is_guard = literal in open_literals(self.body, self.registers)
        for place, term in enumerate(literal.args if is_guard else literal.terms):
            is_open = isinstance(term, Variable) and place not in positions
            if is_open and self._mentions(term.name) > 1:  # type: ignore[union-attr]
                yield term.name  # type: ignore[union-attr]

    def _mentions(self, name: str) -> int:
        """How often a variable is mentioned, in one place of a literal or step after the other."""
        wanted = Variable(name)
        count = sum(term == wanted for term in self.head)
        count += sum(term == wanted for literal in self.body.literals for term in literal.terms)
        count += sum(name in names_asked(step) for step in self.body.conditions)
        return count + sum(name in names_asked(step) for step in self.body.exceptions)

    def _joining(self) -> Iterator[str]:
        """The variables that two records at a point share, beside the key.

        So do a record that must not happen and a condition: the condition gives the value.
        """
        seen: set[str] = set()
        conditioned = {name for step in self.body.conditions for name in names_asked(step)}
        for literal in self.body.literals:
            if literal.relation in self.records and literal.kind is AskedKind.EVENT:
                names = {term.name for term in literal.args if isinstance(term, Variable)} - {"_"}
                yield from sorted(names & (seen | conditioned if literal.negated else seen))
                seen |= names

    def is_of_instances(self, name: str) -> bool:
        """Does a literal about instances give a variable its value?"""
        literals = [each for each in self.body.literals if not each.negated]
        return any(Variable(name) in each.terms for each in literals if not self._is_record(each))

    def assignments(self, known: KnownInstances, facts: KnownFacts) -> list[Values]:
        """The constants that the unrolled variables can stand for together."""
        names = self.unrolled()
        assignments: list[Values] = [{}]
        for literal in self.body.literals:
            if not literal.negated and not self._is_record(literal):
                assignments = self._joined(literal, assignments, names, known)
        if self.joined_head is not None:
            assignments = self._joined(self.joined_head, assignments, names, known)
        for name in names:
            assignments = list(self._extended(name, assignments, facts))
            if len(assignments) > _MOST_ASSIGNMENTS:
                raise NotSweptError("has too many instances to unroll", self.body.span)
        return [each for each in assignments if self.is_possible(each, facts)]

    def _is_record(self, literal: AskedLiteral) -> bool:
        return literal.kind is AskedKind.EVENT and literal.relation in self.records

    def _joined(
        self, literal: AskedLiteral, assignments: list[Values], names: list[str],
        known: KnownInstances,
    ) -> list[Values]:  # fmt: skip
        if literal.kind is AskedKind.TERMINATION:
            return assignments
        key = self.keys.get(literal.relation, ())
        joined: dict[frozenset[tuple[str, Term]], Values] = {}
        for values in assignments:
            pattern = pattern_of(literal.terms, key, values)
            for instance in known.matching(literal.relation, pattern):
                extended = _agreeing(literal.terms, instance.terms, values, names)
                if extended is not None and OPEN in extended.values():
                    raise NotSweptError("takes a value from a fluent that has any", literal.span)
                if extended is not None:
                    joined[frozenset(extended.items())] = extended
        return list(joined.values())

    def _extended(
        self, name: str, assignments: list[Values], facts: KnownFacts
    ) -> Iterator[Values]:
        for values in assignments:
            if name in values:
                yield values
                continue
            candidates = facts.values(name, constants_in(self.body.conditions, values))
            if candidates is None or len(candidates) > MOST_VALUES:
                candidates = self.allowed.get(name)
            if candidates is None or len(candidates) > MOST_VALUES:
                raise open_variable(name, self.head, self.body.span)
            for term in sorted(candidates, key=repr):
                yield {**values, name: term}

    def is_possible(self, values: Values, facts: KnownFacts) -> bool:
        """May the conditions that ask for constants alone be true?"""
        fixed = [
            step for step in constants_in(self.body.conditions, values) if not names_asked(step)
        ]
        return not fixed or facts.grows(fixed) or facts.is_true(fixed)


def open_variable(name: str, head: tuple[Term, ...], span: Span) -> NotSweptError:
    """Why a variable cannot be unrolled: its values are not known, or too many."""
    wanted = Variable(name)
    if head and head[-1] == wanted:
        return OpenValueError(f"needs a register for its open value, {name}", span)
    if wanted in head:
        return FamilyError(f"needs a family: its argument {name} takes any value", span)
    return NotSweptError(
        f"compares {name}, which takes any value, with what holds or happens", span
    )


def _agreeing(
    terms: tuple[Term, ...], instance: Arguments, values: Values, names: list[str]
) -> Values | None:
    """The values of unrolled variables extended so that a literal is about an instance."""
    extended = dict(values)
    for term, constant in zip(terms, instance, strict=True):
        if constant is None or not isinstance(term, Variable) or term.name not in names:
            continue
        if extended.setdefault(term.name, constant) != constant:
            return None
    return extended
