"""What is known of all linked instances at some time: their words, timers and starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.evaluate.linked.linked_queues import LinkedQueues
from cernis.evaluate.linked.linked_rows import FiredRows, ToldRows, joined_told
from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.linked.linked_output import in_told_order, list_open
from cernis.kernels.linked.linked_tables import (
    CONFLICT_CODES,
    LINE,
    LINKS,
    NO_CHAIN,
    NO_DUE,
    NO_NEIGHBOUR,
    NUMBER,
    WORD,
    KindTables,
    packed_kinds,
    queue_rows,
)
from cernis.kernels.linked.linked_walk import (
    DONE,
    MEMO_SIZE,
    NEEDS_OUTPUT,
    PROGRESS_SIZE,
    WRITTEN,
    LinkedMemory,
    LinkedRecords,
    LinkedRules,
    TouchedHandles,
    join_chains,
    walk_linked,
)
from cernis.kernels.sweep.lane_tables import ARMED, DELAY
from cernis.kernels.sweep.transition import with_derived

_EARLIEST = np.iinfo(np.int64).min
ALL = (1 << 64) - 1


class LinkedMachine:
    """The rules of a linked program as arrays, and the memory of transitions."""

    def __init__(self, kinds: Sequence[KindTables]) -> None:
        self.kinds = kinds
        self.tables = packed_kinds(kinds)
        self.queues = queue_rows(kinds)
        self.memo = np.zeros(MEMO_SIZE, np.uint64)
        self.output = np.empty((4096, 4), np.int64)
        numbers = np.repeat(np.arange(len(kinds)), 64)
        of_conflicts = np.minimum(np.arange(CONFLICT_CODES), len(kinds) - 1)
        self.code_kinds = np.concatenate([numbers, numbers, of_conflicts, numbers])
        """For each code: the kind of the instances it is told of."""
        self.code_uses = np.concatenate(
            [
                *(_bits(int(kind.lane.reported)) for kind in kinds),
                *(_bits(int(kind.lane.reported_signals)) for kind in kinds),
                (np.arange(CONFLICT_CODES) < len(kinds)).astype(np.int64),
                *(_bits((1 << len(kind.lane.delays)) - 1) for kind in kinds),
            ]
        )
        """For each code: 1 if it is told of any instance."""

    @property
    def signal_code(self) -> int:
        """The first code of a signal."""
        return 64 * len(self.kinds)

    @property
    def conflict_code(self) -> int:
        """The first code of conflicts; each kind has one."""
        return 2 * self.signal_code

    @property
    def arm_code(self) -> int:
        """The first code of a delay that was under way."""
        return self.conflict_code + CONFLICT_CODES

    def grow_output(self, count: int, room: int) -> None:
        """Make room for more output; so many rows are written."""
        output = np.empty((room, 4), np.int64)
        output[:count] = self.output[:count]
        self.output = output


def _aligned(count: int) -> Integers:
    """An array that begins where a line of the processor's cache does."""
    room = np.empty(count + LINE, np.int64)
    first = -(room.ctypes.data // 8) % LINE
    return room[first : first + count]


def _bits(mask: int) -> Integers:
    """The 64 bits of a mask."""
    return np.array([mask >> bit & 1 for bit in range(64)], np.int64)


class LinkedCells:
    """The words, timers and starts of all instances, and the queues of what is due."""

    def __init__(self, machine: LinkedMachine) -> None:
        self._machine = machine
        self.cells = np.zeros(0, np.int64)
        self.handles: list[Integers] = [np.empty(0, np.int64) for _ in machine.kinds]
        """By kind: the handle of each number."""
        self._used = 0
        self._queues = self._queues_of(self.handles)

    @property
    def line_count(self) -> int:
        """How many lines of the cache there are."""
        return self._used // LINE

    # -- instances --------------------------------------------------------------------------

    def add(
        self, kind: int, words: Words, allowed: Words, links: Matrix, start: int,
        since: Matrix | None = None, arms: Matrix | None = None,
    ) -> None:  # fmt: skip
        """Add instances of a kind, in the order of their numbers; `links` has handles.

        What holds at first holds from the first point after the start on, and delays that are under
        way were armed at the start, unless `since` and `arms` say otherwise, by bit and by delay.
        """
        tables = self._machine.kinds[kind]
        count, width, first = len(words), tables.width, self._used
        self._reserve(count * width)
        rows = self.cells[first : first + count * width].reshape(count, width)
        known = len(self.handles[kind])
        rows[:] = self._first_row(tables, start)
        rows[:, LINKS : tables.dues_at] = links
        if tables.late:
            words = self._with_late(tables, words, allowed, links)
        rows[:, WORD], rows[:, NUMBER] = words.view(np.int64), np.arange(known, known + count)
        has_dues = self._set_dues(rows, tables, words, start, arms)
        if since is not None:
            for bit, slot in tables.slots.items():
                holds = np.flatnonzero(words >> np.uint64(bit) & np.uint64(1))
                rows[holds, tables.since_at + slot] = since[holds, bit]
        if tables.allowed_at:
            rows[:, tables.allowed_at] = allowed.view(np.int64)
        self._used += count * width
        handles = np.arange(first, first + count * width, width)
        self.handles[kind] = np.concatenate([self.handles[kind], handles]) if known else handles
        if tables.chains:
            join_chains(self._machine.tables, kind, self.cells.view(np.uint64), handles)
        if has_dues:
            self._queues = self._queues_of(self.handles)

    def _first_row(self, tables: KindTables, start: int) -> Integers:
        """What most instances begin with."""
        row = np.zeros(tables.width, np.int64)
        row[tables.dues_at : tables.since_at] = NO_DUE
        row[tables.since_at : tables.since_at + tables.slot_count] = start + tables.lane.tick
        heads_at = tables.chains_at + len(tables.chains)
        row[tables.chains_at : heads_at] = NO_CHAIN
        row[heads_at : heads_at + tables.readers] = NO_NEIGHBOUR
        return row

    def _with_late(self, tables: KindTables, words: Words, allowed: Words, links: Matrix) -> Words:
        """Words with the late bits that follow from those of linked instances."""
        words, late = words & np.uint64(~tables.late & ALL), np.uint64(tables.late)
        active = np.flatnonzero(words & np.uint64(tables.active))
        if len(active):
            seen = words[active]
            for link, source, bit in tables.reads:
                held = self.cells[links[active, link] + WORD] >> source & 1
                seen |= held.view(np.uint64) << np.uint64(bit)
            pairs = np.column_stack([seen, allowed[active]])
            pairs, which = np.unique(pairs, axis=0, return_inverse=True)
            derived = [with_derived(tables.lane, *pair) for pair in pairs.tolist()]
            words[active] |= np.array(derived, np.uint64)[which.ravel()] & late
        return words

    def _set_dues(
        self, rows: Matrix, tables: KindTables, words: Words, start: int, arms: Matrix | None
    ) -> bool:
        """Note when delays are due that are under way; are there any?"""
        has_dues = False
        for place, delay in enumerate(tables.lane.delays.tolist()):
            armed = np.flatnonzero(words & np.uint64(1 << delay[ARMED]))
            if len(armed):
                column = rows[:, tables.dues_at + place]
                column[armed] = delay[DELAY] + (start if arms is None else arms[armed, place])
                has_dues = True
        return has_dues

    def _reserve(self, more: int) -> None:
        if self._used + more > len(self.cells):
            cells = _aligned(max(self._used + more, 2 * len(self.cells)))
            cells[: self._used] = self.cells[: self._used]
            self.cells = cells

    def set_allowed(self, kind: int, numbers: Integers, allowed: Words) -> None:
        """Let groundings allow other pairs to some instances."""
        place = self._machine.kinds[kind].allowed_at
        self.cells[self.handles[kind][numbers] + place] = allowed.view(np.int64)

    def copy_from(self, other: LinkedCells, only: list[Integers] | None) -> None:
        """Let instances be as they are in another one that has the same ones; all, or only some."""
        if only is None:
            self.cells[: self._used] = other.cells[: self._used]
            self._queues = self._queues_of(self.handles)
            return
        for own, tables in zip(only, self._machine.kinds, strict=True):
            places = (own[:, None] + np.arange(tables.width)).ravel()
            self.cells[places] = other.cells[places]

    # -- queues -----------------------------------------------------------------------------

    def _queues_of(self, handles: list[Integers]) -> LinkedQueues:
        """What is due of some instances, by kind."""
        entries = []
        delays = len(self._machine.queues) // 2
        for kind, due_at, _ in self._machine.queues[:delays].tolist():
            dues = self.cells[handles[kind] + due_at]
            armed = np.flatnonzero(dues != NO_DUE)
            order = armed[np.argsort(dues[armed], kind="stable")]
            entries.append((dues[order], handles[kind][order]))
        return LinkedQueues(entries)

    # -- walks ------------------------------------------------------------------------------

    def walk(
        self, rows: FiredRows, until: int, opened_after: int | None = None,
        tells_arms: bool = False, only: list[Integers] | None = None,
        told_of: list[Integers] | None = None,
    ) -> ToldRows:  # fmt: skip
        """Walk over rows, in the order of time, and what is due; gives what is told, sorted.

        That is what has ended; what holds at the end since some time after `opened_after`, if that
        is given; signals and conflicts; and, on request, when delays were under way. `only` has the
        handles of some instances, by kind, that no others are linked to: all others stay as they
        are, and rows must be of these. Where only some have rows, `told_of` has the handles of
        those of which it is told what holds.
        """
        queues = self._queues if only is None else self._queues_of(only)
        handles = self.handles if only is None else only
        written = self._walk(rows, queues, handles, until, tells_arms)
        if only is not None:
            self._queues.merge(queues)
        if opened_after is not None:
            written = self._list_open(written, opened_after, told_of or handles)
        return self._told(written)

    def _walk(
        self, rows: FiredRows, queues: LinkedQueues, handles: list[Integers], until: int,
        tells_arms: bool,
    ) -> int:  # fmt: skip
        """Walk; gives how many rows were written."""
        machine = self._machine
        counts = np.zeros(2 * len(machine.kinds), np.int64)
        most = max((len(each) for each in handles), default=0)
        touched = np.empty((len(counts), max(most, 1)), np.int64)
        progress = np.zeros(PROGRESS_SIZE, np.int64)
        wanted = 2 * len(rows.times) + 1024
        if wanted > len(machine.output):
            machine.grow_output(0, wanted)
        while True:
            status = walk_linked(
                LinkedRules(machine.tables, machine.queues, machine.memo),
                LinkedMemory(self.cells, self.cells.view(np.uint64)), LinkedRecords(*rows),
                queues.arrays, TouchedHandles(touched, counts), machine.output, progress, until,
                tells_arms,
            )  # fmt: skip
            if status == DONE:
                return int(progress[WRITTEN])
            if status == NEEDS_OUTPUT:
                machine.grow_output(int(progress[WRITTEN]), 2 * len(machine.output))
            else:
                queues.grow()

    def open_intervals(self, only: list[Integers] | None = None) -> ToldRows:
        """What holds now, in no order; of some instances only if their handles are given."""
        count = self._list_open(0, _EARLIEST, self.handles if only is None else only)
        return ToldRows(*np.ascontiguousarray(self._machine.output[:count].T))

    def _list_open(self, written: int, bound: int, by_kind: list[Integers]) -> int:
        """Write what holds since some time after a bound; gives how many rows there are then."""
        machine, words = self._machine, self.cells.view(np.uint64)
        for kind, handles in enumerate(by_kind):
            while True:
                count = list_open(
                    machine.tables, kind, words, self.cells, handles, machine.output, written,
                    bound,
                )  # fmt: skip
                if count >= 0:
                    break
                machine.grow_output(written, 2 * len(machine.output))
            written = count
        return written

    def _told(self, count: int) -> ToldRows:
        return self._in_order(self._machine.output, count)

    def in_order(self, rows: ToldRows) -> ToldRows:
        """Rows by code and number, those of one code and number as they are."""
        return self._in_order(np.column_stack(rows), len(rows.codes))

    def _in_order(self, output: Matrix, count: int) -> ToldRows:
        sizes = np.array([len(handles) for handles in self.handles], np.int64)
        by_code = self._machine.code_uses * sizes[self._machine.code_kinds]
        return ToldRows(*in_told_order(output, count, by_code))

    def running_delays(self) -> ToldRows:
        """The delays that are under way, since when they were armed."""
        parts, first = [], self._machine.arm_code
        for kind, tables in enumerate(self._machine.kinds):
            for place, delay in enumerate(tables.lane.delays.tolist()):
                dues = self.cells[self.handles[kind] + tables.dues_at + place]
                armed = np.flatnonzero(dues != NO_DUE)
                ends = np.full(len(armed), NO_DUE)
                codes = np.full(len(armed), first + 64 * kind + place)
                parts.append(ToldRows(codes, armed, dues[armed] - delay[DELAY], ends))
        return joined_told(parts)

    def become(self, other: LinkedCells) -> None:
        """Become a copy of another one."""
        self._used = 0
        self._reserve(other._used)
        self._used = other._used
        self.cells[: self._used] = other.cells[: self._used]
        self.handles = list(other.handles)
        self._queues = self._queues_of(self.handles)
