"""When something is due at a key: only keys with news or with something due are visited.

Each key stands in one bucket at most, by the time of what is due first. A bucket is a chain of
keys. Buckets are reused in a circle, so one may have keys whose time has not come: these stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Integers, SmallIntegers
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

BUCKETS = 1024
NEVER = np.int64(np.iinfo(np.int64).max)
_BUCKETS = np.int64(BUCKETS)

CALENDAR = "(writable-integers writable-small writable-small writable-small integer)"


class Calendar(NamedTuple):
    """When keys are due, and their chains; `width` is the time that a bucket stands for.

    Chains have numbers of keys plus 1. The first of a chain has, in place of a key before it, the
    number of its bucket as a negative number.
    """

    dues: Integers
    after: SmallIntegers
    before: SmallIntegers
    heads: SmallIntegers
    width: int


@part
def _bucket(time: Time, width: Time) -> Word:
    return np.uint64((time // width) % _BUCKETS)


@part
def set_due(key: Word, time: Time, calendar: Calendar) -> None:
    """Note when a key is due; `NEVER` takes it off the calendar."""
    dues, after, before, heads, width = calendar
    if dues[key] == time:
        return
    if dues[key] != NEVER:
        follower, leader = after[key], before[key]
        if leader > 0:
            after[np.uint64(leader - 1)] = follower
        else:
            heads[np.uint64(-leader)] = follower
        if follower > 0:
            before[np.uint64(follower - 1)] = leader
    dues[key] = time
    if time != NEVER:
        bucket = _bucket(time, np.int64(width))
        first = heads[bucket]
        after[key], before[key] = first, -np.int32(bucket)
        if first > 0:
            before[np.uint64(first - 1)] = np.int32(key + ONE)
        heads[bucket] = np.int32(key + ONE)


@kernel(f"integer integer {CALENDAR} writable-integers", "integer", counted=(7,))
def due_keys(last: int, query: int, calendar: Calendar, keys: Integers) -> int:
    """Write the keys that are due up to the query, all after the last one; gives how many."""
    width = calendar.width
    low, high = last // width, query // width
    if high - low >= BUCKETS:
        low, high = 0, BUCKETS - 1
    count = ZERO
    for number in range(low, high + 1):
        link = calendar.heads[np.uint64(number % _BUCKETS)]
        while link > 0:
            key = np.uint64(link - 1)
            if calendar.dues[key] <= query:
                keys[count] = np.int64(key)
                count += ONE
            link = calendar.after[key]
    return int(count)


@kernel(f"integers integers {CALENDAR}", "nothing", counted=(0,))
def set_dues(keys: Integers, times: Integers, calendar: Calendar) -> None:
    """Note when each of many keys is due."""
    for row in range(np.uint64(len(keys))):
        set_due(np.uint64(keys[row]), times[row], calendar)
