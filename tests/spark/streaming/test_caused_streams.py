"""Streams whose changes name the records that caused them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cernis
from cernis.errors import DataError
from cernis.spark import explain_stream, files, stream
from cernis.spark.sinks import MemorySink
from tests.spark.keyed import PROGRAMS
from tests.spark.keyed import stream as random_stream
from tests.spark.streaming.local_stream import stream_of
from tests.spark.streaming.test_local_stream import as_changes, pieces
from tests.spark.streaming.test_stream_explanations import RECORDS, RULES, committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def named(rows: list[dict[str, Any]]) -> dict[tuple[str, str, int], list[str]]:
    """What each inserted interval rests on, as was told last."""
    return {
        (row["fluent"], row["args"][0], row["start"]): row["causes"]
        for row in rows if row["change"] == "insert"
    }  # fmt: skip


def test_causes_are_named_over_restarts(tmp_path: Path) -> None:
    own = stream_of(RULES, tmp_path, 30, 10, start=0, causes=True)
    rows = committed(own, [RECORDS[:2], RECORDS[2:4], RECORDS[4:8], ["$clock|31"]])
    told = named(rows)
    assert told["level", "b7", 3] == ["hr|2|2|b7|130", "hr|14|14|b7|90"]
    assert told["alarm", "b8", 24] == ["hr|24|24|b8|140"]
    assert told["alike", "b7", 7] == ["meet|6|6|b7|b9", "leave|25|25|b7|b9"]
    explanation = explain_stream(own.program, tmp_path, "alike(b7, b9)", 20)
    assert explanation.holds


@pytest.mark.parametrize("name", PROGRAMS)
def test_changes_are_those_of_a_stream_without_causes(name: str, tmp_path: Path) -> None:
    random, keyed = Random(f"causes {name}"), PROGRAMS[name]
    lines = random_stream(keyed, random, 50, retractions=True)
    window, step = random.choice((8, 15, 60)), random.choice((3, 8, 20))
    plain = stream_of(keyed.rules, tmp_path / "plain", window, step, start=0)
    caused = stream_of(keyed.rules, tmp_path / "caused", window, step, start=0, causes=True)
    for batch in [*pieces(lines, random), ["$clock|120"]]:
        rows = caused.take(batch)
        assert as_changes(rows) == as_changes(plain.take(batch)), f"{name}, {window}, {step}"
        assert all(row["causes"] == [] for row in rows if row["change"] == "delete"), name


def test_the_feed_on_spark_has_causes(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "records.txt").write_text("\n".join(RECORDS) + "\n")
    program = cernis.load(RULES)
    options: dict[str, Any] = {"window": 30, "checkpoint": tmp_path / "state", "sink": "memory"}
    running = stream(program, files(spark, folder), **options, until_done=True, causes=True)
    assert running.wait(120)
    assert isinstance(running.sink, MemorySink)
    told = named(running.sink.changes.to_pylist())
    assert told["level", "b7", 3] == ["hr|2|2|b7|130", "hr|14|14|b7|90"]
    assert running.explain("level(b8)=critical").holds
    with pytest.raises(DataError, match="causes is True, not False"):
        stream(program, files(spark, folder), **options)
    for wrong, message in (
        ({"policy": "final"}, "reported early"), ({"uncertain": True}, "uncertain records"),
        ({"partitions": 2}, "partitions=2"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=message):
            stream(
                program, files(spark, folder), window=30, checkpoint=tmp_path / "other",
                causes=True, **wrong,
            )  # fmt: skip
