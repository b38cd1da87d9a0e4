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
from cernis.evaluate.sweep.lane_storage import (
    LONGEST_WINDOW,
    KnownTransitions,
    LaneStorage,
    twice_as_long,
)
from cernis.kernels.array_types import Array, Booleans, Floats, Integers, Matrix, Tags, Words
from cernis.kernels.sweep import (
    keyed_log,
    lane_arms,
    lane_arrays,
    lane_conflicts,
    lane_edges,
    lane_walk,
)
from cernis.kernels.sweep.gates.holding_counts import HOLDING_COUNTS
from cernis.kernels.sweep.key_calendar import NEVER, due_keys, set_dues
from cernis.kernels.sweep.lane_arrays import HAS_CONFLICTS, KeyChanges
from cernis.kernels.sweep.lane_rows import COME, GONE
from cernis.kernels.sweep.lane_tables import MOST_BITS, REPORTED, LaneTables, armed_mask
from cernis.kernels.sweep.registers.register_tables import ROOM
from cernis.kernels.sweep.word_ids import FIRED, STATES, intern_states


class BitIntervals(NamedTuple):
    """Intervals of state bits by key. An end is `NEVER` while an interval is open."""

    bits: Integers
    keys: Integers
    starts: Integers
    ends: Integers


class ValueIntervals(NamedTuple):
    """Intervals of open bits by key, each with the value that a register had in it."""

    bits: Integers
    keys: Integers
    starts: Integers
    ends: Integers
    values: Integers


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
    values_come: ValueIntervals
    values_gone: ValueIntervals
    """Intervals of values that no bit of their own stands for: they are in no other list."""


class LaneState(LaneStorage):
    """The rows and states of a lane's keys.

    What keys hold at first, they hold from the first point after `start` on, and delays that are
    under way at first were armed at the start. `has_tags` says that records have tags: a record is
    taken back by one of its time, fired word and tag.
    """

    def __init__(
        self, tables: LaneTables, start: int = 0, has_tags: bool = False,
        known: KnownTransitions | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tables, start, has_tags, known)
        self._batches: list[ChangeBatch] = []
        open_bits = self._registers.open_bits
        if open_bits and int(tables.reported) & ~open_bits > open_bits & -open_bits:
            raise InternalError("open bits come after all others that are reported")

    # -- keys --------------------------------------------------------------------------------

    def add_keys(
        self, first_words: Words, allowed: Words, since: Matrix | None = None,
        arms: Matrix | None = None, registers: Matrix | None = None,
    ) -> None:  # fmt: skip
        """Add keys, numbered from `key_count` on, with the states that they begin with.

        `first_words` have the bits of what holds initially, of determined pairs that follow from
        it, of facts, and of delays that are armed by it. If something has held, or been armed, for
        longer than from the start on, `since` says so by state bit, and `arms` by delay.
        `registers` are the values of fluents that hold; without them they are 0.
        """
        first, stop = self.key_count, self.key_count + len(first_words)
        if stop > len(self._places):
            self._grow_keys(max(stop, 2 * len(self._places), 64))
        self.key_count = stop
        numbers = np.arange(first, stop)
        self._states[first:stop] = np.column_stack([first_words, allowed, allowed, first_words])
        if not self._is_wide:
            self._intern_states(first_words, allowed, self._states[first:stop, 0])
        self._edge_arms[first:stop] = self.start
        held = self._edge_since[first:stop]
        held[:, : self._slot_count] = self.start + self.tables.tick
        if since is not None:
            reported = np.flatnonzero(_has_bits(self.tables.reported))
            held[:, : self._slot_count] = since[:, reported]
        held[:, self._slot_count :] = 0 if registers is None else registers
        self._since[first:stop] = held
        if arms is not None:
            self._edge_arms[first:stop] = arms
        self._dues[first:stop] = NEVER
        visible = self.tables.reported | armed_mask(self.tables.delays)
        holding = numbers[(first_words & visible) != 0]
        if len(holding):
            self._marks[holding] = lane_arrays.IS_NEW
            self._forced.append(holding)

    def set_allowed(self, keys: Integers, allowed: Words) -> None:
        """Let groundings allow other pairs to some keys, from the edge of the next query on."""
        differs = self._states[keys, lane_arrays.ALLOWED_NOW] != allowed
        keys = np.asarray(keys, np.int64)[differs]
        self._states[keys, lane_arrays.ALLOWED_NOW] = allowed[differs]
        self._marks[keys] |= lane_arrays.IS_CHANGED
        self._forced.append(keys)

    def set_first(self, keys: Integers, words: Words) -> None:
        """Let some keys begin with other states, as long as the edge is the start."""
        self._states[keys, lane_arrays.FIRST_NOW] = words
        self._marks[keys] |= lane_arrays.IS_BEGUN_AGAIN
        self._forced.append(keys)

    # -- changes -----------------------------------------------------------------------------

    def change(
        self, keys: Integers, times: Integers, fired: Words, tags: Tags | None = None,
        gone: bool = False, payload: Matrix | None = None,
    ) -> None:  # fmt: skip
        """Take note of records that have come, or that are taken back.

        Records that fire nothing are of no account. In lanes with registers records may have a
        payload, with a row for each; one that is narrower than the lane's is filled up with 0.
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
                self._whole_payload(len(keys), payload, tags),
            )
        )  # fmt: skip

    def _whole_payload(self, count: int, payload: Matrix | None, tags: Tags) -> Matrix:
        width = self._registers.payloads if self._registers.register_count else 0
        known = np.zeros((count, 0), np.int64) if payload is None else payload
        if known.shape[1] == width:
            return np.ascontiguousarray(known, np.int64)
        whole = np.zeros((count, width), np.int64)
        whole[:, : known.shape[1]] = known
        if self.has_tags and width:
            whole[:, -1] = tags
        return whole

    def set_numbers(self, tables: Sequence[Floats], flags: Sequence[float] = ()) -> None:
        """Let codes stand for numbers.

        The first constants of guards say where tables begin, and then which registers of numbers
        have whole ones.
        """
        first = ROOM + len(self._registers.constants)
        self._numbers = np.concatenate([self._numbers[:first], *tables])
        lengths = [len(table) for table in tables]
        self._numbers[ROOM : ROOM + len(tables)] = first + np.cumsum([0, *lengths])[:-1]
        self._numbers[ROOM + len(tables) : ROOM + len(tables) + len(flags)] = flags

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
        if query - self._base > LONGEST_WINDOW and not self._is_wide:
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

    def _collect_visits(
        self, batches: Sequence[ChangeBatch], last: int, totals: Integers
    ) -> Integers:
        """The keys with changes, with something due or with another state, in order."""
        visits, counts = self._visits, self._change_counts
        for batch in batches:
            keyed_log.count_changes(batch.keys, batch.times, self.edge, counts, visits, totals)
        count = int(totals[0])
        due = np.empty(self.key_count, np.int64)
        due_count = due_keys(last, self.query, self._calendar, due)
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
                pending = self._wide_rows(pending, tags, is_walked=False)
                tags = tags if self._registers.register_count else NO_TAGS.copy()
                self._widen()
                self._make_room(most, total)
            else:
                self._make_more(status, progress)

    def _place(self, batches: Sequence[ChangeBatch], total: int) -> tuple[Words, Array]:
        pending, tags = self._new_rows(total), self._new_tags(total, is_walked=False)
        counts, base = self._change_counts, self._known_base
        place = keyed_log.PLACING[self._kind]
        for batch in batches:
            beside = batch.payload if self._registers.register_count else batch.tags
            place(
                batch.keys, batch.times, batch.fired, self.edge, base, batch.mark, counts, pending,
                beside, tags,
            )  # fmt: skip
        return pending, tags

    def _call_walk(
        self, visits: Integers, firsts: Integers, pending: Words, tags: Array, progress: Integers
    ) -> int:
        return lane_walk.WALKS[self._kind](
            self._machine, KeyChanges(visits, firsts, pending, tags), self._log(), self._calendar,
            self._scratch, self._output, self._window, progress,
        )  # fmt: skip

    def _told(self, progress: Integers, too_late: int) -> LaneChanges:
        stops, columns = lane_edges.by_code(self._output, int(progress[lane_arrays.WRITTEN]))
        limits = [0, *stops[63::64].tolist()]
        signals_come, signals_gone = (
            [column[limits[part] : limits[part + 1]] for column in columns[:3]] for part in (1, 3)
        )
        come, values_come = self._apart(columns, limits[0], limits[1], stops)
        gone, values_gone = self._apart(columns, limits[2], limits[3], stops[128:])
        return LaneChanges(
            come, gone, BitPoints(*signals_come), BitPoints(*signals_gone),
            int(progress[lane_arrays.CONFLICTS]), int(progress[lane_arrays.UNMATCHED]), too_late,
            values_come, values_gone,
        )  # fmt: skip

    def _apart(
        self, columns: list[Integers], first: int, stop: int, stops: Integers
    ) -> tuple[BitIntervals, ValueIntervals]:
        """Intervals of bits that stand for a value, and those of open bits, which come last."""
        open_bits = self._registers.open_bits
        if not open_bits:
            return BitIntervals(*(column[first:stop] for column in columns)), NO_VALUES
        lowest = (open_bits & -open_bits).bit_length() - 1
        middle = int(stops[lowest - 1]) if lowest else first
        return (
            BitIntervals(*(column[first:middle] for column in columns[:4])),
            ValueIntervals(*(column[middle:stop] for column in columns)),
        )

    # -- the window --------------------------------------------------------------------------

    def intervals(self) -> BitIntervals:
        """All intervals that reach the window, with their true starts, by bit, key and start.

        Those of open bits are left out.
        """
        listed = self._listed(int(self.tables.reported) & ~self._registers.open_bits)
        return BitIntervals(*listed[:4])

    def value_intervals(self) -> ValueIntervals:
        """The intervals of open bits that reach the window, with their values."""
        if not self._registers.register_count:
            return NO_VALUES
        return ValueIntervals(*self._listed(self._registers.open_bits))

    def _listed(self, reported: int) -> list[Integers]:
        """The columns of intervals of some bits, sorted by bit, key and start."""
        machine = self._machine
        if reported != int(self.tables.reported):
            machine = machine._replace(lane=self._lane.copy())
            machine.lane[REPORTED] = reported
        listing = lane_edges.INTERVAL_LISTS[self._kind]
        output, progress = self._output, np.zeros(3, np.int64)
        starts, log = np.empty(MOST_BITS, np.int64), self._log(self.key_count)
        base = self.start if self._base is None else self._base
        while not listing(machine, log, base, self.edge, starts, output, progress):
            output = twice_as_long(output)
        return lane_edges.by_code(output, int(progress[1]))[1]

    def signals(self) -> BitPoints:
        """All points of reported signals in the window, by bit, key and time."""
        listing = lane_edges.SIGNAL_LISTS[self._kind]
        output, progress = self._output, np.zeros(3, np.int64)
        machine, log = self._machine, self._log(self.key_count)
        base = self.start if self._base is None else self._base
        while not listing(machine, log, base, self.edge, output, progress):
            if progress[2]:
                self._widen()
                return self.signals()
            output = twice_as_long(output)
        return BitPoints(*lane_edges.by_code(output, int(progress[1]))[1][:3])

    def conflicts(self) -> int:
        """How many conflicts there are in the window."""
        log, base = self._log(self.key_count), self.start if self._base is None else self._base
        counting = lane_conflicts.CONFLICT_COUNTS[self._kind]
        conflicts: int = counting(self._machine, log, base, self.edge)
        if conflicts < 0:
            self._widen()
            return self.conflicts()
        return conflicts

    def arms(self) -> BitIntervals:
        """When delays were under way in the window; `bits` are the numbers of delays.

        An end is where the effect took place, the source was broken or the delay was armed again,
        or `NEVER`.
        """
        listing = lane_arms.ARM_LISTS[self._kind]
        output, progress = self._output, np.zeros(3, np.int64)
        machine, log = self._machine, self._log(self.key_count)
        base = self.start if self._base is None else self._base
        armed = np.zeros(self._delay_count, np.int64)
        while not listing(machine, log, base, armed, output, progress):
            if progress[2]:
                self._widen()
                return self.arms()
            output = twice_as_long(output)
        return BitIntervals(*lane_edges.by_code(output, int(progress[1]))[1][:4])

    def holding_counts(
        self, groups: Integers, times: Integers, chains: tuple[Integers, Integers], masks: Words
    ) -> Matrix:
        """For each point and mask: how many bits of it the keys of its group hold before it.

        `chains` are the first key of each group, and the next one after each key.
        """
        counts = np.zeros((len(groups), len(masks)), np.int64)
        base = self.start if self._base is None else self._base
        counting = HOLDING_COUNTS[self._kind]
        log = self._log(self.key_count)
        counting(self._machine, log, base, groups, times, *chains, masks, counts)
        return counts

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
        width = self._registers.payloads if self._registers.register_count else 0
        parts = [batch.payload for batch in self._batches]
        arrays["waiting_payload"] = np.concatenate([*parts, np.zeros((0, width), np.int64)])
        arrays["numbers_of_codes"] = self._numbers
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
        state._numbers = saved["numbers_of_codes"].copy()
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
        calendar = self._calendar._replace(width=max(self._width, 1))
        set_dues(keys, saved["dues"][keys], calendar)
        self._forced = [np.flatnonzero(saved["marks"] & ~np.uint8(HAS_CONFLICTS))]
        for mark in (COME, GONE):
            rows = np.flatnonzero(saved["waiting_marks"] == int(mark))
            keys, times, fired = (saved[f"waiting_{name}"][rows] for name in _WAITING_COLUMNS)
            tags = saved["waiting_tags"][rows] if self.has_tags else None
            payload = saved["waiting_payload"][rows] if self._registers.register_count else None
            self.change(keys, times, fired, tags, gone=mark == GONE, payload=payload)


NO_POINTS = BitPoints(*(np.zeros(0, np.int64) for _ in range(3)))
NO_INTERVALS = BitIntervals(*(np.zeros(0, np.int64) for _ in range(4)))
NO_VALUES = ValueIntervals(*(np.zeros(0, np.int64) for _ in range(5)))
_SAVED = ("states", "edge_arms", "edge_since", "since", "marks", "dues")
_WAITING_COLUMNS = ("keys", "times", "fired")
_WAITING: dict[str, Array] = {
    "keys": np.zeros(0, np.int64), "times": np.zeros(0, np.int64),
    "fired": np.zeros(0, np.uint64), "tags": np.zeros(0, np.uint32),
}  # fmt: skip


def _has_bits(word: np.uint64) -> Booleans:
    """For each bit: is it set in a word?"""
    return np.array([bool(int(word) >> bit & 1) for bit in range(MOST_BITS)])
