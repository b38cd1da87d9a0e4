"""Timestamps on Spark come in and out as they do in process: kinds, units, zones, files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import reduce
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError
from cernis.records.mapping import Mappings
from cernis.records.record_shapes import Shapes
from cernis.spark import Recognised, recognise, recognise_uncertain
from cernis.spark.input.dated_input import has_dates
from cernis.spark.input.splits import splits_of
from cernis.spark.worker_errors import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RULES = """
initiatedAt(on(Bed)=true, T) :- happensAt(start(Bed), T).
terminatedAt(on(Bed)=true, T) :- happensAt(stop(Bed), T).
happensAt(soon(Bed), T) :- happensAt(start(Bed), T), not holdsAt(on(Bed)=true, T).
"""
HOUR = 3_600_000
SPRING = 1_774_717_200_000
"""2026-03-28T17:00Z, the evening before clocks go forward in Athens, in milliseconds."""


def rows(random: Random, name: str) -> list[tuple[str, int]]:
    return [(f"bed {random.randrange(4)}", SPRING + random.randrange(24 * HOUR)) for _ in name * 9]


@pytest.fixture
def athens(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Athens")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def frames(spark: SparkSession, seed: int, how: str) -> dict[str, DataFrame]:
    """Random records, with times of some type."""
    random, made = Random(seed), {}
    for name in ("start", "stop"):
        data = spark.createDataFrame(rows(random, name), "Bed string, t bigint")
        made[name] = data.selectExpr("Bed", f"{how} as occurrence")
    return made


def tables(seed: int, kind: str = "timestamp") -> dict[str, pa.Table]:
    """The same random records, as Arrow has them; clocks show the time in Athens."""
    random, made = Random(seed), {}
    for name in ("start", "stop"):
        beds, times = zip(*rows(random, name), strict=True)
        instants = pa.array(times).cast(pa.timestamp("ms", "Europe/Athens"))
        clocks = pc.local_timestamp(instants)
        kinds = {
            "timestamp": instants, "clock": clocks, "date": clocks.cast(pa.date32()),
            "text": pc.strftime(clocks, "%Y-%m-%dT%H:%M:%S"), "number": pa.array(times),
        }  # fmt: skip
        made[name] = pa.table({"Bed": beds, "occurrence": kinds[kind]})
    return made


def in_order(table: pa.Table) -> list[Any]:
    return sorted(table.to_pylist(), key=str)


KINDS = {
    "timestamp": ("timestamp_millis(t)", "ms"),
    "clock": ("cast(timestamp_millis(t) as timestamp_ntz)", "us"),
    "text": ("date_format(timestamp_millis(t), \"yyyy-MM-dd'T'HH:mm:ss.SSS\")", "ms"),
    "date": ("cast(timestamp_millis(t) as date)", "s"),
}


def test_times_of_each_type_give_the_answer_of_the_process(athens: SparkSession) -> None:
    """Times without a zone are in that of the session, as in process they are in `timezone`."""
    from pyspark.sql.functions import lit

    seed, settings = 7, {"window": "4h", "step": "90min", "start": "2026-03-28T18:00"}
    found, expected = [], set()
    for kind, (how, unit) in KINDS.items():
        here = cernis.load(RULES, time_unit=unit, timezone="Europe/Athens")
        intervals = here.run(tables(seed, kind), **settings).intervals
        expected |= {(kind, str(row)) for row in intervals.to_pylist()}
        given = frames(athens, seed, how)
        result = recognise(cernis.load(RULES, time_unit=unit), given, partitions=2, **settings)
        found.append(result.intervals.withColumn("kind", lit(kind)))
    rows = reduce(lambda one, other: one.unionAll(other), found).toArrow()
    assert {(row.pop("kind"), str(row)) for row in rows.to_pylist()} == expected, f"seed {seed}"


def test_all_that_a_result_gives_has_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    given = frames(spark, 3, "timestamp_millis(t)")
    program = cernis.load(RULES, time_unit="ms")
    expected = program.run(tables(3))
    result = recognise(program, given, partitions=2).persist()
    for name, there in (("on", expected.fluent("on")), ("soon", expected.event("soon"))):
        frame = result.fluent(name) if name == "on" else result.event(name)
        assert in_order(frame.toArrow()) == in_order(there)
    assert dict(result.fluent("on").dtypes)["end"] == "timestamp"
    assert any(row["end"] is None for row in result.intervals.collect())
    result.write(tmp_path / "out")
    written = pq.read_table(tmp_path / "out/intervals/fluent=on")
    assert written.schema.field("start").type == pa.timestamp("us", "UTC")
    assert sorted(written["start"].to_pylist()) == sorted(expected.intervals["start"].to_pylist())
    assert result.unpersist().collect().text() == expected.text()
    assert dict(recognise(program, given, epoch=True).intervals.dtypes)["start"] == "bigint"


def test_start_and_end_take_times_of_all_kinds(spark: SparkSession) -> None:
    given = frames(spark, 4, "timestamp_millis(t)")
    program = cernis.load(RULES, time_unit="ms")
    starts = ["2026-03-28T20:00:00.5Z", datetime(2026, 3, 28, 20, 0, 0, 500_000, UTC)]
    runs = [
        recognise(program, given, start=s, end=date(2026, 3, 29))._computation.job.settings
        for s in starts
    ]
    assert runs[0] == runs[1]
    assert runs[0].start == SPRING + 3 * HOUR + 500


def test_uncertain_intervals_have_timestamps(spark: SparkSession) -> None:
    given, here = frames(spark, 5, "timestamp_millis(t)"), tables(5)
    for name in ("start", "stop"):
        given[name] = given[name].selectExpr("*", "0.8d as probability")
        here[name] = here[name].append_column("probability", [[0.8] * len(here[name])])
    program = cernis.load(RULES, time_unit="s", round_times=True)
    settings = {"window": "3h"}
    expected = program.run_uncertain(here, **settings)
    found = recognise_uncertain(program, given, **settings).intervals.toArrow()
    assert found.schema.field("start").type == pa.timestamp("us", "UTC")
    assert in_order(found) == in_order(expected.intervals)


def test_times_finer_than_the_unit_are_an_error_that_says_so(spark: SparkSession) -> None:
    given = frames(spark, 6, "timestamp_millis(t)")
    with pytest.raises(DataError, match="has a fraction of a second.*time_unit=ms"), explained():
        recognise(cernis.load(RULES), given).intervals.count()


def test_files_are_looked_into_for_dates(tmp_path: Path) -> None:
    """Text by its first lines, tables by their first rows; whole numbers are no dates."""
    program = cernis.load(RULES)
    shapes = Shapes(program.checked)
    texts = {
        "dated.txt": "start|2026-03-28T17:00|2026-03-28T17:00|a\n",
        "plain.txt": "start|7|7|a\n",
        "start.csv": "Bed,occurrence\na,2026-03-28\n",
        "stop.csv": "Bed,occurrence\na,7\n",
        "dated.jsonl": '{"name": "start", "occurrence": "2026-03-28T17:00Z", "Bed": "a"}\n',
        "broken.jsonl": "{\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    times = pa.array([datetime(2026, 3, 28)], pa.timestamp("ms"))
    pq.write_table(pa.table({"Bed": ["a"], "occurrence": times}), tmp_path / "start.parquet")
    dated = {
        file.name
        for file in tmp_path.iterdir()
        if has_dates([], splits_of([file], {})[0], Mappings(), shapes)
    }
    assert dated == {"dated.txt", "start.csv", "dated.jsonl", "start.parquet"}


def test_a_file_of_text_gives_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_text("start|2026-03-28T17:00|2026-03-28T17:00|a\nstop|1774900000|1774900000|a\n")
    program = cernis.load(RULES, timezone="+02:00")
    result: Recognised = recognise(program, file, spark=spark)
    assert in_order(result.intervals.toArrow()) == in_order(program.run(file).intervals)
