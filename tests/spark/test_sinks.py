"""Sinks: each change once, also if a micro-batch is done again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import dataset

from cernis.errors import DataError
from cernis.spark.sinks import (
    CallSink,
    ConsoleSink,
    DeltaSink,
    MemorySink,
    ParquetSink,
    SparkSink,
    sink_of,
    stream_name,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def changes(*starts: int) -> pa.Table:
    return pa.table({
        "change": ["insert"] * len(starts), "fluent": ["rich"] * len(starts),
        "args": pa.array([["kim"]] * len(starts), pa.list_(pa.string())),
        "value": ["true"] * len(starts), "start": pa.array(starts, pa.int64()),
        "end": pa.array([None] * len(starts), pa.int64()),
        "query_time": pa.array([20] * len(starts), pa.int64()),
        "rule_version": ["1"] * len(starts),
    })  # fmt: skip


def starts(folder: Path) -> list[int]:
    return sorted(dataset.dataset(folder, partitioning="hive").to_table()["start"].to_pylist())


def test_parquet_by_batch(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "feed")
    sink.write(0, changes(1, 2))
    sink.write(1, changes(3))
    sink.write(1, changes(3))
    assert starts(tmp_path / "feed") == [1, 2, 3]
    sink.write(1, changes())
    assert starts(tmp_path / "feed") == [1, 2]


def test_what_an_interrupted_write_left_is_no_part_of_it(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "feed")
    (tmp_path / "feed" / ".batch=0.unfinished").mkdir(parents=True)
    (tmp_path / "feed" / ".batch=0.unfinished" / "changes.parquet").write_bytes(b"half")
    sink.write(0, changes(1))
    assert starts(tmp_path / "feed") == [1]


def test_delta_by_batch(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    folder = str(tmp_path / "feed")
    sink = DeltaSink(folder, "s")
    sink.write(0, changes(1, 2))
    sink.write(1, changes(3))
    sink.write(1, changes(3))
    DeltaSink(folder, "another stream").write(0, changes(4))
    found = pa.table(DeltaTable(folder).to_pyarrow_table())
    assert sorted(found["start"].to_pylist()) == [1, 2, 3, 4]


def test_console_and_memory() -> None:
    out = io.StringIO()
    ConsoleSink(out).write(0, changes(14))
    assert out.getvalue() == "+ rich(kim)=true [14,inf) at 20\n"
    memory = MemorySink()
    with pytest.raises(DataError, match="no micro-batch"):
        _ = memory.changes
    memory.write(0, changes(1))
    memory.write(0, changes(1))
    assert memory.changes["start"].to_pylist() == [1]


def test_what_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_of(f"spark:json?path={tmp_path / 'json'}", "s", spark)
    assert isinstance(sink, SparkSink)
    sink.write(0, changes(1))
    sink.write(1, changes(2))
    rows = spark.read.json(str(tmp_path / "json")).collect()
    assert sorted(row.start for row in rows) == [1, 2]


def test_names_of_sinks(spark: SparkSession, tmp_path: Path) -> None:
    assert isinstance(sink_of("memory", "s", spark), MemorySink)
    assert isinstance(sink_of(lambda batch, table: None, "s", spark), CallSink)
    assert isinstance(sink_of(tmp_path, "s", spark), ParquetSink)
    assert isinstance(sink_of("delta:x", "s", spark), DeltaSink)
    for wrong in ("paquet:x", "parquet:", "spark:"):
        with pytest.raises(DataError, match="there is no sink"):
            sink_of(wrong, "s", spark)
    with pytest.raises(DataError, match="a sink is"):
        sink_of(3, "s", spark)
    assert stream_name(tmp_path) == stream_name(tmp_path / ".")
