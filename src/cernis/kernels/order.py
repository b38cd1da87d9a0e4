"""Order: sorting rows by dense codes, and telling whether they are in order already."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers, Place
from cernis.kernels.compile import kernel, part


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


@kernel("integers integers integers", "boolean")
def in_threefold_order(major: Integers, middle: Integers, minor: Integers) -> bool:
    """Do the rows ascend by major, then by middle, then by minor?"""
    for row in range(1, len(major)):
        if major[row] != major[row - 1]:
            if major[row] < major[row - 1]:
                return False
        elif middle[row] != middle[row - 1]:
            if middle[row] < middle[row - 1]:
                return False
        elif minor[row] < minor[row - 1]:
            return False
    return True


def in_threefold_order_plain(major: Integers, middle: Integers, minor: Integers) -> bool:
    """The twin of `in_threefold_order`."""
    rows = list(zip(major.tolist(), middle.tolist(), minor.tolist(), strict=True))
    return rows == sorted(rows)


_MOST = 1 << 63


def order_by(major: Integers, minor: Integers) -> Integers:
    """A permutation that sorts rows by major, then by minor; equal ones in any order."""
    if not len(major):
        return np.empty(0, np.int64)
    low, least = int(major.min()), int(minor.min())
    span = int(minor.max()) - least + 1
    size = (int(major.max()) - low + 1) * span
    if size >= _MOST:
        return np.lexsort((minor, major))
    # One key a row: that is the order numpy is quickest to find.
    key = (major - low) * span + (minor - least)
    return stable_order(key, size) if size * len(key) < _MOST else np.argsort(key)


def stable_order(codes: Integers, size: int) -> Integers:
    """The permutation that sorts rows by codes from 0 on, below size; equal ones as they were."""
    bits = len(codes).bit_length()
    if size << bits >= _MOST:
        return np.argsort(codes, kind="stable")
    # To sort keys that tell their rows is quicker than to sort rows by their keys.
    keys = codes << bits
    keys |= np.arange(len(codes))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def ranks(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """Where each row goes if rows are sorted by a dense code, equal ones staying in order.

    Codes are at least 0 and less than `size`. The second part is where the rows of each code begin,
    and the length.
    """
    rank_of_rows = np.empty(len(codes), np.int64)
    first = np.zeros(size + 1, np.int64)
    _rank(codes, first, np.empty(size + 1, np.int64), rank_of_rows)
    return rank_of_rows, first


@kernel("integers writable-integers writable-integers writable-integers", "nothing")
def _rank(codes: Integers, first: Integers, places: Integers, rank_of_rows: Integers) -> None:
    """A counting sort: two passes, whatever the order of the input."""
    for row in range(len(codes)):
        first[Place(codes[row] + 1)] += 1
    for code in range(len(first) - 1):
        first[code + 1] += first[code]
        places[code] = first[code]
    for row in range(len(codes)):
        own = Place(codes[row])
        place = places[own]
        places[own] = place + 1
        rank_of_rows[row] = place


def ranks_plain(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """The twin of `ranks`."""
    found = np.empty(len(codes), np.int64)
    found[np.argsort(codes, kind="stable")] = np.arange(len(codes))
    return found, np.searchsorted(np.sort(codes), np.arange(size + 1)).astype(np.int64)


def spread(first: Integers) -> Integers:
    """The code of each row of a sorted column, given where the rows of each code begin."""
    found = np.empty(int(first[-1]), np.int64)
    _spread(first, found)
    return found


@kernel("integers writable-integers", "nothing")
def _spread(first: Integers, codes: Integers) -> None:
    for code in range(len(first) - 1):
        for row in range(first[code], first[code + 1]):
            codes[row] = code


def spread_plain(first: Integers) -> Integers:
    """The twin of `spread`."""
    return np.repeat(np.arange(len(first) - 1), np.diff(first))


def placed(column: Array, rank: Integers) -> Array:
    """A column with each row at its rank."""
    moved = np.empty(len(column), column.dtype)
    if column.dtype.itemsize == 8 and column.dtype.kind in "iuf":
        _put(np.ascontiguousarray(column).view(np.int64), rank, moved.view(np.int64))
    else:
        moved[rank] = column
    return moved


@kernel("integers integers writable-integers", "nothing")
def _put(column: Integers, rank: Integers, moved: Integers) -> None:
    for row in range(len(column)):
        moved[Place(rank[row])] = column[row]


@kernel("integers integers integers writable-booleans", "integer")
def mark_ties(major: Integers, middle: Integers, minor: Integers, same: Booleans) -> int:
    """Mark the rows that are in all three as the row before them; gives how many there are."""
    count = 0
    for row in range(1, len(major)):
        tied = (
            minor[row] == minor[row - 1]
            and middle[row] == middle[row - 1]
            and major[row] == major[row - 1]
        )
        same[row] = tied
        count += tied
    return count


def mark_ties_plain(major: Integers, middle: Integers, minor: Integers, same: Booleans) -> int:
    """The twin of `mark_ties`."""
    rows = list(zip(major.tolist(), middle.tolist(), minor.tolist(), strict=True))
    for at in range(1, len(rows)):
        same[at] = rows[at] == rows[at - 1]
    return int(same.sum())


@part
def _is_above(keys: Integers, one: int, other: int) -> bool:
    """Is a row after another, first column first?"""
    for at in range(keys.shape[0]):
        if keys[at, one] != keys[at, other]:
            return bool(keys[at, one] > keys[at, other])
    return False


@kernel("booleans matrix writable-integers", "nothing")
def _sort_runs(same: Booleans, keys: Integers, order: Integers) -> None:
    first = 0
    while first < len(same):
        last = first + 1
        while last < len(same) and same[last]:
            last += 1
        # Runs are short, mostly; with steps that get smaller, long ones are no trouble either.
        gap = last - first
        while gap > 1:
            gap = max((gap * 5 - 1) // 11, 1)
            for at in range(first + gap, last):
                row, place = order[at], at
                while place - gap >= first and _is_above(keys, order[place - gap], row):
                    order[place] = order[place - gap]
                    place -= gap
                order[place] = row
        first = last


def sorted_runs(same: Booleans, keys: Integers) -> Integers:
    """The order that sorts each run of rows by keys, a matrix with one line for each column.

    A run begins with a row that is not marked as the same as the one before it, and stays where
    it is. Equal rows are in any order.
    """
    order = np.arange(len(same))
    _sort_runs(same, np.ascontiguousarray(keys), order)
    return order


def sorted_runs_plain(same: Booleans, keys: Integers) -> Integers:
    """The twin of `sorted_runs`."""
    return np.lexsort((*keys[::-1], np.cumsum(~same)))


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
