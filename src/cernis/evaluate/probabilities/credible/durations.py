"""How long intervals last, and how likely a start is to be forgotten because of that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.kernels.array_types import Floats, Integers

_SURE: Final = 8.5
"""This many deviations above the mean, a start is certainly forgotten: the rest is below 1e-16."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Mean and standard deviation of the number of points of intervals."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.deviation) and self.deviation >= 0):
            raise ValueError(
                f"no durations: mean {self.mean}, deviation {self.deviation}; "
                "both are numbers, and the deviation is not negative"
            )


def deletion_probability(least: float, durations: Durations) -> float:
    """The probability to forget a start whose intervals will last at least so many points.

    It is the mass of the normal distribution of durations within `least - mean` of its mean. Up to
    the mean it is 0. Without deviation it is 1 above the mean.
    """
    excess = least - durations.mean
    if excess <= 0:
        return 0.0
    if durations.deviation == 0:
        return 1.0
    return math.erf(excess / (durations.deviation * math.sqrt(2)))


def deletion_probabilities(durations: Durations) -> Floats:
    """The deletion probability of each whole duration from 0 on, up to where it is always 1."""
    last = max(math.ceil(durations.mean + _SURE * durations.deviation), 0)
    return np.array([deletion_probability(least, durations) for least in range(last + 1)])


def learned(lengths: Integers) -> Durations | None:
    """The durations of a training set; None if it has no intervals.

    Each interval counts as often as it has points, because a start that is forgotten too early
    costs points. Otherwise the many short intervals of a noisy stream would outnumber the others.
    """
    if not len(lengths):
        return None
    mean = float(np.average(lengths, weights=lengths))
    return Durations(mean, float(np.sqrt(np.average((lengths - mean) ** 2, weights=lengths))))
