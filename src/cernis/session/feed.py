"""The change feed: intervals that a query has inserted and deleted; its sum is the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

import numpy as np
import pyarrow as pa

from cernis.answers.answer_tables import lists_of, texts_of
from cernis.check.model import Relation
from cernis.evaluate.changes.differences import told_apart
from cernis.evaluate.changes.stores import Rows, stacked
from cernis.evaluate.query_loop import Change, Changed
from cernis.kernels.array_types import Array
from cernis.records.arrow_arrays import as_arrow
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY

FEED: Final = pa.schema([
    ("change", pa.string()), ("fluent", pa.string()), ("args", pa.list_(pa.string())),
    ("value", pa.string()), ("start", pa.int64()), ("end", pa.int64()),
    ("query_time", pa.int64()), ("rule_version", pa.string()),
])  # fmt: skip
"""Changes of intervals. `change` is insert or delete; the end is null while open."""

HAPPENED: Final = pa.schema([
    ("change", pa.string()), ("event", pa.string()), ("args", pa.list_(pa.string())),
    ("start", pa.int64()), ("occurrence", pa.int64()), ("query_time", pa.int64()),
    ("rule_version", pa.string()),
])  # fmt: skip
"""Changes of the happenings of derived events. Only occurrences of patterns have a start; they end
when they happen."""

Encoding: TypeAlias = Callable[[Relation], tuple[list[Domain | None], Domain | None]]
"""Gives the encodings of a relation's arguments and of its value."""


@dataclass(slots=True)
class Feed:
    """What one query has changed, deletions first."""

    query: int
    version: str
    fluents: Changed
    events: Changed
    encoding: Encoding
    conflicts: int = 0
    schema: ClassVar[pa.Schema] = FEED

    def __len__(self) -> int:
        return sum(map(len, (*self.fluents.values(), *self.events.values())))

    def table(self) -> pa.Table:
        """The changes of all fluents."""
        parts = [self.schema.empty_table()]
        for relation, change in sorted(self.fluents.items()):
            domains, value_domain = self.encoding(relation)
            for name, rows in (("delete", change.gone), ("insert", change.come)):
                starts, ends, values = rows.columns[:3]
                columns = [
                    *self._head(name, relation, domains, rows), texts_of(values, value_domain),
                    as_arrow(starts), as_arrow(ends, ends == INFINITY), *self._tail(rows),
                    *self._more(rows),
                ]  # fmt: skip
                parts.append(pa.table(columns, self.schema))
        return pa.concat_tables(parts)

    def happenings(self) -> pa.Table:
        """The changes of all derived events."""
        parts = [HAPPENED.empty_table()]
        for relation, change in sorted(self.events.items()):
            domains, _ = self.encoding(relation)
            for name, rows in (("delete", change.gone), ("insert", change.come)):
                times, *starts = rows.columns
                start = as_arrow(starts[0]) if starts else pa.nulls(len(rows), pa.int64())
                columns = [
                    *self._head(name, relation, domains, rows), start, as_arrow(times),
                    *self._tail(rows),
                ]  # fmt: skip
                parts.append(pa.table(columns, HAPPENED))
        return pa.concat_tables(parts)

    def _head(
        self, name: str, relation: Relation, domains: list[Domain | None], rows: Rows
    ) -> list[pa.Array]:
        arguments = list(zip(rows.arguments, domains, strict=True))
        count = len(rows)
        return [
            pa.repeat(pa.scalar(name), count), pa.repeat(pa.scalar(relation.name), count),
            lists_of(arguments, count),
        ]  # fmt: skip

    def _more(self, rows: Rows) -> list[pa.Array]:
        """The columns after all others."""
        return []

    def _tail(self, rows: Rows) -> list[pa.Array]:
        count = len(rows)
        return [
            pa.repeat(pa.scalar(self.query, pa.int64()), count),
            pa.repeat(pa.scalar(self.version), count),
        ]


POLICIES: Final = ("early", "partial", "final")


@dataclass(slots=True)
class Policy:
    """When intervals are reported.

    `early`: as soon as they are recognised; `partial`: once their starts are settled; `final`: once
    they cannot change any more.
    """

    name: str
    tick: int
    known: dict[Relation, Rows] = field(default_factory=dict)
    """The intervals that may still change."""
    reported: dict[Relation, Rows] = field(default_factory=dict)
    """Those that were reported and may still change."""

    def filtered(self, changes: Changed, next_edge: int) -> Changed:
        """What to report, given what has changed, and where the next window will begin."""
        if self.name == "early":
            return changes
        found: Changed = {}
        bound = next_edge + self.tick
        for relation in {*changes, *self.known}:
            now = self._applied(relation, changes.get(relation))
            starts, ends = now.columns[:2]
            # What ends where the next window begins may go on in it.
            eligible = now.take(starts <= bound if self.name == "partial" else ends < bound)
            before = self.reported.get(relation, eligible.take(_NOTHING))
            gone, come = told_apart(before, eligible)
            if gone.any() or come.any():
                found[relation] = Change(before.take(gone), eligible.take(come))
            self.known[relation] = now.take(ends >= bound)
            self.reported[relation] = eligible.take(eligible.columns[1] >= bound)
        return found

    def _applied(self, relation: Relation, change: Change | None) -> Rows:
        known = self.known.get(relation)
        if change is None:
            assert known is not None
            return known
        if known is None:
            return change.come
        kept, _ = told_apart(known, change.gone)
        return stacked(known.take(kept), change.come)


_NOTHING: Final[Array] = np.empty(0, np.int64)
