"""Slices of time change no answer: a bucket that evaluates few records at once says the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import cernis
from cernis.errors import CernisError, DataError
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.program import Program
from cernis.records.record_columns import Records
from cernis.session.settings import Settings
from cernis.spark import recognise
from cernis.spark.batch.bucket_runs import SlicedRun, WindowedRun
from cernis.spark.exchange.batch_job import Loaded
from cernis.spark.exchange.stage_links import OutputParts
from tests.agreement.compare import scenarios
from tests.spark.batch.without_spark import run
from tests.spark.keyed import PROGRAMS as KEYED
from tests.spark.keyed import Keyed, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PROGRAMS = KEYED | {
    "two parts": Keyed(
        """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
fi(rich(X)=true, rich(X)=false, 6).
p(rich(X)=true).
happy(X)=true iff rich(X)=true, in(X)=true.
holdsFor(steady(X)=true, I) :- holdsFor(happy(X)=true, J), intDurGreater(J, 3, I).
holdsFor(poor(X)=true, I) :- holdsFor(rich(X)=true, J), complement_all([J], I).
happensAt(fall(X), T) :- happensAt(end(steady(X)=true), T), \\+ happensAt(go(X, home), T).
initiatedAt(sad(X)=true, T) :- happensAt(fall(X), T).
terminatedAt(sad(X)=true, T) :- happensAt(win(X), T), holdsAt(in(X)=true, T).
initiatedAt(owns(X)=Y, T) :- happensAt(go(X, Y), T), initiatedAt(rich(X)=true, T).
""",
        (("win", "e", "P"), ("lose", "e", "P"), ("go", "e", "PQ"), ("in", "i", "P")),
    ),
}  # fmt: skip

WALKED = {"walked pairs", "conflicts", "phrases", "initially", "cycle across keys"}
"""The programs of which a stage can be walked slice by slice."""

BOUNDS: tuple[dict[str, int], ...] = ({}, {}, {"start": 4, "end": 30}, {"end": 60}, {"start": -3})


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch, walked: Counter[str]) -> Counter[int]:
    """Counts the slices that are evaluated."""
    counted: Counter[int] = Counter()
    take = SlicedRun.take

    def counting(self: SlicedRun, records: Records, query: int) -> None:
        counted[query] += 1
        assert isinstance(self.evaluator, SweepThenColumns) == self.walks
        walked["slices"] += self.walks
        take(self, records, query)

    monkeypatch.setattr(SlicedRun, "take", counting)
    return counted


@pytest.fixture
def walked() -> Counter[str]:
    """Counts the slices, and the queries of windows, that are walked."""
    return Counter()


def difference(program: Program, lines: list[str], chosen: dict[str, int], random: Random) -> str:
    """What slices say otherwise than the process, or nothing."""
    expected = program.run("\n".join(lines) + "\n", **chosen)  # type: ignore[arg-type]
    buckets, splits, at_once = (random.randint(1, most) for most in (4, 4, 12))
    found = run(
        program, lines, Settings(**chosen), buckets, splits, random.randint(0, 9999), at_once
    )
    if found.text != expected.text():
        return (
            f"{buckets} buckets, {splits} splits, {at_once} at once, {chosen}:\n{found.text}\n"
            f"not\n{expected.text()}"
        )
    for name in ("records", "used", "outside", "start", "end", "queries", "conflicts"):
        one, other = getattr(found.summary, name), getattr(expected.summary, name)
        if one != other:
            return f"{name}: {one} not {other}"
    aside = [
        sorted((each.line, each.reason) for each in (*own.set_aside, *own.too_late))
        for own in (found.summary, expected.summary)
    ]
    return "" if aside[0] == aside[1] else f"set aside: {aside[0]} not {aside[1]}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_keyed_programs(name: str, slices: Counter[int], walked: Counter[str]) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    for seed in range(12):
        random = Random(f"{name} {seed}")
        lines = stream(PROGRAMS[name], random, random.randint(0, 60), seed % 2 == 1)
        random.shuffle(lines)
        found = difference(program, lines, dict(random.choice(BOUNDS)), random)
        assert not found, f"seed {name} {seed}\n{found}\n" + "\n".join(lines)
    loaded = Loaded(program.plan)
    can = any(loaded.plan.slices.values()) and name != "points"
    assert (slices.total() > 5) == can
    assert (walked["slices"] > 5) == (name in WALKED)


WINDOWS: tuple[dict[str, int], ...] = (
    {"window": 10}, {"window": 12, "step": 5}, {"window": 4, "step": 9}, {"window": 7, "start": 3},
    {"window": 6, "step": 3, "end": 30},
)  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_windows(name: str, monkeypatch: pytest.MonkeyPatch, walked: Counter[str]) -> None:
    counted: Counter[int] = Counter()
    take = WindowedRun.take

    def counting(self: WindowedRun, records: Records, found: OutputParts, query: int) -> None:
        counted[query] += 1
        walked["windows"] += isinstance(self.evaluator, SweepThenColumns)
        take(self, records, found, query)

    monkeypatch.setattr(WindowedRun, "take", counting)
    program = cernis.load(PROGRAMS[name].rules)
    for seed in range(10):
        random = Random(f"{name} {seed} windows")
        lines = stream(PROGRAMS[name], random, random.randint(0, 60), seed % 2 == 1)
        random.shuffle(lines)
        found = difference(program, lines, dict(random.choice(WINDOWS)), random)
        assert not found, f"seed {name} {seed}\n{found}\n" + "\n".join(lines)
    assert (counted.total() > 20) == (not program.plan.checked.definitions.domains)
    assert (walked["windows"] > 0) == (name in WALKED)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    for scenario, program in scenarios(seed + 900, 4):
        bounds = {
            name: own for name, own in scenario.settings.items() if name not in ("window", "step")
        }
        lines = list(scenario.lines)
        try:
            program.run("\n".join(lines) + "\n", **bounds)  # type: ignore[arg-type]
        except CernisError:
            continue
        found = difference(program, lines, bounds, random)  # type: ignore[arg-type]
        assert not found, f"seed {seed}\n{scenario}\n{found}"


BOUNDARIES = """
happensAt(begins(P), T) :- happensAt(start(dose(P)=_), T).
happensAt(ends(P), T) :- happensAt(end(dose(P)=_), T).
some(P)=true iff dose(P)=2.5 or dose(P)=0.5.
happensAt(any(P), T) :- happensAt(start(some(P)=true), T).
"""

DOSES = """dose|20|20|28|2.5|ann
dose|22|19|22|1.5|bob
dose|25|25|inf|0.5|ann
dose|28|28|36|2.5|ann
dose|31|23|31|0.5|ann"""


@pytest.mark.parametrize("seed", range(8))
def test_boundaries_of_intervals_that_records_bring(seed: int) -> None:
    """`start` happens a tick before the record that brings the interval, in an earlier slice."""
    found = difference(cernis.load(BOUNDARIES), DOSES.splitlines(), {}, Random(seed))
    assert not found, f"seed {seed}\n{found}"


def test_what_needs_whole_intervals_waits_for_them() -> None:
    plan = cernis.load(PROGRAMS["two parts"].rules).plan
    parts = plan.slices[1]
    assert parts is not None
    assert {str(relation) for relation in parts.relations} == {"rich/1", "happy/1", "owns/1"}
    assert {"win/1", "go/2", "in/1"} <= {str(relation) for relation in parts.kept}
    assert "lose/1" not in {str(relation) for relation in parts.kept}


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(3)
    keyed = PROGRAMS["pairs"]
    file = tmp_path / "events.txt"
    file.write_text("\n".join(stream(keyed, random, 400)) + "\n")
    program = cernis.load(keyed.rules)
    expected = program.run(file)
    for at_once in (1, 7, 50):
        found = recognise(
            program, file, partitions=3, at_once=at_once, end=expected.summary.end, spark=spark
        )
        assert found._computation.job.at_once == at_once
        assert found.collect().text() == expected.text(), f"seed 3, {at_once} at once"
    with pytest.raises(DataError, match="at least one record"):
        recognise(program, file, at_once=0, spark=spark)
