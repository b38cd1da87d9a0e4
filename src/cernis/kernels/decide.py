"""Conditions over whole columns, decided in one pass: a small machine for comparisons.

A rule often compares several columns, some of them computed, some looked up. Column by column that
takes a pass through memory for each comparison and each operation. Here a program of simple
instructions is run on a few hundred rows at a time, with everything between in the cache.

A program is a matrix with one instruction in each row: operation, destination, first and second
operand. Registers hold numbers as floats; those of constants are filled beforehand. Masks 0 and 1
hold what is true: a test takes away from the mask that is its destination. Comparisons with what is
no number are false.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Bytes, Floats, Integers, Matrix, Place
from cernis.kernels.compile import element_reader, kernel

BLOCK = 512
"""Rows that are decided together."""
WIDE = np.uint64(BLOCK)

(
    LOAD, LOAD_INTEGER, PICK, PICK_INTEGER, ADD, SUBTRACT, MULTIPLY, LEAST, GREATEST, ABSOLUTE,
    NEGATE, LESS, LESS_OR_EQUAL, EQUAL, UNEQUAL, IS_NUMBER, IS_SET, BEGIN, NOT_ALL, IS_SET_AT,
    RESTART, SIGN, DIVIDE, FLOOR,
) = range(24)  # fmt: skip
"""The operations. Operands are registers, but those of LOAD, PICK, IS_SET and IS_SET_AT are
columns: PICK takes the numbers of the first at the places that the second tells, and so does
IS_SET_AT. BEGIN sets mask 1, and NOT_ALL takes it away from mask 0. SIGN sets the bit that is its
destination in the words of the rows where mask 0 is set, and RESTART sets mask 0 again."""


_float_at = element_reader("float")
_integer_at = element_reader("integer")
_byte_at = element_reader("byte")


@kernel(
    "matrix integers writable-floats integer writable-bytes writable-booleans writable-integers",
    "integer",
    counted=(5, 6),
)
def _decide(
    program: Matrix, columns: Integers, registers: Floats, rows: int,
    masks: Bytes, truths: Booleans, words: Integers,
) -> int:  # fmt: skip
    """Gives how many rows are true. Without room for truths or words, these are not written."""
    count = 0
    for begin in range(0, rows, BLOCK):
        start, size = Place(begin), Place(min(BLOCK, rows - begin))
        masks[:size] = 1
        for step in range(len(program)):
            operation, one, other = (
                program[step, 0],
                Place(program[step, 2]),
                Place(program[step, 3]),
            )
            into = Place(program[step, 1]) * WIDE
            a, b = one * WIDE, other * WIDE
            source, places = columns[one], columns[other]
            if operation == LOAD:
                for row in range(size):
                    registers[into + row] = _float_at(source, start + row)
            elif operation == LOAD_INTEGER:
                for row in range(size):
                    registers[into + row] = _integer_at(source, start + row)
            elif operation == PICK:
                for row in range(size):
                    place = Place(_integer_at(places, start + row))
                    registers[into + row] = _float_at(source, place)
            elif operation == PICK_INTEGER:
                for row in range(size):
                    place = Place(_integer_at(places, start + row))
                    registers[into + row] = _integer_at(source, place)
            elif operation == ADD:
                for row in range(size):
                    registers[into + row] = registers[a + row] + registers[b + row]
            elif operation == SUBTRACT:
                for row in range(size):
                    registers[into + row] = registers[a + row] - registers[b + row]
            elif operation == MULTIPLY:
                for row in range(size):
                    registers[into + row] = registers[a + row] * registers[b + row]
            elif operation == DIVIDE:
                for row in range(size):
                    registers[into + row] = registers[a + row] / registers[b + row]
            elif operation == FLOOR:
                for row in range(size):
                    registers[into + row] = np.floor(registers[a + row])
            elif operation in (LEAST, GREATEST):
                # What is no number stays so, whichever operand it is.
                flip = 1.0 if operation == LEAST else -1.0
                for row in range(size):
                    x, y = registers[a + row], registers[b + row]
                    registers[into + row] = x if x * flip <= y * flip or x != x else y
            elif operation == ABSOLUTE:
                for row in range(size):
                    registers[into + row] = abs(registers[a + row])
            elif operation == NEGATE:
                for row in range(size):
                    registers[into + row] = -registers[a + row]
            elif operation == LESS:
                for row in range(size):
                    masks[into + row] &= registers[a + row] < registers[b + row]
            elif operation == LESS_OR_EQUAL:
                for row in range(size):
                    masks[into + row] &= registers[a + row] <= registers[b + row]
            elif operation == EQUAL:
                for row in range(size):
                    masks[into + row] &= registers[a + row] == registers[b + row]
            elif operation == UNEQUAL:
                for row in range(size):
                    x, y = registers[a + row], registers[b + row]
                    masks[into + row] &= (x < y) | (x > y)
            elif operation == IS_NUMBER:
                for row in range(size):
                    masks[into + row] &= registers[a + row] == registers[a + row]
            elif operation == IS_SET:
                for row in range(size):
                    masks[into + row] &= _byte_at(source, start + row)
            elif operation == BEGIN:
                masks[BLOCK : BLOCK + size] = 1
            elif operation == NOT_ALL:
                for row in range(size):
                    masks[row] &= masks[BLOCK + row] ^ 1
            elif operation == IS_SET_AT:
                for row in range(size):
                    masks[into + row] &= _byte_at(source, Place(_integer_at(places, start + row)))
            elif operation == RESTART:
                masks[:size] = 1
            elif operation == SIGN:
                bit = program[step, 1]
                for row in range(size):
                    words[start + row] |= np.int64(masks[row]) << bit
        if len(truths):
            for row in range(size):
                truths[start + row] = masks[row]
                count += int(masks[row])
    return count


def decide(
    program: Matrix, columns: list[Array], constants: dict[int, float],
    registers: int, rows: int,
) -> tuple[Booleans, int]:  # fmt: skip
    """For each row: is mask 0 set when the program has been run? And how many are.

    Columns are contiguous, of 64-bit floats, of 64-bit integers, or of booleans, as the operations
    on them say. Integers must be exact as floats.
    """
    held, addresses = held_constants(constants, registers), addresses_of(columns, registers)
    truths, masks = np.empty(rows, np.bool_), np.empty(2 * BLOCK, np.uint8)
    count = _decide(program, addresses, held, rows, masks, truths, np.empty(0, np.int64))
    return truths, int(count)


def held_constants(constants: dict[int, float], registers: int) -> Floats:
    """Registers, those of constants filled."""
    held = np.empty((registers, BLOCK), np.float64)
    for register, number in constants.items():
        held[register] = number
    return held.ravel()


def addresses_of(columns: Sequence[Array], registers: int) -> Integers:
    """Where the columns lie. Every operand is looked up there, those too that are registers."""
    addresses = np.zeros(max(registers, len(columns)) + 1, np.int64)
    addresses[: len(columns)] = [column.__array_interface__["data"][0] for column in columns]
    return addresses


def sign(
    program: Matrix, columns: Sequence[Array], held: Floats, words: Integers
) -> None:  # fmt: skip
    """Set the bits that a program signs the rows with, in a word for each row.

    `held` are the registers with their constants; a program may be run with them again and again.
    """
    addresses = addresses_of(columns, len(held) // BLOCK)
    masks = np.empty(2 * BLOCK, np.uint8)
    _decide(program, addresses, held, len(words), masks, np.empty(0, np.bool_), words)


def decide_plain(
    program: Matrix, columns: list[Array], constants: dict[int, float],
    registers: int, rows: int,
) -> tuple[Booleans, int]:  # fmt: skip
    """The twin of `decide`: whole columns, an instruction after the other."""
    mask, _ = _run_plain(program, columns, constants, registers, rows)
    return mask, int(mask.sum())


def sign_plain(
    program: Matrix, columns: list[Array], constants: dict[int, float], registers: int, rows: int
) -> Integers:
    """The twin of `sign`: the words of all rows."""
    return _run_plain(program, columns, constants, registers, rows)[1]


def _run_plain(
    program: Matrix, columns: list[Array], constants: dict[int, float],
    registers: int, rows: int,
) -> tuple[Booleans, Integers]:  # fmt: skip
    words = np.zeros(rows, np.int64)
    held = [np.full(rows, constants.get(at, np.nan)) for at in range(registers)]
    masks = [np.ones(rows, np.bool_), np.ones(rows, np.bool_)]
    two: dict[int, Any] = {
        ADD: np.add, SUBTRACT: np.subtract, MULTIPLY: np.multiply,
        LEAST: np.minimum, GREATEST: np.maximum, DIVIDE: np.divide,
    }  # fmt: skip
    alone: dict[int, Any] = {ABSOLUTE: np.abs, NEGATE: np.negative, FLOOR: np.floor}
    tests: dict[int, Any] = {LESS: np.less, LESS_OR_EQUAL: np.less_equal, EQUAL: np.equal}
    for operation, into, one, other in program.tolist():
        if operation in (LOAD, LOAD_INTEGER):
            held[into] = columns[one].astype(float)
        elif operation in (PICK, PICK_INTEGER):
            held[into] = columns[one][columns[other]].astype(float)
        elif operation in two:
            held[into] = two[operation](held[one], held[other])
        elif operation in alone:
            held[into] = alone[operation](held[one])
        elif operation in tests:
            masks[into] &= tests[operation](held[one], held[other])
        elif operation == UNEQUAL:
            masks[into] &= (held[one] < held[other]) | (held[one] > held[other])
        elif operation == IS_NUMBER:
            masks[into] &= ~np.isnan(held[one])
        elif operation == IS_SET:
            masks[into] &= columns[one]
        elif operation == BEGIN:
            masks[1] = np.ones(rows, np.bool_)
        elif operation == NOT_ALL:
            masks[0] &= ~masks[1]
        elif operation == IS_SET_AT:
            masks[into] &= columns[one][columns[other]]
        elif operation == RESTART:
            masks[0] = np.ones(rows, np.bool_)
        elif operation == SIGN:
            words |= masks[0].astype(np.int64) << into
    return masks[0], words
