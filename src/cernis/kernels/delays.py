"""From points to intervals where values have delayed effects: deadlines, expiry, escalation.

Effects depend on what held, which depends on effects before: each instance is walked through in
the order of time, its next action or the next effect, whichever comes first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.int64]

NO_EFFECT = -1
"""The delay of a value without a delayed effect."""
ENDS = -1
"""The target of an effect that ends its value and begins none."""


@kernel(
    "integers integers integers integers integers integers integers integers matrix integers "
    "matrix integers integer integer",
    "integers integers integers integers integers integers integers integers integers integers "
    "integer",
)
def hold_delayed(
    known: Integers,
    instances: Integers,
    times: Integers,
    actions: Integers,
    carried_instances: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    carried_since: Integers,
    delays: Matrix,
    targets: Integers,
    may: Matrix,
    postponable: Integers,
    query: int,
    tick: int,
) -> tuple[
    Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers,
    Integers, int,
]:  # fmt: skip
    """Intervals under the tie rule `break`, with delayed effects; otherwise as `hold`.

    `known` are the instances, sorted; those of actions and of what is carried are among them. A
    value v of instance `known[i]` has the delay `delays[v, i]`, or -1 for none; then `targets[v]`
    is initiated, or v ended if that is -1. An effect whose target the instance may not have
    (`may[target, i]` is 0) only breaks. An effect takes place at its point together with what
    happens there, and not behind the query. Where v is postponable, each initiation of it moves
    its effect. `carried_since` is the last initiation of what is carried.

    Gives instances, values, starts and ends; instances, values and times of the initiations of
    postponable values, those carried included; instances, actions and times of the effects; and
    the number of conflicts.
    """
    rows = len(times)
    values = len(targets)
    largest = np.int64(9223372036854775807)
    room = rows + len(carried_instances) + 16
    found_instances = np.empty(room, np.int64)
    found_values = np.empty(room, np.int64)
    found_starts = np.empty(room, np.int64)
    found_ends = np.empty(room, np.int64)
    begun_instances = np.empty(room, np.int64)
    begun_values = np.empty(room, np.int64)
    begun_times = np.empty(room, np.int64)
    effect_instances = np.empty(room, np.int64)
    effect_actions = np.empty(room, np.int64)
    effect_times = np.empty(room, np.int64)
    effects = 0
    count = 0
    initiations = 0
    conflicts = 0
    row = 0
    carried = 0
    for at in range(len(known)):
        instance = known[at]
        value = np.int64(-2)
        start = np.int64(0)
        effect = largest
        if carried < len(carried_instances) and carried_instances[carried] == instance:
            value = carried_values[carried]
            start = carried_starts[carried]
            if value < values and delays[value, at] >= 0:
                effect = carried_since[carried] + delays[value, at]
            if value < values and postponable[value]:
                begun_instances[initiations] = instance
                begun_values[initiations] = value
                begun_times[initiations] = carried_since[carried]
                initiations += 1
            carried += 1
        while True:
            here = row < rows and instances[row] == instance
            time = effect
            if here and times[row] < effect:
                time = times[row]
            if time == largest or time > query:
                break
            if count + 2 >= room or initiations + 2 >= room or effects + 2 >= room:
                # Effects that chain can outnumber the actions.
                room *= 2
                found_instances = np.append(found_instances, np.empty(room // 2, np.int64))
                found_values = np.append(found_values, np.empty(room // 2, np.int64))
                found_starts = np.append(found_starts, np.empty(room // 2, np.int64))
                found_ends = np.append(found_ends, np.empty(room // 2, np.int64))
                begun_instances = np.append(begun_instances, np.empty(room // 2, np.int64))
                begun_values = np.append(begun_values, np.empty(room // 2, np.int64))
                begun_times = np.append(begun_times, np.empty(room // 2, np.int64))
                effect_instances = np.append(effect_instances, np.empty(room // 2, np.int64))
                effect_actions = np.append(effect_actions, np.empty(room // 2, np.int64))
                effect_times = np.append(effect_times, np.empty(room // 2, np.int64))
            begun = np.int64(-2)
            many = False
            all_end = False
            value_ends = False
            first = row
            while row < rows and instances[row] == instance and times[row] == time:
                about = actions[row] >> 1
                if actions[row] & 1:
                    if begun == -2:
                        begun = about
                    elif begun != about:
                        many = True
                elif about == -1:
                    all_end = True
                elif about == value:
                    value_ends = True
                row += 1
            if effect == time:
                target = targets[value]
                effect_instances[effects] = instance
                effect_actions[effects] = value << 1 if target < 0 else (target << 1) + 1
                effect_times[effects] = time
                effects += 1
                if target < 0:
                    value_ends = True
                elif may[target, at] == 0:
                    all_end = True
                elif begun == -2:
                    begun = target
                elif begun != target:
                    many = True
            if many:
                conflicts += 1
            was = value
            broken = all_end or value_ends or many or (begun != -2 and begun != value)
            if value != -2 and broken:
                found_instances[count] = instance
                found_values[count] = value
                found_starts[count] = start
                found_ends[count] = time + tick
                count += 1
                value = np.int64(-2)
                effect = largest
            counts = begun != -2 and not many and not all_end
            if counts and value_ends and begun == was:
                counts = False
            if counts:
                for other in range(first, row):
                    if actions[other] == begun << 1:
                        counts = False
            if counts and value == -2:
                value = begun
                start = time + tick
                if value < values and delays[value, at] >= 0:
                    effect = time + delays[value, at]
            elif counts and value < values and postponable[value] and delays[value, at] >= 0:
                effect = time + delays[value, at]
            if counts and value < values and postponable[value]:
                begun_instances[initiations] = instance
                begun_values[initiations] = value
                begun_times[initiations] = time
                initiations += 1
        if value != -2:
            found_instances[count] = instance
            found_values[count] = value
            found_starts[count] = start
            found_ends[count] = largest
            count += 1
    return (
        found_instances[:count].copy(),
        found_values[:count].copy(),
        found_starts[:count].copy(),
        found_ends[:count].copy(),
        begun_instances[:initiations].copy(),
        begun_values[:initiations].copy(),
        begun_times[:initiations].copy(),
        effect_instances[:effects].copy(),
        effect_actions[:effects].copy(),
        effect_times[:effects].copy(),
        conflicts,
    )
