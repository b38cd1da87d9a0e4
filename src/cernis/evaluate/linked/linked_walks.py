"""A linked program over the instances that records name: changes of its pairs come out by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cernis.check.model import Relation
from cernis.evaluate.linked.linked_intake import (
    LinkedIntake,
    SignedInstances,
    TupleNumbers,
)
from cernis.evaluate.linked.linked_rows import ToldRows
from cernis.evaluate.linked.linked_state import LinkedChanges, LinkedState
from cernis.evaluate.query_loop import Admitted
from cernis.evaluate.sweep.bit_columns import BitColumns, event_columns, fluent_columns
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.keyed_lane import tables_of
from cernis.evaluate.sweep.lane_state import (
    NO_VALUES,
    BitIntervals,
    BitPoints,
    LaneChanges,
    ValueIntervals,
)
from cernis.evaluate.sweep.register_values import RegisterValues
from cernis.kernels.array_types import Matrix, Words
from cernis.kernels.linked.linked_tables import KindTables, chained
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.linked.linked_plans import InstanceKind, LinkedProgram
from cernis.plan.sweep.lanes import Lane

_CODES = 64
"""So many codes does a kind have."""


class LinkedWalk:
    """The walk of a linked program, for instances that are tuples of values."""

    def __init__(self, program: LinkedProgram, context: Context, start: int | None = None) -> None:
        """Begin at the start of the run, or later if what holds there is given to the walk."""
        self.program = program
        memo = context.background.memo
        self.intake: LinkedIntake = memo.once(
            ("linked intake", context.window.ties), program, lambda: LinkedIntake(program, context)
        )
        self.intake.begin()
        start = context.window.start if start is None else start
        kinds = chained([kind_tables(kind, context) for kind in program.kinds])
        self.state = LinkedState(kinds, start)
        self.latest: LinkedChanges | None = None
        """What the last query has changed."""

    def update(self, admitted: Mapping[Relation, Admitted], context: Context) -> None:
        """Take note of what came and went, and walk up to the query."""
        signed = list(self._signed(admitted, context))
        self._add_instances(context)
        for number, rows, is_gone in signed:
            self.state.change(number, *rows, gone=is_gone)
        self._update_groundings(context, any(len(each.removed) for each in admitted.values()))
        self.latest = self.state.update(context.window.edge, context.window.query)

    def kinds(self) -> list[WalkedKind]:
        """Its kinds, each with the surface of a lane."""
        return [WalkedKind(self, number) for number in range(len(self.program.kinds))]

    def _signed(
        self, admitted: Mapping[Relation, Admitted], context: Context
    ) -> Iterator[tuple[int, SignedInstances, bool]]:
        """The records that came and went, by kind, and whether they went."""
        for number, kind in enumerate(self.program.kinds):
            for name, event in kind.records:
                records = admitted.get(event)
                if records is None:
                    continue
                for rows, is_gone in ((records.added, False), (records.removed, True)):
                    if len(rows):
                        signed = self.intake.signed(number, name, rows, context)
                        yield number, signed, is_gone

    def _add_instances(self, context: Context) -> None:
        """Tell the walk of instances that are new: those that others are linked to come first."""
        self.intake.number_links(context)
        for number in reversed(range(len(self.program.kinds))):
            keys, known = self.intake.keys[number], self.state.count(number)
            if known < len(keys.first_words):
                self.state.add(
                    number, keys.first_words[known:], keys.allowed[known:],
                    self.intake.links[number][known:],
                )  # fmt: skip

    def _update_groundings(self, context: Context, may_have_left: bool) -> None:
        for number, keys in enumerate(self.intake.keys):
            changed = keys.update_groundings(context, may_have_left)
            if len(changed):
                self.state.set_allowed(number, changed, keys.allowed[changed])


class WalkedKind:
    """One kind of instances of a linked walk, with the surface of a lane."""

    def __init__(self, linked: LinkedWalk, number: int) -> None:
        self.lane: Lane = linked.program.kinds[number].lane
        self.keys: TupleNumbers = linked.intake.keys[number]
        self.number = number
        self.latest: LaneChanges | None = None
        """What the last query has changed."""
        self.registers: RegisterValues | None = None
        """Linked instances have none."""
        self._linked = linked

    @property
    def walk(self) -> WalkedKind:
        """What is asked for intervals, signals and arms: the kind itself."""
        return self

    def update(self, admitted: Mapping[Relation, Admitted], context: Context) -> LaneChanges:
        """What the query has changed; the walk as a whole has been brought up to it before."""
        changes = self._linked.latest
        assert changes is not None
        self.latest = LaneChanges(
            self._intervals(changes.come), self._intervals(changes.gone),
            self._points(changes.signals_come), self._points(changes.signals_gone), 0, 0, 0,
            NO_VALUES, NO_VALUES,
        )  # fmt: skip
        return self.latest

    @property
    def definitions(self) -> tuple[Relation, ...]:
        """The relations that it defines."""
        return self.lane.definitions

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its instances."""
        return self.keys.of_keys

    def fluent_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the fluents that it defines."""
        return fluent_columns(self.lane, self.keys, encoding)

    def event_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the events that it derives."""
        return event_columns(self.lane, self.keys, encoding)

    def value_intervals(self) -> ValueIntervals:
        """None: all values have bits."""
        return NO_VALUES

    def add_keys(
        self, words: Words, allowed: Words, since: Matrix, arms: Matrix,
        registers: Matrix | None = None,
    ) -> None:  # fmt: skip
        """Add all instances, with what held at the edge: since when by state bit, arms by delay."""
        assert registers is None
        state, links = self._linked.state, self._linked.intake.links[self.number]
        state.add(self.number, words, allowed, links, since, arms)

    def conflicts(self, context: Context) -> int:
        """How many conflicts there are in the window; the first kind counts those of all."""
        conflicts = self._linked.state.conflicts() if self.number == 0 else 0
        if context.window.edge == context.window.start:
            conflicts += int(self.keys.first_conflicts.sum())
        return conflicts

    def intervals(self) -> BitIntervals:
        """All intervals that reach the window, by bit, key and start."""
        return self._intervals(self._linked.state.intervals())

    def signals(self) -> BitPoints:
        """All points of reported signals in the window, by bit, key and time."""
        return self._points(self._linked.state.signals())

    def arms(self) -> BitIntervals:
        """When delays were under way in the window; `bits` are the numbers of delays."""
        return self._intervals(self._linked.state.arms())

    def _intervals(self, rows: ToldRows) -> BitIntervals:
        first = _CODES * self.number
        codes, *columns = rows.coded(first, first + _CODES)
        return BitIntervals(codes - first, *columns)

    def _points(self, rows: ToldRows) -> BitPoints:
        first = _CODES * (self.number + len(self._linked.program.kinds))
        codes, numbers, times, _ = rows.coded(first, first + _CODES)
        return BitPoints(codes - first, numbers, times)


def kind_tables(kind: InstanceKind, context: Context) -> KindTables:
    """A kind of instances as arrays."""
    return KindTables(
        tables_of(kind.lane, context, None),
        tuple(link.target for link in kind.links),
        tuple((read.link, read.source, read.bit) for read in kind.reads),
        tuple((signal.fired, signal.link, signal.target) for signal in kind.signals),
        bool(kind.lane.groundings), kind.late,
    )  # fmt: skip
