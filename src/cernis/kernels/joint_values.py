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
def _with_bit(bit: int, count: int, condition: Integers) -> int:
    """Note that a step depends on a bit; gives on how many it depends."""
    for place in range(count):
        if condition[place] == bit:
            return count
    condition[count] = bit
    return count + 1


@part
def _place_of(bit: int, count: int, condition: Integers) -> int:
    """The place of a bit among those that a step depends on."""
    for place in range(count):
        if condition[place] == bit:
            return place
    return -1


@part
def _seen(
    step: int, first: int, last: int, order: Integers, pairs: Integers, bits: Integers,
    fact_offsets: Integers, facts: Integers, node_pairs: Integers, stamps: Integers,
    condition: Integers, shared: Integers,
) -> tuple[int, int]:  # fmt: skip
    """On how many bits a step depends, and how many facts several of its groups share.

    A group names each of its facts once; one that is met again is of another group, too.
    """
    count = 0
    more = 0
    for place in range(first, last):
        group = order[place]
        count = _with_bit(bits[pairs[group]], count, condition)
        for row in range(fact_offsets[group], fact_offsets[group + 1]):
            node = facts[row]
            if node_pairs[node] >= 0:
                count = _with_bit(bits[node_pairs[node]], count, condition)
            elif stamps[node] == step:
                stamps[node] = -2 - step
                if more < MOST_CHOICES:
                    shared[more] = node
                more += 1
            elif stamps[node] != -2 - step:
                stamps[node] = step
    return count, more


@part
def _spread(
    first: int, last: int, room: int, number: int, count: int, order: Integers, pairs: Integers,
    bits: Integers, shape: Integers, fact_offsets: Integers, facts: Integers, tests: Integers,
    variables: Integers, lows: Integers, highs: Integers, held: Integers, fresh: Integers,
    node_pairs: Integers, chances: Floats, values: Floats, table: Floats, condition: Integers,
) -> None:  # fmt: skip
    """Divide the weight at `table[room]` among the outcomes of a step's groups.

    `number` says which of the bits that the step depends on are set. Given the facts that they
    share, the groups are independent.
    """
    filled = 1
    for place in range(first, last):
        group = order[place]
        for row in range(fact_offsets[group], fact_offsets[group + 1]):
            pair = node_pairs[facts[row]]
            if pair >= 0:
                chances[facts[row]] = float((number >> _place_of(bits[pair], count, condition)) & 1)
        circuit = shape[group]
        worth(group, circuit, fact_offsets, facts, chances, tests, variables, lows, highs, values)
        holds = (number >> _place_of(bits[pairs[group]], count, condition)) & 1
        chance = values[held[circuit]] if holds == 1 else values[fresh[circuit]]
        for outcome in range(filled):
            weight = table[room + outcome]
            table[room + filled + outcome] = weight * chance
            table[room + outcome] = weight * (1.0 - chance)
        filled *= 2


@part
def _advance(
    base: int, states_count: int, count: int, size: int, condition: Integers, changed: Integers,
    table: Floats, states: Floats, following: Floats,
) -> None:  # fmt: skip
    """Carry the states of a component over a step: `size` bits of them change."""
    cleared = 0
    for place in range(size):
        cleared |= 1 << changed[place]
    for state in range(states_count):
        following[state] = 0.0
    for state in range(states_count):
        weight = states[base + state]
        if weight == 0.0:
            continue
        number = 0
        for place in range(count):
            number |= ((state >> condition[place]) & 1) << place
        for outcome in range(1 << size):
            share = table[(number << size) + outcome]
            if share > 0.0:
                new = state & ~cleared
                for place in range(size):
                    new |= ((outcome >> place) & 1) << changed[place]
                following[new] += weight * share
    for state in range(states_count):
        states[base + state] = following[state]


@part
def _marginal(bit: int, states_count: int, following: Floats) -> float:
    chance = 0.0
    for state in range(states_count):
        if (state >> bit) & 1:
            chance += following[state]
    return min(chance, 1.0)


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
    held: Integers, fresh: Integers, node_pairs: Integers,
    chances: Floats, states: Floats, following: Floats, values: Floats, table: Floats,
    condition: Integers, shared: Integers, changed: Integers, stamps: Integers, after: Floats,
) -> int:  # fmt: skip
    """Write the probability of each group's pair after it; gives a step that is too large, or -1.

    Step s has the groups `order[steps[s]:steps[s+1]]`, of component `components[s]`, whose steps
    are in the order of time. The probabilities of its states are `states[state_offsets[c]:]`,
    `1 << sizes[c]` of them, and are carried in place. `node_pairs` says which pair a fact is about,
    or -1.
    """
    values[0] = 0.0
    values[1] = 1.0
    for step in range(len(steps) - 1):
        first, last = steps[step], steps[step + 1]
        base, states_count = state_offsets[components[step]], 1 << sizes[components[step]]
        size = last - first
        count, more = _seen(
            step, first, last, order, pairs, bits, fact_offsets, facts, node_pairs, stamps,
            condition, shared,
        )  # fmt: skip
        if count + more + size > MOST_CHOICES:
            return step
        room = 1 << (count + size)
        for place in range(room):
            table[place] = 0.0
        for choice in range(1 << (count + more)):
            number = choice & ((1 << count) - 1)
            weight = 1.0
            for place in range(more):
                is_true = (choice >> (count + place)) & 1
                chance = given_chances[shared[place]]
                weight *= chance if is_true == 1 else 1.0 - chance
                chances[shared[place]] = float(is_true)
            if weight > 0.0:
                table[room] = weight
                _spread(
                    first, last, room, number, count, order, pairs, bits, shape, fact_offsets,
                    facts, tests, variables, lows, highs, held, fresh, node_pairs, chances, values,
                    table, condition,
                )  # fmt: skip
                for outcome in range(1 << size):
                    table[(number << size) + outcome] += table[room + outcome]
        for place in range(more):
            chances[shared[place]] = given_chances[shared[place]]
        for place in range(size):
            changed[place] = bits[pairs[order[first + place]]]
        _advance(
            base, states_count, count, size, condition, changed, table, states, following
        )  # fmt: skip
        for place in range(size):
            after[order[first + place]] = _marginal(changed[place], states_count, following)
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
