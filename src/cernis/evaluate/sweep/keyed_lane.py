"""A lane and the keys that it is about: records go in, changes of its pairs come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import Admitted, WindowRecords
from cernis.evaluate.sweep.bit_columns import BitColumns, event_columns, fluent_columns
from cernis.evaluate.sweep.gated_records import GatedRecords
from cernis.evaluate.sweep.input_edges import InputEdges
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_intake import LaneIntake
from cernis.evaluate.sweep.lane_keys import LaneKeys, derived_words, key_domains
from cernis.evaluate.sweep.lane_state import (
    BitIntervals,
    BitPoints,
    LaneChanges,
    LaneState,
    ValueIntervals,
)
from cernis.evaluate.sweep.lane_storage import KnownTransitions
from cernis.evaluate.sweep.lists.keyed_lists import KeyedLists
from cernis.evaluate.sweep.members.counted_keys import WalkedLane
from cernis.evaluate.sweep.members.sent_records import SentRecords
from cernis.evaluate.sweep.register_values import RegisterValues
from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.sweep.lane_tables import BREAK, INITIATION, LaneTables
from cernis.kernels.sweep.registers.register_tables import NO_REGISTERS
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.sweep.lanes import MOST_BITS, Lane, ListSource, StateBit, StateKind


class KeyedLane:
    """The walk of a lane, for keys that are the values of arguments."""

    def __init__(
        self, lane: Lane, context: Context, start: int | None = None,
        earlier: Sequence[WalkedLane] = (), inputs: KeyedLists | None = None,
        memory: WindowRecords | None = None,
    ) -> None:  # fmt: skip
        """Begin at the start of the run, or later if what holds there is given to the walk.

        `earlier` are lanes that are brought up to each query before this one is, and so is what
        unites the `inputs`, whose records are in `memory`.
        """
        self.lane = lane
        memo = context.background.memo
        self._intake: LaneIntake = memo.once(
            ("intake", context.window.ties), lane, lambda: LaneIntake(lane, context)
        )
        self.keys: LaneKeys = self._intake.keys
        self.keys.begin()
        self._may_conflict = start is not None
        """Has there been any conflict, as far as is known?"""
        self._conflicts = 0
        """How many conflicts there are since the lane began."""
        self.inputs: InputEdges | None = None
        """The starts and ends of the input that it reads."""
        if inputs is not None:
            assert memory is not None
            is_resumed = start is not None
            self.inputs = InputEdges(lane, inputs, self.keys.of_keys, memory, is_resumed)
        start = context.window.start if start is None else start
        self.registers = RegisterValues(lane, context.encoding) if lane.registers else None
        tables = tables_of(lane, context, self.registers)
        known: KnownTransitions = memo.once(("transitions", tables.ties), lane, KnownTransitions)
        self.walk = LaneState(tables, start, known=known if known.is_free else None)
        self.latest: LaneChanges | None = None
        """What the last query has changed."""
        gated = dict.fromkeys(lane.fired[number].relation for number in lane.gates)
        self._gated = {
            relation: GatedRecords(lane, relation, earlier)
            for relation in gated if relation is not None
        }  # fmt: skip
        domains = key_domains(lane, context)
        self._sent = [
            SentRecords(lane, each, earlier, domains, self.of_keys.enter) for each in lane.sent
        ]

    def update(self, admitted: Mapping[Relation, Admitted], context: Context) -> LaneChanges:
        """Take note of what came and went, and walk up to the query."""
        for relation in self.lane.events:
            records = admitted.get(relation)
            if records is not None:
                self._change(relation, records, context)
        for records_of_event in self._gated.values():
            for keys, times, words, payload, is_gone in records_of_event.changes(
                context.window.edge
            ):
                self.walk.change(keys, times, words, gone=is_gone, payload=payload)
        for sent in self._sent:
            for keys, times, words, is_gone in sent.changes(context.window.edge, context):
                self.walk.change(keys, times, words, gone=is_gone)
        restarted_keys = self._change_inputs(context)
        self._know_keys(context)
        if len(restarted_keys):
            self.walk.set_first(restarted_keys, self._first_words(restarted_keys))
        may_have_left = any(len(each.removed) for each in admitted.values())
        changed = self.keys.update_groundings(context, may_have_left)
        if len(changed):
            self.walk.set_allowed(changed, self.keys.allowed[changed])
        restarted = self.keys.update_first(context)
        if len(restarted):
            self.walk.set_first(restarted, self._first_words(restarted))
        numbers = None if self.registers is None else self.registers.numbers()
        if numbers is not None:
            self.walk.set_numbers(*numbers)
        changes = self.walk.update(context.window.edge, context.window.query)
        self._may_conflict |= changes.conflicts != 0
        self._conflicts += changes.conflicts
        self.latest = changes
        return changes

    # -- what others ask --------------------------------------------------------------------

    @property
    def definitions(self) -> tuple[Relation, ...]:
        """The relations that it defines."""
        return self.lane.definitions

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its keys."""
        return self.keys.of_keys

    def pair_number(self, source: ListSource) -> int | None:
        """The bit of the pair that a source asks for, if it has one."""
        bit = StateBit(StateKind.PAIR, source.relation, source.arguments, source.value)
        return self.lane.state.index(bit) if bit in self.lane.state else None

    def intervals(self) -> BitIntervals:
        """All intervals that reach the window, by bit, key and start."""
        return self.walk.intervals()

    def value_intervals(self) -> ValueIntervals:
        """All intervals of open values that reach the window."""
        return self.walk.value_intervals()

    def signals(self) -> BitPoints:
        """All points of reported signals in the window, by bit, key and time."""
        return self.walk.signals()

    def fluent_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the fluents that it defines."""
        return fluent_columns(self.lane, self.keys, encoding)

    def event_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the events that it derives."""
        return event_columns(self.lane, self.keys, encoding)

    def conflicts(self, context: Context) -> int:
        """How many conflicts there are in the window, as of the start of the run too."""
        conflicts = self._conflicts
        if self.walk.edge > self.walk.start:
            conflicts = self.walk.conflicts() if self._may_conflict else 0
        if context.window.edge == context.window.start:
            conflicts += int(self.keys.first_conflicts.sum())
        return conflicts

    def _change(self, relation: Relation, records: Admitted, context: Context) -> None:
        for rows, is_gone in ((records.added, False), (records.removed, True)):
            if len(rows):
                signed = self._intake.signed(relation, rows, context)
                payload = None
                if self.registers is not None:
                    payload = self.registers.payload(relation, rows.arguments, len(rows))
                if relation in self._gated:
                    self._gated[relation].take(rows.arguments, *signed, payload, is_gone)
                else:
                    self.walk.change(*signed, gone=is_gone, payload=payload)

    def _change_inputs(self, context: Context) -> Integers:
        """Take note of starts and ends in the input; gives keys that begin otherwise now."""
        if self.inputs is None:
            return np.empty(0, np.int64)
        restarted_keys, records = self.inputs.changes(context)
        for keys, times, words, is_gone in records:
            self.walk.change(keys, times, words, gone=is_gone)
        return restarted_keys

    def _first_words(self, numbers: Integers) -> Words:
        """The words that keys begin with, with what the input has for them."""
        words = self.keys.first_words[numbers]
        if self.inputs is None:
            return words
        words = words | self.inputs.first_words(numbers)
        return derived_words(self.lane, words, self.keys.allowed[numbers])

    def _know_keys(self, context: Context) -> None:
        """Tell the walk of keys that are new."""
        keys, known = self.keys, self.walk.key_count
        keys.update(context)
        if known < len(keys.first_words):
            words, registers = keys.first_words[known:], None
            if self.registers is not None:
                registers = self.registers.first_values(words)
            since = self._since_edge(len(words), context)
            self.walk.add_keys(words, keys.allowed[known:], since, registers=registers)

    def _since_edge(self, count: int, context: Context) -> Matrix | None:
        """What is derived of keys that join later holds from the edge on."""
        window = context.window
        if window.edge == window.start or not self.lane.members:
            return None
        return np.full((count, MOST_BITS), window.edge + window.tick)


def tables_of(lane: Lane, context: Context, registers: RegisterValues | None) -> LaneTables:
    """A lane as arrays."""
    rows = np.array([row.masks for row in lane.rows], np.uint64).reshape(-1, 11)
    delays = [
        (each.source, each.delay, each.due, each.armed, each.postponable, each.until_due)
        for each in lane.delays
    ]
    return LaneTables(
        rows, np.array(lane.first_row, np.int64), np.array(lane.touch_fired, np.uint64),
        np.array(lane.touch_state, np.uint64), np.array(delays, np.int64).reshape(-1, 6),
        np.uint64(lane.reported | lane.listed), np.uint64(lane.reported_signals),
        INITIATION if context.window.ties == "initiation" else BREAK, context.window.tick,
        NO_REGISTERS if registers is None else registers.tables,
    )  # fmt: skip
