"""Results of runs on Spark explain themselves from the records of the entities concerned."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import cernis
from cernis.spark import recognise
from cernis.spark.batch.spark_explanations import explain_on_spark

RULES = """
initiatedAt(level(B)=critical, T)  :- happensAt(hr(B, R), T), R > 120.
terminatedAt(level(B)=critical, T) :- happensAt(hr(B, R), T), R < 100.
"""
EVENTS = "hr|2|2|b7|130\nhr|3|3|b9|118\nhr|4|4|b7|125\nhr|9|9|b7|90\n"


def test_files_and_frames_are_explained_as_in_process(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_text(EVENTS)
    program = cernis.load(RULES)
    in_process = program.explain(EVENTS, "level(b7)=critical", 5)
    from_file = recognise(program, str(file), spark=spark).explain("level(b7)=critical", 5)
    assert from_file.text() == in_process.text().replace("record:", f"{file}:")
    rows = [(int(time), int(time), name, int(rate)) for _, time, _, name, rate in (
        line.split("|") for line in EVENTS.splitlines()
    )]  # fmt: skip
    frame = spark.createDataFrame(rows, "arrival bigint, occurrence bigint, B string, R bigint")
    found = recognise(program, {"hr": frame}, spark=spark)
    explanation = explain_on_spark(found._computation, "level(b9)=critical", 5)
    assert not explanation.holds
    assert "closest 118 at 3" in explanation.text()
    assert {record.args[0] for record in explanation.records} <= {"b9"}
