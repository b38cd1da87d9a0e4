"""What the points of a cycle do to what its instances hold, and to initiations under way."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Place
from cernis.kernels.compile import body
from cernis.kernels.inertia.cycle_points import (
    ACTIONS,
    AGENDA,
    BASE,
    BEGUN,
    CONFLICTS,
    COUNT,
    DUE,
    EDGE,
    EDGES,
    HELD,
    INTERVALS,
    IS_TALL,
    LINES,
    MOVED,
    NOTHING,
    ONE,
    SLOTS,
    START,
    TOUCHED,
    WAITING,
    WIDTH,
    ZERO,
    happen,
    note,
)
from cernis.kernels.inertia.due_heap import Heap, enter
from cernis.kernels.inertia.points import ALL, NEVER, UNTIL_DUE
from cernis.kernels.inertia.structures import (
    Agenda,
    CycleTables,
    IntervalColumns,
    NoteColumns,
    PendingValues,
    WaitingRecords,
    WalkedEffects,
)


@body
def _begins(first: int, agenda: Agenda) -> tuple[int, bool]:
    """The value that the actions of an instance initiate, and whether there is another."""
    initiated, many = NOTHING, False
    while first >= 0:
        action = agenda.actions[Place(first)]
        if action & 1:
            many |= (initiated != NOTHING) & (initiated != action >> 1)
            initiated = action >> 1
        first = agenda.following[Place(first)]
    return initiated, many


@body
def _ends(first: int, value: int, agenda: Agenda) -> bool:
    """Do the actions of an instance end a value?"""
    ended = False
    while first >= 0:
        action = agenda.actions[Place(first)]
        ended |= (action == ALL) | (action == value << 1)
        first = agenda.following[Place(first)]
    return ended


@body
def _until(
    value: int, instance: int, now: int, tables: CycleTables, effects: WalkedEffects
) -> tuple[int, int]:
    """When the effects of a value that begins now are due, and whether they can be put off."""
    relations, relation = tables.relations, Place(tables.relation_of[Place(instance)])
    width = relations[relation, WIDTH]
    if width == 0 or value == NOTHING:
        return NEVER, 0
    slot = effects.slots[Place(relations[relation, SLOTS] + value)]
    line = relations[relation, IS_TALL] * (instance - relations[relation, BASE])
    delay = effects.delays[Place(relations[relation, LINES] + line * width + slot)]
    moved = effects.postponable[Place(relations[relation, MOVED] + slot)]
    return now + delay if (delay >= 0) & (now != effects.quiet) else NEVER, moved


@body
def put_interval(
    to: IntervalColumns, count: Place, instance: int, held: int, start: int, end: int
) -> None:
    """Write what may be an interval; it is one if the count moves on."""
    to.instances[count] = instance
    to.values[count] = held
    to.starts[count] = start
    to.ends[count] = end


@body
def held_after(first: int, held: int, agenda: Agenda) -> tuple[int, int, bool]:
    """What an instance holds after its actions, what they initiate, and whether in conflict."""
    initiated, many = _begins(first, agenda)
    is_ended = _ends(first, held if initiated == NOTHING else initiated, agenda)
    after = held if initiated == NOTHING else initiated
    return NOTHING if is_ended or many else after, initiated, many


@body
def tell_edges(
    rank: int, now: int, tables: CycleTables, state: Matrix, happened: Integers,
    inner: WaitingRecords, agenda: Agenda, kept: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """What starts or ends at a point, of relations all of whose causes have been decided."""
    relations, relation_of = tables.relations, tables.relation_of
    for place in range(progress[TOUCHED]):
        instance = agenda.instances[Place(place)]
        if relations[Place(relation_of[Place(instance)]), EDGES] == rank:
            held = state[Place(instance), HELD]
            after, _, _ = held_after(state[Place(instance), ACTIONS], held, agenda)
            for value, kind in ((held, 0), (after, 1)):
                if after != held and value != NOTHING:
                    happen(
                        instance, EDGE | value << 1 | kind, now, tables, happened, inner, kept,
                        progress,
                    )  # fmt: skip


@body
def _note_over(
    held: int, instance: int, now: int, tick: int, tables: CycleTables, effects: WalkedEffects,
    state: Matrix, begins: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """Note that the initiation of what was held is no longer under way, if that was noted."""
    due, moved = _until(held, instance, now, tables, effects)
    start, expected = state[Place(instance), START], state[Place(instance), DUE]
    # What starts tell is due a delay after them.
    is_apart = due != NEVER and expected != NEVER and expected - (due - now) != start - tick
    if moved or is_apart:
        note(begins, Place(progress[BEGUN]), instance, ~held, now)
        progress[BEGUN] += 1


@body
def _sift(
    instance: int, first: int, initiated: int, many: bool, now: int, state: Matrix,
    pending: PendingValues, agenda: Agenda, begins: NoteColumns, progress: Integers,
) -> int:  # fmt: skip
    """Keep the initiations under way that a point does not break.

    Gives when the effects are due of what lost before and holds from now on.
    """
    row, due = Place(instance), NEVER
    place, kept, count = ZERO, ZERO, Place(state[Place(instance), COUNT])
    while place < count:
        value = pending.values[row, place]
        is_other = initiated != NOTHING and initiated != value
        if many or is_other or _ends(first, value, agenda):
            note(begins, Place(progress[BEGUN]), instance, ~value, now)
            progress[BEGUN] += 1
        elif initiated == value:
            due = pending.dues[row, place]
        else:
            pending.values[row, kept], pending.dues[row, kept] = value, pending.dues[row, place]
            kept += ONE
        place += ONE
    state[row, COUNT] = np.int64(kept)
    return due


@body
def _add_lost(
    instance: int, first: int, now: int, tables: CycleTables, effects: WalkedEffects, state: Matrix,
    pending: PendingValues, agenda: Agenda, begins: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """Add initiations that lose their point: they hold nothing, but have their effects."""
    row, count = Place(instance), Place(state[Place(instance), COUNT])
    while first >= 0:
        action = agenda.actions[Place(first)]
        first = agenda.following[Place(first)]
        if action & 1:
            value, place = action >> 1, ZERO
            while place < count and pending.values[row, place] != value:
                place += ONE
            due, _ = _until(value, instance, now, tables, effects)
            if place == count and due != NEVER:
                pending.values[row, count], pending.dues[row, count] = value, due
                count += ONE
                note(begins, Place(progress[BEGUN]), instance, value, now)
                progress[BEGUN] += 1
    state[row, COUNT] = np.int64(count)


@body
def _soonest(instance: int, state: Matrix, pending: PendingValues) -> int:
    """When the first effects are due of what an instance does not hold."""
    due, row = NEVER, Place(instance)
    place, count = ZERO, Place(state[Place(instance), COUNT])
    while place < count:
        due = min(due, pending.dues[row, place])
        place += ONE
    return due


@body
def change_instance(
    instance: int, now: int, query: int, tick: int, tables: CycleTables, effects: WalkedEffects,
    state: Matrix, pending: PendingValues, agenda: Agenda, heap: Heap, intervals: IntervalColumns,
    begins: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """What the actions of a point do to an instance."""
    row, first = Place(instance), state[Place(instance), ACTIONS]
    state[row, ACTIONS] = -1
    held = state[row, HELD]
    after, initiated, many = held_after(first, held, agenda)
    progress[CONFLICTS] += many
    if after != held:
        if held != NOTHING:
            _note_over(held, instance, now, tick, tables, effects, state, begins, progress)
        put_interval(
            intervals, Place(progress[INTERVALS]), instance, held, state[row, START], now + tick
        )
        progress[INTERVALS] += held != NOTHING
        state[row, HELD], state[row, START] = after, now + tick
    due, moved = _until(after, instance, now, tables, effects)
    is_first = after == held and state[row, DUE] == NEVER and due != NEVER
    is_moved = initiated != NOTHING and after != NOTHING and (moved != 0 or is_first)
    if state[row, COUNT] > 0:
        earlier = _sift(
            instance, first, initiated, many, now, state, pending, agenda, begins, progress
        )
        due = due if earlier == NEVER or is_moved else earlier
    if after == NOTHING:
        if initiated != NOTHING:
            _add_lost(
                instance, first, now, tables, effects, state, pending, agenda, begins, progress
            )
        due = _soonest(instance, state, pending)
    elif after == held and not is_moved:
        return
    state[row, DUE] = due
    if due <= query:
        progress[WAITING] = np.int64(enter(instance, due, Place(progress[WAITING]), heap))
    if is_moved:
        note(begins, Place(progress[BEGUN]), instance, after, now)
        progress[BEGUN] += 1


# -- before a point, and at both ends of a walk ----------------------------------------------


@body
def _initiates(instance: int, value: int, state: Matrix, agenda: Agenda) -> bool:
    """Is the initiation of a value among the actions of an instance?"""
    first, initiates = state[Place(instance), ACTIONS], False
    while first >= 0:
        initiates |= agenda.actions[Place(first)] == (value << 1 | 1)
        first = agenda.following[Place(first)]
    return initiates


@body
def _postpone(
    instance: int, now: int, tables: CycleTables, effects: WalkedEffects, state: Matrix,
    pending: PendingValues, agenda: Agenda,
) -> None:  # fmt: skip
    """Put off the effects that are due now and that the actions of an instance postpone."""
    row = Place(instance)
    place, count, held = ZERO, Place(state[row, COUNT]), state[row, HELD]
    if count == ZERO and state[row, DUE] == now and _initiates(instance, held, state, agenda):
        due, moved = _until(held, instance, now, tables, effects)
        if moved == UNTIL_DUE:
            state[row, DUE] = due
    while place < count:
        value = pending.values[row, place]
        if pending.dues[row, place] == now and _initiates(instance, value, state, agenda):
            due, moved = _until(value, instance, now, tables, effects)
            if moved == UNTIL_DUE:
                pending.dues[row, place] = due
        place += ONE
    if count > ZERO:
        state[row, DUE] = _soonest(instance, state, pending)


@body
def end_trial(
    now: int, tables: CycleTables, effects: WalkedEffects, state: Matrix, pending: PendingValues,
    agenda: Agenda, progress: Integers,
) -> None:  # fmt: skip
    """Let what rules do without effects postpone these, and nothing else come of it."""
    for place in range(progress[TOUCHED]):
        instance = agenda.instances[Place(place)]
        _postpone(instance, now, tables, effects, state, pending, agenda)
        state[Place(instance), ACTIONS] = -1
    progress[TOUCHED] = progress[AGENDA] = 0


@body
def close_group(group: Place, members: Integers, member_ends: Integers, state: Matrix,
           intervals: IntervalColumns, progress: Integers) -> None:  # fmt: skip
    """Write what a group still holds as open intervals."""
    place = Place(member_ends[group - ONE]) if group > ZERO else ZERO
    while place < Place(member_ends[group]):
        instance = members[place]
        held, start = state[Place(instance), HELD], state[Place(instance), START]
        put_interval(intervals, Place(progress[INTERVALS]), instance, held, start, NEVER)
        progress[INTERVALS] += held != NOTHING
        place += ONE


@body
def open_group(group: Place, query: int, members: Integers, member_ends: Integers, state: Matrix,
          heap: Heap, progress: Integers) -> None:  # fmt: skip
    """Enter the effects of what a group holds already."""
    place = Place(member_ends[group - ONE]) if group > ZERO else ZERO
    while place < Place(member_ends[group]):
        due = state[Place(members[place]), DUE]
        if due <= query:
            progress[WAITING] = np.int64(enter(members[place], due, Place(progress[WAITING]), heap))
        place += ONE
