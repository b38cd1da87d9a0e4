"""How often two values of one fluent are initiated at one point of the window."""

from __future__ import annotations

import numpy as np

from cernis.kernels.compile import kernel
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_arrays import (
    HAS_CONFLICTS,
    LANE_MACHINE,
    LOG_KINDS,
    LOG_ROWS,
    OTHER_MARKS,
    KeyLog,
    LaneMachine,
    kind_words,
    log_words,
)
from cernis.kernels.sweep.lane_memo import KEY
from cernis.kernels.sweep.lane_rows import state_at, time_at
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point, read_point
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time

_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)
_LOWER, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(8)


def _count_conflicts(machine: LaneMachine, log: KeyLog, base: int, edge: int) -> Time:
    """The conflicts of all keys after the edge; -1 if ids are used up.

    Only keys that may have some are looked at, and those that have none left lose their mark.
    """
    rows, places, states, memo = log.rows, log.places, log.states, machine.memo
    total = np.int64(0)
    for key in range(np.uint64(len(places))):
        if log.marks[key] & HAS_CONFLICTS == 0:
            continue
        count = np.int64(0)
        first = np.uint64(places[key, _FIRST])
        place, last = first + np.uint64(places[key, _HEAD]), first + np.uint64(places[key, _SIZE])
        state = states[key, ZERO]
        while place < last:
            time = time_at(rows, place)
            place, fired = read_point(rows, place, last, machine.fired_words)
            line = line_of_point(rows, machine, state, fired, states[key, ONE])
            if line == NO_LINE:
                return np.int64(-1)
            state = state_at(rows, place - ONE)
            if np.int64(time) + base > edge:
                count += np.int64((memo[line + KEY] & _LOWER) >> _SHIFT)
        if count == 0:
            log.marks[key] &= OTHER_MARKS
        total += count
    return total


CONFLICT_COUNTS = {
    kind: kernel(
        f"{LANE_MACHINE} {log_words(*kind_words(*kind))} integer integer", "integer",
        counted=LOG_ROWS,
    )(_count_conflicts)
    for kind in LOG_KINDS
}  # fmt: skip
"""By whether rows are wide, and whether the lane has registers."""
