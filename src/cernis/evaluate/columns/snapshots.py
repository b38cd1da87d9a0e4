"""Snapshots: the tables of some relations at one moment, which can be restricted and joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.affected import AffectedInstances
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.context.fluent_points import Attempts, Points
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.distinct import distinct
from cernis.plan.properties.rule_reads import EVENT, FLUENT, INITIATIONS, TERMINATIONS
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_pieces import pieces
from cernis.tables.interval_tables import Finder, FluentTable

T = TypeVar("T")


@dataclass(slots=True)
class Keys:
    """The arguments that are the key of each relation of a cycle."""

    positions: dict[Relation, tuple[int, ...]]

    def of(self, relation: Relation, arguments: list[Array]) -> list[Array] | None:
        """The key columns of a relation's rows; None if it has no key."""
        positions = self.positions.get(relation)
        return None if positions is None else [arguments[position] for position in positions]


class Entities:
    """A set of keys, by which rows of relations can be selected."""

    def __init__(self, keys: Keys, columns: list[Array], domains: list[Domain | None]) -> None:
        self._keys = keys
        self._domains = domains
        rows, _ = distinct(columns, domains)
        self.count = len(rows)
        different = [column[rows] for column in columns]
        self._finder = Finder(list(zip(different, domains, strict=True)), self.count)

    def mask(self, relation: Relation, arguments: list[Array]) -> Booleans | None:
        """For each row of a relation, whether its key is in the set; None if it has no key."""
        columns = self._keys.of(relation, arguments)
        if columns is None:
            return None
        return np.asarray(self._finder.one(columns, len(columns[0])) >= 0)


Selection: TypeAlias = Entities | AffectedInstances
"""The rows to which a table can be restricted."""


# -- tables ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Snapshot:
    """The tables of the relations of a cycle after a round."""

    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    initiations: dict[Relation, Points] = field(default_factory=dict)
    terminations: dict[Relation, Points] = field(default_factory=dict)
    effect_origins: dict[Relation, Attempts] = field(default_factory=dict)

    @classmethod
    def of(cls, state: QueryRelations, relations: list[Relation]) -> Snapshot:
        """The tables that a query has of some relations."""

        def chosen(tables: Mapping[Relation, T]) -> dict[Relation, T]:
            return {relation: tables[relation] for relation in relations if relation in tables}

        return cls(
            chosen(state.fluents), chosen(state.events), chosen(state.initiations),
            chosen(state.terminations), chosen(state.effect_origins),
        )  # fmt: skip

    def enter(self, state: QueryRelations) -> None:
        """Let a query have these tables."""
        state.fluents.update(self.fluents)
        state.events.update(self.events)
        state.initiations.update(self.initiations)
        state.terminations.update(self.terminations)
        state.effect_origins.update(self.effect_origins)

    def pairs(
        self, other: Snapshot, relation: Relation
    ) -> Iterator[tuple[str, list[Array], list[Array]]]:
        """The tables of two snapshots for a relation, by kind: rows of arguments, value, times."""
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
        """Each table as the arguments of its rows, and as all its columns."""
        for relation, fluent in self.fluents.items():
            columns = _fluent_rows(fluent)
            yield relation, columns[: relation.arity], columns
        for relation, events in self.events.items():
            yield relation, events.arguments, _event_rows(events)
        for kept in (self.initiations, self.terminations):
            for relation, points in kept.items():
                yield relation, points.arguments, _point_rows(points)

    def up_to(self, time: int) -> Snapshot:
        """Happenings, initiations and terminations up to a time only; fluents stay as they are."""
        return Snapshot(
            self.fluents,
            {r: between(table, None, time) for r, table in self.events.items()},
            {r: _points_up_to(points, time) for r, points in self.initiations.items()},
            {r: _points_up_to(points, time) for r, points in self.terminations.items()},
            self.effect_origins,
        )

    def only(self, entities: Selection, inside: bool = True) -> Snapshot:
        """The rows about some entities, or about all others."""
        return Snapshot(
            {r: groups_of(r, table, entities, inside) for r, table in self.fluents.items()},
            {r: rows_of(r, table, entities, inside) for r, table in self.events.items()},
            {r: _points_of(r, points, entities, inside) for r, points in self.initiations.items()},
            {r: _points_of(r, points, entities, inside) for r, points in self.terminations.items()},
            {
                r: _attempts_of(r, attempts, entities, inside)
                for r, attempts in self.effect_origins.items()
            },
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


def groups_of(
    relation: Relation, table: FluentTable, entities: Selection, inside: bool
) -> FluentTable:
    """The groups of a fluent that are about some entities, or about others."""
    mask = entities.mask(relation, table.arguments)
    return table.take(_chosen(mask, inside, len(table)))


def rows_of(relation: Relation, table: EventTable, entities: Selection, inside: bool) -> EventTable:
    """The happenings of an event that are about some entities, or about others."""
    mask = entities.mask(relation, table.arguments)
    return table.take(_chosen(mask, inside, len(table)))


def _points_of(relation: Relation, points: Points, entities: Selection, inside: bool) -> Points:
    mask = entities.mask(relation, points.arguments)
    rows = _chosen(mask, inside, len(points.times))
    return Points([c[rows] for c in points.arguments], points.values[rows], points.times[rows])


def _attempts_of(
    relation: Relation, attempts: Attempts, entities: Selection, inside: bool
) -> Attempts:
    mask = entities.mask(relation, attempts.arguments)
    return attempts.take(_chosen(mask, inside, len(attempts.times)))


def joined_snapshots(parts: list[Snapshot]) -> Snapshot:
    """One snapshot of several that are about different entities."""
    first = parts[0]
    return Snapshot(
        {r: _all_groups([part.fluents[r] for part in parts]) for r in first.fluents},
        {r: all_rows([part.events[r] for part in parts]) for r in first.events},
        {r: all_points([part.initiations[r] for part in parts]) for r in first.initiations},
        {r: all_points([part.terminations[r] for part in parts]) for r in first.terminations},
        {r: all_attempts([part.effect_origins[r] for part in parts]) for r in first.effect_origins},
    )


def _all_groups(tables: list[FluentTable]) -> FluentTable:
    lengths = np.concatenate([np.diff(table.offsets) for table in tables])
    columns = zip(*(table.arguments for table in tables), strict=True)
    return FluentTable(
        [np.concatenate(column_parts) for column_parts in columns],
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
        [np.concatenate(column_parts) for column_parts in columns],
        tables[0].domains,
        np.concatenate([table.times for table in tables]),
    )


def all_points(parts: list[Points]) -> Points:
    """The points of several lists of one fluent."""
    columns = zip(*(part.arguments for part in parts), strict=True)
    return Points(
        [np.concatenate(column_parts) for column_parts in columns],
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


def all_attempts(parts: list[Attempts]) -> Attempts:
    """The attempts of several lists of one fluent."""
    columns = zip(*(part.arguments for part in parts), strict=True)
    return Attempts(
        [np.concatenate(column_parts) for column_parts in columns],
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


def carried_of(relation: Relation, carried: Carried, entities: Selection) -> Carried:
    """The part of what is carried over that is about some entities."""
    mask = entities.mask(relation, carried.arguments)
    rows = _chosen(mask, True, len(carried.starts))
    since = None if carried.since is None else carried.since[rows]
    arguments = [column[rows] for column in carried.arguments]
    waiting = carried.waiting
    if waiting is not None:
        waiting = _points_of(relation, waiting, entities, True)
    return Carried(arguments, carried.values[rows], carried.starts[rows], since, waiting)
