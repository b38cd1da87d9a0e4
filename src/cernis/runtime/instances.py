"""Numbers for the instances of relations, as they are met."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.kernels.hashing import Numbering
from cernis.runtime.causes import UnfitError
from cernis.tables.columns import Array
from cernis.tables.domains import Domain

Integers: TypeAlias = npt.NDArray[np.int64]

_MOST_BITS = 62
_LEAST_BITS = 6


class Instances:
    """Numbers the arguments of one relation densely, in the order they are met.

    Arguments are codes; they are packed into one integer, with room for domains to grow.
    """

    def __init__(self, domains: list[Domain | None]) -> None:
        if any(domain is None for domain in domains):
            raise UnfitError
        self.domains: list[Domain] = [domain for domain in domains if domain is not None]
        self._bits = [max(_LEAST_BITS, len(own).bit_length() + 1) for own in self.domains]
        if sum(self._bits) > _MOST_BITS:
            raise UnfitError
        self._numbering = Numbering()
        self._met: dict[tuple[int, ...], tuple[list[Array], Integers]] = {}

    def __len__(self) -> int:
        return len(self._numbering)

    def _packed(self, columns: list[Array], length: int) -> Integers:
        if not columns:
            return np.zeros(length, np.int64)
        packed = columns[0]
        for column, bits, domain in zip(columns[1:], self._bits[1:], self.domains[1:], strict=True):
            if len(domain) > 1 << bits:
                raise UnfitError
            packed = (packed << bits) | column
        return packed

    def of(self, columns: list[Array], length: int) -> Integers:
        """The number of each row; new ones are numbered."""
        if not columns:
            return self._numbering.of(self._packed(columns, length))
        # The columns are kept beside their numbers, so that their identities stay theirs.
        key = tuple(map(id, columns))
        if key not in self._met:
            self._met[key] = columns, self._numbering.of(self._packed(columns, length))
        return self._met[key][1]

    def find(self, columns: list[Array], length: int) -> Integers:
        """The number of each row, or -1."""
        known = self._met.get(tuple(map(id, columns))) if columns else None
        if known is not None:
            return known[1]
        return self._numbering.find(self._packed(columns, length))

    def arguments(self, numbers: Integers | slice) -> list[Array]:
        """The arguments of numbers."""
        keys = self._numbering.keys[numbers]
        columns: list[Array] = []
        for bits in self._bits[:0:-1]:
            columns.append(keys & ((1 << bits) - 1))
            keys = keys >> bits
        return [keys, *columns[::-1]] if self._bits else []
