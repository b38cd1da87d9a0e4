"""Events in DataFrames: how their rows become records, batch by batch."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from cernis.errors import DataError, InputWarning
from cernis.records.column_titles import TIMES, is_in_order, relation_title, table_form
from cernis.records.gathering import Gathering
from cernis.records.mapping import Mappings
from cernis.records.record_columns import Records
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import add_mixed_rows, add_rows_of, see_columns
from cernis.records.time_columns import time_points
from cernis.spark.exchange.record_places import sources_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS: Final = 1 << 19
"""Rows that are turned into records together."""

_PARTITIONS: Final = 18
"""Partitions of one DataFrame are numbered with this many bits."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One DataFrame of a run: its number, and the relation of all its rows, if there is one."""

    number: int
    relation: str | None
    listed: bool = False
    """Are its columns in the order of the arguments, whatever they are called?"""
    mappings: Mappings = field(default_factory=Mappings)
    """What its columns are called."""

    def split(self, partition: int) -> int:
        """The number of one of its partitions among the splits of a run."""
        return (self.number << _PARTITIONS) + partition

    @property
    def source(self) -> str:
        """Its name in messages."""
        return self.relation or ""


def is_listed(frame: DataFrame) -> bool:
    """Do the metadata of a DataFrame say that its columns are in the order of the arguments?"""
    return any(is_in_order(field.metadata) for field in frame.schema)


_WRONG_TYPE: Final = re.compile(r"column (.+?)(?: of .+?)? has the type ([^;]+)")
_TIME_WANTED: Final = "a time is a whole number or a date"
_LIBRARIES: Final = {"pandas": "pandas", "polars": "polars", "pyarrow": "Arrow"}


def refuse_other_tables(events: Mapping[Any, Any], else_: str = "") -> None:
    """Raise a DataError if something is no DataFrame of Spark; of a table, it says how to make one.

    `else_` is what to say of what is no table at all.
    """
    from pyspark.sql import DataFrame

    for name, data in events.items():
        if isinstance(data, DataFrame):
            continue
        library = _LIBRARIES.get(type(data).__module__.partition(".")[0])
        if library is None:
            kind = type(data).__name__
            raise DataError(else_ or f"{name} must be a Spark DataFrame, not a {kind}")
        made = f"{name}.to_pandas()" if library == "polars" else name
        raise DataError(
            f"{name} must be a Spark DataFrame, and is a table of {library}: give "
            f"spark.createDataFrame({made}), or have program.run recognise in this process"
        )


def wanted_columns(
    frame: Frame, columns: list[str], shapes: Shapes, ids: str | None = None
) -> list[str]:
    """The columns of a DataFrame that are needed.

    A missing column is a DataError, which lists the columns there are.
    """
    shapes = shapes.named(frame.mappings.names)
    if frame.relation is None:
        if relation_title(columns, shapes) is None:
            raise DataError(
                "the DataFrame has no column name, which tells the relation of each row; there "
                f"are {', '.join(columns)}. Give one DataFrame a relation: {{'go_to': df}}"
            )
        return columns
    if not shapes.knows(frame.relation):
        # Its rows are ignored, but counted.
        return columns[:1]
    name = frame.relation
    mapped = frame.mappings.of_table(name)
    if mapped:
        see_columns(name, columns, mapped)
        titles = [(*each.titles.used, *(title for title, _ in each.where)) for each in mapped]
        return list(dict.fromkeys(title for each in titles for title in each))
    table = table_form(name, columns, shapes, name, ids, listed=frame.listed)
    if table.warning:
        warnings.warn(table.warning, InputWarning, stacklevel=2)
    return table.titles.used


def check_frame(
    frame: Frame, data: DataFrame, shapes: Shapes, ids: str | None = None, uncertain: bool = False
) -> None:
    """Raise a DataError if columns that are needed are missing, or of a type that does not do.

    What reads records says what is wrong, given a table of these types without rows.
    """
    columns = wanted_columns(frame, data.columns, shapes, ids)
    table = _empty(data, columns)
    gathering = Gathering(shapes, uncertain=uncertain, ids=ids)
    try:
        if frame.relation is None:
            names = frame.mappings.names
            for title in (names.column(role) or role for role in TIMES):
                if title in columns:
                    time_points(table.column(title), title, scale=shapes.time_scale)
            add_mixed_rows(table, gathering, frame.mappings, frame.source)
        elif shapes.knows(frame.relation):
            add_rows_of(frame.relation, table, gathering, frame.mappings, listed=frame.listed)
    except DataError as error:
        raise DataError(_with_cast(str(error), data)) from None


def _with_cast(message: str, data: DataFrame) -> str:
    """What is wrong with a column, with all types there are, and the line to add."""
    wrong = _WRONG_TYPE.search(message)
    if wrong is None:
        return message
    title, kinds = wrong[1], dict(data.dtypes)
    there = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    kind = "timestamp" if message.endswith(_TIME_WANTED) else "string"
    message = message.replace(wrong[2], kinds.get(title, wrong[2]))
    return (
        f"{message}. The columns are {there}; add "
        f".withColumn({title!r}, expr({f'cast(`{title}` as {kind})'!r}))"
    )


_ARROW: Final = {
    "string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16(),
    "tinyint": pa.int8(), "double": pa.float64(), "float": pa.float32(), "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(), "decimal": pa.decimal128(38, 0), "binary": pa.binary(), "void": pa.null(),
    "varchar": pa.string(), "char": pa.string(), "array": pa.list_(pa.string()),
}  # fmt: skip
"""The types of Spark's as Arrow has them; of others no column may be."""


def _empty(data: DataFrame, columns: list[str]) -> pa.Table:
    """No rows of some columns, of the types that workers get."""
    kinds = dict(data.dtypes)
    other = pa.struct([("other", pa.string())])
    plain = [(title, re.split(r"[(<]", kinds[title])[0]) for title in columns]
    return pa.schema([(title, _ARROW.get(kind, other)) for title, kind in plain]).empty_table()


def records_of(
    rows: Iterable[pa.RecordBatch], frame: Frame, partition: int, shapes: Shapes,
    uncertain: bool = False,
) -> Iterator[Records]:  # fmt: skip
    """The records of a partition, some hundred thousand rows at a time, not resolved.

    Uncertain ones are taken in only if that is said.
    """
    before = 0
    for table in _tables(rows):
        places = sources_of(frame.split(partition), frame.source, 0)
        places._next += before
        gathering = Gathering(shapes, places, uncertain=uncertain)
        if frame.relation is None:
            add_mixed_rows(table, gathering, frame.mappings, frame.source)
        else:
            add_rows_of(frame.relation, table, gathering, frame.mappings, listed=frame.listed)
        before += len(table)
        yield gathering.unresolved()


def _tables(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in rows:
        waiting.append(batch)
        count += batch.num_rows
        if count >= ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if count:
        yield pa.Table.from_batches(waiting)
