"""From points to intervals: initiations and breaks of fluents, by the law of inertia.

Actions are sorted by instance (a fluent with its arguments) and time. An action is twice the code
of the value it is about, plus one if it is an initiation; a termination of whatever value is -2.
In the loops the value that holds is kept as the action that would initiate it.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import kernel, part, shortened
from cernis.kernels.inertia.points import ALL, NOTHING, ONE, ZERO, emit, is_shared
from cernis.kernels.inertia.structures import HeldValues, IntervalColumns

Held = tuple[Integers, Integers, Integers, Integers, int]
"""Instances, values, starts, ends, and the number of points at which two values are initiated."""

INFINITY = int(np.iinfo(np.int64).max)
"""The end of an interval that is open."""

# -- the actions of one point ----------------------------------------------------------------


@part
def _after(action: int, held: int) -> int:
    """What holds after an action that is alone at its point. Without a branch."""
    ends = ((action | 1) == held) | (action == ALL)
    left = NOTHING if ends else held
    return action if action & 1 else left


@part
def _point(row: Place, instances: Integers, times: Integers) -> Place:
    """Where the actions of a point end."""
    while is_shared(row, instances, times):
        row += ONE
    return row + ONE


@part
def _last_initiation(row: Place, stop: Place, actions: Integers) -> tuple[int, bool]:
    """The last initiation of a point, and whether another value is initiated too."""
    initiated, many = NOTHING, False
    while row < stop:
        action = actions[row]
        if action & 1:
            many |= (initiated != NOTHING) & (initiated != action)
            initiated = action
        row += ONE
    return initiated, many


@part
def _is_ended(held: int, row: Place, stop: Place, actions: Integers) -> bool:
    """Does a termination of the point concern the value?"""
    ended = False
    while row < stop:
        ended |= (actions[row] == held - 1) | (actions[row] == ALL)
        row += ONE
    return ended


@part
def _is_among(code: int, codes: Integers, row: Place, stop: Place) -> bool:
    """Is a code in a stretch of an array?"""
    among = False
    while row < stop:
        among |= codes[row] == code
        row += ONE
    return among


@part
def _after_all(held: int, row: Place, stop: Place, actions: Integers) -> tuple[int, bool]:
    """What holds after all actions of a point, by the rule `break`; and whether values clash."""
    initiated, many = _last_initiation(row, stop, actions)
    if initiated == NOTHING:
        return NOTHING if _is_ended(held, row, stop, actions) else held, False
    if many or _is_ended(initiated, row, stop, actions):
        return NOTHING, many
    return initiated, False


# -- intervals -------------------------------------------------------------------------------


@part
def _pass_carried(
    carried: Place, instance: int, count: Place, before: HeldValues, intervals: IntervalColumns
) -> tuple[Place, Place]:
    """What is carried of instances before this one, which no action is about, stays as it is."""
    while carried < Place(len(before.instances)) and before.instances[carried] < instance:
        held, start = before.values[carried] << 1, before.starts[carried]
        emit(intervals, count, before.instances[carried], held, start, INFINITY)
        count += ONE
        carried += ONE
    return carried, count


_HOLD = (
    "integers integers integers integers integers integers integer "
    "writable-integers writable-integers writable-integers writable-integers"
)


@kernel(_HOLD, "integer integer")
def _hold(
    instances: Integers, times: Integers, actions: Integers,
    carried_instances: Integers, carried_values: Integers, carried_starts: Integers, tick: int,
    found_instances: Integers, found_values: Integers, found_starts: Integers, found_ends: Integers,
) -> tuple[np.int64, int]:  # fmt: skip
    """At each point the interval that may end there is written, and counted if it does.

    So a point of one action, as most are, has no branch that depends on the action.
    """
    before = HeldValues(carried_instances, carried_values, carried_starts)
    intervals = IntervalColumns(found_instances, found_values, found_starts, found_ends)
    row, count, carried, conflicts = ZERO, ZERO, ZERO, 0
    while row < Place(len(times)):
        instance = instances[row]
        carried, count = _pass_carried(carried, instance, count, before, intervals)
        held, start = NOTHING, 0
        if carried < Place(len(carried_instances)) and carried_instances[carried] == instance:
            held, start = carried_values[carried] << 1 | 1, carried_starts[carried]
            carried += ONE
        while row < Place(len(times)) and instances[row] == instance:
            end = times[row] + tick
            if is_shared(row, instances, times):
                stop = _point(row, instances, times)
                after, many = _after_all(held, row, stop, actions)
                conflicts += many
                row = stop
            else:
                after = _after(actions[row], held)
                row += ONE
            emit(intervals, count, instance, held, start, end)
            count += Place((after != held) & (held != NOTHING))
            start = end if after != held else start
            held = after
        emit(intervals, count, instance, held, start, INFINITY)
        count += Place(held != NOTHING)
    _, count = _pass_carried(carried, INFINITY, count, before, intervals)
    return np.int64(count), conflicts


def hold(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> Held:
    """Intervals of fluents that have at most one value at a time, under the tie rule `break`.

    An initiation at T holds from T+tick until the first break at a later point; one at a point
    that also breaks its value does not count, so two values initiated together leave none. What
    is carried holds already when the first action comes; at most one value an instance, sorted
    by instance, and instances without any action stay as they are.

    Gives instances, values, starts and ends, sorted by instance and start, and the number of
    points at which two values were initiated.
    """
    # One more than there can be, as one may be written that is none.
    columns = [np.empty(len(times) + len(carried_instances) + 1, np.int64) for _ in range(4)]
    count, conflicts = _hold(
        instances, times, actions, carried_instances, carried_values, carried_starts, tick, *columns
    )
    own_instances, values, starts, ends = (shortened(column, count) for column in columns)
    return own_instances, values, starts, ends, conflicts


def hold_plain(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> Held:
    """The twin of `hold`: the definition, one point of one instance after the other."""
    rows: list[tuple[int, int, int, int]] = []
    conflicts = 0
    carried = dict(
        zip(
            carried_instances.tolist(),
            zip(carried_values.tolist(), carried_starts.tolist(), strict=True),
            strict=True,
        )
    )
    for instance in sorted({*instances.tolist(), *carried}):
        held = carried.get(instance)
        own = instances == instance
        for time in sorted(set(times[own].tolist())):
            now = own & (times == time)
            initiated = {action >> 1 for action in actions[now].tolist() if action & 1}
            ended = {action >> 1 for action in actions[now].tolist() if not action & 1}
            conflicts += len(initiated) > 1

            def broken(
                value: int, initiated: set[int] = initiated, ended: set[int] = ended
            ) -> bool:
                return -1 in ended or value in ended or bool(initiated - {value})

            if held is not None and broken(held[0]):
                rows.append((instance, held[0], held[1], time + tick))
                held = None
            for value in initiated:
                if held is None and not broken(value):
                    held = (value, time + tick)
        if held is not None:
            rows.append((instance, *held, INFINITY))
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return (*(np.ascontiguousarray(column) for column in columns), conflicts)  # type: ignore[return-value]


# -- ties by the rule `initiation` -----------------------------------------------------------


@part
def _go_on(
    row: Place, stop: Place, actions: Integers, held: Integers, since: Integers, number: Place,
    instance: int, end: int, count: Place, intervals: IntervalColumns,
) -> tuple[Place, Place]:  # fmt: skip
    """Keep the values that go on after a point: those not broken, and those initiated again."""
    initiated, many = _last_initiation(row, stop, actions)
    kept = ZERO
    for each in range(number):
        value, start = held[Place(each)], since[Place(each)]
        is_broken = many or (initiated != NOTHING and initiated != value)
        is_broken = is_broken or _is_ended(value, row, stop, actions)
        if is_broken and not _is_among(value, actions, row, stop):
            emit(intervals, count, instance, value, start, end)
            count += ONE
        else:
            held[kept], since[kept] = value, start
            kept += ONE
    return kept, count


@part
def _begin(
    row: Place, stop: Place, actions: Integers, held: Integers, since: Integers, number: Place,
    start: int,
) -> Place:  # fmt: skip
    """Add the values that a point initiates and that do not hold yet."""
    while row < stop:
        if actions[row] & 1 and not _is_among(actions[row], held, ZERO, number):
            held[number], since[number] = actions[row], start
            number += ONE
        row += ONE
    return number


@kernel(_HOLD + " writable-integers writable-integers", "integer integer")
def _hold_each(
    instances: Integers, times: Integers, actions: Integers,
    carried_instances: Integers, carried_values: Integers, carried_starts: Integers, tick: int,
    found_instances: Integers, found_values: Integers, found_starts: Integers, found_ends: Integers,
    held: Integers, since: Integers,
) -> tuple[np.int64, int]:  # fmt: skip
    """As `_hold` while one value holds at most and points have one action; else with a list.

    The first value of the list is kept beside it.
    """
    before = HeldValues(carried_instances, carried_values, carried_starts)
    intervals = IntervalColumns(found_instances, found_values, found_starts, found_ends)
    row, count, carried, conflicts = ZERO, ZERO, ZERO, 0
    while row < Place(len(times)):
        instance = instances[row]
        carried, count = _pass_carried(carried, instance, count, before, intervals)
        number = ZERO
        held[0], since[0] = NOTHING, 0
        while carried < Place(len(carried_instances)) and carried_instances[carried] == instance:
            held[number], since[number] = carried_values[carried] << 1 | 1, carried_starts[carried]
            number += ONE
            carried += ONE
        first, start = held[0], since[0]
        while row < Place(len(times)) and instances[row] == instance:
            end = times[row] + tick
            if number > ONE or is_shared(row, instances, times):
                held[0], since[0] = first, start
                stop = _point(row, instances, times)
                conflicts += _last_initiation(row, stop, actions)[1]
                number, count = _go_on(
                    row, stop, actions, held, since, number, instance, end, count, intervals
                )
                number = _begin(row, stop, actions, held, since, number, end)
                first, start = (held[0], since[0]) if number > ZERO else (NOTHING, end)
                row = stop
            else:
                after = _after(actions[row], first)
                emit(intervals, count, instance, first, start, end)
                count += Place((after != first) & (first != NOTHING))
                start = end if after != first else start
                first = after
                number = Place(first != NOTHING)
                row += ONE
        held[0], since[0] = first, start
        for each in range(number):
            emit(intervals, count, instance, held[Place(each)], since[Place(each)], INFINITY)
            count += ONE
    _, count = _pass_carried(carried, INFINITY, count, before, intervals)
    return np.int64(count), conflicts


def hold_each(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> Held:
    """Intervals of fluents under the tie rule `initiation`, as `hold` but for ties.

    An initiation counts even at a point that breaks its value, and holding goes on across such a
    break; so values initiated together all hold. Several values of an instance may be carried.
    The intervals of one instance and value are sorted by start.
    """
    most = len(times) + len(carried_instances) + 1
    # What is found, and the list of what holds.
    room = [np.empty(most, np.int64) for _ in range(4 + 2)]
    count, conflicts = _hold_each(
        instances, times, actions, carried_instances, carried_values, carried_starts, tick, *room
    )
    own_instances, values, starts, ends = (shortened(column, count) for column in room[:4])
    return own_instances, values, starts, ends, conflicts


def hold_each_plain(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> Held:
    """The twin of `hold_each`: the definition, one point of one instance after the other."""
    rows: list[tuple[int, int, int, int]] = []
    conflicts = 0
    for instance in sorted({*instances.tolist(), *carried_instances.tolist()}):
        mine = carried_instances == instance
        held = dict(zip(carried_values[mine].tolist(), carried_starts[mine].tolist(), strict=True))
        own = instances == instance
        for time in sorted(set(times[own].tolist())):
            now = actions[own & (times == time)].tolist()
            initiated = {action >> 1 for action in now if action & 1}
            ended = {action >> 1 for action in now if not action & 1}
            conflicts += len(initiated) > 1
            for value in list(held):
                broken = -1 in ended or value in ended or bool(initiated - {value})
                if broken and value not in initiated:
                    rows.append((instance, value, held.pop(value), time + tick))
            for value in initiated:
                held.setdefault(value, time + tick)
        rows.extend((instance, value, start, INFINITY) for value, start in held.items())
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return (*(np.ascontiguousarray(column) for column in columns), conflicts)  # type: ignore[return-value]
