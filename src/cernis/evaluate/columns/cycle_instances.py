"""Numbers for the instances of relations, as they are met."""

from __future__ import annotations

from typing import Any

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.plan.cycle_causes import UnfitError
from cernis.tables.domains import Domain

_MOST_BITS = 62
_LEAST_BITS = 6


class _Numbers:
    """Codes for the numbers of one argument, which has no domain; they count as they are met."""

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._type: np.dtype[Any] | None = None

    def __len__(self) -> int:
        return len(self._numbering)

    def of(self, numbers: Array) -> Integers:
        """The code of each number; new ones get one."""
        return self._numbering.of(self._keys(numbers))

    def find(self, numbers: Array) -> Integers:
        """The code of each number, or -1."""
        return self._numbering.find(self._keys(numbers))

    def numbers(self, codes: Integers) -> Array:
        """The numbers of codes."""
        found: Array = self._numbering.keys[codes].view(self._type or np.int64)
        return found

    def _keys(self, numbers: Array) -> Integers:
        """Numbers as integers: floats by their bits, where the two zeros are one."""
        if self._type is None and len(numbers):
            self._type = numbers.dtype
        if len(numbers) and numbers.dtype != self._type:
            # 3 and 3.0 would need one code here, and two elsewhere.
            raise UnfitError
        is_float = numbers.dtype.kind == "f"
        keys: Integers = (numbers + 0.0).view(np.int64) if is_float else numbers
        return np.ascontiguousarray(keys)


class Instances:
    """Numbers the arguments of one relation densely, in the order they are met.

    Arguments are codes, or numbers, which are given codes here; the codes are packed into one
    integer, with room for domains to grow.
    """

    def __init__(self, domains: list[Domain | None]) -> None:
        self.domains = domains
        self._numbers = [_Numbers() if own is None else None for own in domains]
        self._bits = _bits(domains)
        self._numbering = Numbering()
        self._met: dict[tuple[int, ...], tuple[list[Array], Integers]] = {}

    def __len__(self) -> int:
        return len(self._numbering)

    def _packed(self, columns: list[Array], length: int) -> Integers:
        """One integer for the codes of each row."""
        if not columns:
            return np.zeros(length, np.int64)
        packed = columns[0]
        sizes = [
            len(own if own is not None else domain or ())
            for own, domain in zip(self._numbers, self.domains, strict=True)
        ]
        for column, bits, size in zip(columns[1:], self._bits[1:], sizes[1:], strict=True):
            if size > 1 << bits:
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
            codes = [
                column if own is None else own.of(column)
                for column, own in zip(columns, self._numbers, strict=True)
            ]
            self._met[key] = columns, self._numbering.of(self._packed(codes, length))
        return self._met[key][1]

    def find(self, columns: list[Array], length: int) -> Integers:
        """The number of each row, or -1."""
        known = self._met.get(tuple(map(id, columns))) if columns else None
        if known is not None:
            return known[1]
        codes = [
            column if own is None else own.find(column)
            for column, own in zip(columns, self._numbers, strict=True)
        ]
        found = self._numbering.find(self._packed(codes, length))
        for column, own in zip(codes, self._numbers, strict=True):
            if own is not None:
                found = np.where(column < 0, -1, found)
        return found

    def arguments(self, numbers: Integers | slice) -> list[Array]:
        """The arguments of numbers."""
        keys = self._numbering.keys[numbers]
        codes: list[Integers] = []
        for bits in self._bits[:0:-1]:
            codes.append(keys & ((1 << bits) - 1))
            keys = keys >> bits
        columns = [keys, *codes[::-1]] if self._bits else []
        return [
            column if own is None else own.numbers(column)
            for column, own in zip(columns, self._numbers, strict=True)
        ]


def _bits(domains: list[Domain | None]) -> list[int]:
    """How many bits the code of each argument has; numbers share what domains leave."""
    bits = [0 if own is None else max(_LEAST_BITS, len(own).bit_length() + 1) for own in domains]
    left, without = _MOST_BITS - sum(bits), sum(own is None for own in domains)
    share = min(left // max(without, 1), _MOST_BITS // 2)
    if left < 0 or (without and share < _LEAST_BITS):
        raise UnfitError
    return [own or share for own in bits]
