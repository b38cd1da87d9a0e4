"""Working memory: the records that a session was given, as far as its window reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.dirt import Dirt
from cernis.evaluate.changes.stores import Places, Rows, Store, event_table, stacked
from cernis.evaluate.query_loop import Admitted, Encoding
from cernis.evaluate.record_ids import Ledger
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.operators.intervals.pieces import Piece
from cernis.records.encoded_input import encoded
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

BEHIND: Final = 1 << 62
"""The bit of places that lie after those of all records of a query."""

_LISTED: Final = 1000
"""Records that were not used are listed up to that many."""


@dataclass(slots=True)
class Counts:
    """What became of the records so far."""

    records: int = 0
    used: int = 0
    outside: int = 0
    duplicated: dict[str, int] = field(default_factory=dict)
    """Records whose id was there already, by the relation that they are of."""
    ignored: dict[str, int] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    """Records that cannot be used, with the reason: the last thousand, and those of the last
    batch. `all_set_aside` counts all."""
    too_late: list[SetAside] = field(default_factory=list)
    """Records whose time was forgotten when they came, likewise, of each relation and query at most
    a thousand; `all_too_late` counts all."""
    dropped_set_aside: int = 0
    dropped_too_late: int = 0

    @property
    def duplicates(self) -> int:
        """How many records had an id that was there already."""
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


class Memory:
    """Records by relation: those of the window, and those whose time has not come.

    A record counts at a query if it was given before, has arrived and occurred by then, and is not
    forgotten. An input fluent's columns are start, end, value, and whether it is about a point. If
    records may be uncertain, the last column is the probability of each.
    """

    def __init__(self, stores: dict[Relation, Store], tick: int, has_chances: bool = False) -> None:
        self.stores = stores
        self._has_chances = has_chances
        self._tick = tick
        self.pending: dict[RecordForm, list[RecordColumns]] = {}
        """What waits for its time, or for the next query."""
        self._records = Records()
        self.counts = Counts()
        self.has_points = False
        self.lists_all = False
        """Are all records listed that are too late, and not only the last of a query?"""
        self.future: int | None = None
        """How far after a query records may lie that wait; others are set aside."""
        self.ledgers: dict[Relation, Ledger] = {}
        """What is there by id, of relations whose records have ids."""

    def __len__(self) -> int:
        return sum(map(len, self.stores.values()))

    @property
    def waiting(self) -> int:
        """How many records wait for their time, or for the next query."""
        return sum(len(part) for parts in self.pending.values() for part in parts)

    @property
    def first(self) -> int | None:
        """The first occurrence of those that wait."""
        firsts = [
            int(part.times[1].min()) for parts in self.pending.values() for part in parts
            if len(part)
        ]  # fmt: skip
        return min(firsts, default=None)

    # -- what a query sees ------------------------------------------------------------------

    def encoding(self, relation: Relation) -> Encoding:
        """How the arguments of a relation are encoded, and its value."""
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
        """What a query sees of an event."""
        return event_table(self.stores[relation], self.stores[relation].shelf.everything())

    def passed(self, relation: Relation, edge: int) -> EventTable | None:
        """The happenings up to an edge that the last query has seen."""
        store = self.stores[relation]
        table = event_table(store, store.shelf.everything())
        return table.take(np.flatnonzero(table.times <= edge))

    def intervals(self, relation: Relation, window: Window) -> Piece:
        """What a query sees of an input fluent, cut at what is forgotten."""
        rows = self._everything(relation)
        starts, ends, values = rows.columns[:3]
        bound = window.forgotten + self._tick
        seen = ends > bound
        return (
            [column[seen] for column in rows.arguments], values[seen],
            np.maximum(starts[seen], bound), ends[seen],
        )  # fmt: skip

    def open_at_query(self, relation: Relation, window: Window) -> list[Array] | None:
        """Arguments and values that a record is about at the query: they may go on after it."""
        if not self.has_points:
            return None
        rows = self._everything(relation)
        starts, _, values, is_point = rows.columns[:4]
        last = np.flatnonzero((is_point == 1) & (starts == window.query))
        return [column[last] for column in (*rows.arguments, values)]

    def _everything(self, relation: Relation) -> Rows:
        store = self.stores[relation]
        return store.rows(store.shelf.everything())

    # -- what comes and goes ----------------------------------------------------------------

    def insert(self, records: Records, retracts: bool = False) -> None:
        """Take records in, retractions among them; or all as retractions."""
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
        """Bring the memory up to a query; gives what came and what went, by relation."""
        found: dict[Relation, Admitted] = {}
        for form, parts in list(self.pending.items()):
            part = as_given(parts)
            ready = (part.times[0] <= window.query) & (part.times[1] <= window.query)
            del self.pending[form]
            if not ready.all():
                waiting = self._not_too_far(part.take(~ready), window.query)
                if len(waiting):
                    self.pending[form] = [waiting]
            part = self._in_time(part if ready.all() else part.take(ready), window, start)
            if not len(part):
                continue
            change = self._changed(form, part)
            before = found.get(form.relation)
            found[form.relation] = change if before is None else _both(before, change)
        return found

    def _not_too_far(self, part: RecordColumns, query: int) -> RecordColumns:
        """The records that may come to count; those of a far future are set aside."""
        if self.future is None:
            return part
        bound = query + self.future
        far = (part.times[0] > bound) | (part.times[1] > bound)
        for row in np.flatnonzero(far).tolist():
            self.counts.set_aside.append(_aside(part, row, FUTURE))
        return part.take(~far) if far.any() else part

    def forget(self, window: Window) -> None:
        """Forget what lies before the window."""
        for store in self.stores.values():
            edge = window.forgotten + (self._tick if store.has_intervals else 0)
            store.shelf.forget(edge)
            if store.relation in self.ledgers:
                self.ledgers[store.relation].forget(edge)

    def _in_time(self, part: RecordColumns, window: Window, start: int) -> RecordColumns:
        """The records that tell of something within the window."""
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

    def _changed(self, form: RecordForm, part: RecordColumns) -> Admitted:
        """Enter records, and take back what is to be."""
        if part.ids is not None:
            return self._changed_by_id(form, part)
        store = self.stores[form.relation]
        part, unmatched = resolve(part, np.arange(len(part)))
        taken_back = self._rows(form, part.take(unmatched))
        if part.retracts is not None:
            assert part.gone is not None
            asked, part = part.take(unmatched), part.take(~part.retracts & (part.gone == INFINITE))
        else:
            asked = part.take(unmatched)
        come = self._rows(form, part)
        self.counts.used += len(come)
        places, missing = _found(store, taken_back)
        for row in missing.tolist():
            self.counts.set_aside.append(_aside(asked, row, NO_RECORD))
        gone = store.rows(places)
        groups, fresh = store.enter(come)
        store.exchange(places, groups, come)
        return Admitted(come, gone, groups, fresh)

    def _changed_by_id(self, form: RecordForm, part: RecordColumns) -> Admitted:
        """Enter records that have ids, and take back what is to be."""
        store = self.stores[form.relation]
        ledger = self.ledgers.setdefault(form.relation, Ledger())
        found, numbers = ledger.sort(part)
        if found.duplicates:
            known = self.counts.duplicated
            known[str(form.relation)] = known.get(str(form.relation), 0) + found.duplicates
        for row in found.unmatched.tolist():
            self.counts.set_aside.append(_aside(part, row, NO_RECORD))
        come = self._rows(form, part.take(found.come))
        wanted = ledger.rows(found.gone) if len(found.gone) else come.take(found.gone)
        places, _ = _found(store, wanted)
        gone = store.rows(places)
        ledger.take_out(found.gone)
        self.counts.used += len(come)
        ledger.put_in(numbers[found.come], come)
        groups, fresh = store.enter(come)
        store.exchange(places, groups, come)
        return Admitted(come, gone, groups, fresh)

    def _rows(self, form: RecordForm, part: RecordColumns) -> Rows:
        store = self.stores[form.relation]
        if form.kind is RecordKind.EVENT:
            arguments = [encoded(*each) for each in zip(part.columns, store.domains, strict=True)]
            return Rows(arguments, [part.times[1], *self._chances(part)])
        domains = [store.value_domain, *store.domains]
        values, *arguments = [encoded(*each) for each in zip(part.columns, domains, strict=True)]
        is_point = form.kind is RecordKind.POINT
        ends = part.times[1] + self._tick if is_point else part.times[2]
        columns = [part.times[1], ends, values, np.full(len(part), int(is_point))]
        return Rows(arguments, [*columns, *self._chances(part)])

    def _chances(self, part: RecordColumns) -> list[Array]:
        if not self._has_chances:
            return []
        return [np.ones(len(part)) if part.chances is None else part.chances]


def as_given(parts: Sequence[RecordColumns]) -> RecordColumns:
    """Records of several batches in the order they were given, where that matters.

    Places after all others (with the bit of `BEHIND`) stay so, whichever batch they are of.
    """
    whole = one_below_the_other(parts)
    if whole.retracts is None and whole.ids is None:
        return whole
    turns = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return whole.take(np.lexsort((whole.places, turns, whole.places & BEHIND)))


def _aside(part: RecordColumns, row: int, reason: str) -> SetAside:
    return SetAside(int(part.places[row]), reason, part.text(row))


def _both(one: Admitted, other: Admitted) -> Admitted:
    return Admitted(
        stacked(one.come, other.come), stacked(one.gone, other.gone),
        np.concatenate([one.groups, other.groups]), np.concatenate([one.fresh, other.fresh]),
    )  # fmt: skip


def _found(store: Store, wanted: Rows) -> tuple[Places, Integers]:
    """The places of rows equal to those wanted, each at most once; and which are not there."""
    none = np.empty(0, np.int64)
    if not len(wanted):
        return (none, none), none
    groups = store.groups(wanted)
    times = wanted.columns[0]
    dirt = Dirt.of(groups[groups >= 0], times[groups >= 0], times[groups >= 0] + 1)
    places = store.within(dirt)
    there = store.rows(places)
    both = [
        np.concatenate(own)
        for own in zip(
            [*there.arguments, *there.columns], [*wanted.arguments, *wanted.columns], strict=True
        )
    ]
    keys = _numbered(both)
    mine, asked = keys[: len(there)], keys[len(there) :]
    ranked = Numbering()
    mine_ranked = ranked.of(mine * (len(keys) + 1) + _ranks(mine))
    asked_ranked = ranked.of(asked * (len(keys) + 1) + _ranks(asked))
    row_of = np.full(len(ranked), -1, np.int64)
    row_of[mine_ranked] = np.arange(len(mine))
    rows = row_of[asked_ranked]
    chosen = rows[rows >= 0]
    return (places[0][chosen], places[1][chosen]), np.flatnonzero(rows < 0)


def _numbered(columns: list[Array]) -> Integers:
    """Equal numbers for equal rows."""
    keys = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        own = np.unique(column, return_inverse=True)[1].ravel()
        keys = np.unique(keys * (int(own.max()) + 1 if len(own) else 1) + own,
                         return_inverse=True)[1].ravel()  # fmt: skip
    return keys


def _ranks(keys: Integers) -> Integers:
    """How many equal keys come before each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(keys) else np.empty(0)
    begins = np.flatnonzero(first)
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys)) - np.repeat(begins, np.diff(np.append(begins, len(keys))))
    return ranks
