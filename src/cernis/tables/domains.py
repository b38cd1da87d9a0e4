"""Domains: the values an argument takes, numbered densely as they are met.

Columns that can be compared hold codes of one domain, so that joining and grouping are about
small integers whatever the values are. Columns that are reckoned with stay numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Value: TypeAlias = int | float | str

_DENSE = 4
"""Integers are numbered through a table if their range is at most this many times their count."""


@dataclass(slots=True)
class Domain:
    """Values and their codes; codes count from 0 and never change.

    >>> domain = Domain()
    >>> domain.encode(["b", "a", "b"]).tolist(), domain.values
    ([0, 1, 0], ['b', 'a'])
    """

    values: list[Value] = field(default_factory=list)
    _codes: dict[Hashable, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: Value) -> int:
        """The code of a value, which is added if it is new."""
        # 3 and 3.0 are two values, though Python takes one for the other.
        key = (value,) if isinstance(value, float) else value
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = len(self.values)
            self.values.append(value)
        return found

    def encode(self, values: Iterable[Value]) -> Integers:
        """The codes of values one by one."""
        return np.fromiter((self.code(value) for value in values), np.int64)

    def encode_integers(self, values: Integers) -> Integers:
        """The codes of an array of integers."""
        if not len(values):
            return np.empty(0, np.int64)
        low, high = int(values.min()), int(values.max())
        if high - low < _DENSE * len(values) + 1024:
            return self._through_table(values, low, high)
        distinct, inverse = np.unique(values, return_inverse=True)
        return self.encode(distinct.tolist())[inverse]

    def _through_table(self, values: Integers, low: int, high: int) -> Integers:
        shifted = values - low if low else values
        seen = np.zeros(high - low + 1, np.bool_)
        seen[shifted] = True
        distinct = np.flatnonzero(seen)
        table = np.zeros(high - low + 1, np.int64)
        table[distinct] = self.encode((distinct + low).tolist())
        return table[shifted]

    def decode(self, codes: Integers) -> list[Value]:
        """The values of codes."""
        values = self.values
        return [values[code] for code in codes.tolist()]


@dataclass(slots=True)
class Domains:
    """One domain for each class of slots that share their values."""

    _domains: dict[Hashable, Domain] = field(default_factory=dict)

    def of(self, class_: Hashable) -> Domain:
        """The domain of a class, made when it is first asked for."""
        return self._domains.setdefault(class_, Domain())


def numbers(values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers as integers if all are, else as floats."""
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    return array.astype(np.float64)
