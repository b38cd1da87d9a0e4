"""The walk of a linked program: changes of records go in, changes of intervals come out.

News on time goes on from the words as they stand. What is late, or taken back, makes the walk go
over the window again, from the words at its edge, for the instances that are linked to those with
such records, directly or by way of others. These words are made when they are needed, from an
*anchor*: the words at some earlier time, and the records since then. It may be later for some
instances than for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cernis.evaluate.linked.linked_cells import LinkedCells, LinkedMachine
from cernis.evaluate.linked.linked_history import InstanceFlags, RecordLog, ToldHistory
from cernis.evaluate.linked.linked_rows import (
    NOTHING,
    FiredRows,
    ToldRows,
    differing,
    joined_rows,
    joined_told,
    without_rows,
)
from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.components import GrowingComponents
from cernis.kernels.linked.linked_tables import KIND_BITS, LINE, NO_DUE, KindTables
from cernis.kernels.sweep.lane_tables import MOST_BITS

_EARLIEST = np.iinfo(np.int64).min
_MANY = 1_000_000
"""So many records may lie before the edge of the window until the anchor follows it."""


@dataclass(frozen=True, slots=True)
class LinkedChanges:
    """What a query has changed, all sorted by code, number and start; conflicts are in none."""

    come: ToldRows
    gone: ToldRows
    signals_come: ToldRows
    signals_gone: ToldRows


@dataclass(frozen=True, slots=True)
class _Addition:
    """Instances of a kind, with what is known of them at first."""

    kind: int
    words: Words
    allowed: Words
    links: Matrix
    since: Matrix | None
    arms: Matrix | None


class LinkedState:
    """The words of all instances of a linked program, and the records of the window."""

    def __init__(self, kinds: Sequence[KindTables], start: int) -> None:
        self.kinds = kinds
        self.start = self.edge = self.query = start
        self.machine = LinkedMachine(kinds)
        self._cells = LinkedCells(self.machine)
        self._anchor: LinkedCells | None = None
        """The words at the anchor; None while they are those of the beginning."""
        self._additions: list[_Addition] = []
        self._components = GrowingComponents()
        self._pending: list[tuple[Integers, Integers]] = []
        """Links of instances that components do not know yet, by handles."""
        self._log = RecordLog()
        """The records since the anchor, up to the last query."""
        self._come: list[FiredRows] = []
        self._gone: list[FiredRows] = []
        self._ended = ToldHistory("ends")
        """Intervals that have ended in the window; of the rest, and of open ones, no account."""
        self._known: ToldRows | None = None
        """The intervals that reach the window as of the last query, sorted, if they were needed."""
        self._signals = ToldHistory("starts")
        self._conflicts = ToldHistory("starts")
        self._is_first = True
        self._allowed: list[tuple[int, Integers, Words]] = []
        """What groundings allow some instances from the next query on."""

    # -- instances --------------------------------------------------------------------------

    def count(self, kind: int) -> int:
        """How many instances of a kind there are."""
        return len(self._cells.handles[kind])

    def add(
        self, kind: int, words: Words, allowed: Words, links: Matrix, since: Matrix | None = None,
        arms: Matrix | None = None,
    ) -> None:  # fmt: skip
        """Add instances of a kind; `links` has the numbers of those they are linked to."""
        handles = links.copy()
        for place, target in enumerate(self.kinds[kind].links):
            handles[:, place] = self._cells.handles[target][links[:, place]]
        addition = _Addition(kind, words, allowed, handles, since, arms)
        known = self.count(kind)
        self._add(addition, self._cells)
        new = self._cells.handles[kind][known:]
        self._pending += [(new, handles[:, place]) for place in range(links.shape[1])]
        if self._anchor is not None:
            self._add(addition, self._anchor)
        else:
            self._additions.append(addition)

    def _add(self, each: _Addition, cells: LinkedCells) -> None:
        cells.add(
            each.kind, each.words, each.allowed, each.links, self.start, each.since, each.arms
        )

    def set_allowed(self, kind: int, numbers: Integers, allowed: Words) -> None:
        """Let groundings allow other pairs to some instances, from the edge of the query on."""
        self._allowed.append((kind, numbers, allowed))

    # -- changes ----------------------------------------------------------------------------

    def change(
        self, kind: int, numbers: Integers, times: Integers, fired: Words, gone: bool
    ) -> None:
        """Take note of records that have come, or that are taken back."""
        instances = (self._cells.handles[kind][numbers] << KIND_BITS) | kind
        rows = FiredRows(np.ascontiguousarray(times, np.int64), instances, fired)
        (self._gone if gone else self._come).append(rows)

    # -- queries ----------------------------------------------------------------------------

    def update(self, edge: int, query: int) -> LinkedChanges:
        """Forget what is up to the edge, walk up to the query, and tell what has changed."""
        last, self.edge, self.query = self.query, edge, query
        come, self._come = self._due(self._come)
        gone, self._gone = self._due(self._gone)
        self._follow_query(last)
        late = come.times <= last
        if not (self._allowed or len(gone.times) or late.any()):
            changes = self._walk_on(come, last)
        else:
            flags = self._touched(come.where(late), gone)
            changes = self._walk_partly_again(come, gone, flags, last)
        self._is_first = False
        return changes

    def _due(self, batches: list[FiredRows]) -> tuple[FiredRows, list[FiredRows]]:
        """The rows after the edge and up to the query in the order of time, and those that wait."""
        rows = joined_rows(batches)
        if not len(rows.times):
            return rows, []
        waits = rows.times > self.query
        waiting = [rows.where(waits)] if waits.any() else []
        is_here = ~waits & (rows.times > self.edge)
        return (rows if is_here.all() else rows.where(is_here)).in_order(), waiting

    def _walk_on(
        self, come: FiredRows, last: int, among: list[Integers] | None = None
    ) -> LinkedChanges:
        """Go on from the words as they stand; rows are of some instances, if these are given."""
        tick = self.kinds[0].lane.tick
        self._log.append(come)
        bound = _EARLIEST if self._is_first else last + tick
        intervals, signals, conflicts = self._parts(
            self._cells.walk(come, self.query, bound, told_of=among)
        )
        gone = NOTHING
        if not self._is_first:
            # What began up to then was told as open.
            was_open = intervals.where(intervals.starts <= bound)
            gone = was_open._replace(ends=np.full(len(was_open.ends), NO_DUE))
        self._known = intervals if self._is_first and among is None else None
        self._note(intervals, signals, conflicts)
        self._follow_edge()
        return LinkedChanges(intervals, gone, signals, NOTHING)

    def _parts(self, written: ToldRows) -> tuple[ToldRows, ToldRows, ToldRows]:
        """Intervals, signals and conflicts."""
        machine = self.machine
        conflicts = written.coded(machine.conflict_code, machine.arm_code)
        kinds = conflicts.codes - machine.conflict_code
        return (
            written.coded(0, machine.signal_code),
            written.coded(machine.signal_code, machine.conflict_code),
            conflicts._replace(codes=kinds * MOST_BITS),
        )

    def _note(self, intervals: ToldRows, signals: ToldRows, conflicts: ToldRows) -> None:
        self._ended.append(intervals, self._bound)
        self._signals.append(signals, self.edge)
        self._conflicts.append(conflicts, self.edge)

    def _joined(self, one: LinkedChanges, other: LinkedChanges) -> LinkedChanges:
        """Changes of different instances."""
        return LinkedChanges(
            self._united(one.come, other.come), self._united(one.gone, other.gone),
            self._united(one.signals_come, other.signals_come),
            self._united(one.signals_gone, other.signals_gone),
        )  # fmt: skip

    def _united(self, one: ToldRows, other: ToldRows) -> ToldRows:
        """Rows of different instances, sorted."""
        if not (len(one.codes) and len(other.codes)):
            return one if len(one.codes) else other
        return self._cells.in_order(joined_told([one, other]))

    # -- what is late -----------------------------------------------------------------------

    def _touched(self, late: FiredRows, gone: FiredRows) -> InstanceFlags:
        """The instances that are linked to those with late records, or other groundings."""
        cells = self._cells
        links = [(left // LINE, right // LINE) for left, right in self._pending]
        self._components.link(cells.line_count, links)
        self._pending = []
        handles = [late.instances >> KIND_BITS, gone.instances >> KIND_BITS]
        handles += [cells.handles[kind][numbers] for kind, numbers, _ in self._allowed]
        lines = np.concatenate(handles) // LINE
        return InstanceFlags(self._components.linked_to(lines), cells.handles)

    def _walk_partly_again(
        self, come: FiredRows, gone: FiredRows, flags: InstanceFlags, last: int
    ) -> LinkedChanges:
        """Walk again for the instances that are meant, and go on for the others."""
        if flags.are_all:
            return self._walk_again(come, gone, flags)
        is_again = flags.of_rows(come)
        again = self._walk_again(come.where(is_again), gone, flags)
        return self._joined(
            again, self._walk_on(come.where(~is_again), last, flags.other_handles())
        )

    def _walk_again(self, come: FiredRows, gone: FiredRows, flags: InstanceFlags) -> LinkedChanges:
        """Walk the window from the words at its edge, and compare with what was told before."""
        cells, anchor = self._cells, self._anchor_cells()
        rows = self._log.take_out(flags)
        stop = int(np.searchsorted(rows.times, self.edge, side="right"))
        anchor.walk(rows.where(slice(0, stop)), self.edge, only=flags.only)
        for each in self._allowed:
            anchor.set_allowed(*each)
        self._allowed = []
        rows, _ = without_rows(joined_rows([rows.where(slice(stop, None)), come]), gone)
        rows = rows.in_order()
        self._log.append(rows)
        before = NOTHING if self._is_first else self._take_intervals(flags)
        signals_before = cells.in_order(self._signals.take_out(flags, self.edge))
        self._conflicts.take_out(flags, self.edge)
        cells.copy_from(anchor, flags.only)
        parts = self._parts(cells.walk(rows, self.query, _EARLIEST, only=flags.only))
        self._note(*parts)
        self._known = parts[0] if flags.are_all else None
        removed, added = differing(before, parts[0])
        signals = differing(signals_before, parts[1])
        return LinkedChanges(added, removed, signals[1], signals[0])

    def _take_intervals(self, flags: InstanceFlags) -> ToldRows:
        """Take out the intervals, of the instances that are meant, that reach the window."""
        if flags.are_all:
            rows = self._window_intervals()
            self._ended.take_out(flags, self._bound)
            return rows
        rows = self._ended.take_out(flags, self._bound)
        still_open = self._cells.open_intervals(flags.only)
        ended = rows.where(rows.ends != NO_DUE)
        return self._cells.in_order(joined_told([ended, still_open]))

    @property
    def _bound(self) -> int:
        """What ends after this point reaches the window."""
        return self.edge + self.kinds[0].lane.tick

    def _window_intervals(self) -> ToldRows:
        """The intervals that reach the window, sorted."""
        bound = self._bound
        if self._known is None:
            rows = self._ended.after(bound)
            ended = rows.where(rows.ends != NO_DUE)
            # Later chunks have later intervals, and what is still open comes last.
            still_open = self._cells.open_intervals()
            self._known = self._cells.in_order(joined_told([ended, still_open]))
            self._ended.keep(self._known)
        if not (self._known.ends > bound).all():
            self._known = self._known.where(self._known.ends > bound)
            self._ended.keep(self._known)
        return self._known

    def _window_signals(self) -> ToldRows:
        rows = self._cells.in_order(self._signals.after(self.edge))
        self._signals.keep(rows)
        return rows

    # -- the anchor -------------------------------------------------------------------------

    def _anchor_cells(self) -> LinkedCells:
        """The words at the anchor."""
        if self._anchor is None:
            self._anchor = LinkedCells(self.machine)
            for each in self._additions:
                self._add(each, self._anchor)
            self._additions = []
        return self._anchor

    def _move_anchor(self, time: int) -> None:
        """Bring the anchor to a time, over records and what is due up to then."""
        anchor, rows = self._anchor_cells(), self._log.all()
        stop = int(np.searchsorted(rows.times, time, side="right"))
        anchor.walk(rows.where(slice(0, stop)), time)
        self._log.keep(rows.where(slice(stop, None)))

    def _follow_query(self, last: int) -> None:
        """Let the anchor be the last query if no record before it counts any more."""
        if self.edge >= last and self._log.count > _MANY:
            self._anchor_cells().become(self._cells)
            self._log = RecordLog()

    def _follow_edge(self) -> None:
        """Let the anchor follow the edge if many records lie between, so that they can go."""
        passed = self._log.count_up_to(self.edge)
        if passed > max(_MANY, 2 * (self._log.count - passed)):
            self._move_anchor(self.edge)

    # -- the window -------------------------------------------------------------------------

    def intervals(self) -> ToldRows:
        """All intervals that reach the window, with their true starts, sorted."""
        return self._window_intervals()

    def signals(self) -> ToldRows:
        """All points of reported signals in the window, sorted."""
        return self._window_signals()

    def conflicts(self) -> int:
        """How many conflicts there are in the window."""
        return int(self._conflicts.after(self.edge).ends.sum())

    def arms(self) -> ToldRows:
        """When delays were under way in the window, by code of the kind and the delay, sorted."""
        self._move_anchor(self.edge)
        cells = LinkedCells(self.machine)
        cells.become(self._anchor_cells())
        code = self.machine.arm_code
        written = cells.walk(self._log.all(), self.query, tells_arms=True)
        ended = written.coded(code, code + self.machine.signal_code)
        rows = cells.in_order(joined_told([ended, cells.running_delays()]))
        return rows._replace(codes=rows.codes - code)
