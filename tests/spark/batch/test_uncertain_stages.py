"""Uncertain records in stages: what buckets find together is what the process finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.plan.builder import in_one_stage
from cernis.program import Program
from cernis.records.record_sources import read_unresolved
from cernis.session.settings import settings
from cernis.spark.batch.uncertain_stages import may_be_apart
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.record_places import Places
from examples.maritime.simulate import simulate
from examples.maritime.uncertain import days_in_turn
from tests.cli.command import MARITIME
from tests.reference.cases import PENDING, Case, read_cases
from tests.spark.batch.without_spark import Outcome, run_job, run_parts
from tests.spark.keyed import PROGRAMS, stream

CASES = [
    case for case in read_cases(Path(__file__).parents[2] / "cases")
    if "uncertain" in case.needs and not case.needs & PENDING
]  # fmt: skip
NAMES = (
    "one", "pairs", "only pairs", "open head", "negated driver", "conflicts", "derived driver",
    "own domain", "foreign domain", "looking back", "points",
)  # fmt: skip
SPREAD = {*NAMES} - {"derived driver"}
"""Of the other a later stage would have to know a formula."""


def doubted(line: str, every: bool = False) -> str:
    """A record with a probability, the same for what takes it back."""
    name, _, *rest = line.split("|")
    number = crc32("|".join([name.lstrip("-"), *rest]).encode()) % 4
    return f"{(0.3, 0.7, 0.9, 0.5 if every else 1.0)[number]}::{line}"


def job_for(program: Program, lines: Sequence[str], buckets: int, **more: Any) -> Job:
    """The job of some records; in one stage if a stage would need formulas of another."""
    records = read_unresolved("\n".join(lines) + "\n", program.checked, uncertain=True)
    plan, settings_given = program.plan, more.pop("settings", settings())
    if not may_be_apart(plan, plan.routes, records.uncertain):
        plan, buckets = in_one_stage(plan), 1
    likely = uncertain_settings(**more)
    return job_of(plan, settings_given, buckets, likely=likely)


def in_text(outcome: Outcome, program: Program) -> tuple[str, str]:
    """Intervals and probabilities as text."""
    result = UncertainResult(outcome.answer, program.checked.catalogue, outcome.summary)
    return result.text(), result.probability_text()


@pytest.mark.parametrize("windows", [(None, None), (20, 7), (5, 9)])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_stages_and_buckets_make_no_difference(
    name: str, seed: int, windows: tuple[int | None, int | None]
) -> None:
    print(f"seed {seed}")
    random = Random(f"{name} {seed}")
    program = cernis.load(PROGRAMS[name].rules)
    lines = [doubted(line) for line in stream(PROGRAMS[name], random, 60, retractions=seed == 2)]
    window, step = windows
    whole = program.run_uncertain("\n".join(lines) + "\n", memory=4, window=window, step=step)
    job = job_for(program, lines, 3, memory=4, settings=settings(window, step))
    outcome = run_job(job, lines, seed=seed)
    assert in_text(outcome, program) == (whole.text(), whole.probability_text())
    for figure in ("records", "used", "ignored", "outside", "start", "end", "queries"):
        assert getattr(outcome.summary, figure) == getattr(whole.summary, figure), figure


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_in_buckets(case: Case) -> None:
    """Among them are facts and initial facts with probabilities, and open heads."""
    program, chosen = cernis.load(case.rules), settings(**case.settings)
    whole = program.run_uncertain(case.events, **case.settings)
    outcome = run_job(job_for(program, case.events.splitlines(), 3, settings=chosen),
                      case.events.splitlines())  # fmt: skip
    assert in_text(outcome, program) == (whole.text(), whole.probability_text())


@pytest.mark.parametrize("name", NAMES)
def test_what_can_be_spread(name: str) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    lines = [doubted(line, True) for line in stream(PROGRAMS[name], Random(1), 60)]
    job = job_for(program, lines, 3)
    assert (job.buckets == 3) == (name in SPREAD)


def test_vessels_and_pairs() -> None:
    """Rendez-vous and tugging: speeds by vessel, then pairs of vessels."""
    day = simulate(8, 1)
    with TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.cer"
        facts.write_text(day.facts, "utf-8")
        program = cernis.load(MARITIME / "uncertain.cer", [facts])
    tables = days_in_turn([day], 10_000.0)
    records = read_unresolved(tables, program.checked, uncertain=True)
    whole = program.run_uncertain(tables)
    job = job_of(program.plan, settings(), 3, likely=uncertain_settings())
    assert len(job.loaded.plan.routes.owned) == 2
    assert may_be_apart(program.plan, job.loaded.plan.routes, records.uncertain)
    outcome = run_parts(job, [records], Places())
    assert in_text(outcome, program)[0] == whole.text()
    assert "holdsFor(rendezVous(" in whole.text()


COMPOSITES = """
raid(X) <- not(calm(X))[probe(X), attack(X)] within 6.
initiatedAt(alarm(X)=on, T) :- happensAt(raid(X), T).
terminatedAt(alarm(X)=on, T) :- happensAt(calm(X), T).
fi(alarm(X)=on, alarm(X)=late, 4).
ft(alarm(X)=late, 3).
p(alarm(X)=on).
initiatedAt(seen(X)=true, T) :- happensAt(probe(X), T), holdsAt(alarm(X)=late, T).
"""


@pytest.mark.parametrize("windows", [(None, None), (8, 3), (4, 5)])
def test_patterns_and_delayed_effects(windows: tuple[int | None, int | None]) -> None:
    random, (window, step) = Random(7), windows
    program = cernis.load(COMPOSITES)
    lines = [
        f"0.{random.randint(2, 9)}::{random.choice(('probe', 'attack', 'calm'))}|{time}|{time}|"
        f"v{random.randint(1, 4)}"
        for time in sorted(random.choices(range(1, 25), k=50))
    ]
    whole = program.run_uncertain("\n".join(lines) + "\n", window=window, step=step)
    job = job_for(program, lines, 3, settings=settings(window, step))
    assert job.buckets == 3
    outcome = run_job(job, lines)
    assert in_text(outcome, program) == (whole.text(), whole.probability_text())
    assert "probability(alarm(v1)=late" in whole.probability_text()
    result = UncertainResult(outcome.answer, program.checked.catalogue, outcome.summary)
    expected = sorted(whole.occurrences.to_pylist(), key=str)
    assert sorted(result.occurrences.to_pylist(), key=str) == expected
    assert expected


SELECTING = """
:- consumption(near/1, recent).
:- consumption(turn/1, chronological).
initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
near(X) <- up(X) seq down(X) within 9.
turn(X) <- up(X) seq down(X) within 6.
burst(X, 1) <- up(X).
burst(X, N + 1) <- burst(X, N) seq up(X) within 8.
busy(X, N) <- up(X) where N = count(X, past(7)), N > 1.
calm(X) <- down(X) during on(X)=true.
initiatedAt(alarm(X)=true, T) :- happensAt(busy(X, _), T), happensAt(burst(X, 3), T).
"""
"""Patterns of all kinds: policies, a recursion, an aggregate, intervals of a fluent."""


def lines_for_patterns(random: Random, last: int) -> list[str]:
    """Records of three entities, by arrival; some come late."""
    lines = [
        f"0.{random.randint(3, 9)}::{random.choice(('up', 'up', 'down'))}"
        f"|{time + random.choice((0, 0, 3))}|{time}|{entity}"
        for time in range(1, last) for entity in "abc" if random.random() < 0.3
    ]  # fmt: skip
    return sorted(lines, key=lambda line: int(line.split("|")[1]))


@pytest.mark.parametrize("windows", [(None, None), (12, 4)])
def test_occurrences_of_patterns_in_buckets(windows: tuple[int | None, int | None]) -> None:
    program, (window, step) = cernis.load(SELECTING), windows
    lines = lines_for_patterns(Random(9), 40)
    whole = program.run_uncertain("\n".join(lines), window=window, step=step)
    job = job_for(program, lines, 3, settings=settings(window, step))
    outcome = run_job(job, lines)
    result = UncertainResult(outcome.answer, program.checked.catalogue, outcome.summary)
    found, expected = (
        sorted(str({**row, "probability": round(row["probability"], 9)}) for row in rows)
        for rows in (result.occurrences.to_pylist(), whole.occurrences.to_pylist())
    )
    assert found == expected
    assert len({row["event"] for row in whole.occurrences.to_pylist()}) >= 4
    assert result.probability_text() == whole.probability_text()
