"""Points that have been walked, read again: what fired at each, and the transition it made."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, SmallIntegers, Words
from cernis.kernels.compile import part
from cernis.kernels.sweep.lane_memo import transition_line
from cernis.kernels.sweep.lane_rows import fired_at, fired_word, time_at
from cernis.kernels.sweep.word_bits import ONE, ZERO, Word
from cernis.kernels.sweep.word_ids import NO_ID, fired_id

NO_LINE = np.uint64(2**64 - 1)
"""In place of a line, if ids are used up."""


@part
def read_point(rows: Words, place: Word, last: Word, fired_words: Words) -> tuple[Word, Word]:
    """The place after the rows of the point at a place, and all that fired there."""
    time, fired = time_at(rows, place), ZERO
    while place < last and time_at(rows, place) == time:
        fired |= fired_word(rows, fired_words, fired_at(rows, place))
        place += ONE
    return place, fired


@part
def line_of_point(
    rows: Words, lane: Words, state_words: Words, state_ids: SmallIntegers, fired_words: Words,
    fired_ids: SmallIntegers, counts: Integers, memo: Words, state: Word, fired: Word,
    allowed: Word,
) -> Word:  # fmt: skip
    """The line of the transition from a state by a fired word; `NO_LINE` if ids are used up."""
    handle = fired
    if rows.ndim == 1:
        handle = fired_id(fired, fired_words, fired_ids, counts)
        if handle == NO_ID:
            return NO_LINE
    return transition_line(
        rows, lane, state_words, state_ids, fired_words, counts, memo, state, handle, allowed
    )
