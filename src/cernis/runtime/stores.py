"""Relations as a session keeps them: rows by key and time, of which a few change at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.check.model import Relation
from cernis.runtime.dirt import Dirt
from cernis.tables.columns import Array
from cernis.tables.domains import Domain
from cernis.tables.events import EventTable
from cernis.tables.fluents import FluentTable
from cernis.tables.registers import Register
from cernis.tables.shelves import Shelf

Integers: TypeAlias = npt.NDArray[np.int64]
Places: TypeAlias = tuple[Integers, Integers]
"""Places of rows in a shelf, and the group of each."""


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
        has_intervals: bool = False,
    ) -> None:  # fmt: skip
        self.relation = relation
        self.register = register
        self.positions = positions
        self.domains = domains
        self.value_domain = value_domain
        self.width = width
        self._others = [at for at in range(relation.arity) if at not in positions]
        self.shelf = Shelf(width + len(self._others), has_intervals)

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

    def rows(self, places: Places) -> Rows:
        """The rows at some places."""
        columns = self.shelf.rows(places[0])
        return Rows(self._arguments(places[1], columns), columns[: self.width])

    def _arguments(self, owners: Integers, columns: list[Array]) -> list[Array]:
        keys = dict(zip(self.positions, self.register.columns(owners), strict=True))
        others = dict(zip(self._others, columns[self.width :], strict=True))
        return [keys[at] if at in keys else others[at] for at in range(self.relation.arity)]

    def identity(self, rows: Rows) -> list[Array]:
        """What tells the intervals of one key apart: other arguments, and the value."""
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
        self.shelf.exchange(gone, groups, columns)


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
    if any(len(column) and (column != column[0]).any() for column in identity):
        order = np.lexsort((starts, *identity, owners))
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
