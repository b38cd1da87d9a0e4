"""Demands in a stream: which buckets of a later stage ask for rows of an earlier one, and how long.

Some literals carry only part of the key of a stage. An input that carries the whole key shows where
their rows are needed, so readers of that input ask the buckets that have these rows. A demand lasts
as long as the record that made it may count: until every query to come has forgotten its last
point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.plan.routes import Ask, Demand
from cernis.records.record_columns import (
    Column,
    RecordColumns,
    RecordKind,
    Records,
    joined,
    numbered,
    taken,
)
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_values import column_of_tree, plain_column
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import packed_column, unpacked_column
from cernis.spark.exchange.buckets import bucket_of
from cernis.spark.exchange.exchange_rows import Kind as Blob
from cernis.spark.exchange.exchange_rows import Row
from cernis.spark.exchange.pack import arguments_at
from cernis.tables.narrow import narrow, widen


@dataclass(slots=True)
class Asked:
    """Values that buckets ask for: a row each, the bucket that asks, and until when."""

    demand: Demand
    columns: list[Column]
    targets: Integers
    until: Integers

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: Any) -> Asked:
        """Some of them."""
        columns = [taken(column, rows) for column in self.columns]
        return Asked(self.demand, columns, self.targets[rows], self.until[rows])

    def once(self) -> Asked:
        """Each question once, with the latest of its times."""
        keys = _keys([*self.columns, self.targets])
        order = np.lexsort((-self.until, keys))
        first = np.ones(len(order), np.bool_)
        first[1:] = keys[order][1:] != keys[order][:-1]
        return self.take(np.sort(order[first]))


def asking(records: Records, job: Job) -> Iterator[Row]:
    """The rows by which the records of drivers ask for what goes with them.

    Only what stages derive is asked for. Input that carries part of a key goes to every bucket.
    """
    routes = job.loaded.stream_routes
    found: dict[Demand, list[Asked]] = {}
    for form, part in records.relations.items():
        for ask in routes.asks:
            if ask.driver == form.relation and ask.demand.home in routes.owned:
                found.setdefault(ask.demand, []).append(_asked(part, ask, job.buckets))
    for demand, parts in found.items():
        whole = together(parts).once()
        own = [whole.columns[at] for at in demand.hashed]
        where = bucket_of(own, len(whole), job.buckets)
        for bucket in np.unique(where).tolist():
            content = packed_asked(whole.take(where == bucket))
            yield Row(bucket, demand.home, Blob.DEMAND, content)


def _asked(part: RecordColumns, ask: Ask, buckets: int) -> Asked:
    targets = bucket_of(arguments_at(part, ask.key), len(part), buckets)
    until = part.times[2] if part.form.kind is RecordKind.INTERVAL else part.times[1]
    return Asked(ask.demand, arguments_at(part, ask.positions), targets, until)


def together(parts: list[Asked]) -> Asked:
    """Questions of one demand, one below the other."""
    if len(parts) == 1:
        return parts[0]
    return Asked(
        parts[0].demand,
        [joined(own) for own in zip(*(part.columns for part in parts), strict=True)],
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.until for part in parts]),
    )


def packed_asked(asked: Asked) -> tuple[Any, ...]:
    """The content of a blob."""
    columns = [packed_column(column) for column in asked.columns]
    return asked.demand, columns, narrow(asked.targets), narrow(asked.until)


def unpacked_asked(given: tuple[Any, ...]) -> Asked:
    """What was packed."""
    demand, columns, targets, until = given
    return Asked(demand, list(map(unpacked_column, columns)), widen(targets), widen(until))


@dataclass(slots=True)
class Demands:
    """All that is asked of a bucket."""

    asked: dict[Demand, Asked] = field(default_factory=dict)

    def enter(self, news: Iterable[Asked], forgotten: int) -> bool:
        """Take more questions in, and drop those that are over; has anything changed?"""
        changed = False
        parts: dict[Demand, list[Asked]] = {}
        for each in news:
            parts.setdefault(each.demand, []).append(each)
        for demand in {*parts, *self.asked}:
            before = [self.asked[demand]] if demand in self.asked else []
            whole = together([*before, *parts.get(demand, [])])
            if demand in parts:
                whole = whole.once()
            alive = whole.until > forgotten
            changed |= demand in parts or not alive.all()
            self.asked[demand] = whole if alive.all() else whole.take(alive)
        return changed

    def tree(self) -> Tree:
        """It as plain data."""
        return [
            {"demand": [d.home, d.step, d.width, d.hashed, d.kinds],
             "columns": [plain_column(column) for column in own.columns],
             "targets": own.targets, "until": own.until}
            for d, own in self.asked.items()
        ]  # fmt: skip

    @staticmethod
    def of(tree: Tree) -> Demands:
        """It from plain data."""
        found = Demands()
        for own in tree:
            home, step, width, hashed, kinds = own["demand"]
            demand = Demand(home, step, width, tuple(hashed), tuple(kinds))
            columns = [column_of_tree(column) for column in own["columns"]]
            found.asked[demand] = Asked(demand, columns, own["targets"], own["until"])
        return found

    def met(self, demand: Demand, columns: list[Column], length: int) -> tuple[Integers, Integers]:
        """The rows that somebody asks for, and who."""
        asked = self.asked.get(demand)
        none = np.empty(0, np.int64)
        if asked is None or not len(asked) or not length:
            return none, none
        both = zip(columns, asked.columns, strict=True)
        keys = _keys([joined([mine, theirs]) for mine, theirs in both])
        mine, theirs = keys[:length], keys[length:]
        order = np.argsort(theirs, kind="stable")
        low = np.searchsorted(theirs[order], mine, "left")
        counts = np.searchsorted(theirs[order], mine, "right") - low
        rows = np.repeat(np.arange(length), counts)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, asked.targets[order[places + np.repeat(low, counts)]]


def _keys(columns: list[Column]) -> Integers:
    """Equal numbers for equal rows."""
    keys = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        own, count = numbered(column)
        keys, _ = numbered(keys * max(count, 1) + own)
    return keys
