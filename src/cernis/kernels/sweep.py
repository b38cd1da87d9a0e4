"""Union, intersection and relative complement of lists of intervals, many lists in one call.

A call is about n results; result r is made of the lists `groups[k, r]`, one for each operand k.
An operand is a collection of lists lying behind one another (`offsets`, `starts`, `ends`), and all
operands are concatenated into one such collection, so a group number names a list of any of them.
A group of -1 is the empty list.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]
Lists = tuple[Integers, Integers, Integers]


@kernel("matrix integers integers integers integer", "integers integers integers")
def cover(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers, least: int
) -> Lists:
    """The stretches covered by at least `least` of the operands: 1 is the union, all the meet.

    The lists of a result are walked together, always from the nearest next edge, counting how
    many are inside; so each interval is looked at twice and the result is maximal and sorted.
    Neighbouring intervals join. Gives offsets, starts and ends.
    """
    operands, results = groups.shape
    most = np.int64(0)
    for k in range(operands):
        for r in range(results):
            if groups[k, r] >= 0:
                most += offsets[groups[k, r] + 1] - offsets[groups[k, r]]
    found_offsets = np.zeros(results + 1, np.int64)
    found_starts = np.empty(most, np.int64)
    found_ends = np.empty(most, np.int64)
    at = np.zeros(operands, np.int64)
    stop = np.zeros(operands, np.int64)
    inside = np.zeros(operands, np.bool_)
    count = np.int64(0)
    for r in range(results):
        for k in range(operands):
            group = groups[k, r]
            at[k] = offsets[group] if group >= 0 else 0
            stop[k] = offsets[group + 1] if group >= 0 else 0
            inside[k] = False
        depth = 0
        begun = np.int64(0)
        first = count
        while True:
            edge = np.int64(9223372036854775807)
            more = False
            for k in range(operands):
                if at[k] < stop[k]:
                    more = True
                    place = ends[at[k]] if inside[k] else starts[at[k]]
                    if place < edge:
                        edge = place
            if not more:
                break
            before = depth
            for k in range(operands):
                if at[k] < stop[k] and inside[k] and ends[at[k]] == edge:
                    inside[k] = False
                    at[k] += 1
                    depth -= 1
                if at[k] < stop[k] and not inside[k] and starts[at[k]] == edge:
                    inside[k] = True
                    depth += 1
            if before < least <= depth:
                begun = edge
            elif depth < least <= before:
                if count > first and found_ends[count - 1] == begun:
                    found_ends[count - 1] = edge
                else:
                    found_starts[count] = begun
                    found_ends[count] = edge
                    count += 1
        found_offsets[r + 1] = count
    return found_offsets, found_starts[:count].copy(), found_ends[:count].copy()


def cover_plain(
    groups: Integers, offsets: Integers, starts: Integers, ends: Integers, least: int
) -> Lists:
    """The twin of `cover`: counts, between any two neighbouring edges, who is there."""
    lists = []
    for column in groups.T:
        own = [
            (int(s), int(e))
            for group in column
            if group >= 0
            for s, e in zip(
                starts[offsets[group] : offsets[group + 1]],
                ends[offsets[group] : offsets[group + 1]],
                strict=True,
            )
        ]
        edges = sorted({edge for interval in own for edge in interval})
        found: list[tuple[int, int]] = []
        for low, high in pairwise(edges):
            if sum(s <= low and high <= e for s, e in own) >= least:
                if found and found[-1][1] == low:
                    found[-1] = (found[-1][0], high)
                else:
                    found.append((low, high))
        lists.append(found)
    return pack(lists)


@kernel("integers integers integers integers integers integers", "integers integers integers")
def subtract(
    left_offsets: Integers,
    left_starts: Integers,
    left_ends: Integers,
    offsets: Integers,
    starts: Integers,
    ends: Integers,
) -> Lists:
    """What is left of each list once the list of the same number is taken away."""
    found_offsets = np.zeros(len(left_offsets), np.int64)
    most = len(left_starts) + len(starts)
    found_starts = np.empty(most, np.int64)
    found_ends = np.empty(most, np.int64)
    count = 0
    for r in range(len(left_offsets) - 1):
        at = offsets[r]
        stop = offsets[r + 1]
        for own in range(left_offsets[r], left_offsets[r + 1]):
            low = left_starts[own]
            high = left_ends[own]
            while at < stop and ends[at] <= low:
                at += 1
            other = at
            while other < stop and starts[other] < high:
                if starts[other] > low:
                    found_starts[count] = low
                    found_ends[count] = starts[other]
                    count += 1
                low = ends[other]
                if low >= high:
                    break
                other += 1
            if low < high:
                found_starts[count] = low
                found_ends[count] = high
                count += 1
        found_offsets[r + 1] = count
    return found_offsets, found_starts[:count].copy(), found_ends[:count].copy()


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


@kernel("integers integers integers", "integers integers integers")
def maximal(owners: Integers, starts: Integers, ends: Integers) -> Lists:
    """Intervals sorted by owner and start, overlapping or not, as maximal ones, one a row."""
    found_owners = np.empty(len(owners), np.int64)
    found_starts = np.empty(len(owners), np.int64)
    found_ends = np.empty(len(owners), np.int64)
    count = 0
    for row in range(len(owners)):
        joins = (
            count > 0
            and found_owners[count - 1] == owners[row]
            and starts[row] <= found_ends[count - 1]
        )
        if joins:
            found_ends[count - 1] = max(found_ends[count - 1], ends[row])
        else:
            found_owners[count] = owners[row]
            found_starts[count] = starts[row]
            found_ends[count] = ends[row]
            count += 1
    return found_owners[:count].copy(), found_starts[:count].copy(), found_ends[:count].copy()


def maximal_plain(owners: Integers, starts: Integers, ends: Integers) -> Lists:
    """The twin of `maximal`."""
    found: list[list[int]] = []
    for owner, start, end in zip(owners.tolist(), starts.tolist(), ends.tolist(), strict=True):
        if found and found[-1][0] == owner and start <= found[-1][2]:
            found[-1][2] = max(found[-1][2], end)
        else:
            found.append([owner, start, end])
    columns = np.array(found, np.int64).reshape(-1, 3).T
    return columns[0].copy(), columns[1].copy(), columns[2].copy()


def pack(lists: list[list[tuple[int, int]]]) -> Lists:
    """Lists of pairs as offsets, starts and ends."""
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    flat = np.array([pair for own in lists for pair in own], np.int64).reshape(-1, 2)
    return offsets, flat[:, 0].copy(), flat[:, 1].copy()
