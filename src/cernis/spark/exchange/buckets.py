"""Buckets: a stable number for the values of a key, the same in every process.

Numbers are taken as floats, so that 3 and 3.0 share a bucket: they are equal where rules compute
with them. Text and terms are hashed once for each distinct value, numbers array-wise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.kernels.array_types import Array, Integers
from cernis.knowledge.ground_values import Value
from cernis.records.record_columns import Coded, Column, shown
from cernis.tables.domains import Domain

Hashes: TypeAlias = npt.NDArray[np.uint64]
Slots: TypeAlias = npt.NDArray[np.uint16]

SLOTS: Final = 4096
"""Keys are hashed to so many slots where slots, and not keys, are dealt out to buckets."""

_SEED = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Spread:
    """How keys are spread over buckets: by hash, or by a table with the bucket of each slot."""

    buckets: int
    slots: Slots | None = field(default=None, compare=False, repr=False)

    def of(self, columns: Sequence[Column], length: int) -> Integers:
        """The bucket of each row by the values of some columns; without columns, bucket 0.

        >>> three = Spread(4)
        >>> three.of([np.array([7, 8])], 2).tolist() == three.of([np.array([7.0, 8.0])], 2).tolist()
        True
        """
        if not columns or self.buckets == 1:
            return np.zeros(length, np.int64)
        return self.of_hashes(hashes_of(columns, length))

    def of_hashes(self, hashes: Hashes) -> Integers:
        """The bucket of each row by the hash of its key."""
        if self.slots is None:
            return (hashes % np.uint64(self.buckets)).astype(np.int64)
        return self.slots[slots_of(hashes)].astype(np.int64)


def slots_of(hashes: Hashes) -> Integers:
    """The slot of each hash."""
    return (hashes & np.uint64(SLOTS - 1)).astype(np.int64)


def hashes_of(columns: Sequence[Column], length: int) -> Hashes:
    """A hash of the values of each row."""
    return mixed_hashes([_hashes(column) for column in columns], length)


def mixed_hashes(hashes: Sequence[Hashes], length: int) -> Hashes:
    """One hash for each row, from the hashes of its values in several columns."""
    row_hashes = np.zeros(length, np.uint64)
    for column_hashes in hashes:
        row_hashes = mixed(row_hashes * np.uint64(31) + column_hashes)
    return row_hashes


class CodeHashes:
    """Hashes of coded columns. A value of a domain is hashed once, for all columns that have it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Domain, Hashes]] = {}

    def of(self, codes: Array, domain: Domain | None) -> Hashes:
        """The hash of each code's value; `mixed_hashes` makes hashes of rows of several such."""
        if domain is None:
            return _hashes(codes)
        _, table = self._known.get(id(domain), (domain, np.empty(0, np.uint64)))
        if len(table) < len(domain):
            table = np.concatenate([table, _hashes_of_values(domain.values[len(table) :])])
            self._known[id(domain)] = domain, table
        return table[codes] if len(codes) else np.empty(0, np.uint64)


def mixed(bits: Hashes) -> Hashes:
    """Spread 64 bits (the finaliser of splitmix64)."""
    bits = bits + _SEED
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


def _hashes(column: Column) -> Hashes:
    if isinstance(column, Coded):
        table = _hashes_of_values(column.values)
        return table[column.codes] if len(table) else np.empty(0, np.uint64)
    return number_bits(column)


def number_bits(column: Array) -> Hashes:
    """Numbers as the bits of floats."""
    # Adding zero makes the negative zero positive.
    return (column.astype(np.float64) + 0.0).view(np.uint64)


def _hashes_of_values(values: Sequence[Value]) -> Hashes:
    if set(map(type, values)) == {int}:
        return number_bits(_floats(values))
    return np.fromiter(map(_hash, values), np.uint64, len(values))


def _floats(values: Sequence[Value]) -> Array:
    """Whole numbers as floats, also those that are too large for one."""
    try:
        return np.array(values, np.float64)
    except OverflowError:
        return np.fromiter(map(_float, values), np.float64, len(values))  # type: ignore[arg-type]


def _hash(value: Value) -> int:
    if isinstance(value, int | float):
        return bits_of_number(value)
    text = value if isinstance(value, str) else shown(value)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def bits_of_number(number: int | float) -> int:
    """One number as the bits of a float."""
    return int(np.float64(_float(number) + 0.0).view(np.uint64))


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
