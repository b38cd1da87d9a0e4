"""The walk: the rows of keys in time, from the first change on, up to the query.

For each key that is visited: rows up to the edge are forgotten; its changes are sorted; the walk
resumes at the first of them, with the state and the timers before it. It goes over the old rows and
the changes, and writes a new tail. Where state and timers agree with those of the old rows, what
follows stands, up to the next change. After the last old row the walk goes on to the query, through
changes and what is due. From scratch is the same, at the head of an empty log.

An effect that takes place is a row too, with a fired word of its own, so that a point is all its
rows and the state after it; effects among the old rows are not input, since the walk finds them
itself. When a delay was armed is found by going back to the row that armed it, or it is known at
the edge.

The walk writes what changes: intervals that have come and gone, signals that have come and gone. An
interval ends in both histories at the same point or is not the same, so equal ones are left out
where they end. A key is written when it is done: if an array is too small, nothing of the key has
changed, and the walk is called again from this key on with a larger one.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.key_calendar import CALENDAR, NEVER, Calendar, set_due
from cernis.kernels.sweep.keyed_log import AS_THEY_ARE, IN_SPARE, give_back, splice
from cernis.kernels.sweep.lane_arrays import (
    ALLOWED,
    ALLOWED_NOW,
    AT_ARMED_BITS,
    AT_CAPACITY,
    AT_DELAY_COUNT,
    AT_FIRST,
    AT_HEAD,
    AT_REPORTED,
    AT_SIZE,
    AT_TICK,
    CONFLICTS,
    DONE,
    EDGE_STATE,
    FIRST_NOW,
    IS_BEGUN_AGAIN,
    IS_CHANGED,
    IS_NEW,
    LANE_MACHINE,
    NEEDS_IDS,
    NEEDS_OUTPUT,
    NEEDS_ROWS,
    NEEDS_TAIL,
    NEW_LINE,
    NEW_VALUES,
    NO_TIME,
    OUTPUT_AT_ONCE,
    ROOM,
    UNMATCHED,
    VISIT,
    WALKED,
    WINDOW_TIMES,
    WRITTEN,
    KeyChanges,
    KeyLog,
    LaneMachine,
    Scratch,
    WindowTimes,
    change_words,
    log_words,
    scratch_words,
)
from cernis.kernels.sweep.lane_memo import judge_memory
from cernis.kernels.sweep.lane_output import (
    after_old_rows,
    close_torn,
    emit,
    forget_starts,
    known_starts,
    set_starts,
    settle_starts,
    tell_cut,
    tell_ended,
    tell_torn,
    torn_bits,
    write_starts,
)
from cernis.kernels.sweep.lane_points import sorted_news, walk_on, walk_over
from cernis.kernels.sweep.lane_rows import copy_rows, first_from, state_at, state_word, time_at
from cernis.kernels.sweep.lane_timers import copy_arms, find_arms
from cernis.kernels.sweep.registers.register_points import (
    forget_values,
    has_registers,
    load_values,
    moved_after,
    put_value,
)
from cernis.kernels.sweep.transition import derived_again
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word, lowest_bit
from cernis.kernels.sweep.word_ids import NO_ID, state_id


@part
def _forget(
    machine: LaneMachine, log: KeyLog, arms: Matrix, key: Word, edge: Time, base: Time
) -> bool:
    """Move the head of a key over the rows up to the edge, and note what is known there."""
    rows, lane, words = log.rows, machine.lane, machine.state_words
    first = np.uint64(log.places[key, AT_FIRST])
    head = first + np.uint64(log.places[key, AT_HEAD])
    stop, last = head, first + np.uint64(log.places[key, AT_SIZE])
    while stop < last and np.int64(time_at(rows, stop)) + base <= edge:
        stop += ONE
    if stop == head:
        return True
    state = log.states[key, EDGE_STATE]
    allowed = log.states[key, ALLOWED]
    if (state_word(rows, words, state_at(rows, stop - ONE)) & lane[AT_ARMED_BITS]) != ZERO:
        if not find_arms(machine, rows, head, stop, state, allowed, log.edge_arms, key, base, arms):
            return False
        for number in range(lane[AT_DELAY_COUNT]):
            log.edge_arms[key, number] = arms[NEW_LINE, number]
    before, tick = state_word(rows, words, state), np.int64(lane[AT_TICK])
    for place in range(head, stop):
        if state_at(rows, place) != state or has_registers(log.tags):
            state = state_at(rows, place)
            after = state_word(rows, words, state)
            moved = moved_after(lane, log.tags, log.edge_since, head, place, key, before & after)
            begins = ((after & ~before) | moved) & lane[AT_REPORTED]
            while begins != ZERO:
                slot = np.uint64(log.slots[lowest_bit(begins)])
                log.edge_since[key, slot] = np.int64(time_at(rows, place)) + base + tick
                begins &= begins - ONE
            before = after
    forget_values(lane, log.tags, stop, key, log.edge_since)
    log.states[key, EDGE_STATE] = state
    log.places[key, AT_HEAD] = np.int64(stop - first)
    return True


def _walk_visits(
    machine: LaneMachine, key_changes: KeyChanges, log: KeyLog, calendar: Calendar,
    scratch: Scratch, output: Matrix, window: WindowTimes, progress: Integers,
) -> int:  # fmt: skip
    """Walk the keys that are visited; gives how it ended."""
    lane, state_words, state_ids, _, _, counts, _, _ = machine
    rows, tags, places, states, edge_arms, edge_since, since, marks, slots = log
    visits, firsts, pending, pending_tags = key_changes
    first_news, news_tags, spare, _, tail, tail_tags, arms, starts = scratch
    dues = calendar.dues
    base, edge, query = (
        np.int64(window.base),
        np.int64(window.edge),
        np.int64(window.query),
    )
    reported, tick = lane[AT_REPORTED], np.int64(lane[AT_TICK])
    status = DONE
    until = np.uint64(max(query - base, np.int64(0)))
    for number in range(np.uint64(progress[VISIT]), np.uint64(len(visits))):
        key = np.uint64(visits[number])
        written = np.uint64(progress[WRITTEN])
        conflicts, unmatched, walked = progress[CONFLICTS], progress[UNMATCHED], progress[WALKED]
        low, high = np.uint64(firsts[number]), np.uint64(firsts[number + ONE])
        size, change_count = ZERO, high - low
        first = np.uint64(places[key, AT_FIRST])
        head, last = (
            first + np.uint64(places[key, AT_HEAD]),
            first + np.uint64(places[key, AT_SIZE]),
        )
        if change_count + (last - head) + np.uint64(8) > np.uint64(tail.shape[0]):
            progress[ROOM] = np.int64(change_count + (last - head)) + 8
            status = NEEDS_TAIL
            break
        if written + OUTPUT_AT_ONCE + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            status = NEEDS_OUTPUT
            break
        if head < last and np.int64(time_at(rows, head)) + base <= edge:
            if not _forget(machine, log, arms, key, edge, base):
                status = NEEDS_IDS
                break
            head = first + np.uint64(places[key, AT_HEAD])
        order = sorted_news(pending, pending_tags, low, high, scratch)
        news, own_tags = pending, pending_tags
        change, changes = low, high
        if order != AS_THEY_ARE:
            news = spare if order == IN_SPARE else first_news
            own_tags = news_tags
            change, changes = ZERO, high - low

        mark = marks[key]
        edge_state, old_allowed = states[key, EDGE_STATE], states[key, ALLOWED]
        allowed = states[key, ALLOWED_NOW]
        place = last
        if mark & (IS_CHANGED | IS_BEGUN_AGAIN):
            place = head
        elif change_count > ZERO:
            place = first_from(rows, head, last, time_at(news, change))
        old_state = state_at(rows, place - ONE) if place > head else edge_state
        state, new_edge, begins, cut = old_state, edge_state, ZERO, ZERO
        if mark & (IS_CHANGED | IS_BEGUN_AGAIN):
            held = state_word(rows, state_words, edge_state)
            state = states[key, FIRST_NOW] if mark & IS_BEGUN_AGAIN else held
            state = derived_again(lane, state, allowed)
            begins, cut = state & ~held & reported, held & ~state & reported
            if rows.ndim == 1:
                state = state_id(state, allowed, state_words, state_ids, counts)
                if state == NO_ID:
                    status = NEEDS_IDS
                    break
            new_edge = state
        word = state_word(rows, state_words, state)
        if word & lane[AT_ARMED_BITS] and not find_arms(
            machine, rows, head, place, edge_state, old_allowed, edge_arms, key, base, arms
        ):
            status = NEEDS_IDS
            break
        load_values(lane, tags, edge_since, head, place, key, starts)
        if begins | cut:
            written = tell_cut(log, key, begins, cut, edge + tick, mark, output, written)
        begin, segment = place, place
        is_settled, goes_on, same, known = False, True, ZERO, ZERO

        if place < last:
            forget_starts(starts, ZERO, reported)
            set_starts(starts, begins, edge + tick)
            copy_arms(arms)
            while place < last:
                segment = place
                change, place, size, state, old_state, written, agree, status = walk_over(
                    machine, log, scratch, news, own_tags, change, changes, place, last, head,
                    size, state, old_state, allowed, old_allowed, key, base, output, written,
                    progress,
                )  # fmt: skip
                if status != DONE or not agree:
                    break
                word = state_word(rows, state_words, state)
                torn = torn_bits(word & reported, starts)
                settle_starts(log, lane, state_words, torn, starts, head, segment, key, base, tick)
                stop = last
                if change < changes:
                    stop = first_from(rows, place, last, time_at(news, change))
                if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
                    status = NEEDS_OUTPUT
                    break
                torn, written = close_torn(
                    rows, tags, lane, state_words, place, stop, torn, starts, key, base, tick,
                    output, written,
                )  # fmt: skip
                forget_starts(starts, torn, reported)
                if change >= changes:
                    is_settled, known = True, torn
                    break
                if stop > place:
                    copy_rows(rows, tags, place, stop, tail, tail_tags, size)
                    size += stop - place
                    place = stop
                    state = state_at(rows, place - ONE)
                    old_state = state
                    load_values(lane, tags, edge_since, head, place, key, starts)
                word = state_word(rows, state_words, state)
                if word & lane[AT_ARMED_BITS]:
                    if not find_arms(
                        machine, rows, head, place, edge_state, old_allowed, edge_arms, key,
                        base, arms,
                    ):  # fmt: skip
                        status = NEEDS_IDS
                        break
                    copy_arms(arms)
                segment = place
            if status == DONE and written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
                status = NEEDS_OUTPUT
            if status == DONE and is_settled:
                goes_on = dues[key] <= query
                written = tell_torn(tags, lane, known, starts, key, not goes_on, output, written)
                if goes_on:
                    copy_rows(rows, tags, place, last, tail, tail_tags, size)
                    size += last - place
                    if last > place:
                        state = state_at(rows, last - ONE)
                        load_values(lane, tags, edge_since, head, last, key, starts)
                    place = last
                    word = state_word(rows, state_words, state)
                    if not find_arms(
                        machine, rows, head, last, edge_state, old_allowed, edge_arms, key,
                        base, arms,
                    ):  # fmt: skip
                        status = NEEDS_IDS
                    same = word & reported & ~known
                    known_starts(since, slots, key, same, starts)
            elif status == DONE:
                word = state_word(rows, state_words, state)
                old_word = state_word(rows, state_words, old_state)
                same, written = after_old_rows(
                    log, lane, state_words, old_word, word, reported, starts, head, segment, key,
                    base, tick, output, written,
                )  # fmt: skip
        else:
            known_starts(since, slots, key, word & reported, starts)
            set_starts(starts, begins, edge + tick)
            if not mark & IS_NEW:
                same = word & reported & ~begins
                written = tell_ended(log, key, cut, output, written)

        if status == DONE and goes_on:
            size, state, same, written, due, status = walk_on(
                machine, scratch, news, own_tags, change, changes, size, state, allowed, same,
                key, base, until, output, written, progress,
            )  # fmt: skip
            if status == DONE and written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
                status = NEEDS_OUTPUT
            if status == DONE:
                known = state_word(rows, state_words, state) & reported
                fresh = known & ~same
                while fresh != ZERO:
                    bit = lowest_bit(fresh)
                    fresh &= fresh - ONE
                    put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
                    written = emit(
                        output, written, np.int64(bit), key, starts[NEW_LINE, bit], NEVER
                    )
        if status == DONE and not splice(
            rows, tags, places, counts, key, begin - first, place - first, tail, tail_tags, size
        ):
            status = NEEDS_ROWS
        if status != DONE:
            if status == NEEDS_TAIL:
                progress[ROOM] = 2 * np.int64(tail.shape[0])
            progress[CONFLICTS], progress[UNMATCHED] = conflicts, unmatched
            progress[WALKED] = walked
            break
        write_starts(since, slots, key, known, starts)
        if goes_on:
            moment = NEVER if due == NO_TIME else np.int64(due) + base
            set_due(key, moment, calendar)
        states[key, EDGE_STATE], states[key, ALLOWED] = new_edge, allowed
        marks[key] = 0
        if places[key, AT_HEAD] == places[key, AT_SIZE] and places[key, AT_CAPACITY] > 0:
            give_back(
                rows, counts, np.uint64(places[key, AT_FIRST]), np.uint64(places[key, AT_CAPACITY])
            )
            for column in range(4):
                places[key, np.uint64(column)] = 0
        progress[WRITTEN] = np.int64(written)
        progress[VISIT] = np.int64(number) + 1
        judge_memory(counts, progress[WALKED] - walked)
    return status


def _forget_keys(machine: LaneMachine, log: KeyLog, arms: Matrix, window: WindowTimes) -> bool:
    """Forget the rows of all keys up to the edge; false if ids are used up."""
    for key in range(np.uint64(len(log.places))):
        if not _forget(machine, log, arms, key, np.int64(window.edge), np.int64(window.base)):
            return False
    return True


_CHANGES = (8, 10)
_PLACES = (10,)
"""The fields with what there is to do: keys and their changes, or the places of keys."""


def _signatures(is_wide: bool, has_values: bool) -> tuple[str, str]:
    """The words of walking and of forgetting: what rows are, and what stands beside them."""
    rows = "writable-word-matrix" if is_wide else "writable-words"
    beside = "writable-matrix" if has_values else "writable-tags"
    log = log_words(rows, beside)
    walking = (
        f"{LANE_MACHINE} {change_words(rows, beside)} {log} {CALENDAR} "
        f"{scratch_words(rows, beside)} writable-matrix {WINDOW_TIMES} writable-integers"
    )
    return walking, f"{LANE_MACHINE} {log} writable-matrix {WINDOW_TIMES}"


_KINDS = {(is_wide, has_values): _signatures(is_wide, has_values)
          for is_wide in (False, True) for has_values in (False, True)}  # fmt: skip

WALKS = {
    kind: kernel(walking, "integer", counted=_CHANGES)(_walk_visits)
    for kind, (walking, _) in _KINDS.items()
}
"""By whether rows are wide, and whether the lane has registers."""

FORGETTING = {
    kind: kernel(forgetting, "boolean", counted=_PLACES)(_forget_keys)
    for kind, (_, forgetting) in _KINDS.items()
}
