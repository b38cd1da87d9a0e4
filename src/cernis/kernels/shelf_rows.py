"""Rows of many groups in one pool, each group in a place of its own with room to grow.

Row 0 of the pool's matrix is the time of each row, or the start of an interval; the rows of a group
are in its order. Group g has `counts[g]` rows from `firsts[g]` on, in a place that begins at
`bases[g]` and has room for `rooms[g]`. To change a few groups costs what these groups hold, however
many others there are.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix
from cernis.kernels.compile import kernel, part


@part
def _first_at(pool: Matrix, low: int, high: int, point: int) -> int:
    """The first place whose time is the point or later, by bisection."""
    while low < high:
        middle = (low + high) >> 1
        if pool[0, middle] < point:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _first_late(pool: Matrix, low: int, high: int, point: int) -> int:
    """As `_first_at`, in steps that grow from the end: what is asked for mostly lies there."""
    step = 1
    while high - step >= low and pool[0, high - step] >= point:
        high -= step
        step += step
    return _first_at(pool, max(low, high - step), high, point)


@kernel("integers integers integers writable-integers writable-integers", "nothing")
def list_groups(
    firsts: Integers, counts: Integers, groups: Integers, places: Integers, owners: Integers
) -> None:
    """The places of the rows of some groups, group by group, and the group of each."""
    total = 0
    for group in groups:
        for place in range(firsts[group], firsts[group] + counts[group]):
            places[total] = place
            owners[total] = group
            total += 1


@kernel(
    "writable-matrix integers integers integers integers writable-integers writable-integers",
    "integer",
)
def find_at_times(
    pool: Matrix, firsts: Integers, counts: Integers, groups: Integers, times: Integers,
    places: Integers, owners: Integers,
) -> int:  # fmt: skip
    """The rows of groups that have the time given with the group; how many there are.

    Without places to write to, they are only counted.
    """
    total = 0
    for row in range(len(groups)):
        first = firsts[groups[row]]
        stop = first + counts[groups[row]]
        place = _first_late(pool, first, stop, times[row])
        while place < stop and pool[0, place] == times[row]:
            if len(places):
                places[total] = place
                owners[total] = groups[row]
            total += 1
            place += 1
    return total


@kernel("integers integers integers", "integer")
def room_needed(counts: Integers, rooms: Integers, come: Integers) -> int:
    """How much room the groups need that outgrow their places; `come` is sorted."""
    total = 0
    first = 0
    while first < len(come):
        group = come[first]
        stop = first
        while stop < len(come) and come[stop] == group:
            stop += 1
        if counts[group] + (stop - first) > rooms[group]:
            total += 2 * (counts[group] + (stop - first)) + 4
        first = stop
    return total


@part
def _placed(
    group: int, more: int, pool: Matrix, firsts: Integers, counts: Integers, bases: Integers,
    rooms: Integers, used: int,
) -> int:  # fmt: skip
    """Give a group room for so many rows more; gives how much of the pool is used then."""
    count = counts[group]
    first = firsts[group]
    if first + count + more <= bases[group] + rooms[group]:
        return used
    to = bases[group]
    if count + more > rooms[group]:
        to = used
        rooms[group] = 2 * (count + more) + 4
        bases[group] = to
        used += rooms[group]
    for row in range(pool.shape[0]):
        for at in range(count):
            pool[row, to + at] = pool[row, first + at]
    firsts[group] = to
    return used


@kernel(
    "writable-matrix writable-integers writable-integers writable-integers writable-integers "
    "integer integers integers integers matrix integer",
    "integer",
)
def exchange(
    pool: Matrix, firsts: Integers, counts: Integers, bases: Integers, rooms: Integers,
    used: int, gone_groups: Integers, gone_places: Integers,
    come_groups: Integers, come: Matrix, reach: int,
) -> int:  # fmt: skip
    """Take rows out and put others in; gives how much of the pool is used then.

    Rows that go are given by places, sorted by group and place; those that come are sorted by
    group and time. Among rows of one time those that were there stay first. If `reach` is no
    negative number, that row of the pool is made the largest end of its group so far.
    """
    g, c = 0, 0
    while g < len(gone_groups) or c < len(come_groups):
        if c == len(come_groups) or (g < len(gone_groups) and gone_groups[g] <= come_groups[c]):
            group = gone_groups[g]
        else:
            group = come_groups[c]
        g_stop, c_stop = g, c
        while g_stop < len(gone_groups) and gone_groups[g_stop] == group:
            g_stop += 1
        while c_stop < len(come_groups) and come_groups[c_stop] == group:
            c_stop += 1
        count = counts[group]
        # Rows that go leave before the others are moved: places are those of before.
        if g_stop > g:
            stop = firsts[group] + count
            kept = gone_places[g]
            for number in range(g, g_stop):
                high = gone_places[number + 1] if number + 1 < g_stop else stop
                low = gone_places[number] + 1
                for row in range(pool.shape[0]):
                    for offset in range(high - low):
                        pool[row, kept + offset] = pool[row, low + offset]
                kept += high - low
            count -= g_stop - g
            counts[group] = count
        changed = gone_places[g] - firsts[group] if g_stop > g else count
        used = _placed(group, c_stop - c, pool, firsts, counts, bases, rooms, used)
        first = firsts[group]
        old = first + count - 1
        new = c_stop - 1
        # Mostly all that comes lies after what is there.
        while new >= c and old >= first and pool[0, old] > come[0, c]:
            to = old + (new - c + 1)
            if pool[0, old] > come[0, new]:
                for row in range(pool.shape[0]):
                    pool[row, to] = pool[row, old]
                old -= 1
            else:
                for row in range(come.shape[0]):
                    pool[row, to] = come[row, new]
                new -= 1
        for row in range(come.shape[0]):
            for offset in range(new - c + 1):
                pool[row, old + 1 + offset] = come[row, c + offset]
        counts[group] = count + (c_stop - c)
        if reach >= 0:
            low = first + min(changed, old + 1 - first)
            most = pool[reach, low - 1] if low > first else np.int64(-9223372036854775808)
            for offset in range(low, first + counts[group]):
                most = max(most, pool[1, offset])
                pool[reach, offset] = most
        g, c = g_stop, c_stop
    return used


@kernel("writable-matrix writable-integers writable-integers integer integer", "integer")
def forget(pool: Matrix, firsts: Integers, counts: Integers, row: int, edge: int) -> int:
    """Forget the first rows of all groups, up to where a row of the pool passes the edge.

    That row must ascend within a group. Gives how many rows were forgotten.
    """
    total = 0
    for group in range(len(counts)):
        first = firsts[group]
        stop = first + counts[group]
        place = first
        while place < stop and pool[row, place] <= edge:
            place += 1
        firsts[group] = place
        counts[group] = stop - place
        total += place - first
    return total


@kernel("integers integers writable-integers writable-integers", "nothing")
def list_all(firsts: Integers, counts: Integers, places: Integers, owners: Integers) -> None:
    """The places of all rows, group by group, and the group of each."""
    total = 0
    for group in range(len(counts)):
        for place in range(firsts[group], firsts[group] + counts[group]):
            places[total] = place
            owners[total] = group
            total += 1
