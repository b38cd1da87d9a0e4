"""Events in DataFrames: how their rows become records, batch by batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cernis.errors import DataError, InputWarning
from cernis.records.column_titles import is_in_order, relation_title, table_form
from cernis.records.gathering import Gathering
from cernis.records.record_columns import Records
from cernis.records.record_shapes import Shapes
from cernis.records.tabular import add_mixed_table, add_table
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


def wanted_columns(
    frame: Frame, columns: list[str], shapes: Shapes, ids: str | None = None
) -> list[str]:
    """The columns of a DataFrame that are needed.

    A missing column is a DataError, which lists the columns there are.
    """
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
    table = table_form(name, columns, shapes, name, ids, listed=frame.listed)
    if table.warning:
        warnings.warn(table.warning, InputWarning, stacklevel=2)
    return table.titles.used


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
            add_mixed_table(table, gathering, frame.source)
        else:
            add_table(frame.relation, table, gathering, frame.source, listed=frame.listed)
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
