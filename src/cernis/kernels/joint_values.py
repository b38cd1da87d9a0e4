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

from typing import Final

from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.circuit_values import MOST_TOGETHER, worth
from cernis.kernels.compile import FEW_ROWS, kernel, part

MOST_PAIRS: Final = 12
"""A component may have this many pairs."""

MOST_CHOICES: Final = 18
"""The bits asked for in a block, the facts shared and the pairs changed may be so many together."""


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
    block: int, first: int, last: int, order: Integers, pairs: Integers, bits: Integers,
    fact_offsets: Integers, facts: Integers, node_pairs: Integers, stamps: Integers,
    condition: Integers, shared: Integers,
) -> tuple[int, int]:  # fmt: skip
    """On how many bits a block depends, and how many facts several of its groups share.

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
            elif stamps[node] == block:
                stamps[node] = -2 - block
                if more < MOST_CHOICES:
                    shared[more] = node
                more += 1
            elif stamps[node] != -2 - block:
                stamps[node] = block
    return count, more


@part
def _spread(
    first: int, last: int, room: int, number: int, count: int, order: Integers, pairs: Integers,
    bits: Integers, shape: Integers, fact_offsets: Integers, facts: Integers, tests: Integers,
    variables: Integers, lows: Integers, highs: Integers, held: Integers, fresh: Integers,
    node_pairs: Integers, chances: Floats, values: Floats, table: Floats, condition: Integers,
) -> None:  # fmt: skip
    """Divide the weight at `table[room]` among the outcomes of a block's groups.

    `number` says which of the bits that the block depends on are set. Given the facts that they
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
def _tabulated(
    first: int, last: int, base: int, count: int, more: int, order: Integers, pairs: Integers,
    bits: Integers, shape: Integers, fact_offsets: Integers, facts: Integers,
    given_chances: Floats, tests: Integers, variables: Integers, lows: Integers, highs: Integers,
    held: Integers, fresh: Integers, node_pairs: Integers, chances: Floats, values: Floats,
    table: Floats, condition: Integers, shared: Integers,
) -> int:  # fmt: skip
    """Write the table of a block at `base`: how likely each outcome is for each choice of bits.

    Gives the place after the table.
    """
    size = last - first
    room = base + (1 << (count + size))
    for place in range(base, room):
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
                first, last, room, number, count, order, pairs, bits, shape, fact_offsets, facts,
                tests, variables, lows, highs, held, fresh, node_pairs, chances, values, table,
                condition,
            )  # fmt: skip
            for outcome in range(1 << size):
                table[base + (number << size) + outcome] += table[room + outcome]
    for place in range(more):
        chances[shared[place]] = given_chances[shared[place]]
    return room


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


@kernel(
    "integers integers integers integers integers integers integers integers integers "
    "integers integers floats integers integers integers integers integers integers integers "
    "writable-floats writable-floats writable-floats writable-floats writable-floats "
    "writable-integers writable-integers writable-integers writable-integers writable-integers "
    "writable-floats writable-integers writable-floats",
    "integer",
    rows=FEW_ROWS,
)
def carry_jointly(
    steps: Integers, blocks: Integers, order: Integers, components: Integers, sizes: Integers,
    state_offsets: Integers, pairs: Integers, bits: Integers,
    shape: Integers, fact_offsets: Integers, facts: Integers, given_chances: Floats,
    tests: Integers, variables: Integers, lows: Integers, highs: Integers,
    held: Integers, fresh: Integers, node_pairs: Integers,
    chances: Floats, states: Floats, following: Floats, values: Floats, table: Floats,
    condition: Integers, shared: Integers, changed: Integers, places: Integers, stamps: Integers,
    new_weights: Floats, new_states: Integers, after: Floats,
) -> int:  # fmt: skip
    """Write the probability of each group's pair after it; gives a step that is too large, or -1.

    Step s has the blocks `blocks[steps[s]:steps[s+1]]`, where each begins in `order`, and is of
    component `components[s]`, whose steps are in the order of time. The probabilities of its states
    are `states[state_offsets[c]:]`, `1 << sizes[c]` of them, and are carried in place. `node_pairs`
    says which pair a fact is about, or -1.
    """
    values[0] = 0.0
    values[1] = 1.0
    for step in range(len(steps) - 1):
        base, states_count = state_offsets[components[step]], 1 << sizes[components[step]]
        begin = 0
        cleared = 0
        for block in range(steps[step], steps[step + 1]):
            first, last = blocks[block], blocks[block + 1]
            which = block - steps[step]
            bits_asked = condition[which * MOST_PAIRS : (which + 1) * MOST_PAIRS]
            count, more = _seen(
                block, first, last, order, pairs, bits, fact_offsets, facts, node_pairs, stamps,
                bits_asked, shared,
            )  # fmt: skip
            size = last - first
            if count + more + size > MOST_CHOICES or begin + (2 << (count + size)) > len(table):
                return step
            places[2 * which] = begin
            places[2 * which + 1] = count
            for place in range(size):
                bit = bits[pairs[order[first + place]]]
                changed[which * MOST_PAIRS + place] = bit
                cleared |= 1 << bit
            begin = _tabulated(
                first, last, begin, count, more, order, pairs, bits, shape, fact_offsets, facts,
                given_chances, tests, variables, lows, highs, held, fresh, node_pairs, chances,
                values, table, bits_asked, shared,
            )  # fmt: skip
        for state in range(states_count):
            following[state] = 0.0
        for state in range(states_count):
            if states[base + state] == 0.0:
                continue
            new_states[0] = state & ~cleared
            new_weights[0] = states[base + state]
            entries = 1
            for block in range(steps[step], steps[step + 1]):
                which = block - steps[step]
                entries = _extended(
                    entries, state, places[2 * which], places[2 * which + 1],
                    blocks[block + 1] - blocks[block],
                    condition[which * MOST_PAIRS : (which + 1) * MOST_PAIRS],
                    changed[which * MOST_PAIRS : (which + 1) * MOST_PAIRS],
                    table, new_states, new_weights,
                )  # fmt: skip
            for entry in range(entries):
                following[new_states[entry]] += new_weights[entry]
        for state in range(states_count):
            states[base + state] = following[state]
        for place in range(blocks[steps[step]], blocks[steps[step + 1]]):
            group = order[place]
            after[group] = _marginal(bits[pairs[group]], states_count, base, states)
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
