"""Order: grouping rows by dense codes, and telling whether they are in order already."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]
Place = np.uint64


@kernel("integers integers", "boolean")
def in_order(major: Integers, minor: Integers) -> bool:
    """Do the rows ascend by major, and by minor where major is equal?"""
    for row in range(1, len(major)):
        if major[row] < major[row - 1]:
            return False
        if major[row] == major[row - 1] and minor[row] < minor[row - 1]:
            return False
    return True


def in_order_plain(major: Integers, minor: Integers) -> bool:
    """The twin of `in_order`."""
    rows = list(zip(major.tolist(), minor.tolist(), strict=True))
    return rows == sorted(rows)


def by_code(codes: Integers, size: int) -> Integers:
    """The permutation that sorts rows by a dense code, keeping the order of equal ones.

    Codes are at least 0 and less than `size`.
    """
    order = np.empty(len(codes), np.int64)
    _place(codes, np.zeros(size + 1, np.int64), order)
    return order


@kernel("integers writable-integers writable-integers", "nothing")
def _place(codes: Integers, places: Integers, order: Integers) -> None:
    """A counting sort: two passes, whatever the order of the input."""
    for row in range(len(codes)):
        places[Place(codes[row] + 1)] += 1
    for code in range(len(places) - 1):
        places[code + 1] += places[code]
    for row in range(len(codes)):
        own = Place(codes[row])
        order[Place(places[own])] = row
        places[own] += 1


def by_code_plain(codes: Integers, size: int) -> Integers:
    """The twin of `by_code`."""
    return np.argsort(codes, kind="stable").astype(np.int64)


@kernel("integers", "boolean")
def ascending(values: Integers) -> bool:
    """Does no value lie below the one before it?"""
    row = 1
    while row < len(values) and values[row] >= values[row - 1]:
        row += 1
    return row >= len(values)


def ascending_plain(values: Integers) -> bool:
    """The twin of `ascending`."""
    return bool(np.all(values[1:] >= values[:-1]))
