"""Merging of sorted rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]


@kernel("integers integers integers integers integers integers", "integers integers integers")
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
    groups = np.empty(total, np.int64)
    times = np.empty(total, np.int64)
    actions = np.empty(total, np.int64)
    i = 0
    j = 0
    for row in range(total):
        first = j >= len(groups2) or (
            i < len(groups1)
            and (groups1[i] < groups2[j] or (groups1[i] == groups2[j] and times1[i] <= times2[j]))
        )
        if first:
            groups[row] = groups1[i]
            times[row] = times1[i]
            actions[row] = actions1[i]
            i += 1
        else:
            groups[row] = groups2[j]
            times[row] = times2[j]
            actions[row] = actions2[j]
            j += 1
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
