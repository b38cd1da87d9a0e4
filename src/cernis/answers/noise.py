"""Noise, to see what rules still recognise: confidences, and records of what never happened.

All of it is drawn from generators that the caller seeds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.kernels.array_types import Floats, Integers

_FULL: Final = 10.0
"""A draw of so much noise leaves no confidence."""


def gamma_confidences(
    times: Integers, chance: np.random.Generator, first: float = 0.5, last: float = 8.0
) -> Floats:
    """Confidences that sink as noise rises: one for each record, in the order given.

    Noise is drawn from a gamma distribution of scale 1, whose mean rises with time, from `first`
    at the first record to `last` at the last. A draw x makes a confidence of `1 - x/10`, and of 0
    from 10 on.
    """
    if not len(times):
        return np.empty(0)
    span = max(int(times.max()) - int(times.min()), 1)
    means = first + (last - first) * (times - int(times.min())) / span
    return np.asarray(np.clip(1 - chance.gamma(means) / _FULL, 0.0, 1.0))


def distance_confidences(distances: Floats, c: float) -> Floats:
    """`1 - x/(x+c)`: full confidence at the base station, half of it at the distance c."""
    return np.asarray(1 - distances / (distances + c))


def spurious_records(
    names: Integers, kinds: int, share: float, chance: np.random.Generator
) -> tuple[Integers, Integers]:
    """Records that did not happen: copies of real ones under another name.

    `names` says of which of the kinds each record is. Gives the rows to be copied, a share of all,
    each at most once, and the names of the copies. One kind alone has no others: none.
    """
    count = round(share * len(names))
    if kinds < 2 or not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.sort(chance.permutation(len(names))[:count])
    other = (names[rows] + chance.integers(1, kinds, count)) % kinds
    return rows, other
