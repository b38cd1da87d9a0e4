"""From points to intervals: initiations and breaks of fluents, by the law of inertia.

Actions are sorted by instance (a fluent with its arguments) and time. An action is twice the code
of the value it is about, plus one if it is an initiation; a termination of whatever value is -2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]

INFINITY = np.iinfo(np.int64).max
"""The end of an interval that is open."""


@kernel(
    "integers integers integers integers integers integers integer",
    "integers integers integers integers integer",
)
def hold(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """Intervals of fluents that have at most one value at a time, under the tie rule `break`.

    An initiation at T holds from T+tick until the first break at a later point; one at a point
    that also breaks its value does not count, so two values initiated together leave none. What
    is carried holds already when the first action comes; at most one value an instance, sorted
    by instance, and instances without any action stay as they are.

    Gives instances, values, starts and ends, sorted by instance and start, and the number of
    points at which two values were initiated.
    """
    most = len(times) + len(carried_instances)
    found_instances = np.empty(most, np.int64)
    found_values = np.empty(most, np.int64)
    found_starts = np.empty(most, np.int64)
    found_ends = np.empty(most, np.int64)
    count = 0
    conflicts = 0
    carried = 0
    row = 0
    rows = len(times)
    while row < rows or carried < len(carried_instances):
        # The next instance is the smaller of the two that are waiting.
        if row < rows and (
            carried >= len(carried_instances) or instances[row] <= carried_instances[carried]
        ):
            instance = instances[row]
        else:
            instance = carried_instances[carried]
        value = np.int64(-2)
        start = np.int64(0)
        if carried < len(carried_instances) and carried_instances[carried] == instance:
            value = carried_values[carried]
            start = carried_starts[carried]
            carried += 1
        while row < rows and instances[row] == instance:
            time = times[row]
            begun = np.int64(-2)
            many = False
            all_end = False
            current_ends = False
            first = row
            while row < rows and instances[row] == instance and times[row] == time:
                action = actions[row]
                about = action >> 1
                if action & 1:
                    if begun == -2:
                        begun = about
                    elif begun != about:
                        many = True
                elif about == -1:
                    all_end = True
                elif about == value:
                    current_ends = True
                row += 1
            if many:
                conflicts += 1
            broken = all_end or current_ends or many or (begun != -2 and begun != value)
            if value != -2 and broken:
                found_instances[count] = instance
                found_values[count] = value
                found_starts[count] = start
                found_ends[count] = time + tick
                count += 1
                value = np.int64(-2)
            if begun != -2 and not many and not all_end and value == -2:
                counts = True
                for other in range(first, row):
                    if actions[other] == begun << 1:
                        counts = False
                if counts:
                    value = begun
                    start = time + tick
        if value != -2:
            found_instances[count] = instance
            found_values[count] = value
            found_starts[count] = start
            found_ends[count] = 9223372036854775807
            count += 1
    return (
        found_instances[:count].copy(),
        found_values[:count].copy(),
        found_starts[:count].copy(),
        found_ends[:count].copy(),
        conflicts,
    )


def hold_plain(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> tuple[Integers, Integers, Integers, Integers, int]:
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
            begun = {action >> 1 for action in actions[now].tolist() if action & 1}
            ended = {action >> 1 for action in actions[now].tolist() if not action & 1}
            conflicts += len(begun) > 1

            def broken(value: int, begun: set[int] = begun, ended: set[int] = ended) -> bool:
                return -1 in ended or value in ended or bool(begun - {value})

            if held is not None and broken(held[0]):
                rows.append((instance, held[0], held[1], time + tick))
                held = None
            for value in begun:
                if held is None and not broken(value):
                    held = (value, time + tick)
        if held is not None:
            rows.append((instance, *held, int(INFINITY)))
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return (*(np.ascontiguousarray(column) for column in columns), conflicts)  # type: ignore[return-value]


@kernel(
    "integers integers integers integers integers integers integer",
    "integers integers integers integers integer",
)
def hold_each(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """Intervals of fluents under the tie rule `initiation`, as `hold` but for ties.

    An initiation counts even at a point that breaks its value, and holding goes on across such a
    break; so values initiated together all hold. The intervals of one instance and value are
    sorted by start.
    """
    most = len(times) + len(carried_instances)
    found_instances = np.empty(most, np.int64)
    found_values = np.empty(most, np.int64)
    found_starts = np.empty(most, np.int64)
    found_ends = np.empty(most, np.int64)
    held_values = np.empty(most + 1, np.int64)
    held_starts = np.empty(most + 1, np.int64)
    count = 0
    conflicts = 0
    carried = 0
    row = 0
    rows = len(times)
    while row < rows or carried < len(carried_instances):
        if row < rows and (
            carried >= len(carried_instances) or instances[row] <= carried_instances[carried]
        ):
            instance = instances[row]
        else:
            instance = carried_instances[carried]
        held = 0
        while carried < len(carried_instances) and carried_instances[carried] == instance:
            held_values[held] = carried_values[carried]
            held_starts[held] = carried_starts[carried]
            held += 1
            carried += 1
        while row < rows and instances[row] == instance:
            time = times[row]
            first = row
            while row < rows and instances[row] == instance and times[row] == time:
                row += 1
            begun = np.int64(-2)
            many = False
            for at in range(first, row):
                if actions[at] & 1:
                    if begun == -2:
                        begun = actions[at] >> 1
                    elif begun != actions[at] >> 1:
                        many = True
            if many:
                conflicts += 1
            kept = 0
            for each in range(held):
                value = held_values[each]
                counts = False
                broken = many or (begun != -2 and begun != value)
                for at in range(first, row):
                    if actions[at] == (value << 1) + 1:
                        counts = True
                    if actions[at] == -2 or actions[at] == value << 1:
                        broken = True
                if broken and not counts:
                    found_instances[count] = instance
                    found_values[count] = value
                    found_starts[count] = held_starts[each]
                    found_ends[count] = time + tick
                    count += 1
                else:
                    held_values[kept] = value
                    held_starts[kept] = held_starts[each]
                    kept += 1
            held = kept
            for at in range(first, row):
                if actions[at] & 1:
                    known = False
                    for each in range(held):
                        if held_values[each] == actions[at] >> 1:
                            known = True
                    if not known:
                        held_values[held] = actions[at] >> 1
                        held_starts[held] = time + tick
                        held += 1
        for each in range(held):
            found_instances[count] = instance
            found_values[count] = held_values[each]
            found_starts[count] = held_starts[each]
            found_ends[count] = 9223372036854775807
            count += 1
    return (
        found_instances[:count].copy(),
        found_values[:count].copy(),
        found_starts[:count].copy(),
        found_ends[:count].copy(),
        conflicts,
    )


def hold_each_plain(
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """The twin of `hold_each`: the definition, one point of one instance after the other."""
    rows: list[tuple[int, int, int, int]] = []
    conflicts = 0
    for instance in sorted({*instances.tolist(), *carried_instances.tolist()}):
        mine = carried_instances == instance
        held = dict(zip(carried_values[mine].tolist(), carried_starts[mine].tolist(), strict=True))
        own = instances == instance
        for time in sorted(set(times[own].tolist())):
            now = actions[own & (times == time)].tolist()
            begun = {action >> 1 for action in now if action & 1}
            ended = {action >> 1 for action in now if not action & 1}
            conflicts += len(begun) > 1
            for value in list(held):
                broken = -1 in ended or value in ended or bool(begun - {value})
                if broken and value not in begun:
                    rows.append((instance, value, held.pop(value), time + tick))
            for value in begun:
                held.setdefault(value, time + tick)
        rows.extend((instance, value, start, int(INFINITY)) for value, start in held.items())
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return (*(np.ascontiguousarray(column) for column in columns), conflicts)  # type: ignore[return-value]
