"""Numbers the instances of the relations of a cycle in the order in which they are entered."""

from __future__ import annotations

from typing import Any

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.plan.properties.cycle_causes import UnfitError
from cernis.tables.domains import Domain

_MOST_BITS = 62
_LEAST_BITS = 6


class _NumberCodes:
    """Codes for the values of one numeric argument, which has no domain.

    The first value that is entered gets the code 0, the next new one the code 1, and so on.
    """

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._type: np.dtype[Any] | None = None

    def __len__(self) -> int:
        return len(self._numbering)

    def enter(self, numbers: Array) -> Integers:
        """The code of each number; numbers that have no code yet get one."""
        return self._numbering.of(self._keys(numbers))

    def find(self, numbers: Array) -> Integers:
        """The code of each number, or -1."""
        return self._numbering.find(self._keys(numbers))

    def numbers(self, codes: Integers) -> Array:
        """The numbers of codes."""
        numbers: Array = self._numbering.keys[codes].view(self._type or np.int64)
        return numbers

    def _keys(self, numbers: Array) -> Integers:
        """Numbers as integers: those of floats are their bits, and 0.0 and -0.0 have the same."""
        if self._type is None and len(numbers):
            self._type = numbers.dtype
        if len(numbers) and numbers.dtype != self._type:
            # 3 and 3.0 would have one code here, although they are two values elsewhere.
            raise UnfitError
        is_float = numbers.dtype.kind == "f"
        keys: Integers = (numbers + 0.0).view(np.int64) if is_float else numbers
        return np.ascontiguousarray(keys)


class CycleInstances:
    """Numbers the instances of one relation densely, in the order in which they are entered.

    Arguments are codes of domains; numeric arguments get codes here. The codes of one instance are
    packed into one integer, with room for domains to grow.
    """

    def __init__(self, domains: list[Domain | None]) -> None:
        self.domains = domains
        self._numbers = [_NumberCodes() if domain is None else None for domain in domains]
        self._bits = _bits(domains)
        self._numbering = Numbering()
        self._entered: dict[tuple[int, ...], tuple[list[Array], Integers]] = {}

    def __len__(self) -> int:
        return len(self._numbering)

    def _packed(self, columns: list[Array], length: int) -> Integers:
        """One integer for the codes of each row."""
        if not columns:
            return np.zeros(length, np.int64)
        packed = columns[0]
        sizes = [
            len(codes if codes is not None else domain or ())
            for codes, domain in zip(self._numbers, self.domains, strict=True)
        ]
        for column, bits, size in zip(columns[1:], self._bits[1:], sizes[1:], strict=True):
            if size > 1 << bits:
                raise UnfitError
            packed = (packed << bits) | column
        return packed

    def enter(self, columns: list[Array], length: int) -> Integers:
        """The number of each row; instances that have no number yet get one."""
        if not columns:
            return self._numbering.of(self._packed(columns, length))
        # The columns are kept with their numbers, so that no other array gets their identities.
        key = tuple(map(id, columns))
        if key not in self._entered:
            codes = [
                column if number_codes is None else number_codes.enter(column)
                for column, number_codes in zip(columns, self._numbers, strict=True)
            ]
            self._entered[key] = columns, self._numbering.of(self._packed(codes, length))
        return self._entered[key][1]

    def find(self, columns: list[Array], length: int) -> Integers:
        """The number of each row, or -1."""
        entered = self._entered.get(tuple(map(id, columns))) if columns else None
        if entered is not None:
            return entered[1]
        codes = [
            column if number_codes is None else number_codes.find(column)
            for column, number_codes in zip(columns, self._numbers, strict=True)
        ]
        numbers = self._numbering.find(self._packed(codes, length))
        for column, number_codes in zip(codes, self._numbers, strict=True):
            if number_codes is not None:
                numbers = np.where(column < 0, -1, numbers)
        return numbers

    def arguments(self, numbers: Integers | slice) -> list[Array]:
        """The arguments of the instances that have some numbers."""
        keys = self._numbering.keys[numbers]
        codes: list[Integers] = []
        for bits in self._bits[:0:-1]:
            codes.append(keys & ((1 << bits) - 1))
            keys = keys >> bits
        columns = [keys, *codes[::-1]] if self._bits else []
        return [
            column if number_codes is None else number_codes.numbers(column)
            for column, number_codes in zip(columns, self._numbers, strict=True)
        ]


def _bits(domains: list[Domain | None]) -> list[int]:
    """How many bits the code of each argument has.

    Numeric arguments share the bits that the domains of the others leave.
    """
    bits = [
        0 if domain is None else max(_LEAST_BITS, len(domain).bit_length() + 1)
        for domain in domains
    ]
    left, without = _MOST_BITS - sum(bits), sum(domain is None for domain in domains)
    share = min(left // max(without, 1), _MOST_BITS // 2)
    if left < 0 or (without and share < _LEAST_BITS):
        raise UnfitError
    return [size or share for size in bits]
