"""A point of a cycle: which records fire, what happens by that, and the effects that are due."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Place, SmallMatrix
from cernis.kernels.compile import body
from cernis.kernels.inertia.due_heap import Heap, drop_first, put_off_first
from cernis.kernels.inertia.points import NEVER, NO_ACTION
from cernis.kernels.inertia.structures import (
    Agenda,
    CycleTables,
    NoteColumns,
    PendingValues,
    WaitingRecords,
    WalkedEffects,
)

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
def _is_so(target: int, wanted: int, now: int, state: Matrix, happened: Integers) -> bool:
    """Is what a condition wants the case, negation aside?"""
    if target < 0:
        return False
    if wanted & OF_POINT:
        return bool(happened[Place(target)] == now)
    held = state[Place(target), HELD]
    value = wanted >> VALUE
    return bool(held >= 0 if value == 0 else held == value - 1)


@body
def _fires(
    row: Place, records: SmallMatrix, now: int, rules: Matrix, state: Matrix, happened: Integers
) -> bool:
    """Are all conditions of a record met?"""
    rule = Place(records[row, RULE])
    condition, count = ZERO, Place(rules[rule, CONDITIONS])
    while condition < count:
        column = FIRST + condition + condition
        wanted = rules[rule, column]
        if rules[rule, column + ONE]:
            value = records[row, Place(rules[rule, column + ONE])]
            wanted |= (np.int64(value) + 1) << VALUE
        target = records[row, TARGETS + condition]
        if _is_so(target, wanted, now, state, happened) == bool(wanted & NEGATED):
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
def _wake(slot: Place, rules: Matrix, inner: WaitingRecords, progress: Integers) -> None:
    """Let the records that a slot drives wait for the turn of their rank."""
    row = Place(inner.triggers[slot])
    while row < Place(inner.triggers[slot + ONE]):
        rank = rules[Place(inner.records[row, RULE]), RANK]
        inner.following[row] = inner.first_of_rank[Place(rank)]
        inner.first_of_rank[Place(rank)] = np.int64(row)
        progress[HIGHEST] = max(progress[HIGHEST], rank)
        row += ONE


@body
def happen(
    instance: int, action: int, now: int, tables: CycleTables, happened: Integers,
    inner: WaitingRecords, kept: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """Something happens: mark its classes, and wake what they drive."""
    rules, relations, classes, relation_of = tables
    relation = Place(relation_of[Place(instance)])
    place, stop = Place(relations[relation, CLASSES]), Place(relations[relation, NO_CLASS])
    local, is_new = instance - relations[relation, BASE], False
    of_kind = ANY_INITIATION if action & 1 else ANY_TERMINATION
    if action >= EDGE:
        of_kind = ANY_START if action & 1 else ANY_END
    while place < stop:
        if classes[place, ZERO] == action or classes[place, ZERO] == of_kind:
            slot = Place(classes[place, ONE] + local)
            if happened[slot] != now:
                happened[slot] = now
                is_new = True
                _wake(slot, rules, inner, progress)
        place += ONE
    is_kept = relations[relation, KEPT] == ALWAYS or (relations[relation, KEPT] == ONCE and is_new)
    if is_kept and action < EDGE:
        note(kept, Place(progress[HAPPENED]), instance, action, now)
        progress[HAPPENED] += 1


@body
def plan_action(
    instance: int, action: int, state: Matrix, agenda: Agenda, progress: Integers
) -> None:
    """Something is done to an instance when the point is over."""
    place = progress[AGENDA]
    progress[AGENDA] += 1
    first = state[Place(instance), ACTIONS]
    if first < 0:
        agenda.instances[Place(progress[TOUCHED])] = instance
        progress[TOUCHED] += 1
    agenda.actions[Place(place)] = action
    agenda.following[Place(place)] = first
    state[Place(instance), ACTIONS] = place


@body
def decide(
    row: Place, records: SmallMatrix, now: int, tables: CycleTables, state: Matrix,
    happened: Integers, inner: WaitingRecords, agenda: Agenda, kept: NoteColumns,
    progress: Integers,
) -> None:  # fmt: skip
    """Decide a record, and let happen what it says."""
    rules = tables.rules
    progress[DECIDED] += 1
    if not _fires(row, records, now, rules, state, happened):
        return
    rule, head = Place(records[row, RULE]), records[row, HEAD]
    reported, done = rules[rule, TOLD], rules[rule, DONE]
    if rules[rule, VALUE_AT]:
        value = np.int64(records[row, Place(rules[rule, VALUE_AT])]) << 1
        reported = value | reported if reported >= 0 else reported
        done = value | done if done >= 0 else done
    if reported != NO_ACTION:
        happen(head, reported, now, tables, happened, inner, kept, progress)
    if done != NO_ACTION:
        plan_action(head, done, state, agenda, progress)


@body
def _take_effect(
    instance: int, value: int, now: int, tables: CycleTables, effects: WalkedEffects, state: Matrix,
    happened: Integers, inner: WaitingRecords, agenda: Agenda, kept: NoteColumns,
    progress: Integers,
) -> None:  # fmt: skip
    """The effects of a value of an instance."""
    relations, relation = tables.relations, Place(tables.relation_of[Place(instance)])
    width, layers = relations[relation, WIDTH], relations[relation, LAYERS]
    line = relations[relation, IS_TALL] * (instance - relations[relation, BASE])
    slot = effects.slots[Place(relations[relation, SLOTS] + value)]
    place = relations[relation, EFFECTS] + line * width * layers + slot
    stop = place - slot + width * layers
    while place < stop:
        reported = effects.reported[Place(place)]
        if reported != NO_ACTION:
            happen(instance, reported, now, tables, happened, inner, kept, progress)
            plan_action(instance, effects.done[Place(place)], state, agenda, progress)
        place += width


@body
def _take_effects(
    instance: int, now: int, tables: CycleTables, effects: WalkedEffects, state: Matrix,
    pending: PendingValues, happened: Integers, inner: WaitingRecords, agenda: Agenda,
    kept: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """The effects of what an instance holds, or of what it does not and that are due now."""
    row = Place(instance)
    place, count = ZERO, Place(state[row, COUNT])
    if count == ZERO:
        _take_effect(
            instance, state[row, HELD], now, tables, effects, state, happened, inner, agenda, kept,
            progress,
        )  # fmt: skip
    while place < count:
        if pending.dues[row, place] == now:
            pending.dues[row, place] = NEVER
            _take_effect(
                instance, pending.values[row, place], now, tables, effects, state, happened, inner,
                agenda, kept, progress,
            )  # fmt: skip
        place += ONE


@body
def take_effects_due(
    now: int, query: int, tables: CycleTables, effects: WalkedEffects, state: Matrix,
    pending: PendingValues, happened: Integers, inner: WaitingRecords, agenda: Agenda,
    kept: NoteColumns, heap: Heap, progress: Integers,
) -> None:  # fmt: skip
    """All effects of a point; what has been put off is put back."""
    while progress[WAITING] > 0 and heap.keys[0] == now:
        instance, size = heap.instances[0], Place(progress[WAITING])
        due = state[Place(instance), DUE]
        if due == now:
            _take_effects(
                instance, now, tables, effects, state, pending, happened, inner, agenda, kept,
                progress,
            )  # fmt: skip
        if due > now and due <= query:
            put_off_first(due, size, heap)
        else:
            progress[WAITING] = np.int64(drop_first(size, heap))
