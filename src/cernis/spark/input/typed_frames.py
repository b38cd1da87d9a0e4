"""Typed DataFrames of one fluent or event: the types of their columns, before there are rows.

Spark needs the types of columns before the first row. They follow from the types of the input's
columns: arguments that share a variable are of one class, and a class is of whole numbers or floats
if all columns of the input in it are. A column whose type is not known is text.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from cernis.answers.answer_tables import argument_titles, event_frame, fluent_frame
from cernis.answers.time_output import TIME_TITLES, WHOLE_NUMBERS, TimeOutput
from cernis.check.catalogue import pattern_head
from cernis.check.model import Relation
from cernis.errors import CernisError, DataError
from cernis.evaluate.answer import Answer
from cernis.plan.builder import Plan
from cernis.records.column_names import NO_NAMES, ColumnNames
from cernis.records.column_titles import TableForm, table_form
from cernis.records.record_columns import RecordKind
from cernis.records.record_shapes import Shapes

_ARROW: Final = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}


@dataclass(frozen=True, slots=True)
class Titled:
    """The columns of a typed DataFrame and their types."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """The columns as they are declared to Spark."""
        return ", ".join(f"`{n}` {k}" for n, k in zip(self.names, self.kinds, strict=True))


class Columns:
    """Infers the types of columns from those of the input."""

    def __init__(
        self, plan: Plan, schemas: Mapping[str, Mapping[str, str]], names: ColumnNames = NO_NAMES
    ) -> None:
        self._plan = plan
        self._classes: dict[Hashable, set[str]] = {}
        shapes = Shapes(plan.checked).named(names)
        for name, schema in schemas.items():
            self._learn(name, schema, shapes)

    def _learn(self, name: str, schema: Mapping[str, str], shapes: Shapes) -> None:
        table = _table_form(name, list(schema), shapes)
        if table is None:
            return
        form = table.form
        kind = "event" if form.kind is RecordKind.EVENT else "fluent"
        slots: list[int | str] = [] if form.kind is RecordKind.EVENT else ["value"]
        slots += range(form.relation.arity)
        declared = shapes.declared_text(form)
        for slot, title, is_text in zip(slots, table.columns, declared, strict=True):
            self._say(kind, form.relation, slot, "string" if is_text else schema[title])

    def _say(self, kind: str, relation: Relation, slot: int | str, column_type: str) -> None:
        class_ = self._plan.checked.types.find((kind, relation, slot))
        self._classes.setdefault(class_, set()).add(column_type)

    def _kind(self, kind: str, relation: Relation, slot: int | str) -> str:
        known = self._classes.get(self._plan.checked.types.find((kind, relation, slot)), {"string"})
        if known == {"bigint"}:
            return "bigint"
        return "double" if known <= {"bigint", "double"} else "string"

    def of_fluent(self, relation: Relation) -> Titled:
        """The columns of a fluent."""
        entry = self._plan.checked.catalogue.fluents[relation]
        names = (*argument_titles(entry.argument_names), "value", "start", "end", "open")
        slots: list[int | str] = [*range(relation.arity), "value"]
        kinds = [self._kind("fluent", relation, slot) for slot in slots]
        return Titled(names, (*kinds, "bigint", "bigint", "boolean"))

    def of_event(self, relation: Relation) -> Titled:
        """The columns of a derived event."""
        entry = self._plan.checked.catalogue.events[relation]
        times = ("start", "occurrence") if self._is_pattern(relation) else ("occurrence",)
        names = (*argument_titles(entry.argument_names), *times)
        kinds = [self._kind("event", relation, slot) for slot in range(relation.arity)]
        return Titled(names, (*kinds, *("bigint" for _ in times)))

    def _is_pattern(self, relation: Relation) -> bool:
        patterns = self._plan.checked.definitions.patterns
        return any(pattern_head(rule).relation == relation for rule in patterns)


def _table_form(name: str, titles: Sequence[str], shapes: Shapes) -> TableForm | None:
    """The roles of the columns of a relation; None if there is something wrong with them.

    In that case reading the relation raises the error. Whether its columns are in the order of the
    arguments is not known here, so both ways are tried.
    """
    for listed in (False, True):
        try:
            return table_form(name, titles, shapes, name, listed=listed)
        except DataError:
            continue
    return None


def typed_fluent(answer: Answer, relation: Relation, columns: Titled) -> pa.Table:
    """The intervals of a fluent with these columns."""
    table = answer.fluents.get(relation)
    if table is None:
        return _nothing(columns)
    frame = fluent_frame(relation, table, _Names(relation, columns.names[:-4]))  # type: ignore[arg-type]
    return _cast(frame, columns)


def typed_event(answer: Answer, relation: Relation, columns: Titled) -> pa.Table:
    """The happenings of an event with these columns."""
    table = answer.events.get(relation)
    if table is None:
        return _nothing(columns)
    names = columns.names[: relation.arity]
    frame = event_frame(relation, table, _Names(relation, names))  # type: ignore[arg-type]
    return _cast(frame, columns)


def frame_times(times: TimeOutput) -> TimeOutput:
    """How times come out in DataFrames: Spark has no timestamps finer than a microsecond."""
    return times if times.scale.unit != "ns" else WHOLE_NUMBERS


def dated_ddl(ddl: str, times: TimeOutput) -> str:
    """The columns of a DataFrame with its times as they come out.

    >>> dated_ddl("`bed` string, `start` bigint", TimeOutput(dated=True))
    '`bed` string, `start` timestamp'
    """
    if not times.dated:
        return ddl
    return re.sub(rf"(`?\b(?:{'|'.join(TIME_TITLES)})\b`?) bigint", r"\1 timestamp", ddl)


class _Names:
    """The part of a catalogue that gives columns their titles, so that workers need not get all."""

    def __init__(self, relation: Relation, names: Sequence[str]) -> None:
        entries = {relation: _Entry(tuple(names))}
        self.fluents = self.events = entries


@dataclass(frozen=True, slots=True)
class _Entry:
    argument_names: tuple[str, ...]


def _schema(columns: Titled) -> pa.Schema:
    kinds = [pa.bool_() if kind == "boolean" else _ARROW[kind] for kind in columns.kinds]
    return pa.schema(list(zip(columns.names, kinds, strict=True)))


def _nothing(columns: Titled) -> pa.Table:
    return _schema(columns).empty_table()


def _cast(frame: pa.Table, columns: Titled) -> pa.Table:
    wanted = _schema(columns)
    try:
        return frame.cast(wanted)
    except pa.ArrowInvalid as error:
        raise CernisError(
            f"a column holds other values than the types of the input's columns allow: {error}; "
            "`intervals` and `events` have all values as text"
        ) from error


def kind_of(name: str) -> str:
    """The type of a column of the input, by the name that Arrow or Spark has for it.

    >>> [kind_of(name) for name in ("int64", "long", "double", "timestamp[us]", "string")]
    ['bigint', 'bigint', 'double', 'bigint', 'string']
    """
    plain = name.partition("[")[0].partition("(")[0]
    if plain in _WHOLE:
        return "bigint"
    return "double" if plain in ("double", "float", "halffloat", "decimal") else "string"


_WHOLE: Final = frozenset(
    {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32)}
    | {"int64", "long", "integer", "short", "byte", "bigint", "smallint", "tinyint", "int"}
    | {"timestamp", "timestamp_ntz", "date", "date32", "date64"}
)
