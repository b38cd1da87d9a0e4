"""What the walk tells of a key: intervals and signals that have come or gone.

Where old rows are walked again there are two histories, the old one and the new one. An interval
ends in both at the same point or is not the same, so equal ones are left out where they end.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Tags, Words
from cernis.kernels.compile import part
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.lane_arrays import (
    EDGE_STATE,
    IS_GONE,
    IS_NEW,
    IS_SIGNAL,
    NEW_LINE,
    NEW_VALUES,
    OLD_LINE,
    OLD_VALUES,
    UNKNOWN,
    KeyLog,
)
from cernis.kernels.sweep.lane_rows import state_at, state_word, time_at
from cernis.kernels.sweep.registers.register_points import (
    differing_bits,
    is_edge_value,
    is_value_of,
    moved_at,
    put_value,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word, lowest_bit


@part
def emit(
    output: Matrix, written: Word, code: Time, key: Word, start: Time,
    end: Time,
) -> Word:  # fmt: skip
    """Write a row of output; gives how many there are now."""
    output[written, np.uint64(0)] = code
    output[written, np.uint64(1)] = np.int64(key)
    output[written, np.uint64(2)] = start
    output[written, np.uint64(3)] = end
    return written + ONE


@part
def emit_signals(
    output: Matrix, written: Word, signals: Word, code: Time, key: Word,
    time: Time,
) -> Word:  # fmt: skip
    """Write signals of a point."""
    while signals != ZERO:
        bit = np.int64(lowest_bit(signals))
        written = emit(output, written, code + IS_SIGNAL + bit, key, time, np.int64(0))
        signals &= signals - ONE
    return written


@part
def start_before(
    log: KeyLog, lane: Words, state_words: Words, head: Word, place: Word, bit: Word,
    key: Word, base: Time, tick: Time,
) -> Time:  # fmt: skip
    """Since when a bit has held that holds before a row, of the value that it has there."""
    rows, begin = log.rows, place
    while place > head:
        before = state_at(rows, place - ONE)
        if not (state_word(rows, state_words, before) >> bit) & ONE or not is_value_of(
            lane, log.tags, place - ONE, begin - ONE, bit
        ):
            return np.int64(time_at(rows, place)) + base + tick
        place -= ONE
    is_held = (state_word(rows, state_words, log.states[key, EDGE_STATE]) >> bit) & ONE
    if is_held and begin > head:
        is_held = is_edge_value(lane, log.tags, begin - ONE, log.edge_since, key, bit)
    if is_held:
        return log.edge_since[key, np.uint64(log.slots[bit])]
    return np.int64(time_at(rows, head)) + base + tick


@part
def compare_edges(
    log: KeyLog, lane: Words, state_words: Words, old: Word, old_after: Word, old_moved: Word,
    new: Word, new_after: Word, new_moved: Word, reported: Word, starts: Matrix, head: Word,
    begin: Word, key: Word, moment: Time, base: Time, tick: Time,
    output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Tell what ends at a point in one history and not in the other, or with another start.

    A start is `UNKNOWN` if it lies before the row `begin`, where both histories are the same. A bit
    that has moved stands for another value from this point on.
    """
    old_begun = ((old_after & ~old) | old_moved) & reported
    new_begun = ((new_after & ~new) | new_moved) & reported
    old_ended = ((old & ~old_after) | old_moved) & reported
    new_ended = ((new & ~new_after) | new_moved) & reported
    differing = differing_bits(lane, log.tags, starts)
    ended = old_ended | new_ended
    while ended != ZERO:
        bit = lowest_bit(ended)
        ended &= ended - ONE
        is_old, is_new = (old_ended >> bit) & ONE, (new_ended >> bit) & ONE
        has_same_start = starts[OLD_LINE, bit] == starts[NEW_LINE, bit]
        if not (is_old and is_new and has_same_start and not (differing >> bit) & ONE):
            if (is_old and starts[OLD_LINE, bit] == UNKNOWN) or (
                is_new and starts[NEW_LINE, bit] == UNKNOWN
            ):
                start = start_before(log, lane, state_words, head, begin, bit, key, base, tick)
            else:
                start = UNKNOWN
            if is_old:
                from_then = start if starts[OLD_LINE, bit] == UNKNOWN else starts[OLD_LINE, bit]
                code = np.int64(bit) + IS_GONE
                put_value(output, written, lane, log.tags, bit, starts, OLD_VALUES)
                written = emit(output, written, code, key, from_then, moment)
            if is_new:
                from_then = start if starts[NEW_LINE, bit] == UNKNOWN else starts[NEW_LINE, bit]
                put_value(output, written, lane, log.tags, bit, starts, NEW_VALUES)
                written = emit(output, written, np.int64(bit), key, from_then, moment)
    while old_begun != ZERO:
        starts[OLD_LINE, lowest_bit(old_begun)] = moment
        old_begun &= old_begun - ONE
    while new_begun != ZERO:
        starts[NEW_LINE, lowest_bit(new_begun)] = moment
        new_begun &= new_begun - ONE
    return written


@part
def torn_bits(word: Word, starts: Matrix) -> Word:
    """Of the bits that hold in both histories, those that have not held since the same point."""
    torn = ZERO
    while word != ZERO:
        bit = lowest_bit(word)
        word &= word - ONE
        if starts[OLD_LINE, bit] != starts[NEW_LINE, bit]:
            torn |= ONE << bit
        else:
            starts[OLD_LINE, bit], starts[NEW_LINE, bit] = UNKNOWN, UNKNOWN
    return torn


@part
def settle_starts(
    log: KeyLog, lane: Words, state_words: Words, bits: Word, starts: Matrix, head: Word,
    begin: Word, key: Word, base: Time, tick: Time,
) -> None:  # fmt: skip
    """Find the starts of bits that are known only to lie before the row `begin`."""
    while bits != ZERO:
        bit = lowest_bit(bits)
        bits &= bits - ONE
        if starts[OLD_LINE, bit] == UNKNOWN or starts[NEW_LINE, bit] == UNKNOWN:
            start = start_before(log, lane, state_words, head, begin, bit, key, base, tick)
            if starts[OLD_LINE, bit] == UNKNOWN:
                starts[OLD_LINE, bit] = start
            if starts[NEW_LINE, bit] == UNKNOWN:
                starts[NEW_LINE, bit] = start


@part
def close_torn(
    rows: Words, tags: Tags, lane: Words, state_words: Words, first: Word, stop: Word, torn: Word,
    starts: Matrix, key: Word, base: Time, tick: Time, output: Matrix,
    written: Word,
) -> tuple[Word, Word]:  # fmt: skip
    """Tell of intervals with two starts that end in rows which stand; gives those that do not."""
    place = first
    while torn != ZERO and place < stop:
        ended = torn & ~state_word(rows, state_words, state_at(rows, place))
        ended |= moved_at(lane, tags, place, torn, starts)
        moment = np.int64(time_at(rows, place)) + base + tick
        torn &= ~ended
        while ended != ZERO:
            bit = lowest_bit(ended)
            ended &= ended - ONE
            code = np.int64(bit)
            put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
            written = emit(output, written, code + IS_GONE, key, starts[OLD_LINE, bit], moment)
            put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
            written = emit(output, written, code, key, starts[NEW_LINE, bit], moment)
            starts[OLD_LINE, bit], starts[NEW_LINE, bit] = UNKNOWN, UNKNOWN
        place += ONE
    return torn, written


@part
def forget_starts(starts: Matrix, torn: Word, reported: Word) -> None:
    """Bits that hold in both histories since the same point need no start, nor do others."""
    bits = reported & ~torn
    while bits != ZERO:
        bit = lowest_bit(bits)
        bits &= bits - ONE
        starts[OLD_LINE, bit], starts[NEW_LINE, bit] = UNKNOWN, UNKNOWN


@part
def after_old_rows(
    log: KeyLog, lane: Words, state_words: Words, old_word: Word, word: Word,
    reported: Word, starts: Matrix, head: Word, begin: Word, key: Word,
    base: Time, tick: Time, output: Matrix, written: Word,
) -> tuple[Word, Word]:  # fmt: skip
    """Tell of open intervals that have gone; gives the bits that hold as they did.

    Afterwards the start of every bit that holds is known.
    """
    bits, same = (old_word | word) & reported, ZERO
    differing = differing_bits(lane, log.tags, starts)
    while bits != ZERO:
        bit = lowest_bit(bits)
        bits &= bits - ONE
        slot = np.uint64(log.slots[bit])
        is_old, is_new = (old_word >> bit) & ONE, (word >> bit) & ONE
        start = starts[NEW_LINE, bit]
        if is_new and start == UNKNOWN:
            if is_old and starts[OLD_LINE, bit] == UNKNOWN:
                start = log.since[key, slot]
            else:
                start = start_before(log, lane, state_words, head, begin, bit, key, base, tick)
        starts[NEW_LINE, bit] = start
        if is_old:
            if is_new and start == log.since[key, slot] and not (differing >> bit) & ONE:
                same |= ONE << bit
            else:
                code = np.int64(bit) + IS_GONE
                put_value(output, written, lane, log.tags, bit, starts, OLD_VALUES)
                written = emit(output, written, code, key, log.since[key, slot], NEVER)
    return same, written


@part
def tell_torn(
    tags: Tags, lane: Words, torn: Word, starts: Matrix, key: Word, is_open: bool, output: Matrix,
    written: Word,
) -> Word:  # fmt: skip
    """Tell of open intervals with two starts: the old one has gone, the new one has come."""
    while torn != ZERO:
        bit = lowest_bit(torn)
        torn &= torn - ONE
        code = np.int64(bit)
        put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
        written = emit(output, written, code + IS_GONE, key, starts[OLD_LINE, bit], NEVER)
        if is_open:
            put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
            written = emit(output, written, code, key, starts[NEW_LINE, bit], NEVER)
    return written


@part
def tell_cut(
    log: KeyLog, key: Word, begins: Word, cut: Word, moment: Time, mark: Word, output: Matrix,
    written: Word,
) -> Word:  # fmt: skip
    """Tell what a change of groundings makes of determined pairs from the edge on.

    What they no longer allow ends after the edge, as far as it stands; what they allow now begins
    there.
    """
    while cut != ZERO:
        bit = lowest_bit(cut)
        cut &= cut - ONE
        start = log.edge_since[key, np.uint64(log.slots[bit])]
        if start < moment and not mark & IS_NEW:
            written = emit(output, written, np.int64(bit), key, start, moment)
    while begins != ZERO:
        bit = lowest_bit(begins)
        begins &= begins - ONE
        log.edge_since[key, np.uint64(log.slots[bit])] = moment
    return written


@part
def tell_ended(log: KeyLog, key: Word, ended: Word, output: Matrix, written: Word) -> Word:
    """Tell of open intervals that have gone."""
    while ended != ZERO:
        bit = lowest_bit(ended)
        ended &= ended - ONE
        since = log.since[key, np.uint64(log.slots[bit])]
        written = emit(output, written, np.int64(bit) + IS_GONE, key, since, NEVER)
    return written


@part
def set_starts(starts: Matrix, bits: Word, moment: Time) -> None:
    """Note that some bits begin at a point."""
    while bits != ZERO:
        starts[NEW_LINE, lowest_bit(bits)] = moment
        bits &= bits - ONE


@part
def known_starts(since: Matrix, slots: Integers, key: Word, bits: Word, starts: Matrix) -> None:
    """Take over the starts of bits that hold as they did."""
    while bits != ZERO:
        bit = lowest_bit(bits)
        bits &= bits - ONE
        starts[NEW_LINE, bit] = since[key, np.uint64(slots[bit])]


@part
def write_starts(since: Matrix, slots: Integers, key: Word, bits: Word, starts: Matrix) -> None:
    """Keep the starts of bits that hold at the end."""
    while bits != ZERO:
        bit = lowest_bit(bits)
        bits &= bits - ONE
        since[key, np.uint64(slots[bit])] = starts[NEW_LINE, bit]
