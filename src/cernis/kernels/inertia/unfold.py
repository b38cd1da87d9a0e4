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
from cernis.kernels.inertia.delays import NEVER, NO_ACTION, NO_POINT, UNTIL_DUE
from cernis.kernels.inertia.due_heap import Heap, drop_first, enter, put_off_first
from cernis.kernels.inertia.points import ALL
from cernis.kernels.inertia.structures import (
    Agenda,
    CycleTables,
    IntervalColumns,
    NoteColumns,
    PendingValues,
    WaitingRecords,
    WalkedEffects,
)

Three = tuple[Integers, Integers, Integers]
Effects = tuple[Integers, Integers, Integers, Integers, Integers]
"""Slots of values, delays, what is reported of effects, what they do, which are postponable."""

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
def _note(to: NoteColumns, count: Place, instance: int, about: int, time: int) -> None:
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
def _tell(
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
        _note(kept, Place(progress[HAPPENED]), instance, action, now)
        progress[HAPPENED] += 1


@body
def _plan(instance: int, action: int, state: Matrix, agenda: Agenda, progress: Integers) -> None:
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
def _decide(
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
        _tell(head, reported, now, tables, happened, inner, kept, progress)
    if done != NO_ACTION:
        _plan(head, done, state, agenda, progress)


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
            _tell(instance, reported, now, tables, happened, inner, kept, progress)
            _plan(instance, effects.done[Place(place)], state, agenda, progress)
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
def _effects_due(
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
def _end_trial(
    now: int, tables: CycleTables, effects: WalkedEffects, state: Matrix, pending: PendingValues,
    agenda: Agenda, progress: Integers,
) -> None:  # fmt: skip
    """Let what rules do without effects postpone these, and nothing else come of it."""
    for place in range(progress[TOUCHED]):
        instance = agenda.instances[Place(place)]
        _postpone(instance, now, tables, effects, state, pending, agenda)
        state[Place(instance), ACTIONS] = -1
    progress[TOUCHED] = progress[AGENDA] = 0


# -- what a point does to what holds ---------------------------------------------------------


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
def _emit(
    to: IntervalColumns, count: Place, instance: int, held: int, start: int, end: int
) -> None:
    to.instances[count] = instance
    to.values[count] = held
    to.starts[count] = start
    to.ends[count] = end


@body
def _then(first: int, held: int, agenda: Agenda) -> tuple[int, int, bool]:
    """What an instance holds after its actions, what they initiate, and whether in conflict."""
    initiated, many = _begins(first, agenda)
    is_ended = _ends(first, held if initiated == NOTHING else initiated, agenda)
    after = held if initiated == NOTHING else initiated
    return NOTHING if is_ended or many else after, initiated, many


@body
def _tell_edges(
    rank: int, now: int, tables: CycleTables, state: Matrix, happened: Integers,
    inner: WaitingRecords, agenda: Agenda, kept: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """What starts or ends at a point, of relations all of whose causes have been decided."""
    relations, relation_of = tables.relations, tables.relation_of
    for place in range(progress[TOUCHED]):
        instance = agenda.instances[Place(place)]
        if relations[Place(relation_of[Place(instance)]), EDGES] == rank:
            held = state[Place(instance), HELD]
            after, _, _ = _then(state[Place(instance), ACTIONS], held, agenda)
            for value, kind in ((held, 0), (after, 1)):
                if after != held and value != NOTHING:
                    _tell(
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
        _note(begins, Place(progress[BEGUN]), instance, ~held, now)
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
            _note(begins, Place(progress[BEGUN]), instance, ~value, now)
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
                _note(begins, Place(progress[BEGUN]), instance, value, now)
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
def _change(
    instance: int, now: int, query: int, tick: int, tables: CycleTables, effects: WalkedEffects,
    state: Matrix, pending: PendingValues, agenda: Agenda, heap: Heap, intervals: IntervalColumns,
    begins: NoteColumns, progress: Integers,
) -> None:  # fmt: skip
    """What the actions of a point do to an instance."""
    row, first = Place(instance), state[Place(instance), ACTIONS]
    state[row, ACTIONS] = -1
    held = state[row, HELD]
    after, initiated, many = _then(first, held, agenda)
    progress[CONFLICTS] += many
    if after != held:
        if held != NOTHING:
            _note_over(held, instance, now, tick, tables, effects, state, begins, progress)
        _emit(intervals, Place(progress[INTERVALS]), instance, held, state[row, START], now + tick)
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
        _note(begins, Place(progress[BEGUN]), instance, after, now)
        progress[BEGUN] += 1


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
        _decide(place, records, mark, tables, state, happened, inner, agenda, kept, progress)
        row += 1
    progress[ROW] = row
    waiting = inner.first_of_rank[Place(rank)]
    inner.first_of_rank[Place(rank)] = -1
    while waiting >= 0:
        _decide(
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


@body
def _close(group: Place, members: Integers, member_ends: Integers, state: Matrix,
           intervals: IntervalColumns, progress: Integers) -> None:  # fmt: skip
    """Write what a group still holds as open intervals."""
    place = Place(member_ends[group - ONE]) if group > ZERO else ZERO
    while place < Place(member_ends[group]):
        instance = members[place]
        held, start = state[Place(instance), HELD], state[Place(instance), START]
        _emit(intervals, Place(progress[INTERVALS]), instance, held, start, NEVER)
        progress[INTERVALS] += held != NOTHING
        place += ONE


@body
def _open(group: Place, query: int, members: Integers, member_ends: Integers, state: Matrix,
          heap: Heap, progress: Integers) -> None:  # fmt: skip
    """Enter the effects of what a group holds already."""
    place = Place(member_ends[group - ONE]) if group > ZERO else ZERO
    while place < Place(member_ends[group]):
        due = state[Place(members[place]), DUE]
        if due <= query:
            progress[WAITING] = np.int64(enter(members[place], due, Place(progress[WAITING]), heap))
        place += ONE


@kernel(
    "matrix matrix matrix integers " + "integers " * 5 + "records integers integers integers "
    "integers records integers "
    + "integer " * 7
    + "writable-matrix " * 3
    + "writable-integers " * 20,
    "boolean",
    rows=FEW_ROWS,
)
def _unfold(
    rules: Matrix, relations: Matrix, classes: Matrix, relation_of: Integers, slots: Integers,
    delays: Integers, reported: Integers, done: Integers, postponable: Integers,
    records: SmallMatrix, times: Integers, ends: Integers, members: Integers, member_ends: Integers,
    inner_records: SmallMatrix, triggers: Integers, edge: int, query: int, tick: int, quiet: int,
    edges: int, tries: int, room: int, state: Matrix, pending_values: Matrix, pending_dues: Matrix,
    happened: Integers, waiting: Integers, by_rank: Integers, actions: Integers, links: Integers,
    touched: Integers, keys: Integers, entries: Integers, places: Integers,
    found_instances: Integers, found_values: Integers, found_starts: Integers, found_ends: Integers,
    begun_instances: Integers, begun_values: Integers, begun_times: Integers,
    kept_instances: Integers, kept_actions: Integers, kept_times: Integers, progress: Integers,
) -> bool:  # fmt: skip
    """Goes on from where `progress` says; gives whether all is done.

    If not, what was found has to make room first.
    """
    tables = CycleTables(rules, relations, classes, relation_of)
    effects = WalkedEffects(slots, delays, reported, done, postponable, quiet)
    inner = WaitingRecords(inner_records, triggers, waiting, by_rank)
    agenda, heap = Agenda(actions, links, touched), Heap(keys, entries, places)
    pending = PendingValues(pending_values, pending_dues)
    intervals = IntervalColumns(found_instances, found_values, found_starts, found_ends)
    begins = NoteColumns(begun_instances, begun_values, begun_times)
    kept = NoteColumns(kept_instances, kept_actions, kept_times)
    while progress[GROUP] < len(ends):
        group = Place(progress[GROUP])
        stop = ends[group]
        if progress[OPENED] == progress[GROUP]:
            _open(group, query, members, member_ends, state, heap, progress)
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
                    _effects_due(
                        now, query, tables, effects, state, pending, happened, inner, agenda, kept,
                        heap, progress,
                    )  # fmt: skip
                rank = 0
                while rank <= progress[HIGHEST]:
                    if 0 < rank <= edges and now > edge:
                        _tell_edges(
                            rank, mark, tables, state, happened, inner, agenda, kept, progress
                        )
                    _rows_of_rank(
                        rank, now, mark, stop, records, times, tables, state, happened, inner,
                        agenda, kept, progress,
                    )  # fmt: skip
                    rank += 1
                if on_trial:
                    _end_trial(now, tables, effects, state, pending, agenda, progress)
                    progress[ROW], progress[HAPPENED], progress[DECIDED] = row, count, decided
                on_trial -= 1
            for at in range(progress[TOUCHED]):
                _change(
                    touched[Place(at)], now, query, tick, tables, effects, state, pending, agenda,
                    heap, intervals, begins, progress,
                )  # fmt: skip
            progress[TOUCHED] = progress[AGENDA] = 0
        if progress[INTERVALS] > room:
            return False
        _close(group, members, member_ends, state, intervals, progress)
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
    scratch: list[Integers | Matrix] = [
        *_pending(state, waiting, wide), np.full(causes.triggers.size - 1, LONG_AGO),
        np.empty(inner, np.int64),
        np.full(max(edges, int(causes.rules[:, RANK].max(initial=0))) + 1, -1),
        *(np.empty(length, np.int64) for length in (most, most, instances, instances, instances)),
        np.full(instances, -1),
    ]  # fmt: skip
    lengths = [instances] * 4 + [2 * instances * (wide + 1)] * 3 + [most] * 3
    written = [np.empty(room + 1 + length, np.int64) for length in lengths]
    progress = np.zeros(12, np.int64)
    scratch += [*written, progress]
    parts: list[list[Integers]] = [[] for _ in written]
    kinds = [INTERVALS] * 4 + [BEGUN] * 3 + [HAPPENED] * 3
    while not _unfold(
        causes.rules, causes.relations, causes.classes, causes.relation_of, *causes.effects,
        causes.records, causes.times, causes.ends, causes.members, causes.member_ends, causes.inner,
        causes.triggers, causes.edge, causes.query, causes.tick, causes.quiet, edges, tries, room,
        state, *scratch,
    ):  # fmt: skip
        for part, column, kind in zip(parts, written, kinds, strict=True):
            part.append(column[: progress[kind]].copy())
        progress[[INTERVALS, BEGUN, HAPPENED]] = 0
    del scratch
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
