"""The walk of one lane: changes of records go in, changes of intervals come out.

Keys are numbers from 0 on. `LaneState` holds the rows of each key in the window, what is known of
the key at the edge, and a calendar of what is due. A query visits keys that have changes or
something due, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cernis.errors import InternalError
from cernis.evaluate.sweep.change_batches import NO_TAGS, ChangeBatch, joined
from cernis.kernels.array_types import (
    Array,
    Booleans,
    HalfIntegers,
    Integers,
    Matrix,
    Tags,
    Words,
)
from cernis.kernels.sweep import (
    keyed_log,
    lane_arms,
    lane_arrays,
    lane_conflicts,
    lane_edges,
    lane_walk,
)
from cernis.kernels.sweep.key_calendar import BUCKETS, NEVER, due_keys, set_dues
from cernis.kernels.sweep.lane_memo import LINE_SIZE, MEMO_SIZE
from cernis.kernels.sweep.lane_rows import COME, GONE, TIME_BITS, WIDE_COLUMNS
from cernis.kernels.sweep.lane_tables import (
    MOST_BITS,
    LaneTables,
    armed_mask,
    packed,
)
from cernis.kernels.sweep.word_ids import (
    FIRED,
    HASH_BITS,
    MOST_IDS,
    STATES,
    intern_fired,
    intern_states,
)

_COUNTS = 64
_LONGEST = 2**TIME_BITS - 2


class BitIntervals(NamedTuple):
    """Intervals of state bits by key. An end is `NEVER` while an interval is open."""

    bits: Integers
    keys: Integers
    starts: Integers
    ends: Integers


class BitPoints(NamedTuple):
    """Points of fired bits by key."""

    bits: Integers
    keys: Integers
    times: Integers


@dataclass(frozen=True, slots=True)
class LaneChanges:
    """What a query has changed: each sorted by bit, key and start.

    An interval that was open and has ended is among those that have gone with the end `NEVER`, and
    among those that have come with its end. `conflicts` is how many more there are than before.
    `unmatched` is the number of changes that take back what is not there, `too_late` that of
    changes up to the edge.
    """

    come: BitIntervals
    gone: BitIntervals
    signals_come: BitPoints
    signals_gone: BitPoints
    conflicts: int
    unmatched: int
    too_late: int


class LaneState:
    """The rows and states of a lane's keys.

    What keys hold at first, they hold from the first point after `start` on, and delays that are
    under way at first were armed at the start. `has_tags` says that records have tags: a record is
    taken back by one of its time, fired word and tag.
    """

    def __init__(self, tables: LaneTables, start: int = 0, has_tags: bool = False) -> None:
        self.tables = tables
        self.start = start
        self.has_tags = has_tags
        self.edge = self.query = start
        self._lane = packed(tables)
        self._delay_count = len(tables.delays)
        self._batches: list[ChangeBatch] = []
        self._base: int | None = None
        self._slots = np.zeros(MOST_BITS, np.int64)
        reported = [bit for bit in range(MOST_BITS) if int(tables.reported) >> bit & 1]
        self._slots[reported] = np.arange(len(reported))
        self._slot_count = len(reported)
        self._is_wide = False
        self._make_machine()
        self._make_keys()
        self._make_scratch()

    # -- arrays ------------------------------------------------------------------------------

    def _make_machine(self) -> None:
        self._counts = np.zeros(_COUNTS, np.int64)
        self._state_words = np.zeros(2 * (MOST_IDS + 1), np.uint64)
        self._state_ids = np.zeros(1 << HASH_BITS, np.int32)
        self._fired_words = np.zeros(MOST_IDS + 1, np.uint64)
        self._fired_ids = np.zeros(1 << HASH_BITS, np.int32)
        self._memo = np.zeros(LINE_SIZE * MEMO_SIZE, np.uint64)
        nothing = np.zeros(1, np.uint64)
        self._intern_fired(nothing)  # what fires nothing has the id 0

    def _make_keys(self) -> None:
        self.key_count = 0
        self._rows: Words = np.zeros(1024, np.uint64)
        self._tags = np.zeros(1024 if self.has_tags else 0, np.uint32)
        self._places = np.zeros((0, 4), np.int64)
        self._states = np.zeros((0, 3), np.uint64)
        self._edge_arms = np.zeros((0, self._delay_count), np.int64)
        self._edge_since = np.zeros((0, self._slot_count), np.int64)
        self._since = np.zeros((0, self._slot_count), np.int64)
        self._marks = np.zeros(0, np.uint8)
        self._seen = np.zeros(0, np.uint8)
        self._change_counts = np.zeros(0, np.int64)
        self._visits = np.zeros(0, np.int64)
        self._dues = np.zeros(0, np.int64)
        self._links = np.zeros(0, np.int32)
        self._back_links = np.zeros(0, np.int32)
        self._heads = np.zeros(BUCKETS, np.int32)
        self._width = 0
        self._forced: list[Integers] = []

    def _make_scratch(self) -> None:
        self._news_room = self._tail_room = 0
        self._grow_news(256)
        self._grow_tail(1024)
        self._output = np.empty((4096, 4), np.int64)
        self._arms = np.zeros((2, self._delay_count), np.int64)
        self._starts = np.zeros((2, MOST_BITS), np.int64)

    def _new_rows(self, count: int) -> Words:
        return np.empty((count, WIDE_COLUMNS) if self._is_wide else count, np.uint64)

    def _new_tags(self, count: int) -> Tags:
        has_tags = self.has_tags and not self._is_wide
        return np.empty(count, np.uint32) if has_tags else NO_TAGS.copy()

    def _grow_news(self, count: int) -> None:
        self._news_room = count
        self._news, self._spare = self._new_rows(count), self._new_rows(count)
        self._news_tags, self._runs = self._new_tags(count), np.empty(count + 2, np.int64)

    def _grow_tail(self, count: int) -> None:
        self._tail_room = count
        self._tail, self._tail_tags = self._new_rows(count), self._new_tags(count)

    def _grow_rows(self, count: int) -> None:
        used = int(self._counts[keyed_log.TOP])
        rows, tags = self._new_rows(count), self._new_tags(count)
        rows[:used] = self._rows[:used]
        if len(tags):
            tags[:used] = self._tags[:used]
        self._rows, self._tags = rows, tags

    def _grow_keys(self, count: int) -> None:
        for name in _KEY_ARRAYS:
            old = getattr(self, name)
            new = np.zeros((count, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    # -- keys --------------------------------------------------------------------------------

    def add_keys(
        self, first_words: Words, allowed: Words, since: Matrix | None = None,
        arms: Matrix | None = None,
    ) -> None:  # fmt: skip
        """Add keys, numbered from `key_count` on, with the states that they begin with.

        `first_words` have the bits of what holds initially, of determined pairs that follow from
        it, of facts, and of delays that are armed by it. If something has held, or been armed, for
        longer than from the start on, `since` says so by state bit, and `arms` by delay.
        """
        first, stop = self.key_count, self.key_count + len(first_words)
        if stop > len(self._places):
            self._grow_keys(max(stop, 2 * len(self._places), 64))
        self.key_count = stop
        numbers = np.arange(first, stop)
        self._states[first:stop] = np.column_stack([first_words, allowed, allowed])
        if not self._is_wide:
            self._intern_states(first_words, allowed, self._states[first:stop, 0])
        self._edge_arms[first:stop] = self.start
        self._edge_since[first:stop] = self._since[first:stop] = self.start + self.tables.tick
        if since is not None:
            reported = np.flatnonzero(_has_bits(self.tables.reported))
            self._edge_since[first:stop] = self._since[first:stop] = since[:, reported]
        if arms is not None:
            self._edge_arms[first:stop] = arms
        self._dues[first:stop] = NEVER
        visible = self.tables.reported | armed_mask(self.tables.delays)
        holding = numbers[(first_words & visible) != 0]
        if len(holding):
            self._marks[holding] = lane_arrays.IS_NEW
            self._forced.append(holding)

    def _intern_states(self, words: Words, allowed: Words, column: Words) -> None:
        ids = np.empty(len(words), np.uint64)
        words, allowed = np.ascontiguousarray(words), np.ascontiguousarray(allowed)
        known = (self._state_words, self._state_ids, self._counts)
        if intern_states(words, allowed, *known, ids):
            column[:] = ids
        else:
            self._widen(self.key_count - len(words))

    def set_allowed(self, keys: Integers, allowed: Words) -> None:
        """Let groundings allow other pairs to some keys, from the edge of the next query on."""
        differs = self._states[keys, lane_arrays.ALLOWED_NOW] != allowed
        keys = np.asarray(keys, np.int64)[differs]
        self._states[keys, lane_arrays.ALLOWED_NOW] = allowed[differs]
        self._marks[keys] |= lane_arrays.IS_CHANGED
        self._forced.append(keys)

    # -- changes -----------------------------------------------------------------------------

    def change(
        self, keys: Integers, times: Integers, fired: Words, tags: Tags | None = None,
        gone: bool = False,
    ) -> None:  # fmt: skip
        """Take note of records that have come, or that are taken back.

        Records that fire nothing are of no account.
        """
        if not len(keys):
            return
        if tags is None:
            tags = np.zeros(len(keys), np.uint32) if self.has_tags else NO_TAGS
        mark = int(GONE if gone else COME)
        self._batches.append(
            ChangeBatch(
                np.ascontiguousarray(keys, np.int64), np.ascontiguousarray(times, np.int64),
                np.ascontiguousarray(fired, np.uint64), np.ascontiguousarray(tags, np.uint32), mark,
            )
        )  # fmt: skip

    # -- queries -----------------------------------------------------------------------------

    def update(self, edge: int, query: int) -> LaneChanges:
        """Forget what is up to the edge, walk up to the query, and tell what has changed."""
        last = self.query
        self._set_times(edge, query)
        batches = self._due_batches(query)
        totals = np.zeros(3, np.int64)
        visits = self._collect_visits(batches, last, totals)
        progress = np.zeros(8, np.int64)
        if len(visits):
            self._walk(visits, batches, int(totals[1]), progress)
        return self._told(progress, int(totals[2]))

    def _set_times(self, edge: int, query: int) -> None:
        if self._base is None:
            self._base = min(self.start, edge) - 1
            self._width = max(1, -(-(query - self.query) // 4))
        self.edge, self.query = edge, query
        if query - self._base > _LONGEST and not self._is_wide:
            self._move_base()

    def _due_batches(self, query: int) -> list[ChangeBatch]:
        """The changes up to the query that fire something; those after it wait."""
        due, waiting = [], []
        for batch in joined(self._batches):
            if batch.times.max() <= query and batch.fired.all():
                due.append(batch)
                continue
            is_due, matters = batch.times <= query, batch.fired != 0
            due.append(batch.where(np.flatnonzero(is_due & matters)))
            if not is_due.all():
                waiting.append(batch.where(np.flatnonzero(~is_due)))
        self._batches = waiting
        return self._with_handles(due)

    def _with_handles(self, batches: list[ChangeBatch]) -> list[ChangeBatch]:
        """Changes with ids in place of fired words, unless rows are wide."""
        with_ids = []
        for batch in () if self._is_wide else batches:
            ids = self._intern_fired(batch.fired)
            if ids is None:
                self._widen()
                break
            with_ids.append(replace(batch, fired=ids))
        return batches if self._is_wide else with_ids

    def _intern_fired(self, fired: Words) -> HalfIntegers | None:
        """The ids of fired words; None if there are too many."""
        ids = np.empty(len(fired), np.uint16)
        known = (self._fired_words, self._fired_ids, self._counts)
        return ids if intern_fired(fired, *known, ids) else None

    def _collect_visits(
        self, batches: Sequence[ChangeBatch], last: int, totals: Integers
    ) -> Integers:
        """The keys with changes, with something due or with another state, in order."""
        visits, counts = self._visits, self._change_counts
        for batch in batches:
            keyed_log.count_changes(batch.keys, batch.times, self.edge, counts, visits, totals)
        count = int(totals[0])
        due = np.empty(self.key_count, np.int64)
        due_count = due_keys(
            last, self.query, self._width, self._dues, self._links, self._heads, due
        )
        for keys in (due[:due_count], *self._forced):
            count = keyed_log.note_visits(keys, count, counts, self._seen, visits)
        self._forced = []
        if count * 8 > self.key_count:
            return np.flatnonzero(
                (counts[: self.key_count] != 0) | (self._seen[: self.key_count] != 0)
            )
        return np.sort(visits[:count])

    def _walk(
        self, visits: Integers, batches: Sequence[ChangeBatch], total: int, progress: Integers
    ) -> None:
        firsts = np.empty(len(visits) + 1, np.int64)
        keyed_log.offsets(visits, self._change_counts, firsts)
        most = int(np.diff(firsts).max())
        self._make_room(most, total)
        pending, tags = self._place(batches, total)
        self._change_counts[visits] = 0
        self._seen[visits] = 0
        while True:
            status = self._call_walk(visits, firsts, pending, tags, progress)
            if status == lane_arrays.DONE:
                break
            if status == lane_arrays.NEEDS_IDS:
                pending, tags = self._wide_rows(pending, tags, is_walked=False), NO_TAGS.copy()
                self._widen()
                self._make_room(most, total)
            else:
                self._make_more(status, progress)

    def _make_room(self, most: int, total: int) -> None:
        if most > self._news_room:
            self._grow_news(2 * most)
        if most + 8 > self._tail_room:
            self._grow_tail(4 * most + 8)
        wanted = int(self._counts[keyed_log.TOP]) + 2 * total
        if total > 4096 and wanted > len(self._rows):
            self._grow_rows(wanted + wanted // 4)

    def _make_more(self, status: int, progress: Integers) -> None:
        """Let an array grow that was too small."""
        if status == lane_arrays.NEEDS_ROWS:
            if not self._can_forget():
                self._grow_rows(2 * len(self._rows) + 2 * self._tail_room)
        elif status == lane_arrays.NEEDS_TAIL:
            self._grow_tail(2 * int(progress[lane_arrays.ROOM]))
        else:
            output = np.empty((2 * len(self._output), 4), np.int64)
            count = int(progress[lane_arrays.WRITTEN])
            output[:count] = self._output[:count]
            self._output = output

    def _place(self, batches: Sequence[ChangeBatch], total: int) -> tuple[Words, Tags]:
        pending, tags = self._new_rows(total), self._new_tags(total)
        counts, base = self._change_counts, self._known_base
        for batch in batches:
            columns = (batch.keys, batch.times, batch.fired, self.edge, base, batch.mark, counts)
            if self._is_wide:
                keyed_log.place_wide(*columns, pending, batch.tags)
            elif self.has_tags:
                keyed_log.place_tagged(*columns, pending, batch.tags, tags)
            else:
                keyed_log.place_narrow(*columns, pending)
        return pending, tags

    @property
    def _known_base(self) -> int:
        if self._base is None:
            raise InternalError("a lane has no base before its first query")
        return self._base

    def _call_walk(
        self, visits: Integers, firsts: Integers, pending: Words, tags: Tags, progress: Integers
    ) -> int:
        walk = lane_walk.walk_wide if self._is_wide else lane_walk.walk_narrow
        return walk(
            self._lane, self._state_words, self._state_ids, self._fired_words, self._fired_ids,
            self._counts, self._memo, visits, firsts, pending, tags, self._rows, self._tags,
            self._places, self._states, self._edge_arms, self._edge_since, self._since,
            self._marks, self._slots, self._dues, self._links, self._back_links, self._heads,
            self._news, self._news_tags, self._spare, self._runs, self._tail, self._tail_tags,
            self._arms, self._starts, self._output, self._known_base, self.edge, self.query,
            self._width, progress,
        )  # fmt: skip

    def _told(self, progress: Integers, too_late: int) -> LaneChanges:
        stops, columns = lane_edges.by_code(self._output, int(progress[lane_arrays.WRITTEN]))
        come, signals_come, gone, signals_gone = (
            [column[first:stop] for column in columns]
            for first, stop in zip(
                (0, stops[63], stops[127], stops[191]), stops[63::64].tolist(), strict=True
            )
        )
        return LaneChanges(
            BitIntervals(*come), BitIntervals(*gone), BitPoints(*signals_come[:3]),
            BitPoints(*signals_gone[:3]), int(progress[lane_arrays.CONFLICTS]),
            int(progress[lane_arrays.UNMATCHED]), too_late,
        )  # fmt: skip

    # -- making room -------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget the rows of all keys up to the edge; a walk forgets those of visited keys only."""
        count = self.key_count
        arrays = (
            self._lane, self._state_words, self._state_ids, self._fired_words, self._fired_ids,
            self._counts, self._memo, self._rows, self._tags, self._places[:count],
            self._states[:count], self._edge_arms[:count], self._edge_since[:count],
            self._since[:count], self._marks[:count], self._slots, self._arms,
        )  # fmt: skip
        forget = lane_walk.forget_wide if self._is_wide else lane_walk.forget_narrow
        if not forget(*arrays, self._known_base, self.edge):
            self._widen()
            self._forget()

    def _live(self) -> tuple[Integers, Integers]:
        """The places of all rows that are not forgotten, by key, and how many each key has."""
        places = self._places[: self.key_count]
        sizes = places[:, keyed_log.SIZE] - places[:, keyed_log.HEAD]
        begins = places[:, keyed_log.FIRST] + places[:, keyed_log.HEAD]
        offsets = np.cumsum(sizes) - sizes
        return np.repeat(begins - offsets, sizes) + np.arange(sizes.sum()), sizes

    def _pack(self, rows: Words, tags: Tags, sizes: Integers) -> None:
        """Give every key a place of its size, and write its rows there."""
        wanted = np.maximum(sizes + sizes // 2, 8).astype(np.float64)
        capacities = np.where(sizes > 0, 1 << np.ceil(np.log2(wanted)).astype(np.int64), 0)
        begins = np.cumsum(capacities) - capacities
        total = int(capacities.sum())
        self._rows, self._tags = self._new_rows(2 * total + 1024), self._new_tags(2 * total + 1024)
        offsets = np.cumsum(sizes) - sizes
        to = np.repeat(begins - offsets, sizes) + np.arange(len(rows))
        self._rows[to] = rows
        if len(self._tags):
            self._tags[to] = tags
        columns = (begins, capacities, np.zeros_like(sizes), sizes)
        self._places[: self.key_count] = np.column_stack(columns)
        self._counts[keyed_log.FREE_PLACES :] = 0
        self._counts[keyed_log.TOP] = total

    def _can_forget(self) -> bool:
        """Forget the rows of keys that nothing happens to, if that makes much room."""
        self._forget()
        live, sizes = self._live()
        if 4 * len(live) > len(self._rows):
            return False
        self._pack(self._rows[live], self._tags[live] if len(self._tags) else self._tags, sizes)
        return True

    def _move_base(self) -> None:
        """Let times count from the edge; rows become wide if the window is too long for that."""
        if self.query - self.edge > _LONGEST:
            self._widen()
            return
        self._forget()
        live, _ = self._live()
        base = self.edge - 1
        self._rows[live] -= np.uint64(base - self._known_base) << np.uint64(TIME_BITS)
        self._base = base

    def _wide_rows(self, rows: Words, tags: Tags, is_walked: bool) -> Words:
        """Narrow rows as wide ones; what has not been walked has a mark and no state."""
        wide = np.zeros((len(rows), WIDE_COLUMNS), np.uint64)
        wide[:, 0] = rows >> np.uint64(TIME_BITS)
        wide[:, 1] = self._fired_words[(rows >> np.uint64(16)) & np.uint64(0xFFFF)]
        last = rows & np.uint64(0xFFFF)
        wide[:, 2] = self._state_words[2 * last] if is_walked else last
        if len(tags):
            wide[:, 3] = tags
        return wide

    def _widen(self, known: int | None = None) -> None:
        """Turn to wide rows, since ids are used up or times are too far apart.

        Keys from `known` on have words for states already.
        """
        live, sizes = self._live()
        tags = self._tags[live] if len(self._tags) else self._tags
        rows = self._wide_rows(self._rows[live], tags, is_walked=True)
        ids = self._states[: self.key_count if known is None else known, 0]
        ids[:] = self._state_words[2 * ids]
        self._is_wide = True
        self._pack(rows, NO_TAGS, sizes)
        self._grow_news(self._news_room)
        self._grow_tail(self._tail_room)

    # -- the window --------------------------------------------------------------------------

    def intervals(self) -> BitIntervals:
        """All intervals that reach the window, with their true starts, by bit, key and start."""
        listing = (
            lane_edges.list_intervals_wide if self._is_wide else lane_edges.list_intervals_narrow
        )
        output, progress = self._output, np.zeros(3, np.int64)
        count, starts = self.key_count, np.empty(MOST_BITS, np.int64)
        base = self.start if self._base is None else self._base
        while not listing(
            self._lane, self._state_words, self._rows, self._places[:count],
            self._states[:count], self._edge_since[:count], self._slots, base, self.edge, starts,
            output, progress,
        ):  # fmt: skip
            output = _twice(output)
        return BitIntervals(*lane_edges.by_code(output, int(progress[1]))[1])

    def signals(self) -> BitPoints:
        """All points of reported signals in the window, by bit, key and time."""
        listing = lane_edges.list_signals_wide if self._is_wide else lane_edges.list_signals_narrow
        output, progress = self._output, np.zeros(3, np.int64)
        count, base = self.key_count, self.start if self._base is None else self._base
        while not listing(
            self._lane, self._state_words, self._state_ids, self._fired_words, self._fired_ids,
            self._counts, self._memo, self._rows, self._places[:count], self._states[:count],
            base, self.edge, output, progress,
        ):  # fmt: skip
            if progress[2]:
                self._widen()
                return self.signals()
            output = _twice(output)
        return BitPoints(*lane_edges.by_code(output, int(progress[1]))[1][:3])

    def conflicts(self) -> int:
        """How many conflicts there are in the window."""
        counting = (
            lane_conflicts.count_conflicts_wide
            if self._is_wide
            else lane_conflicts.count_conflicts_narrow
        )
        count, base = self.key_count, self.start if self._base is None else self._base
        conflicts: int = counting(
            self._lane, self._state_words, self._state_ids, self._fired_words, self._fired_ids,
            self._counts, self._memo, self._rows, self._places[:count], self._states[:count],
            base, self.edge,
        )  # fmt: skip
        if conflicts < 0:
            self._widen()
            return self.conflicts()
        return conflicts

    def arms(self) -> BitIntervals:
        """When delays were under way in the window; `bits` are the numbers of delays.

        An end is where the effect took place, the source was broken or the delay was armed again,
        or `NEVER`.
        """
        listing = lane_arms.list_arms_wide if self._is_wide else lane_arms.list_arms_narrow
        output, progress = self._output, np.zeros(3, np.int64)
        count, base = self.key_count, self.start if self._base is None else self._base
        armed = np.zeros(self._delay_count, np.int64)
        while not listing(
            self._lane, self._state_words, self._state_ids, self._fired_words, self._fired_ids,
            self._counts, self._memo, self._rows, self._places[:count], self._states[:count],
            self._edge_arms[:count], base, armed, output, progress,
        ):  # fmt: skip
            if progress[2]:
                self._widen()
                return self.arms()
            output = _twice(output)
        return BitIntervals(*lane_edges.by_code(output, int(progress[1]))[1])

    # -- saving ------------------------------------------------------------------------------

    def saved(self) -> dict[str, Array]:
        """All that `restored` needs, as plain arrays."""
        live, sizes = self._live()
        states, fired = int(self._counts[STATES]), int(self._counts[FIRED])
        numbers = [self.start, self.edge, self.query, self._width, self._is_wide, self.has_tags]
        numbers += [self._base is not None, self._base or 0]
        arrays: dict[str, Array] = {"numbers": np.array(numbers, np.int64), "sizes": sizes}
        arrays["rows"] = self._rows[live]
        arrays["tags"] = self._tags[live] if len(self._tags) else self._tags
        arrays["state_words"] = self._state_words[: 2 * states].copy()
        arrays["fired_words"] = self._fired_words[:fired].copy()
        arrays |= {name: getattr(self, f"_{name}")[: self.key_count].copy() for name in _SAVED}
        for name in ("keys", "times", "fired", "tags"):
            parts = [getattr(batch, name) for batch in self._batches]
            arrays[f"waiting_{name}"] = np.concatenate([*parts, _WAITING[name]])
        lengths = [len(batch.keys) for batch in self._batches]
        marks = np.array([batch.mark for batch in self._batches], np.int64)
        arrays["waiting_marks"] = np.repeat(marks, lengths)
        return arrays

    @classmethod
    def restored(cls, tables: LaneTables, saved: Mapping[str, Array]) -> LaneState:
        """The lane that was saved; its tables are the same."""
        numbers = saved["numbers"].tolist()
        state = cls(tables, numbers[0], bool(numbers[5]))
        state.edge, state.query, state._width = numbers[1:4]
        state._base = numbers[7] if numbers[6] else None
        state.key_count = len(saved["sizes"])
        state._grow_keys(max(state.key_count, 64))
        for name in _SAVED:
            getattr(state, f"_{name}")[: state.key_count] = saved[name]
        state._restore_words(saved)
        state._pack(saved["rows"], saved["tags"], saved["sizes"])
        state._restore_visits(saved)
        return state

    def _restore_words(self, saved: Mapping[str, Array]) -> None:
        words = saved["state_words"]
        ids = np.empty(len(words) // 2, np.uint64)
        known = (self._state_words, self._state_ids, self._counts)
        intern_states(words[::2].copy(), words[1::2].copy(), *known, ids)
        self._intern_fired(saved["fired_words"])
        if saved["numbers"][4]:
            self._is_wide = True
            self._grow_news(self._news_room)
            self._grow_tail(self._tail_room)

    def _restore_visits(self, saved: Mapping[str, Array]) -> None:
        """Bring back the calendar, keys whose state changes, and records that wait."""
        keys = np.flatnonzero(saved["dues"] != NEVER)
        self._dues[keys] = NEVER
        calendar = (self._dues, self._links, self._back_links, self._heads)
        set_dues(keys, saved["dues"][keys], max(self._width, 1), *calendar)
        self._forced = [np.flatnonzero(saved["marks"])]
        for mark in (COME, GONE):
            rows = np.flatnonzero(saved["waiting_marks"] == int(mark))
            keys, times, fired = (saved[f"waiting_{name}"][rows] for name in _WAITING_COLUMNS)
            tags = saved["waiting_tags"][rows] if self.has_tags else None
            self.change(keys, times, fired, tags, gone=mark == GONE)


_SAVED = ("states", "edge_arms", "edge_since", "since", "marks", "dues")
_WAITING_COLUMNS = ("keys", "times", "fired")
_WAITING: dict[str, Array] = {
    "keys": np.zeros(0, np.int64), "times": np.zeros(0, np.int64),
    "fired": np.zeros(0, np.uint64), "tags": np.zeros(0, np.uint32),
}  # fmt: skip
_KEY_ARRAYS = (
    "_places", "_states", "_edge_arms", "_edge_since", "_since", "_marks", "_seen",
    "_change_counts", "_visits", "_dues", "_links", "_back_links",
)  # fmt: skip


def _has_bits(word: np.uint64) -> Booleans:
    """For each bit: is it set in a word?"""
    return np.array([bool(int(word) >> bit & 1) for bit in range(MOST_BITS)])


def _twice(output: Matrix) -> Matrix:
    larger = np.empty((2 * len(output), 4), np.int64)
    larger[: len(output)] = output
    return larger
