"""Intervals cut by stretches: what of each lies inside the stretches of its group, or outside.

Stretches are sorted by group and start, and disjoint.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.compile import kernel, part, shortened


@part
def _first(group: int, point: int, groups: Integers, ends: Integers) -> int:
    """The first stretch of a group, or of those after it, that ends after a point."""
    low, high = 0, len(groups)
    while low < high:
        middle = (low + high) >> 1
        if groups[middle] < group or (groups[middle] == group and ends[middle] <= point):
            low = middle + 1
        else:
            high = middle
    return low


@kernel(
    "integers integers integers integers integers integers boolean "
    "writable-integers writable-integers writable-integers",
    "integer",
)
def _cut(
    owners: Integers, starts: Integers, ends: Integers,
    groups: Integers, lows: Integers, highs: Integers, inside: bool,
    rows: Integers, found_starts: Integers, found_ends: Integers,
) -> int:  # fmt: skip
    """The parts of intervals; without room for them, how many there are."""
    count = 0
    for row in range(len(owners)):
        start, end = starts[row], ends[row]
        stretch = _first(owners[row], start, groups, highs)
        while True:
            is_over = (
                stretch == len(groups) or groups[stretch] != owners[row] or lows[stretch] >= end
            )
            if inside and is_over:
                break
            if inside:
                low, high = max(start, lows[stretch]), min(end, highs[stretch])
            else:
                low, high = start, end if is_over else min(end, lows[stretch])
            if low < high:
                if len(rows):
                    rows[count] = row
                    found_starts[count] = low
                    found_ends[count] = high
                count += 1
            if is_over:
                break
            start = max(start, highs[stretch])
            if start >= end:
                break
            stretch += 1
    return count


def cut(
    owners: Integers, starts: Integers, ends: Integers,
    groups: Integers, lows: Integers, highs: Integers, inside: bool,
) -> tuple[Integers, Integers, Integers]:  # fmt: skip
    """The parts of intervals inside the stretches of their groups, or outside of them.

    Gives for each part the row it is of, and where it starts and ends, in the order of rows.
    """
    arrays = [np.ascontiguousarray(a) for a in (owners, starts, ends, groups, lows, highs)]
    none = np.empty(0, np.int64)
    count = int(_cut(*arrays, inside, none, none, none))  # type: ignore[call-arg, arg-type]
    # One more than is needed, so that there is room even for nothing.
    room = [np.empty(count + 1, np.int64) for _ in range(3)]
    _cut(*arrays, inside, *room)  # type: ignore[call-arg, arg-type]
    rows, found_starts, found_ends = (shortened(own, count) for own in room)
    return rows, found_starts, found_ends


def cut_plain(
    owners: Integers, starts: Integers, ends: Integers,
    groups: Integers, lows: Integers, highs: Integers, inside: bool,
) -> tuple[Integers, Integers, Integers]:  # fmt: skip
    """The twin of `cut`: each interval against each stretch."""
    parts: list[tuple[int, int, int]] = []
    for row, (owner, start, end) in enumerate(
        zip(owners.tolist(), starts.tolist(), ends.tolist(), strict=True)
    ):
        inner_parts = [
            (max(start, low), min(end, high))
            for group, low, high in zip(groups.tolist(), lows.tolist(), highs.tolist(), strict=True)
            if group == owner and low < end and high > start
        ]
        if inside:
            parts += [(row, low, high) for low, high in inner_parts]
        else:
            edges = [start, *(edge for pair in inner_parts for edge in pair), end]
            parts += [
                (row, low, high)
                for low, high in zip(edges[::2], edges[1::2], strict=True)
                if low < high
            ]
    columns = np.array(parts, np.int64).reshape(-1, 3).T
    return columns[0].copy(), columns[1].copy(), columns[2].copy()


@kernel("integers integers integers integers integers writable-booleans", "nothing")
def _lie(
    owners: Integers, points: Integers, groups: Integers, lows: Integers, highs: Integers,
    is_inside: Booleans,
) -> None:  # fmt: skip
    for row in range(len(owners)):
        at = _first(owners[row], points[row], groups, highs)
        is_inside[row] = at < len(groups) and groups[at] == owners[row] and lows[at] <= points[row]


def lie_in(
    owners: Integers, points: Integers, groups: Integers, lows: Integers, highs: Integers
) -> Booleans:
    """For each point: does it lie in a stretch of its group?"""
    is_inside = np.empty(len(owners), np.bool_)
    arrays = [np.ascontiguousarray(a) for a in (owners, points, groups, lows, highs)]
    _lie(*arrays, is_inside)  # type: ignore[call-arg, arg-type]
    return is_inside


@kernel("integers integers integers", "boolean")
def are_apart(groups: Integers, starts: Integers, ends: Integers) -> bool:
    """Are stretches sorted by group and start, so that none meets the next?"""
    for at in range(1, len(groups)):
        if groups[at] <= groups[at - 1] and (
            groups[at] < groups[at - 1] or starts[at] <= ends[at - 1]
        ):
            return False
    return True


@kernel(
    "integers integers integers integers integers integers "
    "writable-integers writable-integers writable-integers",
    "integer",
)
def _unite(
    groups: Integers, starts: Integers, ends: Integers,
    more_groups: Integers, more_starts: Integers, more_ends: Integers,
    found_groups: Integers, found_starts: Integers, found_ends: Integers,
) -> int:  # fmt: skip
    """The next stretch in order is taken from one or the other, and joins the last if they meet."""
    row = more = 0
    last = -1
    while row < len(groups) or more < len(more_groups):
        is_own = row < len(groups) and (
            more == len(more_groups)
            or groups[row] < more_groups[more]
            or (groups[row] == more_groups[more] and starts[row] <= more_starts[more])
        )
        if is_own:
            group, start, end = groups[row], starts[row], ends[row]
            row += 1
        else:
            group, start, end = more_groups[more], more_starts[more], more_ends[more]
            more += 1
        if last >= 0 and found_groups[last] == group and start <= found_ends[last]:
            found_ends[last] = max(found_ends[last], end)
        else:
            last += 1
            found_groups[last] = group
            found_starts[last] = start
            found_ends[last] = end
    return last + 1


def unite(
    groups: Integers, starts: Integers, ends: Integers,
    more_groups: Integers, more_starts: Integers, more_ends: Integers,
) -> tuple[Integers, Integers, Integers]:  # fmt: skip
    """The stretches of two, each sorted and apart; so are those that are found."""
    arrays = [
        np.ascontiguousarray(a) for a in (groups, starts, ends, more_groups, more_starts, more_ends)
    ]
    room = [np.empty(len(groups) + len(more_groups), np.int64) for _ in range(3)]
    count = int(_unite(*arrays, *room))
    own, found_starts, found_ends = (shortened(column, count) for column in room)
    return own, found_starts, found_ends


def unite_plain(
    groups: Integers, starts: Integers, ends: Integers,
    more_groups: Integers, more_starts: Integers, more_ends: Integers,
) -> tuple[Integers, Integers, Integers]:  # fmt: skip
    """The twin of `unite`: sorts all of them."""
    from cernis.kernels.intervals.list_operations import maximal_plain

    pairs = (groups, more_groups), (starts, more_starts), (ends, more_ends)
    columns = [np.concatenate(pair) for pair in pairs]
    order = np.lexsort((columns[1], columns[0]))
    owners, lows, highs = maximal_plain(*(column[order] for column in columns))
    return owners, lows, highs
