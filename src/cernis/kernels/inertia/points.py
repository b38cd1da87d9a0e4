"""Parts that kernels share which go through the actions of instances, point by point."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import part
from cernis.kernels.inertia.structures import IntervalColumns

ZERO, ONE = np.uint64(0), np.uint64(1)
NOTHING = -3
"""Kept where no value holds."""
ALL = -2
"""The termination of whatever value."""


@part
def is_shared(row: Place, instances: Integers, times: Integers) -> bool:
    """Is the next action of the same point of the same instance?"""
    after = row + ONE
    return bool(
        after < Place(len(times))
        and times[after] == times[row]
        and instances[after] == instances[row]
    )


@part
def emit(to: IntervalColumns, count: Place, instance: int, held: int, start: int, end: int) -> None:
    """Write what may be an interval; it is one if the count moves on."""
    to.instances[count] = instance
    to.values[count] = held >> 1
    to.starts[count] = start
    to.ends[count] = end
