"""The intervals of a fluent: one list for each group, which is its arguments and its value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.bounds import bounded
from cernis.kernels.hashing import Numbering, RowTable
from cernis.kernels.order import placed, ranks
from cernis.tables.domains import Domain

INFINITY = int(np.iinfo(np.int64).max)
"""The end of an interval that is open."""

Piece: TypeAlias = tuple[list[Array], Array, Integers, Integers]
"""Arguments, value, start and end of intervals, one interval in each row."""

_DIRECT = 1 << 22
"""A key range up to this size is looked up through a table, a larger one by bisection."""

_FEW, _SPARSE = 1 << 16, 16
"""Nor is a table made that is larger than this, and has so many times as many places as rows."""

_WIDE = 1 << 31
"""Whole numbers of a smaller range are their own codes, counted from the least."""

_FAR = 2.0**62
"""Beyond all whole numbers that have codes."""


@dataclass(slots=True)
class FluentTable:
    """Lists of disjoint, sorted, not adjacent intervals `[start, end)`.

    Group g has the arguments `arguments[k][g]`, the value `values[g]` and the intervals
    `offsets[g]:offsets[g+1]`. Groups are in no particular order, and each is there once.
    """

    arguments: list[Array]
    values: Array
    domains: list[Domain | None]
    value_domain: Domain | None
    offsets: Integers
    starts: Integers
    ends: Integers
    _finders: dict[tuple[int, ...], Finder] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def columns(self) -> list[tuple[Array, Domain | None]]:
        """The columns of the arguments and, last, of the value, with one row for each group."""
        return [
            *zip(self.arguments, self.domains, strict=True),
            (self.values, self.value_domain),
        ]

    def finder(self, positions: tuple[int, ...]) -> Finder:
        """A way from the values at some positions to the groups that have them."""
        if positions not in self._finders:
            columns = self.columns()
            self._finders[positions] = Finder([columns[at] for at in positions], len(self))
        return self._finders[positions]

    def take(self, groups: Integers) -> FluentTable:
        """The table of some of its groups."""
        lengths = self.offsets[groups + 1] - self.offsets[groups]
        offsets = np.zeros(len(groups) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = expanded(self.offsets[groups], lengths)
        return FluentTable(
            [column[groups] for column in self.arguments],
            self.values[groups],
            self.domains,
            self.value_domain,
            offsets,
            self.starts[places],
            self.ends[places],
        )


def ending_after(table: FluentTable, point: int) -> FluentTable:
    """The intervals that end after a point, and the groups that have such."""
    kept = table.ends > point
    if kept.all():
        return table
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))[kept]
    counts = np.bincount(owner, minlength=len(table))
    groups = np.flatnonzero(counts)
    return FluentTable(
        [column[groups] for column in table.arguments], table.values[groups], table.domains,
        table.value_domain, np.concatenate([[0], np.cumsum(counts[groups])]), table.starts[kept],
        table.ends[kept],
    )  # fmt: skip


def empty_table(domains: list[Domain | None], value_domain: Domain | None) -> FluentTable:
    """A fluent that never holds."""
    none = np.empty(0, np.int64)
    return FluentTable(
        [none] * len(domains), none, domains, value_domain, np.zeros(1, np.int64), none, none
    )


@dataclass(frozen=True, slots=True)
class _Range:
    """Codes of the whole numbers from a first one on; those of a domain are such numbers."""

    low: int
    size: int

    def codes(self, column: Array) -> tuple[Integers, Booleans | None]:
        """The code of each number, and which have one; None if all have."""
        if column.dtype.kind == "f":
            whole = np.nan_to_num(np.floor(column), posinf=_FAR, neginf=-_FAR).clip(-_FAR, _FAR)
            codes = whole.astype(np.int64) - self.low
            return codes, (whole == column) & (codes >= 0) & (codes < self.size)
        codes = column - self.low if self.low else column
        if not len(codes) or (int(codes.min()) >= 0 and int(codes.max()) < self.size):
            return codes, None
        return codes, (codes >= 0) & (codes < self.size)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Codes of numbers that lie far apart, or are not whole: their places in order."""

    numbers: Array

    @property
    def size(self) -> int:
        """Codes lie below this number."""
        return max(len(self.numbers), 1)

    def codes(self, column: Array) -> tuple[Integers, Booleans | None]:
        """The code of each number, and which have one."""
        at = np.minimum(np.searchsorted(self.numbers, column), self.size - 1)
        return at, self.numbers[at] == column


def _coding(column: Array, domain: Domain | None) -> _Range | _Listed:
    """How the values of a column become codes."""
    if domain is not None or not len(column):
        return _Range(0, max(len(domain), 1) if domain is not None else 1)
    if column.dtype.kind != "f":
        low, high = int(column.min()), int(column.max())
        if high - low < _WIDE:
            return _Range(low, high - low + 1)
    return _Listed(np.unique(column))


class Finder:
    """Finds rows by the values of some columns: through a table of codes, by hash or bisection."""

    def __init__(self, columns: list[tuple[Array, Domain | None]], length: int) -> None:
        self._codings = [_coding(data, domain) for data, domain in columns]
        self._own = self._keys([data for data, _ in columns], length)
        self._ordered: tuple[Array, Integers] | None = None
        self._listed: tuple[Numbering, Integers, Integers] | None = None
        self._first: Integers | None = self._through_table() if columns else None
        self._rows: RowTable | None = None
        if self._first is not None:
            self.unique = int(np.count_nonzero(self._first >= 0)) == length
        elif self._own.dtype == np.int64:
            self._rows = RowTable(self._own)
            self.unique = self._rows.distinct == length
        else:
            keys, _ = self._sorted()
            self.unique = bool(np.all(keys[1:] != keys[:-1]))

    def _through_table(self) -> Integers | None:
        """For keys that are small numbers: the position of each, -1 where there is none."""
        if self._own.dtype != np.int64 or not len(self._own):
            return None
        most = min(_DIRECT, _FEW + _SPARSE * len(self._own))
        if int(self._own.min()) < 0 or int(self._own.max()) >= most:
            return None
        table = np.full(int(self._own.max()) + 1, -1, np.int64)
        table[self._own] = np.arange(len(self._own))
        return table

    def _sorted(self) -> tuple[Array, Integers]:
        """The keys in order, and the position of each."""
        if self._ordered is None:
            order = np.argsort(self._own, kind="stable").astype(np.int64)
            self._ordered = self._own[order], order
        return self._ordered

    def _keys(self, columns: list[Array], length: int) -> Array:
        """One comparable key for each row."""
        if not columns:
            return np.zeros(length, np.int64)
        if len(columns) == 1:
            return columns[0]
        if math.prod(coding.size for coding in self._codings) >= 1 << 62:
            return np.rec.fromarrays(columns)
        keys = np.zeros(1, np.int64)
        unknown: list[Booleans] = []
        for column, coding in zip(columns, self._codings, strict=True):
            codes, is_known = coding.codes(column)
            keys = keys * coding.size + codes
            unknown += [~is_known] if is_known is not None else []
        for mask in unknown:
            # A value that is not there would pass for another's key.
            keys[mask] = -1
        return keys

    def one(self, columns: list[Array], length: int) -> Integers:
        """For each row the position of the match, or -1; matches must be unique."""
        keys = self._wanted(columns, length)
        if not len(self._own):
            return np.full(length, -1, np.int64)
        if self._first is not None and keys.dtype == np.int64:
            high = len(self._first)
            if length and (int(keys.max()) >= high or int(keys.min()) < 0):
                inside = (keys >= 0) & (keys < high)
                return np.where(inside, self._first[np.where(inside, keys, 0)], -1)
            return self._first[keys]
        if self._rows is not None and keys.dtype == np.int64:
            return self._rows.find(keys)
        known, order = self._sorted()
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[at] == keys, order[at], -1)

    def _wanted(self, columns: list[Array], length: int) -> Array:
        keys = self._keys(columns, length)
        if keys.dtype != self._own.dtype and keys.dtype.kind != "V":
            return keys.astype(np.result_type(keys, self._own))
        return keys

    def all(self, columns: list[Array], length: int) -> tuple[Integers, Integers]:
        """All matches: the row asked for, and the position of its match, in the order of rows."""
        return in_ranges(*self.ranges(columns, length))

    def ranges(self, columns: list[Array], length: int) -> tuple[Integers, Integers, Integers]:
        """Where the matches of each row begin, how many there are, and the order that is about.

        Rows that ask for the same have the same range.
        """
        keys = self._wanted(columns, length)
        if keys.dtype == np.int64 and self._own.dtype == np.int64:
            return self._matches(keys)
        known, order = self._sorted()
        first = np.searchsorted(known, keys, "left")
        return first, np.searchsorted(known, keys, "right") - first, order

    def _matches(self, keys: Integers) -> tuple[Integers, Integers, Integers]:
        """Where the matches of each key begin, how many there are, and the order that is about."""
        if self._listed is None:
            numbering = Numbering()
            numbers = numbering.of(self._own)
            rank, first = ranks(numbers, len(numbering))
            self._listed = numbering, first, placed(np.arange(len(rank)), rank)
        numbering, first, order = self._listed
        if not len(self._own):
            none = np.zeros(len(keys), np.int64)
            return none, none, order
        found = numbering.find(keys)
        is_known = found >= 0
        at = np.where(is_known, found, 0)
        begins = first[at]
        return begins, np.where(is_known, first[at + 1] - begins, 0), order


def in_ranges(first: Integers, counts: Integers, order: Integers) -> tuple[Integers, Integers]:
    """Each row as often as it has matches, and the matches: the pairs of `Finder.ranges`."""
    places = expanded(first, counts)
    return np.repeat(np.arange(len(counts)), counts), order[places]


def expanded(first: Integers, counts: Integers) -> Integers:
    """The places in ranges, given where each begins and how long it is, one range after another."""
    before = np.cumsum(counts) - counts
    total = bounded(int(counts.sum()))
    return np.repeat(first - before, counts) + np.arange(total)
