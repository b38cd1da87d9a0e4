"""Union, intersection and relative complement of two lists of intervals, many pairs in one call.

Lists, operands and groups are those of `list_operations`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import body, kernel, part, shortened

Lists = tuple[Integers, Integers, Integers]
"""Offsets, starts and ends."""
Operand = tuple[Integers, Integers, Integers, Integers]
"""A group for each result, and the collection it is of: offsets, starts and ends."""

ZERO, ONE, TWO, THREE, FOUR = (np.uint64(number) for number in range(5))
BEFORE_ALL = np.iinfo(np.int64).min
UNION, INTERSECTION, COMPLEMENT = 0, 1, 2

# All three are intersections: `A minus B` is that of A with the gaps of B, and the gaps of a union
# are what the gaps of its operands share. Gap j of a list reaches from the end before its place j
# to the start at j. So what is walked along is two lists of stretches, each from a low to a high;
# with each step the stretch that ends first is done with.


@part
def _high1(operator: int, i: Place, starts1: Integers, ends1: Integers) -> int:
    """Where the stretch at a place of the first list ends."""
    high: int = starts1[i] if operator == UNION else ends1[i]
    return high


@part
def _high2(operator: int, j: Place, starts2: Integers, ends2: Integers) -> int:
    """Where the stretch at a place of the second list ends."""
    high: int = ends2[j] if operator == INTERSECTION else starts2[j]
    return high


@part
def _write(
    operator: int, i: Place, j: Place, low1: int, low2: int, count: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    starts: Integers, ends: Integers,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """One step without a branch: what is shared is written, and counted if it is anything."""
    high1 = _high1(operator, i, starts1, ends1)
    high2 = _high2(operator, j, starts2, ends2)
    low, high = max(low1, low2), min(high1, high2)
    if operator == UNION:
        ends[count] = low
        starts[count + ONE] = high
    else:
        starts[count] = low
        ends[count] = high
    first = Place(high1 <= high2)
    return i + first, j + (ONE - first), count + Place(low < high)


@part
def _step(
    operator: int, i: Place, j: Place, count: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    starts: Integers, ends: Integers,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """A step where both stretches begin after an interval of their list."""
    low1 = ends1[i - ONE] if operator == UNION else starts1[i]
    low2 = starts2[j] if operator == INTERSECTION else ends2[j - ONE]
    return _write(operator, i, j, low1, low2, count, starts1, ends1, starts2, ends2, starts, ends)


@part
def _is_in_time(
    operator: int, i: Place, j: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
) -> Place:  # fmt: skip
    """Does a stretch of the first list end no later than one of the second? As 1 or 0."""
    return Place(_high1(operator, i, starts1, ends1) <= _high2(operator, j, starts2, ends2))


@part
def _leap(
    operator: int, i: Place, j: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
) -> Place:  # fmt: skip
    """How many of the next four steps are in the first list.

    Stretch i+k is done with in these steps if no more than 3-k of the second list end before it.
    """
    near = _is_in_time(operator, i, j + THREE, starts1, ends1, starts2, ends2)
    near += _is_in_time(operator, i + ONE, j + TWO, starts1, ends1, starts2, ends2)
    far = _is_in_time(operator, i + TWO, j + ONE, starts1, ends1, starts2, ends2)
    far += _is_in_time(operator, i + THREE, j, starts1, ends1, starts2, ends2)
    return near + far


@body
def _walk(
    operator: int, i: Place, i_stop: Place, j: Place, j_stop: Place, count: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    starts: Integers, ends: Integers,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """Steps until one list is at its end.

    A step has to wait for the one before it. So where four of them lead is found out beforehand,
    and the next four begin while these are under way.
    """
    while i + FOUR <= i_stop and j + FOUR <= j_stop:
        k, m = i, j
        leap = _leap(operator, i, j, starts1, ends1, starts2, ends2)
        i += leap
        j += FOUR - leap
        k, m, count = _step(operator, k, m, count, starts1, ends1, starts2, ends2, starts, ends)
        k, m, count = _step(operator, k, m, count, starts1, ends1, starts2, ends2, starts, ends)
        k, m, count = _step(operator, k, m, count, starts1, ends1, starts2, ends2, starts, ends)
        k, m, count = _step(operator, k, m, count, starts1, ends1, starts2, ends2, starts, ends)
    while i < i_stop and j < j_stop:
        i, j, count = _step(operator, i, j, count, starts1, ends1, starts2, ends2, starts, ends)
    return i, j, count


@part
def _end_before(i: Place, first: Place, ends1: Integers) -> int:
    """Where the interval before a place of a list ends."""
    end: int = ends1[i - ONE] if i > first else BEFORE_ALL
    return end


@body
def _begin(
    operator: int, i: Place, i_stop: Place, j: Place, j_stop: Place, count: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    starts: Integers, ends: Integers,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """The steps to after the first interval of each list whose gaps are walked along.

    In a union, the count is that of the intervals that have an end.
    """
    i_first, j_first = i, j
    if operator == UNION and i < i_stop and j < j_stop:
        first = Place(starts1[i] <= starts2[j])
        starts[count] = min(starts1[i], starts2[j])
        i += first
        j += ONE - first
    if operator != INTERSECTION:
        while i < i_stop and j < j_stop and (
            j == j_first or (operator == UNION and i == i_first)
        ):  # fmt: skip
            low1 = _end_before(i, i_first, ends1) if operator == UNION else starts1[i]
            low2 = _end_before(j, j_first, ends2)
            i, j, count = _write(
                operator, i, j, low1, low2, count, starts1, ends1, starts2, ends2, starts, ends
            )
    return i, j, count


@part
def _append(
    i: Place, stop: Place, reach: int, count: Place,
    starts1: Integers, ends1: Integers, starts: Integers, ends: Integers,
) -> Place:  # fmt: skip
    """The rest of one list added to a union that reaches to some end."""
    while i < stop:
        ends[count] = reach
        starts[count + ONE] = starts1[i]
        count += Place(reach < starts1[i])
        reach = max(reach, ends1[i])
        i += ONE
    ends[count] = reach
    return count + ONE


@part
def _append_all(
    i: Place, stop: Place, count: Place,
    starts1: Integers, ends1: Integers, starts: Integers, ends: Integers,
) -> Place:  # fmt: skip
    """A list that is a union alone."""
    while i < stop:
        starts[count] = starts1[i]
        ends[count] = ends1[i]
        count += ONE
        i += ONE
    return count


@part
def _leave(
    i: Place, stop: Place, reach: int, count: Place,
    starts1: Integers, ends1: Integers, starts: Integers, ends: Integers,
) -> Place:  # fmt: skip
    """The rest of a list of which all up to some end is taken away."""
    while i < stop:
        low = max(starts1[i], reach)
        starts[count] = low
        ends[count] = ends1[i]
        count += Place(low < ends1[i])
        i += ONE
    return count


@body
def _finish(
    operator: int, i: Place, i_first: Place, i_stop: Place,
    j: Place, j_first: Place, j_stop: Place, count: Place,
    starts1: Integers, ends1: Integers, starts2: Integers, ends2: Integers,
    starts: Integers, ends: Integers,
) -> Place:  # fmt: skip
    """What is left when one list is at its end."""
    if operator == UNION:
        if i_first == i_stop:
            count = _append_all(j, j_stop, count, starts2, ends2, starts, ends)
        elif j_first == j_stop:
            count = _append_all(i, i_stop, count, starts1, ends1, starts, ends)
        else:
            reach = max(_end_before(i, i_first, ends1), _end_before(j, j_first, ends2))
            if i < i_stop:
                count = _append(i, i_stop, reach, count, starts1, ends1, starts, ends)
            else:
                count = _append(j, j_stop, reach, count, starts2, ends2, starts, ends)
    elif operator == COMPLEMENT:
        reach = _end_before(j, j_first, ends2)
        count = _leave(i, i_stop, reach, count, starts1, ends1, starts, ends)
    return count


@part
def _stretch(group: int, offsets: Integers) -> tuple[Place, Place]:
    """Where a list lies."""
    if group < 0:
        return ZERO, ZERO
    return Place(offsets[group]), Place(offsets[group + 1])


@body
def _sweep(
    operator: int,
    groups1: Integers, offsets1: Integers, starts1: Integers, ends1: Integers,
    groups2: Integers, offsets2: Integers, starts2: Integers, ends2: Integers,
    found_offsets: Integers, starts: Integers, ends: Integers,
) -> np.int64:  # fmt: skip
    """One result after the other; gives the number of intervals."""
    count = ZERO
    for r in range(len(groups1)):
        i_first, i_stop = _stretch(groups1[r], offsets1)
        j_first, j_stop = _stretch(groups2[r], offsets2)
        i, j, count = _begin(operator, i_first, i_stop, j_first, j_stop, count,
                             starts1, ends1, starts2, ends2, starts, ends)  # fmt: skip
        i, j, count = _walk(operator, i, i_stop, j, j_stop, count,
                            starts1, ends1, starts2, ends2, starts, ends)  # fmt: skip
        count = _finish(operator, i, i_first, i_stop, j, j_first, j_stop, count,
                        starts1, ends1, starts2, ends2, starts, ends)  # fmt: skip
        found_offsets[r + 1] = count
    return np.int64(count)


_SWEEP = (
    "integers integers integers integers integers integers integers integers "
    "writable-integers writable-integers writable-integers"
)


@kernel(_SWEEP, "integer")
def unite(
    groups1: Integers, offsets1: Integers, starts1: Integers, ends1: Integers,
    groups2: Integers, offsets2: Integers, starts2: Integers, ends2: Integers,
    found_offsets: Integers, starts: Integers, ends: Integers,
) -> np.int64:  # fmt: skip
    """What is in either list; gives the number of intervals written."""
    return _sweep(UNION, groups1, offsets1, starts1, ends1, groups2, offsets2, starts2, ends2,
                  found_offsets, starts, ends)  # fmt: skip


@kernel(_SWEEP, "integer")
def intersect(
    groups1: Integers, offsets1: Integers, starts1: Integers, ends1: Integers,
    groups2: Integers, offsets2: Integers, starts2: Integers, ends2: Integers,
    found_offsets: Integers, starts: Integers, ends: Integers,
) -> np.int64:  # fmt: skip
    """What is in both lists; gives the number of intervals written."""
    return _sweep(INTERSECTION, groups1, offsets1, starts1, ends1, groups2, offsets2, starts2,
                  ends2, found_offsets, starts, ends)  # fmt: skip


@kernel(_SWEEP, "integer")
def complement(
    groups1: Integers, offsets1: Integers, starts1: Integers, ends1: Integers,
    groups2: Integers, offsets2: Integers, starts2: Integers, ends2: Integers,
    found_offsets: Integers, starts: Integers, ends: Integers,
) -> np.int64:  # fmt: skip
    """What is in the first list and not in the second; gives the number of intervals written."""
    return _sweep(COMPLEMENT, groups1, offsets1, starts1, ends1, groups2, offsets2, starts2, ends2,
                  found_offsets, starts, ends)  # fmt: skip


@kernel("integers integers", "integer")
def size_of(groups: Integers, offsets: Integers) -> np.int64:
    """How many intervals the lists have, one that is there twice counted twice."""
    size = np.int64(0)
    for r in range(len(groups)):
        low, high = _stretch(groups[r], offsets)
        size += np.int64(high - low)
    return size


def combined(operator: Callable[..., np.int64], first: Operand, second: Operand) -> Lists:
    """The results of one operator on two operands."""
    # A union writes one start ahead.
    most = size_of(*first[:2]) + size_of(*second[:2]) + 1
    offsets = np.zeros(len(first[0]) + 1, np.int64)
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    count = operator(*first, *second, offsets, starts, ends)
    return offsets, shortened(starts, count), shortened(ends, count)
