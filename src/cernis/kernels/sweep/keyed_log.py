"""Rows by key: changes are placed with those of their key, and each key has its rows together.

The rows of a key lie in a *place* of 8, 16, 32, ... rows of one large array. Rows that are
forgotten stand before the head of the key; when the end of the place is reached, the others move to
its beginning, or to a place of twice the size. Places that are given back are used again.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Array, Bytes, Integers, Matrix, Tags, Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.lane_rows import (
    copy_beside,
    copy_row,
    copy_rows,
    move_rows,
    put_row,
    put_state,
    put_tag,
    state_at,
    time_at,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Word

FIRST, CAPACITY, HEAD, SIZE = range(4)
"""The columns of places: where it begins, how many rows fit, rows forgotten, rows in all."""

TOP, FREE_PLACES = 8, 16
"""In the array of counts: how much of the rows has been given out, and for each size the first
place that is free, plus 1."""

AS_THEY_ARE, IN_NEWS, IN_SPARE = range(3)
"""Where rows are that have been sorted."""

SMALLEST = np.uint64(8)
NO_PLACE = np.uint64(2**63)
_S32, _S16, _M32 = np.uint64(32), np.uint64(16), np.uint64(0xFFFFFFFF)


# -- places ----------------------------------------------------------------------------------


@part
def size_class(count: Word) -> Word:
    """The number of the smallest size of places that has room for so many rows."""
    number, size = ZERO, SMALLEST
    while size < count:
        number += ONE
        size += size
    return number


@part
def take_place(rows: Words, counts: Integers, number: Word) -> Word:
    """A place of a size; `NO_PLACE` if the array of rows has to grow first."""
    free = np.uint64(FREE_PLACES) + number
    if counts[free] != 0:
        place = np.uint64(counts[free] - 1)
        counts[free] = np.int64(rows[place]) if rows.ndim == 1 else np.int64(rows[place, ZERO])
        return place
    place = np.uint64(counts[np.uint64(TOP)])
    size = SMALLEST << number
    if place + size > np.uint64(rows.shape[0]):
        return NO_PLACE
    counts[np.uint64(TOP)] += np.int64(size)
    return place


@part
def give_back(rows: Words, counts: Integers, place: Word, capacity: Word) -> None:
    """Let a place be used again."""
    free = np.uint64(FREE_PLACES) + size_class(capacity)
    if rows.ndim == 1:
        rows[place] = np.uint64(counts[free])
    else:
        rows[place, ZERO] = np.uint64(counts[free])
    counts[free] = np.int64(place) + 1


_FIRST, _CAPACITY, _HEAD, _SIZE = (np.uint64(column) for column in (FIRST, CAPACITY, HEAD, SIZE))


@part
def splice(
    rows: Words, tags: Tags, places: Matrix, counts: Integers, key: Word, begin: Word,
    end: Word, tail: Words, tail_tags: Tags, size: Word,
) -> bool:  # fmt: skip
    """Write the new rows of a key in place of those from `begin` to `end`.

    It gives false if there is no room. Rows are counted from the beginning of the key's place.
    """
    first, capacity = np.uint64(places[key, _FIRST]), np.uint64(places[key, _CAPACITY])
    head, last = np.uint64(places[key, _HEAD]), np.uint64(places[key, _SIZE])
    rest = last - end
    total = begin - head + size + rest
    if begin + size + rest > capacity:
        if total + (total >> ONE) <= capacity:
            move_rows(rows, tags, first + head, first + last, first)
        else:
            wanted = size_class(total + (total >> ONE))
            place = take_place(rows, counts, wanted)
            if place == NO_PLACE:
                return False
            copy_rows(rows, tags, first + head, first + last, rows, tags, place)
            if capacity > ZERO:
                give_back(rows, counts, first, capacity)
            first = place
            places[key, _FIRST] = np.int64(first)
            places[key, _CAPACITY] = np.int64(SMALLEST << wanted)
        begin, end, last = begin - head, end - head, last - head
        places[key, _HEAD] = 0
    if rest > ZERO:
        move_rows(rows, tags, first + end, first + last, first + begin + size)
    copy_rows(tail, tail_tags, ZERO, size, rows, tags, first + begin)
    places[key, _SIZE] = np.int64(begin + size + rest)
    return True


# -- placing ---------------------------------------------------------------------------------


@kernel("integers integers integer " + "writable-integers " * 3, "nothing", counted=(0,))
def count_changes(
    keys: Integers, times: Integers, edge: int, counts: Integers, visits: Integers,
    totals: Integers,
) -> None:  # fmt: skip
    """Count the changes of each key after the edge, and note each key that is met first.

    `totals` are how many keys are noted, how many changes there are, and how many are too late.
    """
    visited, late = np.uint64(totals[0]), 0
    for row in range(np.uint64(len(keys))):
        if times[row] <= edge:
            late += 1
            continue
        key = np.uint64(keys[row])
        count = counts[key]
        if count == 0:
            visits[visited] = keys[row]
            visited += ONE
        counts[key] = count + 1
    totals[0] = np.int64(visited)
    totals[1] += len(keys) - late
    totals[2] += late


@kernel("integers writable-integers writable-integers", "nothing", counted=(0,))
def offsets(visits: Integers, counts: Integers, firsts: Integers) -> None:
    """Where the changes of each visited key begin; its count becomes the place of the next one."""
    total = 0
    for number in range(np.uint64(len(visits))):
        key = np.uint64(visits[number])
        firsts[number] = total
        total += counts[key]
        counts[key] = firsts[number]
    firsts[np.uint64(len(visits))] = total


def _place_changes(
    keys: Integers, times: Integers, fired: Words, edge: int, base: int, mark: int,
    counts: Integers, pending: Words, beside: Array, pending_beside: Array,
) -> None:  # fmt: skip
    """Write changes into rows, with those of their key, and tags or payload beside them, if any."""
    word = np.uint64(mark)
    for row in range(np.uint64(len(keys))):
        if times[row] > edge:
            key = np.uint64(keys[row])
            place = np.uint64(counts[key])
            counts[key] += 1
            put_row(pending, place, np.uint64(times[row] - base), np.uint64(fired[row]), word)
            if beside.ndim == 1:
                tag = np.uint64(beside[row]) if len(beside) > 0 else ZERO
                put_tag(pending, pending_beside, place, tag)
            else:
                if pending.ndim == 2:
                    pending[place, np.uint64(3)] = ZERO
                for column in range(np.uint64(beside.shape[1])):
                    pending_beside[place, column] = beside[row, column]


PLACING = {
    (is_wide, has_values): kernel(
        f"integers integers {fired} integer integer integer writable-integers {rows} {beside} "
        f"writable-{'matrix' if has_values else 'tags'}",
        "nothing", counted=(0,),
    )(_place_changes)
    for is_wide, fired, rows in (
        (False, "half", "writable-words"), (True, "words", "writable-word-matrix")
    )
    for has_values, beside in ((False, "writable-tags"), (True, "matrix"))
}  # fmt: skip
"""By whether rows are wide, and whether the lane has registers."""


@kernel("integers integer integers writable-bytes writable-integers", "integer", counted=(0,))
def note_visits(
    keys: Integers, visited: int, counts: Integers, marks: Bytes, visits: Integers
) -> int:
    """Add keys to those that are visited, unless they are among them; gives how many there are.

    Those that have changes are among them.
    """
    for row in range(np.uint64(len(keys))):
        key = np.uint64(keys[row])
        if counts[key] == 0 and marks[key] == 0:
            marks[key] = 1
            visits[np.uint64(visited)] = keys[row]
            visited += 1
    return visited


# -- the changes of a key in order -----------------------------------------------------------


@part
def _is_before(left: Words, place: Word, right: Words, other: Word) -> bool:
    """Does a row come before another? Narrow ones are compared as numbers, so time decides."""
    if left.ndim == 1:
        return bool(left[place] < right[other])
    else:
        return bool(left[place, ZERO] < right[other, ZERO])


@part
def _merge(
    left: Words, low: Word, middle: Word, right: Words, other: Word, high: Word, target: Words,
    to: Word,
) -> None:  # fmt: skip
    """Merge two runs, from `low` up to `middle` and from `other` up to `high`."""
    if left.ndim == 1:
        while low < middle and other < high:
            one, two = left[low], right[other]
            is_right = np.uint64(two < one)
            target[to] = two if two < one else one
            other += is_right
            low += ONE - is_right
            to += ONE
    else:
        while low < middle and other < high:
            if _is_before(right, other, left, low):
                copy_row(right, other, target, to)
                other += ONE
            else:
                copy_row(left, low, target, to)
                low += ONE
            to += ONE
    while low < middle:
        copy_row(left, low, target, to)
        low += ONE
        to += ONE
    while other < high:
        copy_row(right, other, target, to)
        other += ONE
        to += ONE


@part
def _natural_runs(rows: Words, low: Word, high: Word, runs: Integers) -> Word:
    """Note where the stretches of rows begin that are in order; gives how many there are."""
    count = ONE
    runs[ZERO] = np.int64(low)
    for place in range(low + ONE, high):
        if _is_before(rows, place, rows, place - ONE):
            runs[count] = np.int64(place)
            count += ONE
    runs[count] = np.int64(high)
    return count


@part
def _longest_run(runs: Integers, count: Word) -> Word:
    longest = ZERO
    for number in range(count):
        length = runs[number + ONE] - runs[number]
        if length > runs[longest + ONE] - runs[longest]:
            longest = np.uint64(number)
    return longest


@part
def _merge_runs(source: Words, target: Words, runs: Integers, count: Word) -> Word:
    """Merge neighbouring runs two by two, to the beginning of the target; gives how many are left.

    `runs` has where they begin, in the source before and in the target afterwards.
    """
    left, number, to = ZERO, ZERO, ZERO
    while number < count:
        low, middle = np.uint64(runs[number]), np.uint64(runs[number + ONE])
        high = np.uint64(runs[number + ONE + ONE]) if number + ONE < count else middle
        _merge(source, low, middle, source, middle, high, target, to)
        runs[left] = np.int64(to)
        to += high - low
        left += ONE
        number += ONE + ONE
    runs[left] = np.int64(to)
    return left


@part
def _copy_others(source: Words, runs: Integers, count: Word, longest: Word, target: Words) -> Word:
    """Copy all runs but the longest, side by side; gives how many there are."""
    to, left = ZERO, ZERO
    for number in range(count):
        if number != longest:
            low, high = np.uint64(runs[number]), np.uint64(runs[number + ONE])
            runs[left] = np.int64(to)
            left += ONE
            for place in range(low, high):
                copy_row(source, place, target, to)
                to += ONE
    runs[left] = np.int64(to)
    return left


@part
def sort_rows(
    pending: Words, low: Word, high: Word, news: Words, spare: Words, runs: Integers
) -> int:
    """Have some rows in order: `AS_THEY_ARE`, or written `IN_NEWS` or `IN_SPARE`.

    Each relation's records are one run at most places, and one run is most of the rows: it is
    merged last, so that its rows are moved once.
    """
    count = _natural_runs(pending, low, high, runs)
    if count == ONE:
        return AS_THEY_ARE
    longest = _longest_run(runs, count)
    first, last = np.uint64(runs[longest]), np.uint64(runs[longest + ONE])
    count = _copy_others(pending, runs, count, longest, news)
    is_spare = False
    while count > ONE:
        if is_spare:
            count = _merge_runs(spare, news, runs, count)
        else:
            count = _merge_runs(news, spare, runs, count)
        is_spare = not is_spare
    others = np.uint64(runs[ONE])
    if is_spare:
        _merge(spare, ZERO, others, pending, first, last, news, ZERO)
        return IN_NEWS
    _merge(news, ZERO, others, pending, first, last, spare, ZERO)
    return IN_SPARE


@part
def number_rows(pending: Words, low: Word, high: Word, numbered: Words) -> None:
    """Write the time of each row with its number, so that tags can be found after sorting."""
    for place in range(low, high):
        numbered[place - low] = (time_at(pending, place) << _S32) | (place - low)


@part
def gather_rows(
    pending: Words, tags: Tags, low: Word, count: Word, numbered: Words, news: Words,
    news_tags: Tags,
) -> None:  # fmt: skip
    """Write the rows that have been sorted by number, with their tags."""
    for place in range(count):
        number = low + (numbered[place] & _M32)
        copy_row(pending, number, news, place)
        copy_beside(tags, number, news_tags, place)


@part
def mark_numbers(pending: Words, low: Word, high: Word) -> None:
    """Write the number of each wide row beside its mark, so that payloads can be found."""
    for place in range(low, high):
        mark = state_at(pending, place) & ONE
        put_state(pending, place, mark | ((place - low) << ONE))


@part
def restore_marks(pending: Words, low: Word, high: Word) -> None:
    """Take the numbers of wide rows from their marks."""
    for place in range(low, high):
        put_state(pending, place, state_at(pending, place) & ONE)


@part
def gather_payloads(rows: Words, count: Word, tags: Tags, low: Word, target: Tags) -> None:
    """Write the payloads of wide rows that have been sorted; they have their marks again."""
    for place in range(count):
        copy_beside(tags, low + (state_at(rows, place) >> ONE), target, place)
    restore_marks(rows, ZERO, count)
