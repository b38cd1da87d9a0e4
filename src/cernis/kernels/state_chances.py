"""How likely each state of an instance with delayed effects is, carried through time.

A state is which values hold, one bit for each, and since when each value that has effects is under
way. At a point there are worlds, each with a probability: what rules initiate and terminate in it,
bits again. Each state and each world make one state after the point, and equal ones are joined. So
an instance costs, at each point, its states times the worlds of the point. There are few states:
those in which something else has been under way since another point.

Each effect ends the value that it is of: it terminates it, or initiates a value that ends others.
So one initiation of a value counts: the first, or the last one where initiations postpone effects.
In the dialect rtec an effect is postponed by what rules initiate at its very point, too.

What is asked of effects for each state and world is copied into the loop: to hand over all their
arrays with each call takes five times as long as the walk itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from cernis.kernels.array_types import Floats, Integers, Matrix
from cernis.kernels.compile import FEW_ROWS, body, kernel, part
from cernis.kernels.inertia.points import UNTIL_DUE

NOT_BEGUN: Final = -(1 << 62)
"""Since when a value is under way that is not."""
_FAR: Final = 1 << 62

MOST_STATES: Final = 4096
"""No instance may have more states at a point."""

NO_ROOM: Final = -1
"""There is no room for what comes out."""
TOO_MANY: Final = -2
"""An instance has too many states: this less its number."""


class PointWorlds(NamedTuple):
    """The points of instances, and the worlds of points."""

    point_offsets: Integers
    times: Integers
    world_offsets: Integers
    initiated: Integers
    terminated: Integers
    chances: Floats


class StateRows(NamedTuple):
    """The states of instances: what holds, since when what is under way, and how likely."""

    offsets: Integers
    held: Integers
    onsets: Matrix
    chances: Floats


class EffectBits(NamedTuple):
    """The effects of slots, which are values that have effects: a row for each line of instances.

    `ending` are the values that end others; `allowed` those that each instance may have.
    Initiations postpone an effect if `postponable` is not 0; if it is `UNTIL_DUE`, one at the very
    point of the effect does so, too.
    """

    lines: Integers
    sources: Integers
    delays: Matrix
    initiates: Matrix
    terminates: Matrix
    postponable: Matrix
    allowed: Integers
    ending: int


class Steps(NamedTuple):
    """What comes out: the probability of a value of an instance from a time on."""

    instances: Integers
    times: Integers
    values: Integers
    chances: Floats

    @staticmethod
    def with_room(count: int) -> Steps:
        """Room for so many steps."""
        instances, times, values = (np.empty(count, np.int64) for _ in range(3))
        return Steps(instances, times, values, np.empty(count))

    def up_to(self, count: int) -> Steps:
        """The first so many steps."""
        return Steps(
            self.instances[:count], self.times[:count], self.values[:count], self.chances[:count]
        )


@part
def _next_time(
    held: Integers, onsets: Matrix, first: int, size: int, line: int, effects: EffectBits
) -> int:
    """When the next effect of some states is due."""
    earliest = _FAR
    for state in range(first, first + size):
        for slot in range(len(effects.sources)):
            since = onsets[state, slot]
            if since != NOT_BEGUN and effects.delays[line, slot] > 0:
                earliest = min(earliest, since + effects.delays[line, slot])
    return earliest


@body
def _due_effects(
    onsets: Matrix, state: int, line: int, time: int, effects: EffectBits
) -> tuple[int, int, int]:
    """What the effects that are due in a state initiate and terminate.

    Those that an initiation at their very point postpones are left out: their slots, as bits.
    """
    initiated, terminated, late = 0, 0, 0
    for slot in range(len(effects.sources)):
        since = onsets[state, slot]
        if since != NOT_BEGUN and since + effects.delays[line, slot] == time:
            if effects.postponable[line, slot] == UNTIL_DUE:
                late |= 1 << slot
            else:
                initiated |= int(effects.initiates[line, slot])
                terminated |= int(effects.terminates[line, slot])
    return initiated, terminated, late


@body
def _late_effects(late: int, by_rules: int, line: int, effects: EffectBits) -> tuple[int, int]:
    """What those slots initiate and terminate whose values no rule initiates at the point."""
    initiated, terminated = 0, 0
    for slot in range(len(effects.sources)):
        if late >> slot & 1 and not (by_rules >> effects.sources[slot]) & 1:
            initiated |= int(effects.initiates[line, slot])
            terminated |= int(effects.terminates[line, slot])
    return initiated, terminated


@part
def _is_broken(value: int, initiated: int, terminated: int, ending: int) -> bool:
    """Is a value terminated, or another one initiated that ends others?"""
    bit = 1 << value
    return bool((terminated & bit) != 0 or (initiated & ending & ~bit) != 0)


@part
def _after(
    held: int, initiated: int, terminated: int, values: int, allowed: int, ending: int,
    has_breaks: int,
) -> int:  # fmt: skip
    """The values that hold after a point."""
    broken = 0
    for value in range(values):
        if _is_broken(value, initiated, terminated, ending):
            broken |= 1 << value
    new = initiated & allowed
    if has_breaks:
        return (held | new) & ~broken
    return new | (held & ~broken)


@part
def _enter(
    held: Integers, onsets: Matrix, chances: Floats, first: int, size: int, place: int
) -> int:
    """Join the state at a place with an equal one before it; gives how many there are."""
    for state in range(first, first + size):
        if held[state] == held[place]:
            same = True
            for slot in range(onsets.shape[1]):
                if onsets[state, slot] != onsets[place, slot]:
                    same = False
                    break
            if same:
                chances[state] += chances[place]
                return size
    return size + 1


@kernel(
    "(integers integers integers integers integers floats) (integers integers matrix floats) "
    "(integers integers matrix matrix matrix matrix integers integer) "
    "integer integer integer integer "
    "writable-integers writable-matrix writable-floats writable-floats "
    "(writable-integers writable-integers writable-integers writable-floats) "
    "(writable-integers writable-integers writable-integers writable-floats) "
    "(writable-integers writable-integers writable-matrix writable-floats) writable-floats",
    "integer integer",
    rows=FEW_ROWS,
)
def carry_states(
    points: PointWorlds, states: StateRows, effects: EffectBits,
    values: int, last: int, tick: int, has_breaks: int,
    held: Integers, onsets: Matrix, chances: Floats, known: Floats,
    steps: Steps, edges: Steps, final: StateRows, changed: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Carry the states of all instances over the points up to the last one; gives the steps.

    Edges say how likely a value starts or ends at a point; their values are twice the value, and
    one more for an end.

    A probability is valid from a tick after its point. The result is how many steps and how many
    edges there are; in place of the steps `NO_ROOM`, or `TOO_MANY` less the number of an instance.
    `held`, `onsets` and `chances` have room for twice the states of one instance. The states after
    the last point are the `final` ones.
    """
    most = len(held) // 2
    count, edge_count, finals = 0, 0, 0
    final.offsets[0] = 0
    for instance in range(len(points.point_offsets) - 1):
        line, allowed = effects.lines[instance], effects.allowed[instance]
        first, size = 0, states.offsets[instance + 1] - states.offsets[instance]
        if size > most:
            return TOO_MANY - instance, 0
        for value in range(values):
            known[value] = 0.0
        for state in range(size):
            row = states.offsets[instance] + state
            held[state], chances[state] = states.held[row], states.chances[row]
            for slot in range(len(effects.sources)):
                onsets[state, slot] = states.onsets[row, slot]
            for value in range(values):
                if held[state] >> value & 1:
                    known[value] += chances[state]
        point = points.point_offsets[instance]
        while True:
            time = _next_time(held, onsets, first, size, line, effects)
            has_point = point < points.point_offsets[instance + 1]
            if has_point and points.times[point] <= time:
                time = points.times[point]
            else:
                has_point = False
            if time > last or time == _FAR:
                break
            other, new = most - first, 0
            for edge in range(2 * values):
                changed[edge] = 0.0
            for state in range(first, first + size):
                fired, ended, late = _due_effects(onsets, state, line, time, effects)
                low, high = 0, 1
                if has_point:
                    low = int(points.world_offsets[point])
                    high = int(points.world_offsets[point + 1])
                for world in range(low, high):
                    initiated, terminated, chance = fired, ended, chances[state]
                    if has_point:
                        initiated = fired | int(points.initiated[world])
                        terminated = ended | int(points.terminated[world])
                        chance *= points.chances[world]
                    if late:
                        by_rules = int(points.initiated[world]) if has_point else 0
                        more, others = _late_effects(late, by_rules, line, effects)
                        initiated, terminated = initiated | more, terminated | others
                    if new >= most:
                        return TOO_MANY - instance, 0
                    place = other + new
                    held[place] = _after(
                        held[state], initiated, terminated, values, allowed, effects.ending,
                        has_breaks,
                    )  # fmt: skip
                    chances[place] = chance
                    different = held[state] ^ held[place]
                    for value in range(values):
                        if different >> value & 1:
                            changed[2 * value + (held[state] >> value & 1)] += chance
                    for slot in range(len(effects.sources)):
                        source = effects.sources[slot]
                        since = onsets[state, slot]
                        if _is_broken(source, initiated, terminated, effects.ending):
                            since = NOT_BEGUN
                        begins = (initiated & allowed) >> source & 1
                        if begins and effects.delays[line, slot] > 0 and (
                            since == NOT_BEGUN or effects.postponable[line, slot]
                        ):  # fmt: skip
                            since = time
                        onsets[place, slot] = since
                    new = _enter(held, onsets, chances, other, new, place)
            first, size = other, new
            for value in range(values):
                chance = 0.0
                for state in range(first, first + size):
                    if held[state] >> value & 1:
                        chance += chances[state]
                if chance != known[value]:
                    if count >= len(steps.times):
                        return NO_ROOM, 0
                    known[value] = chance
                    steps.instances[count], steps.times[count] = instance, time + tick
                    steps.values[count], steps.chances[count] = value, chance
                    count += 1
            for edge in range(2 * values):
                if changed[edge] > 0.0:
                    if edge_count >= len(edges.times):
                        return NO_ROOM, 0
                    edges.instances[edge_count], edges.times[edge_count] = instance, time
                    edges.values[edge_count], edges.chances[edge_count] = edge, changed[edge]
                    edge_count += 1
            if has_point:
                point += 1
        if finals + size > len(final.held):
            return NO_ROOM, 0
        for state in range(first, first + size):
            final.held[finals], final.chances[finals] = held[state], chances[state]
            for slot in range(len(effects.sources)):
                final.onsets[finals, slot] = onsets[state, slot]
            finals += 1
        final.offsets[instance + 1] = finals
    return count, edge_count
