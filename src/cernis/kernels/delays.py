"""From points to intervals where values have delayed effects: deadlines, expiry, escalation.

Effects depend on what held, which depends on effects before: each instance is walked through in
the order of time, its next action or the next effect, whichever comes first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel, part, shortened

Integers = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.int64]
Place = np.uint64

NO_EFFECT = -1
"""The delay of a value without a delayed effect."""
ENDS = -1
"""The target of an effect that ends its value and begins none."""
CLASH = -3
"""The target of effects at one point that would begin several values: none begins."""


NOTHING = -2
"""Where no value holds, or none begins."""
NEVER = int(np.iinfo(np.int64).max)
ONE = np.uint64(1)


@part
def _due(value: int, since: int, at: Place, delays: Matrix, values: int) -> int:
    """When the effect of a value comes, that was initiated then; never, if it has none."""
    due = NEVER
    if value < values and delays[Place(value), at] >= 0:
        due = since + delays[Place(value), at]
    return due


@part
def _told(first: Place, last: Place, value: int, actions: Integers) -> tuple[int, bool, bool, bool]:
    """What begins at a point, whether values clash, whether all end, and whether this one does."""
    begins, many, ends_all, ends = NOTHING, False, False, False
    row = first
    while row < last:
        about = actions[row] >> 1
        if actions[row] & 1:
            many |= (begins != NOTHING) & (begins != about)
            begins = about if begins == NOTHING else begins
        else:
            ends_all |= about == -1
            ends |= about == value
        row += ONE
    return begins, many, ends_all, ends


@part
def _is_ended(first: Place, last: Place, value: int, actions: Integers) -> bool:
    """Is a value ended by name at this point?"""
    ended = False
    row = first
    while row < last:
        ended |= actions[row] == value << 1
        row += ONE
    return ended


@kernel(
    "integers integers integers integers integers integers integers integers matrix matrix "
    "matrix integers integer integer writable-integers writable-integers writable-integers "
    "writable-integers writable-integers writable-integers writable-integers writable-integers "
    "writable-integers writable-integers",
    "integer integer integer integer",
)
def _hold_delayed(
    known: Integers, instances: Integers, times: Integers, actions: Integers,
    carried_instances: Integers, carried_values: Integers, carried_starts: Integers,
    carried_since: Integers, delays: Matrix, targets: Matrix, may: Matrix,
    postponable: Integers, query: int, tick: int,
    found_instances: Integers, found_values: Integers, found_starts: Integers,
    found_ends: Integers, begun_instances: Integers, begun_values: Integers,
    begun_times: Integers, effect_instances: Integers, effect_actions: Integers,
    effect_times: Integers,
) -> tuple[np.int64, np.int64, np.int64, int]:  # fmt: skip
    """Gives the numbers of intervals, initiations, effects and conflicts; -1 if no room is left.

    In a step each of them grows by one at most.
    """
    rows, values = Place(len(times)), len(targets)
    room = Place(len(found_starts)) - Place(4)
    count, begun, fired, conflicts = Place(0), Place(0), Place(0), 0
    row, carried, at = Place(0), Place(0), Place(0)
    while at < Place(len(known)):
        instance = known[at]
        value, start, effect = NOTHING, 0, NEVER
        if carried < Place(len(carried_instances)) and carried_instances[carried] == instance:
            value, start = carried_values[carried], carried_starts[carried]
            effect = _due(value, carried_since[carried], at, delays, values)
            if value < values and postponable[Place(value)]:
                begun_instances[begun] = instance
                begun_values[begun] = value
                begun_times[begun] = carried_since[carried]
                begun += ONE
            carried += ONE
        while True:
            if count > room or begun > room or fired > room:
                return np.int64(-1), np.int64(0), np.int64(0), 0
            time = effect
            if row < rows and instances[row] == instance and times[row] < effect:
                time = times[row]
            if time == NEVER or time > query:
                break
            first = row
            while row < rows and instances[row] == instance and times[row] == time:
                row += ONE
            begins, many, ends_all, ends = _told(first, row, value, actions)
            if effect == time:
                target = targets[Place(value), at]
                effect_instances[fired] = instance
                effect_actions[fired] = value << 1 if target < 0 else (target << 1) + 1
                effect_times[fired] = time
                fired += ONE
                if target == CLASH:
                    many = True
                elif target < 0:
                    ends = True
                elif may[Place(target), at] == 0:
                    ends_all = True
                else:
                    many |= (begins != NOTHING) & (begins != target)
                    begins = target if begins == NOTHING else begins
            conflicts += many
            counts = (begins != NOTHING) & (not many) & (not ends_all)
            counts &= not (ends & (begins == value))
            if counts and row > first:
                counts = not _is_ended(first, row, begins, actions)
            if value != NOTHING and (
                ends_all or ends or many or (begins != NOTHING and begins != value)
            ):
                found_instances[count] = instance
                found_values[count] = value
                found_starts[count] = start
                found_ends[count] = time + tick
                count += ONE
                value, effect = NOTHING, NEVER
            if counts:
                if value == NOTHING:
                    value, start = begins, time + tick
                    effect = _due(value, time, at, delays, values)
                if value < values and postponable[Place(value)]:
                    effect = _due(value, time, at, delays, values)
                    begun_instances[begun] = instance
                    begun_values[begun] = value
                    begun_times[begun] = time
                    begun += ONE
        # What an instance still does behind the query is for a later one.
        while row < rows and instances[row] == instance:
            row += ONE
        if value != NOTHING:
            found_instances[count] = instance
            found_values[count] = value
            found_starts[count] = start
            found_ends[count] = NEVER
            count += ONE
        at += ONE
    return np.int64(count), np.int64(begun), np.int64(fired), conflicts


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
    targets: Integers | Matrix,
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
    value v of instance `known[i]` has the delay `delays[v, i]`, or -1 for none; then its target
    `targets[v, i]` is initiated, or v ended if that is -1; targets may be given by value alone. An
    effect whose target the instance may not have (`may[target, i]` is 0) only breaks. An effect
    takes place at its point together with what happens there, and not behind the query. Where v is
    postponable, each initiation of it moves its effect. `carried_since` is the last initiation of
    what is carried.

    Gives instances, values, starts and ends; instances, values and times of the initiations of
    postponable values, those carried included; instances, actions and times of the effects; and
    the number of conflicts.
    """
    if targets.ndim == 1:
        targets = np.ascontiguousarray(np.broadcast_to(targets[:, np.newaxis], delays.shape))
    room = 2 * len(times) + len(carried_instances) + 16
    while True:
        found = [np.empty(room, np.int64) for _ in range(10)]
        *counts, conflicts = _hold_delayed(
            known, instances, times, actions, carried_instances, carried_values, carried_starts,
            carried_since, delays, targets, may, postponable, query, tick, *found,
        )  # fmt: skip
        if counts[0] >= 0:
            break
        # Effects that chain can outnumber the actions.
        room *= 2
    lengths = np.repeat(counts, (4, 3, 3))
    own = [shortened(column, int(length)) for column, length in zip(found, lengths, strict=True)]
    return (*own, int(conflicts))  # type: ignore[return-value]
