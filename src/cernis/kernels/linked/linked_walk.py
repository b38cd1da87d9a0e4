"""The walk over linked instances: all of them together, from point to point in time.

At a point, effects that are due and records set fired bits of instances. Then kinds are decided one
after the other, each for all instances of it that something has fired for. An instance reads the
words of those it is linked to: their kinds come later, so these are the words before the point.
What it sends sets fired bits of theirs. Transitions are remembered by what they depend on.

Each delay has a queue. As its length is the same for all instances, what is armed later is due
later. An entry that is not the due time of its instance any more is dropped.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.compile import body, kernel
from cernis.kernels.linked import linked_tables as tables_of
from cernis.kernels.linked.linked_tables import NO_DUE
from cernis.kernels.sweep.lane_tables import ARMED, DELAY, DELAY_SIZE, TICK
from cernis.kernels.sweep.transition import commit
from cernis.kernels.sweep.word_bits import ALL_BITS, ONE, ZERO, Time, Word, lowest_bit

MEMO_BITS = 14
LINE_SIZE = 8
MEMO_SIZE = LINE_SIZE << MEMO_BITS
OLD, FIRED, ALLOWED, KIND, NEXT, ARMS, SIGNALS, CONFLICTS = (
    np.uint64(place) for place in range(LINE_SIZE)
)
"""The places in a line of the memory: what a transition depends on, and what it gives. `KIND` is
one more than the number of the kind, so that an empty line is none."""

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
    _ALLOWED_AT, _LAST_LINE,
) = (np.uint64(place) for place in range(tables_of.HEADER))  # fmt: skip
_TWO, _THREE, _SIX, _CODES = np.uint64(2), np.uint64(3), np.uint64(6), np.uint64(64)
_QUEUE_KIND, _QUEUE_DUE, _QUEUE_BIT = (np.uint64(place) for place in range(3))


@body
def _touch(
    kind: Word, handle: Word, bits: Word, words: Words, touched: Matrix, counts: Integers
) -> None:
    """Set fired bits of an instance, and note that there are some."""
    if words[handle + _FIRED] == ZERO:
        touched[kind, np.uint64(counts[kind])] = np.int64(handle)
        counts[kind] += 1
    words[handle + _FIRED] |= bits


@body
def _next_time(
    record: Time, queues: Matrix, queue_times: Integers, queue_handles: Integers, marks: Integers,
    cells: Integers, mask: Word,
) -> Time:  # fmt: skip
    """The next point at which something is due or recorded; stale entries are dropped."""
    time = record
    for queue in range(np.uint64(queues.shape[0])):
        first, due_at = queue * (mask + ONE), np.uint64(queues[queue, _QUEUE_DUE])
        head, tail = np.uint64(marks[queue + queue]), np.uint64(marks[queue + queue + ONE])
        while head < tail:
            place = first + (head & mask)
            if cells[np.uint64(queue_handles[place]) + due_at] == queue_times[place]:
                if queue_times[place] < time:
                    time = queue_times[place]
                break
            head += ONE
        marks[queue + queue] = np.int64(head)
    return time


@body
def _fire_due(
    time: Time, queues: Matrix, queue_times: Integers, queue_handles: Integers, marks: Integers,
    cells: Integers, words: Words, touched: Matrix, counts: Integers, mask: Word,
) -> None:  # fmt: skip
    """Fire what is due at a point; when it was due is forgotten with the decision of the point."""
    for queue in range(np.uint64(queues.shape[0])):
        first, due_at = queue * (mask + ONE), np.uint64(queues[queue, _QUEUE_DUE])
        kind, bit = (
            np.uint64(queues[queue, _QUEUE_KIND]),
            ONE << np.uint64(queues[queue, _QUEUE_BIT]),
        )
        head, tail = np.uint64(marks[queue + queue]), np.uint64(marks[queue + queue + ONE])
        while head < tail and queue_times[first + (head & mask)] == time:
            handle = np.uint64(queue_handles[first + (head & mask)])
            if cells[handle + due_at] == time:
                _touch(kind, handle, bit, words, touched, counts)
            head += ONE
        marks[queue + queue] = np.int64(head)


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
        memo[line + NEXT], memo[line + ARMS] = new & tables[header + _OWN], armed
        memo[line + SIGNALS], memo[line + CONFLICTS] = signals, conflicts
    return line


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
    cells: Integers, queue_times: Integers, queue_handles: Integers, marks: Integers, mask: Word,
    tells: bool, code: Word, output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Note when delays of an instance are due that are armed, and that others are not."""
    queue, due_at = tables[header + _FIRST_QUEUE], handle + tables[header + _DUES_AT]
    delay = tables[header + _DELAYS_AT]
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
            cells[due_at] = queue_times[place] = time + length
            queue_handles[place] = np.int64(handle)
            marks[queue + queue + ONE] += 1
        elif (new & bit) == ZERO:
            cells[due_at] = NO_DUE
        queue, due_at, delay = queue + ONE, due_at + ONE, delay + _DELAY_SIZE
    return written


@kernel(
    "words matrix writable-words writable-integers writable-words integers integers words "
    "writable-integers writable-integers writable-integers writable-matrix writable-integers "
    "writable-matrix writable-integers integer boolean",
    "integer",
    counted=(5,),
)
def walk_linked(
    tables: Words, queues: Matrix, memo: Words, cells: Integers, words: Words,
    times: Integers, handles: Integers, fired_words: Words,
    queue_times: Integers, queue_handles: Integers, marks: Integers,
    touched: Matrix, counts: Integers, output: Matrix, progress: Integers, until: int,
    tells_arms: bool,
) -> int:  # fmt: skip
    """Walk over records in the order of time, and over what is due, up to a time; gives the end.

    `cells` and `words` are the same memory. An output row has a code, the number of an instance, a
    start and an end. The code of an interval that has ended is its state bit, plus 64 for each kind
    before its own. After these codes come those of reported signals in the same order, then those
    of conflicts, with how many there are in place of the end, and then those of delays that were
    under way, which are told on request.
    """
    row, rows = np.uint64(progress[ROW]), np.uint64(len(times))
    written, room = np.uint64(progress[WRITTEN]), np.uint64(output.shape[0])
    time, level = progress[TIME], np.uint64(progress[LEVEL])
    index, is_inside = np.uint64(progress[INDEX]), progress[IS_INSIDE] != 0
    kind_count, status, kind_mask = np.uint64(len(counts)), DONE, _KIND_MASK
    mask, seen = np.uint64(0), ZERO
    if queues.shape[0] > 0:
        mask = np.uint64(len(queue_times) // queues.shape[0]) - ONE
    while True:
        if not is_inside:
            record = times[row] if row < rows else NO_DUE
            time = _next_time(record, queues, queue_times, queue_handles, marks, cells, mask)
            if time > until:
                break
            _fire_due(time, queues, queue_times, queue_handles, marks, cells, words, touched,
                      counts, mask)  # fmt: skip
            while row < rows and times[row] == time:
                kind = np.uint64(handles[row] & kind_mask)
                handle = np.uint64(handles[row]) >> _KIND_BITS
                _touch(kind, handle, fired_words[row], words, touched, counts)
                # The other line of the instance is wanted soon: what is read now is there then.
                seen ^= words[handle + tables[kind * _HEADER + _LAST_LINE]]
                row += ONE
            is_inside, level, index = True, ZERO, ZERO
        while level < kind_count:
            header = level * _HEADER
            code = level << _SIX
            own_bits = tables[header + _REPORTED]
            start = time + np.int64(tables[tables[header + _LANE_AT] + _TICK])
            while index < np.uint64(counts[level]):
                handle = np.uint64(touched[level, index])
                held = words[handle + _WORD]
                old, fired = held, words[handle + _FIRED]
                read = tables[header + _READS_AT]
                for _ in range(tables[header + _READ_COUNT]):
                    other = np.uint64(cells[handle + _LINKS + tables[read]])
                    old |= ((words[other] >> tables[read + ONE]) & ONE) << tables[read + _TWO]
                    read += _THREE
                allowed = ALL_BITS
                if tables[header + _ALLOWED_AT] != ZERO:
                    allowed = words[handle + tables[header + _ALLOWED_AT]]
                line = _line(tables, header, level, old, fired, allowed, memo)
                new, armed = memo[line + NEXT], memo[line + ARMS]
                if written + OUTPUT_AT_ONCE > room:
                    status = NEEDS_OUTPUT
                    break
                if armed != ZERO and not _has_room(tables, header, marks, mask):
                    status = NEEDS_QUEUES
                    break
                words[handle + _FIRED] = ZERO
                signals = memo[line + SIGNALS]
                sent = signals & tables[header + _SENT]
                while sent != ZERO:
                    entry = tables[header + _SENT_AT] + lowest_bit(sent) * _THREE
                    sent &= sent - ONE
                    other = np.uint64(cells[handle + _LINKS + tables[entry]])
                    _touch(tables[entry + ONE], other, ONE << tables[entry + _TWO], words,
                           touched, counts)  # fmt: skip
                if (armed | ((held ^ new) & tables[header + _ARMED_BITS])) != ZERO:
                    written = _set_timers(
                        time, tables, header, handle, new, armed, cells, queue_times,
                        queue_handles, marks, mask, tells_arms,
                        ((kind_count << _SIX) << ONE) + _CODES + code, output, written,
                    )  # fmt: skip
                signals &= tables[header + _SIGNALS]
                while signals != ZERO:
                    output[written, 0] = (kind_count << _SIX) + code + lowest_bit(signals)
                    output[written, 1] = cells[handle + _NUMBER]
                    output[written, 2], output[written, 3] = time, time
                    signals &= signals - ONE
                    written += ONE
                if memo[line + CONFLICTS] != ZERO:
                    output[written, 0] = (kind_count << _SIX) << ONE
                    output[written, 1] = cells[handle + _NUMBER]
                    output[written, 2] = time
                    output[written, 3] = np.int64(memo[line + CONFLICTS])
                    written += ONE
                changed = (held ^ new) & own_bits
                while changed != ZERO:
                    bit = lowest_bit(changed)
                    changed &= changed - ONE
                    since = (
                        handle
                        + tables[header + _SINCE_AT]
                        + tables[tables[header + _SLOTS_AT] + bit]
                    )
                    if (new >> bit) & ONE:
                        cells[since] = start
                    else:
                        output[written, 0] = code + bit
                        output[written, 1] = cells[handle + _NUMBER]
                        output[written, 2], output[written, 3] = cells[since], start
                        written += ONE
                words[handle + _WORD] = new
                index += ONE
            if status != DONE:
                break
            counts[level] = 0
            level, index = level + ONE, ZERO
        if status != DONE:
            break
        is_inside = False
    progress[ROW], progress[WRITTEN], progress[TIME] = np.int64(row), np.int64(written), time
    progress[LEVEL], progress[INDEX] = np.int64(level), np.int64(index)
    progress[IS_INSIDE], progress[SEEN] = np.int64(is_inside), np.int64(seen)
    return int(status)
