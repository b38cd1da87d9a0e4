"""Columns and the rows they make up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.tables.domains import Domain, Value

_MASKED = 4
"""Rows stay masked while at least one in so many counts."""


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

    def dictionary(self, length: int) -> tuple[Array, Integers] | None:
        """Fewer values than rows, and for each row which it is; None if there is no such view.

        What depends on this column alone can be computed on these few values.
        """
        if self.constant:
            return None
        if self.index is not None:
            return (self.data, self.index) if 2 * len(self.data) < length else None
        if self.domain is not None and 2 * len(self.domain) < length:
            return np.arange(len(self.domain)), self.data
        return None

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
    """Rows of columns by variable name; `times` is the time-point of each, if they have one.

    Rows that a condition has ruled out may stay for a while: `mask` says which of the `length`
    rows count. Operations that are cheap are done for all rows; others call `settled` first.
    """

    length: int
    columns: dict[str, Column] = field(default_factory=dict)
    times: Column | None = None
    mask: Booleans | None = None

    def settled(self) -> Rows:
        """The rows that count, and no others."""
        if self.mask is None:
            return self
        return Rows(self.length, self.columns, self.times).take(np.flatnonzero(self.mask))

    def take(self, chosen: Integers) -> Rows:
        """The rows at these positions, in this order; the rows must be settled."""
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

    def where(self, mask: Booleans) -> Rows:
        """The rows at which the mask is set, in order; many stay masked, few are taken out."""
        mask = mask if self.mask is None else self.mask & mask
        count = int(np.count_nonzero(mask))
        if count == self.length:
            return self
        masked = Rows(self.length, self.columns, self.times, mask)
        return masked if _MASKED * count > self.length else masked.settled()

    def with_columns(self, more: Mapping[str, Column]) -> Rows:
        """The same rows with further columns."""
        return Rows(self.length, {**self.columns, **more}, self.times, self.mask)

    @property
    def points(self) -> Integers:
        """The time-points row by row."""
        assert self.times is not None
        return self.times.expanded(self.length)


def pack(columns: list[Integers], sizes: list[int]) -> tuple[Integers, int] | None:
    """The codes of each row as one number, first column first; None if numbers get too large.

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


def packed_numbers(columns: list[Array]) -> tuple[Array, int] | None:
    """The numbers of each row as one, by the range that each has; None if it is too large."""
    if not len(columns[0]) or any(column.dtype.kind not in "if" for column in columns):
        return None
    codes, sizes = [], []
    for column in columns:
        if column.dtype.kind == "f":
            column = np.unique(column, return_inverse=True)[1]
        low = int(column.min())
        codes.append(column - low)
        sizes.append(int(column.max()) - low + 1)
    return pack(codes, sizes)
