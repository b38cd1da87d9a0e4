"""The records of a run, all known from the beginning: a window is a part of each relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.stores import Rows
from cernis.evaluate.query_loop import Admitted, Encoding
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.operators.intervals.pieces import Piece
from cernis.records.encoded_input import EncodedInput, InputEvents, InputFluent
from cernis.tables.event_tables import EventTable, by_entity

_NONE = np.empty(0, np.int64)


class RecordedInput:
    """Records in the order of time, of which each query sees those that have arrived by then."""

    def __init__(self, tick: int, in_time: frozenset[Relation], naming: Iterable[Relation]) -> None:
        self._tick = tick
        self._in_time = in_time
        self._naming = frozenset(naming)
        self._given = EncodedInput({}, {}, {}, tick)
        self._happened: dict[Relation, EventTable] = {}
        self._named: dict[Relation, Array] = {}

    def take(self, given: EncodedInput) -> None:
        """Let these be the records from now on."""
        self._given = given
        self._named = {}

    @property
    def whole(self) -> EncodedInput:
        """All records, whatever the window."""
        return self._given

    def forget(self, window: Window) -> None:
        """Nothing is to be done: a window shows what it does not forget."""

    def admit(self, window: Window, start: int) -> Mapping[Relation, Admitted]:
        """What came and went of the relations that name members of growing domains."""
        found: dict[Relation, Admitted] = {}
        for relation in self._naming:
            records = self._given.events.get(relation) or self._given.fluents.get(relation)
            if records is not None:
                found[relation] = self._news(relation, records, window)
        return found

    def _news(
        self, relation: Relation, records: InputEvents | InputFluent, window: Window
    ) -> Admitted:
        rows, come = _rows_of(records), self._seen(records, window)
        if records.gone is None:
            # Where none is taken back, it does no harm to count one as often as it is seen.
            return Admitted(_at(rows, come), rows.take(_NONE), _NONE, _NONE)
        named = self._named.get(relation, np.zeros(len(records.arrivals), np.bool_))
        gone = np.flatnonzero(named & (records.gone <= window.query))
        named[gone] = False
        come = come[~named[come]]
        named[come] = True
        self._named[relation] = named
        return Admitted(_at(rows, come), rows.take(gone), _NONE, _NONE)

    def _seen(self, records: InputEvents | InputFluent, window: Window) -> Integers:
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
        """How the arguments of a relation are encoded, and its value."""
        if relation in self._given.events:
            return self._given.events[relation].domains, None
        fluent = self._given.fluents[relation]
        return fluent.domains, fluent.value_domain

    @property
    def events(self) -> Iterable[Relation]:
        """The events of which there are records."""
        return self._given.events

    @property
    def fluents(self) -> Iterable[Relation]:
        """The input fluents of which there are records."""
        return self._given.fluents

    def happenings(self, relation: Relation, window: Window) -> EventTable:
        """What a query sees of an event."""
        events = self._given.events[relation]
        low = int(np.searchsorted(events.times, window.forgotten, "right"))
        high = int(np.searchsorted(events.times, window.query, "right"))
        times = events.times[low:high]
        arguments = [column[low:high] for column in events.arguments]
        late = events.arrivals[low:high] > window.query
        if events.gone is not None:
            late |= events.gone[low:high] <= window.query
        if late.any():
            arguments = [column[~late] for column in arguments]
            times = times[~late]
        table = (
            EventTable(arguments, events.domains, times) if relation in self._in_time
            else by_entity(arguments, events.domains, times)
        )  # fmt: skip
        self._happened[relation] = table
        return table

    def passed(self, relation: Relation, edge: int) -> EventTable | None:
        """The happenings up to an edge that the last query has seen."""
        table = self._happened.get(relation)
        return None if table is None else table.take(np.flatnonzero(table.times <= edge))

    def intervals(self, relation: Relation, window: Window) -> Piece:
        """What a query sees of an input fluent."""
        fluent = self._given.fluents[relation]
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

    def open_at_query(self, relation: Relation, window: Window) -> list[Array] | None:
        """Arguments and values that a record is about at the query: they may go on after it."""
        fluent = self._given.fluents[relation]
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


def _at(rows: Rows, places: Integers) -> Rows:
    """The rows at some places, in order; without a copy where these lie side by side."""
    if not len(places) or places[-1] - places[0] + 1 != len(places):
        return rows.take(places)
    first, after = int(places[0]), int(places[-1]) + 1
    return Rows([c[first:after] for c in rows.arguments], [c[first:after] for c in rows.columns])


def _rows_of(records: InputEvents | InputFluent) -> Rows:
    if isinstance(records, InputEvents):
        return Rows(records.arguments, [records.times])
    return Rows(records.arguments, [records.starts, records.ends, records.values])
