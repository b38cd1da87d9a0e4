"""Formulas over uncertain facts: what shape they have, what they are worth, carried over time.

A *literal* is `2 * node`, or one more if it is negated. Node 0 is true. A node that is no fact is
composite: true if one of its alternatives is, each a conjunction of literals; nodes that these
name have lower numbers. A *group* is all that happens to one pair at one point: rows, each a
conjunction of literals, that initiate or break it.

Two groups have one shape if they are the same but for the names of the facts. A shape is compiled
once, elsewhere, to a decision diagram; here it is a list of tests `value[low] + p * (value[high] -
value[low])`, each after those that it uses.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.compile import FEW_ROWS, kernel, part

OPEN, OPEN_NOT, NEXT, CLOSE, INITIATES, BREAKS, OWN, NOT_OWN, HOLDS = range(9)
"""Tokens of a shape: a composite, its next alternative, its end; the beginning of a row; the
literal that the pair itself holds; the beginning of a row that says when the pair holds. From
`FACTS` on, `FACTS + 2 * k` is the group's fact k, or one more if it is negated."""
FACTS: Final = 10

_KINDS: Final = (INITIATES, BREAKS, HOLDS)

DEEPEST: Final = 64
"""So many composites may lie in one another."""

MOST_TOGETHER: Final = 1 + 1e-9
"""Values of one instance exclude each other if their probabilities add up to no more than this."""

LEAST_LEFT: Final = 1e-12
"""Less than this is nothing: it is left of 1 by rounding."""

_PRIME: Final = np.uint64(0x9E3779B97F4A7C15)
_S29: Final = np.uint64(29)


@part
def _mixed(key: int, token: int) -> int:
    """A hash with one token more."""
    mixed = (np.uint64(np.int64(key)) ^ np.uint64(token + 1)) * _PRIME
    return int(np.int64(mixed ^ (mixed >> _S29)))


@part
def _fact(
    literal: int, group: int, count: int, first: int, stamps: Integers, numbers: Integers,
    facts: Integers,
) -> tuple[int, int]:  # fmt: skip
    """The token of a fact's literal, and how many facts there are with it."""
    node = literal >> 1
    if stamps[node] != group:
        stamps[node] = group
        numbers[node] = count - first
        facts[count] = node
        count += 1
    return FACTS + 2 * numbers[node] + (literal & 1), count


@part
def _enter(
    inner: int, depth: int, cursor: int, stop: int, alternatives: Integers, conjunctions: Integers,
    stack: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Go into the first alternative of a composite; what comes after it is put by."""
    stack[4 * depth] = alternatives[inner]
    stack[4 * depth + 1] = alternatives[inner + 1]
    stack[4 * depth + 2] = cursor
    stack[4 * depth + 3] = stop
    return conjunctions[alternatives[inner]], conjunctions[alternatives[inner] + 1]


@part
def _leave(depth: int, conjunctions: Integers, stack: Integers) -> tuple[int, int, int, int]:
    """From the end of an alternative to the next one, or out of the composite."""
    stack[4 * depth] += 1
    alternative = stack[4 * depth]
    if alternative < stack[4 * depth + 1]:
        return NEXT, depth, conjunctions[alternative], conjunctions[alternative + 1]
    return CLOSE, depth - 1, stack[4 * depth + 2], stack[4 * depth + 3]


@part
def _write_row(
    cursor: int, stop: int, group: int, holds: int, first: int, key: int, place: int, count: int,
    literals: Integers, composite: Integers, alternatives: Integers, conjunctions: Integers,
    definitions: Integers, stamps: Integers, numbers: Integers, stack: Integers,
    tokens: Integers, facts: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the tokens of a row's literals; gives key, place and facts; a place of -1: too deep."""
    depth = 0
    while depth > 0 or cursor < stop:
        if cursor == stop:
            token, depth, cursor, stop = _leave(depth, conjunctions, stack)
        else:
            literal = literals[cursor] if depth == 0 else definitions[cursor]
            cursor += 1
            inner = composite[literal >> 1]
            if literal >> 1 == holds:
                token = OWN + (literal & 1)
            elif inner < 0:
                token, count = _fact(literal, group, count, first, stamps, numbers, facts)
            else:
                depth += 1
                if depth == DEEPEST:
                    return key, -1, count
                token = OPEN + (literal & 1)
                cursor, stop = _enter(
                    inner, depth, cursor, stop, alternatives, conjunctions, stack
                )  # fmt: skip
        tokens[place] = token
        key = _mixed(key, token)
        place += 1
    return key, place, count


@kernel(
    "integers integers integers integers integers integers integers integers integers integers "
    "writable-integers writable-integers writable-integers "
    "writable-integers writable-integers writable-integers writable-integers writable-integers",
    "integer",
)
def shapes(
    groups: Integers, order: Integers, breaks: Integers, offsets: Integers, literals: Integers,
    pair_nodes: Integers, composite: Integers, alternatives: Integers, conjunctions: Integers,
    definitions: Integers,
    stamps: Integers, numbers: Integers, stack: Integers,
    keys: Integers, token_offsets: Integers, tokens: Integers, fact_offsets: Integers,
    facts: Integers,
) -> int:  # fmt: skip
    """The shape of each group, and its facts in the order in which they first come.

    Group g has the rows `order[groups[g]:groups[g+1]]`; row r initiates, breaks or says that the
    pair holds, as `breaks[r]` is 0, 1 or 2, and has the literals `offsets[r]:offsets[r+1]`.
    `pair_nodes[g]` is the node that the pair itself holds, or -1. `composite[n]` is -1 for a fact;
    else the composite's alternatives are `alternatives[c]:alternatives[c+1]`, whose literals are
    `conjunctions[a]:conjunctions[a+1]` of the definitions. Stamps are -1 for all nodes. Written are
    a key of the shape, its tokens, and its facts. Gives the first group in which composites are too
    deep, or -1.
    """
    size = 0
    count = 0
    for group in range(len(groups) - 1):
        key = 0
        first = count
        for place in range(groups[group], groups[group + 1]):
            row = order[place]
            tokens[size] = _KINDS[breaks[row]]
            key, size, count = _write_row(
                offsets[row], offsets[row + 1], group, pair_nodes[group], first,
                _mixed(key, tokens[size]), size + 1, count, literals, composite, alternatives,
                conjunctions, definitions, stamps, numbers, stack, tokens, facts,
            )  # fmt: skip
            if size < 0:
                return group
        keys[group] = key
        token_offsets[group + 1] = size
        fact_offsets[group + 1] = count
    return -1


@kernel("integers integers integers integers", "integer")
def first_unlike(
    shape: Integers, samples: Integers, token_offsets: Integers, tokens: Integers
) -> int:
    """The first group whose tokens are not those of the sample of its shape; -1 if there is none.

    Different tokens of equal keys are possible, though hardly.
    """
    for group in range(len(shape)):
        sample = samples[shape[group]]
        low, other = token_offsets[group], token_offsets[sample]
        length = token_offsets[group + 1] - low
        if token_offsets[sample + 1] - other != length:
            return group
        for at in range(length):
            if tokens[low + at] != tokens[other + at]:
                return group
    return -1


@part
def worth(
    group: int, shape: int, fact_offsets: Integers, facts: Integers, chances: Floats,
    tests: Integers, variables: Integers, lows: Integers, highs: Integers, values: Floats,
) -> None:  # fmt: skip
    """Write the value of each test of a shape for the facts of a group after 0 and 1."""
    base = fact_offsets[group]
    place = 2
    for test in range(tests[shape], tests[shape + 1]):
        low = values[lows[test]]
        chance = chances[facts[base + variables[test]]]
        values[place] = low + chance * (values[highs[test]] - low)
        place += 1


@kernel(
    "integers integers integers floats integers integers integers integers integers integers "
    "writable-floats writable-floats writable-floats",
    "nothing",
    rows=FEW_ROWS,
)
def evaluate(
    shape: Integers, fact_offsets: Integers, facts: Integers, chances: Floats,
    tests: Integers, variables: Integers, lows: Integers, highs: Integers,
    held: Integers, fresh: Integers,
    values: Floats, kept: Floats, begins: Floats,
) -> None:  # fmt: skip
    """For each group the probabilities to hold next: if the pair holds, and if it does not.

    They are the values `held` and `fresh` of the group's shape; 0 and 1 are values by themselves.
    """
    values[0] = 0.0
    values[1] = 1.0
    for group in range(len(shape)):
        circuit = shape[group]
        worth(
            group, circuit, fact_offsets, facts, chances, tests, variables, lows, highs, values
        )  # fmt: skip
        kept[group] = values[held[circuit]]
        begins[group] = values[fresh[circuit]]


@kernel("integers floats floats floats writable-floats", "nothing")
def carry(offsets: Integers, initial: Floats, kept: Floats, begins: Floats, after: Floats) -> None:
    """The probability of each pair after each of its groups, which are in the order of time."""
    for pair in range(len(offsets) - 1):
        chance = initial[pair]
        for group in range(offsets[pair], offsets[pair + 1]):
            chance = begins[group] + chance * (kept[group] - begins[group])
            after[group] = chance


@part
def _awaited_chance(pair: int, first: int, last: int, current: Floats) -> float:
    """The probability of an awaited fact: that a pair holds if no value before it does.

    Without a pair, it is 1 if the values of the instance add up to more than 1, else 0; if they
    do, each counts as independent.
    """
    if first < 0:
        return float(current[pair])
    total = 0.0
    for value in range(first, last):
        total += current[value]
    is_more = total > MOST_TOGETHER
    if pair < 0:
        return 1.0 if is_more else 0.0
    if is_more:
        return float(current[pair])
    left = 1.0
    for value in range(first, pair):
        left -= current[value]
    if left <= LEAST_LEFT:
        return 0.0
    return min(1.0, float(current[pair]) / left)


@kernel(
    "integers integers integers integers integers integers writable-floats "
    "integers integers integers integers integers integers "
    "integers integers integers integers integers "
    "writable-floats writable-floats writable-floats writable-floats",
    "nothing",
    rows=FEW_ROWS,
)
def carry_together(
    order: Integers, times: Integers, pairs: Integers,
    shape: Integers, fact_offsets: Integers, facts: Integers, chances: Floats,
    tests: Integers, variables: Integers, lows: Integers, highs: Integers,
    held: Integers, fresh: Integers,
    awaited_times: Integers, awaited_nodes: Integers, awaited_pairs: Integers,
    firsts: Integers, lasts: Integers,
    values: Floats, current: Floats, following: Floats, after: Floats,
) -> None:  # fmt: skip
    """As `evaluate` and `carry`, of pairs that depend on one another: point by point.

    Groups are gone through in the given order, which is one of time. Before those of a point, the
    facts that are awaited then get the probability that their pair has by then. They are sorted
    by time. `current` is what each pair begins with. Where `firsts` is not -1, the pairs from
    `firsts` up to `lasts` are the values of one instance, which exclude each other.
    """
    values[0] = 0.0
    values[1] = 1.0
    awaited = 0
    first = 0
    while first < len(order):
        time = times[order[first]]
        while awaited < len(awaited_times) and awaited_times[awaited] <= time:
            chances[awaited_nodes[awaited]] = _awaited_chance(
                awaited_pairs[awaited], firsts[awaited], lasts[awaited], current
            )
            awaited += 1
        last = first
        while last < len(order) and times[order[last]] == time:
            group = order[last]
            circuit = shape[group]
            worth(
                group, circuit, fact_offsets, facts, chances, tests, variables, lows, highs, values
            )  # fmt: skip
            chance = current[pairs[group]]
            begun = values[fresh[circuit]]
            following[group] = begun + chance * (values[held[circuit]] - begun)
            last += 1
        for place in range(first, last):
            group = order[place]
            current[pairs[group]] = following[group]
            after[group] = following[group]
        first = last
    while awaited < len(awaited_times):
        chances[awaited_nodes[awaited]] = _awaited_chance(
            awaited_pairs[awaited], firsts[awaited], lasts[awaited], current
        )
        awaited += 1


@kernel("integers integers integers writable-integers writable-integers", "nothing")
def _pick(
    offsets: Integers, literals: Integers, rows: Integers, new_offsets: Integers, new: Integers
) -> None:
    size = 0
    for row in range(len(rows)):
        for place in range(offsets[rows[row]], offsets[rows[row] + 1]):
            new[size] = literals[place]
            size += 1
        new_offsets[row + 1] = size


def picked(offsets: Integers, literals: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """The lists of some rows, in their order: offsets, and what is in the lists."""
    rows = np.ascontiguousarray(rows)
    new_offsets = np.zeros(len(rows) + 1, np.int64)
    size = int((offsets[rows + 1] - offsets[rows]).sum()) if len(rows) else 0
    new = np.empty(size, np.int64)
    _pick(offsets, literals, rows, new_offsets, new)
    return new_offsets, new


def picked_plain(
    offsets: Integers, literals: Integers, rows: Integers
) -> tuple[Integers, Integers]:
    """The twin of `picked`."""
    lists = [literals[offsets[row] : offsets[row + 1]].tolist() for row in rows.tolist()]
    flat = [literal for own in lists for literal in own]
    return np.cumsum([0, *map(len, lists)]), np.array(flat, np.int64)


@kernel("matrix writable-integers writable-integers", "nothing")
def _say(table: Integers, offsets: Integers, said: Integers) -> None:
    size = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            said[size] = table[row, column]
            size += table[row, column] != 0
        offsets[row + 1] = size


def saying(table: Integers) -> tuple[Integers, Integers]:
    """The numbers of each row of a table that are not 0: offsets, and the numbers."""
    offsets = np.zeros(len(table) + 1, np.int64)
    # One more: what is 0 is written, too, and then written over.
    said = np.empty(table.size + 1, np.int64)
    _say(table, offsets, said)
    return offsets, said[: offsets[-1]].copy()


def saying_plain(table: Integers) -> tuple[Integers, Integers]:
    """The twin of `saying`."""
    counts = np.count_nonzero(table, axis=1)
    return np.append(0, np.cumsum(counts)).astype(np.int64), table[table != 0]


@kernel("integers integers integers integers integers writable-integers", "nothing")
def _locate(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers,
    located: Integers,
) -> None:  # fmt: skip
    before = -1
    nearby = 0
    for row in range(len(points)):
        group, point = groups[row], points[row]
        located[row] = -1
        if group < 0:
            continue
        low, high = offsets[group], offsets[group + 1]
        if group == before and nearby < high and starts[nearby] <= point:
            # The next point mostly lies in the same interval or the one after it.
            low = nearby
            high = min(nearby + 2, high) if ends[min(nearby + 1, high - 1)] > point else high
        while low < high:
            middle = (low + high) >> 1
            if ends[middle] <= point:
                low = middle + 1
            else:
                high = middle
        if low < offsets[group + 1] and starts[low] <= point:
            located[row] = low
        before = group
        nearby = low


def locate(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Integers:
    """For each point the interval `[start, end)` of its group's list that it lies in, or -1.

    The intervals of a list are sorted and disjoint. Points may come in any order; a group of -1
    is an empty list.
    """
    located = np.empty(len(points), np.int64)
    _locate(
        np.ascontiguousarray(groups), np.ascontiguousarray(points), offsets, starts, ends, located
    )
    return located
