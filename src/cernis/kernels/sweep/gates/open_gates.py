"""What gates let pass at points, looked up among the points at which they are open."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Words
from cernis.kernels.compile import kernel
from cernis.kernels.sweep.word_bits import ONE

POINTS = (3,)
"""The places of the arguments whose rows count."""


@kernel("integers integers words integers integers integers writable-words", "nothing",
        counted=POINTS)  # fmt: skip
def open_masks(
    keys: Integers, times: Integers, masks: Words, points: Integers, moments: Integers,
    firsts: Integers, passed: Words,
) -> None:  # fmt: skip
    """For each point, the mask of the one among those of `keys` and `times` that is the same.

    These are in order, without repetition. `firsts` says where each key begins, and then where the
    last one ends; if it is empty, keys are searched.
    """
    for row in range(np.uint64(len(points))):
        key, moment = points[row], moments[row]
        low, high = np.uint64(0), np.uint64(len(keys))
        if len(firsts) > 0:
            low, high = np.uint64(firsts[np.uint64(key)]), np.uint64(firsts[np.uint64(key) + ONE])
        while low < high:
            middle = (low + high) >> ONE
            if keys[middle] < key or (keys[middle] == key and times[middle] < moment):
                low = middle + ONE
            else:
                high = middle
        if low < np.uint64(len(keys)) and keys[low] == key and times[low] == moment:
            passed[row] = masks[low]
