"""The arrays of a lane: rows by key, what is known of keys, ids of words, room for the walk.

Arrays grow where a walk finds too little room. Rows are narrow at first; they become wide when ids
of words are used up, or when times lie too far apart.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

import numpy as np

from cernis.errors import InternalError
from cernis.evaluate.sweep.change_batches import NO_TAGS
from cernis.kernels.array_types import Array, HalfIntegers, Integers, Matrix, Words
from cernis.kernels.sweep import keyed_log, lane_arrays, lane_walk
from cernis.kernels.sweep.key_calendar import BUCKETS, Calendar
from cernis.kernels.sweep.lane_arrays import KeyLog, LaneMachine, Scratch, WindowTimes
from cernis.kernels.sweep.lane_memo import LINE_SIZE, MEMO_SIZE
from cernis.kernels.sweep.lane_rows import TIME_BITS, WIDE_COLUMNS
from cernis.kernels.sweep.lane_tables import MOST_BITS, LaneTables, packed
from cernis.kernels.sweep.registers.register_tables import ROOM
from cernis.kernels.sweep.word_ids import (
    FIRED,
    HASH_BITS,
    MOST_IDS,
    STATES,
    intern_fired,
    intern_states,
)

_COUNTS = 64
LONGEST_WINDOW = 2**TIME_BITS - 2
"""In units of time: as long as times fit narrow rows."""

_LONGEST_WALK = 2**62
"""From where times count, as long as they and delays after them fit signed numbers."""


def is_walkable_span(first: int, last: int) -> bool:
    """Can a walk from one point to another count its times?

    It counts them from the first on, in signed numbers, with room for delays after the last.
    """
    return last - first < _LONGEST_WALK


class KnownTransitions:
    """The words that a lane has met, with their ids, and what is remembered of transitions.

    They follow from the lane's tables alone, so the next run over the same lane goes on with them.
    """

    def __init__(self) -> None:
        self.counts = np.zeros(_COUNTS, np.int64)
        self.state_words = np.zeros(2 * (MOST_IDS + 1), np.uint64)
        self.state_ids = np.zeros(1 << HASH_BITS, np.int32)
        self.fired_words = np.zeros(MOST_IDS + 1, np.uint64)
        self.fired_ids = np.zeros(1 << HASH_BITS, np.int32)
        self.memo = np.zeros(LINE_SIZE * MEMO_SIZE, np.uint64)
        self._user: Callable[[], LaneStorage | None] = lambda: None

    @property
    def is_free(self) -> bool:
        """Does no lane go on with them, and are there ids for as many words again?"""
        used = max(int(self.counts[STATES]), int(self.counts[FIRED]))
        return self._user() is None and 2 * used < MOST_IDS

    def begin(self, user: LaneStorage) -> None:
        """Let a lane begin that has no rows yet."""
        self._user = ref(user)
        self.counts[FIRED + 1 :] = 0


class LaneStorage:
    """The rows and states of a lane's keys, in arrays that grow."""

    def __init__(
        self, tables: LaneTables, start: int = 0, has_tags: bool = False,
        known: KnownTransitions | None = None,
    ) -> None:  # fmt: skip
        if has_tags and tables.registers.register_count:
            registers = tables.registers._replace(payloads=tables.registers.payloads + 1)
            tables = tables._replace(registers=registers)  # the tag is one more value beside rows
        self.tables = tables
        self.start = start
        self.has_tags = has_tags
        self.edge = self.query = start
        self._registers = tables.registers
        self._lane = packed(tables)
        self._delay_count = len(tables.delays)
        self._base: int | None = None
        self._slots = np.zeros(MOST_BITS, np.int64)
        reported = [bit for bit in range(MOST_BITS) if int(tables.reported) >> bit & 1]
        self._slots[reported] = np.arange(len(reported))
        self._slot_count = len(reported)
        self._is_wide = False
        self._make_machine(known or KnownTransitions())
        self._make_keys()
        self._make_scratch()

    @property
    def _kind(self) -> tuple[bool, bool]:
        """Are rows wide, and has the lane registers?"""
        return self._is_wide, self._registers.register_count > 0

    # -- arrays ------------------------------------------------------------------------------

    def _make_machine(self, known: KnownTransitions) -> None:
        known.begin(self)
        self._counts = known.counts
        self._state_words, self._state_ids = known.state_words, known.state_ids
        self._fired_words, self._fired_ids = known.fired_words, known.fired_ids
        self._memo = known.memo
        self._numbers = np.concatenate([np.zeros(ROOM), self._registers.constants])
        nothing = np.zeros(1, np.uint64)
        self._intern_fired(nothing)  # what fires nothing has the id 0

    def _make_keys(self) -> None:
        self.key_count = 0
        self._rows: Words = np.zeros(1024, np.uint64)
        self._tags = self._new_tags(1024)
        self._places = np.zeros((0, 4), np.int64)
        self._states = np.zeros((0, 4), np.uint64)
        self._edge_arms = np.zeros((0, self._delay_count), np.int64)
        known = self._slot_count + self._registers.register_count
        self._edge_since = np.zeros((0, known), np.int64)
        self._since = np.zeros((0, known), np.int64)
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
        self._output = np.empty((4096, 5 if self._registers.register_count else 4), np.int64)
        self._arms = np.zeros((2, self._delay_count), np.int64)
        self._starts = np.zeros((lane_arrays.START_LINES, MOST_BITS), np.int64)

    def _new_rows(self, count: int) -> Words:
        return np.empty((count, WIDE_COLUMNS) if self._is_wide else count, np.uint64)

    def _new_tags(self, count: int, is_walked: bool = True) -> Array:
        """What stands beside rows: tags, or payloads and, of rows that are walked, registers."""
        if self._registers.register_count:
            width = self._registers.width if is_walked else self._registers.payloads
            return np.empty((count, width), np.int64)
        has_tags = self.has_tags and not self._is_wide
        return np.empty(count, np.uint32) if has_tags else NO_TAGS.copy()

    def _grow_news(self, count: int) -> None:
        self._news_room = count
        self._news, self._spare = self._new_rows(count), self._new_rows(count)
        self._news_tags = self._new_tags(count, is_walked=False)
        self._runs = np.empty(count + 2, np.int64)

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

    def _intern_states(self, words: Words, allowed: Words, column: Words) -> None:
        ids = np.empty(len(words), np.uint64)
        words, allowed = np.ascontiguousarray(words), np.ascontiguousarray(allowed)
        known = (self._state_words, self._state_ids, self._counts)
        if intern_states(words, allowed, *known, ids):
            column[:] = ids
        else:
            self._widen(self.key_count - len(words))

    def _intern_fired(self, fired: Words) -> HalfIntegers | None:
        """The ids of fired words; None if there are too many."""
        ids = np.empty(len(fired), np.uint16)
        known = (self._fired_words, self._fired_ids, self._counts)
        return ids if intern_fired(fired, *known, ids) else None

    # -- making room -------------------------------------------------------------------------

    def _make_room(self, most: int, total: int) -> None:
        if most > self._news_room:
            self._grow_news(2 * most)
        if most + 8 > self._tail_room:
            self._grow_tail(4 * most + 8)
        wanted = int(self._counts[keyed_log.TOP]) + 2 * total
        if total > 4096 and wanted > len(self._rows):
            self._grow_rows(wanted + wanted // 4)
        if total > len(self._output) and self._registers.register_count:
            self._output = np.empty((total + total // 4, 5), np.int64)

    def _make_more(self, status: int, progress: Integers) -> None:
        """Let an array grow that was too small."""
        if status == lane_arrays.NEEDS_ROWS:
            # Up to the start of the run there is nothing to forget.
            if self.edge == self.start or not self._can_forget():
                self._grow_rows(2 * len(self._rows) + 2 * self._tail_room)
        elif status == lane_arrays.NEEDS_TAIL:
            self._grow_tail(2 * int(progress[lane_arrays.ROOM]))
        else:
            self._output = twice_as_long(self._output)

    @property
    def _known_base(self) -> int:
        if self._base is None:
            raise InternalError("a lane has no base before its first query")
        return self._base

    def _forget(self) -> None:
        """Forget the rows of all keys up to the edge; a walk forgets those of visited keys only."""
        log = self._log(self.key_count)
        if not lane_walk.FORGETTING[self._kind](self._machine, log, self._arms, self._window):
            self._widen()
            self._forget()

    # -- what kernels are called with ---------------------------------------------------------

    @property
    def _machine(self) -> LaneMachine:
        return LaneMachine(
            self._lane, self._state_words, self._state_ids, self._fired_words, self._fired_ids,
            self._counts, self._memo, self._numbers,
        )  # fmt: skip

    def _log(self, count: int | None = None) -> KeyLog:
        """The rows, and what is known of the first keys, or of all that there is room for."""
        return KeyLog(
            self._rows, self._tags, self._places[:count], self._states[:count],
            self._edge_arms[:count], self._edge_since[:count], self._since[:count],
            self._marks[:count], self._slots,
        )  # fmt: skip

    @property
    def _calendar(self) -> Calendar:
        return Calendar(self._dues, self._links, self._back_links, self._heads, self._width)

    @property
    def _scratch(self) -> Scratch:
        return Scratch(
            self._news, self._news_tags, self._spare, self._runs, self._tail, self._tail_tags,
            self._arms, self._starts,
        )  # fmt: skip

    @property
    def _window(self) -> WindowTimes:
        return WindowTimes(self._known_base, self.edge, self.query)

    def _live(self) -> tuple[Integers, Integers]:
        """The places of all rows that are not forgotten, by key, and how many each key has."""
        places = self._places[: self.key_count]
        sizes = places[:, keyed_log.SIZE] - places[:, keyed_log.HEAD]
        begins = places[:, keyed_log.FIRST] + places[:, keyed_log.HEAD]
        offsets = np.cumsum(sizes) - sizes
        return np.repeat(begins - offsets, sizes) + np.arange(sizes.sum()), sizes

    def _pack(self, rows: Words, tags: Array, sizes: Integers) -> None:
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
        if self.query - self.edge > LONGEST_WINDOW:
            self._widen()
            return
        self._forget()
        live, _ = self._live()
        base = self.edge - 1
        self._rows[live] -= np.uint64(base - self._known_base) << np.uint64(TIME_BITS)
        self._base = base

    def _wide_rows(self, rows: Words, tags: Array, is_walked: bool) -> Words:
        """Narrow rows as wide ones; what has not been walked has a mark and no state."""
        wide = np.zeros((len(rows), WIDE_COLUMNS), np.uint64)
        wide[:, 0] = rows >> np.uint64(TIME_BITS)
        wide[:, 1] = self._fired_words[(rows >> np.uint64(16)) & np.uint64(0xFFFF)]
        last = rows & np.uint64(0xFFFF)
        wide[:, 2] = self._state_words[2 * last] if is_walked else last
        if len(tags) and tags.ndim == 1:
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
        self._pack(rows, tags, sizes)
        self._grow_news(self._news_room)
        self._grow_tail(self._tail_room)


def twice_as_long(output: Matrix) -> Matrix:
    """An array with the same rows, and room for as many more."""
    larger = np.empty((2 * len(output), output.shape[1]), np.int64)
    larger[: len(output)] = output
    return larger


_KEY_ARRAYS = (
    "_places", "_states", "_edge_arms", "_edge_since", "_since", "_marks", "_seen",
    "_change_counts", "_visits", "_dues", "_links", "_back_links",
)  # fmt: skip
