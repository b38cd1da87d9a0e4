"""Chooses how to estimate durations: by cross-validation, and none where a memory does without.

Durations say which possible starts a bounded memory forgets first. Whether that helps depends on
the fluent, so each estimate is tried on pairs that it was not made from, against forgetting by
score range alone. What is true are the intervals of whole courses.

Pairs are divided in two ways: spread over the stream, and by stretches of time, since a stream may
change. Durations are taken only if they do clearly better in both. On a stream that is unlike the
training one, durations that are wrong cost more than right ones gain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from cernis.answers.scores import Score, Spans, by_interval, by_point
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.courses import Courses, Credible
from cernis.evaluate.probabilities.credible.credible_tables import credible
from cernis.evaluate.probabilities.credible.durations import Durations, learned
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.kernels.array_types import Booleans, Integers
from cernis.tables.interval_tables import INFINITY

Scores: TypeAlias = tuple[Score, Score]
"""How a way does by point and by interval."""

NONE: Final = "none"
"""The choice to forget by score range alone."""

FOLDS: Final = 5

FEWEST: Final = 60
"""From fewer intervals than this, no durations are taken: five parts have a dozen each."""

CLEARLY: Final = 2.0
"""Durations do clearly better if the mean gain of parts is so many of its standard errors."""

_BELIEF: Final = 10
"""A shrunken estimate counts the longest interval as this many more."""


def plain(lengths: Integers) -> Durations | None:
    """Mean and deviation, each interval counting once, as in the literature."""
    if not len(lengths):
        return None
    return Durations(float(lengths.mean()), float(lengths.std()))


def longest(lengths: Integers) -> Durations | None:
    """The longest interval, with the deviation of the points."""
    by_points = learned(lengths)
    if by_points is None:
        return None
    return Durations(float(lengths.max()), max(by_points.deviation, 1.0))


def upper(lengths: Integers) -> Durations | None:
    """A deviation above the mean."""
    by_points = learned(lengths)
    if by_points is None:
        return None
    return Durations(by_points.mean + by_points.deviation, by_points.deviation)


def shrunken(lengths: Integers) -> Durations | None:
    """Towards the longest interval, the more so the fewer intervals there are."""
    by_points = learned(lengths)
    if by_points is None:
        return None
    share, most = _BELIEF / (_BELIEF + len(lengths)), float(lengths.max())
    return Durations(
        (1 - share) * by_points.mean + share * most,
        (1 - share) * by_points.deviation + share * most,
    )


def mixture(lengths: Integers) -> Durations | None:
    """The longer of two kinds of interval, short ones and long ones."""
    if len(lengths) < 4:
        return learned(lengths)
    logs = np.log(lengths)
    bound = float(np.median(logs))
    for _ in range(20):
        low, high = logs[logs <= bound], logs[logs > bound]
        if not len(low) or not len(high):
            return learned(lengths)
        bound = float((low.mean() + high.mean()) / 2)
    return plain(lengths[logs > bound])


ESTIMATES: Final[Mapping[str, Callable[[Integers], Durations | None]]] = {
    "weighted": learned, "plain": plain, "longest": longest, "upper": upper,
    "shrunken": shrunken, "mixture": mixture,
}  # fmt: skip
"""Ways to estimate durations from the lengths of intervals."""


@dataclass(frozen=True, slots=True)
class DurationChoice:
    """The estimate that was chosen for a fluent, and how it did on pairs held out."""

    estimate: str
    durations: Durations | None
    intervals: int
    """From how many intervals it was made."""
    points: Score
    spans: Score
    without: Score
    """How forgetting by score range alone does, by point."""


def choose_durations(
    answer: Answer, bounds: tuple[int, int, int], chosen: UncertainSettings, memory: int,
    estimate: str | None = None,
) -> dict[str, DurationChoice]:  # fmt: skip
    """For each uncertain fluent the durations that do best in a memory of some size, if any do.

    The bounds are the run's start, end and tick. With an estimate, that one is taken.
    """
    choices = {}
    for relation in answer.means:
        if relation in answer.courses:
            trial = _Trial(relation, answer.courses[relation], bounds, chosen, memory)
            choice = trial.best(estimate)
            if choice is not None:
                choices[str(relation)] = choice
    return choices


class _Trial:
    """Tries estimates for one fluent: each fold of its pairs by durations from the others."""

    def __init__(
        self, relation: Relation, courses: Courses, bounds: tuple[int, int, int],
        chosen: UncertainSettings, memory: int,
    ) -> None:  # fmt: skip
        self._relation, self._courses, self._bounds = relation, courses, bounds
        self._chosen, self._memory = chosen, memory
        self._true = self._recognised(courses, None, {})
        self._lengths = (self._true.ends - self._true.starts) // bounds[2]
        # Pairs are sorted by instance: those of one part are spread over all.
        self._divisions = (np.arange(len(courses.pairs)) % FOLDS, self._stretches())

    def _stretches(self) -> Integers:
        """The stretch of time of each pair, of as many pairs each, by when it first holds."""
        first = np.full(len(self._courses.pairs), INFINITY)
        np.minimum.at(first, self._true.owner, self._true.starts)
        some = int(np.count_nonzero(first < INFINITY))
        ranks = np.empty(len(first), np.int64)
        ranks[np.argsort(first, kind="stable")] = np.arange(len(first))
        return np.minimum(ranks * FOLDS // max(some, 1), FOLDS - 1)

    def best(self, estimate: str | None) -> DurationChoice | None:
        """The choice for the fluent; None if it has no intervals."""
        if not len(self._lengths):
            return None
        without = [self._parts(None, division) for division in self._divisions]
        if estimate is not None:
            return self._choice(estimate, self._parts(estimate, self._divisions[0]), without[0])
        if len(self._lengths) < FEWEST:
            return self._choice(NONE, without[0], without[0])
        tried = {
            name: [self._parts(name, division) for division in self._divisions]
            for name in ESTIMATES
        }
        name = max(tried, key=lambda each: sum(_total(parts)[0].f1 for parts in tried[each]))
        is_clear = all(map(_is_clearly_better, tried[name], without))
        if not is_clear:
            return self._choice(NONE, without[0], without[0])
        return self._choice(name, tried[name][0], without[0])

    def _choice(self, name: str, parts: list[Scores], without: list[Scores]) -> DurationChoice:
        durations = None if name == NONE else ESTIMATES[name](self._lengths)
        points, spans = _total(parts)
        return DurationChoice(
            name, durations, len(self._lengths), points, spans, _total(without)[0]
        )  # fmt: skip

    def _parts(self, estimate: str | None, division: Integers) -> list[Scores]:
        """How an estimate does in each part of the pairs, made from the others."""
        parts = []
        for part in np.unique(division).tolist():
            rows = np.flatnonzero(division == part)
            durations = None if estimate is None else self._learned(estimate, division != part)
            by_name = {} if durations is None else {str(self._relation): durations}
            spans = _spans(self._recognised(self._courses.take(rows), self._memory, by_name), rows)
            true = _spans(self._true, np.arange(len(division)), division == part)
            parts.append((by_point(spans, true, self._bounds[2]), by_interval(spans, true)))
        return parts

    def _learned(self, estimate: str, is_other: Booleans) -> Durations | None:
        """Durations from the pairs of all other parts; of all pairs, if these have no intervals."""
        others = is_other[self._true.owner]
        return ESTIMATES[estimate](self._lengths[others] if others.any() else self._lengths)

    def _recognised(
        self, courses: Courses, memory: int | None, durations: Mapping[str, Durations]
    ) -> Credible:
        settings = UncertainSettings(
            self._chosen.threshold, self._chosen.thresholds, memory, durations, self._chosen.seed
        )
        return credible(self._relation, courses, *self._bounds, settings)


def _total(parts: list[Scores]) -> Scores:
    """The score by point and by interval, with the counts of all parts added up."""
    none = Score(0, 0, 0)
    return sum((part[0] for part in parts), none), sum((part[1] for part in parts), none)


def _is_clearly_better(parts: list[Scores], without: list[Scores]) -> bool:
    """Is the mean gain in f1 by point well above what differences between parts explain?"""
    gains = np.array([
        points.f1 - other.f1
        for (points, _), (other, _) in zip(parts, without, strict=True)
        if other.right + other.missed
    ])  # fmt: skip
    if len(gains) < 2:
        return False
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    return float(gains.mean()) > 0 and float(gains.mean()) >= CLEARLY * error


def _spans(intervals: Credible, pairs: Integers, chosen: Integers | None = None) -> Spans:
    """Intervals as spans of pairs by number; with a mask over pairs, those of some of them."""
    rows = np.arange(len(intervals.owner))
    if chosen is not None:
        rows = np.flatnonzero(chosen[intervals.owner])
    return Spans(pairs[intervals.owner[rows]], intervals.starts[rows], intervals.ends[rows])
