"""What is kept by key between queries, and one query in progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.differences import only_in_one
from cernis.evaluate.columns.key_sets import NO_KEYS, KeySet, joined
from cernis.evaluate.query_loop import Predicate, QueryOutcome, RelationChange
from cernis.evaluate.relation_layout import RelationLayout
from cernis.evaluate.stores import Places, Store, StoredRows
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_context import Context
from cernis.plan.properties.key_reads import Link
from cernis.tables.interval_tables import INFINITY, FluentTable, Piece


def places_of(store: Store, keys: KeySet) -> Places:
    """The rows of some keys."""
    return store.everything() if keys.is_everything else store.of_keys(keys.numbers)


def rows_of_pieces(parts: list[Piece]) -> StoredRows:
    """Intervals, one in each row."""
    arguments = [
        np.concatenate(columns) for columns in zip(*(part[0] for part in parts), strict=True)
    ]
    values, starts, ends = (
        np.concatenate([part[column] for part in parts]) for column in (1, 2, 3)
    )
    return StoredRows(arguments, [starts, ends, values])


def exchange_rows(
    store: Store, places: Places, rows: StoredRows, keys: Integers
) -> tuple[RelationChange, KeySet]:
    """Replace the rows at some places by others; gives how they differ, and for which keys."""
    old = store.rows(places)
    is_removed, is_added = only_in_one(old, rows)
    change = RelationChange(old.take(is_removed), rows.take(is_added))
    if not len(change):
        return change, NO_KEYS
    removed_keys, added_keys = places[1][is_removed], keys[is_added]
    store.exchange((places[0][is_removed], removed_keys), added_keys, change.added)
    return change, KeySet.of(np.concatenate([removed_keys, added_keys]))


@dataclass(slots=True)
class KeyedStores:
    """The rows of all relations of a program by key, and what later queries must know of them."""

    layout: RelationLayout
    input: frozenset[Relation]
    """The relations of the input."""
    events: dict[Relation, Store] = field(default_factory=dict)
    fluents: dict[Relation, Store] = field(default_factory=dict)
    effect_origins: dict[Relation, Store] = field(default_factory=dict)
    """The initiations from which the time of delayed effects counts."""
    upcoming_points: dict[Relation, list[tuple[Integers, Integers]]] = field(default_factory=dict)
    """Keys and points after the last query at which known intervals start or end."""
    open_at_query: dict[Relation, KeySet] = field(default_factory=dict)
    """Keys of fluents of which it was unknown at the last query whether they went on after it."""

    @property
    def first_points(self) -> frozenset[Relation]:
        """Fluents of which rules read the first points of intervals."""
        return self.layout.plan.first_points

    def store_of(self, relation: Relation) -> Store:
        """The rows of a relation."""
        store = self.fluents.get(relation)
        return self.events[relation] if store is None else store

    def look_ahead(self, relation: Relation, added: StoredRows, query: int, tick: int) -> None:
        """Note the points after the query at which intervals start or end: rules may read them."""
        store = self.fluents[relation]
        starts, ends = added.columns[:2]
        parts = [starts - tick, ends - tick]
        parts += [starts] if relation in self.first_points else []
        points = np.concatenate(parts)
        later = (points > query) & (points < INFINITY - tick)
        if later.any():
            keys = np.concatenate([store.groups(added)] * len(parts))
            self.upcoming_points.setdefault(relation, []).append((keys[later], points[later]))

    def reached(self, query: int) -> Iterator[tuple[Relation, KeySet]]:
        """The keys of the points that were noted ahead and that a query has reached."""
        ahead, self.upcoming_points = self.upcoming_points, {}
        for relation, parts in ahead.items():
            keys, points = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            now = points <= query
            if not now.all():
                self.upcoming_points[relation] = [(keys[~now], points[~now])]
            if now.any():
                yield relation, KeySet.of(keys[now])


@dataclass(slots=True)
class TablesOfKeys:
    """The tables of what concerns some keys of a stage, which its strata read in common."""

    keys: KeySet
    caches: QueryCaches
    tables: dict[Relation, Any] = field(default_factory=dict)
    links: dict[Relation, frozenset[Link]] = field(default_factory=dict)
    """The links by which each relation is read: what is found by others would be missing."""

    def serve(self, keys: KeySet, links: Mapping[Relation, frozenset[Link]]) -> bool:
        """Are they about the same keys, and read by the same links as far as they are read?"""
        return (
            self.keys.is_everything == keys.is_everything
            and np.array_equal(self.keys.numbers, keys.numbers)
            and all(self.links.get(relation, each) == each for relation, each in links.items())
        )


@dataclass(slots=True)
class KeyedUpdate:
    """The progress of one query: what has changed so far, by relation."""

    window: Window
    context: Context
    before: int | None
    """The query before this one."""
    member_changes: Mapping[Predicate, list[list[Array]]]
    changed: dict[Relation, KeySet] = field(default_factory=dict)
    new_keys: dict[int, list[Integers]] = field(default_factory=dict)
    """Keys that no row had before, by stage."""
    open_at_query: dict[Relation, list[Array]] = field(default_factory=dict)
    """Instances that depend on a point at the query and may go on after it: arguments and value."""
    whole_tables: dict[Relation, FluentTable] = field(default_factory=dict)
    """What the window holds of fluents that were evaluated for all keys."""
    outcome: QueryOutcome = field(default_factory=QueryOutcome)
    _tables: dict[int, list[TablesOfKeys]] = field(default_factory=dict)

    @property
    def bound(self) -> int:
        """The first point after the window's edge."""
        return self.window.edge + self.context.window.tick

    def note_changed(self, relation: Relation, keys: KeySet) -> None:
        """Note the keys for which rows of a relation have changed."""
        if keys:
            self.changed[relation] = joined([self.changed.get(relation, NO_KEYS), keys])

    def tables_of(
        self, stage: int, keys: KeySet, links: Mapping[Relation, frozenset[Link]]
    ) -> TablesOfKeys:
        """The tables that strata of a stage have read for the same keys, or new ones."""
        known = self._tables.setdefault(stage, [])
        tables = next((each for each in known if each.serve(keys, links)), None)
        if tables is None:
            tables = TablesOfKeys(keys, self.context.caches.for_other_tables())
            known.append(tables)
        tables.links.update(links)
        return tables

    def forget_tables(self, relation: Relation) -> None:
        """Forget the tables that strata have read of a relation: its rows have been derived now.

        Dependencies go by constants, so a stratum may read other values of a relation before they
        are derived. The strata that read it afterwards must see the new rows.
        """
        for tables in chain.from_iterable(self._tables.values()):
            tables.tables.pop(relation, None)
            tables.links.pop(relation, None)
