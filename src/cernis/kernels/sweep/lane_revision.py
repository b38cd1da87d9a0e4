"""What a visit does with the old rows of a key: it walks over them as far as they change.

Between changes the histories may agree, and rows stand as they are. After the last change, what
follows stands for good, unless something is due by the query.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Tags, Words
from cernis.kernels.compile import body, part
from cernis.kernels.sweep.lane_arrays import (
    AT_ARMED_BITS,
    DONE,
    NEEDS_IDS,
    NEEDS_OUTPUT,
    OUTPUT_AT_ONCE,
    KeyLog,
    KeyVisit,
    LaneMachine,
    Scratch,
)
from cernis.kernels.sweep.lane_output import (
    after_old_rows,
    close_torn,
    forget_starts,
    known_starts,
    set_starts,
    settle_starts,
    tell_torn,
    torn_bits,
)
from cernis.kernels.sweep.lane_points import walk_over
from cernis.kernels.sweep.lane_rows import copy_rows, first_from, state_at, state_word, time_at
from cernis.kernels.sweep.lane_timers import copy_arms, find_arms
from cernis.kernels.sweep.registers.register_points import load_values
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word


@part
def arms_before(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, visit: KeyVisit, place: Word
) -> bool:
    """Find when the delays under way before a row were armed; false if ids are used up."""
    return find_arms(
        machine, log.rows, visit.head, place, visit.edge_state, visit.old_allowed, log.edge_arms,
        visit.key, visit.base, scratch.arms,
    )  # fmt: skip


@part
def _close_segment(
    machine: LaneMachine, log: KeyLog, visit: KeyVisit, state: Word, segment: Word, place: Word,
    stop: Word, starts: Matrix, output: Matrix, written: Word,
) -> tuple[Word, Word]:  # fmt: skip
    """Both histories agree: tell of intervals that begin differently and end in rows that stand.

    Gives the bits whose intervals begin differently and do not end there, and output rows.
    """
    lane, words = machine.lane, machine.state_words
    torn = torn_bits(state_word(log.rows, words, state) & visit.reported, starts)
    settle_starts(
        log, lane, words, torn, starts, visit.head, segment, visit.key, visit.base, visit.tick
    )
    torn, written = close_torn(
        log.rows, log.tags, lane, words, place, stop, torn, starts, visit.key, visit.base,
        visit.tick, output, written,
    )  # fmt: skip
    forget_starts(starts, torn, visit.reported)
    return torn, written


@part
def _pass_rows(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, visit: KeyVisit, place: Word, stop: Word,
    size: Word, state: Word,
) -> tuple[Word, Word]:  # fmt: skip
    """Keep rows that stand; gives the rows written, and the state after them."""
    copy_rows(log.rows, log.tags, place, stop, scratch.tail, scratch.tail_tags, size)
    if stop > place:
        state = state_at(log.rows, stop - ONE)
        load_values(
            machine.lane, log.tags, log.edge_since, visit.head, stop, visit.key, scratch.starts
        )
    return size + (stop - place), state


@body
def _walk_segments(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, visit: KeyVisit, news: Words,
    news_tags: Tags, change: Word, changes: Word, place: Word, state: Word, old_state: Word,
    output: Matrix, written: Word, progress: Integers,
) -> tuple[Word, Word, Word, Word, Word, Word, Word, bool, Word, Time]:  # fmt: skip
    """Walk from each change on until the histories agree, or to the last old row.

    Gives the next change, the next old row, where the last segment began, the rows written, both
    states, the bits whose intervals begin differently, whether all changes are in, output rows, and
    how it ended.
    """
    rows, lane, state_words = log.rows, machine.lane, machine.state_words
    size, torn, segment, is_settled, status = ZERO, ZERO, place, False, DONE
    while place < visit.last:
        segment = place
        change, place, size, state, old_state, written, agree, status = walk_over(
            machine, log, scratch, news, news_tags, change, changes, place, visit.last, visit.head,
            size, state, old_state, visit.allowed, visit.old_allowed, visit.key, visit.base,
            output, written, progress,
        )  # fmt: skip
        if status != DONE or not agree:
            break
        if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            status = NEEDS_OUTPUT
            break
        stop = visit.last
        if change < changes:
            stop = first_from(rows, place, stop, time_at(news, change))
        torn, written = _close_segment(
            machine, log, visit, state, segment, place, stop, scratch.starts, output, written
        )
        if change >= changes:
            is_settled = True
            break
        if stop > place:
            size, state = _pass_rows(machine, log, scratch, visit, place, stop, size, state)
            place, old_state = stop, state
        if state_word(rows, state_words, state) & lane[AT_ARMED_BITS]:
            if not arms_before(machine, log, scratch, visit, place):
                status = NEEDS_IDS
                break
            copy_arms(scratch.arms)
        segment = place
    if status == DONE and written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
        status = NEEDS_OUTPUT
    return change, place, segment, size, state, old_state, torn, is_settled, written, status


@body
def revise_rows(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, visit: KeyVisit, news: Words,
    news_tags: Tags, change: Word, changes: Word, place: Word, state: Word, old_state: Word,
    begins: Word, is_due: bool, output: Matrix, written: Word, progress: Integers,
) -> tuple[Word, Word, Word, Word, Word, Word, bool, Word, Time]:  # fmt: skip
    """Walk over the old rows of a key from a place on, as far as changes make a difference.

    `begins` are the bits that begin at the edge; `is_due` says whether something is due by the
    query. Gives the next change, the next old row, the rows written, the state, the bits that hold
    as they did, those whose start has changed, whether the walk goes on after the last row, output
    rows, and how it ended.
    """
    rows, state_words, starts = log.rows, machine.state_words, scratch.starts
    forget_starts(starts, ZERO, visit.reported)
    set_starts(starts, begins, visit.begin)
    copy_arms(scratch.arms)
    change, place, segment, size, state, old_state, torn, is_settled, written, status = (
        _walk_segments(
            machine, log, scratch, visit, news, news_tags, change, changes, place, state,
            old_state, output, written, progress,
        )
    )  # fmt: skip
    goes_on, same = True, ZERO
    if status == DONE and is_settled:
        goes_on = is_due
        written = tell_torn(
            log.tags, machine.lane, torn, starts, visit.key, not goes_on, output, written
        )
        if goes_on:
            size, state = _pass_rows(machine, log, scratch, visit, place, visit.last, size, state)
            place = visit.last
            if not arms_before(machine, log, scratch, visit, place):
                status = NEEDS_IDS
            same = state_word(rows, state_words, state) & visit.reported & ~torn
            known_starts(log.since, log.slots, visit.key, same, starts)
    elif status == DONE:
        same, written = after_old_rows(
            log, machine.lane, state_words, state_word(rows, state_words, old_state),
            state_word(rows, state_words, state), visit.reported, starts, visit.head, segment,
            visit.key, visit.base, visit.tick, output, written,
        )  # fmt: skip
    return change, place, size, state, same, torn, goes_on, written, status
