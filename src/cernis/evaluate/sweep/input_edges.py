"""Where the intervals of the input start and end, as records of a lane.

A lane sees a pair of the input start a point before it holds, and end at the last point at which it
does. A record of a single point may go on after it: whether it does is known after the query, so an
end that lies at the query waits for the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cernis.evaluate.query_loop import Admitted, WindowRecords
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.key_numbers import KeyMap, KeyNumbers
from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.evaluate.sweep.lists.keyed_lists import KeyedLists
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Integers, Words
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.lane_tables import MOST_BITS
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_window import QueryWindow
from cernis.plan.sweep.lanes import Lane

_NONE = np.empty(0, np.int64)


class EdgeRecords(NamedTuple):
    """Starts or ends: the number of the key, the time, and what is fired."""

    keys: Integers
    times: Integers
    words: Words
    is_gone: bool


class _Ends(NamedTuple):
    """Ends that lie at a query and may be none."""

    pairs: Integers
    """The number of the key that lists have, with that of the output."""
    time: int


class InputEdges:
    """The starts and ends of the input that a lane reads, from the lists that unite it."""

    def __init__(
        self, lane: Lane, lists: KeyedLists, keys: KeyNumbers, memory: WindowRecords,
        is_resumed: bool = False,
    ) -> None:  # fmt: skip
        """Begin with nothing known; lists that were resumed tell all that they have first."""
        self.lists = lists
        self._memory = memory
        self._map = KeyMap(lists.of_keys, keys)
        self._is_resumed = is_resumed
        self._holds, self._starts, self._ends = (
            np.array([1 << bit for bit in bits], np.uint64)
            for bits in zip(*lane.input_pairs, strict=True)
        )
        self._waiting = _Ends(_NONE, 0)
        self._first_words = np.empty(0, np.uint64)
        """By key of the lane: the pairs of the input that hold from the start of the run on."""

    def can_go_on(self, window: QueryWindow, admitted: Sequence[Admitted]) -> bool:
        """Do changes only concern what lies in the window?

        What holds at its edge does not change any more, so records that begin before it must have
        come before, and none of the ends that wait may lie there.
        """
        if window.edge <= window.start:
            return True
        first_seen = window.edge + window.tick
        return not (len(self._waiting.pairs) and self._waiting.time <= window.edge) and all(
            bool((rows.columns[0] > first_seen).all())
            for each in admitted for rows in (each.added, each.removed)
        )  # fmt: skip

    def holding(self, point: int) -> Iterator[tuple[int, Integers, Integers]]:
        """For each bit of state: the keys that have it at a point, and since when."""
        numbers, keys, starts, ends = self.lists.intervals()
        holds = (starts <= point) & (ends > point)
        for number, word in enumerate(self._holds.tolist()):
            chosen = np.flatnonzero(holds & (numbers == number))
            yield word.bit_length() - 1, self._map(keys[chosen]), starts[chosen]

    def first_words(self, numbers: Integers) -> Words:
        """The pairs of the input that some keys have from the start on."""
        self._grow(numbers)
        return self._first_words[numbers]

    def _grow(self, numbers: Integers) -> None:
        count = int(numbers.max(initial=-1)) + 1
        if count > len(self._first_words):
            more = np.zeros(max(64, 2 * count) - len(self._first_words), np.uint64)
            self._first_words = np.concatenate([self._first_words, more])

    # -- changes ----------------------------------------------------------------------------

    def changes(self, context: Context) -> tuple[Integers, list[EdgeRecords]]:
        """Keys that begin otherwise than before, and the starts and ends that come and go."""
        latest = self.lists.latest
        assert latest is not None
        come, gone, is_resumed = latest.come, latest.gone, self._is_resumed
        if is_resumed:
            come, gone = self.lists.intervals(), BitIntervals(_NONE, _NONE, _NONE, _NONE)
            self._is_resumed = False
        restarted_keys = self._begin_again(come, gone, context)
        records = [*self._of_starts(come, gone, context), *self._of_ends(come, gone, context)]
        return (_NONE if is_resumed else restarted_keys), [
            each for each in records if len(each.keys)
        ]

    def _begin_again(self, come: BitIntervals, gone: BitIntervals, context: Context) -> Integers:
        """Take note of what holds from the start of the run on; gives the keys of which it is."""
        window = context.window
        if window.edge > window.start:
            return _NONE
        first = window.start + window.tick
        changed = []
        for intervals, is_gone in ((gone, True), (come, False)):
            chosen = np.flatnonzero(intervals.starts <= first)
            keys, words = self._map(intervals.keys[chosen]), self._holds[intervals.bits[chosen]]
            self._grow(keys)
            if is_gone:
                np.bitwise_and.at(self._first_words, keys, ~words)
            else:
                np.bitwise_or.at(self._first_words, keys, words)
            changed.append(keys)
        return np.unique(np.concatenate(changed))

    def _of_starts(
        self, come: BitIntervals, gone: BitIntervals, context: Context
    ) -> Iterator[EdgeRecords]:
        for intervals, is_gone in ((come, False), (gone, True)):
            chosen = np.flatnonzero(intervals.starts - context.window.tick > context.window.edge)
            times = intervals.starts[chosen] - context.window.tick
            words = self._starts[intervals.bits[chosen]]
            yield EdgeRecords(self._map(intervals.keys[chosen]), times, words, is_gone)

    def _of_ends(
        self, come: BitIntervals, gone: BitIntervals, context: Context
    ) -> Iterator[EdgeRecords]:
        window, waiting = context.window, self._waiting
        (come_pairs, come_times), (gone_pairs, gone_times) = (
            _ends_of(each, window.edge, window.tick) for each in (come, gone)
        )
        # What has waited and is gone now was never told.
        is_known = (gone_times == waiting.time) & np.isin(gone_pairs, waiting.pairs)
        untold = waiting.pairs[~np.isin(waiting.pairs, gone_pairs[is_known])]
        come_pairs = np.concatenate([untold, come_pairs])
        come_times = np.concatenate([np.full(len(untold), waiting.time), come_times])
        waits = come_times == window.query
        if waits.any():
            waits &= np.isin(come_pairs, self._open_pairs(context))
        self._waiting = _Ends(come_pairs[waits], window.query)
        yield self._ended(come_pairs[~waits], come_times[~waits], is_gone=False)
        yield self._ended(gone_pairs[~is_known], gone_times[~is_known], is_gone=True)

    def _ended(self, pairs: Integers, times: Integers, is_gone: bool) -> EdgeRecords:
        words = self._ends[pairs % MOST_BITS]
        return EdgeRecords(self._map(pairs // MOST_BITS), times, words, is_gone)

    def _open_pairs(self, context: Context) -> Integers:
        """The pairs that a record of a point has at the query."""
        window, rows_of = context.window, {}
        seen = Window(window.edge, window.query, window.forgotten)
        for relation in self.lists.input_relations:
            if relation in self._memory.fluents:
                columns = self._memory.open_at_query(relation, seen)
                if columns is not None:
                    *arguments, values = columns
                    times = np.full(len(values), window.query)
                    rows_of[relation] = StoredRows(arguments, [times, times, values])
        found = self.lists.input_intervals(rows_of, context)
        return np.concatenate([_NONE, *(each.keys * MOST_BITS + each.bits for each in found)])


def _ends_of(intervals: BitIntervals, edge: int, tick: int) -> tuple[Integers, Integers]:
    """The pairs that end, and the times at which they do, of those after an edge."""
    chosen = np.flatnonzero((intervals.ends != NEVER) & (intervals.ends - tick > edge))
    pairs = intervals.keys[chosen] * MOST_BITS + intervals.bits[chosen]
    return pairs, intervals.ends[chosen] - tick
