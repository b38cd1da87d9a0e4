"""Carries the joint probability of related pairs through time: which of them hold, all together.

A *component* is a set of pairs that rules relate. Its state at a point says of each of its pairs
whether it holds; bit b of a state is that of its pair b. Records of different points are
independent, so the probabilities of the states at the next point follow from those at this one,
with no other assumption.

A *step* is all groups of one component at one point. What its groups do depends on the bits that
they ask for. For each choice of these bits, the facts that several groups share get each truth
value in turn; given those, the groups are independent.
"""

from __future__ import annotations

from typing import Final

from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.circuit_values import MOST_TOGETHER, worth
from cernis.kernels.compile import FEW_ROWS, kernel, part

MOST_PAIRS: Final = 12
"""A component may have this many pairs."""

MOST_CHOICES: Final = 18
"""The bits asked for at a step, the facts shared and the pairs changed may be so many together."""


@part
def _bit_of(pair: int, bits: Integers, count: int, chosen: Integers) -> int:
    """Note that a step asks for a pair's bit; gives how many it asks for."""
    for place in range(count):
        if chosen[place] == bits[pair]:
            return count
    chosen[count] = bits[pair]
    return count + 1


@part
def _restricted(state: int, count: int, chosen: Integers) -> int:
    """The bits of a state that are chosen, as a number."""
    number = 0
    for place in range(count):
        number |= ((state >> chosen[place]) & 1) << place
    return number


@kernel(
    "integers integers integers integers integers integers integers integers "
    "integers integers floats integers integers integers integers integers integers integers "
    "writable-floats writable-floats writable-floats writable-floats writable-floats "
    "writable-integers writable-integers writable-integers writable-integers writable-floats",
    "integer",
    rows=FEW_ROWS,
)
def carry_jointly(
    steps: Integers, order: Integers, components: Integers, sizes: Integers,
    state_offsets: Integers, pairs: Integers, bits: Integers,
    shape: Integers, fact_offsets: Integers, facts: Integers, given_chances: Floats,
    tests: Integers, variables: Integers, lows: Integers, highs: Integers,
    held: Integers, fresh: Integers,
    node_pairs: Integers,
    chances: Floats, states: Floats, following: Floats, values: Floats, table: Floats,
    chosen: Integers, shared: Integers, changed: Integers, stamps: Integers, after: Floats,
) -> int:  # fmt: skip
    """Write the probability of each group's pair after it; gives a step that is too large, or -1.

    Step s has the groups `order[steps[s]:steps[s+1]]`, of component `components[s]`, whose steps
    are in the order of time. The probabilities of its states are `states[state_offsets[c]:]`,
    `1 << sizes[c]` of them, and are carried in place.
    `node_pairs` says which pair a fact is about, or -1.
    """
    values[0] = 0.0
    values[1] = 1.0
    for step in range(len(steps) - 1):
        component = components[step]
        base = state_offsets[component]
        count = 1 << sizes[component]
        asked = 0
        more = 0
        size = steps[step + 1] - steps[step]
        for place in range(steps[step], steps[step + 1]):
            group = order[place]
            changed[place - steps[step]] = bits[pairs[group]]
            asked = _bit_of(pairs[group], bits, asked, chosen)
            for fact in range(fact_offsets[group], fact_offsets[group + 1]):
                node = facts[fact]
                if node_pairs[node] >= 0:
                    asked = _bit_of(node_pairs[node], bits, asked, chosen)
                elif stamps[node] == step:
                    # A group names each of its facts once, so another group has it, too.
                    stamps[node] = -2 - step
                    shared[more] = node
                    more += 1
                    if more > MOST_CHOICES:
                        return step
                elif stamps[node] != -2 - step:
                    stamps[node] = step
        if asked + more + size > MOST_CHOICES:
            return step
        width = 1 << size
        for number in range((1 << asked) * width):
            table[number] = 0.0
        for number in range(1 << asked):
            for world in range(1 << more):
                weight = 1.0
                for place in range(more):
                    node = shared[place]
                    is_true = (world >> place) & 1
                    weight *= given_chances[node] if is_true else 1.0 - given_chances[node]
                    chances[node] = float(is_true)
                if weight == 0.0:
                    continue
                # The last entries of the table are room for the outcomes of one world.
                room = (1 << asked) * width
                table[room] = weight
                filled = 1
                for place in range(size):
                    group = order[steps[step] + place]
                    for fact in range(fact_offsets[group], fact_offsets[group + 1]):
                        node = facts[fact]
                        if node_pairs[node] >= 0:
                            for bit in range(asked):
                                if chosen[bit] == bits[node_pairs[node]]:
                                    chances[node] = float((number >> bit) & 1)
                    circuit = shape[group]
                    worth(
                        group, circuit, fact_offsets, facts, chances, tests, variables, lows,
                        highs, values,
                    )  # fmt: skip
                    holds = 0
                    for bit in range(asked):
                        if chosen[bit] == bits[pairs[group]]:
                            holds = (number >> bit) & 1
                    chance = values[held[circuit]] if holds else values[fresh[circuit]]
                    for outcome in range(filled):
                        part_weight = table[room + outcome]
                        table[room + filled + outcome] = part_weight * chance
                        table[room + outcome] = part_weight * (1.0 - chance)
                    filled *= 2
                for outcome in range(width):
                    table[number * width + outcome] += table[room + outcome]
        for place in range(more):
            chances[shared[place]] = given_chances[shared[place]]
        for state in range(count):
            following[state] = 0.0
        cleared = 0
        for place in range(size):
            cleared |= 1 << changed[place]
        for state in range(count):
            weight = states[base + state]
            if weight == 0.0:
                continue
            number = _restricted(state, asked, chosen)
            rest = state & ~cleared
            for outcome in range(width):
                share = table[number * width + outcome]
                if share > 0.0:
                    new = rest
                    for place in range(size):
                        new |= ((outcome >> place) & 1) << changed[place]
                    following[new] += weight * share
        for state in range(count):
            states[base + state] = following[state]
        for place in range(size):
            chance = 0.0
            bit = changed[place]
            for state in range(count):
                if (state >> bit) & 1:
                    chance += following[state]
            after[order[steps[step] + place]] = min(chance, 1.0)
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
