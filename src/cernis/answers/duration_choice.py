"""Chooses how to estimate durations: by cross-validation, and none where a memory does without.

Durations say which possible starts a bounded memory forgets first. Whether that helps depends on
the fluent, so each estimate is tried on pairs that it was not made from, against forgetting by
score range alone. What is true are the intervals of whole courses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.answers.scores import Score, Spans, by_interval, by_point
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.courses import Courses, Credible
from cernis.evaluate.probabilities.credible.credible_tables import credible
from cernis.evaluate.probabilities.credible.durations import Durations, learned
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.kernels.array_types import Integers

NONE: Final = "none"
"""The choice to forget by score range alone."""

FOLDS: Final = 5

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
        # Pairs are sorted by instance: those of one fold are spread over all.
        self._fold = np.arange(len(courses.pairs)) % FOLDS

    def best(self, estimate: str | None) -> DurationChoice | None:
        """The choice for the fluent; None if it has no intervals."""
        if not len(self._lengths):
            return None
        without = self._scores(None)
        if estimate is not None:
            return self._choice(estimate, self._scores(estimate), without)
        scores = {name: self._scores(name) for name in ESTIMATES}
        name = max(scores, key=lambda each: scores[each][0].f1)
        if scores[name][0].f1 <= without[0].f1:
            return self._choice(NONE, without, without)
        return self._choice(name, scores[name], without)

    def _choice(
        self, name: str, scores: tuple[Score, Score], without: tuple[Score, Score]
    ) -> DurationChoice:
        durations = None if name == NONE else ESTIMATES[name](self._lengths)
        return DurationChoice(name, durations, len(self._lengths), *scores, without[0])

    def _scores(self, estimate: str | None) -> tuple[Score, Score]:
        """How an estimate does by point and by interval; the counts of all folds are added up."""
        points = intervals = Score(0, 0, 0)
        for fold in np.unique(self._fold).tolist():
            rows = np.flatnonzero(self._fold == fold)
            durations = None if estimate is None else self._learned(estimate, fold)
            by_name = {} if durations is None else {str(self._relation): durations}
            spans = _spans(self._recognised(self._courses.take(rows), self._memory, by_name), rows)
            true = _spans(self._true, np.arange(len(self._fold)), self._fold == fold)
            points += by_point(spans, true, self._bounds[2])
            intervals += by_interval(spans, true)
        return points, intervals

    def _learned(self, estimate: str, fold: int) -> Durations | None:
        """Durations from the pairs of all other folds; of all pairs, if there is one fold only."""
        others = self._fold[self._true.owner] != fold
        return ESTIMATES[estimate](self._lengths[others] if others.any() else self._lengths)

    def _recognised(
        self, courses: Courses, memory: int | None, durations: Mapping[str, Durations]
    ) -> Credible:
        settings = UncertainSettings(
            self._chosen.threshold, self._chosen.thresholds, memory, durations, self._chosen.seed
        )
        return credible(self._relation, courses, *self._bounds, settings)


def _spans(intervals: Credible, pairs: Integers, chosen: Integers | None = None) -> Spans:
    """Intervals as spans of pairs by number; with a mask over pairs, those of some of them."""
    rows = np.arange(len(intervals.owner))
    if chosen is not None:
        rows = np.flatnonzero(chosen[intervals.owner])
    return Spans(pairs[intervals.owner[rows]], intervals.starts[rows], intervals.ends[rows])
