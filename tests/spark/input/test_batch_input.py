"""On Spark, DataFrames and files are understood as the process understands tables and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError, InputWarning
from cernis.spark import recognise, recognise_uncertain
from cernis.spark.worker_errors import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RULES = """\
:- event(visit(nurse:text, bed:text)).
initiatedAt(at(N)=B, T) :- happensAt(visit(N, B), T).
"""
ANSWER = "holdsFor(at('007')=b1, [(4,inf)]).\n"


def frame(spark: SparkSession, columns: str) -> DataFrame:
    """One row, in the words of SQL."""
    return spark.sql(f"select {columns}")


def test_columns_of_dataframes_match_by_name_and_declared_text_stays(spark: SparkSession) -> None:
    visits = frame(spark, "'b1' as BED, 3 as occurrence, '007' as nurse")
    found = recognise(cernis.load(RULES), {"visit": visits}, partitions=1)
    assert found.collect().text() == ANSWER
    named = frame(spark, "'visit' as name, 'b1' as bed, 3 as occurrence, '007' as Nurse")
    assert recognise(cernis.load(RULES), named, partitions=1).collect().text() == ANSWER


def test_numbers_in_a_column_of_declared_text_are_text_in_typed_answers(
    spark: SparkSession,
) -> None:
    visits = frame(spark, "7 as nurse, 3 as occurrence, 9 as bed")
    found = recognise(cernis.load(RULES), {"visit": visits}, partitions=1).fluent("at")
    assert [(row.n, row.value) for row in found.collect()] == [("7", "9")]


def test_a_partial_match_is_an_error_before_any_work(spark: SparkSession) -> None:
    visits = frame(spark, "'b1' as bed, 3 as occurrence, 'ann' as who")
    with pytest.raises(DataError, match="the columns are bed, who, the arguments nurse, bed"):
        recognise(cernis.load(RULES), {"visit": visits}, partitions=1)


def test_the_order_of_columns_counts_with_a_warning_before_any_work(spark: SparkSession) -> None:
    visits = frame(spark, "'007' as who, 3 as occurrence, 'b1' as place")
    with pytest.warns(InputWarning, match="the columns who, place are nurse, bed"):
        recognise(cernis.load(RULES), {"visit": visits}, partitions=1)


def test_files_give_the_same_answers_and_warnings(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "visit.csv").write_text("occurrence,bed,nurse\n3,b1,007\n")
    program = cernis.load(RULES)
    assert recognise(program, tmp_path / "visit.csv", spark=spark).collect().text() == ANSWER
    table = pa.table({"occurrence": [3], "who": ["007"], "place": ["b1"]})
    pq.write_table(table, tmp_path / "visit.parquet")
    (tmp_path / "more.txt").write_text("vist|4|4|ann|b2\n" * 3)
    files = [tmp_path / "visit.parquet", tmp_path / "more.txt"]
    with pytest.warns(InputWarning) as told:
        assert recognise(program, files, spark=spark).collect().text() == ANSWER
    words = [str(each.message) for each in told]
    assert any("the columns who, place are nurse, bed" in each for each in words)
    assert words[-1] == (
        "3 of 4 records are not used: no rule mentions vist (3 records): did you mean `visit`?"
    )


def test_a_fraction_of_a_second_is_an_error(spark: SparkSession) -> None:
    time = "timestamp'2025-01-31 12:00:00.5'"
    visits = frame(spark, f"'b1' as bed, {time} as occurrence, '007' as nurse")
    found = recognise(cernis.load(RULES), {"visit": visits}, partitions=1)
    with pytest.raises(DataError, match="fraction of a second"), explained():
        found.collect()


def test_a_missing_probability_sets_a_record_aside(spark: SparkSession) -> None:
    rows = [("a", "b1", 3, 0.9), ("b", "b1", 3, None)]
    visits = spark.createDataFrame(
        rows, "nurse string, bed string, occurrence int, probability double"
    )
    found = recognise_uncertain(cernis.load(RULES), {"visit": visits}, partitions=1)
    summary = found.collect().summary
    assert (summary.used, len(summary.set_aside)) == (1, 1)
