"""`cernis stream` and `cernis replay`: what they print and write, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from cernis.cli import stream_command as commands
from cernis.errors import DataError
from cernis.spark.sinks import fold
from cernis.spark.streaming.replay import Replay, bounds, history, slices
from tests.cli.command import environment, run
from tests.records.support import TOY, TOY_RECORDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "toy.txt").write_text(TOY_RECORDS)
    (tmp_path / "in").mkdir()
    return tmp_path


def command(*more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cernis.cli.main", *more, "--master", "local[1]"],
        env=environment(), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_replay(folder: Path) -> None:
    done = command(
        "replay", "toy.cer", "-i", "toy.txt", "--window", "100", "--step", "5", "--partitions", "2",
        "--speed", "50", "--serve", "127.0.0.1:0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "cernis: the stream is shown at http://127.0.0.1:" in done.stderr
    lines = done.stdout.splitlines()
    assert "+ rich(chris)=true [14,inf) at 15" in lines
    assert "- rich(chris)=true [14,inf) at 20" in lines
    assert "+ happy(chris)=true [14,22) at 25" in lines
    assert "records        5" in done.stderr
    assert "queries        4, the last at 25" in done.stderr
    assert "WARN" not in done.stderr


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stream_of_files(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_session", lambda asked: nullcontext(spark))
    (folder / "in" / "toy.txt").write_text(TOY_RECORDS + "bad|line\n")
    (folder / "in" / "end.clock").write_text("30\n")
    done = run(
        "stream", "toy.cer", "--source", "files:in", "--window", "100", "--step", "5",
        "--checkpoint", "state", "--sink", "parquet:feed", "--partitions", "2", "--until-done",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "ignored        1" in done.err
    assert "cernis: warning: no rule mentions bad (1 record)" in done.err
    found = fold(ds.dataset(folder / "feed").to_table()).to_pylist()
    held = {(row["fluent"], row["value"], row["start"], row["end"]) for row in found}
    assert {("happy", "true", 14, 22), ("rich", "true", 14, 20)} <= held


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stream_that_uses_few_of_its_records(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_session", lambda asked: nullcontext(spark))
    (folder / "in" / "a?b.txt").write_text(
        "win_lotery|5|5|kim\nwin_lotery|6|6|pat\nlose_wallet|8|8|pat\n"
    )
    (folder / "in" / ".unfinished.txt").write_text("win_lottery|5|5|kim\n")
    asked = ["stream", "toy.cer", "--source", "files:in", "--window", "100", "--until-done"]
    done = run(*asked, "--checkpoint", "one")
    assert done.code == 3, done.err
    assert (
        done.err.count("no rule mentions win_lotery (2 records): did you mean `win_lottery`?") == 2
    )
    assert "2 of 3 records are not used; --allow-unused accepts that" in done.err
    assert "files skipped  1" in done.err
    assert "skipped: " in done.err
    assert ".unfinished.txt: it begins with a dot" in done.err
    accepted = run(*asked, "--checkpoint", "two", "--allow-unused")
    assert accepted.code == 0, accepted.err
    assert "no rule mentions win_lotery (2 records)" in accepted.err


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stream_of_uncertain_records(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_session", lambda asked: nullcontext(spark))
    (folder / "switch.cer").write_text(
        "initiatedAt(on(X)=true, T) :- happensAt(up(X), T).\n"
        "terminatedAt(on(X)=true, T) :- happensAt(down(X), T).\n"
    )
    (folder / "in" / "all.txt").write_text("0.9::up|3|3|a\n0.8::down|9|9|a\n0.2::up|4|4|b\n")
    (folder / "in" / "end.clock").write_text("30\n")
    asked = ["stream", "switch.cer", "--source", "files:in", "--window", "20", "--step", "10",
             "--checkpoint", "state", "--sink", "parquet:feed", "--partitions", "2",
             "--until-done", "--start", "0"]  # fmt: skip
    done = run(*asked, "--uncertain", "--memory", "9", "--threshold", "0.6",
               "--uncertain-input", "up,down")  # fmt: skip
    assert done.code == 0, done.err
    (row,) = fold(ds.dataset(folder / "feed").to_table()).to_pylist()
    assert (row["args"], row["start"], row["end"]) == (["a"], 3, 12)
    assert row["probability"] == pytest.approx((6 * 0.9 + 2 * 0.18) / 9)
    wrong = run(*asked, "--memory", "9")
    assert wrong.code == 2
    assert "say --uncertain" in wrong.said
    wrong = run(*asked, "--uncertain", "--uncertain-input", "upp")
    assert wrong.code != 0
    assert "upp is no relation of the input" in wrong.said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--source", "nowhere", "--window", "9"],
            "there is no folder nowhere; a source is files:",
        ),
        (["--source", "files:in?count=1", "--window", "9"], "files have no option count"),
        (["--source", "files:in?at_once=x", "--window", "9"], "at_once must be a positive"),
        (["--source", "mqtt://host/", "--window", "9"], "needs the option topic"),
        (
            ["--source", "mqtt://host/t?qos=7", "--window", "9"],
            "qos must be a whole number up to 2",
        ),
        (["--source", "in", "--window", "soon"], "window must be"),
        (["--source", "in", "--window", "9", "--lateness", "x"], "lateness must be"),
        (["--source", "in", "--window", "9", "--sink", "x"], "there is no sink x"),
        (["--source", "in", "--window", "9", "--conf", "x"], "--conf x must be like"),
    ],
)
def test_what_cannot_be(more: list[str], message: str) -> None:
    done = run("stream", "toy.cer", "--checkpoint", "state", *more)
    assert done.code == 2
    assert message in done.err


def test_replay_refuses() -> None:
    done = run("replay", "toy.cer", "-i", "toy.txt", "--window", "9", "--speed", "0")
    assert done.code == 2
    assert "--speed is max or a positive number, not 0" in done.err


# -- cutting history -------------------------------------------------------------------------------


def test_slices_of_history(tmp_path: Path) -> None:
    Path("a.txt").write_text("x|3|3|b\nno record\nx|1|1|a\nx|7|6|c\n")
    pq.write_table(pa.table({"occurrence": [2, 9], "who": ["d", "e"]}), "y.parquet")
    pieces = history([Path("a.txt"), Path("y.parquet")])
    assert bounds(pieces) == (1, 9)
    found = {}
    for end, place, rows in slices(pieces, 3, tmp_path / "staged", 12):
        found[end, rows] = sorted(file.name for file in place.iterdir())
    assert found == {
        (3, 4): ["a.txt", "y.parquet"], (9, 2): ["a.txt", "y.parquet"], (9, 0): ["end.clock"],
    }  # fmt: skip
    text = (tmp_path / "staged" / "00000000" / "a.txt").read_text()
    assert text == "x|1|1|a\nx|3|3|b\nno record\n"


def test_the_pace_of_a_replay(tmp_path: Path) -> None:
    waited: list[int] = []

    def wait(rows: int) -> None:
        waited.append(rows)

    pieces = history([Path("toy.txt")])
    target = tmp_path / "target"
    target.mkdir()
    count = Replay(target, None, wait).run(slices(pieces, 4, tmp_path / "staged", 30), 9)
    assert count == 5
    assert waited == [0, 0, 1, 2, 4]
    stamps = [next(iter(place.iterdir())).stat().st_mtime_ns for place in sorted(target.iterdir())]
    assert stamps == sorted(set(stamps))


def test_history_that_cannot_be_replayed() -> None:
    Path("a.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="replay takes text records and Parquet"):
        history([Path("a.csv")])
    Path("empty.txt").write_text("")
    with pytest.raises(DataError, match="there are no records to replay"):
        bounds(history([Path("empty.txt")]))
    pq.write_table(pa.table({"when": [2]}), "z.parquet")
    with pytest.raises(DataError, match="there is no column arrival, occurrence or start"):
        history([Path("z.parquet")])
