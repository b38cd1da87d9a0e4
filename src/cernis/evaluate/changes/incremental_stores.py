"""What a session keeps between queries that are evaluated from changes, and one such query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.dirt import Dirt
from cernis.evaluate.changes.splicing import widened
from cernis.evaluate.changes.stores import Places, Store, StoredRows
from cernis.evaluate.query_loop import Predicate, QueryOutcome
from cernis.evaluate.relation_layout import RelationLayout
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_context import Context
from cernis.tables.interval_tables import INFINITY


@dataclass(slots=True)
class IncrementalStores:
    """The rows of all relations of a program, by key, and what later queries must know of them."""

    layout: RelationLayout
    input: frozenset[Relation] = frozenset()
    """The relations of the input."""
    events: dict[Relation, Store] = field(default_factory=dict)
    fluents: dict[Relation, Store] = field(default_factory=dict)
    points: dict[Relation, Store] = field(default_factory=dict)
    """The points at which rules of simple fluents have fired: times and actions."""
    bits: dict[Relation, list[int]] = field(default_factory=dict)
    """The actions that the bits of marks stand for."""
    effect_origins: dict[Relation, Store] = field(default_factory=dict)
    """The initiations from which the time of delayed effects counts."""
    counted: frozenset[Relation] = frozenset()
    upcoming_points: dict[Relation, list[tuple[Integers, Integers]]] = field(default_factory=dict)
    """Keys and points after the last query at which known intervals start or end."""
    open_at_query: dict[Relation, Integers] = field(default_factory=dict)
    """Keys of fluents of which it was unknown at the last query whether they went on after it."""
    watched_for_forgetting: set[Relation] = field(default_factory=set)
    """Fluents from which something else changes when the window forgets an interval of them."""
    watched: frozenset[Relation] = frozenset()
    """Fluents whose initiations or terminations are conditions of rules."""
    first_points: frozenset[Relation] = frozenset()
    """Fluents of which rules read the first points of intervals."""

    def look_ahead(self, relation: Relation, added: StoredRows, query: int, tick: int) -> None:
        """Note the points after the query at which intervals start or end: rules may read them."""
        store = self.fluents[relation]
        starts, ends = added.columns[:2]
        parts = [starts - tick, ends - tick]
        parts += [starts] if relation in self.first_points else []
        points = np.concatenate(parts)
        later = (points > query) & (points < INFINITY - tick)
        if later.any():
            groups = np.concatenate([store.groups(added)] * len(parts))
            self.upcoming_points.setdefault(relation, []).append((groups[later], points[later]))

    def around(self, relation: Relation, dirt: Dirt, tick: int) -> Dirt:
        """Stretches on which a fluent has changed, with the points around them that rules read."""
        dirt = widened(dirt, tick)
        # The end of a stretch may now be the first point of an interval.
        return dirt.longer(tick) if relation in self.first_points else dirt

    def reached(self, query: int) -> Iterator[tuple[Relation, Dirt]]:
        """The points that were noted ahead and that a query has reached."""
        ahead, self.upcoming_points = self.upcoming_points, {}
        for relation, parts in ahead.items():
            groups, points = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            now = points <= query
            if not now.all():
                self.upcoming_points[relation] = [(groups[~now], points[~now])]
            if now.any():
                yield relation, Dirt.of(groups[now], points[now], points[now] + 1)


@dataclass(slots=True)
class SharedTables:
    """Dirt of a stage's keys, and the tables of what lies there, which units read in common."""

    base: Dirt
    caches: QueryCaches
    tables: dict[Relation, Any] = field(default_factory=dict)
    places: dict[Relation, Places] = field(default_factory=dict)
    """The places of the rows of events' tables in their stores."""


@dataclass(slots=True)
class Update:
    """The progress of one query: what has changed so far, by relation."""

    window: Window
    context: Context
    before: int | None
    """The query before this one."""
    changed: dict[Relation, Dirt] = field(default_factory=dict)
    new_keys: dict[int, list[Integers]] = field(default_factory=dict)
    """Keys that no row had before, by stage."""
    removed_happenings: dict[Relation, tuple[Integers, Integers]] = field(default_factory=dict)
    """Keys and times of happenings that were retracted, or are no longer derived."""
    member_changes: Mapping[Predicate, list[list[Array]]] = field(default_factory=dict)
    open_at_query: dict[Relation, list[Array]] = field(default_factory=dict)
    """Instances that depend on a point at the query and may go on after it: arguments and value."""
    newly_forgotten: dict[Relation, Integers] = field(default_factory=dict)
    """Keys of fluents with intervals that this query is the first not to see."""
    outcome: QueryOutcome = field(default_factory=QueryOutcome)
    shared: dict[int, SharedTables] = field(default_factory=dict)
    """The tables that the units of a stage have in common."""

    def new_shared_tables(self, base: Dirt) -> SharedTables:
        """Shared tables of some dirt, still empty."""
        return SharedTables(base, self.context.caches.for_other_tables())

    @property
    def bound(self) -> int:
        """The first point after the window's edge."""
        return self.window.edge + self.context.window.tick
