"""Carries the joint probability of related pairs through time: which of them hold, all together.

A *component* is a set of pairs that rules relate. Its state at a point says of each of its pairs
whether it holds; bit b of a state is that of its pair b. Records of different points are
independent, so the probabilities of the states at the next point follow from those at this one,
with no other assumption.

A *step* is all groups of one component at one point; a *block* of it those that share facts of
records. Given the state, blocks are independent. What a block does depends on the bits that its
groups ask for. For each choice of these bits, the facts that several of its groups share get each
truth value in turn; given those, the groups are independent, too.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.circuit_values import MOST_TOGETHER, worth
from cernis.kernels.compile import FEW_ROWS, kernel, part

MOST_PAIRS: Final = 12
"""A component may have this many pairs."""

MOST_CHOICES: Final = 18
"""The bits asked for in a block, the facts shared and the pairs changed may be so many together."""


# -- structures ------------------------------------------------------------------------------

JOINT_STEPS = "(integers integers integers integers integers integers integers integers)"


class JointSteps(NamedTuple):
    """Steps, their blocks and groups, and the components that they are about.

    Step s has the blocks `blocks[steps[s]:steps[s+1]]`, where each begins in `order`, and is of
    component `components[s]`, whose steps are in the order of time. A component has
    `1 << sizes[c]` states from `state_offsets[c]` on. `pairs` are those of groups, and `bits` the
    bits of pairs.
    """

    steps: Integers
    blocks: Integers
    order: Integers
    components: Integers
    sizes: Integers
    state_offsets: Integers
    pairs: Integers
    bits: Integers


GROUP_FACTS = "(integers integers integers floats integers)"


class GroupFacts(NamedTuple):
    """The shape of each group and its facts; how likely each fact is, and which pair it is about.

    It is about no pair where `node_pairs` is -1.
    """

    shape: Integers
    fact_offsets: Integers
    facts: Integers
    given_chances: Floats
    node_pairs: Integers


CIRCUIT_TESTS = "(integers integers integers integers integers integers)"


class CircuitTests(NamedTuple):
    """The circuits of all shapes, as `Circuits` has them."""

    tests: Integers
    variables: Integers
    lows: Integers
    highs: Integers
    held: Integers
    fresh: Integers


BLOCK_ROOM = (
    "(writable-floats writable-floats writable-floats writable-integers writable-integers "
    "writable-integers writable-integers writable-integers writable-integers)"
)


class BlockRoom(NamedTuple):
    """Room for the blocks of a step: chances of facts, values of tests, tables of outcomes.

    `condition` and `changed` have the bits that each block asks for and changes, `shared` the facts
    that its groups share, `places` where its table is and how many bits it asks for. `sequence` is
    the order in which blocks are done.
    """

    chances: Floats
    values: Floats
    table: Floats
    condition: Integers
    shared: Integers
    changed: Integers
    places: Integers
    stamps: Integers
    sequence: Integers


STATE_ROOM = "(writable-floats writable-floats writable-floats writable-integers)"


class StateRoom(NamedTuple):
    """The probabilities of all states, and room for those that follow from one."""

    states: Floats
    following: Floats
    new_weights: Floats
    new_states: Integers


# -- blocks ----------------------------------------------------------------------------------


@part
def _with_bit(bit: int, count: int, condition: Integers) -> int:
    """Note that a block depends on a bit; gives on how many it depends."""
    for place in range(count):
        if condition[place] == bit:
            return count
    condition[count] = bit
    return count + 1


@part
def _place_of(bit: int, count: int, condition: Integers) -> int:
    """The place of a bit among those that a block depends on."""
    for place in range(count):
        if condition[place] == bit:
            return place
    return -1


@part
def _seen(
    block: int, first: int, last: int, joint: JointSteps, groups: GroupFacts, stamps: Integers,
    condition: Integers, shared: Integers,
) -> tuple[int, int]:  # fmt: skip
    """On how many bits a block depends, and how many facts several of its groups share.

    A group names each of its facts once; one that is met again is of another group, too.
    """
    count = 0
    more = 0
    for place in range(first, last):
        group = joint.order[place]
        count = _with_bit(joint.bits[joint.pairs[group]], count, condition)
        for row in range(groups.fact_offsets[group], groups.fact_offsets[group + 1]):
            node = groups.facts[row]
            if groups.node_pairs[node] >= 0:
                count = _with_bit(joint.bits[groups.node_pairs[node]], count, condition)
            elif stamps[node] == block:
                stamps[node] = -2 - block
                if more < MOST_CHOICES:
                    shared[more] = node
                more += 1
            elif stamps[node] != -2 - block:
                stamps[node] = block
    return count, more


@part
def _chance(
    group: int, number: int, count: int, joint: JointSteps, groups: GroupFacts,
    circuits: CircuitTests, room: BlockRoom, condition: Integers,
) -> float:  # fmt: skip
    """How likely the pair of a group is after it, by which bits that its block asks for are set."""
    chances, values = room.chances, room.values
    for row in range(groups.fact_offsets[group], groups.fact_offsets[group + 1]):
        node = groups.facts[row]
        pair = groups.node_pairs[node]
        if pair >= 0:
            bit = _place_of(joint.bits[pair], count, condition)
            chances[node] = float((number >> bit) & 1)
    circuit = groups.shape[group]
    worth(
        group, circuit, groups.fact_offsets, groups.facts, chances, circuits.tests,
        circuits.variables, circuits.lows, circuits.highs, values,
    )  # fmt: skip
    holds = (number >> _place_of(joint.bits[joint.pairs[group]], count, condition)) & 1
    return float(values[circuits.held[circuit] if holds == 1 else circuits.fresh[circuit]])


@part
def _spread(
    first: int, last: int, begin: int, number: int, count: int, joint: JointSteps,
    groups: GroupFacts, circuits: CircuitTests, room: BlockRoom, condition: Integers,
) -> None:  # fmt: skip
    """Divide the weight at `table[begin]` among the outcomes of a block's groups.

    `number` says which of the bits that the block depends on are set. Given the facts that they
    share, the groups are independent.
    """
    table = room.table
    filled = 1
    for place in range(first, last):
        chance = _chance(
            joint.order[place], number, count, joint, groups, circuits, room, condition
        )
        for outcome in range(filled):
            weight = table[begin + outcome]
            table[begin + filled + outcome] = weight * chance
            table[begin + outcome] = weight * (1.0 - chance)
        filled *= 2


@part
def _tabulated(
    first: int, last: int, base: int, count: int, more: int, joint: JointSteps,
    groups: GroupFacts, circuits: CircuitTests, room: BlockRoom, condition: Integers,
) -> int:  # fmt: skip
    """Write the table of a block at `base`: how likely each outcome is for each choice of bits.

    Gives the place after the table.
    """
    chances, table, shared = room.chances, room.table, room.shared
    size = last - first
    begin = base + (1 << (count + size))
    if size == 1 and more == 0:
        for number in range(1 << count):
            chance = _chance(
                joint.order[first], number, count, joint, groups, circuits, room, condition
            )
            table[base + 2 * number] = 1.0 - chance
            table[base + 2 * number + 1] = chance
        return begin
    for place in range(base, begin):
        table[place] = 0.0
    for choice in range(1 << (count + more)):
        number = choice & ((1 << count) - 1)
        weight = 1.0
        for place in range(more):
            is_true = (choice >> (count + place)) & 1
            chance = groups.given_chances[shared[place]]
            weight *= chance if is_true == 1 else 1.0 - chance
            chances[shared[place]] = float(is_true)
        if weight > 0.0:
            table[begin] = weight
            _spread(first, last, begin, number, count, joint, groups, circuits, room, condition)
            for outcome in range(1 << size):
                table[base + (number << size) + outcome] += table[begin + outcome]
    for place in range(more):
        chances[shared[place]] = groups.given_chances[shared[place]]
    return begin


@part
def _extended(
    entries: int, state: int, base: int, count: int, size: int, condition: Integers,
    changed: Integers, table: Floats, new_states: Integers, new_weights: Floats,
) -> int:  # fmt: skip
    """Extend the possible next states by the outcomes of a block, asked in `state`."""
    number = 0
    for place in range(count):
        number |= ((state >> condition[place]) & 1) << place
    row = base + (number << size)
    before = entries
    for entry in range(before):
        kept, weight = new_states[entry], new_weights[entry]
        is_first = True
        for outcome in range(1 << size):
            share = table[row + outcome]
            if share > 0.0:
                new = kept
                for place in range(size):
                    new |= ((outcome >> place) & 1) << changed[place]
                where = entry if is_first else entries
                entries += 0 if is_first else 1
                is_first = False
                new_states[where] = new
                new_weights[where] = weight * share
    return entries


@part
def _marginal(bit: int, states_count: int, base: int, states: Floats) -> float:
    chance = 0.0
    for state in range(states_count):
        if (state >> bit) & 1:
            chance += states[base + state]
    return min(chance, 1.0)


@part
def _tabulate_step(
    step: int, joint: JointSteps, groups: GroupFacts, circuits: CircuitTests, room: BlockRoom
) -> int:
    """Write the tables of a step's blocks; gives the bits that it changes, or -1: too large."""
    begin = 0
    cleared = 0
    for block in range(joint.steps[step], joint.steps[step + 1]):
        first, last = joint.blocks[block], joint.blocks[block + 1]
        which = block - joint.steps[step]
        condition = room.condition[which * MOST_PAIRS : (which + 1) * MOST_PAIRS]
        count, more = _seen(block, first, last, joint, groups, room.stamps, condition, room.shared)
        size = last - first
        if count + more + size > MOST_CHOICES or begin + (2 << (count + size)) > len(room.table):
            return -1
        room.places[2 * which] = begin
        room.places[2 * which + 1] = count
        for place in range(size):
            bit = joint.bits[joint.pairs[joint.order[first + place]]]
            room.changed[which * MOST_PAIRS + place] = bit
            cleared |= 1 << bit
        begin = _tabulated(
            first, last, begin, count, more, joint, groups, circuits, room, condition
        )
    return cleared


@part
def _follow_state(
    step: int, state: int, weight: float, cleared: int, joint: JointSteps, room: BlockRoom,
    states: StateRoom,
) -> None:  # fmt: skip
    """Add what follows from a state in a step."""
    states.new_states[0] = state & ~cleared
    states.new_weights[0] = weight
    entries = 1
    for block in range(joint.steps[step], joint.steps[step + 1]):
        which = block - joint.steps[step]
        entries = _extended(
            entries, state, room.places[2 * which], room.places[2 * which + 1],
            joint.blocks[block + 1] - joint.blocks[block],
            room.condition[which * MOST_PAIRS : (which + 1) * MOST_PAIRS],
            room.changed[which * MOST_PAIRS : (which + 1) * MOST_PAIRS],
            room.table, states.new_states, states.new_weights,
        )  # fmt: skip
    for entry in range(entries):
        states.following[states.new_states[entry]] += states.new_weights[entry]


@part
def _asks_for(which: int, bit: int, room: BlockRoom) -> bool:
    """Does a block depend on a bit?"""
    first = which * MOST_PAIRS
    for place in range(first, first + room.places[2 * which + 1]):
        if room.condition[place] == bit:
            return True
    return False


@part
def _put_in_order(step: int, joint: JointSteps, room: BlockRoom) -> bool:
    """Put the blocks of a step in an order in which each can be done in place; is there one?

    Each has to change one pair, which no later block asks for: what rules ask for is whether a pair
    held before the step.
    """
    first, count = joint.steps[step], joint.steps[step + 1] - joint.steps[step]
    for which in range(count):
        if joint.blocks[first + which + 1] - joint.blocks[first + which] != 1:
            return False
        room.sequence[which] = which
    for done in range(count):
        free = done
        while free < count:
            which, is_asked_for = room.sequence[free], False
            for other in range(done, count):
                is_asked_for |= other != free and _asks_for(
                    room.sequence[other], room.changed[which * MOST_PAIRS], room
                )
            if not is_asked_for:
                break
            free += 1
        if free == count:
            return False
        which = room.sequence[free]
        room.sequence[free] = room.sequence[done]
        room.sequence[done] = which
    return True


@part
def _change_bit(
    base: int, states_count: int, bit: int, begin: int, count: int, condition: Integers,
    table: Floats, weights: Floats,
) -> float:  # fmt: skip
    """Let the states follow that a block with one group has; gives how likely its pair is then.

    Two states that differ in the pair's bit alone share their weight out among themselves. The bit
    is the first of those that the block depends on.
    """
    if count == 1:
        _share_out(base, base + states_count, 1 << bit, begin, table, weights)
    elif count == 2:
        _share_out_by_bit(
            base, base + states_count, 1 << bit, 1 << condition[1], begin, table, weights
        )
    else:
        _share_out_by_bits(base, states_count, bit, begin, count, condition, table, weights)
    return min(_weight_of_bit(base, states_count, 1 << bit, weights), 1.0)


@part
def _share_out(
    first: int, last: int, width: int, begin: int, table: Floats, weights: Floats
) -> None:
    """The same shares for all states: loops over stretches, without branches."""
    stays, begins = table[begin], table[begin + 1]
    ends, goes_on = table[begin + 2], table[begin + 3]
    if width == 1:
        both = weights[first:last]
        for pair in range(len(both) >> 1):
            without, having = both[2 * pair], both[2 * pair + 1]
            both[2 * pair] = without * stays + having * ends
            both[2 * pair + 1] = without * begins + having * goes_on
        return
    for low in range(first, last, 2 * width):
        lower, upper = weights[low : low + width], weights[low + width : low + 2 * width]
        for state in range(len(lower)):
            without, having = lower[state], upper[state]
            lower[state] = without * stays + having * ends
            upper[state] = without * begins + having * goes_on


@part
def _share_out_by_bit(
    first: int, last: int, width: int, other: int, begin: int, table: Floats, weights: Floats
) -> None:
    """Shares that depend on one other bit, which has the value `other` in a state."""
    if other > width:
        for low in range(first, last, 2 * other):
            _share_out(low, low + other, width, begin, table, weights)
            _share_out(low + other, low + 2 * other, width, begin + 4, table, weights)
        return
    for high in range(first, last, 2 * width):
        for low in range(high, high + width, other):
            row = begin + 4 * int((low - first) & other != 0)
            stays, begins, ends, goes_on = (
                table[row],
                table[row + 1],
                table[row + 2],
                table[row + 3],
            )
            lower, upper = weights[low : low + other], weights[low + width : low + width + other]
            for state in range(len(lower)):
                without, having = lower[state], upper[state]
                lower[state] = without * stays + having * ends
                upper[state] = without * begins + having * goes_on


@part
def _share_out_by_bits(
    base: int, states_count: int, bit: int, begin: int, count: int, condition: Integers,
    table: Floats, weights: Floats,
) -> None:  # fmt: skip
    """Shares that depend on several other bits."""
    for high in range(0, states_count, 2 << bit):
        for state in range(high, high + (1 << bit)):
            without, having = weights[base + state], weights[base + state + (1 << bit)]
            if without != 0.0 or having != 0.0:
                row = begin
                for place in range(1, count):
                    row += ((state >> condition[place]) & 1) << (place + 1)
                weights[base + state] = without * table[row] + having * table[row + 2]
                weights[base + state + (1 << bit)] = (
                    without * table[row + 1] + having * table[row + 3]
                )


@part
def _weight_of_bit(base: int, states_count: int, width: int, weights: Floats) -> float:
    """The weight of all states that have a bit, in four sums that do not wait for one another."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    if width >= 4:
        for low in range(base + width, base + states_count, 2 * width):
            for state in range(low, low + width, 4):
                one += weights[state]
                two += weights[state + 1]
                three += weights[state + 2]
                four += weights[state + 3]
    elif states_count >= 8:
        # Of each eight states four have the bit: at 1, 3, 5 and 7, or at 2, 3, 6 and 7.
        for state in range(base, base + states_count, 8):
            one += weights[state + width]
            two += weights[state + 3]
            three += weights[state + 4 + width]
            four += weights[state + 7]
    else:
        for state in range(states_count):
            if state & width:
                one += weights[base + state]
    return (one + two) + (three + four)


@kernel(
    f"{JOINT_STEPS} {GROUP_FACTS} {CIRCUIT_TESTS} {BLOCK_ROOM} {STATE_ROOM} writable-floats",
    "integer",
    rows=FEW_ROWS,
)
def carry_jointly(
    joint: JointSteps, groups: GroupFacts, circuits: CircuitTests, room: BlockRoom,
    states: StateRoom, after: Floats,
) -> int:  # fmt: skip
    """Write the probability of each group's pair after it; gives a step that is too large, or -1.

    The probabilities of states are carried in place.
    """
    weights, following = states.states, states.following
    room.values[0] = 0.0
    room.values[1] = 1.0
    for step in range(len(joint.steps) - 1):
        component = joint.components[step]
        base, states_count = joint.state_offsets[component], 1 << joint.sizes[component]
        cleared = _tabulate_step(step, joint, groups, circuits, room)
        if cleared < 0:
            return step
        if _put_in_order(step, joint, room):
            for place in range(joint.steps[step + 1] - joint.steps[step]):
                which = room.sequence[place]
                group = joint.order[joint.blocks[joint.steps[step] + which]]
                after[group] = _change_bit(
                    base, states_count, room.changed[which * MOST_PAIRS], room.places[2 * which],
                    room.places[2 * which + 1], room.condition[which * MOST_PAIRS :], room.table,
                    weights,
                )  # fmt: skip
            continue
        for state in range(states_count):
            following[state] = 0.0
        for state in range(states_count):
            if weights[base + state] != 0.0:
                _follow_state(step, state, weights[base + state], cleared, joint, room, states)
        for state in range(states_count):
            weights[base + state] = following[state]
        for place in range(joint.blocks[joint.steps[step]], joint.blocks[joint.steps[step + 1]]):
            group = joint.order[place]
            bit = joint.bits[joint.pairs[group]]
            after[group] = _marginal(bit, states_count, base, weights)
    return -1


@kernel(
    "integers integers integers integers floats integers writable-floats",
    "nothing",
    rows=FEW_ROWS,
)
def fill_states(
    sizes: Integers, state_offsets: Integers, member_offsets: Integers, members: Integers,
    initial: Floats, instances: Integers, states: Floats,
) -> None:  # fmt: skip
    """Write the probabilities of each component's states when all begins; states are 0 before.

    The pairs of component c are `members[member_offsets[c]:member_offsets[c+1]]`, by bit; those of
    one instance are next to each other, and exclude each other if they add up to no more than 1.
    Others are independent, and so are pairs whose instance is -1.
    """
    for component in range(len(sizes)):
        base = state_offsets[component]
        first, last = member_offsets[component], member_offsets[component + 1]
        states[base] = 1.0
        place = first
        while place < last:
            stop = place + 1
            instance = instances[members[place]]
            total = initial[members[place]]
            while stop < last and instance >= 0 and instances[members[stop]] == instance:
                total += initial[members[stop]]
                stop += 1
            if total > MOST_TOGETHER:
                total = initial[members[place]]
                stop = place + 1
            filled = 1 << (place - first)
            for value in range(place, stop):
                for state in range(filled):
                    states[base + (state | (1 << (value - first)))] = (
                        states[base + state] * initial[members[value]]
                    )
            for state in range(filled):
                states[base + state] *= max(1.0 - total, 0.0)
            place = stop
