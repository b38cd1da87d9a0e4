"""Events of a report: records of the input and happenings of derived events, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from cernis.answers.answer_tables import values_of
from cernis.answers.reports.report_lanes import argument_texts
from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Integers
from cernis.records.arrow_arrays import as_arrow, as_numpy, as_text, as_texts
from cernis.records.record_columns import (
    INFINITE,
    Coded,
    Column,
    RecordColumns,
    RecordKind,
    Records,
    shown,
)
from cernis.syntax.time_scale import TimeScale

_POSITION: Final = ("vessel", "t", "lon", "lat")


@dataclass(slots=True)
class EventKind:
    """All happenings of one event: arguments as columns of numbers or texts, and times.

    `places` are the numbers of the records, -1 for derived events.
    """

    relation: Relation
    titles: tuple[str, ...]
    is_derived: bool
    columns: list[pa.Array]
    times: Integers
    places: Integers
    is_quiet: bool = False
    """Is it hidden from the timeline until the reader shows it?"""
    is_uncertain: bool = False
    """Is the last column the probability of each record?"""

    @property
    def entities(self) -> pa.Array:
        """The entity of each happening."""
        if not self.columns:
            return pa.repeat(as_text(""), len(self.times))
        return argument_texts([_texts(self.columns[0])], len(self.times))[0]


def event_kinds(
    answer: Answer, records: Records | None, catalogue: Catalogue, hidden: set[Relation]
) -> Iterator[EventKind]:
    """The events of the input, without those that were taken back, and the derived ones."""
    for form, part in sorted((records.relations if records else {}).items(), key=_by_relation):
        if form.kind is RecordKind.INTERVAL or form.relation in hidden or not len(part):
            continue
        yield _input_kind(form.relation, form.kind, part, catalogue)
    for relation, table in sorted(answer.events.items()):
        if relation in hidden:
            continue
        columns = [
            values_of(column, domain)
            for column, domain in zip(table.arguments, table.domains, strict=True)
        ]
        entry = catalogue.events[relation]
        titles = _named(entry.declared_names, entry.argument_names)
        none = np.full(len(table), -1)
        yield EventKind(relation, titles, True, columns, table.times, none)


def position_kind(positions: pa.Table, scale: TimeScale) -> EventKind:
    """Positions of entities as one more event: `vessel`, `t`, `lon` and `lat`, as for `geo`."""
    missing = [name for name in _POSITION if name not in positions.column_names]
    if missing:
        raise DataError(
            f"positions have no column {missing[0]}; they have {', '.join(positions.column_names)}"
        )
    vessel, times, *place = (positions[name].combine_chunks() for name in _POSITION)
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp(scale.unit), safe=False)
    if not pa.types.is_integer(vessel.type):
        vessel = vessel.cast(pa.string())
    columns = [vessel, *(each.cast(pa.float64()) for each in place)]
    points = np.asarray(times.cast(pa.int64()).to_numpy(zero_copy_only=False))
    keeps = np.logical_and.reduce([np.isfinite(as_numpy(each)) for each in columns[1:]])
    rows = as_arrow(np.flatnonzero(keeps))
    return EventKind(
        Relation("position", 3), ("vessel", "lon", "lat"), False,
        [column.take(rows) for column in columns], points[keeps],
        np.full(int(keeps.sum()), -1), True,
    )  # fmt: skip


def _by_relation(entry: tuple[object, RecordColumns]) -> Relation:
    return entry[1].form.relation


def _input_kind(
    relation: Relation, kind: RecordKind, part: RecordColumns, catalogue: Catalogue
) -> EventKind:
    if part.gone is not None:
        part = part.take(part.gone == INFINITE)
    columns = [_array(column) for column in part.columns]
    if kind is RecordKind.EVENT:
        entry = catalogue.events.get(relation)
        titles = _named(entry.declared_names, entry.argument_names) if entry else ()
    else:
        # Records of fluents have the value before the arguments; here it follows them.
        columns = [*columns[1:], columns[0]]
        fluent = catalogue.fluents.get(relation)
        titles = ()
        if fluent:
            titles = (*_named(fluent.declared_names[1:], fluent.argument_names), "value")
    is_uncertain = False
    if part.chances is not None and columns:
        is_uncertain = True
        columns, titles = [*columns, as_arrow(part.chances)], (*titles, "probability")
    return EventKind(
        relation, titles, False, columns, part.times[1], part.places, is_uncertain=is_uncertain
    )


def _named(declared: Sequence[str], by_rules: Sequence[str]) -> tuple[str, ...]:
    """The names that a declaration gives to arguments, and else those that rules give."""
    return tuple(one or other for one, other in zip(declared, by_rules, strict=True))


def _array(column: Column) -> pa.Array:
    """A column of records as numbers if all are such, else as texts."""
    if not isinstance(column, Coded):
        return as_arrow(column)
    values = list(column.values)
    kinds = set(map(type, values))
    if kinds and kinds <= {int, float} and all(abs(value) < 1 << 53 for value in values):  # type: ignore[arg-type]
        return as_arrow(np.array(values, np.float64)).take(as_arrow(column.codes))
    return as_texts(map(shown, values)).take(as_arrow(column.codes))


def is_numeric(column: pa.Array) -> bool:
    """Are the values of a column numbers?"""
    return not pa.types.is_string(column.type)


def _texts(column: pa.Array) -> pa.Array:
    if not is_numeric(column):
        return column
    if pa.types.is_integer(column.type):
        return column.cast(pa.string())
    distinct, codes = np.unique(as_numpy(column), return_inverse=True)
    texts = as_texts(map(shown, distinct.tolist()))
    return texts.take(as_arrow(codes.astype(np.int64)))
