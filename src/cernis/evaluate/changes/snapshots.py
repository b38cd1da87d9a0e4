"""What is known of some relations at once: taken, cut down, and put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.affected import EVENT, FLUENT, INITIATIONS, TERMINATIONS, Instances
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.distinct import distinct
from cernis.operators.intervals.pieces import pieces
from cernis.operators.query_context import Attempts, Context, Points
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import Finder, FluentTable

T = TypeVar("T")


@dataclass(slots=True)
class Keys:
    """The arguments by which the rules of a cycle fall apart."""

    positions: dict[Relation, tuple[int, ...]]

    def of(self, relation: Relation, arguments: list[Array]) -> list[Array] | None:
        """The key columns of a relation's rows; None if it has no key."""
        positions = self.positions.get(relation)
        return None if positions is None else [arguments[at] for at in positions]


class Entities:
    """A set of keys."""

    def __init__(self, keys: Keys, columns: list[Array], domains: list[Domain | None]) -> None:
        self._keys = keys
        self._domains = domains
        rows, _ = distinct(columns, domains)
        self.count = len(rows)
        different = [column[rows] for column in columns]
        self._finder = Finder(list(zip(different, domains, strict=True)), self.count)

    def mask(self, relation: Relation, arguments: list[Array]) -> Booleans | None:
        """For each row of a relation: is its key in the set? None if the relation has no key."""
        columns = self._keys.of(relation, arguments)
        if columns is None:
            return None
        return np.asarray(self._finder.one(columns, len(columns[0])) >= 0)


Some: TypeAlias = Entities | Instances
"""What a table can be cut down to."""


# -- tables ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Snapshot:
    """What a round has found out about the relations of a cycle."""

    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    initiations: dict[Relation, Points] = field(default_factory=dict)
    terminations: dict[Relation, Points] = field(default_factory=dict)
    begun: dict[Relation, Attempts] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context, relations: list[Relation]) -> Snapshot:
        """The state of a context."""

        def own(tables: Mapping[Relation, T]) -> dict[Relation, T]:
            return {relation: tables[relation] for relation in relations if relation in tables}

        return cls(
            own(context.fluents), own(context.events), own(context.initiations),
            own(context.terminations), own(context.effect_origins),
        )  # fmt: skip

    def enter(self, context: Context) -> None:
        """Make it the state of a context."""
        context.fluents.update(self.fluents)
        context.events.update(self.events)
        context.initiations.update(self.initiations)
        context.terminations.update(self.terminations)
        context.effect_origins.update(self.begun)

    def pairs(
        self, other: Snapshot, relation: Relation
    ) -> Iterator[tuple[str, list[Array], list[Array]]]:
        """What two say of a relation: rows with arguments, value and times, by kind."""
        if relation in self.events:
            yield EVENT, _event_rows(self.events[relation]), _event_rows(other.events[relation])
        if relation in self.fluents:
            one, two = self.fluents[relation], other.fluents[relation]
            yield FLUENT, _fluent_rows(one), _fluent_rows(two)
        for kind, mine, theirs in (
            (INITIATIONS, self.initiations, other.initiations),
            (TERMINATIONS, self.terminations, other.terminations),
        ):
            if relation in mine:
                yield kind, _point_rows(mine[relation]), _point_rows(theirs[relation])

    def rows(self) -> Iterator[tuple[Relation, list[Array], list[Array]]]:
        """Each table as the arguments of its rows, and all columns."""
        for relation, fluent in self.fluents.items():
            columns = _fluent_rows(fluent)
            yield relation, columns[: relation.arity], columns
        for relation, events in self.events.items():
            yield relation, events.arguments, _event_rows(events)
        for kept in (self.initiations, self.terminations):
            for relation, points in kept.items():
                yield relation, points.arguments, _point_rows(points)

    def up_to(self, time: int) -> Snapshot:
        """What it says of happenings and changes up to a time; fluents stay as they are."""
        return Snapshot(
            self.fluents,
            {r: between(own, None, time) for r, own in self.events.items()},
            {r: _points_up_to(own, time) for r, own in self.initiations.items()},
            {r: _points_up_to(own, time) for r, own in self.terminations.items()},
            self.begun,
        )

    def only(self, entities: Some, inside: bool = True) -> Snapshot:
        """What it says of some entities, or of all others."""
        return Snapshot(
            {r: groups_of(r, own, entities, inside) for r, own in self.fluents.items()},
            {r: rows_of(r, own, entities, inside) for r, own in self.events.items()},
            {r: _points_of(r, own, entities, inside) for r, own in self.initiations.items()},
            {r: _points_of(r, own, entities, inside) for r, own in self.terminations.items()},
            {r: _attempts_of(r, own, entities, inside) for r, own in self.begun.items()},
        )


def _fluent_rows(table: FluentTable) -> list[Array]:
    (piece,) = pieces(table)
    return [*piece[0], piece[1], piece[2], piece[3]]


def _event_rows(table: EventTable) -> list[Array]:
    return [*table.arguments, table.times]


def _point_rows(points: Points) -> list[Array]:
    return [*points.arguments, points.values, points.times]


def _chosen(mask: Booleans | None, inside: bool, length: int) -> Integers:
    if mask is None:
        return np.arange(length if inside else 0)
    return np.flatnonzero(mask if inside else ~mask)


def groups_of(relation: Relation, table: FluentTable, entities: Some, inside: bool) -> FluentTable:
    """The groups of a fluent that are about some entities, or about others."""
    mask = entities.mask(relation, table.arguments)
    return table.take(_chosen(mask, inside, len(table)))


def rows_of(relation: Relation, table: EventTable, entities: Some, inside: bool) -> EventTable:
    """The happenings of an event that are about some entities, or about others."""
    mask = entities.mask(relation, table.arguments)
    return table.take(_chosen(mask, inside, len(table)))


def _points_of(relation: Relation, points: Points, entities: Some, inside: bool) -> Points:
    mask = entities.mask(relation, points.arguments)
    rows = _chosen(mask, inside, len(points.times))
    return Points([c[rows] for c in points.arguments], points.values[rows], points.times[rows])


def _attempts_of(relation: Relation, own: Attempts, entities: Some, inside: bool) -> Attempts:
    mask = entities.mask(relation, own.arguments)
    return own.take(_chosen(mask, inside, len(own.times)))


def together(parts: list[Snapshot]) -> Snapshot:
    """What several say, each of entities of its own."""
    first = parts[0]
    return Snapshot(
        {r: _all_groups([part.fluents[r] for part in parts]) for r in first.fluents},
        {r: all_rows([part.events[r] for part in parts]) for r in first.events},
        {r: all_points([part.initiations[r] for part in parts]) for r in first.initiations},
        {r: all_points([part.terminations[r] for part in parts]) for r in first.terminations},
        {r: all_attempts([part.begun[r] for part in parts]) for r in first.begun},
    )


def _all_groups(tables: list[FluentTable]) -> FluentTable:
    lengths = np.concatenate([np.diff(table.offsets) for table in tables])
    columns = zip(*(table.arguments for table in tables), strict=True)
    return FluentTable(
        [np.concatenate(own) for own in columns],
        np.concatenate([table.values for table in tables]),
        tables[0].domains,
        tables[0].value_domain,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([table.starts for table in tables]),
        np.concatenate([table.ends for table in tables]),
    )


def all_rows(tables: list[EventTable]) -> EventTable:
    """The rows of several tables of one event."""
    columns = zip(*(table.arguments for table in tables), strict=True)
    return EventTable(
        [np.concatenate(own) for own in columns],
        tables[0].domains,
        np.concatenate([table.times for table in tables]),
    )


def all_points(parts: list[Points]) -> Points:
    """The points of several lists of one fluent."""
    columns = zip(*(part.arguments for part in parts), strict=True)
    return Points(
        [np.concatenate(own) for own in columns],
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


def all_attempts(parts: list[Attempts]) -> Attempts:
    """The attempts of several lists of one fluent."""
    columns = zip(*(part.arguments for part in parts), strict=True)
    return Attempts(
        [np.concatenate(own) for own in columns],
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.ends for part in parts]),
    )


def between(table: EventTable, low: int | None, high: int) -> EventTable:
    """The happenings after a time, if one is given, and up to another."""
    inside = table.times <= high
    return table.take(np.flatnonzero(inside if low is None else inside & (table.times > low)))


def _points_up_to(points: Points, time: int) -> Points:
    rows = np.flatnonzero(points.times <= time)
    return Points([c[rows] for c in points.arguments], points.values[rows], points.times[rows])


def carried_of(relation: Relation, carried: Carried, entities: Some) -> Carried:
    """What is carried of some entities."""
    mask = entities.mask(relation, carried.arguments)
    rows = _chosen(mask, True, len(carried.starts))
    since = None if carried.since is None else carried.since[rows]
    arguments = [column[rows] for column in carried.arguments]
    waiting = carried.waiting
    if waiting is not None:
        waiting = _points_of(relation, waiting, entities, True)
    return Carried(arguments, carried.values[rows], carried.starts[rows], since, waiting)
