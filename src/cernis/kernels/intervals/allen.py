"""Relations between intervals: which of two lists stand in one to some interval of the other."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.compile import kernel

RELATIONS = ("before", "meets", "starts", "finishes", "during", "overlaps", "equal")
"""The relations, by their numbers."""


@kernel("integers integers integers integers integers integers integer", "booleans booleans")
def related(
    offsets1: Integers,
    starts1: Integers,
    ends1: Integers,
    offsets2: Integers,
    starts2: Integers,
    ends2: Integers,
    relation: int,
) -> tuple[Booleans, Booleans]:
    """For each interval of the first lists, and of the second: is it in some related pair?

    List r of the first is compared with list r of the second; lists are sorted and disjoint. An
    open end is later than all others, and equal to an open end. All relations but `before` are
    between neighbours, so an interval is compared with those it touches only.
    """
    chosen1 = np.zeros(len(starts1), np.bool_)
    chosen2 = np.zeros(len(starts2), np.bool_)
    for r in range(len(offsets1) - 1):
        low = offsets2[r]
        stop = offsets2[r + 1]
        if relation == 0:
            if low == stop or offsets1[r] == offsets1[r + 1]:
                continue
            for i in range(offsets1[r], offsets1[r + 1]):
                chosen1[i] = ends1[i] < starts2[stop - 1]
            for j in range(low, stop):
                chosen2[j] = ends1[offsets1[r]] < starts2[j]
            continue
        for i in range(offsets1[r], offsets1[r + 1]):
            while low < stop and ends2[low] < starts1[i]:
                low += 1
            j = low
            while j < stop and starts2[j] <= ends1[i]:
                s, e, t, u = starts1[i], ends1[i], starts2[j], ends2[j]
                if relation == 1:
                    holds = e == t
                elif relation == 2:
                    holds = s == t and e < u
                elif relation == 3:
                    holds = e == u and s > t
                elif relation == 4:
                    holds = t < s and e < u
                elif relation == 5:
                    holds = s < t and t < e and e < u
                else:
                    holds = s == t and e == u
                if holds:
                    chosen1[i] = True
                    chosen2[j] = True
                j += 1
    return chosen1, chosen2


def related_plain(
    offsets1: Integers,
    starts1: Integers,
    ends1: Integers,
    offsets2: Integers,
    starts2: Integers,
    ends2: Integers,
    relation: int,
) -> tuple[Booleans, Booleans]:
    """The twin of `related`: every interval with every other, by the definitions."""
    chosen1 = np.zeros(len(starts1), np.bool_)
    chosen2 = np.zeros(len(starts2), np.bool_)
    for r in range(len(offsets1) - 1):
        for i in range(offsets1[r], offsets1[r + 1]):
            for j in range(offsets2[r], offsets2[r + 1]):
                s, e, t, u = starts1[i], ends1[i], starts2[j], ends2[j]
                holds = (
                    e < t, e == t, s == t and e < u, e == u and s > t, t < s and e < u,
                    s < t < e < u, (s, e) == (t, u),
                )[relation]  # fmt: skip
                chosen1[i] |= holds
                chosen2[j] |= holds
    return chosen1, chosen2
