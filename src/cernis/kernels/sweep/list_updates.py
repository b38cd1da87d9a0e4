"""Programs over lists, for keys with changes: intervals come and go, and so do those that follow.

Each key has its source intervals and the intervals it has told, both in order, in rows of four
words: the number of a source or an output, start, end, and nothing. What was decided up to the edge
of a key's lists is final there: a duration that is still open is younger than the lists look back.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Bytes, Integers, Matrix, SmallIntegers, Tags, WordMatrix
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.key_calendar import NEVER, set_due
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE, TOP, splice
from cernis.kernels.sweep.list_walk import (
    LONGER,
    OP,
    PARAMETER,
    SOURCE,
    run_program,
    since_edge,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

NUMBER, START, END = np.uint64(0), np.uint64(1), np.uint64(2)
_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)

DONE, NEEDS_ROWS, NEEDS_LISTS, NEEDS_OUTPUT = range(4)
"""How a walk over lists ends: done, or an array has to grow."""


@part
def _compared(one: WordMatrix, place: Word, other: WordMatrix, second: Word) -> Time:
    """Less than 0, 0 or more: the order of two rows by number, start and end."""
    for column in range(3):
        left = np.int64(one[place, np.uint64(column)])
        right = np.int64(other[second, np.uint64(column)])
        if left != right:
            return np.int64(-1) if left < right else np.int64(1)
    return np.int64(0)


@part
def _put(rows: WordMatrix, place: Word, number: Word, start: Time, end: Time) -> None:
    rows[place, NUMBER] = np.uint64(number)
    rows[place, START], rows[place, END] = np.uint64(start), np.uint64(end)


@part
def _copy(source: WordMatrix, place: Word, to: WordMatrix, target: Word) -> None:
    for column in range(3):
        to[target, np.uint64(column)] = source[place, np.uint64(column)]


@part
def _with_changes(
    rows: WordMatrix, place: Word, last: Word, come: WordMatrix, arrival: Word, arrivals: Word,
    gone: WordMatrix, removal: Word, removals: Word, tail: WordMatrix,
) -> Word:  # fmt: skip
    """Write the source intervals of a key with what has come and without what has gone."""
    size = ZERO
    while place < last or arrival < arrivals:
        is_old = arrival == arrivals or (
            place < last and _compared(rows, place, come, arrival) <= 0
        )
        if is_old:
            _copy(rows, place, tail, size)
            place += ONE
        else:
            _copy(come, arrival, tail, size)
            arrival += ONE
        while removal < removals and _compared(gone, removal, tail, size) < 0:
            removal += ONE
        if removal < removals and _compared(gone, removal, tail, size) == 0:
            removal += ONE
        else:
            size += ONE
    return size


@part
def _load(tail: WordMatrix, size: Word, lists: Matrix, sizes: Integers) -> None:
    """The source intervals of a key as lists."""
    for slot in range(np.uint64(len(sizes))):
        sizes[slot] = 0
    for row in range(size):
        source = np.uint64(tail[row, NUMBER])
        place = np.uint64(sizes[source])
        lists[source, place, ZERO] = np.int64(tail[row, START])
        lists[source, place, ONE] = np.int64(tail[row, END])
        sizes[source] += 1


@part
def _next_length(program: Matrix, lists: Matrix, sizes: Integers, query: Time) -> Time:
    """When the first open interval becomes long enough for a row that asks for it."""
    due = NEVER
    for row in range(np.uint64(len(program))):
        source = np.uint64(program[row, np.uint64(SOURCE)])
        size = np.uint64(sizes[source])
        is_longer = program[row, np.uint64(OP)] == LONGER
        if is_longer and size > ZERO and lists[source, size - ONE, ONE] == NEVER:
            moment = lists[source, size - ONE, ZERO] + program[row, np.uint64(PARAMETER)] + 1
            if moment > query:
                due = min(due, moment)
    return due


@part
def _results(outputs: Integers, lists: Matrix, sizes: Integers, to: WordMatrix) -> Word:
    """Write the intervals of the outputs."""
    count = ZERO
    for number in range(np.uint64(len(outputs))):
        slot = np.uint64(outputs[number])
        for place in range(np.uint64(sizes[slot])):
            _put(to, count, number, lists[slot, place, ZERO], lists[slot, place, ONE])
            count += ONE
    return count


@part
def _tell(
    rows: WordMatrix, place: Word, last: Word, results: WordMatrix, count: Word, key: Word,
    output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Write what is in one of two ordered lists of intervals only: 128 for what has gone."""
    row = ZERO
    while place < last or row < count:
        order = np.int64(1)
        if row == count:
            order = np.int64(-1)
        elif place < last:
            order = _compared(rows, place, results, row)
        if order != 0:
            source, at_row = (rows, place) if order < 0 else (results, row)
            output[written, np.uint64(0)] = np.int64(source[at_row, NUMBER]) + (
                128 if order < 0 else 0
            )
            output[written, np.uint64(1)] = np.int64(key)
            output[written, np.uint64(2)] = np.int64(source[at_row, START])
            output[written, np.uint64(3)] = np.int64(source[at_row, END])
            written += ONE
        if order <= 0:
            place += ONE
        if order >= 0:
            row += ONE
    return written


@part
def _has_room(rows: WordMatrix, counts: Integers, count: Word) -> bool:
    """Is there a new place for so many rows, if need be?"""
    wanted = np.uint64(counts[np.uint64(TOP)]) + np.uint64(4) * count + np.uint64(16)
    return bool(wanted <= np.uint64(len(rows)))


@part
def _without_old(rows: WordMatrix, count: Word, edge: Time, tick: Time) -> Word:
    """Leave out what ended before the first point after the edge."""
    kept = ZERO
    for row in range(count):
        if np.int64(rows[row, END]) > edge + tick:
            _copy(rows, row, rows, kept)
            kept += ONE
    return kept


@kernel(
    "matrix integers integers integers integers writable-word-matrix writable-word-matrix "
    "writable-word-matrix writable-matrix writable-integers "
    "writable-word-matrix writable-matrix writable-integers byte-matrix writable-integers "
    "writable-matrix writable-integers writable-small writable-small writable-small integer "
    "integer integer integer integer writable-cube writable-integers writable-word-matrix "
    "writable-word-matrix writable-tags writable-matrix writable-integers",
    "integer",
    counted=(2, 5, 6),
)
def walk_lists(
    program: Matrix, outputs: Integers, visits: Integers, come_firsts: Integers,
    gone_firsts: Integers, come: WordMatrix, gone: WordMatrix,
    rows: WordMatrix, places: Matrix, counts: Integers,
    told_rows: WordMatrix, told_places: Matrix, told_counts: Integers, conditions: Bytes,
    edges: Integers, since: Matrix, dues: Integers, links: SmallIntegers,
    back_links: SmallIntegers, heads: SmallIntegers, width: int,
    next_edge: int, first: int, query: int, tick: int, lists: Matrix, sizes: Integers,
    tail: WordMatrix, results: WordMatrix, no_tags: Tags, output: Matrix, progress: Integers,
) -> int:  # fmt: skip
    """Evaluate the keys that are visited; gives how it ended.

    `progress` is the number of visits done, and that of output rows.
    """
    room = np.uint64(lists.shape[1])
    for number in range(np.uint64(progress[0]), np.uint64(len(visits))):
        key, written = np.uint64(visits[number]), np.uint64(progress[1])
        begin = np.uint64(places[key, _FIRST] + places[key, _HEAD])
        last = np.uint64(places[key, _FIRST] + places[key, _SIZE])
        told_first = np.uint64(told_places[key, _FIRST] + told_places[key, _HEAD])
        told_last = np.uint64(told_places[key, _FIRST] + told_places[key, _SIZE])
        arrival, arrivals = np.uint64(come_firsts[number]), np.uint64(come_firsts[number + ONE])
        removal, removals = np.uint64(gone_firsts[number]), np.uint64(gone_firsts[number + ONE])
        most = (last - begin) + (arrivals - arrival) + np.uint64(len(program) + 2)
        if most > room:
            progress[2] = np.int64(most)
            return NEEDS_LISTS
        most = most * np.uint64(len(outputs)) + (told_last - told_first)
        if written + most > np.uint64(len(output)):
            return NEEDS_OUTPUT
        # Both are written or none: what has come must not come twice.
        if not (_has_room(rows, counts, most) and _has_room(told_rows, told_counts, most)):
            return NEEDS_ROWS
        size = _with_changes(
            rows, begin, last, come, arrival, arrivals, gone, removal, removals, tail
        )
        _load(tail, size, lists, sizes)
        run_program(program, conditions, key, edges[key], since, first, query, tick, lists, sizes)
        count = _results(outputs, lists, sizes, results)
        written = _tell(told_rows, told_first, told_last, results, count, key, output, written)
        size = _without_old(tail, size, next_edge, tick)
        count = _without_old(results, count, next_edge, tick)
        head = np.uint64(places[key, _HEAD])
        told_head = np.uint64(told_places[key, _HEAD])
        splice(
            rows, no_tags, places, counts, key, head, np.uint64(places[key, _SIZE]), tail,
            no_tags, size,
        )  # fmt: skip
        splice(
            told_rows, no_tags, told_places, told_counts, key, told_head,
            np.uint64(told_places[key, _SIZE]), results, no_tags, count,
        )  # fmt: skip
        for slot in range(np.uint64(since.shape[1])):
            since[key, slot] = since_edge(lists[slot], np.uint64(sizes[slot]), next_edge)
        edges[key] = next_edge
        due = _next_length(program, lists, sizes, query)
        set_due(key, due, np.int64(width), dues, links, back_links, heads)
        progress[0], progress[1] = np.int64(number) + 1, np.int64(written)
    return DONE
