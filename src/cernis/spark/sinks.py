"""Sinks: where the changes of each micro-batch go, once, also if a micro-batch is done again.

A micro-batch that was interrupted is done again under its number. So a sink that is to have every
change once goes by that number: it overwrites what the number has written, or leaves what is there.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO, runtime_checkable
from zlib import crc32

import pyarrow as pa

from cernis.answers.feed_lines import feed_lines
from cernis.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PASSED: Final = "spark:"


@runtime_checkable
class Sink(Protocol):
    """Takes the changes of each micro-batch, in the order of the micro-batches."""

    def write(self, batch: int, changes: pa.Table) -> None:
        """Take the changes of a micro-batch.

        The number of the last micro-batch may come once more, if the stream was interrupted.
        """


@dataclass
class ParquetSink:
    """A folder with a folder `batch=NUMBER` for each micro-batch that has changes.

    A batch is there as a whole or not at all, and once: any reader of Parquet can read the folder.
    """

    folder: Path

    def write(self, batch: int, changes: pa.Table) -> None:
        """Write the folder of a batch, in place of what is there."""
        from pyarrow import parquet

        target = self.folder / f"batch={batch}"
        beside = self.folder / f".batch={batch}.unfinished"
        for each in (beside, target):
            shutil.rmtree(each, ignore_errors=True)
        if not changes.num_rows:
            return
        beside.mkdir(parents=True)
        parquet.write_table(changes, beside / "changes.parquet", compression="zstd")
        beside.replace(target)


@dataclass
class DeltaSink:
    """A Delta table, written by `deltalake`.

    The log of the table has the number of the last micro-batch, under the name of the stream.
    """

    folder: str
    stream: str
    options: Mapping[str, str] = field(default_factory=dict)

    def write(self, batch: int, changes: pa.Table) -> None:
        """Append the changes, unless the log has the number of this micro-batch already."""
        try:
            from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
        except ImportError:
            raise DataError("a Delta table needs deltalake: pip install 'cernis[delta]'") from None
        options = dict(self.options)
        if DeltaTable.is_deltatable(self.folder, options):
            table = DeltaTable(self.folder, storage_options=options)
            done = table.transaction_version(self.stream)
            if done is not None and done >= batch:
                return
        once = CommitProperties(app_transactions=[Transaction(self.stream, batch)])
        write_deltalake(
            self.folder, changes, mode="append", commit_properties=once,
            storage_options=options or None,
        )  # fmt: skip


@dataclass
class MemorySink:
    """Keeps the tables of changes in this process, for tests and notebooks.

    After a restart it is empty.
    """

    batches: dict[int, pa.Table] = field(default_factory=dict)

    def write(self, batch: int, changes: pa.Table) -> None:
        """Keep the changes."""
        self.batches[batch] = changes

    @property
    def changes(self) -> pa.Table:
        """All changes so far; a DataError if there was no micro-batch yet."""
        if not self.batches:
            raise DataError("no micro-batch has been done yet")
        tables = [self.batches[number] for number in sorted(self.batches)]
        # Before the first change, it may not be known whether times are dates.
        return pa.concat_tables([table for table in tables if len(table)] or tables[-1:])


@dataclass
class ConsoleSink:
    """Prints lines of text such as `+ happy(chris)=true [14,22)`.

    The changes of a micro-batch that is done again are printed again.
    """

    stream: TextIO | None = None

    def write(self, batch: int, changes: pa.Table) -> None:
        """Print the changes."""
        out = self.stream or sys.stdout
        out.writelines(line + "\n" for line in feed_lines(changes))
        out.flush()


def fold(changes: pa.Table) -> pa.Table:
    """The answer that changes sum up to: what was inserted and not deleted.

    If there is a column `probability`, an interval has the probability of its last insertion.

    >>> rows = {"fluent": ["f", "f"], "args": [["a"], ["a"]], "value": ["true", "true"],
    ...     "start": [1, 1], "end": [None, None], "change": ["insert", "delete"]}
    >>> len(fold(pa.table(rows)))
    0
    """
    titles = ["fluent", "args", "value", "start", "end"]
    columns = [changes[title].to_pylist() for title in titles]
    has_chances = "probability" in changes.column_names
    chances = changes["probability"].to_pylist() if has_chances else [None] * len(changes)
    count: dict[tuple[Any, ...], int] = {}
    last_chances: dict[tuple[Any, ...], float | None] = {}
    for change, chance, fluent, args, *rest in zip(
        changes["change"].to_pylist(), chances, *columns, strict=True
    ):
        key = (fluent, tuple(args), *rest)
        count[key] = count.get(key, 0) + {"insert": 1, "delete": -1}.get(change, 0)
        if change == "insert":
            last_chances[key] = chance
    kept = [(*key, last_chances[key]) for key, number in count.items() if number > 0]
    times = [changes.schema.field(title).type for title in ("start", "end")]
    kinds = [pa.string(), pa.list_(pa.string()), pa.string(), *times, pa.float64()]
    titles.append("probability")
    values = list(zip(*kept, strict=True)) if kept else [()] * len(titles)
    answer = pa.table({
        title: pa.array(list(column), kind)
        for title, column, kind in zip(titles, values, kinds, strict=True)
    })  # fmt: skip
    return answer if has_chances else answer.drop_columns(["probability"])


@dataclass
class SparkSink:
    """Any format that Spark can append to, such as Kafka's.

    Whether a micro-batch that is done again is written twice depends on the format.
    """

    spark: SparkSession | None
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Any], Any] = lambda frame: frame
    """Turns the columns of changes into those that the format needs."""

    def write(self, batch: int, changes: pa.Table) -> None:
        """Append the changes."""
        if changes.num_rows and self.spark is not None:
            frame = self.prepare(self.spark.createDataFrame(changes))
            frame.write.format(self.format).options(**self.options).mode("append").save()


@dataclass
class CallSink:
    """Calls a function with the number of each micro-batch and its changes."""

    call: Callable[[int, pa.Table], object]

    def write(self, batch: int, changes: pa.Table) -> None:
        """Call the function."""
        self.call(batch, changes)


def sink_of(sink: object, stream: str, spark: SparkSession | None) -> Sink:
    """The sink that a user names or passes.

    It may be a sink, a function of batch number and table, or one of the names `memory`,
    `console`, `parquet:FOLDER`, `delta:FOLDER`, and `spark:FORMAT?key=value&key=value` for all
    formats that Spark writes. Anything else is a DataError.
    """
    if isinstance(sink, str):
        return _named(sink, stream, spark)
    if isinstance(sink, Path):
        return ParquetSink(sink)
    if isinstance(sink, Sink):
        return sink
    if callable(sink):
        return CallSink(sink)
    raise DataError("a sink is a name such as parquet:FOLDER, a function, or has a method write")


def _named(name: str, stream: str, spark: SparkSession | None) -> Sink:
    kind, _, rest = name.partition(":")
    if name == "memory":
        return MemorySink()
    if name == "console":
        return ConsoleSink()
    if kind == "parquet" and rest:
        return ParquetSink(Path(rest))
    if kind == "delta" and rest:
        return DeltaSink(rest, stream)
    if name.startswith(_PASSED) and rest:
        format_name, _, options = rest.partition("?")
        prepare = _for_kafka if format_name == "kafka" else _same
        return SparkSink(spark, format_name, _options(options), prepare)
    raise DataError(
        f"there is no sink {name}: say memory, console, parquet:FOLDER, delta:FOLDER, or "
        "spark:FORMAT?key=value&key=value"
    )


def _options(text: str) -> dict[str, str]:
    from urllib.parse import parse_qsl

    return dict(parse_qsl(text, keep_blank_values=True))


def _same(frame: Any) -> Any:
    return frame


def _for_kafka(frame: Any) -> Any:
    """Kafka's columns: the fluent and its arguments as key, the change as JSON."""
    return frame.selectExpr(
        "concat(fluent, '(', array_join(args, ','), ')') as key", "to_json(struct(*)) as value"
    )


def stream_name(checkpoint: Path) -> str:
    """A name for a stream that stays the same when it is started again from its checkpoint."""
    return f"cernis-{crc32(os.fsencode(checkpoint.absolute())):08x}"
