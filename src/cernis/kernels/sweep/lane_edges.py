"""What a lane tells: output of the walk by bit, and all that holds or happens in the window.

Rows of output have a code, a key and two times. The code is that of a bit, plus 64 for signals,
plus 128 for what has gone.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, SmallIntegers, WordMatrix, Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_memo import SIGNALS
from cernis.kernels.sweep.lane_rows import state_at, state_word, time_at
from cernis.kernels.sweep.lane_tables import REPORTED, TICK
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point, read_point
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word, lowest_bit

CODES = 256
MOST_AT_ONCE = np.uint64(64)
_REPORTED, _TICK = np.uint64(REPORTED), np.uint64(TICK)
_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)
_CODE, _KEY, _START, _END = (np.uint64(column) for column in range(4))


# -- by bit ----------------------------------------------------------------------------------


@kernel("matrix integer writable-integers " + "writable-integers " * 4, "nothing", counted=(3,))
def _group(
    output: Matrix, count: int, firsts: Integers, bits: Integers, keys: Integers,
    starts: Integers, ends: Integers,
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


def by_code(output: Matrix, count: int) -> tuple[Integers, list[Integers]]:
    """Rows of output in the order of their codes, each code's as they were written.

    Gives where the rows of each code end, and the columns bit, key, start and end.
    """
    stops = np.zeros(CODES + 1, np.int64)
    columns = [np.empty(count, np.int64) for _ in range(4)]
    _group(output, count, stops, *columns)
    return stops[:CODES], columns


def plain_by_code(output: Matrix, count: int) -> tuple[Integers, list[Integers]]:
    """The twin of `by_code`."""
    order = np.argsort(output[:count, 0], kind="stable")
    rows = output[:count][order]
    stops = np.cumsum(np.bincount(rows[:, 0], minlength=CODES))
    columns = [rows[:, 0] & 63, rows[:, 1], rows[:, 2], rows[:, 3]]
    return stops, [np.ascontiguousarray(column) for column in columns]


# -- the window ------------------------------------------------------------------------------


@part
def _close(
    output: Matrix, written: Word, ended: Word, starts: Integers, key: Word,
    end: Time, first_end: Time,
) -> Word:  # fmt: skip
    """Write the intervals that end at a time, if they reach the window."""
    while ended != ZERO and end > first_end:
        bit = lowest_bit(ended)
        ended &= ended - ONE
        output[written, _CODE], output[written, _KEY] = np.int64(bit), np.int64(key)
        output[written, _START], output[written, _END] = starts[bit], end
        written += ONE
    return written


def _list_intervals(
    lane: Words, state_words: Words, rows: Words, places: Matrix, states: WordMatrix,
    edge_since: Matrix, slots: Integers, base: int, edge: int, starts: Integers, output: Matrix,
    progress: Integers,
) -> bool:  # fmt: skip
    """Write the intervals of all keys that reach the window; false if there is no room.

    `progress` is the next key and the number of rows written.
    """
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
            if state_at(rows, place) != state:
                if written + MOST_AT_ONCE > np.uint64(len(output)):
                    return False
                state = state_at(rows, place)
                after = state_word(rows, state_words, state) & reported
                end = np.int64(time_at(rows, place)) + base + tick
                written = _close(output, written, word & ~after, starts, key, end, edge + tick)
                begins = after & ~word
                while begins != ZERO:
                    starts[lowest_bit(begins)] = end
                    begins &= begins - ONE
                word = after
        if written + MOST_AT_ONCE > np.uint64(len(output)):
            return False
        written = _close(output, written, word, starts, key, NEVER, edge)
        progress[0], progress[1] = np.int64(key) + 1, np.int64(written)
    return True


def _list_signals(
    lane: Words, state_words: Words, state_ids: SmallIntegers, fired_words: Words,
    fired_ids: SmallIntegers, counts: Integers, memo: Words, rows: Words, places: Matrix,
    states: WordMatrix, base: int, edge: int, output: Matrix, progress: Integers,
) -> bool:  # fmt: skip
    """Write the signals of all keys in the window; false if there is no room."""
    for key in range(np.uint64(progress[0]), np.uint64(len(places))):
        written = np.uint64(progress[1])
        first = np.uint64(places[key, _FIRST])
        place, last = first + np.uint64(places[key, _HEAD]), first + np.uint64(places[key, _SIZE])
        state = states[key, ZERO]
        while place < last:
            time = time_at(rows, place)
            place, fired = read_point(rows, place, last, fired_words)
            line = line_of_point(
                rows, lane, state_words, state_ids, fired_words, fired_ids, counts, memo, state,
                fired, states[key, ONE],
            )  # fmt: skip
            if line == NO_LINE:
                progress[2] = 1
                return False
            state = state_at(rows, place - ONE)
            signals = memo[line + SIGNALS]
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


def _interval_words(rows: str) -> str:
    return (
        f"words words {rows} matrix word-matrix matrix integers integer integer "
        "writable-integers writable-matrix writable-integers"
    )


def _signal_words(rows: str) -> str:
    return (
        "words writable-words writable-small writable-words writable-small "
        f"writable-integers writable-words {rows} matrix word-matrix integer integer "
        "writable-matrix writable-integers"
    )


list_intervals_narrow = kernel(_interval_words("writable-words"), "boolean", counted=(3,))(
    _list_intervals
)
list_intervals_wide = kernel(_interval_words("writable-word-matrix"), "boolean", counted=(3,))(
    _list_intervals
)
list_signals_narrow = kernel(_signal_words("writable-words"), "boolean", counted=(8,))(
    _list_signals
)
list_signals_wide = kernel(_signal_words("writable-word-matrix"), "boolean", counted=(8,))(
    _list_signals
)
