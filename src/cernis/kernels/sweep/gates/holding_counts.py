"""How many keys of a group hold a bit right before a point.

The keys of a group are a chain: `heads` has the first of each group, and `nexts` the one after each
key, or -1.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_arrays import (
    LANE_MACHINE,
    LOG_KINDS,
    KeyLog,
    LaneMachine,
    kind_words,
    log_words,
)
from cernis.kernels.sweep.lane_rows import state_at, state_word, time_at
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)
POINTS = (18,)
"""The field with the groups of points, where the kernel is called with a machine and a log."""


@kernel("integers integer writable-integers writable-integers", "nothing", counted=(0,))
def link_keys(groups: Integers, first: int, heads: Integers, nexts: Integers) -> None:
    """Put keys, numbered from `first` on, before the others of their groups."""
    for row in range(np.uint64(len(groups))):
        key, group = np.uint64(first) + row, np.uint64(groups[row])
        nexts[key] = heads[group]
        heads[group] = np.int64(key)


@part
def _word_before(log: KeyLog, state_words: Words, key: Word, moment: Time, base: Time) -> Word:
    """The state word of a key after its last row before a time; the log has no rows up to base."""
    rows, places = log.rows, log.places
    first = np.uint64(places[key, _FIRST])
    low, high = first + np.uint64(places[key, _HEAD]), first + np.uint64(places[key, _SIZE])
    head = low
    while low < high:
        middle = (low + high) >> ONE
        if np.int64(time_at(rows, middle)) + base < moment:
            low = middle + ONE
        else:
            high = middle
    state = state_at(rows, low - ONE) if low > head else log.states[key, ZERO]
    return state_word(rows, state_words, state)


def _count_holding(
    machine: LaneMachine, log: KeyLog, base: int, groups: Integers, times: Integers,
    heads: Integers, nexts: Integers, masks: Words, counts: Matrix,
) -> None:  # fmt: skip
    """For each point and mask: how many bits of the mask are held by keys of its group."""
    state_words = machine.state_words
    for point in range(np.uint64(len(groups))):
        key = heads[np.uint64(groups[point])]
        while key >= 0:
            word = _word_before(log, state_words, np.uint64(key), times[point], base)
            for number in range(np.uint64(len(masks))):
                held = word & masks[number]
                while held != ZERO:
                    counts[point, number] += 1
                    held &= held - ONE
            key = nexts[np.uint64(key)]


HOLDING_COUNTS = {
    kind: kernel(
        f"{LANE_MACHINE} {log_words(*kind_words(*kind))} integer integers integers integers "
        "integers words writable-matrix",
        "nothing", counted=POINTS,
    )(_count_holding)
    for kind in LOG_KINDS
}  # fmt: skip
"""By whether rows are wide, and whether the lane has registers."""
