"""Slices of time change no answer: a bucket that evaluates few records at once says the same."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import cernis
from cernis.errors import CernisError
from cernis.program import Program
from cernis.runtime.columns import Records
from cernis.runtime.settings import Settings
from cernis.spark.job import Loaded
from cernis.spark.runs import SlicedRun
from tests.engine.compare import scenarios
from tests.test_cases import CASES

from .keyed import PROGRAMS, stream
from .test_steps import RUNNABLE
from .without import run

BOUNDS: tuple[dict[str, int], ...] = ({}, {}, {"start": 4, "end": 30}, {"end": 60}, {"start": -3})


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Counts the slices that are evaluated."""
    counted: Counter[int] = Counter()
    take = SlicedRun.take

    def counting(self: SlicedRun, records: Records, query: int) -> None:
        counted[query] += 1
        take(self, records, query)

    monkeypatch.setattr(SlicedRun, "take", counting)
    return counted


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
def test_keyed_programs(name: str, slices: Counter[int]) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    for seed in range(16):
        random = Random(f"{name} {seed}")
        lines = stream(PROGRAMS[name], random, random.randint(0, 60), seed % 2 == 1)
        random.shuffle(lines)
        found = difference(program, lines, dict(random.choice(BOUNDS)), random)
        assert not found, f"seed {name} {seed}\n{found}\n" + "\n".join(lines)
    loaded = Loaded(program.plan)
    can = any(map(loaded.sliced, loaded.routes.owned)) and name != "points"
    assert (slices.total() > 100) == can


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
