"""Working memory: the records of a session that lie in its window, or wait for their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import Admitted, Encoding
from cernis.evaluate.record_ids import RecordsById, SortedRecords
from cernis.evaluate.stores import Places, Store, StoredRows, event_table, stacked
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.records.encoded_input import InputEvents, InputFluent, encoded
from cernis.records.gathering import NO_RECORD
from cernis.records.record_columns import (
    FUTURE,
    INFINITE,
    TOO_LATE,
    RecordColumns,
    RecordForm,
    RecordKind,
    Records,
    SetAside,
    one_below_the_other,
)
from cernis.records.retractions import resolve
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import Piece

AFTER_ALL: Final = 1 << 62
"""Retractions whose places have this bit are sorted after all other records of a query."""

_NONE = np.empty(0, np.int64)
_NOWHERE: Final[Places] = np.empty(0, np.int64), np.empty(0, np.int64)
_LISTED: Final = 1000
"""At most this many of the records that were not used are listed."""


@dataclass(slots=True)
class Counts:
    """What became of the records so far."""

    records: int = 0
    used: int = 0
    outside: int = 0
    duplicated: dict[str, int] = field(default_factory=dict)
    """How many records had an id that was present already, by relation."""
    ignored: dict[str, int] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    """Records that cannot be used, each with the reason: the last thousand, and all of the last
    batch. `all_set_aside` counts all."""
    too_late: list[SetAside] = field(default_factory=list)
    """Records whose time was forgotten already when they came: the last thousand, and at most a
    thousand for each relation and query since. `all_too_late` counts all."""
    dropped_set_aside: int = 0
    dropped_too_late: int = 0

    @property
    def duplicates(self) -> int:
        """How many records had an id that was present already."""
        return sum(self.duplicated.values())

    @property
    def all_set_aside(self) -> int:
        """How many records were set aside."""
        return self.dropped_set_aside + len(self.set_aside)

    @property
    def all_too_late(self) -> int:
        """How many records were too late."""
        return self.dropped_too_late + len(self.too_late)

    def shorten(self) -> None:
        """Keep a thousand of the records that were not used, and the number of the others."""
        more = max(len(self.set_aside) - _LISTED, 0), max(len(self.too_late) - _LISTED, 0)
        self.dropped_set_aside += more[0]
        self.dropped_too_late += more[1]
        del self.set_aside[: more[0]], self.too_late[: more[1]]


class WorkingMemory:
    """Records by relation: those of the window, and those whose time has not come.

    A record counts at a query if it was given before, has arrived and occurred by then, and is not
    forgotten. An input fluent's columns are start, end, value, and whether it is about a point. If
    records may be uncertain, the last column is the probability of each.
    """

    def __init__(self, stores: dict[Relation, Store], tick: int, has_chances: bool = False) -> None:
        self.stores = stores
        self.has_chances = has_chances
        """Do records have probabilities?"""
        self._tick = tick
        self.pending: dict[RecordForm, list[RecordColumns]] = {}
        """The records that wait for their time, or for the next query."""
        self._records = Records()
        self.counts = Counts()
        self.has_points = False
        self.lists_all = False
        """Are all records listed that are too late, and not only the last of each query?"""
        self.future: int | None = None
        """How far after a query a waiting record may lie; records farther away are set aside."""
        self.defers = False
        """Are records sorted in only when they are looked at? Lanes take them as they come."""
        self.by_id: dict[Relation, RecordsById] = {}
        """The records that are present by id, for relations whose records have ids."""

    def __len__(self) -> int:
        return sum(map(len, self.stores.values()))

    @property
    def waiting(self) -> int:
        """How many records wait for their time, or for the next query."""
        return sum(len(part) for parts in self.pending.values() for part in parts)

    @property
    def first_waiting(self) -> int | None:
        """The time of the first occurrence among the records that wait."""
        firsts = [
            int(part.times[1].min()) for parts in self.pending.values() for part in parts
            if len(part)
        ]  # fmt: skip
        return min(firsts, default=None)

    def all_times(self) -> Integers:
        """When each record happened, or began and ended."""
        rows = [store.rows(store.shelf.everything()) for store in self.stores.values()]
        is_fluent = [store.has_intervals for store in self.stores.values()]
        columns = [each.columns[: 1 + own] for each, own in zip(rows, is_fluent, strict=True)]
        return np.concatenate([_NONE, *(column for each in columns for column in each)])

    # -- what a query sees ------------------------------------------------------------------

    def encoding(self, relation: Relation) -> Encoding:
        """The domains of a relation's arguments and of its value."""
        return self.stores[relation].domains, self.stores[relation].value_domain

    @property
    def events(self) -> list[Relation]:
        """The events of the input."""
        return [relation for relation, store in self.stores.items() if not store.has_intervals]

    @property
    def fluents(self) -> list[Relation]:
        """The fluents of the input."""
        return [relation for relation, store in self.stores.items() if store.has_intervals]

    def happenings(self, relation: Relation, window: Window) -> EventTable:
        """The happenings of an event that a query sees."""
        return event_table(self.stores[relation], self.stores[relation].shelf.everything())

    def happenings_up_to(self, relation: Relation, edge: int) -> EventTable | None:
        """The happenings up to an edge that the last query has seen."""
        store = self.stores[relation]
        table = event_table(store, store.shelf.everything())
        return table.take(np.flatnonzero(table.times <= edge))

    def intervals(self, relation: Relation, window: Window) -> Piece:
        """The intervals of an input fluent that a query sees, without their forgotten parts."""
        rows = self._all_rows(relation)
        starts, ends, values = rows.columns[:3]
        bound = window.forgotten + self._tick
        seen = ends > bound
        return (
            [column[seen] for column in rows.arguments], values[seen],
            np.maximum(starts[seen], bound), ends[seen],
        )  # fmt: skip

    def fluent_records(self, relation: Relation, window: Window) -> StoredRows:
        """The records of an input fluent that a query sees, as they are: start, end, value."""
        store = self.stores[relation]
        return store.rows(store.shelf.everything())

    def open_at_query(self, relation: Relation, window: Window) -> list[Array] | None:
        """The arguments and values of which a record says that they hold at the query itself.

        They may go on after the query. None says that no record is about a single point.
        """
        if not self.has_points:
            return None
        rows = self._all_rows(relation)
        starts, _, values, is_point = rows.columns[:4]
        last = np.flatnonzero((is_point == 1) & (starts == window.query))
        return [column[last] for column in (*rows.arguments, values)]

    def uncertain_events(self, relation: Relation, window: Window) -> InputEvents:
        """The records of an event that a query sees, in the order of time, with probabilities."""
        rows, store = self._in_order(relation), self.stores[relation]
        times, chances = rows.columns[0], rows.columns[-1].astype(np.float64)
        return InputEvents(rows.arguments, store.domains, times, times, chances=chances)

    def uncertain_fluent(self, relation: Relation, window: Window) -> InputFluent:
        """The records of an input fluent that a query sees, cut at what is forgotten."""
        rows, store = self._in_order(relation), self.stores[relation]
        bound = window.forgotten + self._tick
        rows = rows.take(np.flatnonzero(rows.columns[1] > bound))
        starts, ends, values = rows.columns[:3]
        return InputFluent(
            rows.arguments, values, store.domains, store.value_domain, np.maximum(starts, bound),
            ends, starts, False, chances=rows.columns[-1].astype(np.float64),
        )  # fmt: skip

    def _in_order(self, relation: Relation) -> StoredRows:
        rows = self._all_rows(relation)
        return rows.take(np.argsort(rows.columns[0], kind="stable"))

    def _all_rows(self, relation: Relation) -> StoredRows:
        store = self.stores[relation]
        return store.rows(store.shelf.everything())

    # -- what comes and goes ----------------------------------------------------------------

    def insert(self, records: Records, retracts: bool = False) -> None:
        """Take in records, some of which may be retractions; with `retracts`, all of them are."""
        counts = self.counts
        counts.shorten()
        counts.records += records.count
        counts.set_aside += records.set_aside
        for name, count in records.ignored.items():
            counts.ignored[name] = counts.ignored.get(name, 0) + count
        for form, part in records.relations.items():
            if retracts:
                part.retracts = np.ones(len(part), np.bool_)
            self.has_points |= form.kind is RecordKind.POINT
            self.pending.setdefault(form, []).append(part)

    def admit(self, window: Window, start: int) -> dict[Relation, Admitted]:
        """Let in the records whose time has come; gives the changes of each relation."""
        changes: dict[Relation, Admitted] = {}
        for form, parts in list(self.pending.items()):
            part = in_given_order(parts)
            if is_timely(part, window):
                del self.pending[form]
                self._take_in(form, part, changes)
                continue
            ready = (part.times[0] <= window.query) & (part.times[1] <= window.query)
            del self.pending[form]
            if not ready.all():
                waiting = self._without_far_future(part.take(~ready), window.query)
                if len(waiting):
                    self.pending[form] = [waiting]
            part = self._without_late(part if ready.all() else part.take(ready), window, start)
            if len(part):
                self._take_in(form, part, changes)
        return changes

    def _take_in(
        self, form: RecordForm, part: RecordColumns, changes: dict[Relation, Admitted]
    ) -> None:
        """Let in records whose time has come, and note the changes."""
        change = self._apply(form, part)
        before = changes.get(form.relation)
        changes[form.relation] = change if before is None else _joined(before, change)

    def _without_far_future(self, part: RecordColumns, query: int) -> RecordColumns:
        """The records that wait; those whose time is too far in the future are set aside."""
        if self.future is None:
            return part
        bound = query + self.future
        far = (part.times[0] > bound) | (part.times[1] > bound)
        for row in np.flatnonzero(far).tolist():
            self.counts.set_aside.append(_aside(part, row, FUTURE))
        return part.take(~far) if far.any() else part

    def forget(self, window: Window) -> None:
        """Forget the records that lie before the window."""
        for store in self.stores.values():
            edge = window.forgotten + (self._tick if store.has_intervals else 0)
            store.forget(edge)
            if store.relation in self.by_id:
                self.by_id[store.relation].forget(edge)

    def _without_late(self, part: RecordColumns, window: Window, start: int) -> RecordColumns:
        """The records about something within the window; the others are counted as too late."""
        last = part.last_points(self._tick)
        late = last <= window.forgotten
        if not late.any():
            return part
        outside = last <= start
        self.counts.outside += int(outside.sum())
        rows = np.flatnonzero(late & ~outside)
        if self.lists_all:
            shown = rows
        else:
            shown = rows[-_LISTED:]
            self.counts.dropped_too_late += len(rows) - len(shown)
        self.counts.too_late += [_aside(part, row, TOO_LATE) for row in shown.tolist()]
        return part.take(~late)

    def _apply(self, form: RecordForm, part: RecordColumns) -> Admitted:
        """Add records to their store, and remove those that are retracted."""
        if part.ids is not None:
            return self._apply_by_id(form, part)
        if part.retracts is None:
            return self._exchange(form.relation, _NOWHERE, self._rows(form, part))
        part, unmatched = resolve(part, np.arange(len(part)))
        retractions = part.take(unmatched)
        assert part.retracts is not None
        assert part.gone is not None
        part = part.take(~part.retracts & (part.gone == INFINITE))
        added, to_remove = self._rows(form, part), self._rows(form, retractions)
        removed_places, missing = _equal_rows(self.stores[form.relation], to_remove)
        for row in missing.tolist():
            self.counts.set_aside.append(_aside(retractions, row, NO_RECORD))
        return self._exchange(form.relation, removed_places, added)

    def _apply_by_id(self, form: RecordForm, part: RecordColumns) -> Admitted:
        """Add records that have ids, and remove those that are retracted."""
        by_id = self.by_id.setdefault(form.relation, RecordsById())
        sorted_records, numbers = by_id.sort_records(part)
        self._count_unused(form.relation, part, sorted_records)
        added = self._rows(form, part.take(sorted_records.added_rows))
        retracted = sorted_records.retracted_numbers
        to_remove = by_id.rows(retracted) if len(retracted) else added.take(retracted)
        removed_places, _ = _equal_rows(self.stores[form.relation], to_remove)
        by_id.remove(retracted)
        by_id.insert(numbers[sorted_records.added_rows], added)
        return self._exchange(form.relation, removed_places, added)

    def _count_unused(
        self, relation: Relation, part: RecordColumns, sorted_records: SortedRecords
    ) -> None:
        """Count the duplicates, and set aside the retractions of records that are not present."""
        if sorted_records.duplicates:
            duplicated, name = self.counts.duplicated, str(relation)
            duplicated[name] = duplicated.get(name, 0) + sorted_records.duplicates
        for row in sorted_records.unmatched_rows.tolist():
            self.counts.set_aside.append(_aside(part, row, NO_RECORD))

    def _exchange(self, relation: Relation, removed_places: Places, added: StoredRows) -> Admitted:
        """Remove rows from a store and add others; gives this as a change."""
        store = self.stores[relation]
        self.counts.used += len(added)
        if self.defers and not len(removed_places[0]):
            if len(added):
                store.defer(added)
            return Admitted(added, added.none(), _NONE, _NONE)
        removed = store.rows(removed_places)
        added_keys, new_keys = store.enter(added)
        store.exchange(removed_places, added_keys, added)
        return Admitted(added, removed, added_keys, new_keys)

    def _rows(self, form: RecordForm, part: RecordColumns) -> StoredRows:
        """Records as the rows of their store, with encoded arguments."""
        store = self.stores[form.relation]
        if form.kind is RecordKind.EVENT:
            arguments = [encoded(*each) for each in zip(part.columns, store.domains, strict=True)]
            return StoredRows(arguments, [part.times[1], *self._chance_column(part)])
        domains = [store.value_domain, *store.domains]
        values, *arguments = [encoded(*each) for each in zip(part.columns, domains, strict=True)]
        is_point = form.kind is RecordKind.POINT
        ends = part.times[1] + self._tick if is_point else part.times[2]
        columns = [part.times[1], ends, values, np.full(len(part), int(is_point))]
        return StoredRows(arguments, [*columns, *self._chance_column(part)])

    def _chance_column(self, part: RecordColumns) -> list[Array]:
        if not self.has_chances:
            return []
        return [np.ones(len(part)) if part.chances is None else part.chances]


def is_timely(part: RecordColumns, window: Window) -> bool:
    """Is it plain that all records have arrived by the query, and lie within its window?"""
    span = part.span
    return (
        span is not None
        and max(span.arrived, span.last) <= window.query
        and span.first > window.forgotten
    )


def in_given_order(parts: Sequence[RecordColumns]) -> RecordColumns:
    """Records of several batches in the order they were given, where that order matters.

    Retractions whose places have the bit `AFTER_ALL` come last, whichever batch they are of.
    """
    whole = one_below_the_other(parts)
    if whole.retracts is None and whole.ids is None:
        return whole
    turns = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return whole.take(np.lexsort((whole.places, turns, whole.places & AFTER_ALL)))


def _aside(part: RecordColumns, row: int, reason: str) -> SetAside:
    return SetAside(int(part.places[row]), reason, part.text(row))


def _joined(one: Admitted, other: Admitted) -> Admitted:
    return Admitted(
        stacked(one.added, other.added),
        stacked(one.removed, other.removed),
        np.concatenate([one.added_keys, other.added_keys]),
        np.concatenate([one.new_keys, other.new_keys]),
    )


def _equal_rows(store: Store, wanted: StoredRows) -> tuple[Places, Integers]:
    """The places of stored rows equal to those wanted, and the wanted rows that have none.

    Of several equal rows each is used once: the second of those wanted gets the second stored one.
    """
    none = np.empty(0, np.int64)
    if not len(wanted):
        return (none, none), none
    places = _places_at_times(store, wanted)
    stored = store.rows(places)
    keys = row_numbers([
        np.concatenate(columns) for columns in zip(
            [*stored.arguments, *stored.columns], [*wanted.arguments, *wanted.columns], strict=True
        )
    ])  # fmt: skip
    stored_keys, wanted_keys = keys[: len(stored)], keys[len(stored) :]
    # Two rows match if they are equal and as many of their equals come before each.
    numbering = Numbering()
    stored_numbers = numbering.of(stored_keys * (len(keys) + 1) + _ranks(stored_keys))
    wanted_numbers = numbering.of(wanted_keys * (len(keys) + 1) + _ranks(wanted_keys))
    stored_row_of = np.full(len(numbering), -1, np.int64)
    stored_row_of[stored_numbers] = np.arange(len(stored_keys))
    rows = stored_row_of[wanted_numbers]
    chosen = rows[rows >= 0]
    return (places[0][chosen], places[1][chosen]), np.flatnonzero(rows < 0)


def _places_at_times(store: Store, wanted: StoredRows) -> Places:
    """The places of the stored rows that have the key and the time of one that is wanted."""
    keys, times = store.groups(wanted), wanted.columns[0]
    is_known = keys >= 0
    return store.at_times(keys[is_known], times[is_known])


def row_numbers(columns: list[Array]) -> Integers:
    """A number for each row, the same for equal rows."""
    keys = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1].ravel()
        keys = np.unique(keys * (int(codes.max()) + 1 if len(codes) else 1) + codes,
                         return_inverse=True)[1].ravel()  # fmt: skip
    return keys


def _ranks(keys: Integers) -> Integers:
    """How many equal keys come before each key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(keys) else np.empty(0)
    begins = np.flatnonzero(is_first)
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys)) - np.repeat(begins, np.diff(np.append(begins, len(keys))))
    return ranks
