"""The input of a stream: the kinds of its rows, and how they become records.

Rows are of one of four kinds:

- records, with a column `name`, as tables have them;
- text, in a column `value`: lines of text records, as from Kafka, MQTT or text files;
- files, in a column `value`, as a feeder lists them: workers read them, whatever their format;
- records of several DataFrames, each with its relation: one column of structures for each.

A row with the name `$clock` is no record: it says that all records that arrived up to its time have
come. So does a file that ends in `.clock`, with a time in it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from errno import EACCES, EISDIR, ENOENT, ENOTDIR, EPERM
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.records.column_titles import CLOCK_TIMES, NAMES, relation_title
from cernis.records.gathering import CLOCK, Gathering
from cernis.records.mapping import Mappings
from cernis.records.record_columns import Records, SourceLines
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import add_mixed_rows, add_rows_of, read_file
from cernis.records.text_records import read_stream
from cernis.records.times import SECONDS, Unusable
from cernis.spark.exchange.record_places import first_place
from cernis.spark.input.event_frames import (
    Frame,
    check_frame,
    refuse_other_tables,
    wanted_columns,
)
from cernis.spark.streaming.folder import Entry, path_of
from cernis.syntax.time_scale import UNITS, TimeScale

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLOCK_ENDING: Final = ".clock"
"""The ending of files that hold nothing but a time."""

NO_MAPPINGS: Final = Mappings()

_LINE: Final = f"{CLOCK}|"
_TIME: Final = "clock"


class RowKind(StrEnum):
    """The kind of the rows of a stream."""

    RECORDS = "records"
    TEXT = "text"
    FILES = "files"
    FRAMES = "frames"


@dataclass(frozen=True)
class Input:
    """The kind of the rows of a stream, and the settings for reading them."""

    kind: RowKind
    relations: tuple[str, ...] = ()
    mappings: Mappings = NO_MAPPINGS
    ids: str | None = None
    """The title of the column of ids, if records have such."""
    uncertain: bool = False
    """May records have probabilities?"""


def input_of(
    events: Any, shapes: Shapes, ids: str | None = None, mappings: Mappings = NO_MAPPINGS
) -> tuple[Input, DataFrame]:
    """The input that events are, and its rows as one DataFrame; else a DataError."""
    from pyspark.sql import DataFrame

    if isinstance(events, Mapping):
        return _frames(events, shapes, ids, mappings)
    if not isinstance(events, DataFrame):
        wanted = "events must be a streaming DataFrame, or a mapping from names to such"
        refuse_other_tables({"events": events}, wanted)
    titles = events.columns
    if relation_title(titles, shapes.named(mappings.names)) is not None:
        check_frame(Frame(0, None, mappings=mappings), events, shapes, ids, uncertain=True)
        return Input(RowKind.RECORDS, mappings=mappings, ids=ids), events
    if "value" in titles:
        return Input(RowKind.TEXT, ids=ids), events.selectExpr("cast(value as string) as value")
    raise DataError(
        "the rows of a stream must have a column name (records) or value (text records), or be "
        f"`files(spark, folder)`; there are {', '.join(titles)}. Give a DataFrame a relation: "
        "{'go_to': df}"
    )


def _frames(
    events: Mapping[Any, Any], shapes: Shapes, ids: str | None, mappings: Mappings
) -> tuple[Input, DataFrame]:
    """Several DataFrames as one: a row of one is null in the columns of the others."""
    from pyspark.sql.functions import struct

    if not events:
        raise DataError("events must be a streaming DataFrame, or name some")
    refuse_other_tables(events)
    rows: DataFrame | None = None
    for number, (name, data) in enumerate(events.items()):
        frame = Frame(number, str(name), mappings=mappings)
        check_frame(frame, data, shapes, ids, uncertain=True)
        titles = wanted_columns(frame, data.columns, shapes, ids)
        packed = data.select(struct(*(f"`{title}`" for title in titles)).alias(f"of{number}"))
        rows = packed if rows is None else rows.unionByName(packed, True)
    assert rows is not None
    return Input(RowKind.FRAMES, tuple(map(str, events)), mappings, ids), rows


_WALL_CLOCK: Final = {
    "s": "unix_seconds(timestamp)", "ms": "unix_millis(timestamp)",
    "us": "unix_micros(timestamp)", "ns": "unix_micros(timestamp) * 1000",
}  # fmt: skip
"""The time on the wall, in each unit."""


def with_heartbeat(
    source: Input, rows: DataFrame, delay: int, scale: TimeScale = SECONDS
) -> DataFrame:
    """The rows, and each second a row with a time: the current time minus a delay in time-points.

    The times of records must be dates, or count from 1970.
    """
    ticks = rows.sparkSession.readStream.format("rate").option("numPartitions", 1).load()
    time = f"({_WALL_CLOCK[scale.unit]} - {delay})"
    if source.kind is RowKind.FRAMES:
        heartbeats = ticks.selectExpr(f"{time} as {_TIME}")
    elif source.kind is RowKind.RECORDS:
        kinds = dict(rows.dtypes)
        names = source.mappings.names
        name, title = (
            next(known for role in roles for known in (names.column(role), role) if known in kinds)
            for roles in (NAMES, CLOCK_TIMES)
        )
        heartbeats = ticks.selectExpr(
            f"'{CLOCK}' as `{name}`", f"{time_as(kinds[title], time, scale)} as `{title}`"
        )
    else:
        only = rows.columns[0]
        heartbeats = ticks.selectExpr(f"concat('{_LINE}', {time}) as `{only}`")
    return rows.unionByName(heartbeats, True)


def time_as(kind: str, time: str, scale: TimeScale) -> str:
    """A time-point, as an expression of Spark's, as a time of some type."""
    if not kind.startswith(("timestamp", "date")):
        return f"cast({time} as {kind})"
    microseconds = UNITS["us"]
    ratio, divisor = max(microseconds // scale.per_second, 1), scale.per_second // microseconds
    whole = f"{time} div {divisor}" if divisor > 1 else f"{time} * {ratio}"
    instant = f"timestamp_micros({whole})"
    if kind == "timestamp":
        return instant
    # A time without a zone is one in the scale's.
    naive = f"cast({instant} as timestamp_ntz)"
    shown = f"convert_timezone(current_timezone(), '{scale.zone}', {naive})"
    return f"cast({shown} as {kind})"


# -- reading -----------------------------------------------------------------------------------


def read(rows: Iterable[pa.RecordBatch], source: Input, part: int, shapes: Shapes) -> Records:
    """The records in the rows of one partition of a micro-batch; they are not resolved."""
    batches = list(rows)
    sources = SourceLines(_next=first_place(part))
    gathering = Gathering(shapes, sources, uncertain=source.uncertain, ids=source.ids, live=True)
    if not batches:
        return gathering.unresolved()
    table = pa.Table.from_batches(batches)
    if source.kind is RowKind.TEXT:
        _add_text(table["value"], gathering)
    elif source.kind is RowKind.FILES:
        _add_files(table["value"].to_pylist(), source, gathering)
    elif source.kind is RowKind.RECORDS:
        add_mixed_rows(table, gathering, source.mappings)
    else:
        _add_frames(table, source, gathering)
    return gathering.unresolved()


def _add_frames(table: pa.Table, source: Input, gathering: Gathering) -> None:
    if _TIME in table.column_names:
        for time in table[_TIME].drop_null().to_pylist():
            _tell_clock(str(time), gathering)
        table = table.drop_columns([_TIME])
    for name, column in zip(source.relations, table.columns, strict=True):
        add_rows_of(name, _flat(column), gathering, source.mappings)


def _add_files(lines: list[str], source: Input, gathering: Gathering) -> None:
    """Read files by their entries; those that cannot be read are skipped and listed."""
    for line in filter(str.strip, lines):
        if line.startswith(_LINE):
            _tell_clock(line.removeprefix(_LINE), gathering)
            continue
        path, skipped, _ = Entry.of(line)
        file = Path(path_of(path))
        try:
            if skipped is None:
                _add_file(file, source, gathering)
        except DataError as error:
            if _may_pass(error):
                raise
            skipped = str(error)
        if skipped is not None:
            gathering.skip(str(file), skipped)


def _add_file(file: Path, source: Input, gathering: Gathering) -> None:
    if file.suffix == CLOCK_ENDING:
        try:
            text = file.read_text("utf-8", "replace")
        except OSError as error:
            raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
        _tell_clock(text, gathering, str(file))
    else:
        read_file(file, gathering, source.mappings)


def _may_pass(error: DataError) -> bool:
    """Is it an error of the system that may be gone when the file is read again?"""
    cause = error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    return number not in (None, ENOENT, EACCES, EPERM, EISDIR, ENOTDIR)


def _tell_clock(text: str, gathering: Gathering, source: str = "") -> None:
    """Add a time up to which all records have come."""
    place = gathering.sources.begin(source)
    gathering.sources.grow(1)
    try:
        time = gathering.time_point(text)
    except Unusable:
        gathering.tell_clock_once(None, place, f"{_LINE}{text.strip()}")
    else:
        gathering.tell_clock_once(time, place, f"{_LINE}{time}")


def _add_text(values: pa.ChunkedArray, gathering: Gathering) -> None:
    """Read text records, one for each line of each value."""
    nothing, end = (pa.scalar(text, pa.large_string()) for text in ("", "\n"))
    long = values.drop_null().cast(pa.large_string())
    whole = pc.binary_join_element_wise(long, nothing, end)
    for chunk in whole.chunks:
        _, offsets, data = chunk.buffers()
        if data is not None and len(chunk):
            places = memoryview(offsets).cast("q")
            text = data[places[chunk.offset] : places[chunk.offset + len(chunk)]]
            read_stream(io.BytesIO(text), "", gathering)


def _flat(column: pa.ChunkedArray) -> pa.Table:
    """The rows of a column of structures, without the null ones."""
    parts = [
        pa.RecordBatch.from_struct_array(chunk) for chunk in column.drop_null().chunks if len(chunk)
    ]
    schema = pa.schema(list(column.type))
    return pa.Table.from_batches(parts, schema)
