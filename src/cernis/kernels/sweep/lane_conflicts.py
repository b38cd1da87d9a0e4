"""How often two values of one fluent are initiated at one point of the window."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, SmallIntegers, WordMatrix, Words
from cernis.kernels.compile import kernel
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_memo import KEY
from cernis.kernels.sweep.lane_rows import state_at, time_at
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point, read_point
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time

_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)
_LOWER, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(8)


def _count_conflicts(
    lane: Words, state_words: Words, state_ids: SmallIntegers, fired_words: Words,
    fired_ids: SmallIntegers, counts: Integers, memo: Words, rows: Words, places: Matrix,
    states: WordMatrix, base: int, edge: int,
) -> Time:  # fmt: skip
    """The conflicts of all keys after the edge; -1 if ids are used up."""
    total = np.int64(0)
    for key in range(np.uint64(len(places))):
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
                return np.int64(-1)
            state = state_at(rows, place - ONE)
            if np.int64(time) + base > edge:
                total += np.int64((memo[line + KEY] & _LOWER) >> _SHIFT)
    return total


def _words(rows: str) -> str:
    return (
        "words writable-words writable-small writable-words writable-small "
        f"writable-integers writable-words {rows} matrix word-matrix integer integer"
    )


count_conflicts_narrow = kernel(_words("writable-words"), "integer", counted=(7,))(_count_conflicts)
count_conflicts_wide = kernel(_words("writable-word-matrix"), "integer", counted=(7,))(
    _count_conflicts
)
