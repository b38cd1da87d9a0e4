"""What a stage finds, for the stages after it: tables as of each query, packed and put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Integers
from cernis.operators.definitions.asked_terminations import ANY, one_of_any
from cernis.operators.query_context import Context, Points
from cernis.records.encoded_input import encoded
from cernis.records.record_columns import Column, joined, taken
from cernis.spark.exchange.blobs import decoded, packed_column, unpacked_column
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable
from cernis.tables.narrow import narrow, widen

_UNSURE, _CLIPPED = 1, 2
"""Flags of a list of intervals."""


class What(StrEnum):
    """What of a relation was found."""

    FLUENT = "fluent"
    EVENT = "event"
    INITIATIONS = "initiations"
    TERMINATIONS = "terminations"


@dataclass(slots=True)
class Found:
    """Rows of one relation over all queries, sorted by query.

    A row of a fluent has a list of intervals, whose length is in `lengths`; a row of an event, or
    of the points of a fluent, has a time, which is in `starts`. The last column of a fluent is its
    value. Occurrences of patterns have their time in `ends`, and their start in `starts`.
    """

    relation: Relation
    what: What
    queries: Integers
    columns: list[Column]
    lengths: Integers
    starts: Integers
    ends: Integers
    flags: Array
    """Of fluents: may the list go on after the query (1), is its edge that of the window (2)? Of
    points: is the value open (1), or one that is known where it is open (2)?"""

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, rows: Integers) -> Found:
        """Some of the rows."""
        starts, ends = self.starts, self.ends
        if self.what is not What.FLUENT:
            starts = starts[rows]
            ends = ends[rows] if len(ends) else ends
        else:
            places = _places(self.lengths, rows)
            starts, ends = starts[places], ends[places]
        return Found(
            self.relation, self.what, self.queries[rows],
            [taken(column, rows) for column in self.columns], self.lengths[rows], starts, ends,
            self.flags[rows],
        )  # fmt: skip

    def packed(self) -> tuple[Any, ...]:
        """The content of a blob."""
        return (
            self.relation, str(self.what), narrow(self.queries),
            [packed_column(column) for column in self.columns], narrow(self.lengths),
            narrow(self.starts), narrow(self.ends), self.flags,
        )  # fmt: skip


def unpacked(given: tuple[Any, ...]) -> Found:
    """What was packed."""
    relation, what, queries, columns, lengths, starts, ends, flags = given
    return Found(
        relation, What(what), widen(queries), [unpacked_column(column) for column in columns],
        widen(lengths), widen(starts), widen(ends), flags,
    )  # fmt: skip


def _places(lengths: Integers, rows: Integers) -> Integers:
    """Where the intervals of some lists stand."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    own = lengths[rows]
    before = np.zeros(len(rows), np.int64)
    np.cumsum(own[:-1], out=before[1:])
    return np.repeat(offsets[rows] - before, own) + np.arange(int(own.sum()))


def one_below_the_other(parts: Sequence[Found]) -> Found:
    """What several buckets found of one relation, sorted by query."""
    whole = Found(
        parts[0].relation, parts[0].what,
        np.concatenate([part.queries for part in parts]),
        [joined(own) for own in zip(*(part.columns for part in parts), strict=True)],
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.flags for part in parts]),
    )  # fmt: skip
    if len(parts) == 1 or bool(np.all(whole.queries[1:] >= whole.queries[:-1])):
        return whole
    return whole.take(np.argsort(whole.queries, kind="stable"))


# -- taken from a run --------------------------------------------------------------------------


@dataclass(slots=True)
class Harvest:
    """Gathers, query by query, what a run derives of the relations that later stages read."""

    relations: frozenset[Relation]
    _parts: dict[tuple[Relation, What], list[Found]] = field(default_factory=dict)

    def add(self, number: int, context: Context) -> None:
        """Take over what a query found."""
        for relation in self.relations:
            if relation in context.fluents:
                self._put(_fluent(number, relation, context))
            if relation in context.events:
                self._put(_event(number, relation, context.events[relation]))
            for what, points in (
                (What.INITIATIONS, context.initiations), (What.TERMINATIONS, context.terminations),
            ):  # fmt: skip
                if relation in points:
                    self._put(_points(number, what, points[relation], relation, context))

    def taken(self) -> Iterator[Found]:
        """All that was found since this was asked last."""
        parts, self._parts = self._parts, {}
        for own in parts.values():
            yield one_below_the_other(own)

    def _put(self, found: Found) -> None:
        if len(found):
            self._parts.setdefault((found.relation, found.what), []).append(found)


def _fluent(number: int, relation: Relation, context: Context) -> Found:
    table = context.fluents[relation]
    flags = np.zeros(len(table), np.int8)
    if relation in context.unsure:
        flags |= np.int8(_UNSURE) * context.unsure_groups[relation]
    if relation in context.clipped:
        flags |= np.int8(_CLIPPED) * context.clipped[relation]
    columns = [decoded(codes, domain) for codes, domain in table.columns()]
    return Found(
        relation, What.FLUENT, np.full(len(table), number), columns, np.diff(table.offsets),
        table.starts, table.ends, flags,
    )  # fmt: skip


def _event(number: int, relation: Relation, table: EventTable) -> Found:
    columns = [decoded(*each) for each in zip(table.arguments, table.domains, strict=True)]
    found = _at_points(relation, What.EVENT, number, columns, table.times, None)
    if table.starts is not None:
        found.starts, found.ends = table.starts, table.times
    return found


def _points(number: int, what: What, points: Points, relation: Relation, context: Context) -> Found:
    domains = [context.domain("fluent", relation, at) for at in range(relation.arity)]
    columns = [decoded(*each) for each in zip(points.arguments, domains, strict=True)]
    is_open, is_known = points.values == ANY, points.values < ANY
    codes = np.where(is_known, one_of_any(points.values), points.values)
    if is_open.all():
        # All values are open: any value will do in their place.
        columns.append(np.zeros(len(is_open), np.int64))
    else:
        codes = np.where(is_open, codes[~is_open][0], codes)
        columns.append(decoded(codes, _value_codes(relation, context)))
    flags = is_open + np.int8(2) * is_known
    return _at_points(relation, what, number, columns, points.times, flags)


def _value_codes(relation: Relation, context: Context) -> Domain:
    """The codes that identify values of a fluent, even where they are numbers."""
    domain = context.domain("fluent", relation, "value")
    return domain if domain is not None else context.domains.value_domain(relation)


def _at_points(
    relation: Relation, what: What, number: int, columns: list[Column], times: Integers,
    flags: Array | None,
) -> Found:  # fmt: skip
    none = np.empty(0, np.int64)
    flags = np.zeros(len(times), np.bool_) if flags is None else flags
    return Found(
        relation, what, np.full(len(times), number), columns, np.zeros(len(times), np.int64),
        times, none, flags,
    )  # fmt: skip


# -- given to a run ----------------------------------------------------------------------------


class Given:
    """What earlier stages found of one relation, in the codes of a run."""

    def __init__(self, found: Found, context: Context) -> None:
        self._found = found
        relation = found.relation
        kind = "event" if found.what is What.EVENT else "fluent"
        self._domains = [context.domain(kind, relation, at) for at in range(relation.arity)]
        self._value_domain = None
        domains = [*self._domains]
        if kind == "fluent":
            self._value_domain = context.domain("fluent", relation, "value")
            is_fluent = found.what is What.FLUENT
            domains.append(self._value_domain if is_fluent else _value_codes(relation, context))
        self._codes = [encoded(*each) for each in zip(found.columns, domains, strict=True)]
        self._offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum(found.lengths, out=self._offsets[1:])

    def enter(self, number: int, context: Context) -> None:
        """Put what was found as of a query into its context."""
        found = self._found
        low, high = np.searchsorted(found.queries, [number, number + 1]).tolist()
        columns = [codes[low:high] for codes in self._codes]
        relation = found.relation
        if found.what is What.FLUENT:
            self._fluent(low, high, columns, context)
        elif found.what is What.EVENT:
            times, starts = found.starts[low:high], None
            if len(found.ends):
                times, starts = found.ends[low:high], times
            context.events[relation] = EventTable(columns, self._domains, times, starts)
        else:
            kept = context.initiations if found.what is What.INITIATIONS else context.terminations
            flags, values = found.flags[low:high], columns[-1]
            values = np.where(flags == 1, ANY, np.where(flags == 2, one_of_any(values), values))
            kept[relation] = Points(columns[:-1], values, found.starts[low:high])

    def _fluent(self, low: int, high: int, columns: list[Array], context: Context) -> None:
        found, relation = self._found, self._found.relation
        first, last = int(self._offsets[low]), int(self._offsets[high])
        context.fluents[relation] = FluentTable(
            columns[:-1], columns[-1], self._domains, self._value_domain,
            self._offsets[low : high + 1] - first, found.starts[first:last],
            found.ends[first:last],
        )  # fmt: skip
        flags = found.flags[low:high]
        if (flags & _UNSURE).any():
            context.unsure.add(relation)
            context.unsure_groups[relation] = (flags & _UNSURE) > 0
        if (flags & _CLIPPED).any():
            context.clipped[relation] = (flags & _CLIPPED) > 0
