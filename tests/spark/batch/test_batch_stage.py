"""The steps of a job give the answers of the process, however the input is cut and spread.

Spark is not in it: the exchange is a dictionary, so thousands of runs take seconds.
"""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.answers.result import Summary
from cernis.errors import CernisError
from cernis.program import Program
from cernis.session.settings import Settings
from tests.agreement.backend import FEATURES
from tests.agreement.compare import scenarios
from tests.spark.batch.without_spark import run
from tests.spark.keyed import PROGRAMS, settings, stream
from tests.test_cases import CASES

RUNNABLE = [case for case in CASES if not case.needs - FEATURES]


@pytest.mark.parametrize("case", RUNNABLE, ids=lambda case: case.name)
def test_cases(case) -> None:  # type: ignore[no-untyped-def]
    program = cernis.load(case.rules)
    lines = case.events.splitlines()
    for buckets in (1, 2, 5):
        found = run(program, lines, Settings(**case.settings), buckets, seed=buckets)
        assert found.text == case.expected, buckets


def same(program: Program, lines: list[str], chosen: dict[str, int], random: Random) -> str:
    """What the steps say otherwise than the process, or nothing."""
    expected = program.run("\n".join(lines) + "\n", **chosen)  # type: ignore[arg-type]
    buckets, splits = random.randint(1, 7), random.randint(1, 4)
    found = run(program, lines, Settings(**chosen), buckets, splits, random.randint(0, 9999))
    if found.text != expected.text():
        return (
            f"{buckets} buckets, {splits} splits, {chosen}:\n{found.text}\nnot\n{expected.text()}"
        )
    return _differences(found.summary, expected.summary)


def _differences(found: Summary, expected: Summary) -> str:
    """Records are accounted for alike."""
    for name in ("records", "used", "ignored", "outside", "start", "end", "queries", "conflicts"):
        if getattr(found, name) != getattr(expected, name):
            return f"{name}: {getattr(found, name)} not {getattr(expected, name)}"
    for name in ("set_aside", "too_late"):
        one, other = getattr(found, name), getattr(expected, name)
        if sorted((a.line, a.reason) for a in one) != sorted((a.line, a.reason) for a in other):
            return f"{name}: {one} not {other}"
    return ""


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(8))
def test_keyed_programs(name: str, seed: int) -> None:
    random = Random(f"{name} {seed}")
    program = cernis.load(PROGRAMS[name].rules)
    for _ in range(4):
        lines = stream(PROGRAMS[name], random, random.randint(0, 60), seed % 2 == 1)
        lines += random.choice(([], ["rain|3|3", "win|x|2|ann", "nothing"]))
        found = same(program, lines, settings(random), random)
        assert not found, f"seed {name} {seed}\n{found}\n" + "\n".join(lines)


def test_keyed_programs_have_keys() -> None:
    for name, keyed in PROGRAMS.items():
        stages = cernis.load(keyed.rules).plan.stages
        assert any(stage.key or stage.linked_by for stage in stages), name


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    for scenario, program in scenarios(seed, 3):
        try:
            program.run("\n".join(scenario.lines) + "\n", **scenario.settings)
        except CernisError:
            continue
        found = same(program, list(scenario.lines), dict(scenario.settings), random)  # type: ignore[arg-type]
        assert not found, f"seed {seed}\n{scenario}\n{found}"


def test_fluents_that_nothing_brings_are_named_as_in_process() -> None:
    program = cernis.load("near(P)=true iff distance(P)=close, orientation(P)=same.\n")
    lines = ["distance|1|1|close|ann", "distance|2|2|close|bob"]
    told = run(program, lines, Settings(), 2).summary
    assert told.remarks == program.run("\n".join(lines) + "\n").summary.remarks
    assert told.remarks == ("rules read orientation/1, which nothing defines and no record is of",)
