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
    Integers,
    Matrix,
    SmallIntegers,
    Tags,
    WordMatrix,
)
from cernis.kernels.compile import fetch_line, kernel, part
from cernis.kernels.sweep.key_calendar import CALENDAR, NEVER, Calendar, set_due
from cernis.kernels.sweep.keyed_log import FIRST, HEAD, SIZE, TOP, splice
from cernis.kernels.sweep.list_arrays import (
    KEYED_ROWS,
    LIST_ROOM,
    LIST_ROWS,
    LIST_TIMES,
    LISTED_KEYS,
    SOURCE_NEWS,
    KeyedRows,
    ListedKeys,
    ListRoom,
    ListRows,
    ListTimes,
    SourceNews,
)
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


@part
def _news_size(news: SourceNews, number: Word) -> Word:
    """How many intervals of its sources have come for a visit."""
    return np.uint64(news.come_firsts[number + ONE] - news.come_firsts[number])


@part
def _row_count(store: KeyedRows, key: Word) -> Word:
    return np.uint64(store.places[key, _SIZE] - store.places[key, _HEAD])


@part
def _first_row(store: KeyedRows, key: Word) -> Word:
    return np.uint64(store.places[key, _FIRST] + store.places[key, _HEAD])


@part
def _enter_news(
    news: SourceNews, number: Word, key: Word, store: KeyedRows, tail: WordMatrix
) -> tuple[Word, Time]:
    """Write the source intervals of a key as they are now; gives how many, and what point moved."""
    begin = _first_row(store, key)
    arrival, arrivals = (
        np.uint64(news.come_firsts[number]),
        np.uint64(news.come_firsts[number + ONE]),
    )
    removal, removals = (
        np.uint64(news.gone_firsts[number]),
        np.uint64(news.gone_firsts[number + ONE]),
    )
    size = _with_changes(
        store.rows, begin, begin + _row_count(store, key), news.come, arrival, arrivals,
        news.gone, removal, removals, tail,
    )  # fmt: skip
    return size, _first_change(news.come, arrival, arrivals, news.gone, removal, removals)


@part
def _store(store: KeyedRows, key: Word, rows: WordMatrix, size: Word, no_tags: Tags) -> None:
    """Put rows in the place of all that a key has."""
    splice(
        store.rows, no_tags, store.places, store.counts, key,
        np.uint64(store.places[key, _HEAD]), np.uint64(store.places[key, _SIZE]), rows, no_tags,
        size,
    )  # fmt: skip


_FAR, _NEAR = np.uint64(8), np.uint64(4)
"""How many visits ahead memory is asked for: the places of keys, and their rows."""


@part
def _fetch_ahead(visits: Integers, number: Word, store: KeyedRows) -> None:
    """Have the rows of the next visits on their way, so that these need not wait for them."""
    if number + _FAR < np.uint64(len(visits)):
        fetch_line(store.places, np.uint64(visits[number + _FAR]), ZERO)
    if number + _NEAR < np.uint64(len(visits)):
        first = _first_row(store, np.uint64(visits[number + _NEAR]))
        for rows in range(_NEAR):
            fetch_line(store.rows, first + rows + rows, ZERO)


@kernel(
    f"{SOURCE_NEWS} {KEYED_ROWS} integer writable-word-matrix writable-tags writable-integers "
    "writable-integers",
    "integer",
    counted=(0, 3, 4),
)
def change_rows(
    news: SourceNews, store: KeyedRows, oldest: int, tail: WordMatrix, no_tags: Tags,
    changed_from: Integers, progress: Integers,
) -> int:  # fmt: skip
    """Enter changes into the rows of keys that others are linked to; gives how it ended.

    `changed_from` is the first point of each visit at which something changes. Rows that ended by
    the oldest point are given up. `progress` is the number of visits done, and
    how much room is needed if it is not enough.
    """
    for number in range(np.uint64(progress[0]), np.uint64(len(news.visits))):
        _fetch_ahead(news.visits, number, store)
        key = np.uint64(news.visits[number])
        most = _row_count(store, key) + _news_size(news, number)
        if most > np.uint64(len(tail)):
            progress[2] = np.int64(most)
            return NEEDS_LISTS
        if not _has_room(store.rows, store.counts, most):
            return NEEDS_ROWS
        size, changed_from[number] = _enter_news(news, number, key, store, tail)
        size = _without_old(tail, size, np.int64(oldest) + 1)
        _store(store, key, tail, size, no_tags)
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


@part
def _last_end(store: KeyedRows, key: Word) -> Time:
    """When the last interval of a key ends."""
    last, first = -NEVER, _first_row(store, key)
    for row in range(first, first + _row_count(store, key)):
        last = max(last, np.int64(store.rows[row, END]))
    return last


@kernel(
    f"integers integers integer small small {KEYED_ROWS} integer integer writable-integers "
    "writable-integers",
    "integer",
    counted=(0,),
)
def linked_keys(
    changed: Integers, changed_from: Integers, links: int, heads: SmallIntegers,
    chain: SmallIntegers, sources: KeyedRows, margin: int, oldest: int, since: Integers,
    keys: Integers,
) -> int:  # fmt: skip
    """The keys that changes of keys make a difference to that they are linked to, each once.

    Such a key has intervals of its own that go on after the change, less the margin that durations
    ask for. One whose intervals are all older than the oldest that matter is among them, so that
    they are given up. `since` is the first point at which something changes for a key, `NEVER` if
    nothing does so far.
    """
    count = ZERO
    for number in range(np.uint64(len(changed))):
        entry = np.uint64(heads[np.uint64(changed[number])])
        while entry > ZERO:
            key = (entry - ONE) // np.uint64(links)
            if _row_count(sources, key) > ZERO:
                last = _last_end(sources, key)
                if last > changed_from[number] - margin or last <= oldest:
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
    linked: Matrix, targets: Matrix, key: Word, store: KeyedRows, low: Time, high: Time,
    lists: Matrix, sizes: Integers,
) -> None:  # fmt: skip
    """The intervals of linked keys as lists, as far as they reach into a stretch of time."""
    rows = store.rows
    for source in range(np.uint64(len(linked))):
        target = np.uint64(targets[key, np.uint64(linked[source, LINK])])
        number, slot = np.uint64(linked[source, LINKED_NUMBER]), np.uint64(linked[source, SLOT])
        row = _first_row(store, target)
        last = row + _row_count(store, target)
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


@part
def _most_rows(
    program: ListRows, news: SourceNews, number: Word, key: Word, targets: Matrix,
    sources: KeyedRows, reported: KeyedRows, linked: KeyedRows,
) -> Word:  # fmt: skip
    """As many intervals as any list of a visit may have."""
    most = _row_count(sources, key) + _news_size(news, number) + _row_count(reported, key)
    for source in range(np.uint64(len(program.linked))):
        target = np.uint64(targets[key, np.uint64(program.linked[source, LINK])])
        most += _row_count(linked, target)
    return most + np.uint64(len(program.rows) + 2)


@part
def _run_program(
    program: ListRows, key: Word, keys: ListedKeys, reported: KeyedRows, times: ListTimes,
    bound: Time, lists: Matrix, sizes: Integers,
) -> None:  # fmt: skip
    """Make all lists of a key; before the bound, outputs stay as they were reported."""
    rows = program.rows
    told_first = _first_row(reported, key)
    told_last = told_first + _row_count(reported, key)
    for row in range(np.uint64(len(rows))):
        to = np.uint64(rows[row, np.uint64(TO)])
        one = np.uint64(rows[row, np.uint64(SOURCE)])
        two = np.uint64(rows[row, np.uint64(OTHER)])
        left_count = np.uint64(sizes[one])
        if rows[row, np.uint64(OP)] == OUTPUT:
            which = np.uint64(rows[row, np.uint64(PARAMETER)])
            if (keys.allowed[key] >> which) & ONE == ZERO:
                left_count = ZERO
            reach = program.reaches[which]
            count = _run_output(
                reported.rows, told_first, told_last, which, lists[one], left_count, bound,
                np.int64(times.edge_bound) - reach, bound - reach, lists[to],
            )  # fmt: skip
        else:
            count = run_row(
                rows, row, lists[one], left_count, lists[two], np.uint64(sizes[two]),
                keys.conditions, key, np.int64(times.first), np.int64(times.query), lists[to],
            )  # fmt: skip
        sizes[to] = np.int64(count)


@kernel(
    f"{LIST_ROWS} {SOURCE_NEWS} {KEYED_ROWS} {KEYED_ROWS} {KEYED_ROWS} {LISTED_KEYS} {CALENDAR} "
    f"{LIST_TIMES} {LIST_ROOM} writable-matrix writable-integers",
    "integer",
    counted=(5, 8, 9),
)
def walk_lists(
    program: ListRows, news: SourceNews, sources: KeyedRows, reported: KeyedRows,
    linked: KeyedRows, keys: ListedKeys, calendar: Calendar, times: ListTimes, room: ListRoom,
    output: Matrix, progress: Integers,
) -> int:  # fmt: skip
    """Evaluate the keys that are visited; gives how it ended.

    The time since which a key has changed becomes `NEVER`. `progress` is the number of visits done,
    that of output rows, and how much room is needed if it is not enough.
    """
    lists, sizes, tail, results, no_tags = room
    edge_bound, oldest = np.int64(times.edge_bound), np.int64(times.oldest)
    for number in range(np.uint64(progress[0]), np.uint64(len(news.visits))):
        _fetch_ahead(news.visits, number, sources)
        _fetch_ahead(news.visits, number, reported)
        key, written = np.uint64(news.visits[number]), np.uint64(progress[1])
        most = _most_rows(program, news, number, key, keys.targets, sources, reported, linked)
        if most > np.uint64(lists.shape[1]):
            progress[2] = np.int64(most)
            return NEEDS_LISTS
        most *= np.uint64(len(program.outputs)) + ONE
        if written + most > np.uint64(len(output)):
            return NEEDS_OUTPUT
        # Both are written or none: what has come must not come twice.
        if not (
            _has_room(sources.rows, sources.counts, most)
            and _has_room(reported.rows, reported.counts, most)
        ):
            return NEEDS_ROWS
        size, changed = _enter_news(news, number, key, sources, tail)
        # What is long or short may be so no more by a change of its end, or be so from now on.
        reach = edge_bound - oldest
        bound = max(edge_bound, min(changed, keys.since[key]) - np.int64(times.tick) - reach)
        low, high = _load(tail, size, bound - reach, program.source_slots, lists, sizes)
        if low < high:
            _load_linked(program.linked, keys.targets, key, linked, low, high, lists, sizes)
        _run_program(program, key, keys, reported, times, bound, lists, sizes)
        count = _results(program.outputs, lists, sizes, results)
        first = _first_row(reported, key)
        written = _report(
            reported.rows, first, first + _row_count(reported, key), edge_bound, program.reaches,
            results, count, key, output, written,
        )  # fmt: skip
        _store(sources, key, tail, _without_old(tail, size, oldest + 1), no_tags)
        _store(reported, key, results, _without_old(results, count, oldest), no_tags)
        set_due(key, _next_length(program.rows, lists, sizes, np.int64(times.query)), calendar)
        keys.since[key] = NEVER
        progress[0], progress[1] = np.int64(number) + 1, np.int64(written)
    return DONE
