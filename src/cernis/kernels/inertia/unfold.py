"""Cycles in one pass: what rules say, decided in the order of time.

What a rule says of a point depends on what held there, which earlier points decide. So all rows of
all rules of a cycle can be decided in one walk through time that keeps what holds: at each point
first the effects that are due, then rows in the order of their ranks, and last what all this does
to what holds, which no rule has seen at that point. Where rules may postpone effects at the very
point at which they are due, the point is first decided without effects. That a value starts
or ends is known when all that may initiate or terminate one of the fluent has been decided.

Everything is numbered before. An *instance* is the arguments of one fluent or derived event. A
*record* is a rule for certain arguments: its head and the instances its conditions ask about. The
records that events drive come with times; those that an initiation, a termination or a derived
event drives wait for its *class*, a slot for each instance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Place, SmallMatrix
from cernis.kernels.compile import FEW_ROWS, body, kernel, shortened
from cernis.kernels.inertia.cycle_points import (
    AGENDA,
    BEGUN,
    CONFLICTS,
    COUNT,
    DECIDED,
    DUE,
    EDGES,
    GROUP,
    HAPPENED,
    HELD,
    HIGHEST,
    INTERVALS,
    LAYERS,
    LONG_AGO,
    ON_TRIAL,
    OPENED,
    RANK,
    ROW,
    RULE,
    START,
    TOUCHED,
    WAITING,
    decide,
    take_effects_due,
)
from cernis.kernels.inertia.cycle_values import (
    change_instance,
    close_group,
    end_trial,
    open_group,
    tell_edges,
)
from cernis.kernels.inertia.due_heap import HEAP, Heap
from cernis.kernels.inertia.points import NEVER, NO_POINT, UNTIL_DUE
from cernis.kernels.inertia.structures import (
    AGENDA_WORDS,
    CYCLE_TABLES,
    DRIVEN_RECORDS,
    INTERVAL_COLUMNS,
    NOTE_COLUMNS,
    PENDING_VALUES,
    WAITING_RECORDS,
    WALK_LIMITS,
    WALKED_EFFECTS,
    Agenda,
    CycleTables,
    DrivenRecords,
    IntervalColumns,
    NoteColumns,
    PendingValues,
    WaitingRecords,
    WalkedEffects,
    WalkLimits,
)

Three = tuple[Integers, Integers, Integers]
Effects = tuple[Integers, Integers, Integers, Integers, Integers]
"""Slots of values, delays, what is reported of effects, what they do, which are postponable."""


@dataclass(frozen=True, slots=True)
class Causes:
    """The records of a cycle, and what they are about.

    `records` are sorted by group, time and rank, and `times` are theirs. Group g has the records
    `ends[g-1]:ends[g]` and the instances `members[member_ends[g-1]:member_ends[g]]`; what happens
    in one depends on no other. `inner` are records that wait, those of slot s being
    `triggers[s]:triggers[s+1]`.
    """

    rules: Matrix
    relations: Matrix
    classes: Matrix
    relation_of: Integers
    effects: Effects
    records: SmallMatrix
    times: Integers
    ends: Integers
    members: Integers
    member_ends: Integers
    inner: SmallMatrix
    triggers: Integers
    edge: int
    query: int
    tick: int
    quiet: int = NO_POINT


@dataclass(slots=True)
class Unfolded:
    """What came about, in the order it did, group by group."""

    intervals: list[Integers]
    """Instances, values, starts and ends."""
    initiations: list[Integers]
    """Instances, values and times of initiations that effects count from, where starts do not tell
    that; with the complement of the value, when they are no longer under way."""
    happened: list[Integers]
    """Instances, actions and times of what relations keep: initiations, terminations, events."""
    conflicts: int
    decided: int
    """So many records were decided, each for one point."""


@kernel("records integers writable-records", "nothing")
def _pick(records: SmallMatrix, order: Integers, moved: SmallMatrix) -> None:
    for row in range(Place(len(order))):
        place = Place(order[row])
        for column in range(Place(records.shape[1])):
            moved[row, column] = records[place, column]


def picked(records: SmallMatrix, order: Integers) -> SmallMatrix:
    """Records in another order."""
    moved = np.empty_like(records)
    _pick(records, order, moved)
    return moved


@body
def _rows_of_rank(
    rank: int, now: int, mark: int, stop: int, records: SmallMatrix, times: Integers,
    tables: CycleTables, state: Matrix, happened: Integers, inner: WaitingRecords, agenda: Agenda,
    kept: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """Decide what events drive and what waits, of one rank; `mark` is written of what happens."""
    row = progress[ROW]
    while row < stop and times[Place(row)] == now:
        place = Place(row)
        if tables.rules[Place(records[place, RULE]), RANK] > rank:
            progress[HIGHEST] = max(progress[HIGHEST], rank + 1)
            break
        decide(place, records, mark, tables, state, happened, inner, agenda, kept, progress)
        row += 1
    progress[ROW] = row
    waiting = inner.first_of_rank[Place(rank)]
    inner.first_of_rank[Place(rank)] = -1
    while waiting >= 0:
        decide(
            Place(waiting),
            inner.records,
            mark,
            tables,
            state,
            happened,
            inner,
            agenda,
            kept,
            progress,
        )
        waiting = inner.following[Place(waiting)]


@kernel(
    f"{CYCLE_TABLES} {WALKED_EFFECTS} {DRIVEN_RECORDS} {WAITING_RECORDS} {WALK_LIMITS} "
    f"writable-matrix {PENDING_VALUES} writable-integers {AGENDA_WORDS} {HEAP} "
    f"{INTERVAL_COLUMNS} {NOTE_COLUMNS} {NOTE_COLUMNS} writable-integers",
    "boolean",
    rows=FEW_ROWS,
)
def _unfold(
    tables: CycleTables, effects: WalkedEffects, driven: DrivenRecords, inner: WaitingRecords,
    limits: WalkLimits, state: Matrix, pending: PendingValues, happened: Integers, agenda: Agenda,
    heap: Heap, intervals: IntervalColumns, begins: NoteColumns, kept: NoteColumns,
    progress: Integers,
) -> bool:  # fmt: skip
    """Goes on from where `progress` says; gives whether all is done.

    If not, what was written has to make room first.
    """
    records, times, ends, members, member_ends = driven
    edge, query, tick, edges, tries, room = limits
    keys, touched = heap.keys, agenda.instances
    while progress[GROUP] < len(ends):
        group = Place(progress[GROUP])
        stop = ends[group]
        if progress[OPENED] == progress[GROUP]:
            open_group(group, query, members, member_ends, state, heap, progress)
            progress[OPENED] += 1
        while True:
            now = times[Place(progress[ROW])] if progress[ROW] < stop else NEVER
            if progress[WAITING] > 0:
                now = min(now, keys[0])
            if now > query or now == NEVER:
                break
            if progress[INTERVALS] > room or progress[BEGUN] > room or progress[HAPPENED] > room:
                return False
            on_trial = tries & (progress[WAITING] > 0) & (keys[0] == now)
            while on_trial >= 0:
                row, count, decided = progress[ROW], progress[HAPPENED], progress[DECIDED]
                mark = now ^ (ON_TRIAL * on_trial)
                progress[HIGHEST] = edges
                if not on_trial:
                    take_effects_due(
                        now, query, tables, effects, state, pending, happened, inner, agenda, kept,
                        heap, progress,
                    )  # fmt: skip
                rank = 0
                while rank <= progress[HIGHEST]:
                    if 0 < rank <= edges and now > edge:
                        tell_edges(
                            rank, mark, tables, state, happened, inner, agenda, kept, progress
                        )
                    _rows_of_rank(
                        rank, now, mark, stop, records, times, tables, state, happened, inner,
                        agenda, kept, progress,
                    )  # fmt: skip
                    rank += 1
                if on_trial:
                    end_trial(now, tables, effects, state, pending, agenda, progress)
                    progress[ROW], progress[HAPPENED], progress[DECIDED] = row, count, decided
                on_trial -= 1
            for place in range(progress[TOUCHED]):
                change_instance(
                    touched[Place(place)], now, query, tick, tables, effects, state, pending,
                    agenda, heap, intervals, begins, progress,
                )  # fmt: skip
            progress[TOUCHED] = progress[AGENDA] = 0
        if progress[INTERVALS] > room:
            return False
        close_group(group, members, member_ends, state, intervals, progress)
        progress[GROUP] += 1
        progress[ROW] = stop
    return True


def unfold(
    causes: Causes, held: Integers, starts: Integers, dues: Integers, waiting: Three | None = None,
    room: int | None = None,
) -> Unfolded:  # fmt: skip
    """All that comes about from what instances hold at first, since when, and until which effect.

    `held` is a value, or `NOTHING`; `dues` are times, or `NEVER`. Instances that hold nothing may
    have initiations under way: `waiting` are instances, values, and when their effects are due.
    Ties are broken by the rule `break`; an initiation that loses has its effects, too. A record
    that has several conditions must meet all. Happenings of one point are known
    to records of higher ranks only; what holds changes after the point. Records and effects after
    the query are left out. Open intervals end at `NEVER`.
    """
    instances, inner = len(causes.relation_of), len(causes.inner)
    # Where a relation tells no starts and ends, its rank for them is 0.
    edges = int(causes.relations[:, EDGES].max(initial=0))
    tries = int((causes.effects[4] == UNTIL_DUE).any())
    layers = int(causes.relations[:, LAYERS].max(initial=0))
    # So many values of an instance may have effects.
    wide = max(1, int(np.count_nonzero(causes.effects[0])))
    most = len(causes.times) + inner + instances * max(wide * layers, 1)
    # Memory that is not written to costs nothing; where it is too little, the walk makes a halt.
    room = room or 4 * (len(causes.times) + instances) + 65_536
    state = np.full((instances, 5), -1, np.int64)
    state[:, HELD], state[:, START], state[:, DUE], state[:, COUNT] = held, starts, dues, 0
    ranks = max(edges, int(causes.rules[:, RANK].max(initial=0))) + 1
    pending = _pending(state, waiting, wide)
    happened = np.full(causes.triggers.size - 1, LONG_AGO)
    inner_records = WaitingRecords(
        causes.inner, causes.triggers, np.empty(inner, np.int64), np.full(ranks, -1)
    )
    agenda = Agenda(*(np.empty(length, np.int64) for length in (most, most, instances)))
    heap = Heap(
        np.empty(instances, np.int64), np.empty(instances, np.int64), np.full(instances, -1)
    )
    lengths = [instances] * 4 + [2 * instances * (wide + 1)] * 3 + [most] * 3
    written = [np.empty(room + 1 + length, np.int64) for length in lengths]
    progress = np.zeros(12, np.int64)
    parts: list[list[Integers]] = [[] for _ in written]
    kinds = [INTERVALS] * 4 + [BEGUN] * 3 + [HAPPENED] * 3
    tables = CycleTables(causes.rules, causes.relations, causes.classes, causes.relation_of)
    limits = WalkLimits(causes.edge, causes.query, causes.tick, edges, tries, room)
    while not _unfold(
        tables, WalkedEffects(*causes.effects, causes.quiet),
        DrivenRecords(
            causes.records, causes.times, causes.ends, causes.members, causes.member_ends
        ),
        inner_records, limits, state, pending, happened, agenda, heap,
        IntervalColumns(*written[:4]), NoteColumns(*written[4:7]), NoteColumns(*written[7:]),
        progress,
    ):  # fmt: skip
        for part, column, kind in zip(parts, written, kinds, strict=True):
            part.append(column[: progress[kind]].copy())
        progress[[INTERVALS, BEGUN, HAPPENED]] = 0
    # Arrays are cut in place, so nothing else may have them.
    last = [shortened(part, progress[kind]) for part, kind in zip(written, kinds, strict=True)]
    columns = [
        np.concatenate([*part, rest]) if part else rest
        for part, rest in zip(parts, last, strict=True)
    ]
    return Unfolded(
        columns[:4], columns[4:7], columns[7:], int(progress[CONFLICTS]), int(progress[DECIDED])
    )


def _pending(state: Matrix, waiting: Three | None, wide: int) -> PendingValues:
    """The values under way of each instance and when they are due, at first; also in the state."""
    values, dues = np.empty((len(state), wide), np.int64), np.empty((len(state), wide), np.int64)
    if waiting is None or not len(waiting[0]):
        return PendingValues(values, dues)
    order = np.argsort(waiting[0], kind="stable")
    instances = waiting[0][order]
    places = np.arange(len(instances)) - np.searchsorted(instances, instances)
    values[instances, places], dues[instances, places] = waiting[1][order], waiting[2][order]
    np.add.at(state[:, COUNT], instances, 1)
    np.minimum.at(state[:, DUE], instances, dues[instances, places])
    return PendingValues(values, dues)
