"""Numbers for the keys of lanes and lists, and the way from the numbers of one to those of another.

A key is a combination of coded values. Numeric arguments have no codes; here they get some.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.errors import InternalError
from cernis.kernels.array_types import Array, Integers
from cernis.tables.columns import Column
from cernis.tables.domains import Domain
from cernis.tables.domains import numbers as numbers_of_values
from cernis.tables.registers import Register


class KeyNumbers:
    """Numbers keys in the order in which they are entered; a single code is its own number."""

    def __init__(self, domains: Sequence[Domain | None]) -> None:
        self.domains = list(domains)
        self._register = Register([each if each is not None else Domain() for each in domains])
        self._has_numbers = any(each is None for each in domains)
        self.count = 0
        """How many numbers there are."""

    @property
    def combinations(self) -> int:
        """How many of the numbers are no codes of values: of keys of several, or of numbers."""
        is_code = len(self.domains) == 1 and self.domains[0] is not None
        return 0 if is_code else self.count

    def enter(self, columns: Sequence[Array], length: int) -> Integers:
        """The numbers of some keys, which are given by their values."""
        codes = list(columns)
        if self._has_numbers:
            coded = zip(columns, self.domains, self._register.domains, strict=True)
            codes = [
                column if domain is not None or numeric is None else numeric.encode_numbers(column)
                for column, domain, numeric in coded
            ]
        numbers = self._register.enter(codes, length)[0]
        if length:
            self.count = max(self.count, int(numbers.max()) + 1)
        return numbers

    def columns(self, numbers: Integers) -> list[Array]:
        """The values of keys."""
        if not self._has_numbers:
            return self._register.columns(numbers)
        coded = zip(self._register.columns(numbers), self.domains, self._register.domains,
                    strict=True)  # fmt: skip
        return [
            column if domain is not None or numeric is None
            else numbers_of_values(numeric.decode(column))
            for column, domain, numeric in coded
        ]  # fmt: skip

    def coded_columns(self, numbers: Integers) -> list[Column]:
        """The values of keys as columns of codes, for conditions on them."""
        columns = zip(self._register.columns(numbers), self._register.domains, strict=True)
        return [Column(codes, domain) for codes, domain in columns]


class KeyMap:
    """From the numbers of keys here to those of the same keys elsewhere."""

    def __init__(self, source: KeyNumbers, target: KeyNumbers) -> None:
        self._source, self._target = source, target
        pairs = zip(source.domains, target.domains, strict=True)
        if not all(one is other for one, other in pairs):
            raise InternalError("keys of lists have other codes than those of what they read")
        self._is_identity = len(source.domains) == 1 and source.domains[0] is not None
        self._numbers = np.empty(0, np.int64)
        self._known = 0
        """How many keys of the source have been entered."""

    def __call__(self, numbers: Integers) -> Integers:
        """The numbers of some keys. All keys that the source knows are entered there."""
        if self._known < self._source.count:
            new = np.arange(self._known, self._source.count)
            columns = [new] if self._is_identity else self._source.columns(new)
            entered = self._target.enter(columns, len(new))
            self._known = self._source.count
            if not self._is_identity:
                self._numbers = np.concatenate([self._numbers, entered])
        return numbers if self._is_identity else self._numbers[numbers]
