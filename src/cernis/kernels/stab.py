"""Which interval of a list holds a point: sorted points against sorted, disjoint intervals.

Lists lie behind one another; list g is the stretch `offsets[g]:offsets[g+1]`. A group of -1 is
an empty list.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@kernel("integers integers integers integers integers", "booleans")
def stab(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """For each point: does it lie in an interval `[start, end)` of its group's list?

    The position in the list is kept from one point to the next: it moves on while points of one
    group ascend, and starts over where they do not, so ascending points cost one pass over the
    lists and any order gives the right answer.
    """
    found = np.zeros(len(points), np.bool_)
    previous = -1
    last = 0
    at = 0
    for row in range(len(points)):
        group = groups[row]
        if group < 0:
            continue
        point = points[row]
        if group != previous or point < last:
            at = offsets[group]
            stop = offsets[group + 1]
            if stop - at > 16:
                # A long list is entered by bisection: the first interval that ends behind.
                low, high = at, stop
                while low < high:
                    middle = (low + high) >> 1
                    if ends[middle] <= point:
                        low = middle + 1
                    else:
                        high = middle
                at = low
            previous = group
        stop = offsets[group + 1]
        while at < stop and ends[at] <= point:
            at += 1
        last = point
        found[row] = at < stop and starts[at] <= point
    return found


def stab_plain(
    groups: Integers, points: Integers, offsets: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """The twin of `stab`: one comparison of all intervals a point."""
    found = np.zeros(len(points), np.bool_)
    for row, (group, point) in enumerate(zip(groups, points, strict=True)):
        if group >= 0:
            own = slice(offsets[group], offsets[group + 1])
            found[row] = bool(np.any((starts[own] <= point) & (point < ends[own])))
    return found
