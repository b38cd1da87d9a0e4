"""From points to intervals where values have delayed effects: deadlines, expiry, escalation.

Effects depend on what was initiated and broken, and so on effects before: each instance is walked
through in the order of time, its next action or the next effect, whichever comes first. Actions are
as in `inertia`, and what an effect does is an action too.

An initiation has its effects whether or not it wins its point: ties decide what holds, not what is
initiated. An initiation whose effects are still to come is *under way*. In the usual case one value
holds, and the initiation that is under way is its first one, or its last one if effects are
postponed. Then three numbers describe an instance completely. In all other cases the instance has a
list of the values that hold or whose initiations are under way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Place
from cernis.kernels.compile import FEW_ROWS, body, kernel, part, shortened
from cernis.kernels.inertia.points import ALL, NOTHING, ONE, ZERO, emit, is_shared
from cernis.kernels.inertia.structures import (
    ActionPoints,
    CarriedValues,
    EffectTables,
    IntervalColumns,
    ListedValues,
    NoteColumns,
)

Four = tuple[Integers, Integers, Integers, Integers]
Delayed = tuple[
    Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers,
    Integers, Integers, int,
]  # fmt: skip

NO_EFFECT = -1
"""The delay of a value without a delayed effect."""
NO_ACTION = -4
"""Where there is no effect, or no further one."""
NEVER = int(np.iinfo(np.int64).max)
"""When an effect is due that is not, and since when a value holds that does not."""
OF_NONE, OF_POSTPONABLE, OF_ALL = 0, 1, 2
"""Of which values initiations are noted where one value holds at most."""
UNTIL_DUE = 2
"""Postponable also by an initiation at the very point at which the effects are due."""
NO_POINT = int(np.iinfo(np.int64).min)
"""A point at which nothing happens."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The delayed effects of the values of a fluent.

    A value v has the column `slots[v]` in the tables; it is 0 for all that have no effect. Tables
    have a row for each instance, or one for all instances. `delays` says how long after an
    initiation the effects of a value come, or `NO_EFFECT`. `reported` has the action of each, and
    `done` what comes of it: `ALL` if the instance may not have the value that begins. Several
    effects that come together are in further columns, as many again as there are slots, and
    `NO_ACTION` fills the rest. `postponable` is 1 for slots whose effects an initiation moves that
    lies strictly before them, and `UNTIL_DUE` if one at their very point does, too. What is
    initiated at the point `quiet` has no effects; a later initiation of what holds since then has.
    """

    slots: Integers
    delays: Matrix
    reported: Matrix
    done: Matrix
    postponable: Integers
    quiet: int = NO_POINT


# -- writing ---------------------------------------------------------------------------------


@part
def _note(to: NoteColumns, count: Place, instance: int, about: int, time: int) -> None:
    """Write what may be an initiation or an effect; it is one if the count moves on.

    An initiation is noted with its value, and with the complement of that when it is no longer
    under way, or when another takes its place.
    """
    to.instances[count] = instance
    to.about[count] = about
    to.times[count] = time


# -- what happens at a point -----------------------------------------------------------------


@part
def _slot(held: int, slots: Integers) -> Place:
    """The column of what holds; `slots` has two entries in front, for where nothing does."""
    return Place(slots[Place((held >> 1) + 2)])


@part
def _due(time: int, delay: int, quiet: int) -> int:
    """When the effects of what is initiated then come."""
    return time + delay if (delay >= 0) & (time != quiet) else NEVER


@part
def _take_effect(
    held: int, line: Place, instance: int, time: int, size: Place, fired: Place, now: Integers,
    tables: EffectTables, effects: NoteColumns,
) -> tuple[Place, Place]:  # fmt: skip
    """Add the effects of a value to what happens now."""
    slots, _, reported, done, postponable, _ = tables
    column = _slot(held, slots)
    while column < Place(done.shape[1]):
        if reported[line, column] != NO_ACTION:
            now[size] = done[line, column]
            size += ONE
            if len(effects.instances) > 0:
                _note(effects, fired, instance, reported[line, column], time)
            fired += ONE
        column += Place(len(postponable))
    return size, fired


@part
def _gather(
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
        is_moved = tables.postponable[_slot(held, tables.slots)] == UNTIL_DUE and _is_among(
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
def _summed_up(now: Integers, size: Place, held: int, is_each: int) -> tuple[int, bool, bool]:
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
def _act(
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
    slot = _slot(after, tables.slots)
    delay = tables.delays[line, slot]
    then = _due(time, delay, tables.quiet)
    is_first = (due == NEVER) & (then != NEVER)
    is_moved = (action == after) & (
        (tables.postponable[slot] != 0) | (is_renewed & (slot > ZERO)) | (is_first & (not is_new))
    )
    if noted:
        before = _slot(held, tables.slots)
        _note(begins, noted_count, instance, ~(held >> 1), time)
        is_noted = (tables.postponable[before] != 0) | ((noted == OF_ALL) & (before > ZERO))
        noted_count += Place(is_new & is_noted)
        _note(begins, noted_count, instance, after >> 1, time)
        noted_count += Place(is_moved)
    start = time + tick if is_new else start
    return after, start, then if is_new | is_moved else due, count, noted_count


@part
def _fire(
    time: int, line: Place, instance: int, held: int, start: int, tick: int, noted: int,
    count: Place, noted_count: Place, fired: Place, tables: EffectTables,
    intervals: IntervalColumns, begins: NoteColumns, effects: NoteColumns,
) -> tuple[int, int, int, Place, Place, Place]:  # fmt: skip
    """As `_act`, for an effect that is alone at its point; with the number of effects."""
    slot = _slot(held, tables.slots)
    if len(effects.instances) > 0:
        _note(effects, fired, instance, tables.reported[line, slot], time)
    held, start, due, count, noted_count = _act(
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
        slot = _slot(held, tables.slots)
        is_broken = _is_broken(held, last, many, now, size)
        is_begun = _is_among(held, now, size)
        if is_broken and not (is_begun and is_each):
            if starts[place] != NEVER:
                emit(intervals, count, instance, held, starts[place], time + tick)
                count += ONE
            if slot > ZERO:
                _note(begins, noted_count, instance, ~(held >> 1), time)
                noted_count += ONE
        else:
            helds[kept], starts[kept], dues[kept] = held, starts[place], dues[place]
            if is_begun and starts[kept] == NEVER:
                starts[kept] = time + tick
            is_first = dues[kept] == NEVER and tables.delays[line, slot] >= 0
            if is_begun and slot > ZERO and (is_broken or tables.postponable[slot] or is_first):
                dues[kept] = _due(time, tables.delays[line, slot], tables.quiet)
                _note(begins, noted_count, instance, held >> 1, time)
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
            slot = _slot(action, tables.slots)
            delay = tables.delays[line, slot]
            is_lost = not is_each and _is_broken(action, last, many, now, size)
            if delay >= 0 or not is_lost:
                helds[number], dues[number] = action, _due(time, delay, tables.quiet)
                starts[number] = NEVER if is_lost else time + tick
                number += ONE
                if is_lost or tables.postponable[slot]:
                    _note(begins, noted_count, instance, action >> 1, time)
                    noted_count += ONE
        place += ONE
    return number, noted_count


@part
def _needs_list(
    number: Place, lists: ListedValues, line: Place, tick: int, noted: int, tables: EffectTables
) -> bool:
    """Is there more to an instance than a value that holds and what its start tells?"""
    if number != ONE:
        return bool(number > ONE)
    start, due = lists.starts[0], lists.dues[0]
    slot = _slot(lists.helds[0], tables.slots)
    is_told = noted == OF_ALL or due == NEVER or tables.postponable[slot] != 0
    return bool(start == NEVER or not (is_told or due - tables.delays[line, slot] == start - tick))


@part
def _first(number: Place, lists: ListedValues) -> tuple[int, int, int]:
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
def _change(
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


# -- instances -------------------------------------------------------------------------------


@part
def _carry(
    carried: Place, line: Place, instance: int, noted_count: Place, tick: int, noted: int,
    lists: ListedValues, before: CarriedValues, tables: EffectTables, begins: NoteColumns,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """What an instance carries, into the list; and the initiations its effects count from."""
    number = ZERO
    while carried < Place(len(before.instances)) and before.instances[carried] == instance:
        held, since = before.values[carried] << 1 | 1, before.since[carried]
        start, slot = before.starts[carried], _slot(held, tables.slots)
        lists.helds[number], lists.starts[number] = held, start
        lists.dues[number] = _due(since, tables.delays[line, slot], tables.quiet)
        number += ONE
        is_apart = tables.delays[line, slot] >= 0 and (start == NEVER or since != start - tick)
        if is_apart or (slot > ZERO and (noted == OF_ALL or tables.postponable[slot])):
            _note(begins, noted_count, instance, held >> 1, since)
            noted_count += ONE
        carried += ONE
    return carried, number, noted_count


@part
def _end_of_point(row: Place, instance: int, time: int, points: ActionPoints) -> Place:
    """Where the actions of a point end; here, if it has none."""
    instances, times, _ = points
    while row < Place(len(times)) and instances[row] == instance and times[row] == time:
        row += ONE
    return row


@body
def _walk(
    row: Place, line: Place, instance: int, number: Place, query: int, tick: int, is_each: int,
    noted: int, room: int, count: Place, noted_count: Place, fired: Place, conflicts: int,
    points: ActionPoints, lists: ListedValues, now: Integers, tables: EffectTables,
    intervals: IntervalColumns, begins: NoteColumns, effects: NoteColumns,
) -> tuple[Place, Place, Place, Place, Place, int, bool]:  # fmt: skip
    """All points of an instance up to the query; leaves what there is then in the list.

    While one value holds at most, and its start tells what is under way, it is kept in `held`,
    `start` and `due`; lists are needed where the rule `initiation` lets a point initiate several,
    and where initiations lose their points.
    """
    instances, times, actions = points
    rows, width = Place(len(times)), tables.done.shape[1]
    is_single = width == len(tables.postponable)
    held, start, due = _first(number, lists)
    is_listed = _needs_list(number, lists, line, tick, noted, tables)
    while True:
        while not is_listed:
            coming = NEVER
            if row < rows and instances[row] == instance:
                coming = times[row]
            if due < coming:
                if due > query or not is_single or np.int64(fired) + width > room:
                    break
                held, start, due, count, noted_count, fired = _fire(
                    due, line, instance, held, start, tick, noted, count, noted_count, fired,
                    tables, intervals, begins, effects,
                )  # fmt: skip
                continue
            if due == coming or coming > query or is_shared(row, instances, times):
                break
            held, start, due, count, noted_count = _act(
                actions[row], False, coming, line, instance, held, start, due, tick, noted, count,
                noted_count, tables, intervals, begins,
            )  # fmt: skip
            row += ONE
        time = due
        if row < rows and instances[row] == instance:
            time = min(due, times[row])
        has_room = np.int64(fired) + width <= room
        if not is_listed:
            number = Place(held != NOTHING)
            lists.helds[0], lists.starts[0], lists.dues[0] = held, start, due
        if time > query or not has_room:
            return row, number, count, noted_count, fired, conflicts, has_room
        stop = _end_of_point(row, instance, time, points)
        size, fired = _gather(
            row, stop, actions, number, lists, line, instance, time, fired, now, tables, effects
        )
        row = stop
        action, is_renewed, many = _summed_up(now, size, held, is_each)
        conflicts += many
        # By the rule `break` that is so only where an initiation loses.
        is_lost = action == ALL
        if not is_listed and not is_lost and not (is_each and many):
            held, start, due, count, noted_count = _act(
                action, is_renewed, time, line, instance, held, start, due, tick, noted, count,
                noted_count, tables, intervals, begins,
            )  # fmt: skip
        else:
            number, count, noted_count = _change(
                now, size, number, lists, line, instance, time, tick, is_each, count, noted_count,
                tables, intervals, begins,
            )  # fmt: skip
            held, start, due = _first(number, lists)
            is_listed = _needs_list(number, lists, line, tick, noted, tables)


@part
def _close(
    instance: int, number: Place, lists: ListedValues, count: Place, intervals: IntervalColumns
) -> Place:
    """Write what holds still as open intervals."""
    place = ZERO
    while place < number:
        emit(intervals, count, instance, lists.helds[place], lists.starts[place], NEVER)
        count += Place(lists.starts[place] != NEVER)
        place += ONE
    return count


@kernel(
    "integers " * 9 + "matrix " * 3 + "integers integer integer integer integer "
    "integer integer " + "writable-integers " * 15,
    "boolean",
    rows=FEW_ROWS,
)
def _hold_delayed(
    known: Integers, instances: Integers, times: Integers, actions: Integers,
    carried_instances: Integers, carried_values: Integers, carried_starts: Integers,
    carried_since: Integers, slots: Integers, delays: Matrix, reported: Matrix, done: Matrix,
    postponable: Integers, quiet: int, query: int, tick: int, is_each: int, noted: int, room: int,
    found_instances: Integers, found_values: Integers, found_starts: Integers,
    found_ends: Integers, begun_instances: Integers, begun_values: Integers,
    begun_times: Integers, effect_instances: Integers, effect_actions: Integers,
    effect_times: Integers, helds: Integers, starts: Integers, dues: Integers, now: Integers,
    progress: Integers,
) -> bool:  # fmt: skip
    """Goes on from where `progress` says; gives whether there was room for all effects."""
    tables = EffectTables(slots, delays, reported, done, postponable, quiet)
    before = CarriedValues(carried_instances, carried_values, carried_starts, carried_since)
    intervals = IntervalColumns(found_instances, found_values, found_starts, found_ends)
    begins = NoteColumns(begun_instances, begun_values, begun_times)
    effects = NoteColumns(effect_instances, effect_actions, effect_times)
    points, lists = ActionPoints(instances, times, actions), ListedValues(helds, starts, dues)
    place, row, carried = Place(progress[0]), Place(progress[1]), Place(progress[2])
    count, noted_count, fired = Place(progress[3]), Place(progress[4]), Place(progress[5])
    conflicts, has_room = progress[6], True
    while place < Place(len(known)):
        instance = known[place]
        line = place if len(delays) > 1 else ZERO
        carried, number, noted_count = _carry(
            carried, line, instance, noted_count, tick, noted, lists, before, tables, begins
        )
        row, number, count, noted_count, fired, conflicts, has_room = _walk(
            row, line, instance, number, query, tick, is_each, noted, room, count, noted_count,
            fired, conflicts, points, lists, now, tables, intervals, begins, effects,
        )  # fmt: skip
        if not has_room:
            return False
        # What an instance still does after the query is for a later one.
        while row < Place(len(times)) and instances[row] == instance:
            row += ONE
        count = _close(instance, number, lists, count, intervals)
        place += ONE
        progress[0], progress[1], progress[2], progress[3] = place, row, carried, count
        progress[4], progress[5], progress[6] = noted_count, fired, conflicts
    return True


def hold_delayed(
    known: Integers,
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    carried_since: Integers,
    effects: Effects,
    query: int,
    tick: int,
    ties: str = "break",
    is_watched: bool = True,
) -> Delayed:
    """Intervals with delayed effects; otherwise as `hold`, or `hold_each` by the rule `initiation`.

    `known` are the instances, sorted; those of actions and of what is carried are among them, and
    the tables of effects have their order. An initiation has its effects a delay later, whether or
    not it wins its point, unless its value is broken strictly in between; and if the value is
    postponable, unless it is initiated again in between, or `UNTIL_DUE` by rules.
    Effects take place at their point together with what happens there, and not after the query.
    `carried_since` is the initiation from which the effects of what is carried count; the start is
    `NEVER` of what is carried for its effects only, and does not hold.

    Gives instances, values, starts and ends; instances, values, times and ends of the initiations
    that effects count from: at its end, `NEVER` if that is not before the query, it is broken, has
    had its effects, or another takes its place. Those carried are among them, but not those that
    are one tick before the start of an interval, end with it and cannot be moved. Then instances,
    actions and times of the effects, if they are watched, else none; and the number of points at
    which several values are initiated. All are sorted by instance; intervals of one instance and
    value by start, the others by time.
    """
    is_each, most = ties != "break", len(times) + len(carried_instances)
    tables = (
        np.concatenate([np.zeros(2, np.int64), effects.slots]), effects.delays, effects.reported,
        effects.done, effects.postponable, effects.quiet,
    )  # fmt: skip
    is_quiet = effects.quiet != NO_POINT
    noted = OF_ALL if is_each or is_quiet else int(effects.postponable.any()) * OF_POSTPONABLE
    # Whatever begins was initiated, carried or an effect; one more may be written that does not.
    room = most + effects.done.shape[1]
    columns = [np.empty(most + room + 1, np.int64) for _ in range(4)]
    # What begins is noted, and that it is over.
    columns += [np.empty(2 * (most + room + 1), np.int64) for _ in range(3)]
    columns += [np.empty(is_watched * (most + room + 1), np.int64) for _ in range(3)]
    scratch = [np.empty(len(effects.slots) + 1, np.int64) for _ in range(3)]
    scratch.append(np.empty(len(times) + effects.done.shape[1], np.int64))
    progress = np.zeros(7, np.int64)
    scratch.append(progress)
    while not _hold_delayed(
        known, instances, times, actions, carried_instances, carried_values, carried_starts,
        carried_since, *tables, query, tick, is_each, noted, room, *columns, *scratch,
    ):  # fmt: skip
        # Effects that chain can outnumber the actions.
        columns = [
            np.concatenate([own, np.empty(own.size and 2 * room, np.int64)]) for own in columns
        ]
        room *= 2
    count, noted_count, fired, conflicts = progress[3:].tolist()
    lengths = [count] * 4 + [noted_count] * 3 + [is_watched * fired] * 3
    written = [shortened(column, length) for column, length in zip(columns, lengths, strict=True)]
    return (*written[:4], *under_way(*written[4:7]), *written[7:], conflicts)


def under_way(instances: Integers, noted: Integers, times: Integers) -> Four:
    """Instances, values and times of initiations from notes, and until when each is under way.

    Notes of one instance are in the order of time. An initiation is noted by its value, and that it
    is over by the complement of it; another one of the same value takes its place.
    """
    if not len(noted):
        return instances, noted, times, times
    values = np.where(noted < 0, ~noted, noted)
    order = np.lexsort((values, instances))
    follows = np.zeros(len(order), np.bool_)
    follows[:-1] = (instances[order][1:] == instances[order][:-1]) & (
        values[order][1:] == values[order][:-1]
    )
    ends = np.empty(len(order), np.int64)
    ends[order] = np.where(follows, np.append(times[order][1:], NEVER), NEVER)
    begins = np.flatnonzero(noted >= 0)
    return instances[begins], values[begins], times[begins], ends[begins]
