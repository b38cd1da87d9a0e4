"""The walk over linked instances: all of them together, from point to point in time.

At a point, effects that are due and records set fired bits of instances. Then kinds are decided one
after the other, each for all instances of it that something has fired for. An instance reads the
words of those it is linked to: their kinds come later, so these are the words before the point.
What it sends sets fired bits of theirs. Last, late bits are decided, of instances whose words have
changed and of those on chains of instances whose words have; smaller tuples come first here, since
what is read is what holds after the point. Transitions are remembered by what they depend on.

Each delay has a queue. As its length is the same for all instances, what is armed later is due
later. An entry that is not the due time of its instance any more is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.compile import body, kernel, part
from cernis.kernels.linked import linked_tables as tables_of
from cernis.kernels.linked.linked_tables import (
    CONFLICT_CODES,
    HALF,
    NO_CHAIN,
    NO_DUE,
    NO_NEIGHBOUR,
)
from cernis.kernels.sweep.lane_tables import ARMED, DELAY, DELAY_SIZE, TICK
from cernis.kernels.sweep.transition import commit, derived_again
from cernis.kernels.sweep.word_bits import ALL_BITS, ONE, ZERO, Time, Word, lowest_bit

MEMO_BITS = 14
LINE_SIZE = 8
MEMO_SIZE = LINE_SIZE << MEMO_BITS
OLD, FIRED, ALLOWED, KIND, NEXT, ARMS, SIGNALS, CONFLICTS = (
    np.uint64(place) for place in range(LINE_SIZE)
)
"""The places in a line of the memory: what a transition depends on, and what it gives. `KIND` is
one more than the number of the kind, so that an empty line is none. Where late bits are decided,
`LATE_KIND` is added to it."""

LATE_KIND = np.uint64(1 << tables_of.KIND_BITS)

DONE, NEEDS_OUTPUT, NEEDS_QUEUES = range(3)
"""How a walk ends: done, or an array has to grow; then it is called again and goes on."""

ROW, WRITTEN, TIME, LEVEL, INDEX, IS_INSIDE, SEEN, PROGRESS_SIZE = range(8)
"""The places of progress: the next record, output rows written, and where in a point it is; and of
a number without meaning, so that what is read ahead is not left out."""

OUTPUT_AT_ONCE = np.uint64(200)
"""More output rows than one instance makes at a point."""

_MULTIPLIER, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT, _LINE_SHIFT = np.uint64(64 - MEMO_BITS), np.uint64(3)
_KIND_BITS, _KIND_MASK = np.uint64(tables_of.KIND_BITS), np.int64((1 << tables_of.KIND_BITS) - 1)
_WORD, _FIRED, _NUMBER, _LINKS = (np.uint64(place) for place in range(4))
_TICK, _DELAY, _ARMED = np.uint64(TICK), np.uint64(DELAY), np.uint64(ARMED)
_DELAY_SIZE, _HEADER = np.uint64(DELAY_SIZE), np.uint64(tables_of.HEADER)
(
    _LANE_AT, _LANE_END, _OWN, _REPORTED, _SENT, _READS_AT, _READ_COUNT, _SENT_AT, _DELAYS_AT,
    _DELAY_COUNT, _FIRST_QUEUE, _DUES_AT, _SINCE_AT, _SLOTS_AT, _SIGNALS, _ARMED_BITS,
    _ALLOWED_AT, _LAST_LINE, _LATE, _LATE_READ, _ACTIVE, _WATCHED, _CHAINS_AT, _CHAIN_COUNT,
    _READERS_AT, _READER_COUNT,
) = (np.uint64(place) for place in range(tables_of.HEADER))  # fmt: skip
_TWO, _THREE, _FOUR = np.uint64(2), np.uint64(3), np.uint64(4)
_SIX, _CONFLICT_CODES = np.uint64(6), np.uint64(CONFLICT_CODES)
_HALF, _NONE, _NO_CHAIN = np.uint64(HALF), np.uint64(NO_NEIGHBOUR), np.uint64(NO_CHAIN)
_QUEUE_KIND, _QUEUE_DUE, _QUEUE_BIT = (np.uint64(place) for place in range(3))


# -- structures ------------------------------------------------------------------------------

LINKED_RULES = "(words matrix writable-words)"


class LinkedRules(NamedTuple):
    """The tables of all kinds, the queues of their delays, and what is remembered."""

    tables: Words
    queues: Matrix
    memo: Words


LINKED_MEMORY = "(writable-integers writable-words)"


class LinkedMemory(NamedTuple):
    """The cells of all instances, as numbers and as words: it is the same memory."""

    cells: Integers
    words: Words


LINKED_RECORDS = "(integers integers words)"


class LinkedRecords(NamedTuple):
    """Records in the order of time: whose they are, and what they fire."""

    times: Integers
    handles: Integers
    fired: Words


DELAY_QUEUES = "(writable-integers writable-integers writable-integers)"


class DelayQueues(NamedTuple):
    """When what is due, one queue after the other; `marks` has where each begins and ends."""

    times: Integers
    handles: Integers
    marks: Integers


TOUCHED = "(writable-matrix writable-integers)"


class TouchedHandles(NamedTuple):
    """The instances of each kind for which something has fired at a point, and how many.

    After all kinds come, in the same order, those whose late bits are to be decided.
    """

    handles: Matrix
    counts: Integers


# -- a point ---------------------------------------------------------------------------------


@body
def _touch(kind: Word, handle: Word, bits: Word, words: Words, touched: TouchedHandles) -> None:
    """Set fired bits of an instance, and note that there are some."""
    if words[handle + _FIRED] == ZERO:
        touched.handles[kind, np.uint64(touched.counts[kind])] = np.int64(handle)
        touched.counts[kind] += 1
    words[handle + _FIRED] |= bits


@body
def _next_time(
    record: Time, queues: Matrix, waiting: DelayQueues, cells: Integers, mask: Word
) -> Time:
    """The next point at which something is due or recorded; stale entries are dropped."""
    time, marks = record, waiting.marks
    for queue in range(np.uint64(queues.shape[0])):
        first, due_at = queue * (mask + ONE), np.uint64(queues[queue, _QUEUE_DUE])
        head, tail = np.uint64(marks[queue + queue]), np.uint64(marks[queue + queue + ONE])
        while head < tail:
            place = first + (head & mask)
            if cells[np.uint64(waiting.handles[place]) + due_at] == waiting.times[place]:
                if waiting.times[place] < time:
                    time = waiting.times[place]
                break
            head += ONE
        marks[queue + queue] = np.int64(head)
    return time


@body
def _fire_due(
    time: Time, rules: LinkedRules, waiting: DelayQueues, memory: LinkedMemory,
    touched: TouchedHandles, mask: Word,
) -> Word:  # fmt: skip
    """Fire what is due at a point; when it was due is forgotten with the decision of the point.

    Gives what was read ahead, as `walk_linked` does.
    """
    queues, marks, seen = rules.queues, waiting.marks, ZERO
    for queue in range(np.uint64(queues.shape[0])):
        first, due_at = queue * (mask + ONE), np.uint64(queues[queue, _QUEUE_DUE])
        kind = np.uint64(queues[queue, _QUEUE_KIND])
        bit = ONE << np.uint64(queues[queue, _QUEUE_BIT])
        last_line = rules.tables[kind * _HEADER + _LAST_LINE]
        head, tail = np.uint64(marks[queue + queue]), np.uint64(marks[queue + queue + ONE])
        while head < tail and waiting.times[first + (head & mask)] == time:
            handle = np.uint64(waiting.handles[first + (head & mask)])
            if memory.cells[handle + due_at] == time:
                _touch(kind, handle, bit, memory.words, touched)
                seen ^= memory.words[handle + last_line]
            head += ONE
        marks[queue + queue] = np.int64(head)
    return seen


@body
def _line(
    tables: Words, header: Word, kind: Word, old: Word, fired: Word, allowed: Word, memo: Words
) -> Word:
    """The line of a transition; it is worked out if it is not remembered."""
    mixed = (old ^ (fired * _OTHER) ^ (allowed << ONE) ^ kind) * _MULTIPLIER
    line = (mixed >> _SHIFT) << _LINE_SHIFT
    if (
        memo[line + OLD] != old or memo[line + FIRED] != fired
        or memo[line + ALLOWED] != allowed or memo[line + KIND] != kind + ONE
    ):  # fmt: skip
        lane = tables[np.int64(tables[header + _LANE_AT]) : np.int64(tables[header + _LANE_END])]
        new, armed, signals, conflicts = commit(lane, fired, old, allowed)
        memo[line + OLD], memo[line + FIRED] = old, fired
        memo[line + ALLOWED], memo[line + KIND] = allowed, kind + ONE
        memo[line + NEXT], memo[line + ARMS] = _next_word(tables, header, old, new), armed
        memo[line + SIGNALS], memo[line + CONFLICTS] = signals, conflicts
    return line


@part
def _next_word(tables: Words, header: Word, old: Word, new: Word) -> Word:
    """The word after a transition, in which late bits are as before."""
    late = tables[header + _LATE]
    return ((new & ~late) | (old & late)) & tables[header + _OWN]


@body
def _late_line(
    tables: Words, header: Word, kind: Word, word: Word, allowed: Word, memo: Words
) -> Word:
    """The line of what late bits follow from a word."""
    number = kind + ONE + LATE_KIND
    mixed = (word ^ (allowed << ONE) ^ number) * _MULTIPLIER
    line = (mixed >> _SHIFT) << _LINE_SHIFT
    if memo[line + OLD] != word or memo[line + ALLOWED] != allowed or memo[line + KIND] != number:
        lane = tables[np.int64(tables[header + _LANE_AT]) : np.int64(tables[header + _LANE_END])]
        memo[line + OLD], memo[line + ALLOWED], memo[line + KIND] = word, allowed, number
        memo[line + NEXT] = derived_again(lane, word, allowed) & tables[header + _LATE]
    return line


# -- chains ----------------------------------------------------------------------------------


@part
def _join_chains(tables: Words, header: Word, handle: Word, words: Words) -> None:
    """Let an instance be on its chains, first of all."""
    chain = tables[header + _CHAINS_AT]
    for _ in range(tables[header + _CHAIN_COUNT]):
        place = tables[chain + ONE]
        if words[handle + place] == _NO_CHAIN:
            head = words[handle + _LINKS + tables[chain]] + tables[chain + _TWO]
            first = words[head]
            words[head], words[handle + place] = handle, (_NONE << _HALF) | first
            if first != _NONE:
                words[first + place] = (words[first + place] & _NONE) | (handle << _HALF)
        chain += _THREE


@part
def _leave_chains(tables: Words, header: Word, handle: Word, words: Words) -> None:
    """Let an instance be on its chains no more."""
    chain = tables[header + _CHAINS_AT]
    for _ in range(tables[header + _CHAIN_COUNT]):
        place = tables[chain + ONE]
        if words[handle + place] != _NO_CHAIN:
            before, following = words[handle + place] >> _HALF, words[handle + place] & _NONE
            if before == _NONE:
                words[words[handle + _LINKS + tables[chain]] + tables[chain + _TWO]] = following
            else:
                others = words[before + place] & ~_NONE
                words[before + place] = others | following
            if following != _NONE:
                others = words[following + place] & _NONE
                words[following + place] = (before << _HALF) | others
            words[handle + place] = _NO_CHAIN
        chain += _THREE


@kernel("words integer writable-words integers", "nothing", counted=(3,))
def join_chains(tables: Words, kind: int, words: Words, handles: Integers) -> None:
    """Let those of some new instances be on their chains that are active."""
    header = np.uint64(kind) * _HEADER
    for number in range(np.uint64(len(handles))):
        handle = np.uint64(handles[number])
        if (words[handle] & tables[header + _ACTIVE]) != ZERO:
            _join_chains(tables, header, handle, words)


@body
def _touch_readers(
    tables: Words, header: Word, handle: Word, changed: Word, kinds: Word, words: Words,
    touched: TouchedHandles,
) -> None:  # fmt: skip
    """Note whose late bits may change with bits of an instance."""
    reader = tables[header + _READERS_AT]
    for _ in range(tables[header + _READER_COUNT]):
        if (changed & tables[reader + _THREE]) != ZERO:
            each = words[handle + tables[reader + _TWO]]
            while each != _NONE:
                _touch(kinds + tables[reader], each, ONE, words, touched)
                each = words[each + tables[reader + ONE]] & _NONE
        reader += _FOUR


@body
def _has_room(tables: Words, header: Word, marks: Integers, mask: Word) -> bool:
    """Is there room for one more entry in each queue of a kind?"""
    queue, fits = tables[header + _FIRST_QUEUE], True
    for _ in range(tables[header + _DELAY_COUNT]):
        fits = fits and marks[queue + queue + ONE] - marks[queue + queue] <= np.int64(mask)
        queue += ONE
    return fits


@body
def _set_timers(
    time: Time, tables: Words, header: Word, handle: Word, new: Word, armed: Word,
    cells: Integers, waiting: DelayQueues, mask: Word, tells: bool, code: Word, output: Matrix,
    written: Word,
) -> Word:  # fmt: skip
    """Note when delays of an instance are due that are armed, and that others are not."""
    queue, due_at = tables[header + _FIRST_QUEUE], handle + tables[header + _DUES_AT]
    delay, marks = tables[header + _DELAYS_AT], waiting.marks
    for number in range(tables[header + _DELAY_COUNT]):
        bit = ONE << tables[delay + _ARMED]
        length = np.int64(tables[delay + _DELAY])
        is_ended = (armed & bit) != ZERO or (new & bit) == ZERO
        if tells and is_ended and cells[due_at] != NO_DUE:
            output[written, 0], output[written, 1] = code + number, cells[handle + _NUMBER]
            output[written, 2], output[written, 3] = cells[due_at] - length, time
            written += ONE
        if (armed & bit) != ZERO:
            place = queue * (mask + ONE) + (np.uint64(marks[queue + queue + ONE]) & mask)
            cells[due_at] = waiting.times[place] = time + length
            waiting.handles[place] = np.int64(handle)
            marks[queue + queue + ONE] += 1
        elif (new & bit) == ZERO:
            cells[due_at] = NO_DUE
        queue, due_at, delay = queue + ONE, due_at + ONE, delay + _DELAY_SIZE
    return written


@body
def _linked_bits(tables: Words, header: Word, handle: Word, memory: LinkedMemory) -> Word:
    """What an instance reads of those that it is linked to."""
    read, bits = tables[header + _READS_AT], ZERO
    for _ in range(tables[header + _READ_COUNT]):
        other = np.uint64(memory.cells[handle + _LINKS + tables[read]])
        bits |= ((memory.words[other] >> tables[read + ONE]) & ONE) << tables[read + _TWO]
        read += _THREE
    return bits


@body
def _send(
    tables: Words, header: Word, handle: Word, sent: Word, memory: LinkedMemory,
    touched: TouchedHandles,
) -> None:  # fmt: skip
    """Fire what an instance sends to those that it is linked to."""
    while sent != ZERO:
        entry = tables[header + _SENT_AT] + lowest_bit(sent) * _THREE
        sent &= sent - ONE
        other = np.uint64(memory.cells[handle + _LINKS + tables[entry]])
        _touch(tables[entry + ONE], other, ONE << tables[entry + _TWO], memory.words, touched)


@body
def _tell_happenings(
    time: Time, code: Word, codes: Word, number: Time, signals: Word, conflicts: Word,
    output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Write the signals of an instance and its conflicts; `codes` are those of all intervals."""
    while signals != ZERO:
        output[written, 0], output[written, 1] = codes + code + lowest_bit(signals), number
        output[written, 2], output[written, 3] = time, time
        signals &= signals - ONE
        written += ONE
    if conflicts != ZERO:
        output[written, 0], output[written, 1] = (codes << ONE) + (code >> _SIX), number
        output[written, 2], output[written, 3] = time, np.int64(conflicts)
        written += ONE
    return written


@body
def _tell_changed(
    start: Time, tables: Words, header: Word, code: Word, handle: Word, changed: Word, new: Word,
    cells: Integers, output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Write the intervals of an instance that end, and note the starts of those that begin.

    Values of a fluent may have one start, so that what ends comes first.
    """
    first, ended, starting = handle + tables[header + _SINCE_AT], changed & ~new, changed & new
    while ended != ZERO:
        bit = lowest_bit(ended)
        ended &= ended - ONE
        output[written, 0], output[written, 1] = code + bit, cells[handle + _NUMBER]
        output[written, 2] = cells[first + tables[tables[header + _SLOTS_AT] + bit]]
        output[written, 3] = start
        written += ONE
    while starting != ZERO:
        bit = lowest_bit(starting)
        starting &= starting - ONE
        cells[first + tables[tables[header + _SLOTS_AT] + bit]] = start
    return written


@body
def _decide_kind(
    time: Time, level: Word, index: Word, rules: LinkedRules, memory: LinkedMemory,
    waiting: DelayQueues, touched: TouchedHandles, mask: Word, tells_arms: bool, output: Matrix,
    written: Word,
) -> tuple[Word, Word, int]:  # fmt: skip
    """Decide all instances of a kind for which something has fired, from the one at `index` on.

    Gives which one is next, output rows, and how it ended.
    """
    tables, memo, cells, words = rules.tables, rules.memo, memory.cells, memory.words
    kinds = np.uint64(len(touched.counts)) >> ONE
    header, code, codes = level * _HEADER, level << _SIX, kinds << _SIX
    start = time + np.int64(tables[tables[header + _LANE_AT] + _TICK])
    while index < np.uint64(touched.counts[level]):
        handle = np.uint64(touched.handles[level, index])
        held, fired = words[handle + _WORD], words[handle + _FIRED]
        old = held | _linked_bits(tables, header, handle, memory)
        allowed = ALL_BITS
        if tables[header + _ALLOWED_AT] != ZERO:
            allowed = words[handle + tables[header + _ALLOWED_AT]]
        line = _line(tables, header, level, old, fired, allowed, memo)
        new, armed, signals = memo[line + NEXT], memo[line + ARMS], memo[line + SIGNALS]
        if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            return index, written, NEEDS_OUTPUT
        if armed != ZERO and not _has_room(tables, header, waiting.marks, mask):
            return index, written, NEEDS_QUEUES
        words[handle + _FIRED] = ZERO
        _send(tables, header, handle, signals & tables[header + _SENT], memory, touched)
        if (armed | ((held ^ new) & tables[header + _ARMED_BITS])) != ZERO:
            written = _set_timers(
                time, tables, header, handle, new, armed, cells, waiting, mask, tells_arms,
                (codes << ONE) + _CONFLICT_CODES + code, output, written,
            )  # fmt: skip
        written = _tell_happenings(
            time, code, codes, cells[handle + _NUMBER], signals & tables[header + _SIGNALS],
            memo[line + CONFLICTS], output, written,
        )  # fmt: skip
        written = _tell_changed(
            start, tables, header, code, handle, (held ^ new) & tables[header + _REPORTED], new,
            cells, output, written,
        )  # fmt: skip
        words[handle + _WORD] = new
        if ((held ^ new) & tables[header + _LATE_READ]) != ZERO:
            _touch(kinds + level, handle, ONE, words, touched)
        if ((held ^ new) & tables[header + _WATCHED]) != ZERO:
            _touch_readers(tables, header, handle, held ^ new, kinds, words, touched)
        index += ONE
    touched.counts[level] = 0
    return ZERO, written, DONE


@body
def _decide_late(
    time: Time, level: Word, index: Word, rules: LinkedRules, memory: LinkedMemory,
    touched: TouchedHandles, output: Matrix, written: Word,
) -> tuple[Word, Word, int]:  # fmt: skip
    """Decide the late bits of a kind, of the noted instances from the one at `index` on.

    `level` goes on from the kinds: the last one comes first. Gives what `_decide_kind` does.
    """
    tables, memo, cells, words = rules.tables, rules.memo, memory.cells, memory.words
    kinds = np.uint64(len(touched.counts)) >> ONE
    kind = kinds + kinds - ONE - level
    header, code, noted = kind * _HEADER, kind << _SIX, kinds + kind
    start = time + np.int64(tables[tables[header + _LANE_AT] + _TICK])
    while index < np.uint64(touched.counts[noted]):
        handle = np.uint64(touched.handles[noted, index])
        held, allowed = words[handle + _WORD], ALL_BITS
        if tables[header + _ALLOWED_AT] != ZERO:
            allowed = words[handle + tables[header + _ALLOWED_AT]]
        seen = held | _linked_bits(tables, header, handle, memory)
        line = _late_line(tables, header, kind, seen, allowed, memo)
        new = (held & ~tables[header + _LATE]) | memo[line + NEXT]
        if written + OUTPUT_AT_ONCE > np.uint64(output.shape[0]):
            return index, written, NEEDS_OUTPUT
        words[handle + _FIRED], words[handle + _WORD] = ZERO, new
        written = _tell_changed(
            start, tables, header, code, handle, (held ^ new) & tables[header + _REPORTED], new,
            cells, output, written,
        )  # fmt: skip
        if (new & tables[header + _ACTIVE]) != ZERO:
            _join_chains(tables, header, handle, words)
        else:
            _leave_chains(tables, header, handle, words)
        if ((held ^ new) & tables[header + _WATCHED]) != ZERO:
            _touch_readers(tables, header, handle, held ^ new, kinds, words, touched)
        index += ONE
    touched.counts[noted] = 0
    return ZERO, written, DONE


@kernel(
    f"{LINKED_RULES} {LINKED_MEMORY} {LINKED_RECORDS} {DELAY_QUEUES} {TOUCHED} writable-matrix "
    "writable-integers integer boolean",
    "integer",
    counted=(5,),
)
def walk_linked(
    rules: LinkedRules, memory: LinkedMemory, records: LinkedRecords, waiting: DelayQueues,
    touched: TouchedHandles, output: Matrix, progress: Integers, until: int, tells_arms: bool,
) -> int:  # fmt: skip
    """Walk over records in the order of time, and over what is due, up to a time; gives the end.

    An output row has a code, the number of an instance, a start and an end. The code of an interval
    that has ended is its state bit, plus 64 for each kind before its own. After these codes come
    those of reported signals in the same order, then one of conflicts for each kind, with how many
    there are in place of the end; those of delays that were under way, which are told on request,
    come `CONFLICT_CODES` later.
    """
    row, rows = np.uint64(progress[ROW]), np.uint64(len(records.times))
    written, kind_mask = np.uint64(progress[WRITTEN]), _KIND_MASK
    time, level = progress[TIME], np.uint64(progress[LEVEL])
    index, is_inside = np.uint64(progress[INDEX]), progress[IS_INSIDE] != 0
    status, mask, seen = DONE, ZERO, ZERO
    if rules.queues.shape[0] > 0:
        mask = np.uint64(len(waiting.times) // rules.queues.shape[0]) - ONE
    while True:
        if not is_inside:
            record = records.times[row] if row < rows else NO_DUE
            time = _next_time(record, rules.queues, waiting, memory.cells, mask)
            if time > until:
                break
            seen ^= _fire_due(time, rules, waiting, memory, touched, mask)
            while row < rows and records.times[row] == time:
                kind = np.uint64(records.handles[row] & kind_mask)
                handle = np.uint64(records.handles[row]) >> _KIND_BITS
                _touch(kind, handle, records.fired[row], memory.words, touched)
                # The other line of the instance is wanted soon: what is read now is there then.
                seen ^= memory.words[handle + rules.tables[kind * _HEADER + _LAST_LINE]]
                row += ONE
            is_inside, level, index = True, ZERO, ZERO
        while level < np.uint64(len(touched.counts)):
            if level < np.uint64(len(touched.counts)) >> ONE:
                index, written, status = _decide_kind(
                    time, level, index, rules, memory, waiting, touched, mask, tells_arms, output,
                    written,
                )  # fmt: skip
            else:
                index, written, status = _decide_late(
                    time, level, index, rules, memory, touched, output, written
                )
            if status != DONE:
                break
            level += ONE
        if status != DONE:
            break
        is_inside = False
    progress[ROW], progress[WRITTEN], progress[TIME] = np.int64(row), np.int64(written), time
    progress[LEVEL], progress[INDEX] = np.int64(level), np.int64(index)
    progress[IS_INSIDE], progress[SEEN] = np.int64(is_inside), np.int64(seen)
    return int(status)
