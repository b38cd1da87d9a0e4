"""The arrays of the walk, put together by what they are about, and the places in them.

Beside each structure stand the words of its fields, as signatures of kernels have them. What rows
are, and what stands beside them, depends on the lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import (
    Bytes,
    Floats,
    Integers,
    Matrix,
    SmallIntegers,
    Tags,
    WordMatrix,
    Words,
)
from cernis.kernels.sweep.keyed_log import CAPACITY, FIRST, HEAD, SIZE
from cernis.kernels.sweep.lane_tables import (
    ARMED,
    ARMED_BITS,
    DELAY,
    DELAY_COUNT,
    DELAY_SIZE,
    DELAYS_AT,
    DUE,
    DUE_BITS,
    REGISTERS_AT,
    REPORTED,
    REPORTED_SIGNALS,
    TICK,
)
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

EDGE_STATE, ALLOWED, ALLOWED_NOW, FIRST_NOW = (np.uint64(column) for column in range(4))
"""The columns of key states: the handle of the state at the edge, what groundings allowed when the
rows of the key were walked, what they allow now, and what it is to begin with, if that changes."""

IS_NEW, IS_CHANGED, IS_BEGUN_AGAIN, HAS_CONFLICTS = 1, 2, 4, 8
"""Marks of keys: nothing of it has been told; what groundings allow has changed, or what holds
initially; there may be conflicts among its rows. Without the last mark there are none."""
OTHER_MARKS = IS_NEW | IS_CHANGED | IS_BEGUN_AGAIN

IS_COME, IS_GONE, IS_SIGNAL = 0, 128, 64
"""An output row begins with a bit plus these: an interval or a signal has come, or has gone."""

VISIT, WRITTEN, CONFLICTS, UNMATCHED, WALKED, ROOM = range(6)
"""The places of progress: visits done, output rows written, conflicts more than before, changes
that take back what is not there, points walked, and how much room is missing."""

DONE, NEEDS_ROWS, NEEDS_TAIL, NEEDS_OUTPUT, NEEDS_IDS = range(5)
"""How a walk ends: done, or some array has to grow, or ids are used up."""

OUTPUT_AT_ONCE = np.uint64(256)
"""More output rows than one point makes."""

UNKNOWN = np.int64(np.iinfo(np.int64).min)
NO_TIME = np.uint64(2**62)
AT_ARMED_BITS, AT_DUE_BITS = np.uint64(ARMED_BITS), np.uint64(DUE_BITS)
AT_DELAYS, AT_DELAY_COUNT, AT_DELAY_SIZE = (
    np.uint64(place) for place in (DELAYS_AT, DELAY_COUNT, DELAY_SIZE)
)
AT_ARMED, AT_DELAY, AT_DUE = np.uint64(ARMED), np.uint64(DELAY), np.uint64(DUE)
AT_REPORTED, AT_TICK = np.uint64(REPORTED), np.uint64(TICK)
AT_REPORTED_SIGNALS, AT_REGISTERS = np.uint64(REPORTED_SIGNALS), np.uint64(REGISTERS_AT)
AT_FIRST, AT_CAPACITY, AT_HEAD, AT_SIZE = (
    np.uint64(column) for column in (FIRST, CAPACITY, HEAD, SIZE)
)
NEW_LINE, OLD_LINE = ZERO, ONE
NEW_VALUES, OLD_VALUES, NEXT_NEW_VALUES, NEXT_OLD_VALUES = (np.uint64(line) for line in range(2, 6))
"""The lines of starts: since when bits have held in both histories, then the values of registers in
them before a point, and after it."""
START_LINES = 6
CONFLICT_SHIFT = np.uint64(8)
FLAGS = np.uint64(0xFFFFFF)
NO_HANDLE = np.uint64(2**64 - 1)


LANE_MACHINE = (
    "(words writable-words writable-small writable-words writable-small "
    "writable-integers writable-words writable-floats)"
)


class LaneMachine(NamedTuple):
    """The rules of a lane, its ids and what is remembered of its transitions."""

    lane: Words
    state_words: Words
    state_ids: SmallIntegers
    fired_words: Words
    fired_ids: SmallIntegers
    counts: Integers
    memo: Words
    numbers: Floats
    """Room for guards, and what codes stand for."""


LOG_KINDS = tuple(
    (is_wide, has_values) for is_wide in (False, True) for has_values in (False, True)
)
"""The kinds of lanes: are rows wide, and has the lane registers?"""

LOG_ROWS = (10,)
"""The field with the places of keys, where a kernel is called with a machine and a log first."""


def kind_words(is_wide: bool, has_values: bool) -> tuple[str, str]:
    """The words of rows and of what stands beside them."""
    return (
        "writable-word-matrix" if is_wide else "writable-words",
        "writable-matrix" if has_values else "writable-tags",
    )


def log_words(rows: str, beside: str) -> str:
    """The words of `KeyLog`."""
    return (
        f"({rows} {beside} writable-matrix writable-word-matrix writable-matrix "
        "writable-matrix writable-matrix writable-bytes integers)"
    )


class KeyLog(NamedTuple):
    """The rows of all keys, and what is known of each key at the edge and at the end."""

    rows: Words
    tags: Tags
    places: Matrix
    states: WordMatrix
    edge_arms: Matrix
    edge_since: Matrix
    since: Matrix
    marks: Bytes
    slots: Integers


def change_words(rows: str, beside: str) -> str:
    """The words of `KeyChanges`."""
    return f"(integers integers {rows} {beside})"


class KeyChanges(NamedTuple):
    """The keys to visit, and the changes of each as rows.

    Those of the key `visits[k]` are `rows[firsts[k]:firsts[k+1]]`.
    """

    visits: Integers
    firsts: Integers
    rows: Words
    tags: Tags


def scratch_words(rows: str, beside: str) -> str:
    """The words of `Scratch`."""
    return (
        f"({rows} {beside} {rows} writable-integers {rows} "
        f"{beside} writable-matrix writable-matrix)"
    )


class Scratch(NamedTuple):
    """Room for one key: its changes in order, and its new rows."""

    news: Words
    news_tags: Tags
    spare: Words
    runs: Integers
    tail: Words
    tail_tags: Tags
    arms: Matrix
    starts: Matrix


WINDOW_TIMES = "(integer integer integer)"


class WindowTimes(NamedTuple):
    """What times of rows count from, the edge of the window, and the time of the query."""

    base: int
    edge: int
    query: int


class KeyVisit(NamedTuple):
    """A key while it is walked: where its rows lie, what is known at the edge, and times.

    `begin` is the first point after the edge.
    """

    key: Word
    head: Word
    last: Word
    edge_state: Word
    allowed: Word
    old_allowed: Word
    base: Time
    begin: Time
    tick: Time
    reported: Word
