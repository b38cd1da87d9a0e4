"""The keys of a lane: their numbers, the words they begin with, and the pairs they may have."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.sweep.sign_conditions import with_values
from cernis.kernels.array_types import Array, Booleans, Integers, Words
from cernis.operators.collections import ROW
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import allowed, filling
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.sweep.lanes import (
    Lane,
    LaneGrounding,
    LaneInitial,
    LaneOp,
    StateBit,
    StateKind,
)
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain
from cernis.tables.domains import numbers as numbers_of_values
from cernis.tables.registers import Register

_ALL_BITS = np.uint64((1 << 64) - 1)


class LaneKeys:
    """Numbers the keys of a lane, and knows what is so of each."""

    def __init__(self, lane: Lane, context: Context) -> None:
        self._lane = lane
        self._positions = dict(lane.keys)
        self._domains = self._key_domains(context)
        # Numeric arguments have no codes; here they get some.
        self._register = Register([own if own is not None else Domain() for own in self._domains])
        self._count = 0
        """How many numbers there are."""
        self.first_words = np.empty(0, np.uint64)
        """What holds of each key at first: initial pairs, and facts about it."""
        self.first_conflicts = np.empty(0, np.int64)
        """How many fluents of each key have several values initially."""
        self.allowed = np.empty(0, np.uint64)
        """The pairs that groundings allow each key to have."""
        self._filling: int | None = None
        self._initial: dict[int, int] | None = None

    def _key_domains(self, context: Context) -> list[Domain | None]:
        relation = self._lane.definitions[0]
        domains = context.encoding.arguments(relation)
        return [domains[place] for place in self._positions[relation]]

    def numbers(self, relation: Relation, arguments: list[Array], length: int) -> Integers:
        """The numbers of the keys of records."""
        columns = [arguments[position] for position in self._positions[relation]]
        return self._entered(columns, length)

    def _entered(self, columns: list[Array], length: int) -> Integers:
        coded = zip(columns, self._domains, self._register.domains, strict=True)
        columns = [
            column if domain is not None or own is None else own.encode_numbers(column)
            for column, domain, own in coded
        ]
        numbers = self._register.enter(columns, length)[0]
        if length:
            self._count = max(self._count, int(numbers.max()) + 1)
        return numbers

    @property
    def facts(self) -> np.uint64:
        """The bits that are facts about keys."""
        bits = enumerate(self._lane.state)
        return np.uint64(sum(1 << number for number, bit in bits if bit.kind is StateKind.FACT))

    def columns(self, numbers: Integers, relation: Relation) -> list[Array]:
        """The values of keys, in the order in which a relation has them among its arguments."""
        values, places = self._values(numbers), self._positions[relation]
        return [values[place] for place in sorted(range(len(places)), key=places.__getitem__)]

    def _values(self, numbers: Integers) -> list[Array]:
        """The values of keys, in the order of the key."""
        coded = zip(self._register.columns(numbers), self._domains, self._register.domains,
                    strict=True)  # fmt: skip
        return [
            column if domain is not None or own is None else numbers_of_values(own.decode(column))
            for column, domain, own in coded
        ]

    def _arguments(self, bit: StateBit, numbers: Integers, context: Context) -> list[Array]:
        """The arguments that a pair has for some keys."""
        assert bit.relation is not None
        of_key = iter(self.columns(numbers, bit.relation))
        return [
            next(of_key) if term is None
            else np.full(len(numbers), constant_column(term, domain).data[0])
            for term, domain in zip(
                bit.arguments, context.encoding.arguments(bit.relation), strict=True
            )
        ]  # fmt: skip

    # -- what is so of keys -----------------------------------------------------------------

    def begin(self) -> None:
        """Let another run begin, which fills growing domains again."""
        self._filling = None if self._filling else self._filling

    def update(self, context: Context) -> None:
        """Find out what is so of keys that are new."""
        initial = self._initial_words(context)
        new = np.arange(len(self.first_words), self._count)
        if not len(new):
            return
        words = np.zeros(len(new), np.uint64)
        if initial:
            words[:] = [initial.get(number, 0) for number in new.tolist()]
        for number, bit in enumerate(self._lane.state):
            if bit.kind is StateKind.FACT:
                words[self._fulfilling(bit, new, context)] |= np.uint64(1 << number)
        allowed_words = self._allowed_words(new, context)
        distinct, which = np.unique(words & allowed_words, return_inverse=True)
        ties = context.window.ties
        first = [first_word(self._lane, word, ties) for word in distinct.tolist()]
        words = np.array([word for word, _ in first], np.uint64)[which]
        self.first_words = np.concatenate([self.first_words, words])
        conflicts = np.array([count for _, count in first])[which]
        self.first_conflicts = np.concatenate([self.first_conflicts, conflicts])
        self.allowed = np.concatenate([self.allowed, allowed_words])

    def _fulfilling(self, bit: StateBit, numbers: Integers, context: Context) -> Integers:
        """Which of some keys a fact is true of."""
        values = self._register.columns(numbers)
        columns = {
            name: Column(column, domain)
            for name, column, domain in zip(
                bit.variables, values, self._register.domains, strict=True
            )
        }
        rows = Rows(len(numbers), {**columns, ROW: Column(np.arange(len(numbers)))})
        return run_steps(bit.steps, rows, context).settled().columns[ROW].values

    def _initial_words(self, context: Context) -> dict[int, int]:
        """By number of a key: the pairs that hold from the start."""
        if self._initial is None:
            self._initial = {}
            for initial in self._lane.initials:
                for number in self._holding(initial, context).tolist():
                    self._initial[number] = self._initial.get(number, 0) | 1 << initial.bit
        return self._initial

    def _holding(self, initial: LaneInitial, context: Context) -> Integers:
        """The keys that a pair holds of from the start."""
        rows = run_steps(initial.rule.steps, None, context).settled()
        rows = with_values(rows, initial.values)
        head = initial.head
        domains, _ = context.encoding.fluent(head.relation)
        columns = [
            head_column(head.args[place], rows, domains[place])
            for place in self._positions[head.relation]
        ]
        return self._entered(columns, rows.length)

    # -- groundings -------------------------------------------------------------------------

    def update_groundings(self, context: Context) -> Integers:
        """Take note of growing domains; gives the keys that may have other pairs than before."""
        current = sum(filling(each.groundings, context) for each in self._lane.groundings)
        if current == self._filling:
            return np.empty(0, np.int64)
        self._filling = current
        before, self.allowed = (
            self.allowed,
            self._allowed_words(np.arange(len(self.allowed)), context),
        )
        return np.flatnonzero(before != self.allowed)

    def _allowed_words(self, numbers: Integers, context: Context) -> Words:
        """The pairs that each of some keys may have."""
        words = np.full(len(numbers), _ALL_BITS)
        for grounding in self._lane.groundings:
            may = self._is_allowed(grounding, numbers, context)
            words[~may] &= ~np.uint64(1 << grounding.bit)
        return words

    def _is_allowed(
        self, grounding: LaneGrounding, numbers: Integers, context: Context
    ) -> Booleans:
        bit = self._lane.state[grounding.bit]
        assert bit.relation is not None
        assert bit.value is not None
        domains, value_domain = context.encoding.fluent(bit.relation)
        if value_domain is None:
            value_domain = context.encoding.domains.value_domain(bit.relation)
        arguments = self._arguments(bit, numbers, context)
        values = np.full(len(numbers), constant_column(bit.value, value_domain).data[0])
        return allowed(grounding.groundings, arguments, domains, values, value_domain, context)


def first_word(lane: Lane, word: int, ties: str) -> tuple[int, int]:
    """The word that a key begins with, given what is said to hold initially; and the conflicts.

    Several values of a fluent are a conflict: none of them holds if ties break. Their delayed
    effects follow all the same.
    """
    groups = [row.init for row in lane.rows if row.op is LaneOp.COMMIT]
    clashing = [group for group in groups if (word & group).bit_count() > 1]
    sources = word
    for group in clashing:
        word = word & ~group if ties == "break" else word
    word = with_derived(lane, word)
    for delay in lane.delays:
        if delay.follows_initial and sources >> delay.source & 1:
            word |= 1 << delay.armed
    return word, len(clashing)


def with_derived(lane: Lane, word: int) -> int:
    """A word with the pairs that rows derive from it."""
    is_true = False
    for row in lane.rows:
        if row.op is LaneOp.TERM:
            is_true |= word & row.pos == row.pos and not word & row.neg
        elif row.op is LaneOp.DERIVE:
            word = word | row.init if is_true else word & ~row.init
            is_true = False
    return word
