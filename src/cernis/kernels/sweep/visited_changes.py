"""The keys that a walk over lists visits, each once, and the changes of each together."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, SmallIntegers, WordMatrix
from cernis.kernels.compile import kernel
from cernis.kernels.sweep.word_bits import ONE

NOT_VISITED = -1
"""The number of a visit, of a key that is not visited."""


@kernel("integers integer writable-small writable-integers", "integer", counted=(0,))
def add_visits(keys: Integers, count: int, visit_of: SmallIntegers, visits: Integers) -> int:
    """Add keys to those that are visited, unless they are among them; gives how many there are.

    `visit_of` has `NOT_VISITED` for each key that is not.
    """
    added = np.uint64(count)
    for row in range(np.uint64(len(keys))):
        key = np.uint64(keys[row])
        if visit_of[key] == NOT_VISITED:
            visit_of[key] = 0
            visits[added] = keys[row]
            added += ONE
    return int(np.int64(added))


@kernel("integers writable-small", "nothing", counted=(0,))
def number_visits(visits: Integers, visit_of: SmallIntegers) -> None:
    """Note the number of the visit of each key."""
    for number in range(np.uint64(len(visits))):
        visit_of[np.uint64(visits[number])] = np.int32(number)


@kernel("integers writable-small", "nothing", counted=(0,))
def forget_visits(visits: Integers, visit_of: SmallIntegers) -> None:
    """Let no key be visited any more."""
    for number in range(np.uint64(len(visits))):
        visit_of[np.uint64(visits[number])] = NOT_VISITED


@kernel(
    "integers integers integers integers small writable-integers writable-word-matrix", "nothing",
    counted=(0,),
)  # fmt: skip
def order_changes(
    numbers: Integers, keys: Integers, starts: Integers, ends: Integers, visit_of: SmallIntegers,
    firsts: Integers, rows: WordMatrix,
) -> None:  # fmt: skip
    """Write intervals as rows, visit by visit; those of one key stay in their order.

    `firsts`, which has nothing but zeros, gets where the rows of each visit begin, and last where
    they end.
    """
    visits = np.uint64(len(firsts)) - ONE
    for row in range(np.uint64(len(keys))):
        firsts[np.uint64(visit_of[np.uint64(keys[row])])] += 1
    total = np.int64(0)
    for number in range(visits):
        count = firsts[number]
        firsts[number] = total
        total += count
    for row in range(np.uint64(len(keys))):
        visit = np.uint64(visit_of[np.uint64(keys[row])])
        place = np.uint64(firsts[visit])
        firsts[visit] += 1
        rows[place, np.uint64(0)] = np.uint64(numbers[row])
        rows[place, np.uint64(1)] = np.uint64(starts[row])
        rows[place, np.uint64(2)] = np.uint64(ends[row])
    # Each visit's place has moved to where the next one's begins.
    for number in range(visits):
        firsts[visits - number] = firsts[visits - number - ONE]
    firsts[np.uint64(0)] = 0
