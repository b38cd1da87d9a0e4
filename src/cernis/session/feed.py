"""The change feed: the intervals that queries insert and delete, whose sum is the answer."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_tables import lists_of, texts_of
from cernis.answers.feed_lines import feed_lines
from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.model import Relation
from cernis.evaluate.columns.differences import only_in_one
from cernis.evaluate.query_loop import AnswerChanges, RelationChange
from cernis.evaluate.stores import StoredRows, stacked
from cernis.kernels.array_types import Array
from cernis.operators.context.value_encoding import RelationDomains
from cernis.records.arrow_arrays import as_arrow
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

Encoding: TypeAlias = MutableMapping[Relation, RelationDomains]
"""The domains of each relation's arguments and of its value."""


@dataclass(slots=True, repr=False)
class Feed:
    """What one query has changed, deletions first."""

    query: int
    version: str
    fluents: AnswerChanges
    events: AnswerChanges
    encoding: Encoding
    conflicts: int = 0
    times: TimeOutput = WHOLE_NUMBERS
    schema: ClassVar[pa.Schema] = FEED
    happened: ClassVar[pa.Schema] = HAPPENED

    def __len__(self) -> int:
        return sum(map(len, (*self.fluents.values(), *self.events.values())))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.times.text(self.query)}: {len(self)} changes>"

    def text(self) -> str:
        """The changes as lines, of fluents and then of events: `+` inserts, `-` deletes.

        An interval is half-open, `[start,end)`; that of a pattern's occurrence has both its ends.
        """
        return "".join(f"{line}\n" for line in feed_lines(self.changes()))

    def changes(self) -> pa.Table:
        """All changes as one table, with the columns of `table()`, fluents first.

        A happening has no value, and no end; an occurrence of a pattern has its last point as its
        end.
        """
        happened = self.happenings()
        has_start = pc.is_valid(happened["start"])
        columns = [
            happened["change"], happened["event"], happened["args"],
            pa.nulls(len(happened), pa.string()),
            pc.if_else(has_start, happened["start"], happened["occurrence"]),
            pc.if_else(has_start, happened["occurrence"], None), happened["query_time"],
            happened["rule_version"],
        ]  # fmt: skip
        schema = self.times.schema(self.schema)
        columns += [
            happened[each.name] if each.name in happened.column_names
            else pa.nulls(len(happened), each.type)
            for each in list(schema)[len(columns) :]
        ]  # fmt: skip
        return pa.concat_tables([self.table(), pa.table(columns, schema)])

    def table(self) -> pa.Table:
        """The changes of all fluents."""
        parts = [self._intervals(relation, *_listed(change))
                 for relation, change in sorted(self.fluents.items()) if len(change)]  # fmt: skip
        return self.times.table(pa.concat_tables([self.schema.empty_table(), *parts]))

    def happenings(self) -> pa.Table:
        """The changes of all derived events."""
        parts = [self.happened.empty_table()]
        for relation, change in sorted(self.events.items()):
            if len(change):
                kinds, rows = _listed(change)
                times, *starts = rows.columns
                start = as_arrow(starts[0]) if starts else pa.nulls(len(rows), pa.int64())
                columns = self._columns(relation, kinds, rows, [start, as_arrow(times)])
                more = [] if self.happened is HAPPENED else self._more_of_event(relation, rows)
                parts.append(pa.table([*columns, *more], self.happened))
        return self.times.table(pa.concat_tables(parts))

    def _intervals(self, relation: Relation, kinds: pa.Array, rows: StoredRows) -> pa.Table:
        """Intervals as rows of the feed, each with the kind of its change."""
        starts, ends, values = rows.columns[:3]
        value = texts_of(values, self.encoding[relation][1])
        held = [value, as_arrow(starts), as_arrow(ends, ends == INFINITY)]
        columns = self._columns(relation, kinds, rows, held)
        return pa.table([*columns, *self._more(relation, rows)], self.schema)

    def _columns(
        self, relation: Relation, kinds: pa.Array, rows: StoredRows, middle: list[pa.Array]
    ) -> list[pa.Array]:
        """All columns of changes: `middle` has those that differ between fluents and events."""
        arguments = list(zip(rows.arguments, self.encoding[relation][0], strict=True))
        count = len(rows)
        return [
            kinds, pa.repeat(pa.scalar(relation.name), count), lists_of(arguments, count), *middle,
            pa.repeat(pa.scalar(self.query, pa.int64()), count),
            pa.repeat(pa.scalar(self.version), count),
        ]  # fmt: skip

    def _more(self, relation: Relation, rows: StoredRows) -> list[pa.Array]:
        """The columns that only some kinds of feed have, after all others."""
        return []

    def _more_of_event(self, relation: Relation, rows: StoredRows) -> list[pa.Array]:
        """These columns for the happenings of an event."""
        return self._more(relation, rows)


def _listed(change: RelationChange) -> tuple[pa.Array, StoredRows]:
    """The kind of each changed row, `delete` or `insert`, and the rows; deletions come first."""
    parts = [("delete", change.removed), ("insert", change.added)]
    sized = [(kind, rows, len(rows)) for kind, rows in parts]
    kinds = [pa.repeat(pa.scalar(kind), count) for kind, _, count in sized]
    return pa.concat_arrays(kinds), stacked(*(rows for _, rows, count in sized if count))


POLICIES: Final = ("early", "partial", "final")


@dataclass(slots=True)
class Policy:
    """When intervals are reported.

    `early`: as soon as they are recognised; `partial`: once their starts are settled; `final`: once
    they cannot change any more.
    """

    name: str
    tick: int
    known: dict[Relation, StoredRows] = field(default_factory=dict)
    """The intervals that may still change."""
    reported: dict[Relation, StoredRows] = field(default_factory=dict)
    """The intervals that were reported and may still change."""

    def filtered(self, changes: AnswerChanges, next_edge: int) -> AnswerChanges:
        """The changes to report, given all changes and the edge of the next window."""
        if self.name == "early":
            return changes
        reported_changes: AnswerChanges = {}
        bound = next_edge + self.tick
        for relation in {*changes, *self.known}:
            now = self._known_after(relation, changes.get(relation))
            starts, ends = now.columns[:2]
            # An interval that ends where the next window begins may go on in it.
            eligible = now.take(starts <= bound if self.name == "partial" else ends < bound)
            reported = self.reported.get(relation, eligible.take(_NOTHING))
            is_removed, is_added = only_in_one(reported, eligible)
            if is_removed.any() or is_added.any():
                reported_changes[relation] = RelationChange(
                    reported.take(is_removed), eligible.take(is_added)
                )
            self.known[relation] = now.take(ends >= bound)
            self.reported[relation] = eligible.take(eligible.columns[1] >= bound)
        return reported_changes

    def _known_after(self, relation: Relation, change: RelationChange | None) -> StoredRows:
        """The known intervals of a relation after a change."""
        known = self.known.get(relation)
        if change is None:
            assert known is not None
            return known
        if known is None:
            return change.added
        is_kept, _ = only_in_one(known, change.removed)
        return stacked(known.take(is_kept), change.added)


_NOTHING: Final[Array] = np.empty(0, np.int64)
