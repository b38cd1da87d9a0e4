"""What a lane tells: output of the walk by bit, and all that holds or happens in the window.

Rows of output have a code, a key and two times. The code is that of a bit, plus 64 for signals,
plus 128 for what has gone.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Tags, Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_arrays import (
    LANE_MACHINE,
    LOG_KINDS,
    LOG_ROWS,
    KeyLog,
    LaneMachine,
    kind_words,
    log_words,
)
from cernis.kernels.sweep.lane_memo import SIGNALS
from cernis.kernels.sweep.lane_rows import state_at, state_word, time_at
from cernis.kernels.sweep.lane_tables import REPORTED, REPORTED_SIGNALS, TICK
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point, read_point
from cernis.kernels.sweep.registers.register_points import (
    has_registers,
    moved_after,
    put_value_before,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word, lowest_bit

CODES = 256
MOST_AT_ONCE = np.uint64(64)
_REPORTED, _TICK = np.uint64(REPORTED), np.uint64(TICK)
_REPORTED_SIGNALS = np.uint64(REPORTED_SIGNALS)
_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)
_CODE, _KEY, _START, _END, _VALUE = (np.uint64(column) for column in range(5))


# -- by bit ----------------------------------------------------------------------------------


@kernel("matrix integer writable-integers " + "writable-integers " * 5, "nothing", counted=(3,))
def _group(
    output: Matrix, count: int, firsts: Integers, bits: Integers, keys: Integers,
    starts: Integers, ends: Integers, values: Integers,
) -> None:  # fmt: skip
    for row in range(np.uint64(count)):
        firsts[np.uint64(output[row, _CODE]) + ONE] += 1
    for number in range(CODES):
        firsts[number + 1] += firsts[number]
    for row in range(np.uint64(count)):
        code = np.uint64(output[row, _CODE])
        place = np.uint64(firsts[code])
        firsts[code] += 1
        bits[place] = output[row, _CODE] & 63
        keys[place] = output[row, _KEY]
        starts[place] = output[row, _START]
        ends[place] = output[row, _END]
        if len(values) > 0:
            values[place] = output[row, _VALUE]


def by_code(output: Matrix, count: int) -> tuple[Integers, list[Integers]]:
    """Rows of output in the order of their codes, each code's as they were written.

    Gives where the rows of each code end, and the columns bit, key, start and end; in a lane with
    registers, values too.
    """
    stops = np.zeros(CODES + 1, np.int64)
    columns = [np.empty(count, np.int64) for _ in range(4)]
    columns += [np.empty(count if output.shape[1] > 4 else 0, np.int64)]
    _group(output, count, stops, *columns)
    return stops[:CODES], columns[: output.shape[1]]


def plain_by_code(output: Matrix, count: int) -> tuple[Integers, list[Integers]]:
    """The twin of `by_code`."""
    order = np.argsort(output[:count, 0], kind="stable")
    rows = output[:count][order]
    stops = np.cumsum(np.bincount(rows[:, 0], minlength=CODES))
    columns = [rows[:, 0] & 63, *rows[:, 1:].T]
    return stops, [np.ascontiguousarray(column) for column in columns]


# -- the window ------------------------------------------------------------------------------


@part
def _close(
    output: Matrix, written: Word, ended: Word, starts: Integers, key: Word, end: Time,
    first_end: Time, lane: Words, tags: Tags, edge_since: Matrix, head: Word, place: Word,
) -> Word:  # fmt: skip
    """Write the intervals that end at a time, with a row, if they reach the window."""
    while ended != ZERO and end > first_end:
        bit = lowest_bit(ended)
        ended &= ended - ONE
        put_value_before(output, written, lane, tags, edge_since, head, place, key, bit)
        output[written, _CODE], output[written, _KEY] = np.int64(bit), np.int64(key)
        output[written, _START], output[written, _END] = starts[bit], end
        written += ONE
    return written


def _list_intervals(
    machine: LaneMachine, log: KeyLog, base: int, edge: int, starts: Integers, output: Matrix,
    progress: Integers,
) -> bool:  # fmt: skip
    """Write the intervals of all keys that reach the window; false if there is no room.

    `progress` is the next key and the number of rows written.
    """
    lane, state_words, rows, tags = machine.lane, machine.state_words, log.rows, log.tags
    places, states, edge_since, slots = log.places, log.states, log.edge_since, log.slots
    reported, tick = lane[_REPORTED], np.int64(lane[_TICK])
    for key in range(np.uint64(progress[0]), np.uint64(len(places))):
        written = np.uint64(progress[1])
        first = np.uint64(places[key, _FIRST])
        head, last = first + np.uint64(places[key, _HEAD]), first + np.uint64(places[key, _SIZE])
        state = states[key, ZERO]
        word = state_word(rows, state_words, state) & reported
        bits = word
        while bits != ZERO:
            bit = lowest_bit(bits)
            bits &= bits - ONE
            starts[bit] = edge_since[key, np.uint64(slots[bit])]
        for place in range(head, last):
            if state_at(rows, place) != state or has_registers(tags):
                if written + MOST_AT_ONCE > np.uint64(len(output)):
                    return False
                state = state_at(rows, place)
                after = state_word(rows, state_words, state) & reported
                end = np.int64(time_at(rows, place)) + base + tick
                moved = moved_after(lane, tags, edge_since, head, place, key, word & after)
                written = _close(
                    output, written, (word & ~after) | moved, starts, key, end, edge + tick, lane,
                    tags, edge_since, head, place,
                )  # fmt: skip
                begins = (after & ~word) | moved
                while begins != ZERO:
                    starts[lowest_bit(begins)] = end
                    begins &= begins - ONE
                word = after
        if written + MOST_AT_ONCE > np.uint64(len(output)):
            return False
        written = _close(
            output, written, word, starts, key, NEVER, edge, lane, tags, edge_since, head, last
        )
        progress[0], progress[1] = np.int64(key) + 1, np.int64(written)
    return True


def _list_signals(
    machine: LaneMachine, log: KeyLog, base: int, edge: int, output: Matrix, progress: Integers
) -> bool:
    """Write the signals of all keys in the window; false if there is no room."""
    lane, memo, rows = machine.lane, machine.memo, log.rows
    places, states = log.places, log.states
    for key in range(np.uint64(progress[0]), np.uint64(len(places))):
        written = np.uint64(progress[1])
        first = np.uint64(places[key, _FIRST])
        place, last = first + np.uint64(places[key, _HEAD]), first + np.uint64(places[key, _SIZE])
        state = states[key, ZERO]
        while place < last:
            time = time_at(rows, place)
            place, fired = read_point(rows, place, last, machine.fired_words)
            line = line_of_point(rows, machine, state, fired, states[key, ONE])
            if line == NO_LINE:
                progress[2] = 1
                return False
            state = state_at(rows, place - ONE)
            signals = memo[line + SIGNALS] & lane[_REPORTED_SIGNALS]
            moment = np.int64(time) + base
            if written + MOST_AT_ONCE > np.uint64(len(output)):
                return False
            while signals != ZERO and moment > edge:
                bit = lowest_bit(signals)
                signals &= signals - ONE
                output[written, _CODE], output[written, _KEY] = np.int64(bit), np.int64(key)
                output[written, _START], output[written, _END] = moment, 0
                written += ONE
        progress[0], progress[1] = np.int64(key) + 1, np.int64(written)
    return True


INTERVAL_LISTS = {
    kind: kernel(
        f"{LANE_MACHINE} {log_words(*kind_words(*kind))} integer integer writable-integers "
        "writable-matrix writable-integers",
        "boolean", counted=LOG_ROWS,
    )(_list_intervals)
    for kind in LOG_KINDS
}  # fmt: skip
"""By whether rows are wide, and whether the lane has registers."""

SIGNAL_LISTS = {
    kind: kernel(
        f"{LANE_MACHINE} {log_words(*kind_words(*kind))} integer integer writable-matrix "
        "writable-integers",
        "boolean", counted=LOG_ROWS,
    )(_list_signals)
    for kind in LOG_KINDS
}  # fmt: skip
"""By whether rows are wide, and whether the lane has registers."""
