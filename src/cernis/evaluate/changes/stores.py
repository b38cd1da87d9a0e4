"""Relations as a session keeps them: rows by key and time, of which a few change at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.dirt import Dirt
from cernis.kernels.array_types import Array, Bytes, Integers
from cernis.kernels.order import ascending, stable_order
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable
from cernis.tables.registers import Register
from cernis.tables.shelves import GroupedRows

Places: TypeAlias = tuple[Integers, Integers]
"""Places of rows in a shelf, and the group of each."""
_MOST = 1 << 62


@dataclass(slots=True)
class Rows:
    """Rows of a relation: arguments, and the other columns, times first."""

    arguments: list[Array]
    columns: list[Array]

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, rows: Array) -> Rows:
        """Some of them."""
        return Rows([c[rows] for c in self.arguments], [c[rows] for c in self.columns])


def stacked(*parts: Rows) -> Rows:
    """Rows of several parts, one below the other."""
    if len(parts) == 1:
        return parts[0]
    return Rows(
        [np.concatenate(own) for own in zip(*(part.arguments for part in parts), strict=True)],
        [np.concatenate(own) for own in zip(*(part.columns for part in parts), strict=True)],
    )


class Store:
    """The rows of one relation, kept by the arguments that are its key.

    `width` columns come with the arguments: the time of a point; start, end and value of an
    interval.
    """

    def __init__(
        self, relation: Relation, register: Register, positions: tuple[int, ...],
        domains: list[Domain | None], width: int, value_domain: Domain | None = None,
        has_intervals: bool = False, marked: int = 0,
    ) -> None:  # fmt: skip
        self.relation = relation
        self.register = register
        self.positions = positions
        self.domains = domains
        self.value_domain = value_domain
        self.width = width
        self.has_intervals = has_intervals
        self._others = [at for at in range(relation.arity) if at not in positions]
        self.marked = marked
        self.shelf = GroupedRows(width + len(self._others) + marked, has_intervals)

    def __len__(self) -> int:
        return len(self.shelf)

    # -- places -----------------------------------------------------------------------------

    def within(self, dirt: Dirt) -> Places:
        """The rows whose times lie in some stretches."""
        if dirt.everything:
            return self.shelf.everything()
        return self.shelf.within(dirt.groups, dirt.starts, dirt.ends)

    def overlapping(self, dirt: Dirt) -> Places:
        """The intervals that overlap or touch some stretches."""
        if dirt.everything:
            return self.shelf.everything()
        return self.shelf.overlapping(dirt.groups, dirt.starts, dirt.ends)

    # -- rows -------------------------------------------------------------------------------

    def arguments(self, places: Places, positions: Iterable[int]) -> list[Array]:
        """Some arguments of the rows at some places."""
        keys: dict[int, Array] = {}
        found = []
        for at in positions:
            if at in self.positions:
                if not keys:
                    columns = self.register.columns(places[1])
                    keys = dict(zip(self.positions, columns, strict=True))
                found.append(keys[at])
            else:
                column = self.width + self._others.index(at)
                found.append(self.shelf.column(column, places[0]))
        return found

    def rows(self, places: Places) -> Rows:
        """The rows at some places."""
        shown = self.shelf.width - self.marked
        columns = [self.shelf.column(at, places[0]) for at in range(shown)]
        return Rows(self._arguments(places[1], columns), columns[: self.width])

    def _arguments(self, owners: Integers, columns: list[Array]) -> list[Array]:
        keys = dict(zip(self.positions, self.register.columns(owners), strict=True))
        others = dict(zip(self._others, columns[self.width :], strict=True))
        return [keys[at] if at in keys else others[at] for at in range(self.relation.arity)]

    def identity(self, rows: Rows) -> list[Array]:
        """What identifies a list of intervals within a key: the other arguments, and the value."""
        return [*(rows.arguments[at] for at in self._others), *rows.columns[2:3]]

    def groups(self, rows: Rows) -> Integers:
        """The key of each row; -1 if it was never entered."""
        return self.register.find([rows.arguments[at] for at in self.positions], len(rows))

    def enter(self, rows: Rows) -> tuple[Integers, Integers]:
        """The key of each row, and the keys that are new."""
        return self.register.enter([rows.arguments[at] for at in self.positions], len(rows))

    def exchange(self, gone: Places, groups: Integers, come: Rows) -> None:
        """Take rows out, and put others in, given with their keys."""
        columns = [*come.columns, *(come.arguments[at] for at in self._others)]
        columns += [np.zeros(len(come), np.int64)] * self.marked
        self.shelf.exchange(gone, groups, columns)

    # -- marks ------------------------------------------------------------------------------

    def marks(self, number: int, places: Integers) -> Bytes:
        """The marks of a definition on rows: eight bits each."""
        column = self.shelf.column(self.mark_column(number), places)
        return np.ascontiguousarray(column).view(np.uint8)[number % 8 :: 8]

    def mark_column(self, number: int) -> int:
        """The column in which the marks of a definition are, with those of seven others."""
        return self.shelf.width - self.marked + number // 8


def event_table(store: Store, places: Places) -> EventTable:
    """Happenings as operators want them."""
    rows = store.rows(places)
    return EventTable(rows.arguments, store.domains, rows.columns[0])


def fluent_table(store: Store, places: Places) -> FluentTable:
    """Intervals as operators want them: lists by arguments and value."""
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
    """The order by key and identity of rows in the order of keys and starts; None if they are so.

    Rows of one list stay as they are.
    """
    columns = [own for own in identity if len(own) and (own != own[0]).any()]
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
