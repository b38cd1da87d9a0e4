"""Union, intersection and relative complement of lists of intervals, many lists in one call.

A list holds sorted, disjoint intervals `[start, end)` that do not touch. Lists follow one
another: list g of a collection is the stretch `offsets[g]:offsets[g+1]` of its starts and ends.
A call is about n results; result r is made of one list of each operand, named by a group number.
A group of -1 is the empty list.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import kernel, shortened
from cernis.kernels.intervals.pair_operations import (
    Operand,
    combined,
    complement,
    intersect,
    size_of,
    unite,
)

Lists = tuple[Integers, Integers, Integers]
"""Offsets, starts and ends."""

ONE = np.uint64(1)
INFINITY = np.iinfo(np.int64).max
BEFORE_ALL = np.iinfo(np.int64).min


def cover(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers, least: int
) -> Lists:
    """The stretches covered by at least `least` of the operands: 1 is the union, all the meet.

    Result r is made of the lists `groups[k, r]`, one for each operand k; all operands are of the
    same collection. Gives offsets, starts and ends; lists of the result are sorted and maximal.
    """
    if least == 1 == len(groups):
        return _picked(groups[0], offsets, starts, ends)
    if len(groups) and least in (1, len(groups)):
        return _folded([(own, offsets, starts, ends) for own in groups], least)
    return _counted(groups, offsets, starts, ends, least)


def _picked(groups: Integers, offsets: Integers, starts: Integers, ends: Integers) -> Lists:
    """The lists themselves, in the order of the groups."""
    size = size_of(groups, offsets)
    found = np.zeros(len(groups) + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    _pick(groups, offsets, starts, ends, *found)
    return found


@kernel(
    "integers integers integers integers writable-integers writable-integers writable-integers",
    "nothing",
)
def _pick(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers,
    found_offsets: Integers, found_starts: Integers, found_ends: Integers,
) -> None:  # fmt: skip
    count = np.uint64(0)
    for r in range(len(groups)):
        if groups[r] >= 0:
            for place in range(offsets[groups[r]], offsets[groups[r] + 1]):
                found_starts[count] = starts[Place(place)]
                found_ends[count] = ends[Place(place)]
                count += ONE
        found_offsets[r + 1] = count


def _folded(operands: list[Operand], least: int) -> Lists:
    """The union or the meet of all, two by two, those with the fewest intervals first."""
    operator = unite if least == 1 else intersect
    everything = np.arange(len(operands[0][0]))
    while len(operands) > 2:
        operands.sort(key=lambda operand: size_of(*operand[:2]))
        first, second, *rest = operands
        operands = [*rest, (everything, *combined(operator, first, second))]
    return combined(operator, *operands)


def _counted(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers, least: int
) -> Lists:
    """The stretches by counting, edge after edge, how many operands are there."""
    operands, results = groups.shape
    most = sum(size_of(own, offsets) for own in groups)
    found_offsets = np.zeros(results + 1, np.int64)
    found_starts, found_ends = np.empty(most, np.int64), np.empty(most, np.int64)
    at, stop, inside = np.zeros((3, operands), np.int64)
    count = _count(groups, offsets, starts, ends, least, at, stop, inside,
                   found_offsets, found_starts, found_ends)  # fmt: skip
    return found_offsets, shortened(found_starts, count), shortened(found_ends, count)


@kernel(
    "matrix integers integers integers integer writable-integers writable-integers "
    "writable-integers writable-integers writable-integers writable-integers",
    "integer",
)
def _count(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers, least: int,
    places: Integers, stop: Integers, inside: Integers,
    found_offsets: Integers, found_starts: Integers, found_ends: Integers,
) -> int:  # fmt: skip
    operands, results = groups.shape
    count = 0
    for r in range(results):
        for k in range(operands):
            group = groups[k, r]
            places[k] = offsets[group] if group >= 0 else 0
            stop[k] = offsets[group + 1] if group >= 0 else 0
            inside[k] = 0
        depth = 0
        while True:
            edge = np.int64(INFINITY)
            more = False
            for k in range(operands):
                if places[k] < stop[k]:
                    more = True
                    edge = min(edge, ends[places[k]] if inside[k] else starts[places[k]])
            if not more:
                break
            before = depth
            for k in range(operands):
                if (
                    places[k] < stop[k]
                    and (ends[places[k]] if inside[k] else starts[places[k]]) == edge
                ):
                    places[k] += inside[k]
                    depth += 1 - 2 * inside[k]
                    inside[k] = 1 - inside[k]
            if before < least <= depth:
                found_starts[count] = edge
            elif depth < least <= before:
                found_ends[count] = edge
                count += 1
        found_offsets[r + 1] = count
    return count


def cover_plain(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers, least: int
) -> Lists:
    """The twin of `cover`: counts, between any two neighbouring edges, who is there."""
    lists = []
    for column in groups.T:
        intervals = [
            (int(s), int(e))
            for group in column
            if group >= 0
            for s, e in zip(
                starts[offsets[group] : offsets[group + 1]],
                ends[offsets[group] : offsets[group + 1]],
                strict=True,
            )
        ]
        edges = sorted({edge for interval in intervals for edge in interval})
        united: list[tuple[int, int]] = []
        for low, high in pairwise(edges):
            if sum(s <= low and high <= e for s, e in intervals) >= least:
                if united and united[-1][1] == low:
                    united[-1] = (united[-1][0], high)
                else:
                    united.append((low, high))
        lists.append(united)
    return pack(lists)


def subtract(
    left_offsets: Integers,
    left_starts: Integers,
    left_ends: Integers,
    offsets: Integers,
    starts: Integers,
    ends: Integers,
) -> Lists:
    """What is left of each list once the list of the same number is taken away.

    There are as many lists on the right as on the left. Gives offsets, starts and ends.
    """
    groups = np.arange(len(left_offsets) - 1)
    return combined(
        complement, (groups, left_offsets, left_starts, left_ends), (groups, offsets, starts, ends)
    )


def subtract_plain(
    left_offsets: Integers,
    left_starts: Integers,
    left_ends: Integers,
    offsets: Integers,
    starts: Integers,
    ends: Integers,
) -> Lists:
    """The twin of `subtract`: cuts each interval by each of the others in turn."""
    lists = []
    for r in range(len(left_offsets) - 1):
        own = slice(left_offsets[r], left_offsets[r + 1])
        pieces = list(zip(left_starts[own].tolist(), left_ends[own].tolist(), strict=True))
        other = slice(offsets[r], offsets[r + 1])
        for start, end in zip(starts[other].tolist(), ends[other].tolist(), strict=True):
            pieces = [
                piece
                for s, e in pieces
                for piece in ((s, min(e, start)), (max(s, end), e))
                if piece[0] < piece[1]
            ]
        lists.append(sorted(pieces))
    return pack(lists)


def maximal(owners: Integers, starts: Integers, ends: Integers) -> Lists:
    """Intervals sorted by owner and start, overlapping or not, as maximal ones, one in each row.

    Neighbours join. Gives owners, starts and ends.
    """
    found = [np.empty(len(owners), np.int64) for _ in range(3)]
    count = _join(owners, starts, ends, *found)
    found_owners, found_starts, found_ends = (shortened(column, count) for column in found)
    return found_owners, found_starts, found_ends


@kernel(
    "integers integers integers writable-integers writable-integers writable-integers", "integer"
)
def _join(
    owners: Integers, starts: Integers, ends: Integers,
    found_owners: Integers, found_starts: Integers, found_ends: Integers,
) -> np.int64:  # fmt: skip
    """Each interval is written as a new one, and counted unless it joins the last.

    It does if it starts no later than where those of its owner reach.
    """
    count = np.uint64(0)
    owner, reach = 0, BEFORE_ALL
    for row in range(len(owners)):
        start, end = starts[row], ends[row]
        reach = reach if owners[row] == owner else BEFORE_ALL
        owner = owners[row]
        found_owners[count] = owner
        found_starts[count] = start
        count += Place(start > reach)
        reach = max(reach, end)
        found_ends[count - ONE] = reach
    return np.int64(count)


def maximal_plain(owners: Integers, starts: Integers, ends: Integers) -> Lists:
    """The twin of `maximal`."""
    united: list[list[int]] = []
    for owner, start, end in zip(owners.tolist(), starts.tolist(), ends.tolist(), strict=True):
        if united and united[-1][0] == owner and start <= united[-1][2]:
            united[-1][2] = max(united[-1][2], end)
        else:
            united.append([owner, start, end])
    columns = np.array(united, np.int64).reshape(-1, 3).T
    return columns[0].copy(), columns[1].copy(), columns[2].copy()


def pack(lists: list[list[tuple[int, int]]]) -> Lists:
    """Lists of pairs as offsets, starts and ends."""
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    flat = np.array([pair for own in lists for pair in own], np.int64).reshape(-1, 2)
    return offsets, flat[:, 0].copy(), flat[:, 1].copy()
