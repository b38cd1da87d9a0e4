"""Uncertain records and what is recognised of them, on their way between driver and workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cernis.check.model import Relation
from cernis.evaluate.probabilities.courses import Courses, Pairs
from cernis.evaluate.probabilities.uncertain_run import UncertainAnswer
from cernis.plan.builder import Plan
from cernis.records.record_columns import Column, Records, SetAside, coded, joined
from cernis.session.uncertain_windows import relations_in
from cernis.spark.exchange.blobs import decoded, dumps
from cernis.spark.exchange.buckets import bucket_of
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

Positions = tuple[int, ...]
Keys = Mapping[Relation, Positions | None]

ROWS: Final = "bucket int, step int, told binary, blob binary"
SCHEMA: Final = pa.schema([
    ("bucket", pa.int32()), ("step", pa.int32()), ("told", pa.binary()), ("blob", pa.binary()),
])  # fmt: skip
LAST: Final = 1 << 30
"""The step after all others: what has come of them."""


def row(bucket: int, step: int, told: object = None, content: object = None) -> dict[str, Any]:
    """A row for a step: something told of the input or the outcome, or content."""
    return {
        "bucket": bucket, "step": step, "told": None if told is None else dumps(told),
        "blob": None if content is None else dumps(content),
    }  # fmt: skip


def batch_of(rows: Iterable[dict[str, Any]]) -> pa.RecordBatch:
    """Rows as Spark takes them."""
    return pa.RecordBatch.from_pylist(list(rows), schema=SCHEMA)


@dataclass(slots=True)
class Told:
    """What readers tell of the input, or buckets of what became of it."""

    first: int | None = None
    last: int | None = None
    records: int = 0
    used: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    too_late: list[SetAside] = field(default_factory=list)
    outside: int = 0
    uncertain: frozenset[str] = frozenset()
    retracts: bool = False
    queries: int = 1
    conflicts: int = 0
    circuits: int = 0
    warnings: tuple[str, ...] = ()
    fluents: frozenset[Relation] = frozenset()
    """Those that there are records of."""

    def __add__(self, other: Told) -> Told:
        firsts = [each for each in (self.first, other.first) if each is not None]
        lasts = [each for each in (self.last, other.last) if each is not None]
        ignored = dict(self.ignored)
        for name, count in other.ignored.items():
            ignored[name] = ignored.get(name, 0) + count
        return Told(
            min(firsts, default=None), max(lasts, default=None), self.records + other.records,
            self.used + other.used, ignored, [*self.set_aside, *other.set_aside],
            [*self.too_late, *other.too_late], self.outside + other.outside,
            self.uncertain | other.uncertain, self.retracts or other.retracts,
            max(self.queries, other.queries),
            self.conflicts + other.conflicts, max(self.circuits, other.circuits),
            tuple(dict.fromkeys((*self.warnings, *other.warnings))),
            self.fluents | other.fluents,
        )  # fmt: skip


def keys_of(plan: Plan) -> Keys | None:
    """The key of each relation, if all rules fall apart by one; None if they do not.

    Domains that are filled from the input belong to no bucket.
    """
    if len(plan.stages) != 1 or plan.checked.definitions.domains:
        return None
    (stage,) = plan.stages
    keys: dict[Relation, Positions | None] = dict(stage.keys)
    is_whole = all(not exchange.demanded_by for exchange in stage.exchanges)
    return keys if stage.key and is_whole and all(keys.values()) else None


def told_of(records: Records, tick: int) -> Told:
    """What records, retractions among them, tell of the input."""
    parts = records.relations.values()
    used = sum(len(p) if p.retracts is None else int((~p.retracts).sum()) for p in parts)
    return Told(
        records.first, records.last(tick), records.count, used, records.ignored,
        records.set_aside, uncertain=frozenset(relations_in(records)),
        retracts=any(part.retracts is not None for part in parts), warnings=tuple(records.warnings),
        fluents=records.fluents,
    )  # fmt: skip


# -- answers -----------------------------------------------------------------------------------


def owned(answer: UncertainAnswer, keys: Keys, bucket: int, buckets: int) -> None:
    """Leave in an answer what belongs to a bucket: what holds initially is found in each.

    What has no key is the bucket's own.
    """
    for relation, table in answer.fluents.items():
        mine = _mine(table.columns(), keys[relation], bucket, buckets)
        rows = np.repeat(np.isin(np.arange(len(table)), mine), np.diff(table.offsets))
        answer.fluents[relation] = table.take(mine)
        if relation in answer.means:
            answer.means[relation] = answer.means[relation][rows]
    for relation, happened in answer.events.items():
        columns = [*zip(happened.arguments, happened.domains, strict=True), (happened.times, None)]
        mine = _mine(columns, keys[relation], bucket, buckets)
        answer.events[relation] = happened.take(mine)
    for relation, courses in answer.courses.items():
        pairs = courses.pairs
        columns = [*zip(pairs.arguments, pairs.domains, strict=True), (pairs.values, None)]
        mine = _mine(columns, keys[relation], bucket, buckets)
        steps = np.repeat(np.isin(np.arange(len(pairs)), mine), np.diff(courses.offsets))
        kept = Pairs(
            [column[mine] for column in pairs.arguments], pairs.values[mine], pairs.domains,
            pairs.value_domain, pairs.initial[mine],
        )  # fmt: skip
        offsets = np.append(0, np.cumsum(np.diff(courses.offsets)[mine])).astype(np.int64)
        answer.courses[relation] = Courses(
            kept, offsets, courses.times[steps], courses.chances[steps]
        )


def _mine(columns: Any, key: Positions | None, bucket: int, buckets: int) -> Any:
    length = len(columns[0][0]) if columns else 0
    if not key:
        return np.arange(length)
    own = [decoded(*columns[at]) for at in key]
    return np.flatnonzero(bucket_of(own, length, buckets) == bucket)


def packed_answer(answer: UncertainAnswer) -> Any:
    """An answer with values in place of codes."""
    fluents = {}
    for relation, table in answer.fluents.items():
        columns = [decoded(*each) for each in table.columns()]
        edges = (table.offsets, table.starts, table.ends)
        fluents[relation] = columns, edges, answer.means.get(relation)
    courses = {}
    for relation, own in answer.courses.items():
        pairs = own.pairs
        columns = [decoded(*each) for each in zip(
            [*pairs.arguments, pairs.values], [*pairs.domains, pairs.value_domain], strict=True
        )]  # fmt: skip
        courses[relation] = columns, (own.offsets, own.times, own.chances)
    events = {}
    for relation, happened in answer.events.items():
        columns = [decoded(*e) for e in zip(happened.arguments, happened.domains, strict=True)]
        events[relation] = columns, happened.times
    return fluents, courses, events


def united(parts: Iterable[Any]) -> UncertainAnswer:
    """The answers of all buckets as one."""
    found = UncertainAnswer()
    given = list(parts)
    for relation in _relations(part[0] for part in given):
        own = [part[0][relation] for part in given if relation in part[0]]
        columns, domains = _encoded([each[0] for each in own])
        edges = _stacked([each[1] for each in own])
        found.fluents[relation] = FluentTable(
            columns[:-1], columns[-1], domains[:-1], domains[-1], *edges
        )
        if own[0][2] is not None:
            found.means[relation] = np.concatenate([each[2] for each in own])
    for relation in _relations(part[1] for part in given):
        own = [part[1][relation] for part in given if relation in part[1]]
        columns, domains = _encoded([each[0] for each in own])
        pairs = Pairs(
            columns[:-1], columns[-1], domains[:-1], domains[-1], np.zeros(len(columns[-1]))
        )
        found.courses[relation] = Courses(pairs, *_stacked([each[1] for each in own]))
    for relation in _relations(part[2] for part in given):
        own = [part[2][relation] for part in given if relation in part[2]]
        columns, domains = _encoded([each[0] for each in own])
        times = np.concatenate([each[1] for each in own])
        found.events[relation] = EventTable(columns, domains, times)
    return found


def _relations(parts: Iterable[dict[Relation, Any]]) -> list[Relation]:
    return sorted({relation for part in parts for relation in part})


def _encoded(parts: list[list[Column]]) -> tuple[list[Any], list[Domain | None]]:
    """The columns of all parts one below the other, coded anew; numbers as they are."""
    columns: list[Any] = []
    domains: list[Domain | None] = []
    for own in zip(*parts, strict=True):
        whole = coded(joined(own))
        domain = Domain()
        codes = domain.encode(whole.values)  # type: ignore[arg-type]
        columns.append(codes[whole.codes] if len(codes) else np.empty(0, np.int64))
        domains.append(domain)
    return columns, domains


def _stacked(parts: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Offsets and what they are into, one below the other."""
    lengths = np.concatenate([np.diff(offsets) for offsets, _, _ in parts])
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    first, second = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
    return offsets, first, second
