"""Which interval of a list holds a point: sorted points against sorted, disjoint intervals.

Lists follow one another; list g is the stretch `offsets[g]:offsets[g+1]`. A group of -1 is
an empty list.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Booleans, Integers, Place
from cernis.kernels.compile import kernel, part

ZERO, ONE, TWO, THREE, FOUR = (np.uint64(number) for number in range(5))
SPARSE = np.uint64(32)
"""With as many intervals a point, or more, a list is searched and not walked along."""


@part
def _run(row: Place, rows: Place, groups: Integers, points: Integers) -> Place:
    """Where the points of one group that ascend from this row on end."""
    group = groups[row]
    last = row + ONE
    while last < rows and groups[last] == group and points[last - ONE] <= points[last]:
        last += ONE
    return last


@part
def _search(point: int, low: Place, high: Place, ends: Integers) -> Place:
    """The first interval that ends after the point, by bisection."""
    while low < high:
        middle = (low + high) >> ONE
        if ends[middle] <= point:
            low = middle + ONE
        else:
            high = middle
    return low


@part
def _step(
    row: Place,
    place: Place,
    points: Integers,
    starts: Integers,
    ends: Integers,
    is_inside: Booleans,
) -> tuple[Place, Place]:
    """On to the next interval, if this one ends before the point, or else to the next point.

    The answer for a point is written at each step; the last one stays.
    """
    point = points[row]
    is_inside[row] = starts[place] <= point
    passed = Place(ends[place] <= point)
    return row + (ONE - passed), place + passed


@part
def _leap(row: Place, place: Place, points: Integers, ends: Integers) -> Place:
    """How many of the next four steps pass an interval.

    Interval k from here is passed in these steps if it ends before point 3-k from here.
    """
    near = Place(ends[place] <= points[row + THREE]) + Place(ends[place + ONE] <= points[row + TWO])
    far = Place(ends[place + TWO] <= points[row + ONE]) + Place(ends[place + THREE] <= points[row])
    return near + far


@part
def _walk(
    row: Place, last: Place, place: Place, stop: Place,
    points: Integers, starts: Integers, ends: Integers, is_inside: Booleans,
) -> None:  # fmt: skip
    """The points of a run, along a list.

    A step has to wait for the one before it. So where four of them lead is found out beforehand,
    and the next four begin while these are under way.
    """
    while row + FOUR <= last and place + FOUR <= stop:
        i, k = row, place
        leap = _leap(row, place, points, ends)
        place += leap
        row += FOUR - leap
        i, k = _step(i, k, points, starts, ends, is_inside)
        i, k = _step(i, k, points, starts, ends, is_inside)
        i, k = _step(i, k, points, starts, ends, is_inside)
        i, k = _step(i, k, points, starts, ends, is_inside)
    while row < last and place < stop:
        row, place = _step(row, place, points, starts, ends, is_inside)
    while row < last:
        is_inside[row] = False
        row += ONE


@kernel("integers integers integers integers integers writable-booleans", "nothing")
def _stab(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers,
    is_inside: Booleans,
) -> None:  # fmt: skip
    row, rows = ZERO, Place(len(points))
    while row < rows:
        last = _run(row, rows, groups, points)
        place = stop = ZERO
        if groups[row] >= 0:
            place, stop = Place(offsets[groups[row]]), Place(offsets[groups[row] + 1])
        if stop - place < SPARSE * (last - row):
            _walk(row, last, place, stop, points, starts, ends, is_inside)
            row = last
        while row < last:
            place = _search(points[row], place, stop, ends)
            is_inside[row] = place < stop and starts[place] <= points[row]
            row += ONE


def stab(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """For each point: does it lie in an interval `[start, end)` of its group's list?

    Points may come in any order. Those of one group that ascend cost one walk along its list, or
    a search each if they are few.
    """
    found = np.empty(len(points), np.bool_)
    _stab(groups, points, offsets, starts, ends, found)
    return found


def stab_plain(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """The twin of `stab`: one comparison of all intervals a point."""
    is_inside = np.zeros(len(points), np.bool_)
    for row, (group, point) in enumerate(zip(groups, points, strict=True)):
        if group >= 0:
            own = slice(offsets[group], offsets[group + 1])
            is_inside[row] = bool(np.any((starts[own] <= point) & (point < ends[own])))
    return is_inside
