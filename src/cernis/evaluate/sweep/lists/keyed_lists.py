"""A program over lists and the keys that it is about: changes of lanes go in, those of pairs out.

Its sources are bits of lanes, outputs of programs of earlier stages, and intervals of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import Admitted
from cernis.evaluate.stores import StoredRows, stacked
from cernis.evaluate.sweep.bit_columns import BitColumns, list_columns
from cernis.evaluate.sweep.key_numbers import KeyMap, KeyNumbers
from cernis.evaluate.sweep.lane_state import (
    NO_INTERVALS,
    NO_POINTS,
    NO_VALUES,
    BitIntervals,
    BitPoints,
    LaneChanges,
    ValueIntervals,
)
from cernis.evaluate.sweep.lists.list_keys import ListKeys
from cernis.evaluate.sweep.lists.list_state import ListState, ListTables, SourceChanges
from cernis.evaluate.sweep.lists.source_rows import (
    matching_rows,
    of_number,
    older_intervals,
    rows_of_source,
    sorted_intervals,
)
from cernis.evaluate.sweep.register_values import RegisterValues
from cernis.kernels.array_types import Array, Integers, Matrix
from cernis.kernels.order import in_order
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.sweep.lanes import MOST_BITS, ListProgram, ListSource


class PairProducer(Protocol):
    """A lane, or a program over lists: gives the intervals of pairs by number."""

    latest: LaneChanges | None
    """What the last query has changed."""

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its keys."""

    def pair_number(self, source: ListSource) -> int | None:
        """The number of the pair that a source asks for, if it gives that pair."""

    def intervals(self) -> BitIntervals:
        """All intervals that reach the window, by pair, key and start."""


@dataclass(slots=True)
class _Feeding:
    """How the pairs of a producer become sources of a program, of its keys or of linked ones."""

    producer: PairProducer
    key_map: KeyMap
    numbers: Integers = field(default_factory=lambda: np.full(MOST_BITS, -1))
    """By pair: the number of the source, -1 for pairs that are none."""
    factor: int = 1
    offset: int = 0
    """Numbers of keys are multiplied and moved, so that several kinds of keys have their own."""

    def changes(self) -> SourceChanges:
        """What the last query has changed."""
        latest = self.producer.latest
        assert latest is not None
        return SourceChanges(self.taken(latest.come), self.taken(latest.gone))

    def taken(self, intervals: BitIntervals) -> BitIntervals:
        """The intervals of sources, with the numbers that the program has for them."""
        numbers = self.numbers[intervals.bits]
        chosen = np.flatnonzero(numbers >= 0)
        keys = self.key_map(intervals.keys[chosen]) * self.factor + self.offset
        return BitIntervals(numbers[chosen], keys, intervals.starts[chosen], intervals.ends[chosen])


class _InputSource(NamedTuple):
    """An input fluent that is a source: the number it has, and which of its rows count."""

    number: int
    source: ListSource


class KeyedLists:
    """The lists of all keys of a program."""

    def __init__(
        self, program: ListProgram, producers: Mapping[int, Sequence[PairProducer]], stage: int,
        context: Context, are_handed: bool = False,
    ) -> None:  # fmt: skip
        """Begin with nothing known; `producers` are given by stage.

        If fluents are handed over by other stages, they are known only when a query is evaluated.
        """
        self._are_handed = are_handed
        self.program = program
        self.latest: LaneChanges | None = None
        self.registers: RegisterValues | None = None
        """Lists have none."""
        memo = context.background.memo
        self.keys: ListKeys = memo.once("keys", program, lambda: ListKeys(program, context))
        self.keys.begin()
        self._feedings: list[_Feeding] = []
        self._linked_feedings: list[_Feeding] = []
        self._numbered: list[ListSource] = []
        """The sources of the program's own keys, by number."""
        self._numbered_linked: list[ListSource] = []
        """The sources of linked keys, by number."""
        self._inputs: list[_InputSource] = []
        self._targets = _LinkTargets(program, context)
        slots = self._number_sources(producers.get(stage, ()))
        linked = self._number_linked(producers)
        tables = replace(_tables_of(program, slots, linked), tick=context.window.tick)
        self.walk = ListState(tables, context.window.start, context.window.tick)

    # -- sources ----------------------------------------------------------------------------

    def _number_sources(self, producers: Sequence[PairProducer]) -> list[int]:
        """Number the sources of the program's own keys, in the order in which they are fed."""
        waiting = [each for each in self.program.sources if each.link is None]
        for producer in producers:
            pairs = _pairs_of(producer, waiting)
            if not pairs:
                continue
            feeding = _Feeding(producer, KeyMap(producer.of_keys, self.keys.of_keys))
            for number, source in pairs:
                feeding.numbers[number] = len(self._numbered)
                self._numbered.append(source)
            self._feedings.append(feeding)
        for source in (each for each in waiting if each.is_input):
            self._inputs.append(_InputSource(len(self._numbered), source))
            self._numbered.append(source)
        return [source.slot for source in self._numbered]

    def _number_linked(self, producers: Mapping[int, Sequence[PairProducer]]) -> list[list[int]]:
        """Number the sources of linked keys; gives the list, link and number of each."""
        linked: list[list[int]] = []
        for kind, (stage, numbers) in enumerate(self._targets.kinds.items()):
            waiting = [each for each in self.program.sources if self._targets.is_of(each, stage)]
            for producer in producers.get(stage, ()):
                pairs = _pairs_of(producer, waiting)
                if not pairs:
                    continue
                key_map = KeyMap(producer.of_keys, numbers)
                feeding = _Feeding(producer, key_map, factor=self._targets.factor, offset=kind)
                for number, source in pairs:
                    if feeding.numbers[number] < 0:
                        feeding.numbers[number] = len(self._numbered_linked)
                        self._numbered_linked.append(source)
                    assert source.link is not None
                    linked.append([source.slot, source.link, int(feeding.numbers[number])])
                self._linked_feedings.append(feeding)
        return linked

    @property
    def input_relations(self) -> list[Relation]:
        """The input fluents that are sources."""
        return list(dict.fromkeys(each.source.relation for each in self._inputs))

    # -- what others ask --------------------------------------------------------------------

    @property
    def definitions(self) -> tuple[Relation, ...]:
        """The relations that it defines."""
        return self.program.definitions

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its keys."""
        return self.keys.of_keys

    def pair_number(self, source: ListSource) -> int | None:
        """The number of the output that a source asks for, if it is one."""
        for number, output in enumerate(self.program.outputs):
            pair = (output.relation, output.arguments, output.value)
            if pair == (source.relation, source.arguments, source.value):
                return number
        return None

    def intervals(self) -> BitIntervals:
        """All intervals that reach the window, by output, key and start."""
        return self.walk.intervals()

    def value_intervals(self) -> ValueIntervals:
        """None: lists have pairs with values that are named."""
        return NO_VALUES

    def signals(self) -> BitPoints:
        """Nothing: lists derive no events."""
        return NO_POINTS

    def fluent_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the fluents that it defines."""
        return list_columns(self.program, self.keys, encoding)

    def output_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of all outputs, including what is seen of the input."""
        return list_columns(self.program, self.keys, encoding, with_input=True)

    def event_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """None: lists derive no events."""
        return []

    def conflicts(self, context: Context) -> int:
        """None: lists have no values that exclude each other."""
        return 0

    # -- queries ----------------------------------------------------------------------------

    def update(self, admitted: Mapping[Relation, Admitted], context: Context) -> LaneChanges:
        """Bring the lists up to the query, from what producers and the input have changed."""
        fed = [feeding.changes() for feeding in self._feedings]
        changes = _stacked([*fed, *self._changed_input(admitted, context)])
        linked = None
        if self._linked_feedings:
            linked = _stacked([feeding.changes() for feeding in self._linked_feedings])
        may_have_left = any(len(each.removed) for each in admitted.values())
        return self._walk(changes, linked, may_have_left, context)

    def _walk(
        self, changes: SourceChanges, linked: SourceChanges | None, may_have_left: bool,
        context: Context,
    ) -> LaneChanges:  # fmt: skip
        changed = self.keys.update_groundings(context, may_have_left)
        changed = changed[changed < self.walk.key_count]
        if len(changed):
            self.walk.set_allowed(changed, self.keys.allowed[changed])
        self._add_keys(context)
        window = context.window
        come, gone = self.walk.update(window.edge, window.query, changes, linked)
        self.latest = LaneChanges(come, gone, NO_POINTS, NO_POINTS, 0, 0, 0, NO_VALUES, NO_VALUES)
        return self.latest

    def _add_keys(self, context: Context) -> None:
        """Tell the walk of keys that are new to it."""
        self.keys.update(context)
        new = np.arange(self.walk.key_count, len(self.keys.allowed))
        if len(new):
            conditions = self.keys.conditions(new, context)
            targets = self._targets.of(new, self.of_keys)
            self.walk.add_keys(self.keys.allowed[new], conditions, targets)

    def _changed_input(
        self, admitted: Mapping[Relation, Admitted], context: Context
    ) -> list[SourceChanges]:
        changes = []
        for number, source in self._inputs:
            records = admitted.get(source.relation)
            if records is not None:
                come, gone = (
                    self._input_intervals(number, source, rows, context)
                    for rows in (records.added, records.removed)
                )
                changes.append(SourceChanges(come, gone))
        return changes

    def input_intervals(
        self, rows_of: Mapping[Relation, StoredRows], context: Context
    ) -> list[BitIntervals]:
        """The intervals of the sources that are input, among rows of their relations."""
        return [
            self._input_intervals(number, source, rows_of[source.relation], context)
            for number, source in self._inputs if source.relation in rows_of
        ]  # fmt: skip

    def _input_intervals(
        self, number: int, source: ListSource, rows: StoredRows, context: Context
    ) -> BitIntervals:
        """The intervals of a source among rows of its relation, by start and end."""
        if not len(rows):
            return NO_INTERVALS
        chosen = matching_rows(source, rows, context)
        starts, ends = (np.ascontiguousarray(each[chosen]) for each in rows.columns[:2])
        arguments = [column[chosen] for column in rows.arguments]
        keys = self.keys.numbers(source.relation, arguments, len(chosen))
        numbers = np.full(len(chosen), number)
        if in_order(starts, ends):
            return BitIntervals(numbers, keys, starts, ends)
        order = np.lexsort((ends, starts))
        return BitIntervals(numbers, keys[order], starts[order], ends[order])

    # -- going on from elsewhere ------------------------------------------------------------

    def older_sources(self, encoding: ValueEncoding) -> dict[Relation, StoredRows]:
        """What is kept of sources that began before the window, by relation: start, end, value."""
        rows: dict[Relation, list[StoredRows]] = {}
        own_intervals, linked = self.walk.older_sources(), self.walk.older_sources(linked=True)
        for number, source in enumerate(self._numbered):
            each = of_number(own_intervals, number)
            columns = self.of_keys.columns(each.keys)
            known = rows_of_source(source, each, columns, encoding)
            rows.setdefault(source.relation, []).append(known)
        for number, source in enumerate(self._numbered_linked):
            each = of_number(linked, number)
            columns = self._targets.columns(source, each.keys)
            known = rows_of_source(source, each, columns, encoding)
            rows.setdefault(source.relation, []).append(known)
        return {relation: stacked(*parts) for relation, parts in rows.items()}

    def begin_from(
        self, reported: BitIntervals, input_rows: Mapping[Relation, StoredRows],
        older: Mapping[Relation, StoredRows], context: Context,
    ) -> None:  # fmt: skip
        """Go on from what was reported, with all that producers and the input have.

        `older` are intervals of sources that began before the window. Those that go on in it are
        known to their producers.
        """
        taken = [feeding.taken(feeding.producer.intervals()) for feeding in self._feedings]
        taken += self.input_intervals(input_rows, context)
        for number, source in enumerate(self._numbered):
            taken.append(older_intervals(source, number, older, self.of_keys.enter, context))
        linked = None
        if self._linked_feedings:
            parts = [feed.taken(feed.producer.intervals()) for feed in self._linked_feedings]
            for number, source in enumerate(self._numbered_linked):
                numbers = self._targets.numbers(source)
                parts.append(older_intervals(source, number, older, numbers, context))
            linked = SourceChanges(sorted_intervals(parts))
        self._add_keys(context)
        self.walk.assume_reported(reported)
        changes = SourceChanges(sorted_intervals(taken))
        if self._are_handed:
            self.walk.assume_sources(context.window.edge, context.window.query, changes, linked)
        else:
            self._walk(changes, linked, False, context)


def _pairs_of(
    producer: PairProducer, sources: Sequence[ListSource]
) -> list[tuple[int, ListSource]]:
    """The sources that a producer gives, in the order of its pairs."""
    pairs = [(producer.pair_number(source), source) for source in sources if not source.is_input]
    known = [(number, source) for number, source in pairs if number is not None]
    return sorted(known, key=lambda pair: pair[0])


def _stacked(changes: Sequence[SourceChanges]) -> SourceChanges:
    """Changes of several producers, one below the other."""
    parts = [each for each in changes if len(each.come.bits) or len(each.gone.bits)]
    if len(parts) < 2:
        return parts[0] if parts else SourceChanges()
    come, gone = (
        BitIntervals(*map(np.concatenate, zip(*each, strict=True)))
        for each in ([part.come for part in parts], [part.gone for part in parts])
    )
    return SourceChanges(come, gone)


class _LinkTargets:
    """The keys that the keys of a program are linked to: one kind of keys for each stage."""

    def __init__(self, program: ListProgram, context: Context) -> None:
        self._links = program.links
        self.kinds: dict[int, KeyNumbers] = {}
        for source in program.sources:
            if source.link is not None:
                stage = program.links[source.link].stage
                assert stage is not None
                domains = context.encoding.arguments(source.relation)
                keys = [domains[place] for place in source.positions]
                self.kinds.setdefault(stage, KeyNumbers(keys))

    @property
    def factor(self) -> int:
        """How many kinds there are."""
        return len(self.kinds)

    def is_of(self, source: ListSource, stage: int) -> bool:
        """Is a source one of the keys of a stage?"""
        return source.link is not None and self._links[source.link].stage == stage

    def _kind_of(self, source: ListSource) -> int:
        assert source.link is not None
        stage = self._links[source.link].stage
        assert stage is not None
        return stage

    def columns(self, source: ListSource, targets: Integers) -> list[Array]:
        """The values of linked keys of a source, by their numbers among all linked keys."""
        return self.kinds[self._kind_of(source)].columns(targets // self.factor)

    def numbers(self, source: ListSource) -> Callable[[list[Array], int], Integers]:
        """From the values of keys of a source to their numbers among all linked keys."""
        stage = self._kind_of(source)
        kind, offset = self.kinds[stage], list(self.kinds).index(stage)
        return lambda columns, count: kind.enter(columns, count) * self.factor + offset

    def of(self, numbers: Integers, keys: KeyNumbers) -> Matrix:
        """The numbers of the linked keys, by key and link."""
        targets = np.empty((len(numbers), len(self._links)), np.int64)
        columns, kinds = keys.columns(numbers), list(self.kinds)
        for place, link in enumerate(self._links):
            assert link.stage is not None
            values = [columns[position] for position in link.positions]
            entered = self.kinds[link.stage].enter(values, len(numbers))
            targets[:, place] = entered * self.factor + kinds.index(link.stage)
        return targets


def _tables_of(program: ListProgram, slots: list[int], linked: list[list[int]]) -> ListTables:
    rows = [(int(row.op), row.to, row.source, row.other, row.parameter) for row in program.rows]
    return ListTables(
        np.array(rows, np.int64).reshape(-1, 5), program.slots, np.array(slots, np.int64),
        np.array([output.slot for output in program.outputs], np.int64),
        np.array(linked, np.int64).reshape(-1, 3), len(program.links), len(program.conditions),
        bool(program.members),
    )  # fmt: skip
