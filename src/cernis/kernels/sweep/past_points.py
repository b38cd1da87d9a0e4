"""Points that have been walked, read again: what fired at each, and the transition it made."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Words
from cernis.kernels.compile import part
from cernis.kernels.sweep.lane_arrays import LaneMachine
from cernis.kernels.sweep.lane_memo import fired_handle, is_used_up, transition_line
from cernis.kernels.sweep.lane_rows import fired_at, fired_word, time_at
from cernis.kernels.sweep.word_bits import ONE, ZERO, Word

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
    rows: Words, machine: LaneMachine, state: Word, fired: Word, allowed: Word
) -> Word:
    """The line of the transition from a state by a fired word; `NO_LINE` if ids are used up."""
    handle = fired_handle(rows, machine, fired)
    if is_used_up(rows, handle):
        return NO_LINE
    return transition_line(rows, machine, state, handle, allowed)
