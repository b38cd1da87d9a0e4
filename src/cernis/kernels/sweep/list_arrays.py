"""The arrays that walks over lists work on: programs, news, keys, times, and room.

News are the keys that a walk visits, each once, with the changes of each together.
"""

from __future__ import annotations

from typing import NamedTuple

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
from cernis.kernels.compile import kernel
from cernis.kernels.sweep.word_bits import ONE

LIST_ROWS = "(matrix integers integers integers matrix)"


class ListRows(NamedTuple):
    """The rows of a program, its outputs, how far before the edge each may begin, and sources."""

    rows: Matrix
    outputs: Integers
    reaches: Integers
    source_slots: Integers
    linked: Matrix


SOURCE_NEWS = "(integers integers integers word-matrix word-matrix)"


class SourceNews(NamedTuple):
    """The keys to visit, and what has come and gone of their sources, as rows.

    Where those of each visit begin, and those of the last end, stands in `come_firsts` and
    `gone_firsts`.
    """

    visits: Integers
    come_firsts: Integers
    gone_firsts: Integers
    come: WordMatrix
    gone: WordMatrix


KEYED_ROWS = "(writable-word-matrix writable-matrix writable-integers)"


class KeyedRows(NamedTuple):
    """Rows of intervals by key, where those of each key lie, and what of the room is in use."""

    rows: WordMatrix
    places: Matrix
    counts: Integers


LISTED_KEYS = "(matrix byte-matrix words writable-integers)"


class ListedKeys(NamedTuple):
    """Of each key: the keys that it is linked to, what it meets, and what groundings allow.

    `since` is the first point at which a key has changed by other than its own sources.
    """

    targets: Matrix
    conditions: Bytes
    allowed: Words
    since: Integers


LIST_TIMES = "(integer integer integer integer integer)"


class ListTimes(NamedTuple):
    """The times of a query.

    `edge_bound` is the first point after the edge, `oldest` the point after which sources must end
    to be kept, and `first` the first point of the run.
    """

    edge_bound: int
    oldest: int
    first: int
    query: int
    tick: int


LIST_ROOM = (
    "(writable-cube writable-integers writable-word-matrix writable-word-matrix writable-tags)"
)


class ListRoom(NamedTuple):
    """Room for one key: its lists and how long they are, its sources and its results as rows."""

    lists: Matrix
    sizes: Integers
    tail: WordMatrix
    results: WordMatrix
    no_tags: Tags


# -- the keys that are visited ---------------------------------------------------------------


NOT_VISITED = -1
"""The number of a visit, of a key that is not visited."""


@kernel("integers integer writable-small writable-integers", "integer", counted=(0,))
def add_visits(keys: Integers, count: int, visit_of: SmallIntegers, visits: Integers) -> int:
    """Add keys to those that are visited, unless they are among them; gives how many there are.

    `visit_of` has `NOT_VISITED` for each key that is not.
    """
    added = np.uint64(count)
    for row in range(np.uint64(len(keys))):
        key = np.uint64(keys[row])
        if visit_of[key] == NOT_VISITED:
            visit_of[key] = 0
            visits[added] = keys[row]
            added += ONE
    return int(np.int64(added))


@kernel("integers writable-small", "nothing", counted=(0,))
def number_visits(visits: Integers, visit_of: SmallIntegers) -> None:
    """Note the number of the visit of each key."""
    for number in range(np.uint64(len(visits))):
        visit_of[np.uint64(visits[number])] = np.int32(number)


@kernel("integers writable-small", "nothing", counted=(0,))
def forget_visits(visits: Integers, visit_of: SmallIntegers) -> None:
    """Let no key be visited any more."""
    for number in range(np.uint64(len(visits))):
        visit_of[np.uint64(visits[number])] = NOT_VISITED


@kernel(
    "integers integers integers integers small writable-integers writable-word-matrix", "nothing",
    counted=(0,),
)  # fmt: skip
def order_changes(
    numbers: Integers, keys: Integers, starts: Integers, ends: Integers, visit_of: SmallIntegers,
    firsts: Integers, rows: WordMatrix,
) -> None:  # fmt: skip
    """Write intervals as rows, visit by visit; those of one key stay in their order.

    `firsts`, which has nothing but zeros, gets where the rows of each visit begin, and last where
    they end.
    """
    visits = np.uint64(len(firsts)) - ONE
    for row in range(np.uint64(len(keys))):
        firsts[np.uint64(visit_of[np.uint64(keys[row])])] += 1
    total = np.int64(0)
    for number in range(visits):
        count = firsts[number]
        firsts[number] = total
        total += count
    for row in range(np.uint64(len(keys))):
        visit = np.uint64(visit_of[np.uint64(keys[row])])
        place = np.uint64(firsts[visit])
        firsts[visit] += 1
        rows[place, np.uint64(0)] = np.uint64(numbers[row])
        rows[place, np.uint64(1)] = np.uint64(starts[row])
        rows[place, np.uint64(2)] = np.uint64(ends[row])
    # Each visit's place has moved to where the next one's begins.
    for number in range(visits):
        firsts[visits - number] = firsts[visits - number - ONE]
    firsts[np.uint64(0)] = 0
