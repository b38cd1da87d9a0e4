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

from cernis.kernels.codes import look_up

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
    _table: Integers = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _low: int = 0

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
            if type(value) is int and 0 <= value - self._low < len(self._table):
                self._table[value - self._low] = found
        return found

    def encode(self, values: Iterable[Value]) -> Integers:
        """The codes of values one by one."""
        return np.fromiter((self.code(value) for value in values), np.int64)

    def encode_integers(self, values: Integers) -> Integers:
        """The codes of an array of integers."""
        if not len(values):
            return np.empty(0, np.int64)
        values = np.ascontiguousarray(values)
        codes, missing = look_up(values, self._low, self._table)
        if not missing:
            return codes
        low, high = int(values.min()), int(values.max())
        if not self._covers(low, high, len(values)):
            distinct, inverse = np.unique(values, return_inverse=True)
            return self.encode(distinct.tolist())[inverse.ravel()]
        codes, missing = look_up(values, self._low, self._table)
        if missing:
            self._add_integers(np.unique(values[codes < 0]))
            codes, _ = look_up(values, self._low, self._table)
        return codes

    def _covers(self, low: int, high: int, count: int) -> bool:
        """Let a table from integers to codes reach over a range, if that is not too large."""
        if len(self._table):
            low, high = min(low, self._low), max(high, self._low + len(self._table) - 1)
        if high - low >= _DENSE * count + 65_536:
            return False
        if not len(self._table) or low < self._low or high >= self._low + len(self._table):
            table = np.full(high - low + 1, -1, np.int64)
            known = [
                (v, c) for c, v in enumerate(self.values) if type(v) is int and low <= v <= high
            ]
            if known:
                table[np.array([v for v, _ in known]) - low] = [c for _, c in known]
            self._table, self._low = table, low
        return True

    def _add_integers(self, values: Integers) -> None:
        first = len(self.values)
        new = values.tolist()
        self.values.extend(new)
        self._codes.update(zip(new, range(first, first + len(new)), strict=True))
        self._table[values - self._low] = np.arange(first, first + len(new))

    def decode(self, codes: Integers) -> list[Value]:
        """The values of codes."""
        values = self.values
        return [values[code] for code in codes.tolist()]


@dataclass(slots=True)
class Domains:
    """One domain for each class of slots that share their values."""

    _domains: dict[Hashable, Domain] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self._domains.values()))

    def of(self, class_: Hashable) -> Domain:
        """The domain of a class, made when it is first asked for."""
        return self._domains.setdefault(class_, Domain())


def numbers(values: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers as integers if all are, else as floats."""
    array = np.asarray(values)
    if array.dtype.kind in "iub" or not len(array):
        return array.astype(np.int64)
    return array.astype(np.float64)


def has_gaps(values: npt.NDArray[Any]) -> bool:
    """May some value be no number? Their sum tells, at less cost than asking each."""
    with np.errstate(all="ignore"):
        return bool(np.isnan(values.sum()))
