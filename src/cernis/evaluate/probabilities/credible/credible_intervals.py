"""Probabilistic maximal intervals of many entities at once: batch, online, in bounded memory.

Points of a series are counted from 1. An interval `[s, e]` is closed. It is reported if its mean
probability is at least the threshold, up to 1e-9, and if it lies in no other such interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.evaluate.probabilities.credible.durations import Durations, deletion_probabilities
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.compile import shortened
from cernis.kernels.credible import HIGHEST, SCALE, TOLERANCE, choose
from cernis.kernels.credible import find as _find

_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of entities, sorted by both ends; those of entity k from `offsets[k]` on."""

    offsets: Integers
    starts: Integers
    ends: Integers
    sums: Integers
    """For each interval the sum of its probabilities less the threshold, in the kernel's units."""
    threshold: float

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def means(self) -> Floats:
        """The mean probability of each interval, to ten digits."""
        lengths = self.ends - self.starts + 1
        means = (self.sums / lengths + lowered(self.threshold)) / SCALE
        return np.asarray(np.clip(means, 0.0, 1.0))

    @property
    def entities(self) -> Integers:
        """The entity of each interval."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class SupportSets:
    """The support sets of entities: what is remembered of the series of each.

    The possible starts of entity k are `offsets[k]:offsets[k+1]`, in the order of time. For each
    entity there are also how many points it has seen, its score after them, the lowest score so
    far, and the state of its generator of chance. Scores are in the kernel's units.
    """

    offsets: Integers
    points: Integers
    scores: Integers
    seen: Integers
    score: Integers
    lowest: Integers
    states: Integers

    @staticmethod
    def empty(entities: int, seeds: int | Integers = 0) -> SupportSets:
        """Support sets before the first point. Seeds are given by entity, or follow from one.

        Entities of equal seeds and series have equal results, whichever other entities there are.
        """
        none = np.empty(0, np.int64)
        zero = np.zeros(entities, np.int64)
        if isinstance(seeds, int):
            first = np.uint64(seeds * _GOLDEN % (1 << 64))
            seeds = (np.arange(entities, dtype=np.uint64) + first).view(np.int64)
        return SupportSets(
            np.zeros(entities + 1, np.int64), none, none, zero.copy(), zero.copy(),
            np.full(entities, HIGHEST), np.array(seeds, np.int64),
        )  # fmt: skip

    def __len__(self) -> int:
        """The number of entities."""
        return len(self.seen)

    def starts(self, entity: int) -> list[tuple[int, float]]:
        """The possible starts of an entity, and their scores."""
        rows = slice(self.offsets[entity], self.offsets[entity + 1])
        points = self.points[rows]
        scores = (self.scores[rows] - TOLERANCE * (points - 1)) / SCALE
        return list(zip(points.tolist(), scores.tolist(), strict=True))


def recognise(
    probabilities: Floats, offsets: Integers, threshold: float, *,
    memory: SupportSets | None = None, limit: int | None = None,
    durations: Durations | None = None, batch: int | None = None, draws: Floats | None = None,
) -> tuple[Intervals, SupportSets]:  # fmt: skip
    """Maximal intervals that end in further points of the series of entities; and the new memory.

    Points come in batches of a size, or all in one. After each batch only possible starts are
    remembered. With a limit the memory is bounded: starts beyond it are forgotten by score range.
    With durations, starts are forgotten at random first; the numbers to be drawn may be given. An
    interval that a later batch of this call extends is replaced in the result.
    """
    _check(threshold, limit, batch)
    entities = len(offsets) - 1
    memory = memory or SupportSets.empty(entities)
    lengths = np.diff(offsets)
    remembered = np.diff(memory.offsets)
    most = int((lengths + remembered).max(initial=0))
    bounded = lengths + remembered if limit is None else np.minimum(lengths + remembered, limit)
    room = int(bounded.sum())
    seen, score, lowest, states = (
        column.copy() for column in (memory.seen, memory.score, memory.lowest, memory.states)
    )
    offsets_after, points, scores = _room(entities, room, 2)
    found_offsets, starts, ends, sums = _room(entities, len(probabilities), 3)
    chances = np.empty(0) if durations is None else deletion_probabilities(durations)
    _find(
        np.ascontiguousarray(probabilities, np.float64), offsets, lowered(threshold),
        batch or max(len(probabilities), 1), -1 if limit is None else limit,
        np.inf if durations is None else durations.mean, chances,
        np.empty(0) if draws is None else draws, np.zeros(1, np.int64),
        memory.offsets, memory.points, memory.scores, seen, score, lowest, states,
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.bool_),
        np.empty(2 * most if limit is not None else 0, np.int64),
        offsets_after, points, scores, found_offsets, starts, ends, sums,
    )  # fmt: skip
    starts, ends, sums = (shortened(column, found_offsets[-1]) for column in (starts, ends, sums))
    points, scores = (shortened(column, offsets_after[-1]) for column in (points, scores))
    return (
        Intervals(found_offsets, starts, ends, sums, threshold),
        SupportSets(offsets_after, points, scores, seen, score, lowest, states),
    )


def _room(entities: int, length: int, columns: int) -> list[Integers]:
    """Arrays for offsets and for columns, which a kernel fills."""
    offsets = np.zeros(entities + 1, np.int64)
    return [offsets, *(np.empty(length, np.int64) for _ in range(columns))]


def most_credible(intervals: Intervals) -> Intervals:
    """Of each group of overlapping intervals the one of highest mean.

    Groups are closed under overlap. Of means that are equal up to 1e-9 the longer interval is
    taken, then the earlier one.
    """
    chosen = np.zeros(len(intervals), np.bool_)
    choose(intervals.offsets, intervals.starts, intervals.ends, intervals.sums, chosen)
    return selected(intervals, chosen)


def longest(intervals: Intervals) -> Intervals:
    """The intervals, of those sorted by their ends, that lie in no later one.

    So the intervals of several calls of `recognise` for an entity can be joined.
    """
    # An entity's starts are moved above those of all entities before it, so that one pass serves.
    keys = intervals.starts + intervals.entities * (int(intervals.starts.max(initial=0)) + 1)
    later = np.append(np.minimum.accumulate(keys[::-1])[::-1][1:], HIGHEST)
    chosen = np.asarray(keys < later[: len(keys)])
    return selected(intervals, chosen)


def united(intervals: Intervals) -> Intervals:
    """Intervals that lie in no other, with those that touch made one: `[a,b]` and `[b+1,c]`.

    In bounded memory an interval may be found in such pieces. The mean of the whole is at least the
    threshold, as those of its pieces are.
    """
    heads, lasts = _chains(intervals)
    firsts = np.flatnonzero(heads == np.arange(len(heads)))
    if len(firsts) == len(heads):
        return intervals
    sums = np.zeros(len(heads), np.int64)
    np.add.at(sums, heads, intervals.sums)
    counts = np.searchsorted(firsts, intervals.offsets).astype(np.int64)
    whole = Intervals(
        counts, intervals.starts[firsts], intervals.ends[lasts[firsts]], sums[firsts],
        intervals.threshold,
    )  # fmt: skip
    return longest(_by_end(whole))


def _chains(intervals: Intervals) -> tuple[Integers, Integers]:
    """For each interval the first and the last of the chain of touching intervals it is in.

    Starts and ends ascend, so that at most one interval begins where another has ended.
    """
    places = np.arange(len(intervals))
    width = int(intervals.ends.max(initial=0)) + 2
    keys = intervals.entities * width + intervals.starts
    wanted = intervals.entities * width + intervals.ends + 1
    next_places = np.minimum(np.searchsorted(keys, wanted), max(len(places) - 1, 0))
    heads, lasts = places.copy(), places.copy()
    touching = np.flatnonzero(keys[next_places] == wanted) if len(places) else places
    heads[next_places[touching]], lasts[touching] = touching, next_places[touching]
    for pointers in (heads, lasts):
        # Each step doubles how far pointers lead along a chain.
        while not np.array_equal(pointers, pointers[pointers]):
            pointers[:] = pointers[pointers]
    return heads, lasts


def _by_end(intervals: Intervals) -> Intervals:
    order = np.lexsort((intervals.ends, intervals.entities))
    return Intervals(
        intervals.offsets, intervals.starts[order], intervals.ends[order], intervals.sums[order],
        intervals.threshold,
    )  # fmt: skip


def selected(intervals: Intervals, chosen: Booleans) -> Intervals:
    """The intervals that a mask selects."""
    counts = np.concatenate(([0], np.cumsum(chosen)))
    return Intervals(
        counts[intervals.offsets].astype(np.int64), intervals.starts[chosen],
        intervals.ends[chosen], intervals.sums[chosen], intervals.threshold,
    )  # fmt: skip


def lowered(threshold: float) -> int:
    """The threshold less the tolerance, in units of the scale."""
    return round(threshold * SCALE) - TOLERANCE


def _check(threshold: float, limit: int | None, batch: int | None) -> None:
    if not 0 <= threshold <= 1:
        raise ValueError(f"a threshold lies between 0 and 1: {threshold}")
    if limit is not None and limit < 0:
        raise ValueError(f"a memory holds a number of starts: {limit}")
    if batch is not None and batch < 1:
        raise ValueError(f"a batch holds one point or more: {batch}")
