"""Transitions of a lane, remembered: what a fired word makes of a state is worked out once.

The memory is a table of `MEMO_SIZE` lines; a line is overwritten when another transition falls on
it. Wide rows have words in place of ids, and nothing is remembered for them. A lane that misses in
more than a quarter of its points has too many transitions to remember, and gives it up.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Words
from cernis.kernels.compile import body, part
from cernis.kernels.sweep.lane_arrays import LaneMachine
from cernis.kernels.sweep.lane_tables import ARMED_BITS, KEPT_SIGNALS
from cernis.kernels.sweep.transition import commit
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word
from cernis.kernels.sweep.word_ids import NO_ID, fired_id, state_id

MEMO_BITS = 16
MEMO_SIZE = 1 << MEMO_BITS
LINE_SIZE = 4
KEY, NEXT, ARMS, SIGNALS = (np.uint64(place) for place in range(LINE_SIZE))
"""The places in a line. `KEY` has the ids of the state and of the fired word in its upper half,
and in the lower one whether delays change (bit 0), whether there are signals (bit 1), and from bit
8 on the number of conflicts. `NEXT` is the next state; `ARMS` are the armed bits of delays that are
armed now; `SIGNALS` are those that are reported or that registers wait for."""

POINTS, MISSES, IS_GIVEN_UP = 2, 3, 4
"""Places in the array of counts: points walked and transitions worked out since they were last
looked at, and whether remembering has been given up."""

HAS_TIMERS, HAS_SIGNALS = np.uint64(1), np.uint64(2)
_FEW = 20_000
_S2, _S8, _S16, _S32 = np.uint64(2), np.uint64(8), np.uint64(16), np.uint64(32)
_M32 = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(64 - MEMO_BITS)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ARMED_BITS, _KEPT = np.uint64(ARMED_BITS), np.uint64(KEPT_SIGNALS)


@part
def _work_out(
    lane: Words, fired: Word, old: Word, allowed: Word, memo: Words,
    line: Word,
) -> Word:  # fmt: skip
    """Write a transition into a line, all but its key; gives the next state word."""
    new, armed_now, signals, conflicts = commit(lane, fired, old, allowed)
    signals &= lane[_KEPT]
    flags = conflicts << _S8
    if (armed_now | ((old ^ new) & lane[_ARMED_BITS])) != ZERO:
        flags |= HAS_TIMERS
    if signals != ZERO:
        flags |= HAS_SIGNALS
    memo[line + KEY], memo[line + NEXT] = flags, new
    memo[line + ARMS], memo[line + SIGNALS] = armed_now, signals
    return new


@part
def _miss(machine: LaneMachine, state: Word, fired: Word, line: Word) -> Word:
    """Work out a transition of ids and remember it, unless remembering has been given up."""
    memo, words, counts = machine.memo, machine.state_words, machine.counts
    allowed = words[state + state + ONE]
    word = _work_out(
        machine.lane, machine.fired_words[fired], words[state + state], allowed, memo, line
    )
    memo[line + NEXT] = state_id(word, allowed, words, machine.state_ids, counts)
    counts[np.uint64(MISSES)] += 1
    if counts[np.uint64(IS_GIVEN_UP)] == 0:
        memo[line + KEY] |= (((state << _S16) | fired) + ONE) << _S32
    return line


@body
def transition_line(
    rows: Words, machine: LaneMachine, state: Word, fired: Word, allowed: Word
) -> Word:
    """The line of the transition from a state by a fired word, both as handles of `rows`."""
    if rows.ndim == 1:
        key = (state << _S16) | fired
        line = ((key * _FACTOR) >> _SHIFT) << _S2
        if (machine.memo[line + KEY] >> _S32) != key + ONE:
            line = _miss(machine, state, fired, line)
    else:
        line = ZERO
        _work_out(machine.lane, fired, state, allowed, machine.memo, line)
    return line


@part
def fired_handle(rows: Words, machine: LaneMachine, fired: Word) -> Word:
    """The handle of a fired word; `is_used_up` says whether there was none left."""
    if rows.ndim == 1:
        return fired_id(fired, machine.fired_words, machine.fired_ids, machine.counts)
    else:
        return fired


@part
def is_used_up(rows: Words, handle: Word) -> bool:
    """Does a handle stand for no word, as ids are used up?"""
    return bool(rows.ndim == 1 and handle == NO_ID)


@part
def judge_memory(counts: Integers, points: Time) -> None:
    """Give up remembering if more than a quarter of many points were not remembered."""
    counts[np.uint64(POINTS)] += points
    if counts[np.uint64(POINTS)] >= _FEW:
        if counts[np.uint64(MISSES)] * 4 > counts[np.uint64(POINTS)]:
            counts[np.uint64(IS_GIVEN_UP)] = 1
        counts[np.uint64(POINTS)], counts[np.uint64(MISSES)] = 0, 0
