"""Distinct combinations of values, through tables or by hash."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.kernels.array_types import Array
from cernis.kernels.hashing import Numbering
from cernis.tables.columns import pack, packed_numbers
from cernis.tables.domains import Domain

_TABLE = 1 << 22
"""Keys below this number are compared through a table."""


def distinct(columns: list[Array], domains: Sequence[Domain | None]) -> tuple[Array, Array]:
    """The first row of each distinct combination of values, and for each row which one it is."""
    sizes = [len(domain) if domain is not None else -1 for domain in domains]
    packed = pack(columns, sizes) if min(sizes) > 0 else packed_numbers(columns)
    if packed is None:
        keys = columns[0] if len(columns) == 1 else np.rec.fromarrays(columns)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which.ravel()
    keys, size = packed
    if size <= _TABLE and size <= 16 * len(keys) + 1024:
        return _through_table(keys, size)
    numbering = Numbering()
    which = numbering.of(keys)
    return _first_of(which, len(numbering)), which


def with_first_times(
    columns: list[Array], domains: Sequence[Domain | None], times: Array
) -> tuple[list[Array], Array]:
    """The distinct combinations of values, and the first time of each."""
    first, which = distinct(columns, domains)
    since = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(since, which, times)
    return [column[first] for column in columns], since


def _through_table(keys: Array, size: int) -> tuple[Array, Array]:
    row_of = np.full(size, -1, np.int64)
    row_of[keys[::-1]] = np.arange(len(keys))[::-1]
    present = np.flatnonzero(row_of >= 0)
    number = np.zeros(size, np.int64)
    number[present] = np.arange(len(present))
    return row_of[present], number[keys]


def _first_of(which: Array, count: int) -> Array:
    first = np.empty(count, np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    return first
