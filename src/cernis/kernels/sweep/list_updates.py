"""Programs over lists, for keys with changes: intervals come and go, and so do those that follow.

Each key has its source intervals and the intervals it has reported, both in order, in rows of four
words: the number of a source or an output, start, end, and nothing.

What was derived up to the window's edge stands. So an output is, up to the edge, what was reported
before, and after it what the program makes of its sources. Whether an interval is long may be
decided only when it has begun before the edge; so sources are kept for as long before the edge as
durations ask for, and an interval that goes on after the edge may begin before it by as much.

Nor does anything change before the first point at which a source has changed, or that durations
reach back to from there. So that point stands for the edge where it is later, and a visit costs as
much as there is after it.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import (
    Bytes,
    Integers,
    Matrix,
    SmallIntegers,
    Tags,
    WordMatrix,
    Words,
)
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.key_calendar import NEVER, set_due
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE, TOP, splice
from cernis.kernels.sweep.list_walk import (
    LONGER,
    OP,
    OTHER,
    OUTPUT,
    PARAMETER,
    SOURCE,
    TO,
    add_interval,
    run_row,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

NUMBER, START, END = (np.uint64(column) for column in range(3))
_FIRST, _HEAD, _SIZE = np.uint64(FIRST), np.uint64(HEAD), np.uint64(SIZE)

DONE, NEEDS_ROWS, NEEDS_LISTS, NEEDS_OUTPUT = range(4)
"""How a walk over lists ends: done, or an array has to grow."""

GONE = 128
"""Added to the numbers of outputs that have gone."""


# -- rows ------------------------------------------------------------------------------------


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
def _first_change(
    come: WordMatrix, arrival: Word, arrivals: Word, gone: WordMatrix, removal: Word,
    removals: Word,
) -> Time:  # fmt: skip
    """The first point at which the intervals that have come and gone make a difference."""
    first = NEVER
    while arrival < arrivals or removal < removals:
        order = np.int64(0)
        if removal == removals:
            order = np.int64(-1)
        elif arrival == arrivals:
            order = np.int64(1)
        else:
            for column in range(2):
                left = np.int64(come[arrival, np.uint64(column)])
                right = np.int64(gone[removal, np.uint64(column)])
                if order == 0 and left != right:
                    order = np.int64(-1) if left < right else np.int64(1)
        if order == 0:
            first = min(first, np.int64(come[arrival, END]), np.int64(gone[removal, END]))
        elif order < 0:
            first = min(first, np.int64(come[arrival, START]))
        else:
            first = min(first, np.int64(gone[removal, START]))
        if order <= 0:
            arrival += ONE
        if order >= 0:
            removal += ONE
    return first


@part
def _without_old(rows: WordMatrix, count: Word, bound: Time) -> Word:
    """Leave out what ended before a point."""
    kept = ZERO
    for row in range(count):
        if np.int64(rows[row, END]) >= bound:
            _copy(rows, row, rows, kept)
            kept += ONE
    return kept


@part
def _has_room(rows: WordMatrix, counts: Integers, count: Word) -> bool:
    """Is there a new place for so many rows, if need be?"""
    wanted = np.uint64(counts[np.uint64(TOP)]) + np.uint64(4) * count + np.uint64(16)
    return bool(wanted <= np.uint64(len(rows)))


@kernel(
    "integers integers integers word-matrix word-matrix writable-word-matrix writable-matrix "
    "writable-integers integer writable-word-matrix writable-tags writable-integers "
    "writable-integers",
    "integer",
    counted=(0, 3, 4),
)
def change_rows(
    visits: Integers, come_firsts: Integers, gone_firsts: Integers, come: WordMatrix,
    gone: WordMatrix, rows: WordMatrix, places: Matrix, counts: Integers, oldest: int,
    tail: WordMatrix, no_tags: Tags, changed_from: Integers, progress: Integers,
) -> int:  # fmt: skip
    """Enter changes into the rows of keys that others are linked to; gives how it ended.

    `changed_from` is the first point of each visit at which something changes. Rows that ended by
    the oldest point are given up. `progress` is the number of visits done, and
    how much room is needed if it is not enough.
    """
    for number in range(np.uint64(progress[0]), np.uint64(len(visits))):
        key = np.uint64(visits[number])
        begin = np.uint64(places[key, _FIRST] + places[key, _HEAD])
        last = np.uint64(places[key, _FIRST] + places[key, _SIZE])
        arrival, arrivals = np.uint64(come_firsts[number]), np.uint64(come_firsts[number + ONE])
        removal, removals = np.uint64(gone_firsts[number]), np.uint64(gone_firsts[number + ONE])
        most = (last - begin) + (arrivals - arrival)
        if most > np.uint64(len(tail)):
            progress[2] = np.int64(most)
            return NEEDS_LISTS
        if not _has_room(rows, counts, most):
            return NEEDS_ROWS
        size = _with_changes(
            rows, begin, last, come, arrival, arrivals, gone, removal, removals, tail
        )
        changed_from[number] = _first_change(come, arrival, arrivals, gone, removal, removals)
        size = _without_old(tail, size, oldest + 1)
        splice(
            rows, no_tags, places, counts, key, np.uint64(places[key, _HEAD]),
            np.uint64(places[key, _SIZE]), tail, no_tags, size,
        )  # fmt: skip
        progress[0] = np.int64(number) + 1
    return DONE


# -- links -----------------------------------------------------------------------------------


@kernel("integer matrix writable-small writable-small", "nothing", counted=(1,))
def link_keys(first: int, targets: Matrix, heads: SmallIntegers, chain: SmallIntegers) -> None:
    """Enter keys from a number on into the chains of the keys that they are linked to.

    A chain has numbers of links, counted through all keys, plus 1.
    """
    links = np.uint64(targets.shape[1])
    for key in range(np.uint64(first), np.uint64(len(targets))):
        for link in range(links):
            target, place = np.uint64(targets[key, link]), key * links + link
            chain[place] = heads[target]
            heads[target] = np.int32(place + ONE)


@kernel(
    "integers integers integer small small matrix writable-integers writable-integers",
    "integer",
    counted=(0,),
)
def linked_keys(
    changed: Integers, changed_from: Integers, links: int, heads: SmallIntegers,
    chain: SmallIntegers, places: Matrix, since: Integers, keys: Integers,
) -> int:  # fmt: skip
    """The keys with intervals of their own that are linked to keys that have changed, each once.

    `since` is the first point at which something changes for a key, `NEVER` if nothing does so far.
    """
    count = ZERO
    for number in range(np.uint64(len(changed))):
        entry = np.uint64(heads[np.uint64(changed[number])])
        while entry > ZERO:
            key = (entry - ONE) // np.uint64(links)
            if places[key, _SIZE] > places[key, _HEAD]:
                if since[key] == NEVER:
                    keys[count] = np.int64(key)
                    count += ONE
                since[key] = min(since[key], changed_from[number])
            entry = np.uint64(chain[entry - ONE])
    return int(np.int64(count))


# -- lists -----------------------------------------------------------------------------------


@part
def _load(
    tail: WordMatrix, size: Word, oldest: Time, source_slots: Integers, lists: Matrix,
    sizes: Integers,
) -> tuple[Time, Time]:  # fmt: skip
    """The source intervals of a key as lists; gives from when to when there are any."""
    low, high = NEVER, np.int64(0)
    for empty in range(np.uint64(len(sizes))):
        sizes[empty] = 0
    for row in range(size):
        start, end = np.int64(tail[row, START]), np.int64(tail[row, END])
        if end > oldest:
            slot = np.uint64(source_slots[np.uint64(tail[row, NUMBER])])
            count = add_interval(lists[slot], np.uint64(sizes[slot]), start, end)
            sizes[slot] = np.int64(count)
            low, high = min(low, start), max(high, end)
    return low, high


SLOT, LINK, LINKED_NUMBER = (np.uint64(column) for column in range(3))
"""The columns of linked sources: the list they become, the link, and the number of their rows."""


@part
def _load_linked(
    linked: Matrix, targets: Matrix, key: Word, rows: WordMatrix, places: Matrix, low: Time,
    high: Time, lists: Matrix, sizes: Integers,
) -> None:  # fmt: skip
    """The intervals of linked keys as lists, as far as they reach into a stretch of time."""
    for source in range(np.uint64(len(linked))):
        target = np.uint64(targets[key, np.uint64(linked[source, LINK])])
        number, slot = np.uint64(linked[source, LINKED_NUMBER]), np.uint64(linked[source, SLOT])
        row = np.uint64(places[target, _FIRST] + places[target, _HEAD])
        last = np.uint64(places[target, _FIRST] + places[target, _SIZE])
        while row < last and rows[row, NUMBER] < number:
            row += ONE
        while row < last and rows[row, NUMBER] == number:
            start, end = np.int64(rows[row, START]), np.int64(rows[row, END])
            if start >= high:
                break
            if end > low:
                count = add_interval(lists[slot], np.uint64(sizes[slot]), start, end)
                sizes[slot] = np.int64(count)
            row += ONE


@part
def _run_output(
    rows: WordMatrix, place: Word, last: Word, number: Word, left: Matrix, left_count: Word,
    bound: Time, oldest: Time, earliest: Time, to: Matrix,
) -> Word:  # fmt: skip
    """What was reported of an output up to a bound, and what a list has that goes on after it.

    What ended before the oldest point is of no account any more. An interval of the list may begin
    before the bound, but not before the earliest point.
    """
    one, count = ZERO, ZERO
    while place < last and np.uint64(rows[place, NUMBER]) < number:
        place += ONE
    while one < left_count and left[one, ONE] <= bound:
        one += ONE
    while True:
        start, end = NEVER, NEVER
        if place < last and np.uint64(rows[place, NUMBER]) == number:
            start, end = np.int64(rows[place, START]), min(np.int64(rows[place, END]), bound)
            if end < oldest or start >= bound:
                place += ONE
                continue
        if one < left_count and max(left[one, ZERO], earliest) <= start:
            count = add_interval(to, count, max(left[one, ZERO], earliest), left[one, ONE])
            one += ONE
        elif start < NEVER:
            count = add_interval(to, count, start, end)
            place += ONE
        else:
            return count


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
            to[count, NUMBER] = np.uint64(number)
            to[count, START] = np.uint64(lists[slot, place, ZERO])
            to[count, END] = np.uint64(lists[slot, place, ONE])
            count += ONE
    return count


@part
def _report(
    rows: WordMatrix, place: Word, last: Word, bound: Time, reaches: Integers,
    results: WordMatrix, count: Word, key: Word, output: Matrix, written: Word,
) -> Word:  # fmt: skip
    """Write what is in one of two ordered lists of intervals only; what is over stands."""
    row = ZERO
    while place < last or row < count:
        if place < last:
            oldest = bound - reaches[np.uint64(rows[place, NUMBER])]
            if np.int64(rows[place, END]) < oldest:
                place += ONE
                continue
        order = np.int64(1)
        if row == count:
            order = np.int64(-1)
        elif place < last:
            order = _compared(rows, place, results, row)
        if order != 0:
            source, from_row = (rows, place) if order < 0 else (results, row)
            number = np.int64(source[from_row, NUMBER])
            output[written, np.uint64(0)] = number + (GONE if order < 0 else 0)
            output[written, np.uint64(1)] = np.int64(key)
            output[written, np.uint64(2)] = np.int64(source[from_row, START])
            output[written, np.uint64(3)] = np.int64(source[from_row, END])
            written += ONE
        if order <= 0:
            place += ONE
        if order >= 0:
            row += ONE
    return written


@kernel(
    "matrix integers integers integers matrix integers integers integers word-matrix "
    "word-matrix "
    "writable-word-matrix writable-matrix writable-integers "
    "writable-word-matrix writable-matrix writable-integers "
    "word-matrix matrix matrix byte-matrix words writable-integers "
    "writable-integers writable-small writable-small writable-small integer "
    "integer integer integer integer integer writable-cube writable-integers writable-word-matrix "
    "writable-word-matrix writable-tags writable-matrix writable-integers",
    "integer",
    counted=(5, 8, 9),
)
def walk_lists(
    program: Matrix, outputs: Integers, reaches: Integers, source_slots: Integers,
    linked: Matrix, visits: Integers, come_firsts: Integers, gone_firsts: Integers,
    come: WordMatrix, gone: WordMatrix,
    rows: WordMatrix, places: Matrix, counts: Integers,
    told_rows: WordMatrix, told_places: Matrix, told_counts: Integers,
    linked_rows: WordMatrix, linked_places: Matrix, targets: Matrix, conditions: Bytes,
    allowed: Words, since: Integers,
    dues: Integers, links: SmallIntegers, back_links: SmallIntegers, heads: SmallIntegers,
    width: int, edge_bound: int, oldest: int, first: int, query: int, tick: int, lists: Matrix,
    sizes: Integers, tail: WordMatrix, results: WordMatrix, no_tags: Tags, output: Matrix,
    progress: Integers,
) -> int:  # fmt: skip
    """Evaluate the keys that are visited; gives how it ended.

    `edge_bound` is the first point after the edge, `oldest` the point after which sources must end
    to be kept, `since` the first point at which a key has changed by other than its own sources
    (it becomes `NEVER`), and `reaches` say how far before the edge each output may begin.
    `progress` is the number of visits done, that of output rows, and how much room is needed if it
    is not enough.
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
        most = (last - begin) + (arrivals - arrival) + (told_last - told_first)
        for source in range(np.uint64(len(linked))):
            target = np.uint64(targets[key, np.uint64(linked[source, LINK])])
            most += np.uint64(linked_places[target, _SIZE] - linked_places[target, _HEAD])
        most += np.uint64(len(program) + 2)
        if most > room:
            progress[2] = np.int64(most)
            return NEEDS_LISTS
        most *= np.uint64(len(outputs)) + ONE
        if written + most > np.uint64(len(output)):
            return NEEDS_OUTPUT
        # Both are written or none: what has come must not come twice.
        if not (_has_room(rows, counts, most) and _has_room(told_rows, told_counts, most)):
            return NEEDS_ROWS
        size = _with_changes(
            rows, begin, last, come, arrival, arrivals, gone, removal, removals, tail
        )
        changed = _first_change(come, arrival, arrivals, gone, removal, removals)
        # What is long or short may be so no more by a change of its end, or be so from now on.
        reach = np.int64(edge_bound - oldest)
        bound = max(np.int64(edge_bound), min(changed, since[key]) - np.int64(tick) - reach)
        low, high = _load(tail, size, bound - reach, source_slots, lists, sizes)
        if low < high:
            _load_linked(linked, targets, key, linked_rows, linked_places, low, high, lists, sizes)
        for row in range(np.uint64(len(program))):
            to = np.uint64(program[row, np.uint64(TO)])
            one = np.uint64(program[row, np.uint64(SOURCE)])
            two = np.uint64(program[row, np.uint64(OTHER)])
            left_count = np.uint64(sizes[one])
            if program[row, np.uint64(OP)] == OUTPUT:
                which = np.uint64(program[row, np.uint64(PARAMETER)])
                if (allowed[key] >> which) & ONE == ZERO:
                    left_count = ZERO
                count = _run_output(
                    told_rows, told_first, told_last, which, lists[one], left_count,
                    bound, np.int64(edge_bound) - reaches[which], bound - reaches[which],
                    lists[to],
                )  # fmt: skip
            else:
                count = run_row(
                    program, row, lists[one], left_count, lists[two], np.uint64(sizes[two]),
                    conditions, key, np.int64(first), np.int64(query), lists[to],
                )  # fmt: skip
            sizes[to] = np.int64(count)
        count = _results(outputs, lists, sizes, results)
        written = _report(
            told_rows, told_first, told_last, np.int64(edge_bound), reaches, results, count,
            key, output, written,
        )  # fmt: skip
        size = _without_old(tail, size, np.int64(oldest) + 1)
        count = _without_old(results, count, np.int64(oldest))
        splice(
            rows, no_tags, places, counts, key, np.uint64(places[key, _HEAD]),
            np.uint64(places[key, _SIZE]), tail, no_tags, size,
        )  # fmt: skip
        splice(
            told_rows, no_tags, told_places, told_counts, key, np.uint64(told_places[key, _HEAD]),
            np.uint64(told_places[key, _SIZE]), results, no_tags, count,
        )  # fmt: skip
        due = _next_length(program, lists, sizes, np.int64(query))
        set_due(key, due, np.int64(width), dues, links, back_links, heads)
        since[key] = NEVER
        progress[0], progress[1] = np.int64(number) + 1, np.int64(written)
    return DONE
