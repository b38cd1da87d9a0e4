"""Records of several relations in the order of time."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Words
from cernis.kernels.compile import kernel

_FEW = 4
"""Times are counted one by one if they span no more than so many times as many as there are."""

_ONE = np.uint64(1)


@kernel("integers integers words integer writable-integers " + "writable-integers " * 2
        + "writable-words", "nothing")  # fmt: skip
def _count_out(
    times: Integers, instances: Integers, fired: Words, low: int, stops: Integers,
    sorted_times: Integers, sorted_instances: Integers, sorted_fired: Words,
) -> None:  # fmt: skip
    """A stable counting sort; what is sorted by time in runs is read and written in runs."""
    for row in range(np.uint64(len(times))):
        stops[np.uint64(times[row] - low) + _ONE] += 1
    for place in range(np.uint64(len(stops) - 1)):
        stops[place + _ONE] += stops[place]
    for row in range(np.uint64(len(times))):
        time = np.uint64(times[row] - low)
        target = np.uint64(stops[time])
        stops[time] += 1
        sorted_times[target], sorted_instances[target] = times[row], instances[row]
        sorted_fired[target] = fired[row]


def by_time(times: Integers, instances: Integers, fired: Words) -> tuple[Integers, Integers, Words]:
    """Three columns in the order of the first; rows of one time as they were."""
    low, high = int(times.min()), int(times.max())
    if high - low > _FEW * len(times):
        return by_time_plain(times, instances, fired)
    columns = np.empty_like(times), np.empty_like(instances), np.empty_like(fired)
    _count_out(times, instances, fired, low, np.zeros(high - low + 2, np.int64), *columns)
    return columns


def by_time_plain(
    times: Integers, instances: Integers, fired: Words
) -> tuple[Integers, Integers, Words]:
    """The twin of `by_time`."""
    order = np.argsort(times, kind="stable")
    return times[order], instances[order], fired[order]
