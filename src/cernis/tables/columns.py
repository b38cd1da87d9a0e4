"""Columns and the rows they make up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.tables.domains import Domain, Value

Integers: TypeAlias = npt.NDArray[np.int64]
Array: TypeAlias = npt.NDArray[Any]


@dataclass(slots=True)
class Column:
    """Values of one variable: codes of a domain, or numbers if there is none.

    Row r is `data[index[r]]`, or `data[r]` without an index; a constant is one value for all rows.
    Columns that come from one table share their index, so leaving out rows costs one array for
    all of them.
    """

    data: Array
    domain: Domain | None = None
    index: Integers | None = None
    constant: bool = False
    _rows: Array | None = field(default=None, repr=False)

    @property
    def values(self) -> Array:
        """The values row by row; of a constant, the one value."""
        if self.constant or self.index is None:
            return self.data
        if self._rows is None:
            self._rows = self.data[self.index]
        return self._rows

    def expanded(self, length: int) -> Array:
        """The values row by row, a constant repeated."""
        return np.full(length, self.data[0]) if self.constant else self.values

    def value(self) -> Value:
        """The value of a constant."""
        code = self.data[0]
        return self.domain.values[int(code)] if self.domain else code.item()


def constant(value: Value, domain: Domain | None) -> Column:
    """A column of one value."""
    if domain is not None:
        return Column(np.array([domain.code(value)], np.int64), domain, constant=True)
    return Column(np.array([value]), None, constant=True)


@dataclass(slots=True)
class Rows:
    """Rows of columns by variable name; `times` is the time-point of each, if they have one."""

    length: int
    columns: dict[str, Column] = field(default_factory=dict)
    times: Column | None = None

    def take(self, chosen: Integers) -> Rows:
        """The rows at these positions, in this order."""
        composed: dict[int, Integers] = {}

        def through(column: Column) -> Column:
            if column.constant:
                return column
            if column.index is None:
                return Column(column.data, column.domain, chosen)
            key = id(column.index)
            if key not in composed:
                composed[key] = column.index[chosen]
            return Column(column.data, column.domain, composed[key])

        times = through(self.times) if self.times is not None else None
        return Rows(len(chosen), {k: through(c) for k, c in self.columns.items()}, times)

    def where(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """The rows at which the mask is set, in order."""
        chosen = np.flatnonzero(mask)
        if len(chosen) == self.length:
            return self
        return self.take(chosen)

    def with_columns(self, more: Mapping[str, Column]) -> Rows:
        """The same rows with further columns."""
        return Rows(self.length, {**self.columns, **more}, self.times)

    @property
    def at(self) -> Integers:
        """The time-points row by row."""
        assert self.times is not None
        return self.times.expanded(self.length)


def pack(columns: list[Integers], sizes: list[int]) -> tuple[Integers, int] | None:
    """Several codes a row as one number, first column first; None if the numbers get too large.

    The second part is the size of the range the numbers lie in.
    """
    size = 1
    for each in sizes:
        size *= max(each, 1)
    if size >= 1 << 62:
        return None
    packed = columns[0]
    for column, width in zip(columns[1:], sizes[1:], strict=True):
        packed = packed * max(width, 1) + column
    return packed, size
