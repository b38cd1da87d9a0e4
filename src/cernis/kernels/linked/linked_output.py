"""What a walk over linked instances has written, in the order in which it is told."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Booleans, Integers, Matrix, SmallIntegers, Words
from cernis.kernels.compile import kernel
from cernis.kernels.linked.linked_tables import HEADER, NO_DUE, REPORTED, SINCE_AT, SLOTS_AT
from cernis.kernels.order import stable_order
from cernis.kernels.sweep.word_bits import ONE, ZERO, lowest_bit

_FEW = 32
"""Rows are put into places that are counted, unless there are so many times as many places."""

_MOST = 2**31 - 1

_NUMBER, _SIX = np.uint64(2), np.uint64(6)
_HEADER, _REPORTED = np.uint64(HEADER), np.uint64(REPORTED)
_SINCE_AT, _SLOTS_AT = np.uint64(SINCE_AT), np.uint64(SLOTS_AT)


@kernel(
    "words integer words integers integers writable-matrix integer integer",
    "integer",
    counted=(4,),
)
def list_open(
    tables: Words, kind: int, words: Words, cells: Integers, handles: Integers, output: Matrix,
    written: int, bound: int,
) -> int:  # fmt: skip
    """Write what holds of the instances of a kind since some time after a bound.

    Gives the number of rows written then, or -1 if there is no room for them.
    """
    row, room = np.uint64(written), np.uint64(output.shape[0])
    header, code = np.uint64(kind) * _HEADER, np.uint64(kind) << _SIX
    reported, slots = tables[header + _REPORTED], tables[header + _SLOTS_AT]
    for place in range(np.uint64(len(handles))):
        handle = np.uint64(handles[place])
        bits, starts = words[handle] & reported, handle + tables[header + _SINCE_AT]
        while bits != ZERO:
            bit = lowest_bit(bits)
            bits &= bits - ONE
            start = cells[starts + tables[slots + bit]]
            if start > bound:
                if row >= room:
                    return -1
                output[row, 0], output[row, 1] = np.int64(code + bit), cells[handle + _NUMBER]
                output[row, 2], output[row, 3] = start, NO_DUE
                row += ONE
    return int(row)


@kernel(
    "matrix integer integers integers writable-small writable-integers writable-integers "
    "writable-integers writable-integers",
    "nothing",
)
def _place(
    output: Matrix, count: int, bases: Integers, sizes: Integers, stops: SmallIntegers,
    codes: Integers, numbers: Integers, starts: Integers, ends: Integers,
) -> None:  # fmt: skip
    """Rows by code and number; stops have one place for each number of each code, and one more.

    Codes and numbers follow from how many rows there are of each, so that only the times of a row
    are written to where it belongs.
    """
    for row in range(np.uint64(count)):
        place = np.uint64(bases[np.uint64(output[row, 0])] + output[row, 1])
        stops[place + ONE] += 1
    for code in range(np.uint64(len(sizes))):
        for number in range(np.uint64(sizes[code])):
            place = np.uint64(bases[code]) + number
            stop = stops[place] + stops[place + ONE]
            for to in range(np.uint64(stops[place]), np.uint64(stop)):
                codes[to], numbers[to] = np.int64(code), np.int64(number)
            stops[place + ONE] = stop
    for row in range(np.uint64(count)):
        place = np.uint64(bases[np.uint64(output[row, 0])] + output[row, 1])
        target = np.uint64(stops[place])
        stops[place] += 1
        starts[target], ends[target] = output[row, 2], output[row, 3]


def in_told_order(output: Matrix, count: int, sizes: Integers) -> list[Integers]:
    """Rows by code and number, those of one code and number as they were written: four columns.

    `sizes` has the number of instances for each code.
    """
    places = int(sizes.sum())
    bases = np.cumsum(sizes) - sizes
    if places > _FEW * count or max(places, count) >= _MOST:
        order = stable_order(bases[output[:count, 0]] + output[:count, 1], max(places, 1))
        return list(np.ascontiguousarray(output[order].T))
    columns = [np.empty(count, np.int64) for _ in range(4)]
    _place(output, count, bases, sizes, np.zeros(places + 1, np.int32), *columns)
    return columns


@kernel("matrix matrix writable-booleans writable-booleans", "nothing")
def _mark_alone(before: Matrix, after: Matrix, is_gone: Booleans, is_new: Booleans) -> None:
    """Both are sorted: what is smaller than all that is left of the other is in one only."""
    old, new = np.uint64(0), np.uint64(0)
    old_stop, new_stop = np.uint64(before.shape[0]), np.uint64(after.shape[0])
    while old < old_stop and new < new_stop:
        order = 0
        for column in range(4):
            if order == 0 and before[old, column] != after[new, column]:
                order = -1 if before[old, column] < after[new, column] else 1
        if order < 0:
            is_gone[old] = True
        elif order > 0:
            is_new[new] = True
        old += np.uint64(order <= 0)
        new += np.uint64(order >= 0)
    while old < old_stop:
        is_gone[old] = True
        old += ONE
    while new < new_stop:
        is_new[new] = True
        new += ONE


def alone(before: Matrix, after: Matrix) -> tuple[Booleans, Booleans]:
    """Which rows are only in the first, and which only in the second; rows of both are sorted.

    No row is there twice.
    """
    is_gone, is_new = (np.zeros(len(rows), np.bool_) for rows in (before, after))
    _mark_alone(before, after, is_gone, is_new)
    return is_gone, is_new


def plain_alone(before: Matrix, after: Matrix) -> tuple[Booleans, Booleans]:
    """The twin of `alone`."""
    old, new = (set(map(tuple, rows.tolist())) for rows in (before, after))
    is_gone = [tuple(row) not in new for row in before.tolist()]
    is_new = [tuple(row) not in old for row in after.tolist()]
    return np.array(is_gone, np.bool_), np.array(is_new, np.bool_)


def plain_in_told_order(output: Matrix, count: int, sizes: Integers) -> list[Integers]:
    """The twin of `in_told_order`."""
    rows = sorted(output[:count].tolist(), key=lambda row: row[:2])
    return [np.array([row[column] for row in rows], np.int64) for column in range(4)]
