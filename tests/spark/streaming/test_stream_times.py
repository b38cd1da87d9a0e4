"""Timestamps on streams: changes have them, after a restart too; and the clock on the wall."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import cernis
from cernis.spark import files, fold, stream
from cernis.spark.sinks import ConsoleSink, MemorySink
from cernis.spark.streaming.replay import bounds, history
from cernis.spark.streaming.stream_input import time_as
from cernis.syntax.time_scale import TimeScale
from tests.spark.streaming.test_stream_query import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RULES = """
:- time(unit(ms), zone("Europe/Athens")).
initiatedAt(on(Bed)=true, T) :- happensAt(start(Bed), T).
terminatedAt(on(Bed)=true, T) :- happensAt(stop(Bed), T).
happensAt(soon(Bed), T) :- happensAt(start(Bed), T), not holdsAt(on(Bed)=true, T).
"""


def lines(random: Random, hour: int) -> list[str]:
    """Records of an hour on the clocks of Athens, in the order of time."""
    times = sorted(f"2026-03-29T{hour:02}:{random.randrange(60):02}:07.5" for _ in range(12))
    return [f"{random.choice(['start', 'stop'])}|{t}|{t}|{random.choice('abc')}" for t in times]


def test_changes_have_timestamps_before_and_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The hour from 3 to 4 is skipped that night."""
    random, seed = Random(8), 8
    hours = [lines(random, hour) for hour in (1, 2, 4, 5)]
    given, sink = Folder(tmp_path / "in"), MemorySink()
    for number, hour in enumerate(hours):
        given.put(hour)
        if number == len(hours) - 1:
            given.put(["2026-03-29T06:30:00"], ".clock")
        running = stream(
            RULES, files(spark, given.folder), checkpoint=tmp_path / "checkpoint", sink=sink,
            window="1d", step="30min", start="2026-03-29", partitions=2, until_done=True,
        )  # fmt: skip
        running.wait()
    result = cernis.load(RULES).run(
        [line for hour in hours for line in hour], window="1d", step="30min", start="2026-03-29",
        end="2026-03-29T06:00+03:00",
    )  # fmt: skip
    found = fold(sink.changes)
    assert found.schema.field("end").type == pa.timestamp("us", "UTC")
    intervals = found.filter(ds.field("value").is_valid()) if len(found) else found
    assert described(intervals) == described(result.intervals), f"seed {seed}"
    happened = {(row["args"][0], row["start"]) for row in found.to_pylist() if not row["value"]}
    expected = {(row["args"][0], row["occurrence"]) for row in result.happenings.to_pylist()}
    assert happened == expected, f"seed {seed}"


def described(table: pa.Table) -> list[Any]:
    wanted = table.select(["fluent", "args", "value", "start", "end"]).to_pylist()
    return sorted(map(str, wanted))


def test_text_of_changes_has_times_of_iso_8601() -> None:
    times = pa.array([0, 1_500_000], pa.timestamp("us", "UTC"))
    ends = pa.array([60_000_000, None], pa.timestamp("us", "UTC"))
    changes = pa.table({
        "change": ["insert", "delete"], "fluent": ["on", "on"], "args": [["a"], ["a"]],
        "value": ["true", "true"], "start": times, "end": ends, "query_time": times,
    })  # fmt: skip
    out = io.StringIO()
    ConsoleSink(out).write(0, changes)
    assert out.getvalue().splitlines() == [
        "+ on(a)=true [1970-01-01T00:00:00Z,1970-01-01T00:01:00Z) at 1970-01-01T00:00:00Z",
        "- on(a)=true [1970-01-01T00:00:01.5Z,inf) at 1970-01-01T00:00:01.5Z",
    ]


def test_a_replay_cuts_records_by_their_dates(tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_text("start|1970-01-01T02:00:01.5|7|a\nwhat\nstop|1970-01-01T02:00|7|a\n")
    assert bounds(history([file], TimeScale("ms", "+02:00"))) == (0, 1500)


def test_the_clock_on_the_wall_is_a_time_of_each_type(spark: SparkSession) -> None:
    scale = TimeScale("ms", "Europe/Athens")
    kinds = ("bigint", "string", "timestamp", "timestamp_ntz")
    columns = [f"cast({time_as(kind, '1500L', scale)} as string) as {kind}" for kind in kinds]
    (row,) = spark.range(1).selectExpr(*columns).collect()
    assert row.asDict() == {
        "bigint": "1500", "string": "1500", "timestamp": "1970-01-01 00:00:01.5",
        "timestamp_ntz": "1970-01-01 02:00:01.5",
    }  # fmt: skip
