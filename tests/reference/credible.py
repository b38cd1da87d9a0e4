"""Probabilistic maximal intervals by their definition, and the online variants batch by batch.

Time-points are counted from 1: `probabilities[0]` is the probability at time-point 1. Sums are
exact, over the decimal numbers as they are written; `TOLERANCE` is the only slack.

A *score* of a time-point t is the sum of `probability - threshold` over all points before t. The
interval `[s, e]` has a mean of at least the threshold iff the score of e+1 is not below that of
s. The memory of the online variants holds possible starts as pairs (time-point, score): those
whose score is below that of every earlier time-point.
"""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

Interval = tuple[int, int]
Memory = tuple[tuple[int, float], ...]

TOLERANCE = Fraction(1, 10**9)

VARIANTS = ("batch", "unbounded", "b", "bd")


def exact(number: float) -> Fraction:
    """The decimal number as it is written: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def mean(probabilities: Sequence[float], interval: Interval) -> Fraction:
    """The mean probability of a closed interval."""
    start, end = interval
    return sum(map(exact, probabilities[start - 1 : end]), Fraction(0)) / (end - start + 1)


def maximal_intervals(probabilities: Sequence[float], threshold: float) -> list[Interval]:
    """All `[s, e]` of mean at least the threshold that lie in no other such; sorted.

    A mean of exactly the threshold counts. They may overlap. No probabilities: none.
    """
    points = range(1, len(probabilities) + 1)
    likely = [
        (start, end)
        for start in points
        for end in points[start - 1 :]
        if mean(probabilities, (start, end)) >= exact(threshold) - TOLERANCE
    ]
    return longest(likely)


def longest(intervals: Iterable[Interval]) -> list[Interval]:
    """The intervals that lie in no other of them, sorted, each once."""
    distinct = sorted(set(intervals))
    return [
        inner
        for inner in distinct
        if not any(
            outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1] for outer in distinct
        )
    ]


def most_credible(intervals: Sequence[Interval], probabilities: Sequence[float]) -> list[Interval]:
    """Of each group of overlapping intervals the one of highest mean; sorted.

    Two intervals overlap when they share a time-point. A group is closed under overlap: if the
    first overlaps the second and the second the third, all three are in it. Among means that are
    equal up to the tolerance the longer interval wins, then the earlier one.
    """
    groups: list[list[Interval]] = []
    for interval in sorted(intervals):
        if groups and interval[0] <= max(end for _, end in groups[-1]):
            groups[-1].append(interval)
        else:
            groups.append([interval])
    return [_best(group, probabilities) for group in groups]


def _best(group: Sequence[Interval], probabilities: Sequence[float]) -> Interval:
    highest = max(mean(probabilities, interval) for interval in group)
    top = [one for one in group if mean(probabilities, one) >= highest - TOLERANCE]
    return max(top, key=lambda interval: (interval[1] - interval[0], -interval[0]))


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch brought: intervals that end in it, and the memory after it."""

    found: tuple[Interval, ...]
    memory: Memory


@dataclass(frozen=True, slots=True)
class Durations:
    """What is known of the durations of intervals: mean and standard deviation."""

    mean: float
    deviation: float


_Start = tuple[int, Fraction]


def online(
    batches: Sequence[Sequence[float]],
    threshold: float,
    *,
    limit: int | None = None,
    durations: Durations | None = None,
    draw: Callable[[], float] | None = None,
) -> list[Batch]:
    """The batches one after the other.

    Without a limit the memory is unbounded; with one it is bounded by score range; with durations
    too, starts are first forgotten by chance, as `draw` says: it gives numbers of `[0, 1)`, one
    for each start that may be forgotten, in the order of time. None: a generator of seed 0.

    An interval is found in a batch if it ends there, starts there or in the memory, has a mean of
    at least the threshold, and lies in no other such interval.
    """
    draw = draw or random.Random(0).random
    scores = [Fraction(0)]
    memory: list[_Start] = []
    lowest: Fraction | None = None
    results = []
    for batch in batches:
        first = len(scores)
        for probability in batch:
            scores.append(scores[-1] + exact(probability) - exact(threshold))
        found = _ending_since(first, memory, scores)
        for point in range(first, len(scores)):
            if lowest is None or scores[point - 1] < lowest:
                lowest = scores[point - 1]
                memory.append((point, lowest))
        if limit is not None and durations is not None:
            memory = forget_by_duration(memory, limit, durations, len(scores) - 1, draw)
        if limit is not None:
            memory = forget_by_score_range(memory, limit)
        results.append(Batch(tuple(found), tuple((t, float(score)) for t, score in memory)))
    return results


def _ending_since(
    first: int, memory: Sequence[_Start], scores: Sequence[Fraction]
) -> list[Interval]:
    """The longest likely intervals from the memory or the batch into the batch.

    `scores[t]` is the score after time-point t, so that of t itself is `scores[t - 1]`.
    """
    batch = range(first, len(scores))
    starts = [*memory, *((point, scores[point - 1]) for point in batch)]
    return longest(
        (start, end)
        for start, score in starts
        for end in batch
        if start <= end and (scores[end] - score) / (end - start + 1) >= -TOLERANCE
    )


def forget_by_score_range(memory: Sequence[_Start], limit: int) -> list[_Start]:
    """The starts with the longest score ranges, as many as the limit allows, in order of time.

    The score range of a start reaches from its score up to the score of the start before it in
    the memory; the first start has one without end. All ranges are taken before any start is
    forgotten. Of equal ranges the earlier start stays.
    """
    before: list[_Start | None] = [None, *memory[:-1]]
    ranges = [
        math.inf if previous is None else previous[1] - score
        for previous, (_, score) in zip(before, memory, strict=False)
    ]
    ranked = sorted(range(len(memory)), key=lambda at: (-ranges[at], at))
    return [memory[at] for at in sorted(ranked[:limit])]


def forget_by_duration(
    memory: Sequence[_Start],
    limit: int,
    durations: Durations,
    now: int,
    draw: Callable[[], float],
) -> list[_Start]:
    """Go through the starts in order of time and forget some by chance, while too many.

    A start is forgotten when its deletion probability is greater than the number drawn for it.
    A number is drawn only while the memory is over its limit, and only for a start whose least
    duration, to `now` with both ends, is over the mean. The result may still be over the limit.
    """
    kept = list(memory)
    for start in memory:
        least = now - start[0] + 1
        over = len(kept) > limit and least > durations.mean
        if over and deletion_probability(least, durations) > draw():
            kept.remove(start)
    return kept


def deletion_probability(least: float, durations: Durations) -> float:
    """Chance to forget a start whose intervals will last at least `least`.

    The mass of the normal distribution of durations within `least - mean` of its mean; 0 for
    durations up to the mean. Without deviation it is 1 above the mean.
    """
    excess = least - durations.mean
    if excess <= 0:
        return 0.0
    if durations.deviation == 0:
        return 1.0
    return math.erf(excess / (durations.deviation * math.sqrt(2)))


def reported(batches: Iterable[Batch]) -> list[Interval]:
    """What is left of all that was found: a longer interval replaces those that lie in it."""
    return longest(interval for batch in batches for interval in batch.found)


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """The intervals with those that touch made one: `[a,b]` and `[b+1,c]` are `[a,c]`.

    The mean of the union is at least the threshold where both means are. In bounded memory an
    interval may have been found in such pieces.
    """
    known = set(intervals)
    size = 0
    while len(known) > size:
        size = len(known)
        known |= {
            (first[0], last[1]) for first in known for last in known if first[1] + 1 == last[0]
        }
    return longest(known)


def run_credible_case(folder: Path) -> str:
    """The answer to a case folder, one interval a line: `[1,5]`.

    Settings: `threshold`; `variant`, one of VARIANTS; `batches`, the sizes; `limit`; `mean`,
    `deviation` and `draws` for bd; `credible = true` for the most credible ones only.
    """
    intervals, _ = _run_case(folder)
    return "".join(f"[{start},{end}]\n" for start, end in intervals)


def run_credible_batches(folder: Path) -> str:
    """The found and the remembered of each batch of a case, one batch a line."""
    lines = []
    for batch in _run_case(folder)[1]:
        found = " ".join(f"[{start},{end}]" for start, end in batch.found)
        memory = " ".join(f"({point},{score:g})" for point, score in batch.memory)
        lines.append(f"{found or '-'} | {memory or '-'}\n")
    return "".join(lines)


def _run_case(folder: Path) -> tuple[list[Interval], list[Batch]]:
    probabilities = [float(word) for word in (folder / "probabilities.txt").read_text().split()]
    settings = tomllib.loads((folder / "case.toml").read_text())["settings"]
    variant = settings["variant"]
    if variant not in VARIANTS:
        raise ValueError(f"no such variant: {variant}")
    results: list[Batch] = []
    if variant == "batch":
        intervals = maximal_intervals(probabilities, settings["threshold"])
    else:
        results = online(
            _split(probabilities, settings["batches"]),
            settings["threshold"],
            limit=settings["limit"] if variant in ("b", "bd") else None,
            durations=Durations(settings["mean"], settings["deviation"])
            if variant == "bd"
            else None,
            draw=iter(settings.get("draws", ())).__next__ if variant == "bd" else None,
        )
        intervals = reported(results)
        if variant in ("b", "bd"):
            intervals = joined(intervals)
    if settings.get("credible", False):
        intervals = most_credible(intervals, probabilities)
    return intervals, results


def _split(probabilities: Sequence[float], sizes: Sequence[int]) -> list[Sequence[float]]:
    if sum(sizes) != len(probabilities):
        raise ValueError("the batches do not add up to the probabilities")
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    return [probabilities[end - size : end] for end, size in zip(ends, sizes, strict=True)]
