"""From the state that evaluators hand over to the words of keys, and back.

What holds of a key right after the edge of the window, since when it has, and which delays are
under way there: with these a lane goes on, over the records of the window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.window_carry import UNKNOWN
from cernis.evaluate.linked.linked_walks import LinkedWalk, WalkedKind
from cernis.evaluate.query_loop import Admitted, Handover, WindowRecords
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.bit_columns import copied_columns, fluent_columns
from cernis.evaluate.sweep.keyed_lane import KeyedLane
from cernis.evaluate.sweep.lane_answers import LaneAnswers, fluent_rows_of
from cernis.evaluate.sweep.lane_keys import derived_words
from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.evaluate.sweep.lists.keyed_lists import KeyedLists
from cernis.evaluate.sweep.lists.source_rows import sorted_intervals
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers, Matrix, Words
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.linked.linked_plans import LinkedProgram
from cernis.plan.sweep.lanes import MOST_BITS, Lane, bits_of

_NONE = np.empty(0, np.int64)


def attempts_in(lane: KeyedLane | WalkedKind, answers: LaneAnswers) -> dict[Relation, StoredRows]:
    """The initiations in the window that delayed effects are counted from, by fluent."""
    if not lane.lane.delays:
        return {}
    numbers, keys, times, ends = lane.walk.arms()
    sources = np.array([delay.source for delay in lane.lane.delays])[numbers]
    order = np.argsort(sources, kind="stable")
    columns = (column[order] for column in (sources, keys, times, ends))
    return dict(answers.attempt_rows(BitIntervals(*columns)))


def resumed_lane(
    lane: Lane, handover: Handover, memory: WindowRecords, context: Context,
    earlier: Sequence[KeyedLane], inputs: KeyedLists | None = None,
) -> KeyedLane:  # fmt: skip
    """A lane that goes on from what holds at the edge, over the records that are in memory.

    `earlier` are the lanes that were resumed before, and `inputs` what unites its input.
    """
    resumed = KeyedLane(lane, context, context.window.edge, earlier, inputs, memory)
    edge = _EdgeState(resumed, context)
    edge.read_intervals(handover)
    edge.read_inputs()
    edge.read_attempts(handover)
    edge.begin()
    window = Window(context.window.edge, context.window.query, context.window.forgotten)
    records = {relation: _records(relation, memory, window) for relation in lane.events}
    resumed.update(records, context)
    return resumed


def output_rows(lists: KeyedLists, encoding: ValueEncoding) -> dict[Relation, StoredRows]:
    """What lists have reported that reaches the window, and what they see of the input."""
    intervals = lists.intervals()
    columns = lists.output_columns(encoding)
    return {each.relation: fluent_rows_of(each, intervals) for each in columns}


def resumed_lists(
    lists: KeyedLists, handover: Handover, memory: WindowRecords, context: Context
) -> None:
    """Let lists go on from what was reported of them, over all intervals of their sources."""
    reported: list[BitIntervals] = []
    window = Window(context.window.edge, context.window.query, context.window.forgotten)
    for columns in lists.output_columns(context.encoding):
        rows = handover.fluents.get(columns.relation)
        if rows is None:
            continue
        starts, ends, values = rows.columns[:3]
        for number in columns.numbers:
            chosen, keys = columns.rows_of(number, rows.arguments, values)
            numbers = np.full(len(chosen), number)
            reported.append(BitIntervals(numbers, keys, starts[chosen], ends[chosen]))
    records = {r: memory.fluent_records(r, window) for r in lists.input_relations}
    lists.begin_from(sorted_intervals(reported), records, handover.remembered, context)


def resumed_walk(
    program: LinkedProgram, handover: Handover, memory: WindowRecords, context: Context
) -> LinkedWalk:
    """As `resumed_lane`, for a linked program."""
    resumed = LinkedWalk(program, context, start=context.window.edge)
    edges = [_EdgeState(kind, context) for kind in resumed.kinds()]
    for edge in edges:
        edge.read_intervals(handover)
        edge.read_attempts(handover)
    resumed.intake.number_links(context)
    # Instances that others are linked to come first.
    for edge in reversed(edges):
        edge.begin()
    window = Window(context.window.edge, context.window.query, context.window.forgotten)
    records = {relation: _records(relation, memory, window) for relation in program.events}
    resumed.update(records, context)
    return resumed


def _records(relation: Relation, memory: WindowRecords, window: Window) -> Admitted:
    """All records of an event in the window, as if they had just come."""
    table = memory.happenings(relation, window)
    rows = StoredRows(table.arguments, [table.times])
    return Admitted(rows, rows.take(_NONE), _NONE, _NONE)


class _EdgeState:
    """What holds of keys right after the edge, and which delays are under way."""

    def __init__(self, lane: KeyedLane | WalkedKind, context: Context) -> None:
        self._lane = lane
        self._context = context
        self._holding: list[tuple[int, Integers, Integers]] = []
        """By state bit: keys of which it holds, and since when."""
        self._open: list[tuple[int, Integers, Array]] = []
        """By open bit: keys of which it holds, and with which value."""
        self._implied: list[tuple[int, Integers, Integers]] = []
        self._listed: list[tuple[int, Integers, Integers]] = []
        """By delay: keys of which it is under way, and when it was armed. What is listed counts."""

    def read_intervals(self, handover: Handover) -> None:
        """Find out what holds."""
        window, lane = self._context.window, self._lane
        point = window.edge + window.tick
        encoding = self._context.encoding
        for columns in (
            *fluent_columns(lane.lane, lane.keys, encoding),
            *copied_columns(lane.lane, lane.keys, encoding),
        ):
            rows = handover.fluents.get(columns.relation)
            if rows is None:
                continue
            starts, ends, values = rows.columns
            holds = np.flatnonzero((starts <= point) & (ends > point))
            arguments = [column[holds] for column in rows.arguments]
            for number in columns.numbers:
                chosen, keys = columns.rows_of(number, arguments, values[holds])
                self._holding.append((number, keys, starts[holds][chosen]))
                if number in columns.open_bits:
                    self._open.append((number, keys, values[holds][chosen]))
        self._read_lists(handover, point)

    def read_inputs(self) -> None:
        """Find out what holds in the input."""
        window = self._context.window
        if isinstance(self._lane, KeyedLane) and self._lane.inputs is not None:
            self._holding += self._lane.inputs.holding(window.edge + window.tick)

    def _read_lists(self, handover: Handover, point: int) -> None:
        """Find out since when lists inside of rules have held."""
        lane = self._lane
        for number in bits_of(lane.lane.listed):
            relation = lane.lane.state[number].relation
            rows = None if relation is None else handover.remembered.get(relation)
            if relation is None or rows is None:
                continue
            starts, ends = rows.columns[:2]
            holds = np.flatnonzero((starts <= point) & (ends > point))
            arguments = [column[holds] for column in rows.arguments]
            keys = lane.keys.numbers(relation, arguments, len(holds))
            self._holding.append((number, keys, starts[holds]))

    def read_attempts(self, handover: Handover) -> None:
        """Find out which delays are under way: those of what holds, and those that are listed."""
        edge, lane = self._context.window.edge, self._lane
        self._arm_by_intervals()
        for columns in fluent_columns(lane.lane, lane.keys, self._context.encoding):
            rows = handover.effect_origins.get(columns.relation)
            if rows is None:
                continue
            times, values, ends = rows.columns
            is_on = (times <= edge) & ((ends > edge) | (ends == UNKNOWN))
            here = np.flatnonzero(is_on)
            arguments = [column[here] for column in rows.arguments]
            held = columns.values_of_codes(values[here], self._context.encoding)
            for number, delay in enumerate(lane.lane.delays):
                if delay.source in columns.numbers:
                    chosen, keys = columns.rows_of(delay.source, arguments, held)
                    self._listed.append((number, keys, times[here][chosen]))

    def _arm_by_intervals(self) -> None:
        """Most initiations are not listed: they lie right before the start of what holds."""
        window = self._context.window
        for number, delay in enumerate(self._lane.lane.delays):
            for bit, keys, starts in self._holding:
                if bit == delay.source:
                    counts = starts > window.start + window.tick
                    if delay.follows_initial:
                        counts[:] = True
                    self._implied.append((number, keys[counts], starts[counts] - window.tick))

    def begin(self) -> None:
        """Tell the walk."""
        keys, lane = self._lane.keys, self._lane.lane
        keys.update(self._context)
        count = len(keys.first_words)
        words = keys.first_words & keys.facts
        window = self._context.window
        since = np.full((count, MOST_BITS), window.edge + window.tick)
        for bit, numbers, starts in self._holding:
            words[numbers] |= np.uint64(1 << bit)
            since[numbers, bit] = starts
        words = derived_words(lane, words, keys.allowed)
        implied, listed = (self._arms(count, own) for own in (self._implied, self._listed))
        arms = np.where(listed != UNKNOWN, listed, implied)
        for number, delay in enumerate(lane.delays):
            words[arms[:, number] != UNKNOWN] |= np.uint64(1 << delay.armed)
        self._lane.walk.add_keys(words, keys.allowed, since, arms, self._registers(words))

    def _registers(self, words: Words) -> Matrix | None:
        """The values of registers: named ones that hold, and others that were read."""
        registers = self._lane.registers
        if registers is None:
            return None
        values = registers.first_values(words)
        numbers = {each.open_bit: at for at, each in enumerate(self._lane.lane.registers)}
        for bit, keys, held in self._open:
            values[keys, numbers[bit]] = registers.held(numbers[bit], held)
        return values

    def _arms(self, count: int, armed: list[tuple[int, Integers, Integers]]) -> Matrix:
        """By key and delay: the last time at which it was armed."""
        arms = np.full((count, len(self._lane.lane.delays)), UNKNOWN)
        for delay, numbers, times in armed:
            np.maximum.at(arms[:, delay], numbers, times)
        return arms
