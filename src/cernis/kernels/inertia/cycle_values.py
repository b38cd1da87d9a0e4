"""What the points of a cycle do to what its instances hold, and to initiations under way."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Place
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
from cernis.kernels.inertia.due_heap import enter
from cernis.kernels.inertia.points import ALL, NEVER, UNTIL_DUE
from cernis.kernels.inertia.structures import CycleWalk, IntervalColumns


@body
def _begins(walk: CycleWalk, first: int) -> tuple[int, bool]:
    """The value that the actions of an instance initiate, and whether there is another."""
    initiated, many = NOTHING, False
    while first >= 0:
        action = walk.agenda.actions[Place(first)]
        if action & 1:
            many |= (initiated != NOTHING) & (initiated != action >> 1)
            initiated = action >> 1
        first = walk.agenda.following[Place(first)]
    return initiated, many


@body
def _ends(walk: CycleWalk, first: int, value: int) -> bool:
    """Do the actions of an instance end a value?"""
    ended = False
    while first >= 0:
        action = walk.agenda.actions[Place(first)]
        ended |= (action == ALL) | (action == value << 1)
        first = walk.agenda.following[Place(first)]
    return ended


@body
def _until(walk: CycleWalk, value: int, instance: int, now: int) -> tuple[int, int]:
    """When the effects of a value that begins now are due, and whether they can be put off."""
    relations, relation = walk.tables.relations, Place(walk.tables.relation_of[Place(instance)])
    width = relations[relation, WIDTH]
    if width == 0 or value == NOTHING:
        return NEVER, 0
    slot = walk.effects.slots[Place(relations[relation, SLOTS] + value)]
    line = relations[relation, IS_TALL] * (instance - relations[relation, BASE])
    delay = walk.effects.delays[Place(relations[relation, LINES] + line * width + slot)]
    moved = walk.effects.postponable[Place(relations[relation, MOVED] + slot)]
    return now + delay if (delay >= 0) & (now != walk.effects.quiet) else NEVER, moved


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
def held_after(walk: CycleWalk, first: int, held: int) -> tuple[int, int, bool]:
    """What an instance holds after its actions, what they initiate, and whether in conflict."""
    initiated, many = _begins(walk, first)
    is_ended = _ends(walk, first, held if initiated == NOTHING else initiated)
    after = held if initiated == NOTHING else initiated
    return NOTHING if is_ended or many else after, initiated, many


@body
def tell_edges(walk: CycleWalk, rank: int, now: int) -> None:
    """What starts or ends at a point, of relations all of whose causes have been decided."""
    relations, relation_of = walk.tables.relations, walk.tables.relation_of
    for place in range(walk.progress[TOUCHED]):
        instance = walk.agenda.instances[Place(place)]
        if relations[Place(relation_of[Place(instance)]), EDGES] == rank:
            held = walk.state[Place(instance), HELD]
            after, _, _ = held_after(walk, walk.state[Place(instance), ACTIONS], held)
            for value, kind in ((held, 0), (after, 1)):
                if after != held and value != NOTHING:
                    happen(walk, instance, EDGE | value << 1 | kind, now)  # fmt: skip


@body
def _note_over(walk: CycleWalk, held: int, instance: int, now: int) -> None:
    """Note that the initiation of what was held is no longer under way, if that was noted."""
    due, moved = _until(walk, held, instance, now)
    start, expected = walk.state[Place(instance), START], walk.state[Place(instance), DUE]
    # What starts tell is due a delay after them.
    is_apart = due != NEVER and expected != NEVER and expected - (due - now) != start - walk.tick
    if moved or is_apart:
        note(walk.begins, Place(walk.progress[BEGUN]), instance, ~held, now)
        walk.progress[BEGUN] += 1


@body
def _sift(walk: CycleWalk, instance: int, first: int, initiated: int, many: bool, now: int) -> int:
    """Keep the initiations under way that a point does not break.

    Gives when the effects are due of what lost before and holds from now on.
    """
    row, due = Place(instance), NEVER
    place, kept, count = ZERO, ZERO, Place(walk.state[Place(instance), COUNT])
    while place < count:
        value = walk.pending.values[row, place]
        is_other = initiated != NOTHING and initiated != value
        if many or is_other or _ends(walk, first, value):
            note(walk.begins, Place(walk.progress[BEGUN]), instance, ~value, now)
            walk.progress[BEGUN] += 1
        elif initiated == value:
            due = walk.pending.dues[row, place]
        else:
            walk.pending.values[row, kept], walk.pending.dues[row, kept] = (
                value,
                walk.pending.dues[row, place],
            )
            kept += ONE
        place += ONE
    walk.state[row, COUNT] = np.int64(kept)
    return due


@body
def _add_lost(walk: CycleWalk, instance: int, first: int, now: int) -> None:
    """Add initiations that lose their point: they hold nothing, but have their effects."""
    row, count = Place(instance), Place(walk.state[Place(instance), COUNT])
    while first >= 0:
        action = walk.agenda.actions[Place(first)]
        first = walk.agenda.following[Place(first)]
        if action & 1:
            value, place = action >> 1, ZERO
            while place < count and walk.pending.values[row, place] != value:
                place += ONE
            due, _ = _until(walk, value, instance, now)
            if place == count and due != NEVER:
                walk.pending.values[row, count], walk.pending.dues[row, count] = value, due
                count += ONE
                note(walk.begins, Place(walk.progress[BEGUN]), instance, value, now)
                walk.progress[BEGUN] += 1
    walk.state[row, COUNT] = np.int64(count)


@body
def _soonest(walk: CycleWalk, instance: int) -> int:
    """When the first effects are due of what an instance does not hold."""
    due, row = NEVER, Place(instance)
    place, count = ZERO, Place(walk.state[Place(instance), COUNT])
    while place < count:
        due = min(due, walk.pending.dues[row, place])
        place += ONE
    return due


@body
def change_instance(walk: CycleWalk, instance: int, now: int) -> None:
    """What the actions of a point do to an instance."""
    row, first = Place(instance), walk.state[Place(instance), ACTIONS]
    walk.state[row, ACTIONS] = -1
    held = walk.state[row, HELD]
    after, initiated, many = held_after(walk, first, held)
    walk.progress[CONFLICTS] += many
    if after != held:
        if held != NOTHING:
            _note_over(walk, held, instance, now)
        put_interval(
            walk.intervals,
            Place(walk.progress[INTERVALS]),
            instance,
            held,
            walk.state[row, START],
            now + walk.tick,
        )
        walk.progress[INTERVALS] += held != NOTHING
        walk.state[row, HELD], walk.state[row, START] = after, now + walk.tick
    due, moved = _until(walk, after, instance, now)
    is_first = after == held and walk.state[row, DUE] == NEVER and due != NEVER
    is_moved = initiated != NOTHING and after != NOTHING and (moved != 0 or is_first)
    if walk.state[row, COUNT] > 0:
        earlier = _sift(walk, instance, first, initiated, many, now)
        due = due if earlier == NEVER or is_moved else earlier
    if after == NOTHING:
        if initiated != NOTHING:
            _add_lost(walk, instance, first, now)
        due = _soonest(walk, instance)
    elif after == held and not is_moved:
        return
    walk.state[row, DUE] = due
    if due <= walk.query:
        walk.progress[WAITING] = np.int64(
            enter(instance, due, Place(walk.progress[WAITING]), walk.heap)
        )
    if is_moved:
        note(walk.begins, Place(walk.progress[BEGUN]), instance, after, now)
        walk.progress[BEGUN] += 1


# -- before a point, and at both ends of a walk ----------------------------------------------


@body
def _initiates(walk: CycleWalk, instance: int, value: int) -> bool:
    """Is the initiation of a value among the actions of an instance?"""
    first, initiates = walk.state[Place(instance), ACTIONS], False
    while first >= 0:
        initiates |= walk.agenda.actions[Place(first)] == (value << 1 | 1)
        first = walk.agenda.following[Place(first)]
    return initiates


@body
def _postpone(walk: CycleWalk, instance: int, now: int) -> None:
    """Put off the effects that are due now and that the actions of an instance postpone."""
    row = Place(instance)
    place, count, held = ZERO, Place(walk.state[row, COUNT]), walk.state[row, HELD]
    if count == ZERO and walk.state[row, DUE] == now and _initiates(walk, instance, held):
        due, moved = _until(walk, held, instance, now)
        if moved == UNTIL_DUE:
            walk.state[row, DUE] = due
    while place < count:
        value = walk.pending.values[row, place]
        if walk.pending.dues[row, place] == now and _initiates(walk, instance, value):
            due, moved = _until(walk, value, instance, now)
            if moved == UNTIL_DUE:
                walk.pending.dues[row, place] = due
        place += ONE
    if count > ZERO:
        walk.state[row, DUE] = _soonest(walk, instance)


@body
def end_trial(walk: CycleWalk, now: int) -> None:
    """Let what rules do without effects postpone these, and nothing else come of it."""
    for place in range(walk.progress[TOUCHED]):
        instance = walk.agenda.instances[Place(place)]
        _postpone(walk, instance, now)
        walk.state[Place(instance), ACTIONS] = -1
    walk.progress[TOUCHED] = walk.progress[AGENDA] = 0


@body
def close_group(walk: CycleWalk, group: Place, members: Integers, member_ends: Integers) -> None:
    """Write what a group still holds as open intervals."""
    place = Place(member_ends[group - ONE]) if group > ZERO else ZERO
    while place < Place(member_ends[group]):
        instance = members[place]
        held, start = walk.state[Place(instance), HELD], walk.state[Place(instance), START]
        put_interval(walk.intervals, Place(walk.progress[INTERVALS]), instance, held, start, NEVER)
        walk.progress[INTERVALS] += held != NOTHING
        place += ONE


@body
def open_group(walk: CycleWalk, group: Place, members: Integers, member_ends: Integers) -> None:
    """Enter the effects of what a group holds already."""
    place = Place(member_ends[group - ONE]) if group > ZERO else ZERO
    while place < Place(member_ends[group]):
        due = walk.state[Place(members[place]), DUE]
        if due <= walk.query:
            walk.progress[WAITING] = np.int64(
                enter(members[place], due, Place(walk.progress[WAITING]), walk.heap)
            )
        place += ONE
