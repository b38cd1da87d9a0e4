"""Values keep their form on Spark, however records are spread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cernis
from cernis.answers.result import as_text
from cernis.spark import recognise
from tests.fuzz.mixed_programs import spark_differences
from tests.spark.batch.test_batch_run import texts
from tests.test_cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*C070"),
    pytest.mark.filterwarnings("ignore:stage .*one component"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::cernis.errors.InputWarning"),
]

NAMED = ("values_", "integers_", "infinite_")


def test_any_number_of_partitions_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    runs, expected = {}, {}
    for case in (own for own in CASES if own.name.startswith(NAMED)):
        program = cernis.load(case.folder / "rules.cer")
        for partitions in (1, 2, 3):
            name = f"{case.name} in {partitions}"
            events = case.folder / "events.txt"
            found = recognise(program, events, partitions=partitions, spark=spark, **case.settings)
            runs[name], expected[name] = found._computation.rows, case.expected
    assert texts(runs) == expected


def test_random_programs_over_mixed_values(spark: SparkSession, tmp_path: Path) -> None:
    for seed, found in spark_differences((1, 2, 3, 5), spark, tmp_path):
        assert not found, f"seed {seed}:\n{found}"


def test_records_of_one_file_and_of_many_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    rules = (
        "initiatedAt(location(X)=Room, T) :- happensAt(go_to(X, Room), T).\n"
        "happensAt(upstairs(X), T) :- happensAt(go_to(X, Room), T), Room > 100.\n"
    )
    rooms = ["lobby", "bar", "205", "101", "205.0", "9007199254740993", "0.5", "2"]
    lines = [f"go_to|{at}|{at}|p{at % 3}|{room}" for at, room in enumerate(rooms, 1)]
    program = cernis.load(rules)
    whole = as_text(program.run(lines).answer)
    for at, line in enumerate(lines):
        (tmp_path / f"{at}.txt").write_text(line + "\n", "utf-8")
    runs = {
        str(partitions): recognise(
            program, tmp_path, partitions=partitions, spark=spark
        )._computation.rows
        for partitions in (1, 3)
    }
    assert texts(runs) == {"1": whole, "3": whole}
