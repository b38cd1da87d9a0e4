"""Accuracy: intervals that were found against intervals that are true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.kernels.array_types import Integers

_ENOUGH: Final = 0.5
"""An interval is the same as another if they share so much of what both cover."""


@dataclass(frozen=True, slots=True)
class Score:
    """What was found rightly, found wrongly, and missed."""

    right: int
    wrong: int
    missed: int
    found_right: int | None = None
    """Of what was found, how much is right, if that is not what is true and was found."""

    @property
    def precision(self) -> float:
        """How much of what was found is right; 1 if nothing was found."""
        right = self.right if self.found_right is None else self.found_right
        return right / (right + self.wrong) if right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """How much of what is true was found; 1 if nothing is true."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def __add__(self, other: Score) -> Score:
        mine, theirs = (s.right if s.found_right is None else s.found_right for s in (self, other))
        return Score(
            self.right + other.right, self.wrong + other.wrong, self.missed + other.missed,
            mine + theirs,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals `[start, end)` of pairs by number, in any order; those of a pair are disjoint."""

    pairs: Integers
    starts: Integers
    ends: Integers


def by_point(recognised: Spans, true: Spans, tick: int = 1) -> Score:
    """Point by point: at how many was a pair found and true, found and not, true and not."""
    pairs = np.concatenate([recognised.pairs, recognised.pairs, true.pairs, true.pairs])
    times = np.concatenate([recognised.starts, recognised.ends, true.starts, true.ends])
    sizes = [len(spans.pairs) for spans in (recognised, recognised, true, true)]
    kinds, signs = np.repeat([0, 0, 1, 1], sizes), np.repeat([1, -1, 1, -1], sizes)
    steps = np.where(np.arange(2)[:, None] == kinds, signs, 0)
    order = np.lexsort((times, pairs))
    pairs, times = pairs[order], times[order]
    is_found, is_true = np.cumsum(steps[:, order], axis=1)[:, :-1] > 0
    lengths = np.where(pairs[1:] == pairs[:-1], times[1:] - times[:-1], 0) // tick
    both, one, other = (
        int(lengths[mask].sum())
        for mask in (is_found & is_true, is_found & ~is_true, is_true & ~is_found)
    )
    return Score(both, one, other)


def by_interval(recognised: Spans, true: Spans) -> Score:
    """Interval by interval: one is right if some other shares half or more of what both cover."""
    recognised, true = _sorted(recognised), _sorted(true)
    right = np.zeros(len(recognised.pairs), np.bool_)
    hit = np.zeros(len(true.pairs), np.bool_)
    rows, others = _overlapping(recognised, true)
    shared = np.minimum(recognised.ends[rows], true.ends[others]) - np.maximum(
        recognised.starts[rows], true.starts[others]
    )
    lengths = (
        recognised.ends[rows] - recognised.starts[rows] + true.ends[others] - true.starts[others]
    )
    same = shared >= _ENOUGH * (lengths - shared)
    right[rows[same]] = True
    hit[others[same]] = True
    return Score(int(hit.sum()), int((~right).sum()), int((~hit).sum()), int(right.sum()))


def _sorted(spans: Spans) -> Spans:
    order = np.lexsort((spans.starts, spans.pairs))
    return Spans(spans.pairs[order], spans.starts[order], spans.ends[order])


def _overlapping(recognised: Spans, true: Spans) -> tuple[Integers, Integers]:
    """All two intervals of one pair that share a point."""
    low = _below(true.pairs, true.ends, recognised.pairs, recognised.starts, or_equal=True)
    high = _below(true.pairs, true.starts, recognised.pairs, recognised.ends, or_equal=False)
    counts = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(recognised.pairs)), counts)
    before = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) + np.repeat(low - before, counts)


def _below(
    pairs: Integers, times: Integers, other_pairs: Integers, other_times: Integers, or_equal: bool
) -> Integers:
    """How many sorted pairs and times lie below each of others."""
    every = np.concatenate([times, other_times])
    least, span = int(every.min(initial=0)), int(np.ptp(every)) + 2 if len(every) else 1
    keys = pairs * span + (times - least)
    return np.searchsorted(
        keys, other_pairs * span + (other_times - least), "right" if or_equal else "left"
    )
