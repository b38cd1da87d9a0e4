"""Spark gives the answers of the process: random programs, DataFrames and files."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.answers.result import as_text
from cernis.errors import CernisError, DataError, ProgramError
from cernis.spark import recognise
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.exchange_rows import Kind
from cernis.spark.exchange.packed_answers import answer_of
from cernis.spark.worker_errors import explained
from tests.records.support import TOY, TOY_ANSWER, TOY_RECORDS
from tests.spark.keyed import PROGRAMS, settings, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*C070"),
    pytest.mark.filterwarnings("ignore:stage .*one component"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def texts(runs: dict[str, DataFrame]) -> dict[str, str]:
    """The answers of several runs, all computed by one job."""
    from pyspark.sql.functions import lit

    named = [
        rows.where(f"kind = '{Kind.ANSWER}'").select(lit(name).alias("run"), "blob")
        for name, rows in runs.items()
    ]
    found: dict[str, list[Any]] = {name: [] for name in runs}
    for row in reduce(lambda one, other: one.unionAll(other), named).collect():
        found[row.run].append(loads(row.blob))
    return {name: as_text(answer_of(blobs)) for name, blobs in found.items()}


def test_random_streams(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(11)
    runs, expected = {}, {}
    for name, keyed in PROGRAMS.items():
        program = cernis.load(keyed.rules)
        lines = stream(keyed, random, 60)
        chosen = settings(random)
        result = program.run("\n".join(lines) + "\n", **chosen)
        random.shuffle(lines)
        file = tmp_path / f"{name}.txt"
        file.write_text("\n".join(lines) + "\n")
        found = recognise(
            program, file, partitions=random.randint(1, 7), spark=spark,
            **{"end": result.summary.end, **chosen},
        )  # fmt: skip
        runs[name], expected[name] = found._computation.rows, result.text()
    assert texts(runs) == expected, "seed 11"


def test_retractions_and_accounts(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(5)
    keyed = PROGRAMS["pairs"]
    lines = [*stream(keyed, random, 80, True), "-win|99|3|nobody", "rain|1|1", "win|x|1|a"]
    file = tmp_path / "events.txt"
    file.write_text("\n".join(lines) + "\n")
    program = cernis.load(keyed.rules)
    expected = program.run(file, window=12, step=5)
    found = recognise(program, file, window=12, step=5, partitions=3, spark=spark)
    result = found.collect()
    assert result.text() == expected.text()
    assert result.summary.ignored == expected.summary.ignored
    for name in ("records", "used", "outside", "start", "end", "queries", "conflicts"):
        assert getattr(result.summary, name) == getattr(expected.summary, name), name
    aside = [*expected.summary.set_aside, *expected.summary.too_late]
    rows = {(row.source, row.line, row.reason) for row in found.set_aside.collect()}
    assert rows == {(str(file), each.line, each.reason) for each in aside}
    assert len(rows) > 2


def test_small_files_take_the_shorter_way(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "toy.txt"
    file.write_text(TOY_RECORDS)
    found = recognise(cernis.load(TOY), file, spark=spark)
    assert found._computation.exchanges == 0
    assert found.collect().text() == TOY_ANSWER


def go_to() -> dict[str, pa.Table]:
    return {
        "go_to": pa.table({"occurrence": [9, 17, 21], "X": [7, 7, 8], "Y": ["work", "pub", "pub"]}),
        "win_lottery": pa.table({"occurrence": [13], "X": [7]}),
        "lose_wallet": pa.table({"occurrence": [19], "X": [7]}),
    }


def test_data_frames_of_relations(spark: SparkSession) -> None:
    tables = go_to()
    expected = cernis.load(TOY).run(tables)
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    found = recognise(TOY, frames, partitions=2).persist()
    assert found.intervals.schema.simpleString() == (
        "struct<fluent:string,args:array<string>,value:string,start:bigint,end:bigint,open:boolean>"
    )
    rows = [row.asDict() for row in found.intervals.orderBy("fluent", "args", "start").collect()]
    assert (
        rows
        == expected.intervals.sort_by([("fluent", "ascending"), ("start", "ascending")]).to_pylist()
    )
    happened = [row.asDict() for row in found.events.orderBy("args").collect()]
    assert happened == expected.happenings.to_pylist()
    location = found.fluent("location")
    assert dict(location.dtypes)["x"] == "bigint"
    assert sorted(row.x for row in location.collect()) == [7, 7, 8]
    assert sorted(row.x for row in found.event("party").collect()) == [7, 8]
    found.unpersist()
    with pytest.raises(CernisError, match="there is no fluent rihc; there are "):
        found.fluent("rihc")


def test_one_data_frame_through_transform(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("go_to", 9, 9, ["chris", "work"]), ("win_lottery", 13, 13, ["chris"]),
         ("rain", 14, 14, []), ("go_to", 17, 17, ["chris", "pub"])],
        "name string, arrival bigint, occurrence bigint, args array<string>",
    )  # fmt: skip
    held = frame.transform(lambda events: recognise(TOY, events, end=30, partitions=2).intervals)
    assert held.where("fluent = 'rich'").select("start", "end", "open").collect() == [
        (14, None, True)
    ]


def test_parquet_rows_are_told_by_their_number(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"occurrence": pa.array([1, None, 3, None]), "X": ["a", "b", "c", "d"]})
    pq.write_table(table, tmp_path / "win_lottery.parquet", row_group_size=2)
    found = recognise(TOY, tmp_path, partitions=2, spark=spark)
    assert sorted(row.line for row in found.set_aside.collect()) == [2, 4]
    assert found.summary().used == 2


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ("nowhere/*.txt", "there is no such file"),
        (3, "events must be Spark DataFrames or the paths of files"),
        ({"go_to": 3}, "go_to must be a Spark DataFrame"),
    ],
)
def test_events_that_are_none(events: Any, message: str, spark: SparkSession) -> None:
    with pytest.raises(DataError, match=message):
        recognise(TOY, events, spark=spark)


def test_missing_columns_are_told_with_those_there_are(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "a")], "t bigint, who string")
    with pytest.raises(DataError, match="go_to has no column occurrence; there are t, who"):
        recognise(TOY, {"go_to": frame}, partitions=2)
    with pytest.raises(DataError, match="no column name, .*there are t, who"):
        recognise(TOY, frame, partitions=2)
    short = frame.withColumnRenamed("t", "occurrence")
    with pytest.raises(DataError, match=r"2 columns beside the times \(X, Y\), not 1: who"):
        recognise(TOY, {"go_to": short}, partitions=2)


def test_a_mapping_that_names_a_missing_column(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "winners.csv").write_text("t,who\n3,ann\n")
    own = {"file": "winners.csv", "relation": "win_lottery", "occurrence": "time"}
    mapping = {"input": [{**own, "arguments": ["who"]}]}
    found = recognise(TOY, tmp_path / "winners.csv", mapping=mapping, spark=spark)
    with pytest.raises(DataError, match="no column time, .*there are t, who"), explained():
        found.collect()


def test_what_is_wrong_with_rules_is_told_at_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("a|1|1\n")
    with pytest.raises(ProgramError, match="would have to be computed"):
        recognise("e <- a(X + 1) seq b(X) within 5.\n", tmp_path / "e.txt", spark=spark)


def test_a_program_without_a_key_warns(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("e|1|1|a\nclock|1|1\n")
    with pytest.warns(UserWarning, match="C070 no partition key fits"):
        found = recognise(
            "initiatedAt(a(V)=true, T) :- happensAt(e(V), T), happensAt(clock, T).",
            tmp_path / "e.txt", partitions=3, spark=spark, end=2,
        )  # fmt: skip
    assert found.collect().text() == "holdsFor(a(a)=true, [(2,inf)]).\n"


def test_happenings_have_the_start_of_occurrences(spark: SparkSession, tmp_path: Path) -> None:
    rules = """
        match(P) <- up(P) seq down(P) within 10.
        happensAt(over(P), T) :- happensAt(down(P), T).
    """
    file = tmp_path / "all.txt"
    file.write_text("up|3|3|ann\ndown|5|5|ann\nup|6|6|bob\ndown|9|9|bob\n")
    found = recognise(cernis.load(rules), file, partitions=2, spark=spark)
    told = [row.asDict() for row in found.events.orderBy("event", "occurrence").collect()]
    assert told == cernis.load(rules).run(file).happenings.to_pylist()
    assert [(own["event"], own["start"], own["occurrence"]) for own in told] == [
        ("match", 3, 5), ("match", 6, 9), ("over", None, 5), ("over", None, 9),
    ]  # fmt: skip
    assert [tuple(row) for row in found.event("match").orderBy("start").collect()] == [
        ("ann", 3, 5), ("bob", 6, 9),
    ]  # fmt: skip
