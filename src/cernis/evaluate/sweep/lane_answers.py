"""What a lane has found, as tables: intervals of its pairs, and points of its derived events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import RelationChange
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.bit_columns import BitColumns
from cernis.evaluate.sweep.lane_state import (
    NO_INTERVALS,
    NO_VALUES,
    BitIntervals,
    BitPoints,
    LaneChanges,
    ValueIntervals,
)
from cernis.evaluate.sweep.register_values import RegisterValues
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.order import order_by, stable_order
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.sweep.lanes import MOST_BITS
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable


class WalkedPart(Protocol):
    """A lane or a program over lists, and the columns of the relations that it defines."""

    registers: RegisterValues | None
    """The open values that it has."""

    def fluent_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the fluents that it defines."""

    def event_columns(self, encoding: ValueEncoding) -> list[BitColumns]:
        """The columns of the events that it derives."""


class LaneAnswers:
    """What a lane or a program over lists has found, in tables of relations.

    Also all of it since the beginning, where that is kept.
    """

    def __init__(self, walked: WalkedPart, encoding: ValueEncoding) -> None:
        self.encoding, self._registers = encoding, walked.registers
        self._fluents = walked.fluent_columns(encoding)
        self._events = walked.event_columns(encoding)
        self._history: list[LaneChanges] = []
        self._no_rows: dict[Relation, StoredRows] = {}
        self._latest: tuple[BitIntervals, dict[Relation, FluentTable]] | None = None

    @property
    def has_events(self) -> bool:
        """Are there events among what is defined?"""
        return bool(self._events)

    # -- all that was found -----------------------------------------------------------------

    def keep(self, changes: LaneChanges) -> None:
        """Keep what a query has changed, so that all can be asked for."""
        self._history.append(changes)

    def all_intervals(self) -> BitIntervals:
        """All intervals: what came and did not go again, sorted by bit, key and start."""
        if len(self._history) == 1:
            return self._history[0].come
        come = [changes.come for changes in self._history]
        return BitIntervals(*left_over(come, [changes.gone for changes in self._history]))

    def all_values(self) -> ValueIntervals:
        """The intervals of values that no bit stands for, of all that was found."""
        if len(self._history) == 1:
            return self._history[0].values_come
        come = [changes.values_come for changes in self._history]
        return ValueIntervals(*left_over(come, [changes.values_gone for changes in self._history]))

    def all_points(self) -> BitPoints:
        """All points of derived events, sorted by bit, key and time."""
        if len(self._history) == 1:
            return self._history[0].signals_come
        come = [changes.signals_come for changes in self._history]
        return BitPoints(*left_over(come, [changes.signals_gone for changes in self._history]))

    # -- as tables --------------------------------------------------------------------------

    def fluents(
        self, intervals: BitIntervals, values: ValueIntervals = NO_VALUES,
        wanted: Collection[Relation] | None = None,
    ) -> Iterator[tuple[Relation, FluentTable]]:  # fmt: skip
        """Sorted intervals as the tables of all fluents, or of those that are wanted.

        Those of open bits have values. Tables of the intervals that were asked for last are at
        hand.
        """
        if self._latest is None or self._latest[0] is not intervals:
            self._latest = (intervals, {})
        tables = self._latest[1]
        for columns in self._fluents:
            relation = columns.relation
            if wanted is None or relation in wanted:
                if relation not in tables:
                    tables[relation] = self._table(columns, intervals, values)
                yield relation, tables[relation]

    def _table(
        self, columns: BitColumns, intervals: BitIntervals, values: ValueIntervals
    ) -> FluentTable:
        if columns.open_bits:
            return self._open_table(columns, intervals, values)
        return _fluent_table(columns, intervals)

    def _open_table(
        self, columns: BitColumns, intervals: BitIntervals, values: ValueIntervals
    ) -> FluentTable:
        """The table of a fluent that takes any value: intervals by instance and value."""
        bits, keys, starts, ends, held = self._with_values(columns, intervals, values)
        domain = columns.value_domain
        coded, size = (held, len(domain)) if domain is not None else _numbered(held)
        # Those of a bit and a key are in order already.
        key_count = int(keys.max(initial=0)) + 1
        order = stable_order((bits * key_count + keys) * size + coded, MOST_BITS * key_count * size)
        bits, keys, starts, ends, held, coded = (
            column[order] for column in (bits, keys, starts, ends, held, coded)
        )
        first = _beginnings([bits, keys, coded])
        return FluentTable(
            columns.arguments(bits[first], keys[first]), held[first], columns.domains,
            columns.value_domain, np.append(first, len(bits)).astype(np.int64), starts, ends,
        )  # fmt: skip

    def _with_values(
        self, columns: BitColumns, intervals: BitIntervals, values: ValueIntervals
    ) -> list[Array]:
        """Bits, keys, starts, ends and values of all intervals of a fluent that takes any value."""
        assert self._registers is not None
        named, others = _about(columns, intervals), _about(columns, values)
        if not len(others[0]):
            return [*named, columns.values(named[0])]
        open_values = self._registers.values(columns.relation, others[4])
        if not len(named[0]):
            return [*others[:4], open_values]
        both = [np.concatenate(parts) for parts in zip(named, others[:4], strict=True)]
        return [*both, np.concatenate([columns.values(named[0]), open_values])]

    def events(self, points: BitPoints) -> Iterator[tuple[Relation, EventTable]]:
        """Points as the tables of events."""
        for columns in self._events:
            rows = _event_rows(columns, points)
            yield columns.relation, EventTable(rows.arguments, columns.domains, rows.columns[0])

    def fluent_rows(
        self, intervals: BitIntervals, values: ValueIntervals = NO_VALUES
    ) -> Iterator[tuple[Relation, StoredRows]]:
        """Intervals as rows of fluents: start, end and value."""
        for columns in self._fluents:
            yield columns.relation, self._rows(columns, intervals, values)

    def _none(self, columns: BitColumns) -> StoredRows:
        """No rows of a fluent."""
        if columns.relation not in self._no_rows:
            self._no_rows[columns.relation] = self._rows(columns, NO_INTERVALS, NO_VALUES)
        return self._no_rows[columns.relation]

    def _rows(
        self, columns: BitColumns, intervals: BitIntervals, values: ValueIntervals
    ) -> StoredRows:
        if not columns.open_bits:
            return fluent_rows_of(columns, intervals)
        bits, keys, starts, ends, held = self._with_values(columns, intervals, values)
        return StoredRows(columns.arguments(bits, keys), [starts, ends, held])

    def event_rows(self, points: BitPoints) -> Iterator[tuple[Relation, StoredRows]]:
        """Points as rows of events."""
        for columns in self._events:
            yield columns.relation, _event_rows(columns, points)

    def attempt_rows(self, attempts: BitIntervals) -> Iterator[tuple[Relation, StoredRows]]:
        """Initiations of pairs, and until when their delayed effects are to come, by fluent."""
        for columns in self._fluents:
            bits, keys, times, ends = _about(columns, attempts)
            if len(bits):
                values = columns.values(bits)
                if columns.value_domain is None:
                    domain = self.encoding.domains.value_domain(columns.relation)
                    values = domain.encode_numbers(values)
                arguments = columns.arguments(bits, keys)
                yield columns.relation, StoredRows(arguments, [times, values, ends])

    def changes(self, changes: LaneChanges) -> Iterator[tuple[Relation, RelationChange]]:
        """The changes of a query, by relation, of those that have any."""
        gone = _bits_in(changes.gone.bits, changes.values_gone.bits)
        come = _bits_in(changes.come.bits, changes.values_come.bits)
        for columns in self._fluents:
            if columns.mask & (gone | come):
                removed, added = self._none(columns), self._none(columns)
                if columns.mask & gone:
                    removed = self._rows(columns, changes.gone, changes.values_gone)
                if columns.mask & come:
                    added = self._rows(columns, changes.come, changes.values_come)
                yield columns.relation, RelationChange(removed, added)
        signals = _bits_in(changes.signals_gone.bits, changes.signals_come.bits)
        for columns in self._events:
            if columns.mask & signals:
                removed, added = (
                    _event_rows(columns, each)
                    for each in (changes.signals_gone, changes.signals_come)
                )
                yield columns.relation, RelationChange(removed, added)


def _bits_in(one: Integers, other: Integers) -> int:
    """The bits that some rows are of, as one number."""
    return _word_of(one) | _word_of(other)


def _word_of(bits: Integers) -> int:
    return int(np.bitwise_or.reduce(np.uint64(1) << bits.astype(np.uint64)))


def left_over(
    come: Sequence[Sequence[Integers]], gone: Sequence[Sequence[Integers]]
) -> list[Integers]:
    """The rows that came and did not go again, as sorted columns: bit, key, time, and others.

    Both are in the order of queries. After each query at most one row has some bit, key and time:
    the last that came, unless it has gone.
    """
    columns = [np.concatenate(parts) for parts in zip(*come, *gone, strict=True)]
    bits, keys, times = columns[:3]
    order = order_by((bits << 32) | keys, times)
    first = _beginnings([bits[order], keys[order], times[order]])
    if not len(first):
        return columns
    has_come = order < sum(len(rows[0]) for rows in come)
    is_left = np.add.reduceat(np.where(has_come, 1, -1), first) > 0
    last = np.maximum.reduceat(np.where(has_come, order, -1), first)[is_left]
    return [column[last] for column in columns]


def _beginnings(columns: Sequence[Integers]) -> Integers:
    """Where equal rows begin, in sorted ones."""
    is_first = np.ones(len(columns[0]), np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(is_first)


def _fluent_table(columns: BitColumns, intervals: BitIntervals) -> FluentTable:
    bits, keys, starts, ends = _about(columns, intervals)
    first = _beginnings([bits, keys])
    offsets = np.append(first, len(bits)).astype(np.int64)
    bits = bits[first]
    rows, arguments = columns.instances(bits, keys[first])
    if not isinstance(rows, slice):
        places, offsets = _repeated(offsets, rows)
        bits, starts, ends = bits[rows], starts[places], ends[places]
    return FluentTable(
        arguments, columns.values(bits), columns.domains, columns.value_domain, offsets, starts,
        ends,
    )  # fmt: skip


def _repeated(offsets: Integers, groups: Integers) -> tuple[Integers, Integers]:
    """The places of the rows of some groups, one group after the other; and where each begins."""
    counts = (offsets[1:] - offsets[:-1])[groups]
    stops = np.cumsum(counts)
    places = np.arange(int(counts.sum())) + np.repeat(offsets[groups] - (stops - counts), counts)
    return places, np.append(0, stops).astype(np.int64)


def fluent_rows_of(columns: BitColumns, intervals: BitIntervals) -> StoredRows:
    """Those of some intervals that are about a fluent, as rows: start, end and value."""
    bits, keys, starts, ends = _about(columns, intervals)
    rows, arguments = columns.instances(bits, keys)
    return StoredRows(arguments, [starts[rows], ends[rows], columns.values(bits[rows])])


def _event_rows(columns: BitColumns, points: BitPoints) -> StoredRows:
    bits, keys, times = _about(columns, points)
    return StoredRows(columns.arguments(bits, keys), [times])


def _numbered(values: Array) -> tuple[Integers, int]:
    """Equal numbers for equal values, and how many there are."""
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers.ravel(), len(distinct)


def _about(columns: BitColumns, rows: BitIntervals | BitPoints | ValueIntervals) -> list[Integers]:
    """The rows that are about a relation."""
    chosen = columns.rows_among(rows.bits)
    return [column[chosen] for column in rows]
