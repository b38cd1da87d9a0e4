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
from cernis.plan.sweep.grounding_questions import NEVER_ALLOWED, GroundedPair, first_alike
from cernis.plan.sweep.key_members import KeyMembers
from cernis.tables.columns import Rows

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
                answers[first] = self._is_allowed(pair, numbers, context)
            words[~answers[first]] &= ~np.uint64(1 << bit)
        return words

    def _is_allowed(self, pair: GroundedPair, numbers: Integers, context: Context) -> Booleans:
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
