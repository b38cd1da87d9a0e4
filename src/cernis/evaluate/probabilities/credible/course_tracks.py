"""The courses of a fluent's pairs from query to query, and the intervals that follow from them.

A query computes the course of each pair from the edge of its window to one tick after the query.
Points before that are *settled*: they have gone into the memory of possible starts, and the maximal
intervals that end there are kept. Intervals that end later are computed from the memory at each
query, and forgotten at the next.

A pair whose course stays at 0 takes no part until it rises again, and then the points at which it
was 0 are caught up on. That changes nothing as long as no interval reaches into these points, and
none would become final at them. A pair for which one of these is possible is *restless*, and takes
part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from cernis.errors import DataError
from cernis.evaluate.probabilities.courses import (
    MOST_POINTS,
    Courses,
    Credible,
    Pairs,
    Recognition,
    Series,
    chunks,
)
from cernis.evaluate.probabilities.credible.credible_intervals import (
    Intervals,
    SupportSets,
    longest,
    lowered,
    most_credible,
    recognise,
    selected,
    united,
)
from cernis.evaluate.probabilities.credible.support_pool import SupportPool
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.credible import SCALE
from cernis.operators.distinct import distinct

Seeds: TypeAlias = Callable[[Pairs], Integers]
"""Gives the seeds of pairs, which depend on the name of each pair alone."""

_NONE: Final = np.empty(0, np.int64)


@dataclass(slots=True)
class Tracks:
    """The memory and the intervals of all pairs of one fluent, in arrays.

    Points are counted from 1, which is at the time `first`; the next is a tick later. Pairs are
    numbered in the order in which they came.
    """

    first: int
    tick: int
    recognition: Recognition
    seeds: Seeds | None = None
    pairs: Pairs | None = None
    memory: SupportPool = field(default_factory=lambda: SupportPool(SupportSets.empty(0)))
    ended_intervals: Intervals = field(default_factory=lambda: _intervals(0, 0.0))
    """The maximal intervals that end at settled points and may still change."""
    settled: int = 0
    """How many points are settled."""
    courses: Courses | None = None
    """The courses as of the last query, from its edge on."""
    numbers: Integers = field(default_factory=lambda: _NONE)

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.memory)

    def points(self, time: int) -> int:
        """How many points there are up to a time."""
        return max((time - self.first) // self.tick + 1, 0)

    def take_courses(self, courses: Courses) -> None:
        """Take the courses of a query, which replace those that are not settled."""
        if self.pairs is None:
            self.pairs = _without_rows(courses.pairs)
        self.numbers, new = _numbered(self.pairs, courses.pairs)
        self.courses = courses
        if len(new.values):
            seeds = np.zeros(len(new), np.int64) if self.seeds is None else self.seeds(new)
            self.memory.add(SupportSets.empty(len(new), seeds))
            self.pairs = _stacked(self.pairs, new)
            self.ended_intervals = _intervals(
                len(self), self.recognition.threshold, self.ended_intervals
            )

    def settle(self, before: int) -> Credible:
        """Settle all points before a time; gives the intervals that can no longer change.

        Those are the most credible of groups that no possible start reaches any more.
        """
        count = max(self.points(before - 1), self.settled)
        if self.courses is not None:
            series = self._series(count)
            self._remember(series)
        self.settled = count
        return self._take_final()

    def answer(self, last: int) -> Credible:
        """The most credible intervals of all courses up to a time, without those that are final."""
        count = self.points(last)
        series = self._series(count)
        late = _owners(series)
        late = late[self.memory.seen[late] < self.settled]
        if len(late):
            self._remember(_zeros(late, self.memory.seen[late], self.settled))
            series = self._series(count)
        every = [self._recognised(part, is_settled=False) for part in chunks(series)]
        intervals = _joined(self.ended_intervals, every, len(self))
        return self._in_time(self._most_credible(longest(intervals)))

    def _most_credible(self, intervals: Intervals) -> Intervals:
        """The most credible intervals; in bounded memory, those that touch are joined first."""
        return most_credible(intervals if self.recognition.limit is None else united(intervals))

    def _recognised(self, part: Series, is_settled: bool) -> Intervals:
        """The intervals that end at further points of some pairs; these points may be settled.

        The intervals have the numbers of all pairs. Points that are settled go into the memory.
        """
        lengths = np.append(0, np.cumsum(part.lengths))
        offsets = lengths[part.offsets].astype(np.int64)
        if int(offsets[-1]) > MOST_POINTS:
            raise DataError(
                f"a course of {int(offsets[-1]):,} points is too long to be looked at point by "
                "point; choose a longer tick"
            )
        pairs = part.owner[part.offsets[:-1]]
        is_bounded = self.recognition.limit is not None
        memory, skips = self.memory.taken(pairs, None if is_bounded else self._gains(part))
        intervals, memory = recognise(
            np.repeat(part.chances, part.lengths), offsets, self.recognition.threshold,
            memory=memory, limit=self.recognition.limit, durations=self.recognition.durations,
            batch=1 if is_bounded else None,
        )  # fmt: skip
        if is_settled:
            self.memory.put(pairs, skips, memory)
        counts = np.zeros(len(self), np.int64)
        counts[pairs] = np.diff(intervals.offsets)
        offsets = np.append(0, np.cumsum(counts)).astype(np.int64)
        return Intervals(
            offsets, intervals.starts, intervals.ends, intervals.sums, intervals.threshold
        )

    def _gains(self, part: Series) -> Integers:
        """How much the score of each series may rise at most."""
        units = (part.chances * SCALE + 0.5).astype(np.int64)
        gains = np.maximum(units - lowered(self.recognition.threshold), 0) * part.lengths
        totals = np.append(0, np.cumsum(gains))
        return np.asarray(np.diff(totals[part.offsets]))

    # -- points -----------------------------------------------------------------------------

    def _series(self, count: int) -> Series:
        """The points of pairs that take part, from the first that each has not seen to the last."""
        assert self.courses is not None
        courses, seen = self.courses, np.minimum(self.memory.seen, count)
        owner = np.repeat(self.numbers, np.diff(courses.offsets))
        begin = np.clip(-(-(courses.times - self.first) // self.tick), seen[owner], count)
        owner = np.concatenate([np.arange(len(self)), owner])
        begin = np.concatenate([seen, begin])
        chances = np.concatenate([np.zeros(len(self)), courses.chances])
        order = np.argsort(owner, kind="stable")
        owner, begin, chances = owner[order], begin[order], chances[order]
        is_last = np.append(owner[1:] != owner[:-1], True)[: len(owner)]
        ends = np.where(is_last, count, np.append(begin[1:], count)[: len(owner)])
        filled = ends > begin
        takes_part = self._restless()
        takes_part[owner[filled & (chances > 0)]] = True
        filled &= takes_part[owner]
        owner, begin, ends = owner[filled], begin[filled], ends[filled]
        return _series(owner, begin, ends - begin, chances[filled])

    def _restless(self) -> Booleans:
        """The pairs whose intervals may change at further points at which they are 0."""
        memory, threshold = self.memory, lowered(self.recognition.threshold)
        if threshold <= 0:
            return np.ones(len(self), np.bool_)
        is_restless = np.zeros(len(self), np.bool_)
        some, lowest = memory.last_scores()
        is_restless[some] = lowest <= memory.score[some] - threshold
        if self.recognition.limit is not None:
            # Old starts are forgotten in time; then nothing touches an interval any more, and it
            # becomes final.
            is_restless[self.ended_intervals.entities] = True
        return is_restless

    def _remember(self, series: Series) -> None:
        """Let the memory see points, which are settled from now on."""
        parts = [self._recognised(part, is_settled=True) for part in chunks(series)]
        self.ended_intervals = longest(_joined(self.ended_intervals, parts, len(self)))

    def _take_final(self) -> Credible:
        """Take out the intervals that can no longer change."""
        intervals, memory = self.ended_intervals, self.memory
        if not len(intervals):
            return self._in_time(intervals)
        oldest = memory.oldest()
        owner = intervals.entities
        # In bounded memory, an interval that starts right after another belongs to it.
        reach = intervals.ends if self.recognition.limit is None else intervals.ends + 1
        new = np.append(True, (owner[1:] != owner[:-1]) | (intervals.starts[1:] > reach[:-1]))
        group = np.cumsum(new) - 1
        last = np.append(np.flatnonzero(new)[1:], len(owner)) - 1
        over = (reach[last] < oldest[owner[last]])[group]
        self.ended_intervals = selected(intervals, ~over)
        return self._in_time(self._most_credible(selected(intervals, over)))

    def _in_time(self, intervals: Intervals) -> Credible:
        """Intervals of pairs with time-points in place of the numbers of points."""
        before = self.first - self.tick
        starts, ends = (
            before + self.tick * intervals.starts,
            self.first + self.tick * intervals.ends,
        )
        return Credible(intervals.entities, starts, ends, intervals.means)


def _series(owner: Integers, begin: Integers, lengths: Integers, chances: Floats) -> Series:
    new = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    offsets = np.append(np.flatnonzero(new), len(owner)).astype(np.int64)
    return Series(owner, begin, lengths, chances, offsets)


def _zeros(owner: Integers, seen: Integers, count: int) -> Series:
    return _series(owner, seen, count - seen, np.zeros(len(owner)))


def _owners(series: Series) -> Integers:
    return series.owner[series.offsets[:-1]]


def _intervals(entities: int, threshold: float, known: Intervals | None = None) -> Intervals:
    """The known intervals, for so many entities."""
    if known is None or not len(known):
        return Intervals(np.zeros(entities + 1, np.int64), _NONE, _NONE, _NONE, threshold)
    more = np.full(entities + 1 - len(known.offsets), known.offsets[-1])
    offsets = np.concatenate([known.offsets, more])
    return Intervals(offsets, known.starts, known.ends, known.sums, threshold)


def _joined(first: Intervals, parts: list[Intervals], entities: int) -> Intervals:
    """The intervals of several calls, sorted by entity, and for each in the order of calls."""
    every = [first, *parts]
    owner = np.concatenate([part.entities for part in every])
    order = np.argsort(owner, kind="stable")
    starts, ends, sums = (
        np.concatenate(column_parts)[order]
        for column_parts in zip(
            *((part.starts, part.ends, part.sums) for part in every), strict=True
        )
    )
    offsets = np.searchsorted(owner[order], np.arange(entities + 1)).astype(np.int64)
    return Intervals(offsets, starts, ends, sums, first.threshold)


def joined_courses(parts: Sequence[Courses]) -> Courses:
    """The joined course of one fluent, from parts that follow one another in time."""
    pairs = _without_rows(parts[0].pairs)
    owners = []
    for part in parts:
        numbers, new = _numbered(pairs, part.pairs)
        pairs = _stacked(pairs, new)
        owners.append(np.repeat(numbers, np.diff(part.offsets)))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    times, chances = (
        np.concatenate(column_parts)[order]
        for column_parts in zip(*((part.times, part.chances) for part in parts), strict=True)
    )
    before = np.append(0.0, chances[:-1])[: len(chances)]
    before[np.append(True, owner[1:] != owner[:-1])[: len(owner)]] = 0.0
    kept = chances != before
    offsets = np.searchsorted(owner[kept], np.arange(len(pairs) + 1)).astype(np.int64)
    return Courses(pairs, offsets, times[kept], chances[kept])


# -- pairs -------------------------------------------------------------------------------------


def _without_rows(pairs: Pairs) -> Pairs:
    arguments = [column[:0] for column in pairs.arguments]
    return Pairs(arguments, pairs.values[:0], pairs.domains, pairs.value_domain, np.empty(0))


def _stacked(one: Pairs, other: Pairs) -> Pairs:
    columns = zip([*one.arguments, one.values], [*other.arguments, other.values], strict=True)
    *arguments, values = (np.concatenate(column_parts) for column_parts in columns)
    initial = np.concatenate([one.initial, other.initial])
    return Pairs(arguments, values, one.domains, one.value_domain, initial)


def _numbered(known: Pairs, pairs: Pairs) -> tuple[Integers, Pairs]:
    """The number of each pair, where new pairs come after the known ones; and the new pairs."""
    both = _stacked(known, pairs)
    _, which = distinct([*both.arguments, both.values], [*both.domains, both.value_domain])
    numbers = np.full(int(which.max(initial=-1)) + 1, -1, np.int64)
    numbers[which[: len(known)]] = np.arange(len(known))
    which_pairs = which[len(known) :]
    new = np.flatnonzero(numbers[which_pairs] < 0)
    numbers[which_pairs[new]] = len(known) + np.arange(len(new))
    arguments = [column[new] for column in pairs.arguments]
    more = Pairs(
        arguments, pairs.values[new], pairs.domains, pairs.value_domain, pairs.initial[new]
    )
    return numbers[which_pairs], more
