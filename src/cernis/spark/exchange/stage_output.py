"""The output of a stage for the stages after it: its tables at each query, packed and unpacked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Floats, Integers
from cernis.operators.context.fluent_points import Points
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.definitions.asked_terminations import ANY, one_of_any
from cernis.records.encoded_input import encoded
from cernis.records.record_columns import Column, joined, taken
from cernis.session.saved.narrow import narrow, widen
from cernis.spark.exchange.blobs import decoded, packed_column, unpacked_column
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses

_UNSURE, _CLIPPED = 1, 2
"""Flags of a list of intervals."""


class OutputKind(StrEnum):
    """Which table of a relation an output has."""

    FLUENT = "fluent"
    COURSES = "courses"
    EVENT = "event"
    INITIATIONS = "initiations"
    TERMINATIONS = "terminations"


@dataclass(slots=True)
class StageOutput:
    """Rows of one relation over all queries, sorted by query.

    A row of a fluent has a list of intervals, whose length is in `lengths`; a row of an event, or
    of the points of a fluent, has a time, which is in `starts`. The last column of a fluent is its
    value. A row of an uncertain fluent has a list of times, in `starts`, and the probability from
    each on, in `chances`. Occurrences of patterns have their time in `ends`, and their start in
    `starts`.
    """

    relation: Relation
    kind: OutputKind
    queries: Integers
    columns: list[Column]
    lengths: Integers
    starts: Integers
    ends: Integers
    flags: Array
    """Of lists of intervals: 1 if the list may go on after the query, 2 if it starts or ends at the
    edge only because earlier records are forgotten. Of points: 1 if the value is open, 2 if it is
    one of those that are known where the value is open."""
    chances: Floats = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, rows: Integers) -> StageOutput:
        """Some of the rows."""
        places = rows
        if self.kind in (OutputKind.FLUENT, OutputKind.COURSES):
            places = _places(self.lengths, rows)
        ends = self.ends[places] if len(self.ends) else self.ends
        chances = self.chances[places] if len(self.chances) else self.chances
        return StageOutput(
            self.relation, self.kind, self.queries[rows],
            [taken(column, rows) for column in self.columns], self.lengths[rows],
            self.starts[places], ends, self.flags[rows], chances,
        )  # fmt: skip

    def packed(self) -> tuple[Any, ...]:
        """The content of a blob."""
        return (
            self.relation, str(self.kind), narrow(self.queries),
            [packed_column(column) for column in self.columns], narrow(self.lengths),
            narrow(self.starts), narrow(self.ends), self.flags, self.chances,
        )  # fmt: skip


def unpacked(content: tuple[Any, ...]) -> StageOutput:
    """The output that `StageOutput.packed` has packed."""
    relation, kind, queries, columns, lengths, starts, ends, flags, chances = content
    return StageOutput(
        relation, OutputKind(kind), widen(queries), [unpacked_column(column) for column in columns],
        widen(lengths), widen(starts), widen(ends), flags, chances,
    )  # fmt: skip


def _places(lengths: Integers, rows: Integers) -> Integers:
    """The places of the intervals of some lists."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    chosen_lengths = lengths[rows]
    before = np.zeros(len(rows), np.int64)
    np.cumsum(chosen_lengths[:-1], out=before[1:])
    return np.repeat(offsets[rows] - before, chosen_lengths) + np.arange(int(chosen_lengths.sum()))


def one_below_the_other(parts: Sequence[StageOutput]) -> StageOutput:
    """The outputs of several buckets for one relation as one, sorted by query."""
    whole = StageOutput(
        parts[0].relation, parts[0].kind,
        np.concatenate([part.queries for part in parts]),
        [joined(columns) for columns in zip(*(part.columns for part in parts), strict=True)],
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.flags for part in parts]),
        np.concatenate([part.chances for part in parts]),
    )  # fmt: skip
    if len(parts) == 1 or bool(np.all(whole.queries[1:] >= whole.queries[:-1])):
        return whole
    return whole.take(np.argsort(whole.queries, kind="stable"))


# -- taken from a run --------------------------------------------------------------------------


@dataclass(slots=True)
class Harvest:
    """Gathers, query by query, the rows that a run derives for the relations of later stages."""

    relations: frozenset[Relation]
    _parts: dict[tuple[Relation, OutputKind], list[StageOutput]] = field(default_factory=dict)

    def add(self, number: int, context: Context, courses: Mapping[Relation, Courses]) -> None:
        """Take over the tables of a query, and the courses of uncertain fluents."""
        for relation in self.relations:
            if relation in courses:
                self._put(_courses(number, relation, courses[relation]))
            elif relation in context.relations.fluents:
                self._put(_fluent(number, relation, context.relations))
            if relation in context.relations.events:
                self._put(_event(number, relation, context.relations.events[relation]))
            for kind, points in (
                (OutputKind.INITIATIONS, context.relations.initiations),
                (OutputKind.TERMINATIONS, context.relations.terminations),
            ):  # fmt: skip
                if relation in points:
                    self._put(_points(number, kind, points[relation], relation, context.encoding))

    def taken(self) -> Iterator[StageOutput]:
        """All output since the last call."""
        parts, self._parts = self._parts, {}
        for outputs in parts.values():
            yield one_below_the_other(outputs)

    def _put(self, output: StageOutput) -> None:
        if len(output):
            self._parts.setdefault((output.relation, output.kind), []).append(output)


def _fluent(number: int, relation: Relation, relations: QueryRelations) -> StageOutput:
    table = relations.fluents[relation]
    flags = np.zeros(len(table), np.int8)
    if relation in relations.open_at_query:
        flags |= np.int8(_UNSURE) * relations.open_at_query[relation]
    if relation in relations.clipped:
        flags |= np.int8(_CLIPPED) * relations.clipped[relation]
    columns = [decoded(codes, domain) for codes, domain in table.columns()]
    return StageOutput(
        relation, OutputKind.FLUENT, np.full(len(table), number), columns, np.diff(table.offsets),
        table.starts, table.ends, flags,
    )  # fmt: skip


def _courses(number: int, relation: Relation, courses: Courses) -> StageOutput:
    pairs, none = courses.pairs, np.empty(0, np.int64)
    domains = [*pairs.domains, pairs.value_domain]
    columns = [
        decoded(*each) for each in zip([*pairs.arguments, pairs.values], domains, strict=True)
    ]
    return StageOutput(
        relation, OutputKind.COURSES, np.full(len(pairs), number), columns,
        np.diff(courses.offsets), courses.times, none, np.zeros(len(pairs), np.bool_),
        courses.chances,
    )  # fmt: skip


def _event(number: int, relation: Relation, table: EventTable) -> StageOutput:
    columns = [decoded(*each) for each in zip(table.arguments, table.domains, strict=True)]
    output = _at_points(relation, OutputKind.EVENT, number, columns, table.times, None)
    if table.starts is not None:
        output.starts, output.ends = table.starts, table.times
    return output


def _points(
    number: int, kind: OutputKind, points: Points, relation: Relation, encoding: ValueEncoding
) -> StageOutput:
    domains, _ = encoding.fluents[relation]
    columns = [decoded(*each) for each in zip(points.arguments, domains, strict=True)]
    is_open, is_known = points.values == ANY, points.values < ANY
    codes = np.where(is_known, one_of_any(points.values), points.values)
    if is_open.all():
        # All values are open: any value will do in their place.
        columns.append(np.zeros(len(is_open), np.int64))
    else:
        codes = np.where(is_open, codes[~is_open][0], codes)
        columns.append(decoded(codes, _value_codes(relation, encoding)))
    flags = is_open + np.int8(2) * is_known
    return _at_points(relation, kind, number, columns, points.times, flags)


def _value_codes(relation: Relation, encoding: ValueEncoding) -> Domain:
    """The codes that identify values of a fluent, even where they are numbers."""
    domain = encoding.fluents[relation][1]
    return domain if domain is not None else encoding.domains.value_domain(relation)


def _at_points(
    relation: Relation, kind: OutputKind, number: int, columns: list[Column], times: Integers,
    flags: Array | None,
) -> StageOutput:  # fmt: skip
    none = np.empty(0, np.int64)
    flags = np.zeros(len(times), np.bool_) if flags is None else flags
    return StageOutput(
        relation, kind, np.full(len(times), number), columns, np.zeros(len(times), np.int64),
        times, none, flags,
    )  # fmt: skip


# -- handed to a run ---------------------------------------------------------------------------


class ReceivedOutput:
    """The output of earlier stages for one relation, in the codes of the run that reads it."""

    def __init__(self, output: StageOutput, encoding: ValueEncoding) -> None:
        self._output = output
        relation = output.relation
        self._value_domain: Domain | None = None
        if output.kind is OutputKind.EVENT:
            self._domains = encoding.events[relation]
            domains = [*self._domains]
        else:
            self._domains, self._value_domain = encoding.fluents[relation]
            domains = [*self._domains]
            is_fluent = output.kind in (OutputKind.FLUENT, OutputKind.COURSES)
            domains.append(self._value_domain if is_fluent else _value_codes(relation, encoding))
        self._codes = [encoded(*each) for each in zip(output.columns, domains, strict=True)]
        self._offsets = np.zeros(len(output) + 1, np.int64)
        np.cumsum(output.lengths, out=self._offsets[1:])

    def enter(
        self, number: int, context: Context, courses: MutableMapping[Relation, Courses]
    ) -> None:
        """Put the table of a query into its context, or courses into `courses`."""
        output = self._output
        low, high = np.searchsorted(output.queries, [number, number + 1]).tolist()
        columns = [codes[low:high] for codes in self._codes]
        relation = output.relation
        if output.kind is OutputKind.FLUENT:
            self._fluent(low, high, columns, context.relations)
        elif output.kind is OutputKind.COURSES:
            courses[relation] = self._courses(low, high, columns)
        elif output.kind is OutputKind.EVENT:
            times, starts = output.starts[low:high], None
            if len(output.ends):
                times, starts = output.ends[low:high], times
            context.relations.events[relation] = EventTable(columns, self._domains, times, starts)
        else:
            relations = context.relations
            is_initiated = output.kind is OutputKind.INITIATIONS
            kept = relations.initiations if is_initiated else relations.terminations
            flags, values = output.flags[low:high], columns[-1]
            values = np.where(flags == 1, ANY, np.where(flags == 2, one_of_any(values), values))
            kept[relation] = Points(columns[:-1], values, output.starts[low:high])

    def _courses(self, low: int, high: int, columns: list[Array]) -> Courses:
        from cernis.evaluate.probabilities.courses import Courses, Pairs

        first, last = int(self._offsets[low]), int(self._offsets[high])
        nothing = np.zeros(high - low)
        pairs = Pairs(columns[:-1], columns[-1], self._domains, self._value_domain, nothing)
        offsets = self._offsets[low : high + 1] - first
        times, chances = self._output.starts[first:last], self._output.chances[first:last]
        return Courses(pairs, offsets, times, chances)

    def _fluent(self, low: int, high: int, columns: list[Array], relations: QueryRelations) -> None:
        output, relation = self._output, self._output.relation
        first, last = int(self._offsets[low]), int(self._offsets[high])
        relations.fluents[relation] = FluentTable(
            columns[:-1], columns[-1], self._domains, self._value_domain,
            self._offsets[low : high + 1] - first, output.starts[first:last],
            output.ends[first:last],
        )  # fmt: skip
        flags = output.flags[low:high]
        if (flags & _UNSURE).any():
            relations.open_at_query[relation] = (flags & _UNSURE) > 0
        if (flags & _CLIPPED).any():
            relations.clipped[relation] = (flags & _CLIPPED) > 0
