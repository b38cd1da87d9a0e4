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
from cernis.kernels.inertia.delayed_values import (
    act_alone,
    change_list,
    due_of,
    fire_alone,
    first_of_list,
    gather_actions,
    needs_list,
    note_value,
    slot_of,
    summed_up,
)
from cernis.kernels.inertia.points import (
    ALL,
    NEVER,
    NO_POINT,
    NOTHING,
    OF_ALL,
    OF_POSTPONABLE,
    ONE,
    ZERO,
    emit,
    is_shared,
)
from cernis.kernels.inertia.structures import (
    ACTION_POINTS,
    CARRIED_VALUES,
    DELAY_TIMES,
    EFFECT_TABLES,
    INTERVAL_COLUMNS,
    LISTED_VALUES,
    NOTE_COLUMNS,
    ActionPoints,
    CarriedValues,
    DelayTimes,
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
        start, slot = before.starts[carried], slot_of(held, tables.slots)
        lists.helds[number], lists.starts[number] = held, start
        lists.dues[number] = due_of(since, tables.delays[line, slot], tables.quiet)
        number += ONE
        is_apart = tables.delays[line, slot] >= 0 and (start == NEVER or since != start - tick)
        if is_apart or (slot > ZERO and (noted == OF_ALL or tables.postponable[slot])):
            note_value(begins, noted_count, instance, held >> 1, since)
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
    held, start, due = first_of_list(number, lists)
    is_listed = needs_list(number, lists, line, tick, noted, tables)
    while True:
        while not is_listed:
            coming = NEVER
            if row < rows and instances[row] == instance:
                coming = times[row]
            if due < coming:
                if due > query or not is_single or np.int64(fired) + width > room:
                    break
                held, start, due, count, noted_count, fired = fire_alone(
                    due, line, instance, held, start, tick, noted, count, noted_count, fired,
                    tables, intervals, begins, effects,
                )  # fmt: skip
                continue
            if due == coming or coming > query or is_shared(row, instances, times):
                break
            held, start, due, count, noted_count = act_alone(
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
        size, fired = gather_actions(
            row, stop, actions, number, lists, line, instance, time, fired, now, tables, effects
        )
        row = stop
        action, is_renewed, many = summed_up(now, size, held, is_each)
        conflicts += many
        # By the rule `break` that is so only where an initiation loses.
        is_lost = action == ALL
        if not is_listed and not is_lost and not (is_each and many):
            held, start, due, count, noted_count = act_alone(
                action, is_renewed, time, line, instance, held, start, due, tick, noted, count,
                noted_count, tables, intervals, begins,
            )  # fmt: skip
        else:
            number, count, noted_count = change_list(
                now, size, number, lists, line, instance, time, tick, is_each, count, noted_count,
                tables, intervals, begins,
            )  # fmt: skip
            held, start, due = first_of_list(number, lists)
            is_listed = needs_list(number, lists, line, tick, noted, tables)


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
    f"integers {ACTION_POINTS} {CARRIED_VALUES} {EFFECT_TABLES} {DELAY_TIMES} "
    f"{INTERVAL_COLUMNS} {NOTE_COLUMNS} {NOTE_COLUMNS} {LISTED_VALUES} "
    "writable-integers writable-integers",
    "boolean",
    rows=FEW_ROWS,
)
def _hold_delayed(
    known: Integers, points: ActionPoints, before: CarriedValues, tables: EffectTables,
    limits: DelayTimes, intervals: IntervalColumns, begins: NoteColumns, effects: NoteColumns,
    lists: ListedValues, now: Integers, progress: Integers,
) -> bool:  # fmt: skip
    """Goes on from where `progress` says; gives whether there was room for all effects."""
    instances, times, _ = points
    delays = tables.delays
    query, tick, is_each, noted, room = limits
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
    slots = np.concatenate([np.zeros(2, np.int64), effects.slots])
    tables = EffectTables(
        slots, effects.delays, effects.reported, effects.done, effects.postponable, effects.quiet
    )
    is_quiet = effects.quiet != NO_POINT
    noted = OF_ALL if is_each or is_quiet else int(effects.postponable.any()) * OF_POSTPONABLE
    # Whatever begins was initiated, carried or an effect; one more may be written that does not.
    room = most + effects.done.shape[1]
    columns = [np.empty(most + room + 1, np.int64) for _ in range(4)]
    # What begins is noted, and that it is over.
    columns += [np.empty(2 * (most + room + 1), np.int64) for _ in range(3)]
    columns += [np.empty(is_watched * (most + room + 1), np.int64) for _ in range(3)]
    lists = ListedValues(*(np.empty(len(effects.slots) + 1, np.int64) for _ in range(3)))
    now = np.empty(len(times) + effects.done.shape[1], np.int64)
    progress = np.zeros(7, np.int64)
    points = ActionPoints(instances, times, actions)
    carried = CarriedValues(carried_instances, carried_values, carried_starts, carried_since)
    while not _hold_delayed(
        known, points, carried, tables, DelayTimes(query, tick, is_each, noted, room),
        IntervalColumns(*columns[:4]), NoteColumns(*columns[4:7]), NoteColumns(*columns[7:]),
        lists, now, progress,
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
