"""When delays were armed and when they are due, as the walk goes over the rows of a key."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Matrix, Words
from cernis.kernels.compile import part
from cernis.kernels.sweep.lane_arrays import (
    AT_ARMED,
    AT_ARMED_BITS,
    AT_DELAY,
    AT_DELAY_COUNT,
    AT_DELAY_SIZE,
    AT_DELAYS,
    AT_DUE,
    NEW_LINE,
    NO_TIME,
    OLD_LINE,
    LaneMachine,
)
from cernis.kernels.sweep.lane_memo import ARMS
from cernis.kernels.sweep.lane_rows import fired_at, fired_word, state_at, state_word, time_at
from cernis.kernels.sweep.past_points import NO_LINE, line_of_point
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word


@part
def next_due(lane: Words, word: Word, arms: Matrix, line: Word, base: Time) -> Word:
    """When the first of the delays that are under way is due, since the base."""
    due = NO_TIME
    if (word & lane[AT_ARMED_BITS]) != ZERO:
        for number in range(lane[AT_DELAY_COUNT]):
            delay = AT_DELAYS + number * AT_DELAY_SIZE
            if (word >> lane[delay + AT_ARMED]) & ONE:
                time = np.uint64(arms[line, number] + np.int64(lane[delay + AT_DELAY]) - base)
                due = min(due, time)
    return due


@part
def due_effects(lane: Words, word: Word, arms: Matrix, time: Time) -> Word:
    """The due bits of what is due at a time."""
    effects = ZERO
    for number in range(lane[AT_DELAY_COUNT]):
        delay = AT_DELAYS + number * AT_DELAY_SIZE
        is_armed = (word >> lane[delay + AT_ARMED]) & ONE
        if is_armed and arms[NEW_LINE, number] + np.int64(lane[delay + AT_DELAY]) == time:
            effects |= ONE << lane[delay + AT_DUE]
    return effects


@part
def note_arms(lane: Words, armed_now: Word, arms: Matrix, line: Word, time: Time) -> None:
    """Note when delays were armed."""
    for number in range(lane[AT_DELAY_COUNT]):
        if (armed_now >> lane[AT_DELAYS + number * AT_DELAY_SIZE + AT_ARMED]) & ONE:
            arms[line, number] = time


@part
def timers_agree(lane: Words, word: Word, arms: Matrix) -> bool:
    """Were all delays under way armed at the same times in both histories?"""
    for number in range(lane[AT_DELAY_COUNT]):
        is_armed = (word >> lane[AT_DELAYS + number * AT_DELAY_SIZE + AT_ARMED]) & ONE
        if is_armed and arms[NEW_LINE, number] != arms[OLD_LINE, number]:
            return False
    return True


@part
def point_before(rows: Words, fired_words: Words, head: Word, place: Word) -> tuple[Word, Word]:
    """The first row of the last point before a place, and the fired word of this point."""
    time, fired = time_at(rows, place - ONE), ZERO
    while place > head and time_at(rows, place - ONE) == time:
        place -= ONE
        fired |= fired_word(rows, fired_words, fired_at(rows, place))
    return place, fired


@part
def find_arms(
    machine: LaneMachine, rows: Words, head: Word, place: Word, edge_state: Word,
    allowed: Word, edge_arms: Matrix, key: Word, base: Time, arms: Matrix,
) -> bool:  # fmt: skip
    """Find when the delays under way before a place were armed; false if ids are used up."""
    lane = machine.lane
    last = state_at(rows, place - ONE) if place > head else edge_state
    wanted = state_word(rows, machine.state_words, last) & lane[AT_ARMED_BITS]
    while wanted != ZERO and place > head:
        time = np.int64(time_at(rows, place - ONE)) + base
        place, fired = point_before(rows, machine.fired_words, head, place)
        before = state_at(rows, place - ONE) if place > head else edge_state
        line = line_of_point(rows, machine, before, fired, allowed)
        if line == NO_LINE:
            return False
        note_arms(lane, wanted & machine.memo[line + ARMS], arms, NEW_LINE, time)
        wanted &= ~machine.memo[line + ARMS]
    for number in range(lane[AT_DELAY_COUNT]):
        if (wanted >> lane[AT_DELAYS + number * AT_DELAY_SIZE + AT_ARMED]) & ONE:
            arms[NEW_LINE, number] = edge_arms[key, number]
    return True


@part
def copy_arms(arms: Matrix) -> None:
    """Let the old history have the timers of the new one."""
    for number in range(np.uint64(arms.shape[1])):
        arms[OLD_LINE, number] = arms[NEW_LINE, number]
