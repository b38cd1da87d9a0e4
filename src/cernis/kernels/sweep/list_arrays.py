"""The arrays that walks over lists work on: programs, news, keys, times, and room."""

from __future__ import annotations

from typing import NamedTuple

from cernis.kernels.array_types import (
    Bytes,
    Integers,
    Matrix,
    Tags,
    WordMatrix,
    Words,
)

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
