"""Courses: the probability of pairs over time, as steps; and the credible intervals of courses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.errors import DataError
from cernis.evaluate.probabilities.credible.credible_intervals import (
    Intervals,
    SupportSets,
    most_credible,
    recognise,
    united,
)
from cernis.evaluate.probabilities.credible.durations import Durations
from cernis.evaluate.probabilities.proof_groups import ProofGroups
from cernis.evaluate.probabilities.uncertain_facts import Facts
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY, FluentTable, expanded

_POINTS: Final = 1 << 23
"""About this many points are processed together."""
MOST_POINTS: Final = 1 << 28
"""No more points than this are processed together, even if they are of one series."""
_TOLERANCE: Final = 1e-9


@dataclass(slots=True)
class Pairs:
    """Pairs of a fluent: the arguments, value and initial probability of each."""

    arguments: list[Array]
    values: Array
    domains: list[Domain | None]
    value_domain: Domain | None
    initial: Floats

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Integers, initial: Floats | None = None) -> Pairs:
        """Some of the pairs, with other initial probabilities if these are given for all pairs."""
        return Pairs(
            [column[rows] for column in self.arguments], self.values[rows], self.domains,
            self.value_domain, (self.initial if initial is None else initial)[rows],
        )  # fmt: skip

    def likely(self, chances: Floats) -> Pairs:
        """The pairs whose probability is above 0, which becomes their initial one."""
        return self.take(np.flatnonzero(chances > 0), chances)


@dataclass(slots=True)
class Courses:
    """The probability of each pair over time: `chances[k]` from `times[k]` to the next step.

    The steps of pair p are `offsets[p]:offsets[p+1]`, in the order of time, and each changes the
    probability. Before the first step it is 0.
    """

    pairs: Pairs
    offsets: Integers
    times: Integers
    chances: Floats

    def take(self, rows: Integers) -> Courses:
        """The courses of some of the pairs."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
        steps = expanded(self.offsets[rows], lengths)
        return Courses(self.pairs.take(rows), offsets, self.times[steps], self.chances[steps])

    def probabilities_at(self, time: int) -> Floats:
        """The probability of each pair at a time."""
        steps_up_to = np.append(0, np.cumsum(self.times <= time))[self.offsets]
        last = self.offsets[:-1] + np.diff(steps_up_to) - 1
        has_step = np.flatnonzero(np.diff(steps_up_to))
        probabilities = np.zeros(len(self.pairs))
        probabilities[has_step] = self.chances[last[has_step]]
        return probabilities

    def probabilities_of(self, pairs: Integers, times: Integers) -> Floats:
        """The probability of each of some pairs at a time of its own."""
        owner = np.repeat(np.arange(len(self.pairs)), np.diff(self.offsets))
        if not len(owner) or not len(pairs):
            return np.zeros(len(pairs))
        least = min(int(self.times.min()), int(times.min()))
        span = max(int(self.times.max()), int(times.max())) - least + 1
        keys = owner * span + (self.times - least)
        places = np.searchsorted(keys, pairs * span + (times - least), "right") - 1
        has_step = (places >= 0) & (owner[places] == pairs)
        return np.where(has_step, self.chances[places], 0.0)

    def up_to(self, last: int) -> Courses:
        """The steps up to a time, including those at it."""
        kept = self.times <= last
        offsets = np.append(0, np.cumsum(kept))[self.offsets].astype(np.int64)
        return Courses(self.pairs, offsets, self.times[kept], self.chances[kept])

    def since(self, first: int) -> Courses:
        """The steps from a time on; the probability of a pair at that time is a step."""
        chances = self.probabilities_at(first)
        some = np.flatnonzero(chances > 0)
        owner = np.repeat(np.arange(len(self.pairs)), np.diff(self.offsets))
        later = self.times > first
        owner = np.concatenate([some, owner[later]])
        order = np.argsort(owner, kind="stable")
        times = np.concatenate([np.full(len(some), first), self.times[later]])[order]
        offsets = np.searchsorted(owner[order], np.arange(len(self.pairs) + 1)).astype(np.int64)
        return Courses(
            self.pairs, offsets, times, np.concatenate([chances[some], self.chances[later]])[order]
        )

    def stretches(self, bound: int) -> tuple[Integers, Integers, Integers, Floats]:
        """The stretches of equal probability above 0 before a time: pair, start, end, probability.

        No stretch ends after the bound.
        """
        owner = np.repeat(np.arange(len(self.pairs)), np.diff(self.offsets))
        ends = np.append(self.times[1:], bound)[: len(owner)]
        ends[np.append(owner[1:] != owner[:-1], True)[: len(owner)]] = bound
        ends = np.minimum(ends, bound)
        some = (self.chances > 0) & (ends > self.times)
        return owner[some], self.times[some], ends[some], self.chances[some]

    def segments(self) -> tuple[FluentTable, Floats]:
        """The intervals in which a pair may hold, each with its probability."""
        ends = np.append(self.times[1:], INFINITY)
        # Only pairs that have steps have a last one.
        last = self.offsets[1:][np.diff(self.offsets) > 0] - 1
        ends[last] = INFINITY
        ends = ends[: len(self.times)]
        some = self.chances > 0
        offsets = np.append(0, np.cumsum(some))[self.offsets].astype(np.int64)
        pairs = self.pairs
        table = FluentTable(
            pairs.arguments, pairs.values, pairs.domains, pairs.value_domain, offsets,
            self.times[some], ends[some],
        )  # fmt: skip
        return table, self.chances[some]


def courses_of(groups: ProofGroups, after: Floats, pairs: Pairs, since: int, tick: int) -> Courses:
    """The courses of pairs from the probabilities after groups, which are sorted by pair and time.

    Pairs have their initial probabilities from `since` on.
    """
    first = np.ones(len(after), np.bool_)
    first[1:] = groups.pairs[1:] != groups.pairs[:-1]
    before = np.append(0.0, after[:-1])[: len(after)]
    before = np.where(first, pairs.initial[groups.pairs], before)
    changes = after != before
    owner, times, chances = groups.pairs[changes], groups.times[changes] + tick, after[changes]
    begin = np.flatnonzero(pairs.initial > 0)
    if len(begin):
        owner = np.concatenate([begin, owner])
        times = np.concatenate([np.full(len(begin), since), times])
        chances = np.concatenate([pairs.initial[begin], chances])
        order = np.argsort(owner, kind="stable")
        owner, times, chances = owner[order], times[order], chances[order]
    offsets = np.searchsorted(owner, np.arange(len(pairs) + 1)).astype(np.int64)
    return Courses(pairs, offsets, times, chances)


def course_of_segments(
    pairs: Pairs, group: Integers, starts: Integers, ends: Integers, chances: Floats
) -> Courses:
    """The courses of pairs from disjoint, sorted segments: a step up at a start, down at an end."""
    follows = np.append((group[1:] == group[:-1]) & (ends[:-1] == starts[1:]), False)
    down = np.flatnonzero(~follows[: len(group)] & (ends != INFINITY))
    owner = np.concatenate([group, group[down]])
    times = np.concatenate([starts, ends[down]])
    steps = np.concatenate([chances, np.zeros(len(down))])
    order = np.lexsort((times, owner))
    owner, times, steps = owner[order], times[order], steps[order]
    same = np.append(False, (owner[1:] == owner[:-1]) & (steps[1:] == steps[:-1]))[: len(owner)]
    owner, times, steps = owner[~same], times[~same], steps[~same]
    offsets = np.searchsorted(owner, np.arange(len(pairs) + 1)).astype(np.int64)
    return Courses(pairs, offsets, times, steps)


def beside(one: Courses, other: Courses) -> Courses:
    """The courses of two sets of pairs of a fluent that have no pair in common."""
    first, second = one.pairs, other.pairs
    pairs = Pairs(
        [np.concatenate(both) for both in zip(first.arguments, second.arguments, strict=True)],
        np.concatenate([first.values, second.values]), first.domains, first.value_domain,
        np.concatenate([first.initial, second.initial]),
    )  # fmt: skip
    return Courses(
        pairs, np.concatenate([one.offsets, one.offsets[-1] + other.offsets[1:]]),
        np.concatenate([one.times, other.times]), np.concatenate([one.chances, other.chances]),
    )  # fmt: skip


def certain_course(table: FluentTable) -> Courses:
    """The course of a certain fluent: its probability is 1 while it holds."""
    pairs = Pairs(
        table.arguments, table.values, table.domains, table.value_domain, np.zeros(len(table))
    )
    group = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    return course_of_segments(pairs, group, table.starts, table.ends, np.ones(len(group)))


@dataclass(frozen=True, slots=True)
class Recognition:
    """How intervals are recognised: threshold, limit of the memory, durations, random seed.

    Without a limit the whole course is processed at once. With one, it is processed point by point.
    """

    threshold: float = 0.5
    limit: int | None = None
    durations: Durations | None = None
    seed: int = 0


@dataclass(slots=True)
class Credible:
    """Intervals `[start, end)` of pairs, and the mean probability of each."""

    owner: Integers
    starts: Integers
    ends: Integers
    means: Floats


@dataclass(slots=True)
class Series:
    """Runs of points of equal probability: of pair `owner`, from point `first`, counted from 0.

    A series is a stretch of runs that follow one another.
    """

    owner: Integers
    first: Integers
    lengths: Integers
    chances: Floats
    offsets: Integers


def credible_intervals(
    courses: Courses, first: int, last: int, tick: int, chosen: Recognition,
    seeds: Integers | None = None,
) -> Credible:  # fmt: skip
    """The most credible intervals of each pair on the points from first to last, a tick apart.

    An interval that reaches the last point ends a tick after it. Seeds are those of the pairs.
    """
    count = (last - first) // tick + 1
    parts = []
    series = _runs(courses, first, count, tick)
    series = _cut(series, count, chosen.threshold) if chosen.limit is None else series
    for part in chunks(series):
        intervals = _recognised(part, chosen, seeds)
        entities = intervals.entities
        runs = part.offsets[entities]
        begin = first + tick * part.first[runs]
        parts.append(
            (part.owner[runs], begin + tick * (intervals.starts - 1), begin + tick * intervals.ends,
             intervals.means)
        )  # fmt: skip
    none = np.empty(0, np.int64)
    columns = (
        [np.concatenate(column_parts) for column_parts in zip(*parts, strict=True)]
        if parts
        else None
    )
    return Credible(*columns) if columns else Credible(none, none, none, np.empty(0))


def _recognised(part: Series, chosen: Recognition, seeds: Integers | None) -> Intervals:
    lengths = np.append(0, np.cumsum(part.lengths))
    offsets = lengths[part.offsets].astype(np.int64)
    if int(offsets[-1]) > MOST_POINTS:
        raise DataError(
            f"a course of {int(offsets[-1]):,} points is too long to be looked at point by point; "
            "choose a longer tick, or say where the run starts and ends"
        )
    points = np.repeat(part.chances, part.lengths)
    memory = None
    if seeds is not None:
        memory = SupportSets.empty(len(offsets) - 1, seeds[part.owner[part.offsets[:-1]]])
    intervals, _ = recognise(
        points, offsets, chosen.threshold, memory=memory, limit=chosen.limit,
        durations=chosen.durations, batch=None if chosen.limit is None else 1,
    )  # fmt: skip
    return most_credible(intervals if chosen.limit is None else united(intervals))


def _runs(courses: Courses, first: int, count: int, tick: int) -> Series:
    """The course of each pair on all points, as runs; each pair that ever may hold is a series."""
    owner = np.repeat(np.arange(len(courses.pairs)), np.diff(courses.offsets))
    begin = np.clip(-(-(courses.times - first) // tick), 0, count)
    some = np.flatnonzero(np.diff(courses.offsets))
    owner = np.concatenate([some, owner])
    begin = np.concatenate([np.zeros(len(some), np.int64), begin])
    chances = np.concatenate([np.zeros(len(some)), courses.chances])
    order = np.argsort(owner, kind="stable")
    owner, begin, chances = owner[order], begin[order], chances[order]
    is_last = np.append(owner[1:] != owner[:-1], True)[: len(owner)]
    ends = np.where(is_last, count, np.append(begin[1:], count)[: len(owner)])
    filled = ends > begin
    owner, begin, ends, chances = owner[filled], begin[filled], ends[filled], chances[filled]
    new = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    offsets = np.append(np.flatnonzero(new), len(owner)).astype(np.int64)
    return Series(owner, begin, ends - begin, chances, offsets)


def _cut(series: Series, count: int, threshold: float) -> Series:
    """The series without points that no interval can reach.

    Points below the threshold must be balanced by points above it. If a run below the threshold
    lacks more than all points of the series above it can give, no interval spans the run, and none
    reaches farther into it than can be balanced.
    """
    pair = np.cumsum(np.isin(np.arange(len(series.owner)), series.offsets[:-1])) - 1
    excess = series.chances - (threshold - _TOLERANCE)
    gain = np.bincount(pair, np.where(excess >= 0, excess * series.lengths, 0.0))
    low = excess < -_TOLERANCE
    with np.errstate(divide="ignore"):
        reach = np.where(low, gain[pair] / np.where(low, -excess, 1.0), np.inf)
    reach = np.minimum(reach + 1, count).astype(np.int64)
    has_previous = np.append(False, pair[1:] == pair[:-1])[: len(pair)]
    has_next = np.append(pair[1:] == pair[:-1], False)[: len(pair)]
    # A run leaves two pieces: one that intervals before it can reach, and one for those after it.
    left = np.where(has_previous, np.minimum(reach, series.lengths), 0)
    right = np.where(has_next, np.minimum(reach, series.lengths), 0)
    whole = ~low | (left + right >= series.lengths)
    left = np.where(whole, series.lengths, left)
    right = np.where(whole, 0, right)
    alive = gain[pair] > 0
    return _pieces(series, pair, left * alive, right * alive, whole)


def _pieces(
    series: Series, pair: Integers, left: Integers, right: Integers,
    whole: Booleans,
) -> Series:  # fmt: skip
    """Series of the pieces that are left of runs; a new series begins after each cut."""
    lengths = np.stack([left, right], axis=1).ravel()
    begin = np.stack([series.first, series.first + series.lengths - right], axis=1).ravel()
    cut = np.stack([np.append(True, pair[1:] != pair[:-1])[: len(pair)], ~whole], axis=1).ravel()
    group = np.cumsum(cut)
    filled = lengths > 0
    owner, chances = np.repeat(series.owner, 2)[filled], np.repeat(series.chances, 2)[filled]
    group, begin, lengths = group[filled], begin[filled], lengths[filled]
    new = np.append(True, group[1:] != group[:-1])[: len(group)]
    offsets = np.append(np.flatnonzero(new), len(group)).astype(np.int64)
    return Series(owner, begin, lengths, chances, offsets)


def chunks(series: Series) -> Iterator[Series]:
    """The series in parts of not too many points; one series is never divided."""
    points = np.append(0, np.cumsum(series.lengths))[series.offsets]
    low = 0
    while low < len(series.offsets) - 1:
        high = int(np.searchsorted(points, points[low] + _POINTS, "right")) - 1
        high = min(max(high, low + 1), len(series.offsets) - 1)
        runs = slice(series.offsets[low], series.offsets[high])
        yield Series(
            series.owner[runs], series.first[runs], series.lengths[runs], series.chances[runs],
            series.offsets[low : high + 1] - series.offsets[low],
        )  # fmt: skip
        low = high


def with_facts(courses: Courses, facts: Facts) -> tuple[FluentTable, Integers]:
    """The segments of courses, with a new independent fact for each."""
    table, chances = courses.segments()
    return table, facts.add(chances)
