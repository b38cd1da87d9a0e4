"""Intervals that have begun and not yet ended, while a kernel goes through time."""

from __future__ import annotations

from cernis.kernels.array_types import Integers
from cernis.kernels.compile import body


@body
def pair_with_open(
    row: int, point: int, ends: Integers, open_places: Integers, size: int, count: int,
    writing: bool, rows: Integers, places: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Pair a row with all open intervals that end after its point, and drop the others.

    The places of the open intervals are the first `size` of `open_places`. Pairs are counted, and
    with `writing` also written, from `count` on. Gives the number of open intervals that are left,
    and the new count.
    """
    kept = 0
    for which in range(size):
        place = open_places[which]
        if ends[place] > point:
            open_places[kept] = place
            kept += 1
            if writing:
                rows[count] = row
                places[count] = place
            count += 1
    return kept, count
