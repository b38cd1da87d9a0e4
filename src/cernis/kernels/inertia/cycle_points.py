"""A point of a cycle: which records fire, what happens by that, and the effects that are due."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Place, SmallMatrix
from cernis.kernels.compile import body
from cernis.kernels.inertia.due_heap import drop_first, put_off_first
from cernis.kernels.inertia.points import NEVER, NO_ACTION
from cernis.kernels.inertia.structures import CycleWalk, NoteColumns

NOTHING = -1
"""Held where no value is."""
LONG_AGO = int(np.iinfo(np.int64).min)
ANY_INITIATION, ANY_TERMINATION, ANY_START, ANY_END = -5, -6, -7, -8
"""Classes of all initiations, terminations, starts or ends of a fluent."""
ON_TRIAL = 1 << 62
"""Changes the point that is written of happenings that are only tried out."""
EDGE = 1 << 40
"""Added to the initiation or termination of a value, it makes its start or end."""
ZERO, ONE = np.uint64(0), np.uint64(1)

# Columns of rules; from the last on, two for each condition: what is wanted, and the column of the
# record that says which value, if it is not a constant.
TOLD, DONE, VALUE_AT, RANK, CONDITIONS, FIRST = (np.uint64(at) for at in range(6))
# Columns of records; from the last on, what each condition is about.
RULE, HEAD, TARGETS = (np.uint64(at) for at in range(3))
# Columns of relations.
(
    CLASSES, NO_CLASS, BASE, KEPT, SLOTS, LINES, WIDTH, LAYERS, EFFECTS, IS_TALL, MOVED, EDGES,
) = (np.uint64(at) for at in range(12))  # fmt: skip
# Columns of the state of instances.
HELD, START, DUE, ACTIONS, COUNT = (np.uint64(at) for at in range(5))
# Columns of progress.
(
    GROUP, OPENED, ROW, INTERVALS, BEGUN, HAPPENED, CONFLICTS, WAITING, HIGHEST, TOUCHED, AGENDA,
    DECIDED,
) = (np.uint64(at) for at in range(12))  # fmt: skip

NEGATED, OF_POINT, VALUE = 1, 2, 2
"""What is wanted: a bit for negation, one for what happens at the point; then 1 + the value."""
ALWAYS, ONCE = 1, 2
"""Which happenings of a relation are kept: each, or one of those that are equal."""


# -- conditions ------------------------------------------------------------------------------


@body
def _is_so(walk: CycleWalk, target: int, wanted: int, now: int) -> bool:
    """Is what a condition wants the case, negation aside?"""
    if target < 0:
        return False
    if wanted & OF_POINT:
        return bool(walk.happened[Place(target)] == now)
    held = walk.state[Place(target), HELD]
    value = wanted >> VALUE
    return bool(held >= 0 if value == 0 else held == value - 1)


@body
def _fires(walk: CycleWalk, row: Place, records: SmallMatrix, now: int) -> bool:
    """Are all conditions of a record met?"""
    rule = Place(records[row, RULE])
    condition, count = ZERO, Place(walk.tables.rules[rule, CONDITIONS])
    while condition < count:
        column = FIRST + condition + condition
        wanted = walk.tables.rules[rule, column]
        if walk.tables.rules[rule, column + ONE]:
            value = records[row, Place(walk.tables.rules[rule, column + ONE])]
            wanted |= (np.int64(value) + 1) << VALUE
        target = records[row, TARGETS + condition]
        if _is_so(walk, target, wanted, now) == bool(wanted & NEGATED):
            return False
        condition += ONE
    return True


# -- what happens at a point -----------------------------------------------------------------


@body
def note(to: NoteColumns, count: Place, instance: int, about: int, time: int) -> None:
    """Write a note."""
    to.instances[count] = instance
    to.about[count] = about
    to.times[count] = time


@body
def _wake(walk: CycleWalk, slot: Place) -> None:
    """Let the records that a slot drives wait for the turn of their rank."""
    row = Place(walk.inner.triggers[slot])
    while row < Place(walk.inner.triggers[slot + ONE]):
        rank = walk.tables.rules[Place(walk.inner.records[row, RULE]), RANK]
        walk.inner.following[row] = walk.inner.first_of_rank[Place(rank)]
        walk.inner.first_of_rank[Place(rank)] = np.int64(row)
        walk.progress[HIGHEST] = max(walk.progress[HIGHEST], rank)
        row += ONE


@body
def happen(walk: CycleWalk, instance: int, action: int, now: int) -> None:
    """Something happens: mark its classes, and wake what they drive."""
    _, relations, classes, relation_of = walk.tables
    relation = Place(relation_of[Place(instance)])
    place, stop = Place(relations[relation, CLASSES]), Place(relations[relation, NO_CLASS])
    local, is_new = instance - relations[relation, BASE], False
    of_kind = ANY_INITIATION if action & 1 else ANY_TERMINATION
    if action >= EDGE:
        of_kind = ANY_START if action & 1 else ANY_END
    while place < stop:
        if classes[place, ZERO] == action or classes[place, ZERO] == of_kind:
            slot = Place(classes[place, ONE] + local)
            if walk.happened[slot] != now:
                walk.happened[slot] = now
                is_new = True
                _wake(walk, slot)
        place += ONE
    is_kept = relations[relation, KEPT] == ALWAYS or (relations[relation, KEPT] == ONCE and is_new)
    if is_kept and action < EDGE:
        note(walk.kept, Place(walk.progress[HAPPENED]), instance, action, now)
        walk.progress[HAPPENED] += 1


@body
def plan_action(walk: CycleWalk, instance: int, action: int) -> None:
    """Something is done to an instance when the point is over."""
    place = walk.progress[AGENDA]
    walk.progress[AGENDA] += 1
    first = walk.state[Place(instance), ACTIONS]
    if first < 0:
        walk.agenda.instances[Place(walk.progress[TOUCHED])] = instance
        walk.progress[TOUCHED] += 1
    walk.agenda.actions[Place(place)] = action
    walk.agenda.following[Place(place)] = first
    walk.state[Place(instance), ACTIONS] = place


@body
def decide(walk: CycleWalk, row: Place, records: SmallMatrix, now: int) -> None:
    """Decide a record, and let happen what it says."""
    rules = walk.tables.rules
    walk.progress[DECIDED] += 1
    if not _fires(walk, row, records, now):
        return
    rule, head = Place(records[row, RULE]), records[row, HEAD]
    reported, done = rules[rule, TOLD], rules[rule, DONE]
    if rules[rule, VALUE_AT]:
        value = np.int64(records[row, Place(rules[rule, VALUE_AT])]) << 1
        reported = value | reported if reported >= 0 else reported
        done = value | done if done >= 0 else done
    if reported != NO_ACTION:
        happen(walk, head, reported, now)
    if done != NO_ACTION:
        plan_action(walk, head, done)


@body
def _take_effect(walk: CycleWalk, instance: int, value: int, now: int) -> None:
    """The effects of a value of an instance."""
    relations, relation = walk.tables.relations, Place(walk.tables.relation_of[Place(instance)])
    width, layers = relations[relation, WIDTH], relations[relation, LAYERS]
    line = relations[relation, IS_TALL] * (instance - relations[relation, BASE])
    slot = walk.effects.slots[Place(relations[relation, SLOTS] + value)]
    place = relations[relation, EFFECTS] + line * width * layers + slot
    stop = place - slot + width * layers
    while place < stop:
        reported = walk.effects.reported[Place(place)]
        if reported != NO_ACTION:
            happen(walk, instance, reported, now)
            plan_action(walk, instance, walk.effects.done[Place(place)])
        place += width


@body
def _take_effects(walk: CycleWalk, instance: int, now: int) -> None:
    """The effects of what an instance holds, or of what it does not and that are due now."""
    row = Place(instance)
    place, count = ZERO, Place(walk.state[row, COUNT])
    if count == ZERO:
        _take_effect(walk, instance, walk.state[row, HELD], now)
    while place < count:
        if walk.pending.dues[row, place] == now:
            walk.pending.dues[row, place] = NEVER
            _take_effect(walk, instance, walk.pending.values[row, place], now)
        place += ONE


@body
def take_effects_due(walk: CycleWalk, now: int) -> None:
    """All effects of a point; what has been put off is put back."""
    while walk.progress[WAITING] > 0 and walk.heap.keys[0] == now:
        instance, size = walk.heap.instances[0], Place(walk.progress[WAITING])
        due = walk.state[Place(instance), DUE]
        if due == now:
            _take_effects(walk, instance, now)
        if due > now and due <= walk.query:
            put_off_first(due, size, walk.heap)
        else:
            walk.progress[WAITING] = np.int64(drop_first(size, walk.heap))
