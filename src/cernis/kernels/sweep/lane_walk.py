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

from cernis.kernels.array_types import Integers, Matrix, Tags, Words
from cernis.kernels.compile import body, fetch_line, kernel, part
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
    HAS_CONFLICTS,
    IS_BEGUN_AGAIN,
    IS_CHANGED,
    IS_NEW,
    LANE_MACHINE,
    LOG_KINDS,
    LOG_ROWS,
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
    KeyVisit,
    LaneMachine,
    Scratch,
    WindowTimes,
    change_words,
    kind_words,
    log_words,
    scratch_words,
)
from cernis.kernels.sweep.lane_memo import judge_memory
from cernis.kernels.sweep.lane_output import (
    emit,
    known_starts,
    set_starts,
    tell_cut,
    tell_ended,
    write_starts,
)
from cernis.kernels.sweep.lane_points import sorted_news, walk_on
from cernis.kernels.sweep.lane_revision import arms_before, revise_rows
from cernis.kernels.sweep.lane_rows import first_from, state_at, state_word, time_at
from cernis.kernels.sweep.lane_timers import find_arms
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


@body
def _begin_visit(
    machine: LaneMachine, log: KeyLog, visit: KeyVisit, mark: Word, place: Word
) -> tuple[Word, Word, Word, Word, Word]:
    """The state before a row, which other groundings or initial pairs may change at the edge.

    Gives it as it was and as it is, the state at the edge, and the bits that begin and that end
    there; the state is `NO_ID` if ids are used up.
    """
    rows, lane, state_words = log.rows, machine.lane, machine.state_words
    old_state = state_at(rows, place - ONE) if place > visit.head else visit.edge_state
    state, new_edge, begins, cut = old_state, visit.edge_state, ZERO, ZERO
    if mark & (IS_CHANGED | IS_BEGUN_AGAIN):
        held = state_word(rows, state_words, visit.edge_state)
        state = log.states[visit.key, FIRST_NOW] if mark & IS_BEGUN_AGAIN else held
        state = derived_again(lane, state, visit.allowed)
        begins, cut = state & ~held & visit.reported, held & ~state & visit.reported
        if rows.ndim == 1:
            state = state_id(state, visit.allowed, state_words, machine.state_ids, machine.counts)
        new_edge = state
    return old_state, state, new_edge, begins, cut


@body
def _tell_new(
    machine: LaneMachine, log: KeyLog, visit: KeyVisit, fresh: Word, starts: Matrix,
    output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Tell of open intervals that have come."""
    while fresh != ZERO:
        bit = lowest_bit(fresh)
        fresh &= fresh - ONE
        put_value(output, written, machine.lane, log.tags, bit, starts, NEW_VALUES)
        written = emit(output, written, np.int64(bit), visit.key, starts[NEW_LINE, bit], NEVER)
    return written


@body
def _end_visit(log: KeyLog, visit: KeyVisit, new_edge: Word, counts: Integers) -> None:
    """Note what is known of a key that has been walked; one without rows gives up its place."""
    key, places = visit.key, log.places
    log.states[key, EDGE_STATE], log.states[key, ALLOWED] = new_edge, visit.allowed
    log.marks[key] &= HAS_CONFLICTS
    if places[key, AT_HEAD] == places[key, AT_SIZE] and places[key, AT_CAPACITY] > 0:
        give_back(
            log.rows, counts, np.uint64(places[key, AT_FIRST]), np.uint64(places[key, AT_CAPACITY])
        )
        for column in range(4):
            places[key, np.uint64(column)] = 0


@body
def _walk_key(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, visit: KeyVisit, news: Words,
    news_tags: Tags, change: Word, changes: Word, calendar: Calendar, query: Time, output: Matrix,
    written: Word, progress: Integers,
) -> tuple[Word, Time]:  # fmt: skip
    """Walk a key from its first change on, up to the query; gives output rows and how it ended.

    Nothing of the key has changed unless it is done.
    """
    rows, tags, starts, key = log.rows, log.tags, scratch.starts, visit.key
    lane, state_words, mark = machine.lane, machine.state_words, log.marks[key]
    place = visit.last
    if mark & (IS_CHANGED | IS_BEGUN_AGAIN):
        place = visit.head
    elif change < changes:
        place = first_from(rows, visit.head, visit.last, time_at(news, change))
    old_state, state, new_edge, begins, cut = _begin_visit(machine, log, visit, mark, place)
    if rows.ndim == 1 and state == NO_ID:
        return written, NEEDS_IDS
    word = state_word(rows, state_words, state)
    if word & lane[AT_ARMED_BITS] and not arms_before(machine, log, scratch, visit, place):
        return written, NEEDS_IDS
    load_values(lane, tags, log.edge_since, visit.head, place, key, starts)
    if begins | cut:
        written = tell_cut(log, key, begins, cut, visit.begin, mark, output, written)
    begin, size, goes_on, same, known, status = place, ZERO, True, ZERO, ZERO, DONE
    if place < visit.last:
        change, place, size, state, same, known, goes_on, written, status = revise_rows(
            machine, log, scratch, visit, news, news_tags, change, changes, place, state,
            old_state, begins, calendar.dues[key] <= query, output, written, progress,
        )  # fmt: skip
    else:
        known_starts(log.since, log.slots, key, word & visit.reported, starts)
        set_starts(starts, begins, visit.begin)
        if not mark & IS_NEW:
            same = word & visit.reported & ~begins
            written = tell_ended(log, key, cut, output, written)
    due = NO_TIME
    if status == DONE and goes_on:
        size, state, same, written, due, status = walk_on(
            machine, scratch, news, news_tags, change, changes, size, state, visit.allowed, same,
            key, visit.base, np.uint64(max(query - visit.base, np.int64(0))), output, written,
            progress,
        )  # fmt: skip
        if status == DONE and written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            status = NEEDS_OUTPUT
        if status == DONE:
            known = state_word(rows, state_words, state) & visit.reported
            written = _tell_new(machine, log, visit, known & ~same, starts, output, written)
    first = np.uint64(log.places[key, AT_FIRST])
    if status == DONE and not splice(
        rows, tags, log.places, machine.counts, key, begin - first, place - first, scratch.tail,
        scratch.tail_tags, size,
    ):  # fmt: skip
        status = NEEDS_ROWS
    if status == DONE:
        write_starts(log.since, log.slots, key, known, starts)
        if goes_on:
            set_due(key, NEVER if due == NO_TIME else np.int64(due) + visit.base, calendar)
        _end_visit(log, visit, new_edge, machine.counts)
    return written, status


_FAR, _NEAR = np.uint64(8), np.uint64(4)
"""How many visits ahead memory is asked for: what is known of a key, and its rows."""
_LINE, _LINES = np.uint64(64), 4


@part
def _fetch_ahead(key_changes: KeyChanges, log: KeyLog, number: Word) -> None:
    """Have on its way what the next visits read first, so that they need not wait for it."""
    visits, places = key_changes.visits, log.places
    if number + _FAR < np.uint64(len(visits)):
        key = np.uint64(visits[number + _FAR])
        fetch_line(places, key, ZERO)
        fetch_line(log.states, key, ZERO)
        for line in range(_LINES):
            fetch_line(log.since, key, np.uint64(line) * _LINE)
            fetch_line(log.edge_since, key, np.uint64(line) * _LINE)
    if number + _NEAR < np.uint64(len(visits)):
        key = np.uint64(visits[number + _NEAR])
        first = np.uint64(places[key, AT_FIRST])
        fetch_line(log.rows, first + np.uint64(places[key, AT_HEAD]), ZERO)
        fetch_line(log.rows, first + np.uint64(places[key, AT_SIZE]), ZERO)


def _walk_visits(
    machine: LaneMachine, key_changes: KeyChanges, log: KeyLog, calendar: Calendar,
    scratch: Scratch, output: Matrix, window: WindowTimes, progress: Integers,
) -> int:  # fmt: skip
    """Walk the keys that are visited; gives how it ended."""
    lane, rows, pending = machine.lane, log.rows, key_changes.rows
    base, edge, query = np.int64(window.base), np.int64(window.edge), np.int64(window.query)
    reported, tick = lane[AT_REPORTED], np.int64(lane[AT_TICK])
    for number in range(np.uint64(progress[VISIT]), np.uint64(len(key_changes.visits))):
        _fetch_ahead(key_changes, log, number)
        key = np.uint64(key_changes.visits[number])
        written = np.uint64(progress[WRITTEN])
        conflicts, unmatched, walked = progress[CONFLICTS], progress[UNMATCHED], progress[WALKED]
        low = np.uint64(key_changes.firsts[number])
        high = np.uint64(key_changes.firsts[number + ONE])
        first = np.uint64(log.places[key, AT_FIRST])
        head = first + np.uint64(log.places[key, AT_HEAD])
        last = first + np.uint64(log.places[key, AT_SIZE])
        room = (high - low) + (last - head) + np.uint64(8)
        if room > np.uint64(scratch.tail.shape[0]):
            progress[ROOM] = np.int64(room)
            return NEEDS_TAIL
        if written + OUTPUT_AT_ONCE + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            return NEEDS_OUTPUT
        if head < last and np.int64(time_at(rows, head)) + base <= edge:
            if not _forget(machine, log, scratch.arms, key, edge, base):
                return NEEDS_IDS
            head = first + np.uint64(log.places[key, AT_HEAD])
        order = sorted_news(pending, key_changes.tags, low, high, scratch)
        news, news_tags, change, changes = pending, key_changes.tags, low, high
        if order != AS_THEY_ARE:
            news = scratch.spare if order == IN_SPARE else scratch.news
            news_tags = scratch.news_tags
            change, changes = ZERO, high - low
        visit = KeyVisit(
            key, head, last, log.states[key, EDGE_STATE], log.states[key, ALLOWED_NOW],
            log.states[key, ALLOWED], base, edge + tick, tick, reported,
        )  # fmt: skip
        written, status = _walk_key(
            machine, log, scratch, visit, news, news_tags, change, changes, calendar, query,
            output, written, progress,
        )  # fmt: skip
        if status != DONE:
            if status == NEEDS_TAIL:
                progress[ROOM] = 2 * np.int64(scratch.tail.shape[0])
            progress[CONFLICTS], progress[UNMATCHED] = conflicts, unmatched
            progress[WALKED] = walked
            return int(status)
        progress[WRITTEN] = np.int64(written)
        progress[VISIT] = np.int64(number) + 1
        if progress[CONFLICTS] != conflicts:
            log.marks[key] |= HAS_CONFLICTS
        judge_memory(machine.counts, progress[WALKED] - walked)
    return DONE


def _forget_keys(machine: LaneMachine, log: KeyLog, arms: Matrix, window: WindowTimes) -> bool:
    """Forget the rows of all keys up to the edge; false if ids are used up."""
    for key in range(np.uint64(len(log.places))):
        if not _forget(machine, log, arms, key, np.int64(window.edge), np.int64(window.base)):
            return False
    return True


_CHANGES = (8, 10)
"""The fields with what there is to do: keys and their changes."""


def _walk_words(rows: str, beside: str) -> str:
    return (
        f"{LANE_MACHINE} {change_words(rows, beside)} {log_words(rows, beside)} {CALENDAR} "
        f"{scratch_words(rows, beside)} writable-matrix {WINDOW_TIMES} writable-integers"
    )


WALKS = {
    kind: kernel(_walk_words(*kind_words(*kind)), "integer", counted=_CHANGES)(_walk_visits)
    for kind in LOG_KINDS
}
"""By whether rows are wide, and whether the lane has registers."""

FORGETTING = {
    kind: kernel(
        f"{LANE_MACHINE} {log_words(*kind_words(*kind))} writable-matrix {WINDOW_TIMES}",
        "boolean",
        counted=LOG_ROWS,
    )(_forget_keys)
    for kind in LOG_KINDS
}
"""Likewise."""
