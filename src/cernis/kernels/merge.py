"""Merging of sorted rows."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import body, kernel, part

ONE = np.uint64(1)


@part
def _precedes(group1: int, time1: int, group2: int, time2: int) -> bool:
    """Does a row of the first list go before one of the second? Without a branch."""
    return (group1 < group2) | ((group1 == group2) & (time1 <= time2))


@part
def _share(
    rows: int, groups1: Integers, times1: Integers, groups2: Integers, times2: Integers
) -> Place:
    """How many of so many first rows of the result are of the first list."""
    low, high = max(0, rows - len(groups2)), min(rows, len(groups1))
    while low < high:
        i = (low + high) >> 1
        j = rows - i - 1
        if _precedes(groups1[i], times1[i], groups2[j], times2[j]):
            low = i + 1
        else:
            high = i
    return Place(low)


@part
def _step(
    i: Place, j: Place, row: Place,
    groups1: Integers, times1: Integers, actions1: Integers,
    groups2: Integers, times2: Integers, actions2: Integers,
    groups: Integers, times: Integers, actions: Integers,
) -> tuple[Place, Place, Place]:  # fmt: skip
    """Write one row, and move on in the list that it is from."""
    group1, time1, action1 = groups1[i], times1[i], actions1[i]
    group2, time2, action2 = groups2[j], times2[j], actions2[j]
    first = _precedes(group1, time1, group2, time2)
    groups[row] = group1 if first else group2
    times[row] = time1 if first else time2
    actions[row] = action1 if first else action2
    return i + Place(first), j + (ONE - Place(first)), row + ONE


@part
def _copy(
    i: Place, stop: Place, row: Place,
    groups1: Integers, times1: Integers, actions1: Integers,
    groups: Integers, times: Integers, actions: Integers,
) -> Place:  # fmt: skip
    """Write what is left of one list; gives the row after it."""
    while i < stop:
        groups[row] = groups1[i]
        times[row] = times1[i]
        actions[row] = actions1[i]
        i += ONE
        row += ONE
    return row


@body
def _finish(
    i: Place, i_stop: Place, j: Place, j_stop: Place, row: Place,
    groups1: Integers, times1: Integers, actions1: Integers,
    groups2: Integers, times2: Integers, actions2: Integers,
    groups: Integers, times: Integers, actions: Integers,
) -> None:  # fmt: skip
    """Merge what is left of a half."""
    while i < i_stop and j < j_stop:
        i, j, row = _step(i, j, row, groups1, times1, actions1, groups2, times2, actions2,
                          groups, times, actions)  # fmt: skip
    row = _copy(i, i_stop, row, groups1, times1, actions1, groups, times, actions)
    _copy(j, j_stop, row, groups2, times2, actions2, groups, times, actions)


@kernel(
    "integers integers integers integers integers integers "
    "writable-integers writable-integers writable-integers",
    "nothing",
)
def _merge(
    groups1: Integers, times1: Integers, actions1: Integers,
    groups2: Integers, times2: Integers, actions2: Integers,
    groups: Integers, times: Integers, actions: Integers,
) -> None:  # fmt: skip
    """Both halves of the result in turns: a step waits for the one before, the halves do not."""
    half = (len(groups1) + len(groups2)) >> 1
    i, j, row = Place(0), Place(0), Place(0)
    i_stop = _share(half, groups1, times1, groups2, times2)
    j_stop = Place(half) - i_stop
    k, m, other = i_stop, j_stop, Place(half)
    k_stop, m_stop = Place(len(groups1)), Place(len(groups2))
    while i < i_stop and j < j_stop and k < k_stop and m < m_stop:
        i, j, row = _step(i, j, row, groups1, times1, actions1, groups2, times2, actions2,
                          groups, times, actions)  # fmt: skip
        k, m, other = _step(k, m, other, groups1, times1, actions1, groups2, times2, actions2,
                            groups, times, actions)  # fmt: skip
    _finish(i, i_stop, j, j_stop, row, groups1, times1, actions1, groups2, times2, actions2,
            groups, times, actions)  # fmt: skip
    _finish(k, k_stop, m, m_stop, other, groups1, times1, actions1, groups2, times2, actions2,
            groups, times, actions)  # fmt: skip


def merge(
    groups1: Integers,
    times1: Integers,
    actions1: Integers,
    groups2: Integers,
    times2: Integers,
    actions2: Integers,
) -> tuple[Integers, Integers, Integers]:
    """One list of rows sorted by group and time from two; equal rows of the first come first."""
    total = len(groups1) + len(groups2)
    groups, times, actions = (np.empty(total, np.int64) for _ in range(3))
    _merge(groups1, times1, actions1, groups2, times2, actions2, groups, times, actions)
    return groups, times, actions


def merge_plain(
    groups1: Integers,
    times1: Integers,
    actions1: Integers,
    groups2: Integers,
    times2: Integers,
    actions2: Integers,
) -> tuple[Integers, Integers, Integers]:
    """The twin of `merge`: a stable sort."""
    groups = np.concatenate([groups1, groups2])
    times = np.concatenate([times1, times2])
    actions = np.concatenate([actions1, actions2])
    order = np.lexsort((times, groups))
    return groups[order], times[order], actions[order]
