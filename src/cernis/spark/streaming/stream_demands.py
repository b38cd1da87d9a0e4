"""Demands in a stream: the rows of an earlier stage that buckets of a later one need, and how long.

Some literals carry only part of the key of a stage. An input that carries the whole key shows which
buckets need their rows, so the readers of that input send a demand to the buckets that have these
rows. A demand lasts as long as the record that made it may count: until every query to come has
forgotten its last point.

A credible interval may go on after the last record that made it likely. So where rules are about
whole intervals, a demand that the record of an uncertain fluent has made lasts as long as the
stream, as the memory of possible starts of its pair does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Integers
from cernis.plan.properties.routes import Ask, Demand
from cernis.plan.properties.uncertain_relations import made_of_intervals, uncertain_relations
from cernis.records.record_columns import (
    Column,
    RecordColumns,
    RecordKind,
    Records,
    joined,
    taken,
)
from cernis.session.saved.narrow import narrow, widen
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_values import column_of_tree, plain_column
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import packed_column, unpacked_column
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.exchange_rows import Kind as Blob
from cernis.spark.exchange.exchange_rows import Row
from cernis.spark.exchange.pack import arguments_at, row_keys
from cernis.spark.exchange.sending import equal_rows
from cernis.tables.interval_tables import INFINITY


@dataclass(slots=True)
class DemandedRows:
    """Rows that are demanded: their values, the bucket that demands them, and until when."""

    demand: Demand
    columns: list[Column]
    targets: Integers
    until: Integers

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: Any) -> DemandedRows:
        """Some of the rows."""
        columns = [taken(column, rows) for column in self.columns]
        return DemandedRows(self.demand, columns, self.targets[rows], self.until[rows])

    def once(self) -> DemandedRows:
        """Each row and bucket once, with the latest of its times."""
        keys = row_keys([*self.columns, self.targets], len(self))
        order = np.lexsort((-self.until, keys))
        first = np.ones(len(order), np.bool_)
        first[1:] = keys[order][1:] != keys[order][:-1]
        return self.take(np.sort(order[first]))


def demand_rows(records: Records, job: Job) -> Iterator[Row]:
    """The rows of an exchange with the demands that some records make.

    Only rows that stages derive are demanded: input that carries part of a key goes to all buckets.
    """
    routes = job.loaded.plan.stream_routes
    lasting = _lasting_drivers(job) if routes.asks else frozenset()
    demanded: dict[Demand, list[DemandedRows]] = {}
    for form, part in records.relations.items():
        for ask in routes.asks:
            if ask.driver == form.relation and ask.demand.home in routes.owned:
                demanded.setdefault(ask.demand, []).append(
                    _demanded_by(part, ask, job.buckets, lasting)
                )
    for demand, parts in demanded.items():
        whole = together(parts).once()
        hashed = [whole.columns[position] for position in demand.hashed]
        where = Spread(job.buckets).of(hashed, len(whole))
        for bucket in np.unique(where).tolist():
            content = packed_demand(whole.take(where == bucket))
            yield Row(bucket, demand.home, Blob.DEMAND, content)


def _lasting_drivers(job: Job) -> frozenset[Relation]:
    """The fluents of the input whose credible intervals rules may read after all their records."""
    plan, likely = job.loaded.plan, job.likely
    if likely is None or not made_of_intervals(plan):
        return frozenset()
    return plan.uncertainties.of(uncertain_relations(plan, likely.uncertain)).fluents


def _demanded_by(
    part: RecordColumns, ask: Ask, buckets: int, lasting: frozenset[Relation]
) -> DemandedRows:
    targets = Spread(buckets).of(arguments_at(part, ask.key), len(part))
    until = part.times[2] if part.form.kind is RecordKind.INTERVAL else part.times[1]
    if ask.driver in lasting:
        until = np.full(len(part), INFINITY)
    return DemandedRows(ask.demand, arguments_at(part, ask.positions), targets, until)


def together(parts: list[DemandedRows]) -> DemandedRows:
    """Several tables of demanded rows of one demand as one."""
    if len(parts) == 1:
        return parts[0]
    return DemandedRows(
        parts[0].demand,
        [joined(pieces) for pieces in zip(*(part.columns for part in parts), strict=True)],
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.until for part in parts]),
    )


def packed_demand(rows: DemandedRows) -> tuple[Any, ...]:
    """The content of a blob."""
    columns = [packed_column(column) for column in rows.columns]
    return rows.demand, columns, narrow(rows.targets), narrow(rows.until)


def unpacked_demand(content: tuple[Any, ...]) -> DemandedRows:
    """The demanded rows that `packed_demand` has packed."""
    demand, columns, targets, until = content
    return DemandedRows(demand, list(map(unpacked_column, columns)), widen(targets), widen(until))


@dataclass(slots=True)
class Demands:
    """All rows that are demanded of a bucket."""

    rows: dict[Demand, DemandedRows] = field(default_factory=dict)

    def enter(self, news: Iterable[DemandedRows], forgotten: int) -> bool:
        """Add demanded rows, and drop those whose time is over; has anything changed?"""
        changed = False
        parts: dict[Demand, list[DemandedRows]] = {}
        for each in news:
            parts.setdefault(each.demand, []).append(each)
        for demand in {*parts, *self.rows}:
            before = [self.rows[demand]] if demand in self.rows else []
            whole = together([*before, *parts.get(demand, [])])
            if demand in parts:
                whole = whole.once()
            alive = whole.until > forgotten
            changed |= demand in parts or not alive.all()
            self.rows[demand] = whole if alive.all() else whole.take(alive)
        return changed

    def tree(self) -> Tree:
        """The demands as plain data."""
        return [
            {"demand": [d.home, d.step, d.width, d.hashed, d.kinds],
             "columns": [plain_column(column) for column in rows.columns],
             "targets": rows.targets, "until": rows.until}
            for d, rows in self.rows.items()
        ]  # fmt: skip

    @staticmethod
    def of(tree: Tree) -> Demands:
        """The demands from plain data."""
        demands = Demands()
        for entry in tree:
            home, step, width, hashed, kinds = entry["demand"]
            demand = Demand(home, step, width, tuple(hashed), tuple(kinds))
            columns = [column_of_tree(column) for column in entry["columns"]]
            demands.rows[demand] = DemandedRows(demand, columns, entry["targets"], entry["until"])
        return demands

    def met(self, demand: Demand, columns: list[Column], length: int) -> tuple[Integers, Integers]:
        """The rows that are demanded, and by which buckets."""
        demanded = self.rows.get(demand)
        if demanded is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return equal_rows(columns, length, demanded.columns, demanded.targets)
