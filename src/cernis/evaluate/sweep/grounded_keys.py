"""Keys and groundings: keys that groundings name, and the pairs that keys may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.sweep.domain_fillings import DomainFillings
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.kernels.array_types import Array, Booleans, Integers, Words
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import allowed, grounded
from cernis.operators.definitions.rule_heads import head_column
from cernis.plan.logical import Lookup
from cernis.plan.sweep.grounding_questions import (
    NEVER_ALLOWED,
    GroundedPair,
    first_alike,
    key_variable,
    question,
)
from cernis.plan.sweep.key_members import KeyMembers
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Rows
from cernis.tables.domains import Domain
from cernis.tables.registers import Register

Members: TypeAlias = dict[tuple[str, int], list[Array]]
"""The members of domains that grow with the input, as columns of codes."""
_ALL_BITS = np.uint64((1 << 64) - 1)


def are_equal_members(members: Members, known: Members | None) -> bool:
    """Have domains the members that are known?"""
    return (
        known is not None
        and members.keys() == known.keys()
        and all(all(map(np.array_equal, columns, known[key])) for key, columns in members.items())
    )


class GroundedKeys:
    """Numbers keys, and knows which pairs groundings allow each of them.

    `pairs` are those that groundings restrict, by bit; a relation has the key at `positions` among
    its arguments.
    """

    def __init__(
        self,
        of_keys: KeyNumbers,
        positions: Mapping[Relation, tuple[int, ...]],
        pairs: Mapping[int, GroundedPair],
        members: Sequence[KeyMembers],
    ) -> None:
        self.of_keys = of_keys
        self.allowed = np.empty(0, np.uint64)
        """For each key, the bits of the pairs that groundings allow."""
        self._positions = positions
        self._places = {
            relation: sorted(range(len(each)), key=each.__getitem__)
            for relation, each in positions.items()
        }
        self._pairs = pairs
        self._member_keys: dict[int, _MemberKeys | None] = {}
        self._filling: int | None = None
        self._members: Members | None = None
        """The members of domains by which it was last decided what all keys may have."""
        self._first_alike = first_alike(pairs.values())
        self._fillings = DomainFillings(each.groundings for each in pairs.values())
        self._joining = _JoiningKeys(members, of_keys)

    def begin(self) -> None:
        """Let another run begin, which fills growing domains again."""
        self._filling = None if self._filling else self._filling
        self._joining.begin()

    def numbers(self, relation: Relation, arguments: list[Array], length: int) -> Integers:
        """The numbers of the keys of rows of a relation."""
        columns = [arguments[place] for place in self._positions[relation]]
        return self.of_keys.enter(columns, length)

    def columns(self, numbers: Integers, relation: Relation) -> list[Array]:
        """The values of keys, in the order in which a relation has them among its arguments."""
        values = self.of_keys.columns(numbers)
        return [values[place] for place in self._places[relation]]

    def members(
        self, relation: Relation, numbers: Integers
    ) -> tuple[Integers, Mapping[int, Array]] | None:
        """The members of keys, where a relation is about them; these keys have none."""
        return None

    def _enter_allowed(self, context: Context) -> Integers:
        """Find out which pairs keys may have that are new; gives these keys."""
        new = np.arange(len(self.allowed), self.of_keys.count)
        if len(new):
            if not len(self.allowed):
                self._filling = self._fillings.current(context)
                self._members = dict(context.background.filled)
            elif not self._are_members_known(context):
                self._members = None  # older keys were decided by others
            self.allowed = np.concatenate([self.allowed, self._allowed_words(new, context)])
        return new

    def update_groundings(self, context: Context, may_have_left: bool) -> Integers:
        """Take note of growing domains; gives the keys that may have other pairs than before.

        Where no member may have left a domain, keys that had all pairs have them still.
        """
        current = self._fillings.current(context)
        if current == self._filling:
            return np.empty(0, np.int64)
        is_first, self._filling = self._filling is None, current
        if self._are_members_known(context):
            return np.empty(0, np.int64)
        self._members = dict(context.background.filled)
        numbers = np.arange(len(self.allowed))
        if self._fillings.only_grow(context) and not (may_have_left or is_first):
            numbers = numbers[self.allowed != _ALL_BITS]
        words = self._allowed_words(numbers, context)
        changed = np.flatnonzero(words != self.allowed[numbers])
        self.allowed[numbers] = words
        return np.asarray(numbers[changed], np.int64)

    def _are_members_known(self, context: Context) -> bool:
        """Are the members of all domains those by which it was decided what keys may have?"""
        return are_equal_members(context.background.filled, self._members)

    def _allowed_words(self, numbers: Integers, context: Context) -> Words:
        """The pairs that each of some keys may have."""
        words = np.full(len(numbers), _ALL_BITS)
        if not len(numbers):
            return words
        answers = {NEVER_ALLOWED: np.zeros(len(numbers), np.bool_)}
        for (bit, pair), first in zip(self._pairs.items(), self._first_alike, strict=True):
            if first not in answers:
                answers[first] = self._is_allowed(bit, pair, numbers, context)
            words[~answers[first]] &= ~np.uint64(1 << bit)
        return words

    def _is_allowed(
        self, bit: int, pair: GroundedPair, numbers: Integers, context: Context
    ) -> Booleans:
        if bit not in self._member_keys:
            self._member_keys[bit] = _member_keys(pair, context)
        of_members = self._member_keys[bit]
        if of_members is not None:
            are_allowed = of_members.allowed(self.of_keys, numbers, context)
            if are_allowed is not None:
                return are_allowed
        domains, value_domain = context.encoding.fluent(pair.relation)
        if value_domain is None:
            value_domain = context.encoding.domains.value_domain(pair.relation)
        of_key = iter(self.columns(numbers, pair.relation))
        arguments = [
            next(of_key) if term is None
            else np.full(len(numbers), constant_column(term, domain).data[0])
            for term, domain in zip(pair.arguments, domains, strict=True)
        ]  # fmt: skip
        values = np.full(len(numbers), constant_column(pair.value, value_domain).data[0])
        return allowed(pair.groundings, arguments, domains, values, value_domain, context)


class _MemberKeys:
    """Knows which keys are rows of a table that grows: rows that are added are looked at once."""

    def __init__(self, predicate: tuple[str, int], places: Sequence[int]) -> None:
        self.predicate, self._places = predicate, places
        self._columns: list[Array] = []
        self._register = Register([])

    def allowed(self, keys: KeyNumbers, numbers: Integers, context: Context) -> Booleans | None:
        """Which of some keys are rows of the table; None if it has other codes than keys have."""
        domains = [keys.domains[place] for place in self._places]
        table = context.background.table(*self.predicate)
        are_same = all(one is other for one, other in zip(domains, table.domains, strict=True))
        if not are_same or any(domain is None for domain in domains):
            return None
        self._enter(table.columns, domains)
        columns = keys.columns(numbers)
        found = self._register.find([columns[place] for place in self._places], len(numbers))
        return np.asarray(found >= 0)

    def _enter(self, columns: list[Array], domains: list[Domain | None]) -> None:
        """Take note of the rows of the table."""
        known = len(self._columns[0]) if self._columns else 0
        if not self._columns or any(
            len(now) < known or not np.array_equal(now[:known], before)
            for now, before in zip(columns, self._columns, strict=True)
        ):
            known, self._register = 0, Register(domains)
        self._register.enter([column[known:] for column in columns], len(columns[0]) - known)
        self._columns = list(columns)


def _member_keys(pair: GroundedPair, context: Context) -> _MemberKeys | None:
    """How to find out what groundings say of a pair, if they ask for members of one domain only."""
    if len(pair.groundings) != 1:
        return None
    goals = next(iter(question(pair) or ()), ())
    steps = context.goals.of_grounding(pair.groundings[0])
    if len(goals) != 1 or len(steps) != 1 or not isinstance(steps[0], Lookup) or steps[0].rank:
        return None
    goal = goals[0]
    names = [key_variable(place).name for place in range(len(pair.positions))]
    if not isinstance(goal, Compound) or functor(goal) not in context.background.filled:
        return None
    goal_names = [term.name if isinstance(term, Variable) else "" for term in goal.args]
    if len(set(goal_names)) < len(goal_names) or not set(goal_names) <= set(names):
        return None
    return _MemberKeys(functor(goal), [names.index(name) for name in goal_names])


class _JoiningKeys:
    """Gives numbers to the keys that groundings name, whenever domains are filled again."""

    def __init__(self, members: Sequence[KeyMembers], keys: KeyNumbers) -> None:
        self._members, self._keys = members, keys
        self._fillings = DomainFillings(each.groundings for each in members)
        self._filling: int | None = None

    def begin(self) -> None:
        """Let another run begin, which fills growing domains again."""
        self._filling = None

    def enter(self, context: Context) -> None:
        """Enter the keys that are named now."""
        if not self._members:
            return
        current = self._fillings.current(context)
        if current == self._filling:
            return
        self._filling = current
        for each in self._members:
            self._enter(each, context)

    def _enter(self, members: KeyMembers, context: Context) -> None:
        head = members.head
        rows = grounded(head, members.groundings, Rows(1), context)
        domains, _ = context.encoding.fluent(members.relation)
        columns = [
            head_column(head.args[place], rows, domains[place]) for place in members.positions
        ]
        self._keys.enter(columns, rows.length)
