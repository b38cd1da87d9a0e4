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

NO_EFFECT = -1
"""The delay of a value without a delayed effect."""
NO_ACTION = -4
"""Where there is no effect, or no further one."""
NEVER = int(np.iinfo(np.int64).max)
"""When an effect is due that is not, and since when a value holds that does not."""
OF_NONE, OF_POSTPONABLE, OF_ALL = 0, 1, 2
"""Of which values initiations are noted where one value holds at most."""
UNTIL_DUE = 2
"""Postponable also by an initiation at the very point at which the effects are due."""
NO_POINT = int(np.iinfo(np.int64).min)
"""A point at which nothing happens."""


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
