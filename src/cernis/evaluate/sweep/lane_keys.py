"""The keys of a lane: their numbers, the words they begin with, and the pairs they may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.sweep.grounded_keys import GroundedKeys, Members, are_equal_members
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.members.member_tables import MemberTable
from cernis.evaluate.sweep.sign_conditions import with_values
from cernis.kernels.array_types import Array, Integers, Words
from cernis.operators.collections import ROW
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.sweep.grounding_questions import GroundedPair
from cernis.plan.sweep.lanes import (
    Lane,
    LaneGrounding,
    LaneInitial,
    LaneOp,
    StateBit,
    StateKind,
    Steps,
)
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain

_NO_WORDS = np.empty(0, np.uint64)


class LaneKeys(GroundedKeys):
    """Numbers the keys of a lane, and knows what is so of each.

    A key has a value of each of `domains`.
    """

    def __init__(self, lane: Lane, domains: Sequence[Domain | None]) -> None:
        self._lane = lane
        super().__init__(
            KeyNumbers(domains),
            dict(lane.keys),
            {each.bit: _grounded_pair(lane, each) for each in lane.groundings},
            lane.members,
        )
        self.first_words = np.empty(0, np.uint64)
        """What holds of each key at first: initial pairs, and facts about it."""
        self._first_allowed = np.empty(0, np.uint64)
        """For each key, the pairs that it might have when that was found out."""
        self.first_conflicts = np.empty(0, np.int64)
        """How many fluents of each key have several values initially."""
        self._initial: Words | None = None
        """By number of a key: the pairs that hold from the start; of further keys none does."""
        self._grows = any(initial.grows for initial in lane.initials)
        """Does it follow domains what holds initially?"""
        self._initial_filling: int | None = None
        self._initial_members: Members | None = None
        self._member_tables = {each.relation: MemberTable(each) for each in lane.head_members}
        self._is_followed = False
        """May known keys begin otherwise than before?"""

    @property
    def facts(self) -> np.uint64:
        """The bits that are facts about keys."""
        bits = enumerate(self._lane.state)
        return np.uint64(sum(1 << number for number, bit in bits if bit.kind is StateKind.FACT))

    # -- what is so of keys -----------------------------------------------------------------

    def begin(self) -> None:
        """Let another run begin, which fills growing domains again."""
        super().begin()
        self._initial_filling = None

    def update(self, context: Context) -> None:
        """Find out what is so of keys that are new."""
        self._joining.enter(context)
        self._follow_initial(context)
        initial = self._initial_words(context)
        new = self._enter_allowed(context)
        for table in self._member_tables.values():
            table.update(self.of_keys, self.of_keys.count, context)
        if len(new):
            first, conflicts = self._first_words(new, self.allowed[new], initial, context)
            self.first_words = np.concatenate([self.first_words, first])
            self._first_allowed = np.concatenate([self._first_allowed, self.allowed[new]])
            self.first_conflicts = np.concatenate([self.first_conflicts, conflicts])

    def members(
        self, relation: Relation, numbers: Integers
    ) -> tuple[Integers, Mapping[int, Array]] | None:
        """The members of some keys, where a fluent is about them.

        There is a row for each member, with the place of its key, and columns by the place of the
        argument.
        """
        table = self._member_tables.get(relation)
        if table is None:
            return None
        rows, columns = table.of(numbers)
        return rows, dict(zip(table.members.positions, columns, strict=True))

    def update_first(self, context: Context) -> Integers:
        """Take note of what holds initially of known keys; gives those that begin otherwise now."""
        if not self._grows or context.window.edge > context.window.start:
            return np.empty(0, np.int64)
        if not self._is_followed and np.array_equal(self._first_allowed, self.allowed):
            return np.empty(0, np.int64)
        self._is_followed = False
        numbers, initial = np.arange(len(self.first_words)), self._initial_words(context)
        first, conflicts = self._first_words(numbers, self.allowed, initial, context)
        changed = np.flatnonzero(first != self.first_words)
        self.first_words, self.first_conflicts = first, conflicts
        self._first_allowed = self.allowed.copy()
        return changed

    def _first_words(
        self, numbers: Integers, allowed_words: Words, initial: Words, context: Context
    ) -> tuple[Words, Integers]:
        """The words that some keys begin with, and how many conflicts there are in each."""
        words = np.zeros(len(numbers), np.uint64)
        known = numbers < len(initial)
        words[known] = initial[numbers[known]]
        for number, bit in enumerate(self._lane.state):
            if bit.kind is StateKind.FACT:
                words[self._fulfilling(bit, numbers, context)] |= np.uint64(1 << number)
        pairs = np.column_stack([words & allowed_words, allowed_words])
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        ties = context.window.ties
        first = [first_word(self._lane, word, may, ties) for word, may in distinct.tolist()]
        rows = which.ravel()
        first_words = np.array([word for word, _ in first], np.uint64)[rows]
        return first_words, np.array([count for _, count in first], np.int64)[rows]

    def _fulfilling(self, bit: StateBit, numbers: Integers, context: Context) -> Integers:
        """Which of some keys a fact is true of."""
        return fulfilling(bit.variables, bit.steps, self.of_keys, numbers, context)

    def _follow_initial(self, context: Context) -> None:
        """Look again what holds initially if domains are filled otherwise.

        What holds initially is settled when the window's edge has passed the start.
        """
        if self._grows and context.window.edge > context.window.start:
            self._initial = _NO_WORDS if self._initial is None else self._initial
        elif self._grows and context.background.all_fillings != self._initial_filling:
            self._initial_filling = context.background.all_fillings
            if not are_equal_members(context.background.filled, self._initial_members):
                self._initial_members = dict(context.background.filled)
                self._initial, self._is_followed = None, True

    def _initial_words(self, context: Context) -> Words:
        """By number of a key: the pairs that hold from the start."""
        if self._initial is None:
            initials = self._lane.initials
            holding = [(each.bit, self._holding(each, context)) for each in initials]
            self._initial = np.zeros(self.of_keys.count, np.uint64)
            for bit, numbers in holding:
                self._initial[numbers] |= np.uint64(1 << bit)
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
        return self.of_keys.enter(columns, rows.length)


def key_domains(lane: Lane, context: Context) -> list[Domain | None]:
    """The domains of the arguments that make the key of a lane."""
    # A lane that only opens gates has no definitions.
    relation = (*lane.definitions, *lane.events)[0]
    domains = context.encoding.arguments(relation)
    return [domains[place] for place in dict(lane.keys)[relation]]


def _grounded_pair(lane: Lane, grounding: LaneGrounding) -> GroundedPair:
    bit = lane.state[grounding.bit]
    assert bit.relation is not None
    assert bit.value is not None
    positions = dict(lane.keys)[bit.relation]
    return GroundedPair(bit.relation, positions, bit.arguments, bit.value, grounding.groundings)


def fulfilling(
    variables: Sequence[str], steps: Steps, keys: KeyNumbers, numbers: Integers, context: Context
) -> Integers:
    """Which of some keys meet conditions in which their values have these names."""
    columns = dict(zip(variables, keys.coded_columns(numbers), strict=True))
    rows = Rows(len(numbers), {**columns, ROW: Column(np.arange(len(numbers)))})
    return run_steps(steps, rows, context).settled().columns[ROW].values


def first_word(lane: Lane, word: int, allowed: int, ties: str) -> tuple[int, int]:
    """The word that a key begins with, given what is said to hold initially; and the conflicts.

    `allowed` has the pairs that groundings allow it.

    Several values of a fluent are a conflict: none of them holds if ties break. Their delayed
    effects follow all the same.
    """
    groups = [row.init for row in lane.rows if row.op is LaneOp.COMMIT]
    clashing = [group for group in groups if (word & group).bit_count() > 1]
    sources = word
    for group in clashing:
        word = word & ~group if ties == "break" else word
    word = with_derived(lane, word, allowed)
    for delay in lane.delays:
        if delay.follows_initial and sources >> delay.source & 1:
            word |= 1 << delay.armed
    return word, len(clashing)


def derived_words(lane: Lane, words: Words, allowed: Words) -> Words:
    """As `with_derived`, for the words of many keys."""
    pairs, which = np.unique(np.column_stack([words, allowed]), axis=0, return_inverse=True)
    derived = np.array([with_derived(lane, *pair) for pair in pairs.tolist()], np.uint64)
    return derived[which.ravel()]


def with_derived(lane: Lane, word: int, allowed: int) -> int:
    """A word with the pairs that rows derive from it, of those that are allowed."""
    is_true = False
    for row in lane.rows:
        if row.op is LaneOp.TERM:
            is_true |= word & row.pos == row.pos and not word & row.neg
        elif row.op is LaneOp.DERIVE:
            word = word & ~row.init | (row.init & allowed if is_true else 0)
            is_true = False
    return word
