"""Sets of keys: those of a stage that have news."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.kernels.array_types import Booleans, Integers

_NONE = np.empty(0, np.int64)
MOST_SELECTED: Final = 0.75
"""If a larger share of the keys has news, all are evaluated: selecting them has a cost, too."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """Some keys of a register, by their numbers in ascending order; or all, known or not."""

    numbers: Integers
    is_everything: bool = False

    @classmethod
    def of(cls, numbers: Integers) -> KeySet:
        """The keys with these numbers, of which some may be given several times."""
        if not len(numbers):
            return NO_KEYS
        return cls(np.flatnonzero(np.bincount(numbers)))

    def __bool__(self) -> bool:
        return self.is_everything or bool(len(self.numbers))

    def or_all(self, count: int) -> KeySet:
        """All keys if these are most of so many; else these."""
        return ALL_KEYS if len(self.numbers) > MOST_SELECTED * count else self

    def mask(self, numbers: Integers) -> Booleans:
        """Which of some keys, -1 for one that is not known, are in the set."""
        if self.is_everything:
            return np.ones(len(numbers), np.bool_)
        if not len(self.numbers):
            return np.zeros(len(numbers), np.bool_)
        # The place after the last is for keys that lie beyond it, and for those not known.
        last = int(self.numbers[-1]) + 1
        is_member = np.zeros(last + 1, np.bool_)
        is_member[self.numbers] = True
        places = np.where((numbers < 0) | (numbers > last), last, numbers)
        return np.asarray(is_member[places])


NO_KEYS = KeySet(_NONE)
ALL_KEYS = KeySet(_NONE, is_everything=True)


def joined(parts: Iterable[KeySet]) -> KeySet:
    """The keys of several sets."""
    # The same set is often given several times.
    different: list[KeySet] = list({id(part): part for part in parts if part}.values())
    if any(part.is_everything for part in different):
        return ALL_KEYS
    if len(different) <= 1:
        return different[0] if different else NO_KEYS
    return KeySet.of(np.concatenate([part.numbers for part in different]))
