"""The probability of pairs over time, as steps; and from these the intervals of high mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.errors import DataError
from cernis.evaluate.probabilities.credible_intervals import (
    Intervals,
    Memory,
    most_credible,
    recognise,
    united,
)
from cernis.evaluate.probabilities.durations import Durations
from cernis.evaluate.probabilities.proof_groups import Groups
from cernis.evaluate.probabilities.uncertain_facts import Facts
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY, FluentTable

_POINTS: Final = 1 << 23
"""So many points are looked at together."""
MOST_POINTS: Final = 1 << 28
"""No more points than this are written out at once."""
_TOLERANCE: Final = 1e-9


@dataclass(slots=True)
class Pairs:
    """Pairs of a fluent: arguments and value of each, and what it begins with."""

    arguments: list[Array]
    values: Array
    domains: list[Domain | None]
    value_domain: Domain | None
    initial: Floats

    def __len__(self) -> int:
        return len(self.values)

    def likely(self, chances: Floats) -> Pairs:
        """Those that hold with some probability, which they begin with."""
        some = np.flatnonzero(chances > 0)
        return Pairs(
            [column[some] for column in self.arguments], self.values[some], self.domains,
            self.value_domain, chances[some],
        )  # fmt: skip


@dataclass(slots=True)
class Courses:
    """The probability of each pair over time: `chances[k]` from `times[k]` to the next step.

    The steps of pair p are `offsets[p]:offsets[p+1]`, in the order of time, each another
    probability than before. Before the first it is 0.
    """

    pairs: Pairs
    offsets: Integers
    times: Integers
    chances: Floats

    def at(self, time: int) -> Floats:
        """The probability of each pair at a time."""
        behind = np.append(0, np.cumsum(self.times <= time))[self.offsets]
        last = self.offsets[:-1] + np.diff(behind) - 1
        known = np.flatnonzero(np.diff(behind))
        found = np.zeros(len(self.pairs))
        found[known] = self.chances[last[known]]
        return found

    def up_to(self, last: int) -> Courses:
        """The steps up to a time, and at it."""
        kept = self.times <= last
        offsets = np.append(0, np.cumsum(kept))[self.offsets].astype(np.int64)
        return Courses(self.pairs, offsets, self.times[kept], self.chances[kept])

    def since(self, first: int) -> Courses:
        """The steps from a time on; what a pair has at it is a step."""
        chances = self.at(first)
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
        """Where pairs have which probability above 0 before a time: pair, start, end, probability.

        The last end of each is the bound, at the latest.
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
        # A pair without steps has no last one.
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


def courses_of(groups: Groups, after: Floats, pairs: Pairs, since: int, tick: int) -> Courses:
    """The steps that groups, in the order of pairs and time, make in the course of pairs.

    What pairs begin with they have from `since` on.
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
    """Disjoint segments of pairs, sorted, as steps: up at each start, down at each end."""
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


def certain_course(table: FluentTable) -> Courses:
    """The course of a fluent that is certain: 1 while it holds."""
    pairs = Pairs(
        table.arguments, table.values, table.domains, table.value_domain, np.zeros(len(table))
    )
    group = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    return course_of_segments(pairs, group, table.starts, table.ends, np.ones(len(group)))


@dataclass(frozen=True, slots=True)
class Recognition:
    """How intervals are recognised: threshold, limit of the memory, durations, seed of chance.

    Without a limit the whole course is looked at. With one, it is looked at point by point.
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
        found = _recognised(part, chosen, seeds)
        own = found.entities
        runs = part.offsets[own]
        begin = first + tick * part.first[runs]
        parts.append(
            (part.owner[runs], begin + tick * (found.starts - 1), begin + tick * found.ends,
             found.means)
        )  # fmt: skip
    none = np.empty(0, np.int64)
    columns = [np.concatenate(own) for own in zip(*parts, strict=True)] if parts else None
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
        memory = Memory.empty(len(offsets) - 1, seeds[part.owner[part.offsets[:-1]]])
    found, _ = recognise(
        points, offsets, chosen.threshold, memory=memory, limit=chosen.limit,
        durations=chosen.durations, batch=None if chosen.limit is None else 1,
    )  # fmt: skip
    return most_credible(found if chosen.limit is None else united(found))


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

    All that is above the threshold in a series cannot make up for a run that is longer below it
    than that. So no interval spans such a run, and none reaches farther into it.
    """
    pair = np.cumsum(np.isin(np.arange(len(series.owner)), series.offsets[:-1])) - 1
    excess = series.chances - (threshold - _TOLERANCE)
    gain = np.bincount(pair, np.where(excess >= 0, excess * series.lengths, 0.0))
    low = excess < -_TOLERANCE
    with np.errstate(divide="ignore"):
        reach = np.where(low, gain[pair] / np.where(low, -excess, 1.0), np.inf)
    reach = np.minimum(reach + 1, count).astype(np.int64)
    before = np.append(False, pair[1:] == pair[:-1])[: len(pair)]
    behind = np.append(pair[1:] == pair[:-1], False)[: len(pair)]
    # What is left of a run: a piece that belongs to what is before it, and one to what is after.
    left = np.where(before, np.minimum(reach, series.lengths), 0)
    right = np.where(behind, np.minimum(reach, series.lengths), 0)
    whole = ~low | (left + right >= series.lengths)
    left = np.where(whole, series.lengths, left)
    right = np.where(whole, 0, right)
    alive = gain[pair] > 0
    return _pieces(series, pair, left * alive, right * alive, whole)


def _pieces(
    series: Series, pair: Integers, left: Integers, right: Integers,
    whole: Booleans,
) -> Series:  # fmt: skip
    """Series of the pieces that are left of runs; a new one begins after each cut."""
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
    """The series in parts of not too many points; one series is never parted."""
    points = np.append(0, np.cumsum(series.lengths))[series.offsets]
    low = 0
    while low < len(series.offsets) - 1:
        high = int(np.searchsorted(points, points[low] + _POINTS, "right")) - 1
        high = min(max(high, low + 1), len(series.offsets) - 1)
        own = slice(series.offsets[low], series.offsets[high])
        yield Series(
            series.owner[own], series.first[own], series.lengths[own], series.chances[own],
            series.offsets[low : high + 1] - series.offsets[low],
        )  # fmt: skip
        low = high


def with_facts(courses: Courses, facts: Facts) -> tuple[FluentTable, Integers]:
    """The segments of courses, each an independent fact."""
    table, chances = courses.segments()
    return table, facts.add(chances)
