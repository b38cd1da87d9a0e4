"""Uncertain records on Spark give what the process gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cernis
from cernis.errors import DataError
from cernis.spark import recognise_uncertain
from tests.cli.command import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RULES = """
    initiatedAt(on(X)=true, T) :- happensAt(up(X, P), T), P > 2, \\+ happensAt(down(X), T).
    terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
    initiatedAt(warm(X)=true, T) :- happensAt(up(X, _), T), holdsAt(on(X)=true, T).
    hot(X)=true iff warm(X)=true, on(X)=true.
"""
PAIRS = (
    RULES
    + """
    initiatedAt(both(X, Y)=true, T) :- happensAt(up(X, _), T), happensAt(up(Y, _), T), X \\= Y.
"""
)


def lines(seed: int) -> list[str]:
    chance = random.Random(seed)
    found = []
    for time in range(1, 60):
        for thing in ("a", "b", "c", "7"):
            sure = f"{round(chance.random(), 2)}::" if chance.random() < 0.8 else ""
            if chance.random() < 0.3:
                found.append(f"{sure}up|{time}|{time}|{thing}|{chance.randrange(6)}")
            elif chance.random() < 0.2:
                found.append(f"{sure}down|{time}|{time}|{thing}")
    return found


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """Rows in an order, numbers as they are."""
    return sorted(
        (tuple(map(str, (*row[:2], *row[2:]))) for row in frame), key=lambda row: (row[0], *row)
    )


def expected(rules: str, events: Any, **given: Any) -> tuple[list[Any], list[Any]]:
    result = cernis.load(rules).run_uncertain(events, **given)
    return tuple(  # type: ignore[return-value]
        rows([tuple(row.values()) for row in table.to_pylist()])
        for table in (result.intervals, result.probabilities)
    )


def test_files(spark: SparkSession, tmp_path: Path) -> None:
    every = lines(1)
    (tmp_path / "one.txt").write_text("\n".join(every[:40]) + "\nbad\n")
    (tmp_path / "two.txt").write_text("\n".join(every[40:]))
    given = {"memory": 5, "durations": {"on": (6.0, 3.0)}, "seed": 3}
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    found = recognise_uncertain(RULES, files, partitions=3, spark=spark, **given)  # type: ignore[arg-type]
    found.persist()
    summary = found.summary()
    assert (summary.records, len(summary.set_aside)) == (len(every) + 1, 1)
    wanted = expected(RULES, files, **given)
    assert rows(found.intervals.collect()) == wanted[0]
    assert rows(found.probabilities.collect()) == wanted[1]
    found.unpersist()


def test_frames_and_rules_of_several_stages(spark: SparkSession) -> None:
    tables: dict[str, list[tuple[Any, ...]]] = {"up": [], "down": []}
    for line in lines(2):
        head, _, occurrence, *args = line.split("|")
        sure, _, name = head.rpartition("::")
        values = [args[0], *map(int, args[1:])]
        tables[name].append((int(occurrence), *values, float(sure or 1)))
    titles = {"up": ["occurrence", "x", "p", "probability"],
              "down": ["occurrence", "x", "probability"]}  # fmt: skip
    frames = {name: spark.createDataFrame(own, titles[name]) for name, own in tables.items()}
    local = {name: frame.toArrow() for name, frame in frames.items()}
    found = recognise_uncertain(RULES, frames, partitions=2)
    assert rows(found.probabilities.collect()) == expected(RULES, local)[1]
    with pytest.warns(UserWarning, match="no partition key fits both/2"):
        pairs = recognise_uncertain(PAIRS, frames, partitions=2)
    assert len(pairs._computation.job.loaded.plan.routes.owned) == 2
    assert rows(pairs.intervals.collect()) == expected(PAIRS, local)[0]


@pytest.mark.parametrize("given", [{}, {"window": 20, "step": 7, "memory": 5}])
def test_collected_results_are_those_of_the_process(
    spark: SparkSession, tmp_path: Path, given: dict[str, Any]
) -> None:
    """What holds initially is there once, and what is certain in one bucket is so in none."""
    rules = (
        RULES
        + """
        0.7::initially(on(a)=true).
        initially(warm(nobody)=true).
    """
    )
    file = tmp_path / "all.txt"
    file.write_text("\n".join([*lines(3), "-down|99|5|a", "bad", "other|3|3"]) + "\n")
    found = recognise_uncertain(rules, file, partitions=3, spark=spark, **given).collect()
    wanted = cernis.load(rules).run_uncertain(file, **given)
    assert found.text() == wanted.text()
    assert found.probability_text() == wanted.probability_text()
    assert sorted(found.fluent("on").to_pylist(), key=str) == sorted(
        wanted.fluent("on").to_pylist(), key=str
    )
    mine, other = found.summary, wanted.summary
    for name in ("records", "used", "ignored", "outside", "start", "end", "queries"):
        assert getattr(mine, name) == getattr(other, name), name
    assert [each.reason for each in mine.set_aside] == [each.reason for each in other.set_aside]


def test_what_cannot_be_spread_runs_in_one_partition(spark: SparkSession, tmp_path: Path) -> None:
    """A formula cannot be exchanged: the event is uncertain, and a later stage asks for it."""
    rules = (
        PAIRS
        + """
        happensAt(hit(X), T) :- happensAt(up(X, _), T), \\+ happensAt(down(X), T).
        initiatedAt(met(X, Y)=true, T) :- happensAt(hit(X), T), happensAt(hit(Y), T), X \\= Y.
    """
    )
    file = tmp_path / "all.txt"
    file.write_text("\n".join(lines(5)) + "\n")
    with pytest.warns(UserWarning, match="one partition"):
        found = recognise_uncertain(rules, file, partitions=2, spark=spark)
    assert found.collect().text() == cernis.load(rules).run_uncertain(file).text()


def test_the_command(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cernis.spark.spark_session.session", lambda *given: spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    (tmp_path / "rules.cer").write_text(RULES)
    (tmp_path / "all.txt").write_text("\n".join(lines(4)) + "\n")
    asked = ["run", str(tmp_path / "rules.cer"), "-i", str(tmp_path / "all.txt"), "--uncertain",
             "--memory", "9", "--window", "30", "--step", "10", "--probabilities"]  # fmt: skip
    done, local = run(*asked, "--engine", "spark"), run(*asked, "--engine", "local")
    assert (done.code, done.out) == (0, local.out), done.err
    assert "started in" in done.err
    assert "queries: 6" in done.err


def test_a_bucket_of_certain_records_is_no_other(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "all.txt"
    file.write_text("0.5::up|1|1|a|3\n" + "".join(f"up|2|2|x{n}|3\n" for n in range(12)))
    found = recognise_uncertain(RULES, file, partitions=4, spark=spark, end=9).collect()
    assert found.text() == cernis.load(RULES).run_uncertain(file, end=9).text()


def test_what_is_wrong_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be a Spark DataFrame"):
        recognise_uncertain(RULES, {"up": 3}, spark=spark)
    with pytest.raises(DataError, match="at least one partition"):
        recognise_uncertain(RULES, {}, partitions=0, spark=spark)
    with pytest.raises(DataError, match="no such file"):
        recognise_uncertain(RULES, tmp_path / "none.txt", spark=spark)


def test_fluents_that_nothing_brings_are_named(spark: SparkSession, tmp_path: Path) -> None:
    rules = RULES + "near(X)=true iff hot(X)=true, distance(X)=close.\n"
    file = tmp_path / "all.txt"
    file.write_text("0.5::up|1|1|a|3\n0.5::up|2|2|b|4\n")
    found = recognise_uncertain(rules, file, partitions=2, spark=spark).collect()
    assert found.summary.remarks == cernis.load(rules).run_uncertain(file).summary.remarks
    (told,) = found.summary.remarks
    assert told.startswith("rules read distance/1, which nothing defines")


def test_occurrences_of_patterns(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_text("\n".join(lines(4)))
    rules = "e(X) <- (not(down(X))[up(X, P), up(X, Q)] within 5) where Q > P."
    found = recognise_uncertain(rules, file, partitions=3, spark=spark)
    whole = cernis.load(rules).run_uncertain(file).occurrences.to_pylist()
    told = [row.asDict() for row in found.occurrences.collect()]
    assert sorted(told, key=str) == sorted(whole, key=str)
    assert len(told) > 20
