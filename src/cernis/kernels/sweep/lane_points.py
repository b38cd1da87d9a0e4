"""Points of a key, one after the other: over old rows, and on after the last of them."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Tags, Words
from cernis.kernels.compile import body, part
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.keyed_log import (
    AS_THEY_ARE,
    IN_NEWS,
    IN_SPARE,
    gather_payloads,
    gather_rows,
    mark_numbers,
    number_rows,
    restore_marks,
    sort_rows,
)
from cernis.kernels.sweep.lane_arrays import (
    AT_DUE_BITS,
    AT_REGISTERS,
    AT_REPORTED,
    AT_REPORTED_SIGNALS,
    AT_TICK,
    CONFLICT_SHIFT,
    CONFLICTS,
    DONE,
    FLAGS,
    IS_COME,
    IS_GONE,
    NEEDS_IDS,
    NEEDS_OUTPUT,
    NEEDS_TAIL,
    NEW_LINE,
    NEW_VALUES,
    NEXT_NEW_VALUES,
    NEXT_OLD_VALUES,
    NO_HANDLE,
    NO_TIME,
    OLD_LINE,
    OLD_VALUES,
    OUTPUT_AT_ONCE,
    UNMATCHED,
    WALKED,
    KeyLog,
    LaneMachine,
    Scratch,
)
from cernis.kernels.sweep.lane_memo import (
    ARMS,
    HAS_SIGNALS,
    HAS_TIMERS,
    KEY,
    NEXT,
    SIGNALS,
    fired_handle,
    is_used_up,
    transition_line,
)
from cernis.kernels.sweep.lane_output import compare_edges, emit, emit_signals
from cernis.kernels.sweep.lane_rows import (
    COME,
    copy_beside,
    copy_row,
    fired_at,
    fired_word,
    is_same_payload,
    put_fired,
    put_row,
    put_state,
    put_tag,
    put_walked,
    state_at,
    state_word,
    tag_at,
    time_at,
)
from cernis.kernels.sweep.lane_timers import due_effects, next_due, note_arms, timers_agree
from cernis.kernels.sweep.past_points import NO_LINE
from cernis.kernels.sweep.registers.register_points import (
    AT_NEEDS,
    AT_OPEN_BITS,
    AT_PAYLOADS,
    AT_REGISTER_COUNT,
    AT_VALUE_SIGNALS,
    decided_line,
    guard_of_record,
    has_registers,
    keep_old_values,
    moved_bits,
    next_values,
    put_beside,
    put_value,
    read_old_values,
    strip_computed,
    values_agree,
    values_of_record,
    write_values,
)
from cernis.kernels.sweep.word_bits import ALL_BITS, ONE, ZERO, Time, Word, lowest_bit


@part
def take_news(
    news: Words, news_tags: Tags, change: Word, changes: Word, time: Word,
    tail: Words, tail_tags: Tags, first: Word, size: Word,
) -> tuple[Word, Word, Time]:  # fmt: skip
    """Add what has come at a point to its rows, then remove what has gone.

    Gives the next change, the rows then, and how many changes take back what is not there.
    """
    begin, missing = change, np.int64(0)
    while change < changes and time_at(news, change) == time:
        if state_at(news, change) == COME:
            copy_row(news, change, tail, size)
            copy_beside(news_tags, change, tail_tags, size)
            size += ONE
        change += ONE
    for row in range(begin, change):
        if state_at(news, row) != COME:
            fired, tag, place = fired_at(news, row), tag_at(news, news_tags, row), first
            while place < size and (
                fired_at(tail, place) != fired
                or tag_at(tail, tail_tags, place) != tag
                or not is_same_payload(news_tags, row, tail_tags, place)
            ):
                place += ONE
            if place == size:
                missing += 1
            else:
                size -= ONE
                copy_row(tail, size, tail, place)
                copy_beside(tail_tags, size, tail_tags, place)
    return change, size, missing


@part
def fired_together(rows: Words, fired_words: Words, first: Word, stop: Word) -> Word:
    """The fired words of rows, together."""
    fired = ZERO
    for place in range(first, stop):
        fired |= fired_word(rows, fired_words, fired_at(rows, place))
    return fired


@body
def _tell_changed(
    lane: Words, tags: Tags, changed: Word, word: Word, after: Word, same: Word, starts: Matrix,
    key: Word, moment: Time, output: Matrix, written: Word,
) -> tuple[Word, Word]:  # fmt: skip
    """Tell of intervals that end at a point, and note the starts of those that begin.

    Of those that were told as open, the open one has gone; they are left out of what is the same.
    """
    open_bits = lane[lane[AT_REGISTERS] + AT_OPEN_BITS]
    while changed != ZERO:
        bit = lowest_bit(changed)
        changed &= changed - ONE
        if (word >> bit) & ONE:
            start, code = starts[NEW_LINE, bit], np.int64(bit)
            has_value = has_registers(tags) and (open_bits >> bit) & ONE != ZERO
            if (same >> bit) & ONE:
                same ^= ONE << bit
                if has_value:
                    put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
                written = emit(output, written, code + IS_GONE, key, start, NEVER)
            if has_value:
                put_value(output, written, lane, tags, bit, starts, NEW_VALUES)
            written = emit(output, written, code, key, start, moment)
        if (after >> bit) & ONE:
            starts[NEW_LINE, bit] = moment
    return same, written


@body
def walk_on(
    machine: LaneMachine, scratch: Scratch, news: Words, news_tags: Tags, change: Word,
    changes: Word, size: Word, state: Word, allowed: Word, same: Word, key: Word,
    base: Time, query: Word, output: Matrix, written: Word, progress: Integers,
) -> tuple[Word, Word, Word, Word, Word, Time]:  # fmt: skip
    """Walk over changes and what is due, up to the query.

    `same` are the bits whose open interval has been told and begins as it did. Gives the rows
    written, the state, the bits that are still the same, output rows, when the next effect is due,
    and how it ended.
    """
    lane, memo, state_words = machine.lane, machine.memo, machine.state_words
    fired_words, tail, starts = machine.fired_words, scratch.tail, scratch.starts
    arms, tail_tags = scratch.arms, scratch.tail_tags
    reported, tick = lane[AT_REPORTED], np.int64(lane[AT_TICK])
    word = state_word(tail, state_words, state)
    due = next_due(lane, word, arms, NEW_LINE, base)
    idle = NO_HANDLE
    status = DONE
    room = np.uint64(tail.shape[0])
    has_tags = len(news_tags) > 0
    header = lane[AT_REGISTERS]
    needs, value_signals = lane[header + AT_NEEDS], lane[header + AT_VALUE_SIGNALS]
    payloads = lane[header + AT_PAYLOADS]
    registers = lane[header + AT_REGISTER_COUNT]
    points = np.int64(0)
    upcoming = time_at(news, change) if change < changes else NO_TIME
    while True:
        time, first, is_many = upcoming, size, False
        if due <= time:
            if due > query:
                break
            if size + (changes - change) + ONE >= room:
                status = NEEDS_TAIL
                break
            time = due
            effects = due_effects(lane, word, arms, np.int64(time) + base)
            handle = fired_handle(tail, machine, effects)
            if is_used_up(tail, handle):
                status = NEEDS_IDS
                break
            put_row(tail, size, time, handle, ZERO)
            put_tag(tail, tail_tags, size, ZERO)
            size += ONE
            is_many = True
        else:
            handle = fired_at(news, change)
            upcoming = time_at(news, change + ONE) if change + ONE < changes else NO_TIME
            is_many = upcoming == time or state_at(news, change) != COME
            if has_registers(tail_tags) and not is_many:
                # Written at once, so that what is computed can be added to it.
                copy_row(news, change, tail, size)
                copy_beside(news_tags, change, tail_tags, size)
                size += ONE
                change += ONE
                fired = fired_word(tail, fired_words, handle)
                if fired & needs:
                    bits = guard_of_record(
                        lane, machine.numbers, tail_tags, first, fired, word, starts
                    )
                    if bits != ZERO:
                        handle = fired_handle(tail, machine, fired | bits)
                        if is_used_up(tail, handle):
                            status = NEEDS_IDS
                            break
                        put_fired(tail, first, handle)
        if is_many:
            change, size, missing = take_news(
                news, news_tags, change, changes, time, tail, tail_tags, first, size
            )
            progress[UNMATCHED] += missing
            upcoming = time_at(news, change) if change < changes else NO_TIME
            if size == first:
                continue
            handle = fired_at(tail, first)
            if size > first + ONE and not has_registers(tail_tags):
                handle = fired_handle(tail, machine, fired_together(tail, fired_words, first, size))
                if is_used_up(tail, handle):
                    status = NEEDS_IDS
                    break
        points += 1
        if handle != idle or (has_registers(tail_tags) and is_many):
            moved, line = ZERO, NO_LINE
            if not has_registers(tail_tags) or not is_many:
                line = transition_line(tail, machine, state, handle, allowed)
                if has_registers(tail_tags):
                    signals, new = memo[line + SIGNALS] & value_signals, memo[line + NEXT]
                    if signals != ZERO or (new != state and not is_used_up(tail, new)):
                        moved = values_of_record(
                            lane, tail_tags, first, signals, word,
                            state_word(tail, state_words, new), starts,
                        )  # fmt: skip
            if has_registers(tail_tags) and (is_many or moved == ALL_BITS):
                line, _, initiated = decided_line(
                    machine, tail, tail_tags, first, size, state, word, allowed, starts
                )
                if line == NO_LINE or is_used_up(tail, memo[line + NEXT]):
                    status = NEEDS_IDS
                    break
                after = state_word(tail, state_words, memo[line + NEXT])
                moved = next_values(lane, tail_tags, initiated, word, after, starts)
            flags, new = memo[line + KEY], memo[line + NEXT]
            if is_used_up(tail, new):
                status = NEEDS_IDS
                break
            idle = NO_HANDLE if has_registers(tail_tags) and is_many else handle
            after = state_word(tail, state_words, new) if new != state else word
            if new != state or moved != ZERO:
                idle = NO_HANDLE
                changed = ((word ^ after) | moved) & reported
                if changed != ZERO:
                    if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
                        status = NEEDS_OUTPUT
                        break
                    same, written = _tell_changed(
                        lane, tail_tags, changed, word, after, same, starts, key,
                        np.int64(time) + base + tick, output, written,
                    )  # fmt: skip
                word, state = after, new
            if flags & FLAGS:
                idle = NO_HANDLE
                progress[CONFLICTS] += np.int64((flags & FLAGS) >> CONFLICT_SHIFT)
                if flags & HAS_TIMERS:
                    note_arms(lane, memo[line + ARMS], arms, NEW_LINE, np.int64(time) + base)
                    due = next_due(lane, word, arms, NEW_LINE, base)
                if flags & HAS_SIGNALS:
                    if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
                        status = NEEDS_OUTPUT
                        break
                    written = emit_signals(
                        output, written, memo[line + SIGNALS] & lane[AT_REPORTED_SIGNALS],
                        IS_COME, key, np.int64(time) + base,
                    )  # fmt: skip
        if is_many or has_registers(tail_tags):
            for place in range(first, size):
                put_state(tail, place, state)
            if has_registers(tail_tags):
                for number in range(registers):
                    value = starts[NEW_VALUES, number] = starts[NEXT_NEW_VALUES, number]
                    for place in range(first, size):
                        put_beside(tail_tags, place, payloads + number, value)
        else:
            put_walked(news, change, tail, size, state)
            if has_tags:
                copy_beside(news_tags, change, tail_tags, size)
            size += ONE
            change += ONE
    progress[WALKED] += points
    return size, state, same, written, due, status


@body
def _copy_old_point(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, place: Word, last: Word, time: Word,
    size: Word, old_state: Word,
) -> tuple[Word, Word, Word, Word, bool, bool]:  # fmt: skip
    """Copy the old rows of a point, but for effects, which the walk finds itself.

    Gives the next old row, the rows written, what fired, the state after the point, whether it has
    old rows, and false if ids are used up.
    """
    rows, tags, tail, tail_tags = log.rows, log.tags, scratch.tail, scratch.tail_tags
    dues, first = machine.lane[AT_DUE_BITS], place
    old_fired, old_next, has_ids = ZERO, old_state, True
    while place < last and time_at(rows, place) == time:
        fired = fired_word(rows, machine.fired_words, fired_at(rows, place))
        old_fired |= fired
        old_next = state_at(rows, place)
        if (fired & dues) == ZERO:
            copy_row(rows, place, tail, size)
            copy_beside(tags, place, tail_tags, size)
            has_ids = strip_computed(machine, tail, tail_tags, size) and has_ids
            size += ONE
        place += ONE
    return place, size, old_fired, old_next, place > first, has_ids


@body
def walk_over(
    machine: LaneMachine, log: KeyLog, scratch: Scratch, news: Words, news_tags: Tags, change: Word,
    changes: Word, place: Word, last: Word, head: Word, size: Word,
    state: Word, old_state: Word, allowed: Word, old_allowed: Word,
    key: Word, base: Time, output: Matrix, written: Word, progress: Integers,
) -> tuple[
    Word, Word, Word, Word, Word, Word, bool, Time
]:  # fmt: skip
    """Walk over old rows from a place on, until state and timers agree with them, or to the last.

    Gives the next change, the next old row, the rows written, both states, output rows, whether
    the histories agree, and how it ended.
    """
    lane, memo, state_words = machine.lane, machine.memo, machine.state_words
    fired_words, tail, starts = machine.fired_words, scratch.tail, scratch.starts
    arms, tail_tags = scratch.arms, scratch.tail_tags
    rows, tags = log.rows, log.tags
    reported, tick = lane[AT_REPORTED], np.int64(lane[AT_TICK])
    begin = place
    word = state_word(rows, state_words, state)
    old_word = state_word(rows, state_words, old_state)
    due = next_due(lane, word, arms, NEW_LINE, base)
    status, agree = DONE, False
    while place < last:
        if size + (last - place) + (changes - change) + ONE >= np.uint64(tail.shape[0]):
            status = NEEDS_TAIL
            break
        if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            status = NEEDS_OUTPUT
            break
        time = time_at(rows, place)
        if change < changes:
            time = min(time, time_at(news, change))
        first = size
        if due <= time:
            time = due
            effects = due_effects(lane, word, arms, np.int64(time) + base)
            handle = fired_handle(tail, machine, effects)
            if is_used_up(tail, handle):
                status = NEEDS_IDS
                break
            put_row(tail, size, time, handle, ZERO)
            put_tag(tail, tail_tags, size, ZERO)
            size += ONE
        moment = np.int64(time) + base
        place, size, old_fired, old_next, is_old, has_ids = _copy_old_point(
            machine, log, scratch, place, last, time, size, old_state
        )
        if not has_ids:
            status = NEEDS_IDS
            break
        change, size, missing = take_news(
            news, news_tags, change, changes, time, tail, tail_tags, first, size
        )
        progress[UNMATCHED] += missing
        fired, initiated = fired_together(tail, fired_words, first, size), ZERO
        new_signals, old_signals = ZERO, ZERO
        is_same = state == old_state and fired == old_fired and allowed == old_allowed
        after, old_after = word, old_word
        if size > first:
            if has_registers(tags):
                line, fired, initiated = decided_line(
                    machine, tail, tail_tags, first, size, state, word, allowed, starts
                )
                if line == NO_LINE:
                    status = NEEDS_IDS
                    break
                is_same = state == old_state and fired == old_fired and allowed == old_allowed
            else:
                handle = fired_handle(tail, machine, fired)
                if is_used_up(tail, handle):
                    status = NEEDS_IDS
                    break
                line = transition_line(rows, machine, state, handle, allowed)
            flags, new = memo[line + KEY] & FLAGS, memo[line + NEXT]
            if is_used_up(rows, new):
                status = NEEDS_IDS
                break
            progress[WALKED] += 1
            after = state_word(rows, state_words, new)
            if flags & HAS_TIMERS:
                note_arms(lane, memo[line + ARMS], arms, NEW_LINE, moment)
                due = next_due(lane, after, arms, NEW_LINE, base)
                if is_same:
                    note_arms(lane, memo[line + ARMS], arms, OLD_LINE, moment)
            if not is_same:
                new_signals = memo[line + SIGNALS]
                progress[CONFLICTS] += np.int64(flags >> CONFLICT_SHIFT)
            state = new
            for row in range(first, size):
                put_state(tail, row, state)
        if is_old:
            if not is_same:
                handle = fired_handle(tail, machine, old_fired)
                if is_used_up(tail, handle):
                    status = NEEDS_IDS
                    break
                line = transition_line(rows, machine, old_state, handle, old_allowed)
                flags = memo[line + KEY] & FLAGS
                if flags & HAS_TIMERS:
                    note_arms(lane, memo[line + ARMS], arms, OLD_LINE, moment)
                old_signals = memo[line + SIGNALS]
                progress[CONFLICTS] -= np.int64(flags >> CONFLICT_SHIFT)
            old_after = state_word(rows, state_words, old_next)
            old_state = old_next
        moved = next_values(lane, tail_tags, initiated, word, after, starts)
        read_old_values(lane, tags, place - ONE, is_old, starts)
        old_moved = moved_bits(lane, tags, old_word, old_after, starts, OLD_VALUES, NEXT_OLD_VALUES)
        if ((word ^ after) | (old_word ^ old_after) | moved | old_moved) & reported:
            written = compare_edges(
                log, lane, state_words, old_word, old_after, old_moved, word, after, moved,
                reported, starts, head, begin, key, moment + tick, base, tick, output, written,
            )  # fmt: skip
        write_values(lane, tail_tags, first, size, starts)
        keep_old_values(lane, tags, starts)
        new_signals &= lane[AT_REPORTED_SIGNALS]
        old_signals &= lane[AT_REPORTED_SIGNALS]
        if new_signals != old_signals:
            written = emit_signals(
                output, written, new_signals & ~old_signals, IS_COME, key, moment
            )
            written = emit_signals(
                output, written, old_signals & ~new_signals, IS_GONE, key, moment
            )
        word, old_word = after, old_after
        is_same = state == old_state and allowed == old_allowed
        if is_same and values_agree(lane, tags, starts) and timers_agree(lane, word, arms):
            agree = True
            break
    return change, place, size, state, old_state, written, agree, status


@part
def sorted_news(pending: Words, pending_tags: Tags, low: Word, high: Word, scratch: Scratch) -> int:
    """Have the changes of a key in order; see `sort_rows`. Those with tags are written."""
    if high - low <= ONE:
        return AS_THEY_ARE
    if pending.ndim == 1:
        if len(pending_tags) > 0:
            count = high - low
            number_rows(pending, low, high, scratch.tail)
            place = sort_rows(scratch.tail, ZERO, count, scratch.news, scratch.spare, scratch.runs)
            if place == AS_THEY_ARE:
                return AS_THEY_ARE
            numbered = scratch.spare if place == IN_SPARE else scratch.news
            news = scratch.news if place == IN_SPARE else scratch.spare
            gather_rows(pending, pending_tags, low, count, numbered, news, scratch.news_tags)
            return IN_NEWS if place == IN_SPARE else IN_SPARE
    elif pending_tags.ndim == 2:
        mark_numbers(pending, low, high)
        place = sort_rows(pending, low, high, scratch.news, scratch.spare, scratch.runs)
        if place == AS_THEY_ARE:
            restore_marks(pending, low, high)
        elif place == IN_NEWS:
            gather_payloads(scratch.news, high - low, pending_tags, low, scratch.news_tags)
        else:
            gather_payloads(scratch.spare, high - low, pending_tags, low, scratch.news_tags)
        return place
    return sort_rows(pending, low, high, scratch.news, scratch.spare, scratch.runs)
