"""Tables as blobs, so that an exchange moves a few rows instead of one for each position.

A row of the exchange has the bucket it goes to, the name of a table, and a piece of that table as
an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.kernels.array_types import Integers
from cernis.records.record_columns import Coded
from cernis.spark.exchange.buckets import Spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


DDL = "bucket int, name string, blob binary"
SCHEMA = pa.schema([("bucket", pa.int32()), ("name", pa.string()), ("blob", pa.binary())])

MOST_ROWS = 1 << 17
"""Rows of one blob, so that it has some megabytes at most."""

MOST_BYTES = 1 << 25
"""Bytes of blobs that are handed over together."""

Piece = tuple[int, str, pa.Table]
"""A bucket, a name, and a table or a part of one."""


def rows_of(pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    """Pieces as rows. Large ones are cut; empty ones are left out."""
    waiting = _Rows()
    for bucket, name, table in pieces:
        for start in range(0, len(table), MOST_ROWS):
            waiting.add(bucket, name, table.slice(start, MOST_ROWS))
            if waiting.ends[-1] >= MOST_BYTES:
                yield waiting.batch()
                waiting = _Rows()
    if waiting.names:
        yield waiting.batch()


class _Rows:
    """Rows to be handed over: all blobs are written one after another, and none is copied."""

    def __init__(self) -> None:
        self.buckets: list[int] = []
        self.names: list[str] = []
        self.ends = [0]
        self.sink = pa.BufferOutputStream()

    def add(self, bucket: int, name: str, table: pa.Table) -> None:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(self.sink, table.schema, options=options) as writer:
            writer.write_table(table.combine_chunks())
        self.buckets.append(bucket)
        self.names.append(name)
        self.ends.append(self.sink.tell())

    def batch(self) -> pa.RecordBatch:
        ends = pa.py_buffer(np.array(self.ends, np.int32))
        blobs = [None, ends, self.sink.getvalue()]
        columns = [
            pa.array(self.buckets, pa.int32()),
            pa.array(self.names, pa.string()),
            pa.BinaryArray.from_buffers(pa.binary(), len(self.names), blobs),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def pieces_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    """Rows as pieces again."""
    for batch in batches:
        buckets, names, blobs = batch.columns
        for bucket, name, blob in zip(buckets.to_pylist(), names.to_pylist(), blobs, strict=True):
            yield bucket, name, _table(blob.as_buffer())


def unpacked(packed: DataFrame, name: str, columns: str) -> DataFrame:
    """The rows of all pieces with a name; columns are declared as Spark's DDL."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, _, table in pieces_of(batches):
            yield from table.to_batches()

    return packed.where(packed["name"] == name).mapInArrow(run, columns)


def split(table: pa.Table, buckets: Integers, name: str) -> Iterator[Piece]:
    """A table cut by the bucket of each of its rows, whose order is kept."""
    if not len(table):
        return
    order = np.argsort(buckets.astype(np.uint16) if buckets.max() < 1 << 16 else buckets,
                       kind="stable")  # fmt: skip
    bounds = np.append(0, np.cumsum(np.bincount(buckets)))
    ordered = table.take(pa.array(order))
    for bucket in np.flatnonzero(np.diff(bounds)).tolist():
        yield bucket, name, ordered.slice(bounds[bucket], bounds[bucket + 1] - bounds[bucket])


def buckets_of(column: pa.ChunkedArray, count: int) -> Integers:
    """The bucket of each vessel, the same in every process; 0 where there is none."""
    if pa.types.is_integer(column.type):
        numbers = pc.fill_null(column, 0).cast(pa.int64()).to_numpy()
        return Spread(count).of([numbers], len(numbers))
    coded = pc.fill_null(column.cast(pa.string()), "").combine_chunks().dictionary_encode()
    whole = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    codes = whole.indices.to_numpy().astype(np.int64)
    return Spread(count).of([Coded(whole.dictionary.to_pylist(), codes)], len(codes))


def _table(blob: pa.Buffer) -> pa.Table:
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_all()
