"""Numbers for the instances of a fluent."""

from __future__ import annotations

import math

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.operators.context.query_caches import QueryCaches
from cernis.tables.domains import Domain

_HALF = 31
"""Bits for each of two numbers in one."""

_BITS = 62
"""Bits for all arguments of an instance."""

_DENSE = 1 << 16
"""Up to so many combinations of arguments are keys as they are; of more, those met are numbered."""


class InstanceKeys:
    """One number for the arguments of an instance.

    Where there are few combinations, in an order that follows the first argument.
    """

    def __init__(
        self, domains: list[Domain | None], argument_lists: list[list[Array]], caches: QueryCaches
    ) -> None:
        self._tables: list[Array | None] = []
        self._sizes: list[int] = []
        for position, domain in enumerate(domains):
            if domain is not None:
                self._tables.append(None)
                self._sizes.append(max(len(domain), 1))
            else:
                table = np.unique(
                    np.concatenate([arguments[position] for arguments in argument_lists])
                )
                self._tables.append(table)
                self._sizes.append(max(len(table), 1))
        self._numberings: list[Numbering] = []
        # Arguments share the bits of one number evenly, however large their domains are by now.
        self._bits = _BITS // max(len(domains), 1)
        if len(domains) > 1 and math.prod(self._sizes) > _DENSE:
            known = caches.numberings
            names = [(position, *map(id, domains)) for position in range(len(domains) - 1)]
            if max(self._sizes) <= 1 << self._bits:
                names = [(-1, *map(id, domains))]
            self._numberings = [known.setdefault(name, Numbering()) for name in names]

    @property
    def shape(self) -> tuple[int, ...]:
        """What the key of given codes depends on."""
        return (-len(self._numberings),) if self._numberings else tuple(self._sizes)

    @property
    def _is_packed(self) -> bool:
        """Are all arguments of an instance in one number?"""
        return len(self._numberings) == 1

    @property
    def size(self) -> int:
        """Keys lie below this number."""
        return len(self._numberings[-1]) if self._numberings else math.prod(self._sizes)

    def of(self, arguments: list[Array], length: int) -> Integers:
        """The key of each row; a fluent without arguments has one instance."""
        codes = [
            column if table is None else np.searchsorted(table, column)
            for column, table in zip(arguments, self._tables, strict=True)
        ]
        if not codes:
            return np.zeros(length, np.int64)
        key = codes[0]
        if self._is_packed:
            for column in codes[1:]:
                key = (key << self._bits) | column
            return self._numberings[0].of(key)
        for position, column in enumerate(codes[1:]):
            if self._numberings:
                key = self._numberings[position].of((key << _HALF) | column)
            else:
                key = key * self._sizes[position + 1] + column
        return key

    def arguments(self, keys: Integers) -> list[Array]:
        """The arguments of keys."""
        columns: list[Array] = []
        if self._is_packed:
            keys = self._numberings[0].keys[keys]
        for position in range(len(self._sizes) - 1, -1, -1):
            if position and self._is_packed:
                keys, codes = keys >> self._bits, keys & ((1 << self._bits) - 1)
            elif position and self._numberings:
                both = self._numberings[position - 1].keys[keys]
                keys, codes = both >> _HALF, both & ((1 << _HALF) - 1)
            elif position:
                keys, codes = keys // self._sizes[position], keys % self._sizes[position]
            else:
                codes = keys
            table = self._tables[position]
            columns.append(codes if table is None else table[codes])
        return columns[::-1]
