"""`cernis run --engine spark`: what it prints, writes and says, and how it ends."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

import cernis
from cernis.cli import spark_command as command
from cernis.errors import DataError
from cernis.spark import recognise
from cernis.spark.batch import answer_files as writing
from cernis.spark.exchange.exchange_stats import skew
from tests.cli.command import environment, run
from tests.records.support import TOY, TOY_ANSWER, TOY_RECORDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "toy.txt").write_text(TOY_RECORDS)
    return tmp_path


def test_the_command_on_spark() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cernis.cli.main", "run", "toy.cer", "-i", "toy.txt",
         "--engine", "spark", "--master", "local[1]", "--conf", "spark.ui.enabled=false"],
        env=environment(), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, TOY_ANSWER)
    assert "spark: local[1], started in" in done.stderr
    assert "intervals   5 of 5 fluent-value pairs" in done.stderr
    assert "WARN" not in done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--input", "none.txt"], "none.txt: there is no such file"),
        (["--input", "*.parquet"], "*.parquet: there is no such file"),
        (["--input", "toy.txt", "--conf", "memory"], "--conf memory must be like"),
        (["--input", "toy.txt", "--per-query"], "--per-query needs --engine local"),
        (["--input", "-"], "a pipe needs --engine local"),
        (["--input", "toy.txt", "--output", "."], ". exists already"),
    ],
)
def test_what_is_wrong_is_said_before_spark_starts(more: list[str], message: str) -> None:
    done = run("run", "toy.cer", "--engine", "spark", *more)
    assert done.code == 2
    assert message in done.err


def test_settings_of_spark() -> None:
    assert command.spark_settings(["a.b=c=d", " e = f "]) == {"a.b": "c=d", "e": "f"}
    with pytest.raises(DataError):
        command.spark_settings(["=x"])


# -- the output folder -------------------------------------------------------------------------


def test_parquet_that_others_read(spark: SparkSession, folder: Path) -> None:
    (folder / "toy.txt").write_text(TOY_RECORDS + "win_lottery|soon|14|kim\n")
    result = recognise(TOY, folder / "toy.txt", partitions=2, end=21, spark=spark)
    written = writing.write(result._computation, folder / "out")
    expected = cernis.load(TOY).run(folder / "toy.txt", end=21)
    assert written.intervals == {"happy": 1, "location": 3, "rich": 1}
    assert (written.pairs, written.happenings) == (5, 1)
    table = ds.dataset(folder / "out" / "intervals", partitioning="hive").to_table()
    columns = ["fluent", "value", "start", "end"]
    order = [(name, "ascending") for name in columns]
    assert table.select(columns).sort_by(order).to_pylist() == (
        expected.intervals.select(columns).sort_by(order).to_pylist()
    )
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(folder / "out" / "intervals/**/*.parquet", hive_partitioning=True)
    assert sorted(frame["fluent"].unique()) == ["happy", "location", "rich"]
    assert (
        "a time must be a whole number or like 2026-03-29T03:00"
        in (folder / "out" / "set-aside.csv").read_text()
    )
    assert (folder / "out" / "_SUCCESS").exists()
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_relations_of_one_name_do_not_replace_each_other(spark: SparkSession, folder: Path) -> None:
    rules = """
    initiatedAt(met(X)=true, T) :- happensAt(meet(X, _), T).
    initiatedAt(met(X, Y)=true, T) :- happensAt(meet(X, Y), T).
    """
    (folder / "meet.txt").write_text("meet|1|1|ann|bob\nmeet|2|2|ann|cy\n")
    writing.write(recognise(rules, folder / "meet.txt", spark=spark)._computation, folder / "out")
    table = ds.dataset(folder / "out" / "intervals", partitioning="hive").to_table()
    assert sorted(table["args"].to_pylist()) == [["ann"], ["ann", "bob"], ["ann", "cy"]]


def test_a_result_that_is_kept_is_written_from_there(spark: SparkSession, folder: Path) -> None:
    found = recognise(TOY, folder / "toy.txt", partitions=2, end=21, spark=spark).persist()
    result = found._computation
    assert result.collect().text() == TOY_ANSWER
    read = result.read()
    assert writing.write(result, folder / "out").intervals == {"happy": 1, "location": 3, "rich": 1}
    assert result.read() == read, "the events are not read again"
    found.unpersist()
    assert found.intervals.count() == 5


def test_an_earlier_result_is_replaced_and_other_files_stay(
    spark: SparkSession, folder: Path
) -> None:
    out = folder / "out"
    (out / "intervals" / "fluent=old").mkdir(parents=True)
    (out / "intervals" / "fluent=old" / "part-0.parquet").write_text("old")
    (out / "mine.txt").write_text("mine")
    (out / "recognised.txt").write_text("old")
    writing.write(recognise(TOY, folder / "toy.txt", spark=spark)._computation, out)
    assert sorted(path.name for path in out.iterdir()) == [
        "_SUCCESS", "happenings", "intervals", "mine.txt",
    ]  # fmt: skip
    assert not (out / "intervals" / "fluent=old").exists()


def test_nothing_half_written_looks_complete(spark: SparkSession, folder: Path) -> None:
    def refuse(summary: object) -> None:
        raise DataError("not good enough")

    with pytest.raises(DataError, match="not good enough"):
        writing.write(
            recognise(TOY, folder / "toy.txt", spark=spark)._computation, folder / "out", refuse
        )
    assert sorted(path.name for path in folder.iterdir()) == ["toy.cer", "toy.txt"]


def test_a_disk_that_is_full(folder: Path) -> None:
    """No file may grow beyond some bytes, as on a disk that is full: nothing is left behind."""
    random = Random(4)
    lines = [
        f"{name}|{time}|{time}|{random.randrange(3000)}\n"
        for time in sorted(random.randrange(10**8) for _ in range(80_000))
        for name in [random.choice(("win_lottery", "lose_wallet"))]
    ]
    (folder / "many.txt").write_text("".join(lines))
    # Kernels are in the cache from here on.
    assert len(cernis.load(TOY).run(folder / "many.txt").intervals) > 20_000, "seed 4"
    done = subprocess.run(
        [sys.executable, "-m", "cernis.cli.main", "run", "toy.cer", "-i", "many.txt", "--output",
         "out", "--engine", "spark", "--master", "local[1]"],
        env=environment(), capture_output=True, text=True, check=False, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "a worker says: " in done.stderr
    assert "File too large" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["many.txt", "toy.cer", "toy.txt"]


def test_skew() -> None:
    assert skew([]) == 1.0
    reports = [{"step": 1, "rows": 10}, {"step": 1, "rows": 30}, {"step": 2, "rows": 1}, {}]
    assert skew(reports) == 1.5


def test_what_was_moved_is_told(spark: SparkSession, folder: Path) -> None:
    found = recognise(
        TOY, folder / "toy.txt", partitions=2, end=21, at_once=1, spark=spark
    )._computation
    result, _, moved = found.gathered()
    assert result.text() == TOY_ANSWER
    assert moved.rows > 5
    assert moved.size > moved.rows
    assert moved.slices > 2
    assert 1 <= moved.skew <= 2
    assert found.read() == len(TOY_RECORDS.splitlines())
    told = command._exchanges(found, moved)
    assert told.startswith("1 exchange over 2 partitions, ")
    assert told.endswith("slices of time")
    assert command._stages(found).startswith("1 by ")
