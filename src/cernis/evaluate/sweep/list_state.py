"""A program over lists of intervals in windows: intervals of its sources come and go.

A query evaluates the keys whose sources have changed, and those with an open interval that has
become long enough. Lists look back from the edge of the window by the durations that the program
asks for, so that what is decided later than it begins is still complete.
"""

from __future__ import annotations

import numpy as np

from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.kernels.array_types import Array, Bytes, Integers, Matrix, WordMatrix
from cernis.kernels.sweep import keyed_log, list_updates
from cernis.kernels.sweep.key_calendar import BUCKETS, NEVER, due_keys
from cernis.kernels.sweep.lane_edges import by_code
from cernis.kernels.sweep.list_walk import LONGER, NO_EDGE, NOT_HELD, OP, PARAMETER, SHORTER

_COUNTS = 64


class ListState:
    """The source intervals and the results of a program, by key.

    Nothing comes out for a key before the first interval of one of its sources has come.

    `program` has rows as `list_walk` has them, over `slots` lists, of which the first are given;
    `outputs` are the lists that are reported, 64 at most.
    """

    def __init__(
        self, program: Matrix, slots: int, outputs: Integers, start: int = 0, tick: int = 1
    ) -> None:
        self.program = np.ascontiguousarray(program, np.int64).reshape(-1, 5)
        self.outputs, self.start, self.tick = outputs, start, tick
        durations = np.isin(self.program[:, OP], (LONGER, SHORTER))
        self.lookback = int(self.program[durations, PARAMETER].sum())
        self.key_count, self.query, self._slots = 0, start, slots
        self._width = 0
        self._make_arrays()

    def _make_arrays(self) -> None:
        self._rows, self._told_rows = (np.empty((1024, 4), np.uint64) for _ in range(2))
        self._counts, self._told_counts = (np.zeros(_COUNTS, np.int64) for _ in range(2))
        self._places, self._told_places = (np.zeros((0, 4), np.int64) for _ in range(2))
        self._edges, self._dues = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._since = np.zeros((0, self._slots), np.int64)
        self._links, self._back_links = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._heads = np.zeros(BUCKETS, np.int32)
        self._conditions = np.zeros((1, 0), np.uint8)
        self._output = np.empty((1024, 4), np.int64)
        self._grow_lists(64)

    def _grow_lists(self, count: int) -> None:
        self._lists = np.empty((self._slots + 3, count, 2), np.int64)
        self._sizes = np.zeros(self._slots, np.int64)
        self._tail = np.empty((count, 4), np.uint64)
        self._results = np.empty((count * max(len(self.outputs), 1), 4), np.uint64)

    def add_keys(self, count: int, conditions: Bytes | None = None) -> None:
        """Add keys; `conditions` has a row for each condition, with 1 for keys that meet it."""
        first, stop = self.key_count, self.key_count + count
        for name in ("_places", "_told_places", "_edges", "_dues", "_since", "_links",
                     "_back_links"):  # fmt: skip
            setattr(self, name, _longer(getattr(self, name), stop))
        self._edges[first:stop], self._dues[first:stop] = NO_EDGE, NEVER
        self._since[first:stop] = NOT_HELD
        given_rows = 1 if conditions is None else max(1, len(conditions))
        grown = np.zeros((max(given_rows, len(self._conditions)), len(self._edges)), np.uint8)
        grown[: len(self._conditions), :first] = self._conditions[:, :first]
        if conditions is not None and len(conditions):
            grown[:, first:stop] = conditions
        self._conditions, self.key_count = grown, stop

    def update(
        self, edge: int, query: int, come: BitIntervals, gone: BitIntervals
    ) -> tuple[BitIntervals, BitIntervals]:
        """What has come and gone of the outputs, where sources have come and gone.

        The bits of intervals are numbers of sources, and of outputs. Changes are sorted by source,
        key and start, as a lane tells them.
        """
        if not self._width:
            self._width = max(1, -(-(query - self.query) // 4))
        last, self.query = self.query, query
        come_keys, come_rows = _by_key(come)
        gone_keys, gone_rows = _by_key(gone)
        visits = np.unique(np.concatenate([come_keys, gone_keys, self._due(last, query)]))
        changes = (_firsts(come_keys, visits), _firsts(gone_keys, visits), come_rows, gone_rows)
        count = self._walk(visits, changes, edge - self.lookback, query)
        stops, columns = by_code(self._output, count)
        middle = int(stops[127])
        return (
            BitIntervals(*(column[:middle] for column in columns)),
            BitIntervals(*(column[middle:] for column in columns)),
        )

    def _due(self, last: int, query: int) -> Integers:
        keys = np.empty(self.key_count, np.int64)
        calendar = (self._dues, self._links, self._heads)
        return keys[: due_keys(last, query, self._width, *calendar, keys)]

    def _walk(
        self, visits: Integers, changes: tuple[Integers, Integers, WordMatrix, WordMatrix],
        edge: int, query: int,
    ) -> int:  # fmt: skip
        progress = np.zeros(4, np.int64)
        no_tags = np.zeros(0, np.uint32)
        while True:
            status = list_updates.walk_lists(
                self.program, self.outputs, visits, *changes, self._rows, self._places,
                self._counts, self._told_rows, self._told_places, self._told_counts,
                self._conditions, self._edges, self._since, self._dues, self._links,
                self._back_links, self._heads, self._width, edge, self.start + self.tick, query,
                self.tick, self._lists, self._sizes, self._tail, self._results, no_tags,
                self._output, progress,
            )  # fmt: skip
            if status == list_updates.DONE:
                return int(progress[1])
            self._make_more(status, progress)

    def _make_more(self, status: int, progress: Integers) -> None:
        if status == list_updates.NEEDS_LISTS:
            self._grow_lists(2 * int(progress[2]))
        elif status == list_updates.NEEDS_OUTPUT:
            larger = np.empty((2 * len(self._output), 4), np.int64)
            larger[: progress[1]] = self._output[: progress[1]]
            self._output = larger
        else:
            self._rows = _larger(self._rows, self._counts)
            self._told_rows = _larger(self._told_rows, self._told_counts)


def _firsts(keys: Integers, visits: Integers) -> Integers:
    """Where the changes of each visited key begin, and where the last end."""
    return np.append(np.searchsorted(keys, visits), len(keys))


def _larger(rows: WordMatrix, counts: Integers) -> WordMatrix:
    used = int(counts[keyed_log.TOP])
    larger = np.empty((2 * len(rows), 4), np.uint64)
    larger[:used] = rows[:used]
    return larger


def _longer(array: Array, count: int) -> Array:
    if count <= len(array):
        return array
    longer = np.zeros((max(count, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _by_key(intervals: BitIntervals) -> tuple[Integers, WordMatrix]:
    """Changes by key, then source and start, as rows."""
    order = np.argsort(intervals.keys, kind="stable")
    columns = (intervals.bits, intervals.starts, intervals.ends, intervals.bits)
    rows = np.column_stack([column[order] for column in columns]).view(np.uint64)
    return intervals.keys[order], np.ascontiguousarray(rows)
