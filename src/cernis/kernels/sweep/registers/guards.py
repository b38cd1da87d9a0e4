"""Guards: what a record's payload and the values held before a point say together."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from cernis.kernels.array_types import Floats, Matrix, Words
from cernis.kernels.compile import part
from cernis.kernels.decide import (
    ABSOLUTE,
    ADD,
    BEGIN,
    EQUAL,
    GREATEST,
    IS_NUMBER,
    LEAST,
    LESS,
    LESS_OR_EQUAL,
    MULTIPLY,
    NOT_ALL,
    SUBTRACT,
    UNEQUAL,
)
from cernis.kernels.sweep.lane_arrays import AT_REGISTERS, NEW_VALUES
from cernis.kernels.sweep.registers.register_tables import (
    GROUP,
    GUARD,
    GUARD_ROWS,
    GUARD_SIZE,
    HEADER,
    IS_CONSTANT,
    IS_HELD,
    IS_OTHER,
    IS_SAME,
    LOAD_CODE,
    LOAD_NUMBER,
    LOAD_PAYLOAD,
    REGISTER_SIZE,
    REGISTERS,
    SET,
    SOURCE_SIZE,
    SOURCES,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Word

_REGISTERS, _SOURCES, _GUARD_ROWS, _HEADER, _GROUP = (
    np.uint64(place) for place in (REGISTERS, SOURCES, GUARD_ROWS, HEADER, GROUP)
)
_REGISTER_SIZE, _SOURCE_SIZE, _GUARD_SIZE = (
    np.uint64(size) for size in (REGISTER_SIZE, SOURCE_SIZE, GUARD_SIZE)
)
Number: TypeAlias = Any
"""A float of 64 bits."""

_TWO, _THREE = np.uint64(2), np.uint64(3)


@part
def _computed(operation: Word, one: Number, other: Number) -> Number:
    """The result of an operation on numbers."""
    if operation == ADD:
        return one + other
    if operation == SUBTRACT:
        return one - other
    if operation == MULTIPLY:
        return one * other
    if operation == LEAST:
        return one if one <= other or one != one else other
    if operation == GREATEST:
        return one if one >= other or one != one else other
    if operation == ABSOLUTE:
        return abs(one)
    return -one


@part
def _is_met(operation: Word, one: Number, other: Number) -> bool:
    """Is a test of numbers met? None is by what is no number."""
    if operation == LESS:
        return bool(one < other)
    if operation == LESS_OR_EQUAL:
        return bool(one <= other)
    if operation == EQUAL:
        return bool(one == other)
    if operation == UNEQUAL:
        return bool(one < other or one > other)
    return bool(one == one)


@part
def _loaded(
    operation: Word, place: Word, table: Word, numbers: Floats, tags: Matrix, row: Word,
    values: Matrix,
) -> Number:  # fmt: skip
    """A number of the payload or of a register."""
    if operation == LOAD_PAYLOAD:
        return np.int64(tags[row, place]).view(np.float64)
    value = values[NEW_VALUES, place]
    if operation == LOAD_CODE:
        return numbers[np.uint64(numbers[table]) + np.uint64(value)]
    if numbers[table] != 0.0:
        return np.float64(value)
    return np.int64(value).view(np.float64)


@part
def guard_bits(
    lane: Words, numbers: Floats, tags: Matrix, row: Word, fired: Word, word: Word, values: Matrix
) -> Word:
    """The guards that a record meets; `word` is the state before the point."""
    header = lane[AT_REGISTERS]
    registers = header + _HEADER
    step = registers + lane[header + _REGISTERS] * _REGISTER_SIZE
    step += lane[header + _SOURCES] * _SOURCE_SIZE
    stop = step + lane[header + _GUARD_ROWS] * _GUARD_SIZE
    bits, is_true, is_inner, is_inside = ZERO, True, True, False
    while step < stop:
        operation, to = lane[step], lane[step + ONE]
        one, other = lane[step + _TWO], lane[step + _THREE]
        step += _GUARD_SIZE
        is_met = True
        if operation == GUARD:
            is_true, is_inside = True, False
            if not (fired >> to) & ONE:
                step += one * _GUARD_SIZE
        elif operation >= LOAD_PAYLOAD and operation <= LOAD_NUMBER:
            numbers[to] = _loaded(operation, one, other, numbers, tags, row, values)
        elif operation == IS_HELD:
            is_met = (word & lane[registers + one * _REGISTER_SIZE + _GROUP]) != ZERO
        elif operation == IS_SAME:
            is_met = values[NEW_VALUES, one] == tags[row, other]
        elif operation == IS_OTHER:
            is_met = values[NEW_VALUES, one] != tags[row, other]
        elif operation == IS_CONSTANT:
            is_met = values[NEW_VALUES, one] == np.int64(other)
        elif operation == BEGIN:
            is_inside, is_inner = True, True
        elif operation == NOT_ALL:
            is_inside = False
            is_met = not is_inner
        elif operation == SET:
            if is_true:
                bits |= ONE << to
        elif operation >= LESS and operation <= IS_NUMBER:
            is_met = _is_met(operation, numbers[one], numbers[other])
        else:
            numbers[to] = _computed(operation, numbers[one], numbers[other])
        if is_inside:
            is_inner = is_inner and is_met
        else:
            is_true = is_true and is_met
    return bits
