"""The delays of a lane that were under way in the window: when each was armed, and until when."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix
from cernis.kernels.compile import kernel
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_arrays import (
    LANE_MACHINE,
    LOG_KINDS,
    KeyLog,
    LaneMachine,
    kind_words,
    log_words,
)
from cernis.kernels.sweep.lane_memo import ARMS
from cernis.kernels.sweep.lane_rows import state_at, state_word, time_at
from cernis.kernels.sweep.lane_tables import ARMED, DELAY_COUNT, DELAY_SIZE, DELAYS_AT
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point, read_point
from cernis.kernels.sweep.word_bits import ONE, ZERO

MOST_AT_ONCE = np.uint64(64)
_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)
_DELAYS, _DELAY_COUNT, _DELAY_SIZE = (
    np.uint64(place) for place in (DELAYS_AT, DELAY_COUNT, DELAY_SIZE)
)
_ARMED = np.uint64(ARMED)
_NUMBER, _KEY, _START, _END = (np.uint64(column) for column in range(4))


def _list_arms(
    machine: LaneMachine, log: KeyLog, base: int, arms: Integers, output: Matrix,
    progress: Integers,
) -> bool:  # fmt: skip
    """Write number of the delay, key, when it was armed and until when; false without room.

    A delay is under way until its effect takes place, its source is broken, or it is armed again.
    Those that still are have the end `NEVER`.
    """
    lane, memo, state_words = machine.lane, machine.memo, machine.state_words
    rows, places, states = log.rows, log.places, log.states
    for key in range(np.uint64(progress[0]), np.uint64(len(places))):
        written = np.uint64(progress[1])
        first = np.uint64(places[key, _FIRST])
        place, last = first + np.uint64(places[key, _HEAD]), first + np.uint64(places[key, _SIZE])
        state = states[key, ZERO]
        word = state_word(rows, state_words, state)
        for number in range(lane[_DELAY_COUNT]):
            arms[number] = log.edge_arms[key, number]
        while place < last:
            time = time_at(rows, place)
            place, fired = read_point(rows, place, last, machine.fired_words)
            line = line_of_point(rows, machine, state, fired, states[key, ONE])
            if line == NO_LINE:
                progress[2] = 1
                return False
            armed_now = memo[line + ARMS]
            state = state_at(rows, place - ONE)
            after = state_word(rows, state_words, state)
            if written + MOST_AT_ONCE > np.uint64(len(output)):
                return False
            moment = np.int64(time) + base
            for number in range(lane[_DELAY_COUNT]):
                bit = ONE << lane[_DELAYS + number * _DELAY_SIZE + _ARMED]
                is_over = (after & bit) == ZERO or (armed_now & bit) != ZERO
                if (word & bit) != ZERO and is_over:
                    output[written, _NUMBER], output[written, _KEY] = number, np.int64(key)
                    output[written, _START], output[written, _END] = arms[number], moment
                    written += ONE
                if (armed_now & bit) != ZERO:
                    arms[number] = moment
            word = after
        if written + MOST_AT_ONCE > np.uint64(len(output)):
            return False
        for number in range(lane[_DELAY_COUNT]):
            if (word & (ONE << lane[_DELAYS + number * _DELAY_SIZE + _ARMED])) != ZERO:
                output[written, _NUMBER], output[written, _KEY] = number, np.int64(key)
                output[written, _START], output[written, _END] = arms[number], NEVER
                written += ONE
        progress[0], progress[1] = np.int64(key) + 1, np.int64(written)
    return True


ARM_LISTS = {
    kind: kernel(
        f"{LANE_MACHINE} {log_words(*kind_words(*kind))} integer writable-integers "
        "writable-matrix writable-integers",
        "boolean",
    )(_list_arms)
    for kind in LOG_KINDS
}
"""By whether rows are wide, and whether the lane has registers."""
