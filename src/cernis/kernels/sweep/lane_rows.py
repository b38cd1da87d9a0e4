"""Rows of a lane: what happened to a key at a time, and the state after it.

A *narrow* row is one word: 32 bits of time, 16 of the id of a fired word, 16 of the id of a state.
A *wide* row has four words: time, fired word, state word, tag. Loops are written once for both: an
array of narrow rows has one dimension, one of wide rows has two, and the compiler drops the branch
that does not apply. A *handle* is what a row has of a fired word or a state: an id, or the word.

Times are those since a base, and positive. Rows of records that have come but have not been walked
have a mark in place of the state.

What stands *beside* rows is in another array, `tags`. One of a single dimension has the tags of
narrow rows, or nothing. In lanes with registers it has two: the payload of each record, and then
the values of the registers after it. Loops are written once for these as well.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Tags, Words
from cernis.kernels.compile import part
from cernis.kernels.sweep.word_bits import ONE, ZERO, Word

COME, GONE = np.uint64(0), np.uint64(1)
"""The marks of rows that have not been walked: a record has come, or is taken back."""

TIME_BITS = 32
WIDE_COLUMNS = 4
_TIME, _FIRED, _STATE, _TAG = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_S32, _S16, _M16 = np.uint64(32), np.uint64(16), np.uint64(0xFFFF)
_NOT_STATE, _NOT_FIRED = np.uint64(0xFFFFFFFFFFFF0000), np.uint64(0xFFFFFFFF0000FFFF)


@part
def time_at(rows: Words, place: Word) -> Word:
    """The time of a row."""
    if rows.ndim == 1:
        return rows[place] >> _S32
    else:
        return rows[place, _TIME]


@part
def fired_at(rows: Words, place: Word) -> Word:
    """The handle of the fired word of a row."""
    if rows.ndim == 1:
        return (rows[place] >> _S16) & _M16
    else:
        return rows[place, _FIRED]


@part
def state_at(rows: Words, place: Word) -> Word:
    """The handle of the state after a row, or the mark of one that has not been walked."""
    if rows.ndim == 1:
        return rows[place] & _M16
    else:
        return rows[place, _STATE]


@part
def put_row(rows: Words, place: Word, time: Word, fired: Word, state: Word) -> None:
    """Write a row."""
    if rows.ndim == 1:
        rows[place] = (time << _S32) | (fired << _S16) | state
    else:
        rows[place, _TIME], rows[place, _FIRED], rows[place, _STATE] = time, fired, state


@part
def put_state(rows: Words, place: Word, state: Word) -> None:
    """Write the state of a row."""
    if rows.ndim == 1:
        rows[place] = (rows[place] & _NOT_STATE) | state
    else:
        rows[place, _STATE] = state


@part
def put_fired(rows: Words, place: Word, fired: Word) -> None:
    """Write the handle of the fired word of a row."""
    if rows.ndim == 1:
        rows[place] = (rows[place] & _NOT_FIRED) | (fired << _S16)
    else:
        rows[place, _FIRED] = fired


@part
def copy_row(source: Words, place: Word, target: Words, to: Word) -> None:
    """Copy a row."""
    if source.ndim == 1:
        target[to] = source[place]
    else:
        for column in range(WIDE_COLUMNS):
            target[to, np.uint64(column)] = source[place, np.uint64(column)]


@part
def put_walked(source: Words, place: Word, target: Words, to: Word, state: Word) -> None:
    """Copy the row of a record that has come, with the state after it."""
    if source.ndim == 1:
        target[to] = source[place] | state
    else:
        copy_row(source, place, target, to)
        target[to, _STATE] = state


@part
def tag_at(rows: Words, tags: Tags, place: Word) -> Word:
    """The tag of the record of a row; 0 where rows have none."""
    if rows.ndim == 2:
        return rows[place, _TAG]
    elif tags.ndim == 1:
        return np.uint64(tags[place]) if len(tags) > 0 else ZERO
    else:
        return ZERO


@part
def put_tag(rows: Words, tags: Tags, place: Word, tag: Word) -> None:
    """Write the tag of a row, where rows have one; a payload becomes nothing but zeros."""
    if rows.ndim == 2:
        rows[place, _TAG] = tag
    if tags.ndim == 2:
        for column in range(np.uint64(tags.shape[1])):
            tags[place, column] = 0
    elif len(tags) > 0:
        tags[place] = tag


@part
def copy_beside(tags: Tags, place: Word, target: Tags, to: Word) -> None:
    """Copy what stands beside a row in an array of its own, as far as there is room for it."""
    if tags.ndim == 2:
        for column in range(np.uint64(min(tags.shape[1], target.shape[1]))):
            target[to, column] = tags[place, column]
    elif len(tags) > 0:
        target[to] = tags[place]


@part
def is_same_payload(tags: Tags, place: Word, others: Tags, other: Word) -> bool:
    """Have two rows the same payload, if they have any? The first has not been walked."""
    if tags.ndim == 2:
        for column in range(np.uint64(tags.shape[1])):
            if tags[place, column] != others[other, column]:
                return False
    return True


@part
def fired_word(rows: Words, words: Words, handle: Word) -> Word:
    """The fired word that a handle stands for."""
    if rows.ndim == 1:
        return words[handle]
    else:
        return handle


@part
def state_word(rows: Words, words: Words, handle: Word) -> Word:
    """The state word that a handle stands for."""
    if rows.ndim == 1:
        return words[handle + handle]
    else:
        return handle


@part
def move_rows(rows: Words, tags: Tags, first: Word, stop: Word, to: Word) -> None:
    """Move rows within an array, whichever way they overlap."""
    count = stop - first
    if to < first:
        for step in range(count):
            copy_row(rows, first + step, rows, to + step)
            copy_beside(tags, first + step, tags, to + step)
    elif to > first:
        step = count
        while step > ZERO:
            step -= ONE
            copy_row(rows, first + step, rows, to + step)
            copy_beside(tags, first + step, tags, to + step)


@part
def copy_rows(
    source: Words, source_tags: Tags, first: Word, stop: Word, target: Words,
    target_tags: Tags, to: Word,
) -> None:  # fmt: skip
    """Copy rows from one array to another."""
    for step in range(stop - first):
        copy_row(source, first + step, target, to + step)
    if len(source_tags) > 0:
        for step in range(stop - first):
            copy_beside(source_tags, first + step, target_tags, to + step)


@part
def first_from(rows: Words, low: Word, high: Word, time: Word) -> Word:
    """The first of the rows, which are in order, whose time is not before the given one."""
    if low == high or time_at(rows, high - ONE) < time:
        return high
    while low < high:
        middle = (low + high) >> ONE
        if time_at(rows, middle) < time:
            low = middle + ONE
        else:
            high = middle
    return low
