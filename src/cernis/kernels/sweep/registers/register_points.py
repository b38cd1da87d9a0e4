"""A point of a lane with registers: guards first, then values that clash or end, then the new ones.

Values of the key that is walked are lines of the matrix of starts, by register: those of the new
and of the old history before the point, and those after it.

Lanes without registers have no second dimension beside their rows, and nothing of this is compiled
into their loops.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Array, Floats, Matrix, Words
from cernis.kernels.compile import part
from cernis.kernels.sweep.lane_arrays import (
    AT_REGISTERS,
    NEW_VALUES,
    NEXT_NEW_VALUES,
    NEXT_OLD_VALUES,
    OLD_VALUES,
    LaneMachine,
)
from cernis.kernels.sweep.lane_memo import SIGNALS as SENT
from cernis.kernels.sweep.lane_memo import fired_handle, is_used_up
from cernis.kernels.sweep.lane_rows import fired_at, fired_word, put_fired
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point, read_point
from cernis.kernels.sweep.registers.guards import guard_bits
from cernis.kernels.sweep.registers.register_tables import (
    CLASH,
    CLOSING,
    COMPUTED,
    CONSTANT,
    FIRST_SLOT,
    GROUP,
    HEADER,
    IS_ENDING,
    NEEDS,
    OPEN,
    OPEN_BITS,
    PAYLOADS,
    REGISTER,
    REGISTER_SIZE,
    REGISTERS,
    SIGNAL,
    SIGNALS,
    SLOT,
    SOURCE_SIZE,
    SOURCES,
    TRIGGER,
)
from cernis.kernels.sweep.word_bits import ALL_BITS, ONE, ZERO, Time, Word

_PAYLOADS, _REGISTERS, _SOURCES, _NEEDS, _SIGNALS, _COMPUTED, _OPEN_BITS, _FIRST_SLOT = (
    np.uint64(place)
    for place in (
        PAYLOADS, REGISTERS, SOURCES, NEEDS, SIGNALS, COMPUTED, OPEN_BITS, FIRST_SLOT
    )
)  # fmt: skip
AT_NEEDS, AT_VALUE_SIGNALS, AT_OPEN_BITS = _NEEDS, _SIGNALS, _OPEN_BITS
AT_PAYLOADS, AT_REGISTER_COUNT = _PAYLOADS, _REGISTERS
_HEADER, _REGISTER_SIZE, _SOURCE_SIZE = (
    np.uint64(size) for size in (HEADER, REGISTER_SIZE, SOURCE_SIZE)
)
_OPEN, _GROUP, _CLASH, _CLOSING = (np.uint64(column) for column in (OPEN, GROUP, CLASH, CLOSING))
_REGISTER, _IS_ENDING, _SIGNAL, _TRIGGER, _SLOT, _CONSTANT = (
    np.uint64(column) for column in (REGISTER, IS_ENDING, SIGNAL, TRIGGER, SLOT, CONSTANT)
)


@part
def has_registers(tags: Array) -> bool:
    """Has the lane registers? What stands beside its rows shows it."""
    return tags.ndim == 2


# -- values at a place -----------------------------------------------------------------------


@part
def load_values(
    lane: Words, tags: Array, edge_since: Matrix, head: Word, place: Word, key: Word,
    starts: Matrix,
) -> None:  # fmt: skip
    """Let both histories have the values before a row."""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        for number in range(lane[header + _REGISTERS]):
            if place > head:
                value = tags[place - ONE, lane[header + _PAYLOADS] + number]
            else:
                value = edge_since[key, lane[header + _FIRST_SLOT] + number]
            starts[NEW_VALUES, number] = starts[OLD_VALUES, number] = value
            starts[NEXT_NEW_VALUES, number] = value


@part
def values_agree(lane: Words, tags: Array, starts: Matrix) -> bool:
    """Are the values of both histories the same?"""
    if tags.ndim == 2:
        for number in range(lane[lane[AT_REGISTERS] + _REGISTERS]):
            if starts[NEW_VALUES, number] != starts[OLD_VALUES, number]:
                return False
    return True


@part
def moved_bits(
    lane: Words, tags: Array, word: Word, after: Word, starts: Matrix, line: Word, next_line: Word
) -> Word:
    """The open bits that hold before and after a point, of different values."""
    moved = ZERO
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        if word & after & lane[header + _OPEN_BITS]:
            register = header + _HEADER
            for number in range(lane[header + _REGISTERS]):
                bit = ONE << lane[register + _OPEN]
                if word & after & bit and starts[line, number] != starts[next_line, number]:
                    moved |= bit
                register += _REGISTER_SIZE
    return moved


@part
def differing_bits(lane: Words, tags: Array, starts: Matrix) -> Word:
    """The open bits whose values differ between the two histories."""
    return moved_bits(lane, tags, ~ZERO, ~ZERO, starts, OLD_VALUES, NEW_VALUES)


@part
def moved_at(lane: Words, tags: Array, place: Word, bits: Word, starts: Matrix) -> Word:
    """Of some bits, the open ones whose value after a row is not the one of the new history."""
    moved = ZERO
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        register = header + _HEADER
        for number in range(lane[header + _REGISTERS]):
            bit = ONE << lane[register + _OPEN]
            value = tags[place, lane[header + _PAYLOADS] + number]
            if bits & bit and value != starts[NEW_VALUES, number]:
                moved |= bit
            register += _REGISTER_SIZE
    return moved


@part
def is_value_of(lane: Words, tags: Array, place: Word, other: Word, bit: Word) -> bool:
    """Is the value after a row that after another, if a bit is the open bit of a register?"""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        register = header + _HEADER
        for number in range(lane[header + _REGISTERS]):
            column = lane[header + _PAYLOADS] + number
            if lane[register + _OPEN] == bit and tags[place, column] != tags[other, column]:
                return False
            register += _REGISTER_SIZE
    return True


@part
def is_edge_value(
    lane: Words, tags: Array, place: Word, edge_since: Matrix, key: Word, bit: Word
) -> bool:
    """Is the value after a row that at the edge, if a bit is the open bit of a register?"""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        register = header + _HEADER
        for number in range(lane[header + _REGISTERS]):
            value = tags[place, lane[header + _PAYLOADS] + number]
            at_edge = edge_since[key, lane[header + _FIRST_SLOT] + number]
            if lane[register + _OPEN] == bit and value != at_edge:
                return False
            register += _REGISTER_SIZE
    return True


@part
def moved_after(
    lane: Words, tags: Array, edge_since: Matrix, head: Word, place: Word, key: Word, held: Word
) -> Word:
    """Of open bits that hold before and after a row, those whose value the row has changed."""
    moved = ZERO
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        register = header + _HEADER
        for number in range(lane[header + _REGISTERS]):
            bit = ONE << lane[register + _OPEN]
            if held & bit:
                value = tags[place, lane[header + _PAYLOADS] + number]
                if value != value_before(lane, tags, edge_since, head, place, key, number):
                    moved |= bit
            register += _REGISTER_SIZE
    return moved


@part
def value_before(
    lane: Words, tags: Array, edge_since: Matrix, head: Word, place: Word, key: Word, number: Word
) -> Time:
    """The value of a register before a row; there are registers."""
    header = lane[AT_REGISTERS]
    if place > head:
        return tags[place - ONE, lane[header + _PAYLOADS] + number]
    else:
        return edge_since[key, lane[header + _FIRST_SLOT] + number]


@part
def put_value_before(
    output: Matrix, row: Word, lane: Words, tags: Array, edge_since: Matrix, head: Word,
    place: Word, key: Word, bit: Word,
) -> None:  # fmt: skip
    """Write the value that an interval has before a row beside it, if its bit is an open one."""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        register = header + _HEADER
        for number in range(lane[header + _REGISTERS]):
            if lane[register + _OPEN] == bit:
                value = value_before(lane, tags, edge_since, head, place, key, number)
                output[row, np.uint64(4)] = value
            register += _REGISTER_SIZE


@part
def put_value(
    output: Matrix, row: Word, lane: Words, tags: Array, bit: Word, starts: Matrix, line: Word
) -> None:
    """Write the value of an interval beside it, if its bit is an open one."""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        if (lane[header + _OPEN_BITS] >> bit) & ONE:
            register = header + _HEADER
            for number in range(lane[header + _REGISTERS]):
                if lane[register + _OPEN] == bit:
                    output[row, np.uint64(4)] = starts[line, number]
                register += _REGISTER_SIZE


# -- a point ---------------------------------------------------------------------------------


@part
def strip_computed(machine: LaneMachine, rows: Words, tags: Array, place: Word) -> bool:
    """Take what is computed from the fired word of a row; false if ids are used up."""
    if tags.ndim == 2:
        fired = fired_word(rows, machine.fired_words, fired_at(rows, place))
        computed = machine.lane[machine.lane[AT_REGISTERS] + _COMPUTED]
        if fired & computed:
            return _put_fired_word(machine, rows, place, fired & ~computed)
    return True


@part
def _put_fired_word(machine: LaneMachine, rows: Words, place: Word, fired: Word) -> bool:
    """Write the fired word of a row; false if ids are used up."""
    handle = fired_handle(rows, machine, fired)
    if is_used_up(rows, handle):
        return False
    put_fired(rows, place, handle)
    return True


@part
def sign_point(
    machine: LaneMachine, rows: Words, tags: Array, first: Word, stop: Word, word: Word,
    starts: Matrix,
) -> bool:  # fmt: skip
    """Give the rows of a point the guards that they meet; false if ids are used up."""
    if tags.ndim == 2:
        lane = machine.lane
        needs = lane[lane[AT_REGISTERS] + _NEEDS]
        for place in range(first, stop):
            fired = fired_word(rows, machine.fired_words, fired_at(rows, place))
            if fired & needs:
                bits = guard_bits(lane, machine.numbers, tags, place, fired, word, starts)
                if bits != ZERO and not _put_fired_word(machine, rows, place, fired | bits):
                    return False
    return True


@part
def _initiate(
    number: Word, value: Time, starts: Matrix, initiated: Word, clashing: Word
) -> tuple[Word, Word]:
    """Note a value that is initiated: the registers that have one, and those that have two."""
    bit = ONE << number
    if not initiated & bit:
        starts[NEXT_NEW_VALUES, number] = value
    elif starts[NEXT_NEW_VALUES, number] != value:
        clashing |= bit
    return initiated | bit, clashing


@part
def _initiated(
    lane: Words, rows: Words, tags: Array, fired_words: Words, first: Word, stop: Word,
    signals: Word, starts: Matrix,
) -> tuple[Word, Word]:  # fmt: skip
    """The registers that a point gives a value, and those to which it gives two."""
    header = lane[AT_REGISTERS]
    source = header + _HEADER + lane[header + _REGISTERS] * _REGISTER_SIZE
    initiated, clashing = ZERO, ZERO
    for _ in range(lane[header + _SOURCES]):
        number, trigger = lane[source + _REGISTER], lane[source + _TRIGGER]
        if lane[source + _IS_ENDING] == ZERO and signals & lane[source + _SIGNAL]:
            if trigger == ZERO:
                value = np.int64(lane[source + _CONSTANT])
                initiated, clashing = _initiate(number, value, starts, initiated, clashing)
            else:
                for place in range(first, stop):
                    if fired_word(rows, fired_words, fired_at(rows, place)) & trigger:
                        value = tags[place, lane[source + _SLOT]]
                        initiated, clashing = _initiate(number, value, starts, initiated, clashing)
        source += _SOURCE_SIZE
    return initiated, clashing


@part
def _closing(
    lane: Words, rows: Words, tags: Array, fired_words: Words, first: Word, stop: Word,
    signals: Word, initiated: Word, word: Word, starts: Matrix,
) -> Word:  # fmt: skip
    """The closing bits of registers whose value is terminated: the new one, or else the old."""
    header = lane[AT_REGISTERS]
    registers, closing = header + _HEADER, ZERO
    source = registers + lane[header + _REGISTERS] * _REGISTER_SIZE
    for _ in range(lane[header + _SOURCES]):
        if lane[source + _IS_ENDING] != ZERO and signals & lane[source + _SIGNAL]:
            number = lane[source + _REGISTER]
            register = registers + number * _REGISTER_SIZE
            is_new = (initiated >> number) & ONE
            line = NEXT_NEW_VALUES if is_new else NEW_VALUES
            is_held = is_new or (word >> lane[register + _OPEN]) & ONE
            for place in range(first, stop):
                fired = fired_word(rows, fired_words, fired_at(rows, place))
                is_own = fired & lane[source + _TRIGGER] and is_held
                if is_own and tags[place, lane[source + _SLOT]] == starts[line, number]:
                    closing |= lane[register + _CLOSING]
        source += _SOURCE_SIZE
    return closing


@part
def decide_values(
    lane: Words, rows: Words, tags: Array, fired_words: Words, first: Word, stop: Word,
    signals: Word, word: Word, starts: Matrix,
) -> tuple[Word, Word]:  # fmt: skip
    """The registers that a point gives a value; and the bits with which it is to be decided again.

    `signals` are those that the point has sent, `word` is the state before it.
    """
    initiated, bits = ZERO, ZERO
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        signals &= lane[header + _SIGNALS]
        if signals != ZERO:
            initiated, clashing = _initiated(
                lane, rows, tags, fired_words, first, stop, signals, starts
            )
            bits = _closing(
                lane, rows, tags, fired_words, first, stop, signals, initiated, word, starts
            )
            register = header + _HEADER
            for number in range(lane[header + _REGISTERS]):
                if (clashing >> number) & ONE:
                    bits |= lane[register + _CLASH]
                register += _REGISTER_SIZE
    return initiated, bits


@part
def add_computed(machine: LaneMachine, rows: Words, tags: Array, place: Word, bits: Word) -> bool:
    """Give the first row of a point what is computed of the point; false if ids are used up."""
    if tags.ndim == 2:
        fired = fired_word(rows, machine.fired_words, fired_at(rows, place))
        return _put_fired_word(machine, rows, place, fired | bits)
    else:
        return True


@part
def decided_line(
    machine: LaneMachine, rows: Words, tags: Array, first: Word, stop: Word, state: Word,
    word: Word, allowed: Word, starts: Matrix,
) -> tuple[Word, Word, Word]:  # fmt: skip
    """The line of the transition of a point, its fired word, and the registers it gives a value.

    The line is `NO_LINE` if ids are used up, and in lanes without registers.
    """
    line, fired, initiated = NO_LINE, ZERO, ZERO
    if tags.ndim == 2:
        if sign_point(machine, rows, tags, first, stop, word, starts):
            _, fired = read_point(rows, first, stop, machine.fired_words)
            line = line_of_point(rows, machine, state, fired, allowed)
        if line != NO_LINE:
            initiated, bits = decide_values(
                machine.lane, rows, tags, machine.fired_words, first, stop,
                machine.memo[line + SENT], word, starts,
            )  # fmt: skip
            if bits != ZERO:
                line, fired = NO_LINE, fired | bits
                if add_computed(machine, rows, tags, first, bits):
                    line = line_of_point(rows, machine, state, fired, allowed)
    return line, fired, initiated


@part
def next_values(
    lane: Words, tags: Array, initiated: Word, word: Word, after: Word, starts: Matrix
) -> Word:
    """Find the values after a point, given the states before and after it.

    They are those of what holds then. Gives the open bits that hold before and after the point, of
    different values. Where nothing is initiated and the state stays, the values do.
    """
    moved = ZERO
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        register = header + _HEADER
        for number in range(lane[header + _REGISTERS]):
            before = starts[NEW_VALUES, number]
            if after & lane[register + _GROUP] == ZERO:
                starts[NEXT_NEW_VALUES, number] = 0
            elif not (initiated >> number) & ONE:
                starts[NEXT_NEW_VALUES, number] = before
            bit = ONE << lane[register + _OPEN]
            if word & after & bit and starts[NEXT_NEW_VALUES, number] != before:
                moved |= bit
            register += _REGISTER_SIZE
    return moved


@part
def guard_of_record(
    lane: Words, numbers: Floats, tags: Array, row: Word, fired: Word, word: Word, starts: Matrix
) -> Word:
    """The guards that a record meets."""
    if tags.ndim == 2:
        return guard_bits(lane, numbers, tags, row, fired, word, starts)
    else:
        return ZERO


@part
def values_of_record(
    lane: Words, tags: Array, row: Word, signals: Word, word: Word, after: Word, starts: Matrix
) -> Word:
    """Find the values after a point that has one record; gives what `next_values` gives.

    `ALL_BITS` says that it is not so simple: that a value clashes with another or is terminated.
    """
    moved = ZERO
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        initiated = ZERO
        if signals != ZERO:
            source = header + _HEADER + lane[header + _REGISTERS] * _REGISTER_SIZE
            for _ in range(lane[header + _SOURCES]):
                if signals & lane[source + _SIGNAL]:
                    number = lane[source + _REGISTER]
                    value = np.int64(lane[source + _CONSTANT])
                    if lane[source + _TRIGGER] != ZERO:
                        value = tags[row, lane[source + _SLOT]]
                    is_known = (initiated >> number) & ONE
                    is_other = is_known and starts[NEXT_NEW_VALUES, number] != value
                    if lane[source + _IS_ENDING] != ZERO or is_other:
                        return ALL_BITS
                    starts[NEXT_NEW_VALUES, number] = value
                    initiated |= ONE << number
                source += _SOURCE_SIZE
        moved = next_values(lane, tags, initiated, word, after, starts)
    return moved


@part
def put_beside(tags: Array, row: Word, column: Word, value: Time) -> None:
    """Write a value beside a row, where there is room for some."""
    if tags.ndim == 2:
        tags[row, column] = value


@part
def read_old_values(lane: Words, tags: Array, place: Word, is_old: bool, starts: Matrix) -> None:
    """Find the values of the old history after a point, whose last row was at a place."""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        for number in range(lane[header + _REGISTERS]):
            if is_old:
                value = tags[place, lane[header + _PAYLOADS] + number]
            else:
                value = starts[OLD_VALUES, number]
            starts[NEXT_OLD_VALUES, number] = value


@part
def write_values(lane: Words, tags: Array, first: Word, stop: Word, starts: Matrix) -> None:
    """Write the new values beside the rows of a point, and go on with them."""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        payloads = lane[header + _PAYLOADS]
        for number in range(lane[header + _REGISTERS]):
            value = starts[NEW_VALUES, number] = starts[NEXT_NEW_VALUES, number]
            for place in range(first, stop):
                tags[place, payloads + number] = value


@part
def keep_old_values(lane: Words, tags: Array, starts: Matrix) -> None:
    """Go on with the values of the old history after a point."""
    if tags.ndim == 2:
        for number in range(lane[lane[AT_REGISTERS] + _REGISTERS]):
            starts[OLD_VALUES, number] = starts[NEXT_OLD_VALUES, number]


# -- at the edge -----------------------------------------------------------------------------


@part
def forget_values(lane: Words, tags: Array, stop: Word, key: Word, edge_since: Matrix) -> None:
    """Keep the values after the last of the rows that are forgotten."""
    if tags.ndim == 2:
        header = lane[AT_REGISTERS]
        for number in range(lane[header + _REGISTERS]):
            slot = lane[header + _FIRST_SLOT] + number
            edge_since[key, slot] = tags[stop - ONE, lane[header + _PAYLOADS] + number]
