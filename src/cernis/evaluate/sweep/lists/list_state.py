"""A program over lists of intervals in windows: intervals of its sources come and go.

A query evaluates the keys whose sources have changed, those with an open interval that has become
long enough, and those with intervals of their own that are linked to a key that has changed. What
was derived up to the window's edge stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cernis.evaluate.sweep.lane_state import NO_INTERVALS, BitIntervals
from cernis.kernels.array_types import Array, Bytes, Integers, Matrix, WordMatrix, Words
from cernis.kernels.sweep import keyed_log, list_arrays, list_updates
from cernis.kernels.sweep.key_calendar import BUCKETS, NEVER, Calendar, due_keys
from cernis.kernels.sweep.lane_edges import by_code
from cernis.kernels.sweep.list_arrays import (
    KeyedRows,
    ListedKeys,
    ListRoom,
    ListRows,
    ListTimes,
    SourceNews,
)
from cernis.kernels.sweep.list_walk import INTERSECT, LONGER, SHORTER, SUBTRACT, UNION

_COUNTS = 64
_NO_TAGS = np.zeros(0, np.uint32)
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class ListTables:
    """A program over lists as arrays.

    `rows` are as `list_walk` has them, over `slots` lists. Source number s of the key itself is
    list `sources[s]`. `linked` has a row for each source of other keys: the list it is, the number
    of the link that gives the key, and its number among those of linked keys. `outputs` are the
    lists that are reported, 64 at most.
    """

    rows: Matrix
    slots: int
    sources: Integers
    outputs: Integers
    linked: Matrix
    links: int = 0
    conditions: int = 0
    has_members: bool = False
    """May something hold of a key that has no intervals at all?"""
    tick: int = 1
    """How far points are apart."""

    @cached_property
    def reaches(self) -> Integers:
        """How far before the edge each output may begin: by durations, one upon another.

        What a source was before then cannot decide any more whether an interval is long. One that
        is longer than a duration right after the edge began a tick more than the duration before
        that point, as it was not longer at the edge.
        """
        lengths = [0] * self.slots
        for op, to, source, other, parameter in self.rows.tolist():
            length = parameter + self.tick if op in (LONGER, SHORTER) else 0
            operands = (source, other) if op in (UNION, INTERSECT, SUBTRACT) else (source,)
            lengths[to] = max(lengths[each] for each in operands) + length
        return np.array([lengths[slot] for slot in self.outputs], np.int64)

    @cached_property
    def longest_reach(self) -> int:
        """For how long before the edge sources matter."""
        return int(self.reaches.max(initial=0))


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """Intervals of sources that have come and gone; bits are numbers of sources.

    Those of one key are in the order of sources, starts and ends.
    """

    come: BitIntervals = NO_INTERVALS
    gone: BitIntervals = NO_INTERVALS


class _Visits:
    """Which keys a query visits, and what has changed of each."""

    def __init__(self) -> None:
        self._visit_of = np.full(0, list_arrays.NOT_VISITED, np.int32)
        self._keys = np.empty(0, np.int64)

    def make_room(self, count: int) -> None:
        """Let there be so many keys."""
        if count > len(self._visit_of):
            more = max(count, 2 * len(self._visit_of)) - len(self._visit_of)
            unvisited = np.full(more, list_arrays.NOT_VISITED, np.int32)
            self._visit_of = np.concatenate([self._visit_of, unvisited])
            self._keys = np.empty(len(self._visit_of), np.int64)

    def begin(self, changes: SourceChanges, others: Sequence[Integers] = ()) -> SourceNews:
        """Visit the keys that have changes, and others, in order: each with its changes as rows."""
        count = 0
        for keys in (changes.come.keys, changes.gone.keys, *others):
            if len(keys):
                count = list_arrays.add_visits(keys, count, self._visit_of, self._keys)
        visits = np.sort(self._keys[:count])
        list_arrays.number_visits(visits, self._visit_of)
        come, gone = (self._rows(each, count) for each in (changes.come, changes.gone))
        list_arrays.forget_visits(visits, self._visit_of)
        return SourceNews(visits, come[0], gone[0], come[1], gone[1])

    def _rows(self, intervals: BitIntervals, visits: int) -> tuple[Integers, WordMatrix]:
        firsts, rows = np.zeros(visits + 1, np.int64), np.zeros((len(intervals.keys), 4), np.uint64)
        numbers, keys, starts, ends = map(np.ascontiguousarray, intervals)
        if len(keys):
            list_arrays.order_changes(numbers, keys, starts, ends, self._visit_of, firsts, rows)
        return firsts, rows


@dataclass(slots=True)
class _KeyedRows:
    """Rows of intervals by key."""

    rows: WordMatrix = field(default_factory=lambda: np.empty((1024, 4), np.uint64))
    places: Matrix = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    counts: Integers = field(default_factory=lambda: np.zeros(_COUNTS, np.int64))

    def grow(self) -> None:
        """Make room for twice as many rows."""
        self.make_room(2 * len(self.rows) - int(self.counts[keyed_log.TOP]))

    def make_room(self, count: int) -> None:
        """Make room for so many further rows, if there is none."""
        used = int(self.counts[keyed_log.TOP])
        if used + count > len(self.rows):
            larger = np.empty((max(used + count, 2 * len(self.rows)), 4), np.uint64)
            larger[:used] = self.rows[:used]
            self.rows = larger

    @property
    def arrays(self) -> KeyedRows:
        """The rows as kernels take them."""
        return KeyedRows(self.rows, self.places, self.counts)

    def live(self) -> tuple[Integers, WordMatrix]:
        """All rows, and the keys that they are of."""
        sizes = self.places[:, keyed_log.SIZE] - self.places[:, keyed_log.HEAD]
        begins = self.places[:, keyed_log.FIRST] + self.places[:, keyed_log.HEAD]
        offsets = np.cumsum(sizes) - sizes
        places = np.repeat(begins - offsets, sizes) + np.arange(int(sizes.sum()))
        return np.repeat(np.arange(len(sizes)), sizes), self.rows[places]


class ListState:
    """The source intervals and the results of a program, by key."""

    def __init__(self, tables: ListTables, start: int = 0, tick: int = 1) -> None:
        self.tables, self.start, self.tick = tables, start, tick
        self.key_count, self.query = 0, start
        self.edge = start
        self._width = 0
        self._sources, self._reported, self._linked = _KeyedRows(), _KeyedRows(), _KeyedRows()
        self._dues = np.zeros(0, np.int64)
        self._links, self._back_links = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._first_dues = np.zeros(BUCKETS, np.int32)
        self._conditions = np.zeros((max(1, tables.conditions), 0), np.uint8)
        self._allowed = np.zeros(0, np.uint64)
        self._targets = np.zeros((0, tables.links), np.int64)
        self._heads, self._chain = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._since = np.zeros(0, np.int64)
        self._forced: list[Integers] = []
        self._is_begun = False
        self._visits, self._linked_visits = _Visits(), _Visits()
        self._output = np.empty((1024, 4), np.int64)
        self._grow_lists(64)

    def _grow_lists(self, count: int) -> None:
        self._lists = np.empty((self.tables.slots, count, 2), np.int64)
        self._sizes = np.zeros(self.tables.slots, np.int64)
        self._tail = np.empty((count, 4), np.uint64)
        self._results = np.empty((count * max(len(self.tables.outputs), 1), 4), np.uint64)

    # -- keys -------------------------------------------------------------------------------

    def add_keys(self, allowed: Words, conditions: Bytes, targets: Matrix) -> None:
        """Add keys, numbered from `key_count` on.

        `allowed` has a bit for each output that groundings allow, `conditions` a row for each
        condition, with 1 for keys that meet it, and `targets` the number of the linked key by key
        and link.
        """
        first, stop = self.key_count, self.key_count + len(allowed)
        for name in ("_dues", "_links", "_back_links", "_allowed", "_targets", "_since"):
            setattr(self, name, _longer(getattr(self, name), stop))
        for store in (self._sources, self._reported):
            store.places = _longer(store.places, stop)
        self._chain = _longer(self._chain, stop * self.tables.links)
        self._conditions = np.ascontiguousarray(_longer(self._conditions.T, stop).T)
        self._dues[first:stop], self._allowed[first:stop] = NEVER, allowed
        self._since[first:stop] = self.start
        self._conditions[: len(conditions), first:stop] = conditions
        self._targets[first:stop], self.key_count = targets, stop
        if self.tables.has_members:
            self._forced.append(np.arange(first, stop))
        if self.tables.links and stop > first:
            self._add_linked(int(targets.max()) + 1)
            list_updates.link_keys(first, self._targets[:stop], self._heads, self._chain)

    def _add_linked(self, count: int) -> None:
        """Make room for the intervals of linked keys."""
        self._heads = _longer(self._heads, count)
        self._linked.places = _longer(self._linked.places, count)

    def set_allowed(self, keys: Integers, allowed: Words) -> None:
        """Let groundings allow other outputs to some keys, from the edge of the next query on."""
        differs = self._allowed[keys] != allowed
        self._allowed[keys[differs]] = allowed[differs]
        self._forced.append(keys[differs])

    # -- queries ----------------------------------------------------------------------------

    def update(
        self, edge: int, query: int, changes: SourceChanges,
        linked: SourceChanges | None = None,
    ) -> tuple[BitIntervals, BitIntervals]:  # fmt: skip
        """What has come and gone of the outputs, sorted by output, key and start.

        The bits of intervals are numbers of outputs. `linked` are the changes of keys that others
        are linked to, numbered by themselves.
        """
        if not self._width:
            self._width = max(1, -(-(query - self.query) // 4))
        last, self.query, self.edge = self.query, query, edge
        due, forced = self._due(last, query), self._forced
        others, self._forced = [due, *forced], []
        if linked is not None:
            others.append(self._change_linked(linked))
        self._since[due] = np.minimum(self._since[due], last + self.tick)
        for keys in forced:
            self._since[keys] = self.start
        self._visits.make_room(self.key_count)
        count = self._walk(self._visits.begin(changes, others), changes)
        stops, columns = by_code(self._output, count)
        middle = int(stops[list_updates.GONE - 1])
        return (
            BitIntervals(*(column[:middle] for column in columns)),
            BitIntervals(*(column[middle:] for column in columns)),
        )

    @property
    def _oldest(self) -> int:
        """The point after which sources must end to matter."""
        return self.edge + self.tick - self.tables.longest_reach

    @property
    def _margin(self) -> int:
        """How long before a change of a linked key something may change for others."""
        if self.tables.has_members:
            return int(NEVER) // 2  # something may hold where a key has no intervals
        return self.tick + self.tables.longest_reach

    def _due(self, last: int, query: int) -> Integers:
        keys = np.empty(self.key_count, np.int64)
        return keys[: due_keys(last, query, self._calendar, keys)]

    @property
    def _calendar(self) -> Calendar:
        return Calendar(self._dues, self._links, self._back_links, self._first_dues, self._width)

    @property
    def _room(self) -> ListRoom:
        return ListRoom(self._lists, self._sizes, self._tail, self._results, _NO_TAGS)

    def _change_linked(self, changes: SourceChanges) -> Integers:
        """Enter changes of linked keys; gives the keys that are linked to them."""
        parts = (changes.come.keys, changes.gone.keys)
        top = max((int(keys.max()) + 1 for keys in parts if len(keys)), default=0)
        self._add_linked(top)
        self._linked_visits.make_room(top)
        news = self._linked_visits.begin(changes)
        changed_from = self._change_rows(self._linked, news, self._oldest)
        keys = np.empty(self.key_count, np.int64)
        count = list_updates.linked_keys(
            news.visits, changed_from, self.tables.links, self._heads, self._chain,
            self._sources.arrays, self._margin, self._oldest, self._since, keys,
        )  # fmt: skip
        return keys[:count]

    def _change_rows(self, store: _KeyedRows, news: SourceNews, oldest: int) -> Integers:
        """Enter changes of some keys; gives the first point at which each changes."""
        progress, changed_from = np.zeros(3, np.int64), np.empty(len(news.visits), np.int64)
        store.make_room(len(news.come))
        while True:
            status = list_updates.change_rows(
                news, store.arrays, oldest, self._tail, _NO_TAGS, changed_from, progress
            )
            if status == list_updates.DONE:
                return changed_from
            self._make_more(status, progress)

    def _make_room(self, changes: SourceChanges) -> None:
        """Let arrays have room for about as many intervals as have come."""
        count = 2 * (len(changes.come.bits) + len(changes.gone.bits))
        if count > len(self._output):
            self._output = np.empty((count, 4), np.int64)
        for store in (self._sources, self._reported):
            # The rows of a key grow into places of twice the size, and leave room for more.
            store.make_room((1 if self._is_begun else 4) * len(changes.come.bits))
        self._is_begun = True

    def _walk(self, news: SourceNews, changes: SourceChanges) -> int:
        self._make_room(changes)
        progress, tables = np.zeros(3, np.int64), self.tables
        program = ListRows(
            tables.rows, tables.outputs, tables.reaches, tables.sources, tables.linked
        )
        keys = ListedKeys(self._targets, self._conditions, self._allowed, self._since)
        times = ListTimes(
            self.edge + self.tick, self._oldest, self.start + self.tick, self.query, self.tick
        )
        while True:
            status = list_updates.walk_lists(
                program, news, self._sources.arrays, self._reported.arrays, self._linked.arrays,
                keys, self._calendar, times, self._room, self._output, progress,
            )  # fmt: skip
            if status == list_updates.DONE:
                return int(progress[1])
            self._make_more(status, progress)

    def _make_more(self, status: int, progress: Integers) -> None:
        if status == list_updates.NEEDS_LISTS:
            self._grow_lists(2 * int(progress[2]))
        elif status == list_updates.NEEDS_OUTPUT:
            larger = np.empty((2 * len(self._output), 4), np.int64)
            larger[: progress[1]] = self._output[: progress[1]]
            self._output = larger
        else:
            for store in (self._sources, self._reported, self._linked):
                store.grow()

    def older_sources(self, linked: bool = False) -> BitIntervals:
        """The intervals of sources, or of linked ones, that began before the window."""
        keys, rows = (self._linked if linked else self._sources).live()
        numbers, starts, ends = (rows[:, column].astype(np.int64) for column in range(3))
        bound = self.edge + self.tick
        chosen = np.flatnonzero((starts <= bound) & (ends > self._oldest))
        return BitIntervals(numbers[chosen], keys[chosen], starts[chosen], ends[chosen])

    def intervals(self) -> BitIntervals:
        """All intervals of outputs that reach the window, by output, key and start."""
        keys, rows = self._reported.live()
        columns = [rows[:, column].astype(np.int64) for column in range(3)]
        order = np.lexsort((columns[1], keys, columns[0]))
        numbers, starts, ends = (column[order] for column in columns)
        keys = keys[order]
        reach = np.flatnonzero(ends >= self.edge + self.tick)
        return BitIntervals(*(each[reach] for each in (numbers, keys, starts, ends)))

    def assume_reported(self, intervals: BitIntervals) -> None:
        """Take intervals of outputs as reported; the next query goes on from them."""
        changes = SourceChanges(come=intervals)
        self._enter_own(self._reported, changes, -int(NEVER))

    def assume_sources(
        self, edge: int, query: int, changes: SourceChanges, linked: SourceChanges | None
    ) -> None:
        """Take intervals of sources as known at a query.

        The next one evaluates all keys from its edge on, since others may be known by then.
        """
        self.query, self.edge = query, edge
        self._enter_own(self._sources, changes, self._oldest)
        if linked is not None:
            self._change_linked(linked)
        self._forced.append(np.arange(self.key_count))

    def _enter_own(self, store: _KeyedRows, changes: SourceChanges, oldest: int) -> None:
        """Enter changes of keys of the program, without evaluating any."""
        self._visits.make_room(self.key_count)
        self._change_rows(store, self._visits.begin(changes), oldest)


def _longer(array: Array, count: int) -> Array:
    if count <= len(array):
        return array
    longer = np.zeros((max(count, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
