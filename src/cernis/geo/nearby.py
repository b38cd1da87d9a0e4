"""Pairs of samples near each other, from samples in the order of their cells, compiled.

A cell's number is that of its row times the number of columns, plus its column; rows of different
times are numbered on. So the cells to look at from one are itself and the next, and the three above
it, whose samples lie together: two stretches of the sorted samples that only move forward. Cells
below and to the left have looked already. A column is left free at each end of a row, and a row
between two times, so that no stretch runs into another row or time.
"""

from __future__ import annotations

import math

from cernis.geo.sphere import METRES_A_DEGREE
from cernis.geo.track_loops import near
from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.compile import FEW_ROWS, kernel, part


@part
def _within(lon1: float, lat1: float, lon2: float, lat2: float, limit: float) -> bool:
    """Is the second point no further away than `limit`, a distance in squared degrees?"""
    north = lat2 - lat1
    if north * north > limit:
        return False
    east = (lon2 - lon1) * math.cos(math.radians((lat1 + lat2) / 2))
    return east * east + north * north <= limit


@kernel(
    "integers floats floats integer float writable-integers writable-integers",
    "integer",
    rows=FEW_ROWS,
)
def list_near(
    cell: Integers, lon: Floats, lat: Floats, columns: int, distance: float,
    one: Integers, other: Integers,
) -> int:  # fmt: skip
    """The pairs of samples within a distance, in metres, in the same or neighbouring cells.

    Puts the places of one and the other into the arrays, as far as they reach, and gives the
    number of pairs there are.
    """
    limit = (distance / METRES_A_DEGREE) ** 2
    rows, room = len(cell), len(one)
    pairs, above = 0, 0
    for row in range(rows):
        own_cell = cell[row]
        while above < rows and cell[above] < own_cell + columns - 1:
            above += 1
        for start, last in ((row + 1, own_cell + 1), (above, own_cell + columns + 1)):
            place = start
            while place < rows and cell[place] <= last:
                if _within(lon[row], lat[row], lon[place], lat[place], limit):
                    if pairs < room:
                        one[pairs], other[pairs] = row, place
                    pairs += 1
                place += 1
    return pairs


def list_near_plain(
    cell: Integers, lon: Floats, lat: Floats, columns: int, distance: float
) -> set[tuple[int, int]]:
    """The pairs that `list_near` finds, by looking at all."""
    beside = (0, 1, columns - 1, columns, columns + 1)
    return {
        (one, other)
        for one in range(len(cell))
        for other in range(one + 1, len(cell))
        if cell[other] - cell[one] in beside
        and near(lon[one], lat[one], lon[other], lat[other], distance)
    }
