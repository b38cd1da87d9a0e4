"""Events: rows of arguments and a time-point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.bounds import bounded
from cernis.kernels.hashing import Numbering, RowTable, time_keys
from cernis.kernels.order import (
    ascending,
    in_order,
    in_threefold_order,
    mark_ties,
    placed,
    ranks,
    spread,
    stable_order,
)
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import Finder

_LONGEST = 1 << 31
"""Times that lie within so many points are numbered as they are, others by rank."""
_MOST = 1 << 62
"""Keys packed from several columns stay below this number."""


@dataclass(slots=True)
class EventTable:
    """Happenings: `arguments[k][r]` at `times[r]`, in any order.

    Input is sorted by entity, which is the first argument that is not numeric, and then by
    time. What is filtered from it stays sorted, and look-ups for it walk along sorted lists.

    Occurrences of patterns have a start, too: they are closed intervals, and happen at their end.
    """

    arguments: list[Array]
    domains: list[Domain | None]
    times: Integers
    starts: Integers | None = None
    _points: EventTable | None = field(default=None, repr=False)
    _indexes: dict[tuple[int, ...], TimeIndex] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Integers) -> EventTable:
        """The table of some of its rows, in order."""
        starts = None if self.starts is None else self.starts[rows]
        return EventTable([c[rows] for c in self.arguments], self.domains, self.times[rows], starts)

    def points(self) -> EventTable:
        """The table without starts: occurrences with one end and different starts become one."""
        if self.starts is None:
            return self
        if self._points is None:
            first = first_rows([*self.arguments, self.times])
            self._points = EventTable(
                [c[first] for c in self.arguments], self.domains, self.times[first]
            )
        return self._points

    def index(self, positions: tuple[int, ...]) -> TimeIndex:
        """A way from times and the values at some positions to the rows that have them."""
        if positions not in self._indexes:
            self._indexes[positions] = TimeIndex(self, positions)
        return self._indexes[positions]


def by_entity(arguments: list[Array], domains: list[Domain | None], times: Integers) -> EventTable:
    """Rows in the order of time as a table sorted by entity and time."""
    position = next((place for place, domain in enumerate(domains) if domain is not None), None)
    if position is None or not len(times):
        return EventTable(arguments, domains, times)
    codes = np.ascontiguousarray(arguments[position])
    if ascending(codes):
        return EventTable(arguments, domains, times)
    domain = domains[position]
    assert domain is not None
    size = len(domain)
    if size > 4 * len(times) + 65_536:
        order = np.argsort(codes, kind="stable")
        return EventTable([column[order] for column in arguments], domains, times[order])
    rank, first = ranks(codes, size)
    columns = [
        spread(first) if place == position else placed(column, rank)
        for place, column in enumerate(arguments)
    ]
    return EventTable(columns, domains, placed(times, rank))


def by_time(arguments: list[Array], domains: list[Domain | None], times: Integers) -> EventTable:
    """Rows in any order as a table sorted by time."""
    times = np.ascontiguousarray(times)
    if not ascending(times):
        order = np.argsort(times, kind="stable")
        arguments, times = [column[order] for column in arguments], times[order]
    return EventTable(arguments, domains, times)


def stacked(tables: list[EventTable]) -> EventTable:
    """Tables of one relation end to end; points beside intervals have their time as start."""
    if len(tables) == 1:
        return tables[0]
    starts = None
    if any(table.starts is not None for table in tables):
        each = [table.times if table.starts is None else table.starts for table in tables]
        starts = np.concatenate(each)
    columns = zip(*(table.arguments for table in tables), strict=True)
    return EventTable(
        [np.concatenate(own) for own in columns], tables[0].domains,
        np.concatenate([table.times for table in tables]), starts,
    )  # fmt: skip


def first_rows(columns: Sequence[Array]) -> Integers:
    """The first row of each distinct combination of values, in the order of rows."""
    key, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        if column.dtype.kind == "f":
            column = np.unique(column, return_inverse=True)[1].ravel()
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        if width >= _MOST:
            column = np.unique(column, return_inverse=True)[1].ravel()
            low, width = 0, int(column.max(initial=0)) + 1
        if size * width >= _MOST:
            numbering = Numbering()
            key = numbering.of(key)
            size = len(numbering)
        key, size = key * width + (column - low), size * width
    numbering = Numbering()
    which = numbering.of(key)
    if len(numbering) == len(key):
        return np.arange(len(key))
    first = np.empty(len(numbering), np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    return np.sort(first)


def distinct_rows(arguments: list[Array], starts: Integers, ends: Integers) -> Integers | None:
    """The first row of each distinct combination; None if all rows are distinct.

    Rows mostly come in the order of an argument, their end and perhaps their start. Equal ones are
    then neighbours but for others of the same end, or start.
    """
    starts, ends = np.ascontiguousarray(starts), np.ascontiguousarray(ends)
    majors = [np.zeros(1, np.int64)] if not len(starts) else [np.zeros_like(ends)]
    majors += [np.ascontiguousarray(column) for column in arguments if column.dtype == np.int64]
    major = next(
        (column for column in majors if len(column) == len(ends) and in_order(column, ends)), None
    )
    if major is None:
        first = first_rows([*arguments, starts, ends])
        return None if len(first) == len(ends) else first
    same = np.zeros(len(ends), np.bool_)
    minor = starts if in_threefold_order(major, ends, starts) else ends
    if not mark_ties(major, ends, minor, same):
        return None
    tied = same.copy()
    tied[:-1] |= same[1:]
    places = np.flatnonzero(tied)
    first = first_rows([*(column[places] for column in arguments), starts[places], ends[places]])
    if len(first) == len(places):
        return None
    tied[places[first]] = False
    return np.flatnonzero(~tied)


class TimeIndex:
    """Finds happenings by their time and some of their arguments.

    A key is a number for the arguments and the time together; the rows of each are found by hash.
    """

    def __init__(self, table: EventTable, positions: tuple[int, ...]) -> None:
        columns = [(table.arguments[at], table.domains[at]) for at in positions]
        self._groups = Finder(columns, len(table))
        self._least = int(table.times.min()) if len(table) else 0
        self._span = int(table.times.max()) - self._least + 1 if len(table) else 1
        self._ranks: Integers | None = None
        if self._span > _LONGEST:
            self._ranks = np.unique(table.times)
            self._span = len(self._ranks) + 1
        keys = self._keys([column for column, _ in columns], table.times)
        self._order: Integers | None = None
        if not ascending(keys):
            self._order = stable_order(keys, int(keys.max()) + 1)
            keys = keys[self._order]
        new = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        self._first = np.append(np.flatnonzero(new), len(keys)).astype(np.int64)
        self._is_unique = len(self._first) == len(keys) + 1
        self._rows = RowTable(keys[self._first[:-1]])

    def _number(self, columns: list[Array], length: int) -> Integers:
        """A number for each combination of values; -1 for one that never occurs."""
        if not columns:
            return np.zeros(length, np.int64)
        return self._groups.one(columns, length)

    def find(self, columns: list[Array], times: Integers) -> tuple[Integers, Integers]:
        """All matches: the row asked for, and the row of the table, in the order asked."""
        groups = self._rows.find(self._keys(columns, times))
        if self._is_unique:
            rows = np.flatnonzero(groups >= 0)
            places = groups[rows]
            return rows, places if self._order is None else self._order[places]
        low = self._first[groups]
        counts = np.where(groups >= 0, self._first[groups + 1] - low, 0)
        bounded(int(counts.sum()))
        rows = np.repeat(np.arange(len(times)), counts)
        before = np.cumsum(counts) - counts
        places = np.arange(len(rows)) + np.repeat(low - before, counts)
        return rows, places if self._order is None else self._order[places]

    def exists(self, columns: list[Array], times: Integers) -> Booleans:
        """For each row asked for: is there a match?"""
        return np.asarray(self._rows.find(self._keys(columns, times)) >= 0)

    def _keys(self, columns: list[Array], times: Integers) -> Integers:
        """The key of each row; -1 where there can be no match."""
        numbers = self._number(columns, len(times))
        if self._ranks is not None:
            rank = np.minimum(np.searchsorted(self._ranks, times), len(self._ranks) - 1)
            return np.where(
                (self._ranks[rank] == times) & (numbers >= 0), numbers * self._span + rank, -1
            )
        return time_keys(numbers, times, self._least, self._span)
