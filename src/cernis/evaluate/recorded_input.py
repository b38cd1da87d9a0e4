"""The records of a run, all known from the beginning: a window is a part of each relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import Admitted, Encoding
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.records.encoded_input import EncodedInput, InputEvents, InputFluent
from cernis.tables.event_tables import EventTable, by_entity
from cernis.tables.interval_tables import Piece

_NONE = np.empty(0, np.int64)


class RecordedInput:
    """Records in the order of time, of which each query sees those that have arrived by then."""

    def __init__(
        self, tick: int, in_order_of_time: frozenset[Relation], followed: Iterable[Relation]
    ) -> None:
        self._tick = tick
        self._in_order_of_time = in_order_of_time
        self._followed = frozenset(followed)
        """The relations whose changes are given to each query."""
        self._input = EncodedInput({}, {}, {}, tick)
        self._last: int | None = None
        self._seen_tables: dict[Relation, EventTable] = {}
        self._forget_progress()

    def _forget_progress(self) -> None:
        """Let the next query be the first."""
        self._is_known: dict[Relation, Booleans] = {}
        self._on_time: dict[Relation, bool] = {}
        self._next_row: dict[Relation, int] = {}

    def use_records(self, records: EncodedInput, last: int | None = None) -> None:
        """Use these records from now on; a query, the `last` one, has seen some of them before."""
        self._input, self._last = records, last
        self._forget_progress()

    def forget(self, window: Window) -> None:
        """Do nothing: all records stay, and each query sees those of its window."""

    def admit(self, window: Window, start: int) -> Mapping[Relation, Admitted]:
        """The changes of the relations that are followed.

        An evaluator from scratch reads all records of its window, so others need no changes.
        """
        changes: dict[Relation, Admitted] = {}
        for relation in self._followed:
            records = self._input.events.get(relation) or self._input.fluents.get(relation)
            if records is not None:
                changes[relation] = self._changes_of(relation, records, window)
        return changes

    def _changes_of(
        self, relation: Relation, records: InputEvents | InputFluent, window: Window
    ) -> Admitted:
        """The records that a query is the first to see, and those that were retracted."""
        rows = _rows_of(records)
        if self._is_on_time(relation, records):
            return Admitted(self._next_rows(relation, rows, window), rows.take(_NONE), _NONE, _NONE)
        is_known = self._is_known.get(relation)
        if is_known is None:
            is_known = self._seen_before(records, rows.columns[0])
        removed = _NONE
        if records.gone is not None:
            # A retraction of what the window has passed is too late, and takes nothing back.
            is_within = _last_points(records, self._tick) > window.forgotten
            removed = np.flatnonzero(is_known & is_within & (records.gone <= window.query))
            is_known[removed] = False
        added = self._visible_rows(records, window)
        added = added[~is_known[added]]
        is_known[added] = True
        self._is_known[relation] = is_known
        return Admitted(_rows_at(rows, added), rows.take(removed), _NONE, _NONE)

    def _seen_before(self, records: InputEvents | InputFluent, firsts: Integers) -> Booleans:
        """Which records the last query has seen before they were given here."""
        if self._last is None:
            return np.zeros(len(firsts), np.bool_)
        is_known = (firsts <= self._last) & (records.arrivals <= self._last)
        return is_known if records.gone is None else is_known & (records.gone > self._last)

    def _is_on_time(self, relation: Relation, records: InputEvents | InputFluent) -> bool:
        """Are these events that all arrive when they happen, and of which none is retracted?"""
        if relation not in self._on_time:
            self._on_time[relation] = (
                isinstance(records, InputEvents)
                and records.gone is None
                and bool((records.arrivals <= records.times).all())
            )
        return self._on_time[relation]

    def _next_rows(self, relation: Relation, rows: StoredRows, window: Window) -> StoredRows:
        """The events after those of the last query, up to this one, that are not forgotten."""
        times = rows.columns[0]
        first = self._next_row.get(relation)
        if first is None:
            first = 0 if self._last is None else int(np.searchsorted(times, self._last, "right"))
        first = max(first, int(np.searchsorted(times, window.forgotten, "right")))
        after = max(first, int(np.searchsorted(times, window.query, "right")))
        self._next_row[relation] = after
        return _slice(rows, first, after)

    def _visible_rows(self, records: InputEvents | InputFluent, window: Window) -> Integers:
        """The records that a query sees."""
        low, times = 0, records.starts if isinstance(records, InputFluent) else records.times
        if isinstance(records, InputEvents):
            low = int(np.searchsorted(times, window.forgotten, "right"))
        high = int(np.searchsorted(times, window.query, "right"))
        seen = records.arrivals[low:high] <= window.query
        if isinstance(records, InputFluent):
            seen &= records.ends[:high] > window.forgotten + self._tick
        if records.gone is not None:
            seen &= records.gone[low:high] > window.query
        return low + np.flatnonzero(seen)

    def encoding(self, relation: Relation) -> Encoding:
        """The domains of a relation's arguments and of its value."""
        if relation in self._input.events:
            return self._input.events[relation].domains, None
        fluent = self._input.fluents[relation]
        return fluent.domains, fluent.value_domain

    @property
    def events(self) -> Iterable[Relation]:
        """The events of which there are records."""
        return self._input.events

    @property
    def fluents(self) -> Iterable[Relation]:
        """The input fluents of which there are records."""
        return self._input.fluents

    def happenings(self, relation: Relation, window: Window) -> EventTable:
        """The happenings of an event that a query sees."""
        events = self._input.events[relation]
        low = int(np.searchsorted(events.times, window.forgotten, "right"))
        high = int(np.searchsorted(events.times, window.query, "right"))
        times = events.times[low:high]
        arguments = [column[low:high] for column in events.arguments]
        hidden = events.arrivals[low:high] > window.query
        if events.gone is not None:
            hidden |= events.gone[low:high] <= window.query
        if hidden.any():
            arguments = [column[~hidden] for column in arguments]
            times = times[~hidden]
        table = (
            EventTable(arguments, events.domains, times) if relation in self._in_order_of_time
            else by_entity(arguments, events.domains, times)
        )  # fmt: skip
        self._seen_tables[relation] = table
        return table

    def happenings_up_to(self, relation: Relation, edge: int) -> EventTable | None:
        """The happenings up to an edge that the last query has seen."""
        table = self._seen_tables.get(relation)
        return None if table is None else table.take(np.flatnonzero(table.times <= edge))

    def intervals(self, relation: Relation, window: Window) -> Piece:
        """The intervals of an input fluent that a query sees, without their forgotten parts."""
        fluent = self._input.fluents[relation]
        bound = window.forgotten + self._tick
        high = int(np.searchsorted(fluent.starts, window.query, "right"))
        seen = (fluent.ends[:high] > bound) & (fluent.arrivals[:high] <= window.query)
        if fluent.gone is not None:
            seen &= fluent.gone[:high] > window.query
        chosen = np.flatnonzero(seen)
        return (
            [column[chosen] for column in fluent.arguments], fluent.values[chosen],
            np.maximum(fluent.starts[chosen], bound), fluent.ends[chosen],
        )  # fmt: skip

    def fluent_records(self, relation: Relation, window: Window) -> StoredRows:
        """The records of an input fluent that a query sees, as they are: start, end, value."""
        fluent = self._input.fluents[relation]
        return _rows_of(fluent).take(self._visible_rows(fluent, window))

    def open_at_query(self, relation: Relation, window: Window) -> list[Array] | None:
        """The arguments and values of which a record says that they hold at the query itself.

        They may go on after the query. None says that no record is about a single point.
        """
        fluent = self._input.fluents[relation]
        if not fluent.from_points:
            return None
        low, high = (
            int(np.searchsorted(fluent.starts, window.query, side)) for side in ("left", "right")
        )
        seen = fluent.arrivals[low:high] <= window.query
        if fluent.gone is not None:
            seen &= fluent.gone[low:high] > window.query
        if fluent.at_points is not None:
            seen &= fluent.at_points[low:high]
        rows = low + np.flatnonzero(seen)
        return [column[rows] for column in (*fluent.arguments, fluent.values)]

    def uncertain_events(self, relation: Relation, window: Window) -> InputEvents:
        """The records of an event that a query sees, in the order of time, with probabilities."""
        events = self._input.events[relation]
        assert events.chances is not None
        seen = self._visible_rows(events, window)
        return InputEvents(
            [column[seen] for column in events.arguments], events.domains, events.times[seen],
            events.arrivals[seen], chances=events.chances[seen],
        )  # fmt: skip

    def uncertain_fluent(self, relation: Relation, window: Window) -> InputFluent:
        """The records of an input fluent that a query sees, without their forgotten parts."""
        fluent = self._input.fluents[relation]
        assert fluent.chances is not None
        seen = self._visible_rows(fluent, window)
        starts = np.maximum(fluent.starts[seen], window.forgotten + self._tick)
        return InputFluent(
            [column[seen] for column in fluent.arguments], fluent.values[seen], fluent.domains,
            fluent.value_domain, starts, fluent.ends[seen], fluent.arrivals[seen],
            fluent.from_points, chances=fluent.chances[seen],
        )  # fmt: skip


def _rows_at(rows: StoredRows, places: Integers) -> StoredRows:
    """The rows at some places, which ascend; where these are adjacent, nothing is copied."""
    if not len(places) or places[-1] - places[0] + 1 != len(places):
        return rows.take(places)
    return _slice(rows, int(places[0]), int(places[-1]) + 1)


def _slice(rows: StoredRows, first: int, after: int) -> StoredRows:
    """The rows from one place up to another, without a copy."""
    arguments = [column[first:after] for column in rows.arguments]
    return StoredRows(arguments, [column[first:after] for column in rows.columns])


def _last_points(records: InputEvents | InputFluent, tick: int) -> Integers:
    """The last point that each record is about."""
    return records.times if isinstance(records, InputEvents) else records.ends - tick


def _rows_of(records: InputEvents | InputFluent) -> StoredRows:
    if isinstance(records, InputEvents):
        return StoredRows(records.arguments, [records.times])
    return StoredRows(records.arguments, [records.starts, records.ends, records.values])
