"""Stores: relations as a session keeps them, as rows sorted by key and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.order import ascending, stable_order
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable, first_rows
from cernis.tables.interval_tables import FluentTable
from cernis.tables.registers import Register
from cernis.tables.shelves import GroupedRows

Places: TypeAlias = tuple[Integers, Integers]
"""Places of rows in a shelf, and the group of each."""
_MOST = 1 << 62
_NO_PLACES: Places = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(slots=True)
class StoredRows:
    """Rows of a relation: its arguments, and the other columns, with times first."""

    arguments: list[Array]
    columns: list[Array]

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, rows: Array) -> StoredRows:
        """Some of the rows, by their numbers or a mask."""
        return StoredRows([c[rows] for c in self.arguments], [c[rows] for c in self.columns])

    def none(self) -> StoredRows:
        """None of the rows."""
        return StoredRows([c[:0] for c in self.arguments], [c[:0] for c in self.columns])


def distinct_rows(first: StoredRows, second: StoredRows) -> StoredRows:
    """The rows of both, each once."""
    rows = stacked(first, second)
    return rows.take(first_rows([*rows.arguments, *rows.columns]))


def stacked(*parts: StoredRows) -> StoredRows:
    """Rows of several parts, one below the other."""
    if len(parts) == 1:
        return parts[0]
    return StoredRows(
        [
            np.concatenate(columns)
            for columns in zip(*(part.arguments for part in parts), strict=True)
        ],
        [
            np.concatenate(columns)
            for columns in zip(*(part.columns for part in parts), strict=True)
        ],
    )


class _DeferredRows(NamedTuple):
    """Rows that wait to be sorted in, and the bounds of the times by which they are forgotten."""

    rows: StoredRows
    first: int
    last: int


class Store:
    """The rows of one relation, kept by the arguments that are its key.

    `width` columns come with the arguments: the time of a point; start, end and value of an
    interval.
    """

    def __init__(
        self, relation: Relation, register: Register, positions: tuple[int, ...],
        domains: list[Domain | None], width: int, value_domain: Domain | None = None,
        has_intervals: bool = False,
    ) -> None:  # fmt: skip
        self.relation = relation
        self.register = register
        self.positions = positions
        self.domains = domains
        self.value_domain = value_domain
        self.width = width
        self.has_intervals = has_intervals
        self._others = [position for position in range(relation.arity) if position not in positions]
        self._shelf = GroupedRows(width + len(self._others), has_intervals)
        self._deferred: list[_DeferredRows] = []
        """Rows that are put on the shelf when somebody looks at it."""
        self._forgotten = -_MOST
        """Rows up to this time are forgotten; those of intervals if they end by then."""

    def __len__(self) -> int:
        return len(self._shelf) + sum(map(self._remaining, self._deferred))

    def _remaining(self, waiting: _DeferredRows) -> int:
        """How many rows of those that wait are not forgotten."""
        if waiting.first > self._forgotten:
            return len(waiting.rows)
        return int(np.count_nonzero(self._last(waiting.rows) > self._forgotten))

    def of_width(self, width: int) -> Store:
        """An empty store of the same relation, by the same keys, with so many other columns."""
        return Store(
            self.relation, self.register, self.positions, self.domains, width, self.value_domain,
            self.has_intervals,
        )  # fmt: skip

    # -- the shelf --------------------------------------------------------------------------

    @property
    def shelf(self) -> GroupedRows:
        """The rows by key and time."""
        self._sort_in()
        return self._shelf

    def _sort_in(self) -> None:
        """Put the rows on the shelf that wait for it."""
        if self._deferred:
            rows, self._deferred = stacked(*(each.rows for each in self._deferred)), []
            rows = rows.take(self._last(rows) > self._forgotten)
            self.exchange(_NO_PLACES, self.enter(rows)[0], rows)

    def defer(self, rows: StoredRows) -> None:
        """Add rows; they are sorted in only when somebody looks at the shelf."""
        times = self._last(rows)
        self._deferred.append(_DeferredRows(rows, int(times.min()), int(times.max())))

    def forget(self, time: int) -> None:
        """Forget the rows up to a time, or those of intervals that end by then."""
        self._forgotten = time
        self._deferred = [waiting for waiting in self._deferred if waiting.last > time]
        self._shelf.forget(time)

    def _last(self, rows: StoredRows) -> Integers:
        return rows.columns[1 if self.has_intervals else 0]

    # -- places -----------------------------------------------------------------------------

    def everything(self) -> Places:
        """All rows."""
        return self.shelf.everything()

    def of_keys(self, keys: Integers) -> Places:
        """The rows of some keys, given by ascending numbers."""
        return self.shelf.of_groups(keys)

    def at_times(self, keys: Integers, times: Integers) -> Places:
        """The rows of keys that have one of the times given with the key."""
        return self.shelf.at_times(keys, times)

    # -- rows -------------------------------------------------------------------------------

    def rows(self, places: Places) -> StoredRows:
        """The rows at some places."""
        columns = self.shelf.rows(places[0])
        return StoredRows(self._arguments(places[1], columns), columns[: self.width])

    def _arguments(self, owners: Integers, columns: list[Array]) -> list[Array]:
        keys = dict(zip(self.positions, self.register.columns(owners), strict=True))
        others = dict(zip(self._others, columns[self.width :], strict=True))
        return [
            keys[position] if position in keys else others[position]
            for position in range(self.relation.arity)
        ]

    def identity(self, rows: StoredRows) -> list[Array]:
        """The columns that tell the lists of one key apart: the other arguments, and the value."""
        return [*(rows.arguments[position] for position in self._others), *rows.columns[2:3]]

    def groups(self, rows: StoredRows) -> Integers:
        """The number of the key of each row; -1 if the key was never entered."""
        self._sort_in()
        return self.register.find(
            [rows.arguments[position] for position in self.positions], len(rows)
        )

    def enter(self, rows: StoredRows) -> tuple[Integers, Integers]:
        """The number of the key of each row, and the keys that are new."""
        return self.register.enter(
            [rows.arguments[position] for position in self.positions], len(rows)
        )

    def exchange(self, removed_places: Places, groups: Integers, added: StoredRows) -> None:
        """Remove the rows at some places, and add others, whose keys are given."""
        columns = [*added.columns, *(added.arguments[position] for position in self._others)]
        self.shelf.exchange(removed_places, groups, columns)

    def renew(self, rows: StoredRows) -> None:
        """Hold these rows, and no others."""
        self._shelf, self._deferred = GroupedRows(self._shelf.width, self.has_intervals), []
        self.exchange(_NO_PLACES, self.enter(rows)[0], rows)


def event_table(store: Store, places: Places) -> EventTable:
    """Happenings as a table for operators."""
    rows = store.rows(places)
    return EventTable(rows.arguments, store.domains, rows.columns[0])


def fluent_table(store: Store, places: Places) -> FluentTable:
    """Intervals as a table for operators: one list for each instance and value."""
    rows = store.rows(places)
    starts, ends, values = rows.columns
    identity = store.identity(rows)
    owners = places[1]
    order = _list_order(owners, identity)
    if order is not None:
        rows = rows.take(order)
        starts, ends, values = rows.columns
        identity = [column[order] for column in identity]
        owners = owners[order]
    new = np.ones(len(owners), np.bool_)
    new[1:] = owners[1:] != owners[:-1]
    for column in identity:
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    return FluentTable(
        [column[first] for column in rows.arguments], values[first], store.domains,
        store.value_domain,
        np.append(first, len(owners)).astype(np.int64), np.ascontiguousarray(starts),
        np.ascontiguousarray(ends),
    )  # fmt: skip


def _list_order(owners: Integers, identity: list[Array]) -> Integers | None:
    """How to sort rows by key and identity that are sorted by key and start; None if they are so.

    Rows of one list keep their order.
    """
    columns = [column for column in identity if len(column) and (column != column[0]).any()]
    if not columns:
        return None
    key, size = owners, int(owners[-1]) + 1
    for column in columns:
        low = int(column.min()) if column.dtype.kind == "i" else 0
        span = int(column.max()) - low + 1 if column.dtype.kind == "i" else _MOST
        size *= span
        if size >= _MOST:
            return np.lexsort((*reversed(columns), owners))
        key = key * span + (column - low)
    return None if ascending(key) else stable_order(key, size)
