"""Probabilistic maximal intervals: series of probabilities to intervals of high mean, online.

Scores are whole numbers, so that sums are exact however long a series is: probabilities are taken
in units of 1e-10. The *score* of a point is the sum of `probability - threshold` over all points
before it. `[s, e]` has a mean of at least the threshold iff the score after e is not below that
of s. A mean counts as the threshold if it is less than 1e-9 below it, which is the same as a
threshold lower by so much: scores are computed from that one, and no comparison needs a tolerance.

A start that has an earlier one of a score not above its own begins no maximal interval. So the
possible starts of a series are those whose score is below all before: their scores descend, and
the earliest start for an end is found by bisection. An end that has a later one of a score not
below its own ends no maximal interval. So ends are looked at from the last to the first, and only
those whose score is above all after them count.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.compile import FEW_ROWS, kernel, part

SCALE: Final = 10_000_000_000
TOLERANCE: Final = 10
"""In units of the scale: 1e-9."""
HIGHEST: Final = np.iinfo(np.int64).max
_LOWEST: Final = np.iinfo(np.int64).min
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX2: Final = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = (np.uint64(bits) for bits in (11, 27, 30, 31))
_UNIT: Final = 2.0**-53


@part
def _draw(entity: int, states: Integers) -> float:
    """The next number of `[0, 1)` from the generator of an entity (splitmix64)."""
    state = np.uint64(states[entity]) + _GOLDEN
    states[entity] = np.int64(state)
    state = (state ^ (state >> _S30)) * _MIX1
    state = (state ^ (state >> _S27)) * _MIX2
    return float((state ^ (state >> _S31)) >> _S11) * _UNIT


@part
def _earliest(score: int, high: int, scores: Integers) -> int:
    """The first of descending scores that is not above the given one; the last of them is not."""
    low = 0
    high -= 1
    while low < high:
        middle = (low + high) >> 1
        if scores[middle] <= score:
            high = middle
        else:
            low = middle + 1
    return low


@part
def _add_start(
    size: int, now: int, score: int, lowest: int, points: Integers, scores: Integers,
    fresh: Booleans,
) -> int:  # fmt: skip
    """Add a point to the starts remembered if it may be one; gives their number."""
    if size > 0 and score >= scores[size - 1]:
        return size
    points[size] = now
    scores[size] = score
    fresh[size] = score < lowest
    return size + 1


@part
def _add_starts(
    first: int, last: int, size: int, now: int, score: int, lowest: int, threshold: int,
    probabilities: Floats, points: Integers, scores: Integers, fresh: Booleans,
) -> tuple[int, int, int]:  # fmt: skip
    """Add the possible starts of a batch to those remembered; gives size, score and lowest score.

    Those that are below what is remembered but not below all scores there were are of use in this
    batch only; the others are fresh.
    """
    for row in range(first, last):
        now += 1
        size = _add_start(size, now, score, lowest, points, scores, fresh)
        lowest = min(lowest, score)
        score += int(probabilities[row] * SCALE + 0.5) - threshold
    return size, score, lowest


@part
def _batch_intervals(
    first: int, last: int, size: int, now: int, score: int, threshold: int,
    probabilities: Floats, points: Integers, scores: Integers,
    count: int, starts: Integers, ends: Integers, sums: Integers,
) -> int:  # fmt: skip
    """Write the maximal intervals that end in a batch after `count`, the last one first.

    Gives the place after them. `now` and `score` are those after the batch.
    """
    best = _LOWEST
    for row in range(last - 1, first - 1, -1):
        if score > best:
            best = score
            while size > 0 and points[size - 1] > now:
                size -= 1
            if size > 0 and scores[size - 1] <= score:
                earliest = _earliest(score, size, scores)
                starts[count] = points[earliest]
                ends[count] = now
                sums[count] = score - scores[earliest]
                count += 1
                # An end before this one must have an earlier start, or lies in this interval.
                size = earliest
        now -= 1
        score -= int(probabilities[row] * SCALE + 0.5) - threshold
    return count


@part
def _point_interval(
    base: int, count: int, size: int, now: int, score: int, points: Integers, scores: Integers,
    starts: Integers, ends: Integers, sums: Integers,
) -> int:  # fmt: skip
    """Write the maximal interval that ends in a batch of one point, after what was found before.

    What was found before and lies in it is taken away. Gives the place after it. The last start is
    not above the score.
    """
    earliest = _earliest(score, size, scores)
    start = points[earliest]
    while count > base and starts[count - 1] >= start:
        count -= 1
    starts[count] = start
    ends[count] = now
    sums[count] = score - scores[earliest]
    return count + 1


@part
def _stack(
    base: int, before: int, count: int, starts: Integers, ends: Integers, sums: Integers
) -> int:
    """Put what a batch brought, the last one first, in order after what was found before.

    There is one at the least. What was found before and lies in one of them is taken away. Gives
    the place after all.
    """
    top = before
    while top > base and starts[top - 1] >= starts[count - 1]:
        top -= 1
    low, high = before, count - 1
    while low < high:
        starts[low], starts[high] = starts[high], starts[low]
        ends[low], ends[high] = ends[high], ends[low]
        sums[low], sums[high] = sums[high], sums[low]
        low += 1
        high -= 1
    if top < before:
        for row in range(count - before):
            starts[top + row] = starts[before + row]
            ends[top + row] = ends[before + row]
            sums[top + row] = sums[before + row]
    return top + count - before


@part
def _copy(
    size: int, points: Integers, scores: Integers, low: int,
    new_points: Integers, new_scores: Integers, offset: int,
) -> None:  # fmt: skip
    for row in range(size):
        new_points[offset + row] = points[low + row]
        new_scores[offset + row] = scores[low + row]


@part
def _forget_by_duration(
    size: int, limit: int, now: int, mean: float, chances: Floats, entity: int, states: Integers,
    draws: Floats, drawn: Integers, points: Integers, scores: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Forget starts by chance, in the order of time, while there are too many.

    Gives how many stay, how many places before them are passed over, and how many of the first were
    moved: the first ones are moved towards the others, since they are few. `chances[d]` is the
    chance to forget a start whose intervals last at least d; it is 1 beyond. Numbers are taken from
    `draws` while there are any, then from the entity's generator.
    """
    kept, row, left = 0, 0, size
    # The starts after one that is not that old are later still: none of them is forgotten.
    while left > limit and row < size:
        least = now - points[row] + 1
        if least <= mean:
            break
        if drawn[0] < len(draws):
            number = draws[drawn[0]]
            drawn[0] += 1
        else:
            number = _draw(entity, states)
        if least >= len(chances) or chances[least] > number:
            left -= 1
        else:
            if kept < row:
                points[kept] = points[row]
                scores[kept] = scores[row]
            kept += 1
        row += 1
    passed = row - kept
    if passed == 0:
        return left, 0, 0
    for place in range(kept - 1, -1, -1):
        points[place + passed] = points[place]
        scores[place + passed] = scores[place]
    return left, passed, kept


@part
def _select(rank: int, low: int, high: int, values: Integers) -> int:
    """The value that stands at a place when the values of a stretch are sorted downwards."""
    high -= 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return int(values[rank])


@part
def _take_ranges(low: int, size: int, points: Integers, scores: Integers, ranges: Integers) -> None:
    """Take the score ranges of starts from a place on; that of the first has no end.

    A score range reaches from the score of a start up to that of the one before it, in scores of
    the very threshold.
    """
    ranges[0] = HIGHEST
    for at in range(max(low, 1), size):
        ranges[at] = scores[at - 1] - scores[at] + TOLERANCE * (points[at] - points[at - 1])


@part
def _shortest_range(size: int, ranges: Integers) -> int:
    """The shortest score range of starts but for the first, which has no end."""
    shortest = HIGHEST
    for row in range(1, size):
        shortest = min(shortest, ranges[row])
    return shortest


@part
def _forget_shortest(size: int, points: Integers, scores: Integers, ranges: Integers) -> None:
    """Forget the start of the shortest score range; of equal ones the last. There are two or more.

    The range of the start after it then reaches farther.
    """
    shortest = _shortest_range(size, ranges)
    place = size - 1
    while ranges[place] != shortest:
        place -= 1
    if place < size - 1:
        ranges[place + 1] += shortest
    for row in range(place, size - 1):
        points[row] = points[row + 1]
        scores[row] = scores[row + 1]
        ranges[row] = ranges[row + 1]


@part
def _is_last_shortest(limit: int, shortest: int, points: Integers, scores: Integers) -> bool:
    """Is the start that is one too many itself the one to be forgotten?

    So it is if its score range is not above the shortest of the others. While a series is low, most
    new starts are such.
    """
    score_range = (
        scores[limit - 1] - scores[limit] + TOLERANCE * (points[limit] - points[limit - 1])
    )
    return bool(score_range <= shortest)


@part
def _forget_by_range(
    size: int, limit: int, points: Integers, scores: Integers, ranges: Integers
) -> int:
    """Keep the starts of the longest score ranges, up to the limit; of equal ones the first."""
    for row in range(size):
        ranges[size + row] = ranges[row]
    least = _select(size + limit - 1, size, 2 * size, ranges)
    equal = limit
    for row in range(size):
        equal -= ranges[row] > least
    kept = 0
    for row in range(size):
        if ranges[row] > least or (ranges[row] == least and equal > 0):
            equal -= ranges[row] == least
            points[kept] = points[row]
            scores[kept] = scores[row]
            kept += 1
    return kept


@part
def _remember(
    old: int, size: int, limit: int, now: int, mean: float, chances: Floats, entity: int,
    states: Integers, draws: Floats, drawn: Integers,
    points: Integers, scores: Integers, fresh: Booleans, ranges: Integers, ranged: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Keep what was remembered and, of the starts of a batch, the fresh ones; not too many.

    Gives how many there are, how many of them have their score ranges in `ranges`, and how many
    places before them are no longer in use, in all three.
    """
    kept = old
    for row in range(old, size):
        if fresh[row]:
            points[kept] = points[row]
            scores[kept] = scores[row]
            kept += 1
    if limit < 0 or kept <= limit:
        return kept, ranged, 0
    left, passed, moved = _forget_by_duration(
        kept, limit, now, mean, chances, entity, states, draws, drawn, points, scores
    )
    ranged = max(ranged - passed, 0)
    if ranged > 0 and passed > 0:
        # Score ranges stay what they are, but for those of the starts moved and of the next one.
        head = min(moved + 1, left)
        _take_ranges(0, head, points[passed:], scores[passed:], ranges[passed:])
        ranged = max(ranged, head)
    if left <= limit or limit == 0:
        return min(left, limit), min(ranged, limit), passed
    points, scores, ranges = points[passed:], scores[passed:], ranges[passed:]
    _take_ranges(ranged, left, points, scores, ranges)
    if left == limit + 1:
        _forget_shortest(left, points, scores, ranges)
        return limit, limit, passed
    return _forget_by_range(left, limit, points, scores, ranges), 0, passed


@kernel(
    "floats integers integer integer integer float floats floats writable-integers "
    "integers integers integers writable-integers writable-integers writable-integers "
    "writable-integers writable-integers writable-integers writable-booleans writable-integers "
    "writable-integers writable-integers writable-integers "
    "writable-integers writable-integers writable-integers writable-integers",
    "nothing",
    rows=FEW_ROWS,
)
def find(
    probabilities: Floats, offsets: Integers, threshold: int, batch: int, limit: int,
    mean: float, chances: Floats, draws: Floats, drawn: Integers,
    memory_offsets: Integers, memory_points: Integers, memory_scores: Integers,
    seen: Integers, score: Integers, lowest: Integers, states: Integers,
    points: Integers, scores: Integers, fresh: Booleans, ranges: Integers,
    new_offsets: Integers, new_points: Integers, new_scores: Integers,
    found_offsets: Integers, starts: Integers, ends: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Maximal intervals of the series of all entities, batch by batch, and what is remembered.

    The series of entity k is `offsets[k]:offsets[k+1]`, what it remembers
    `memory_offsets[k]:memory_offsets[k+1]`. `threshold` is in units of the scale and less the
    tolerance; `limit` is -1 for an unbounded memory; an endless `mean` does without durations.
    An interval of which a later batch shows that it lies in a longer one is taken back. `seen`,
    `score`, `lowest` and `states` are brought up to date; the arrays of the fourth line are for
    work, those of the last two are written.
    """
    written = 0
    out = 0
    for entity in range(len(offsets) - 1):
        low = memory_offsets[entity]
        size = memory_offsets[entity + 1] - low
        _copy(size, memory_points, memory_scores, low, points, scores, 0)
        base = out
        now, score_now, lowest_now = seen[entity], score[entity], lowest[entity]
        ranged, shortest = 0, -1
        # The places of what is remembered: those before are no longer in use.
        own_points, own_scores, own_fresh, own_ranges = points, scores, fresh, ranges
        first = offsets[entity]
        while first < offsets[entity + 1]:
            last = min(first + batch, offsets[entity + 1])
            old = size
            if last - first == 1:
                size = _add_start(
                    size, now + 1, score_now, lowest_now, own_points, own_scores, own_fresh
                )
                lowest_now = min(lowest_now, score_now)
                score_now += int(probabilities[first] * SCALE + 0.5) - threshold
            else:
                size, score_now, lowest_now = _add_starts(
                    first, last, size, now, score_now, lowest_now, threshold,
                    probabilities, own_points, own_scores, own_fresh,
                )  # fmt: skip
            now += last - first
            # A batch of one point ends an interval only if some start is not above it.
            if last - first == 1:
                if own_scores[size - 1] <= score_now:
                    out = _point_interval(
                        base, out, size, now, score_now, own_points, own_scores, starts, ends, sums
                    )
            else:
                count = _batch_intervals(
                    first, last, size, now, score_now, threshold, probabilities,
                    own_points, own_scores, out, starts, ends, sums,
                )  # fmt: skip
                if count > out:
                    out = _stack(base, out, count, starts, ends, sums)
            # A start that is so old that it may be forgotten for its duration goes first.
            is_one_more = (
                limit > 0 and ranged == limit and size == limit + 1 and own_fresh[limit]
                and now - own_points[0] + 1 <= mean
            )  # fmt: skip
            if is_one_more and shortest < 0:
                shortest = _shortest_range(limit, own_ranges)
            if is_one_more and _is_last_shortest(limit, shortest, own_points, own_scores):
                size = limit
            elif size > old or 0 <= limit < size:
                size, ranged, passed = _remember(
                    old, size, limit, now, mean, chances, entity, states, draws, drawn,
                    own_points, own_scores, own_fresh, own_ranges, ranged,
                )  # fmt: skip
                if passed > 0:
                    own_points, own_scores = own_points[passed:], own_scores[passed:]
                    own_fresh, own_ranges = own_fresh[passed:], own_ranges[passed:]
                shortest = -1
            first = last
        seen[entity], score[entity], lowest[entity] = now, score_now, lowest_now
        _copy(size, own_points, own_scores, 0, new_points, new_scores, written)
        written += size
        new_offsets[entity + 1] = written
        found_offsets[entity + 1] = out


@kernel("integers integers integers integers writable-booleans", "nothing")
def choose(
    offsets: Integers, starts: Integers, ends: Integers, sums: Integers, chosen: Booleans
) -> None:
    """Mark the most credible of each group of overlapping intervals.

    Intervals are sorted, and none lies in another. Two overlap when they share a point; a group is
    closed under that. The highest mean is the most credible; of means less than the tolerance
    below it the longest interval, then the earliest.
    """
    for entity in range(len(offsets) - 1):
        first = offsets[entity]
        while first < offsets[entity + 1]:
            last = first + 1
            while last < offsets[entity + 1] and starts[last] <= ends[last - 1]:
                last += 1
            highest = -np.inf
            for row in range(first, last):
                highest = max(highest, sums[row] / (ends[row] - starts[row] + 1))
            best, longest = first, 0
            for row in range(first, last):
                length = ends[row] - starts[row] + 1
                if length > longest and sums[row] / length >= highest - TOLERANCE:
                    best, longest = row, length
            chosen[best] = True
            first = last
