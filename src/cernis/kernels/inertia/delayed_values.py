"""What the actions and effects of a point do to the values of one instance with delayed effects."""

from __future__ import annotations

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import part
from cernis.kernels.inertia.points import (
    ALL,
    NEVER,
    NO_ACTION,
    NOTHING,
    OF_ALL,
    ONE,
    UNTIL_DUE,
    ZERO,
    emit,
)
from cernis.kernels.inertia.structures import (
    EffectTables,
    IntervalColumns,
    ListedValues,
    NoteColumns,
)

# -- writing ---------------------------------------------------------------------------------


@part
def note_value(to: NoteColumns, count: Place, instance: int, about: int, time: int) -> None:
    """Write what may be an initiation or an effect; it is one if the count moves on.

    An initiation is noted with its value, and with the complement of that when it is no longer
    under way, or when another takes its place.
    """
    to.instances[count] = instance
    to.about[count] = about
    to.times[count] = time


# -- what happens at a point -----------------------------------------------------------------


@part
def slot_of(held: int, slots: Integers) -> Place:
    """The column of what holds; `slots` has two entries in front, for where nothing does."""
    return Place(slots[Place((held >> 1) + 2)])


@part
def due_of(time: int, delay: int, quiet: int) -> int:
    """When the effects of what is initiated then come."""
    return time + delay if (delay >= 0) & (time != quiet) else NEVER


@part
def _take_effect(
    held: int, line: Place, instance: int, time: int, size: Place, fired: Place, now: Integers,
    tables: EffectTables, effects: NoteColumns,
) -> tuple[Place, Place]:  # fmt: skip
    """Add the effects of a value to what happens now."""
    slots, _, reported, done, postponable, _ = tables
    column = slot_of(held, slots)
    while column < Place(done.shape[1]):
        if reported[line, column] != NO_ACTION:
            now[size] = done[line, column]
            size += ONE
            if len(effects.instances) > 0:
                note_value(effects, fired, instance, reported[line, column], time)
            fired += ONE
        column += Place(len(postponable))
    return size, fired


@part
def gather_actions(
    row: Place, stop: Place, actions: Integers, number: Place, lists: ListedValues, line: Place,
    instance: int, time: int, fired: Place, now: Integers, tables: EffectTables,
    effects: NoteColumns,
) -> tuple[Place, Place]:  # fmt: skip
    """All that happens at a point, into one list: what rules say, and effects that are due.

    Effects that what rules initiate at the very point postpones are left out.
    """
    size, place = ZERO, ZERO
    while row < stop:
        now[size] = actions[row]
        size += ONE
        row += ONE
    of_rules = size
    while place < number:
        held = lists.helds[place]
        is_moved = tables.postponable[slot_of(held, tables.slots)] == UNTIL_DUE and _is_among(
            held, now, of_rules
        )
        if lists.dues[place] == time and not is_moved:
            size, fired = _take_effect(
                held, line, instance, time, size, fired, now, tables, effects
            )
        place += ONE
    return size, fired


@part
def _is_among(action: int, actions: Integers, number: Place) -> bool:
    """Is an action one of the first of a list?"""
    among = False
    place = ZERO
    while place < number:
        among |= actions[place] == action
        place += ONE
    return among


@part
def _last_initiation(actions: Integers, number: Place) -> tuple[int, bool]:
    """The last initiation of a point, and whether another value is initiated too."""
    initiated, many = NOTHING, False
    place = ZERO
    while place < number:
        if actions[place] & 1:
            many |= (initiated != NOTHING) & (initiated != actions[place])
            initiated = actions[place]
        place += ONE
    return initiated, many


@part
def _is_ended(held: int, now: Integers, size: Place) -> bool:
    """Does a termination of the point concern the value?"""
    return _is_among(held - 1, now, size) or _is_among(ALL, now, size)


# -- where one value holds at most -----------------------------------------------------------


@part
def summed_up(now: Integers, size: Place, held: int, is_each: int) -> tuple[int, bool, bool]:
    """One action that does what all actions of a point do to the value that holds.

    Also whether that renews the value: it is broken and initiated, and goes on. And whether
    several values are initiated; by the rule `initiation` no one action will do then.
    """
    initiated, many = _last_initiation(now, size)
    is_ended = _is_ended(held if initiated == NOTHING else initiated, now, size)
    if initiated == NOTHING:
        return held - 1 if is_ended else NO_ACTION, False, False
    if is_each:
        return initiated, is_ended and initiated == held, many
    return ALL if is_ended or many else initiated, False, many


@part
def _after(action: int, held: int) -> int:
    """What holds after an action that is alone at its point. Without a branch."""
    ends = ((action | 1) == held) | (action == ALL)
    left = NOTHING if ends else held
    return action if action & 1 else left


@part
def act_alone(
    action: int, is_renewed: bool, time: int, line: Place, instance: int, held: int, start: int,
    due: int, tick: int, noted: int, count: Place, noted_count: Place, tables: EffectTables,
    intervals: IntervalColumns, begins: NoteColumns,
) -> tuple[int, int, int, Place, Place]:  # fmt: skip
    """What holds after an action, since when, until which effect, and how much is written.

    All is read and written before it is known whether it is needed: a branch that depends on the
    action could not be foretold. What initiations are noted, `NOTED` says: of all values or of
    those that are postponable, or none, as starts tell them.
    """
    after = _after(action, held)
    is_new = after != held
    emit(intervals, count, instance, held, start, time + tick)
    count += Place(is_new & (held != NOTHING))
    slot = slot_of(after, tables.slots)
    delay = tables.delays[line, slot]
    then = due_of(time, delay, tables.quiet)
    is_first = (due == NEVER) & (then != NEVER)
    is_moved = (action == after) & (
        (tables.postponable[slot] != 0) | (is_renewed & (slot > ZERO)) | (is_first & (not is_new))
    )
    if noted:
        before = slot_of(held, tables.slots)
        note_value(begins, noted_count, instance, ~(held >> 1), time)
        is_noted = (tables.postponable[before] != 0) | ((noted == OF_ALL) & (before > ZERO))
        noted_count += Place(is_new & is_noted)
        note_value(begins, noted_count, instance, after >> 1, time)
        noted_count += Place(is_moved)
    start = time + tick if is_new else start
    return after, start, then if is_new | is_moved else due, count, noted_count


@part
def fire_alone(
    time: int, line: Place, instance: int, held: int, start: int, tick: int, noted: int,
    count: Place, noted_count: Place, fired: Place, tables: EffectTables,
    intervals: IntervalColumns, begins: NoteColumns, effects: NoteColumns,
) -> tuple[int, int, int, Place, Place, Place]:  # fmt: skip
    """As `act_alone`, for an effect that is alone at its point; with the number of effects."""
    slot = slot_of(held, tables.slots)
    if len(effects.instances) > 0:
        note_value(effects, fired, instance, tables.reported[line, slot], time)
    held, start, due, count, noted_count = act_alone(
        tables.done[line, slot], False, time, line, instance, held, start, NEVER, tick, noted,
        count, noted_count, tables, intervals, begins,
    )  # fmt: skip
    return held, start, due, count, noted_count, fired + ONE


# -- where several do, or initiations are under way of what does not -------------------------


@part
def _is_broken(value: int, last: int, many: bool, now: Integers, size: Place) -> bool:
    """Is a value ended at a point, or another initiated?"""
    return bool(many or (last != NOTHING and last != value) or _is_ended(value, now, size))


@part
def _go_on(
    now: Integers, size: Place, number: Place, lists: ListedValues, line: Place, instance: int,
    time: int, tick: int, is_each: int, count: Place, noted_count: Place, tables: EffectTables,
    intervals: IntervalColumns, begins: NoteColumns,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """Keep the values that go on after a point; those that it renews have their effects later.

    A value that does not hold, and whose initiation is under way, holds from now on if it is
    initiated again and nothing breaks it.
    """
    helds, starts, dues = lists
    last, many = _last_initiation(now, size)
    kept, place = ZERO, ZERO
    while place < number:
        held = helds[place]
        slot = slot_of(held, tables.slots)
        is_broken = _is_broken(held, last, many, now, size)
        is_begun = _is_among(held, now, size)
        if is_broken and not (is_begun and is_each):
            if starts[place] != NEVER:
                emit(intervals, count, instance, held, starts[place], time + tick)
                count += ONE
            if slot > ZERO:
                note_value(begins, noted_count, instance, ~(held >> 1), time)
                noted_count += ONE
        else:
            helds[kept], starts[kept], dues[kept] = held, starts[place], dues[place]
            if is_begun and starts[kept] == NEVER:
                starts[kept] = time + tick
            is_first = dues[kept] == NEVER and tables.delays[line, slot] >= 0
            if is_begun and slot > ZERO and (is_broken or tables.postponable[slot] or is_first):
                dues[kept] = due_of(time, tables.delays[line, slot], tables.quiet)
                note_value(begins, noted_count, instance, held >> 1, time)
                noted_count += ONE
            kept += ONE
        place += ONE
    return kept, count, noted_count


@part
def _begin(
    now: Integers, size: Place, number: Place, lists: ListedValues, line: Place, instance: int,
    time: int, tick: int, is_each: int, noted_count: Place, tables: EffectTables,
    begins: NoteColumns,
) -> tuple[Place, Place]:  # fmt: skip
    """Add the values that a point initiates and that are not there yet.

    Those that lose the point do not hold; they are there for their effects.
    """
    helds, starts, dues = lists
    last, many = _last_initiation(now, size)
    place = ZERO
    while place < size:
        action = now[place]
        if action & 1 and not _is_among(action, helds, number):
            slot = slot_of(action, tables.slots)
            delay = tables.delays[line, slot]
            is_lost = not is_each and _is_broken(action, last, many, now, size)
            if delay >= 0 or not is_lost:
                helds[number], dues[number] = action, due_of(time, delay, tables.quiet)
                starts[number] = NEVER if is_lost else time + tick
                number += ONE
                if is_lost or tables.postponable[slot]:
                    note_value(begins, noted_count, instance, action >> 1, time)
                    noted_count += ONE
        place += ONE
    return number, noted_count


@part
def needs_list(
    number: Place, lists: ListedValues, line: Place, tick: int, noted: int, tables: EffectTables
) -> bool:
    """Is there more to an instance than a value that holds and what its start tells?"""
    if number != ONE:
        return bool(number > ONE)
    start, due = lists.starts[0], lists.dues[0]
    slot = slot_of(lists.helds[0], tables.slots)
    is_told = noted == OF_ALL or due == NEVER or tables.postponable[slot] != 0
    return bool(start == NEVER or not (is_told or due - tables.delays[line, slot] == start - tick))


@part
def first_of_list(number: Place, lists: ListedValues) -> tuple[int, int, int]:
    """The first value of the list and its start, and when the first effect of any is due."""
    held, start, due = NOTHING, 0, NEVER
    if number > ZERO:
        held, start = lists.helds[0], lists.starts[0]
    place = ZERO
    while place < number:
        due = min(due, lists.dues[place])
        place += ONE
    return held, start, due


@part
def change_list(
    now: Integers, size: Place, number: Place, lists: ListedValues, line: Place, instance: int,
    time: int, tick: int, is_each: int, count: Place, noted_count: Place, tables: EffectTables,
    intervals: IntervalColumns, begins: NoteColumns,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """What all that happens at a point does to the values of the list."""
    number, count, noted_count = _go_on(
        now, size, number, lists, line, instance, time, tick, is_each, count, noted_count, tables,
        intervals, begins,
    )  # fmt: skip
    number, noted_count = _begin(
        now, size, number, lists, line, instance, time, tick, is_each, noted_count, tables, begins
    )
    return number, count, noted_count
