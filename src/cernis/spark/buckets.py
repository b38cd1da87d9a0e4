"""Buckets: a stable number for the values of a key, the same in every process.

Numbers are taken as floats, so that 3 and 3.0 share a bucket: they are equal where rules reckon
with them. Text and terms are hashed once for each distinct value, numbers array-wise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cernis.knowledge.values import Value
from cernis.runtime.columns import Coded, Column, Integers, shown

Hashes: TypeAlias = npt.NDArray[np.uint64]

_SEED = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def bucket_of(columns: Sequence[Column], length: int, buckets: int) -> Integers:
    """The bucket of each row by the values of some columns; without columns, bucket 0.

    >>> bucket_of([np.array([7, 8, 7])], 3, 4).tolist() == bucket_of([np.array([7., 8., 7.])], 3, 4).tolist()
    True
    """  # noqa: E501 - a doctest has no second line
    if not columns or buckets == 1:
        return np.zeros(length, np.int64)
    found = np.zeros(length, np.uint64)
    for column in columns:
        found = mixed(found * np.uint64(31) + _hashes(column))
    return (found % np.uint64(buckets)).astype(np.int64)


def mixed(bits: Hashes) -> Hashes:
    """Spread 64 bits (the finaliser of splitmix64)."""
    bits = bits + _SEED
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


def _hashes(column: Column) -> Hashes:
    if isinstance(column, Coded):
        table = np.fromiter((_hash(value) for value in column.values), np.uint64)
        return table[column.codes] if len(table) else np.empty(0, np.uint64)
    return number_bits(column)


def number_bits(column: npt.NDArray[Any]) -> Hashes:
    """Numbers as the bits of floats."""
    # Adding zero makes the negative zero positive.
    return (column.astype(np.float64) + 0.0).view(np.uint64)


def _hash(value: Value) -> int:
    if isinstance(value, int | float):
        return bits_of_number(value)
    text = value if isinstance(value, str) else shown(value)
    return crc32(text.encode("utf-8", "surrogatepass"))


def bits_of_number(number: int | float) -> int:
    """One number as the bits of a float."""
    return int(np.float64(_float(number) + 0.0).view(np.uint64))


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
