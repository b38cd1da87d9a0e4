"""Lanes, walked slowly, give what the engine gives: on examples, cases and random programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import CernisError, ProgramError
from cernis.program import Program
from cernis.syntax.tree import Item
from tests.generators.programs import random_program
from tests.generators.streams import Habits, random_settings, random_stream
from tests.plan.sweep.lane_programs import LaneAuthor
from tests.plan.sweep.swept_answers import by_engine, by_sweep, read_run
from tests.reference.cases import Case, read_cases
from tests.reference.evaluate import Settings
from tests.reference.load import items_of, load

ROOT = Path(__file__).parents[3]
EXAMPLES = ("toy", "maritime", "fleet", "feedback")
SEEDS = range(7000, 7060)
_OTHER = {"patterns", "uncertain", "credible", "grounding as a goal", "declared types"}
CASES = [case for case in read_cases(ROOT / "tests" / "cases") if not case.needs & _OTHER]


def compare(program: Program, items: list[Item], text: str, settings: Settings) -> None:
    """The lanes of a program give the engine's answer in one window over all records."""
    if not any(program.plan.sweep):
        return
    run = read_run(program, items, text, settings)
    by_columns = by_engine(program, text, run)
    lanes = [lane for swept in program.plan.sweep for lane in swept.lanes]
    # The interpreter solves goals as they are written, and clocks of lanes have a zone and a unit.
    has_clocks = program.time_scale.is_zone_asked
    if not has_clocks and (run.ties == "break" or not any(lane.registers for lane in lanes)):
        assert by_sweep(program, run) == by_columns
    assert by_engine(program, text, run, may_walk=True) == by_columns


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    folder = ROOT / "examples" / name
    rules, facts = folder / "rules.cer", folder / "facts.cer"
    text = (folder / "events.txt").read_text("utf-8")
    compare(cernis.load(rules, [facts]), load([rules, facts]), text, Settings())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case) -> None:
    """Windows are left out: a lane is walked over one."""
    settings = {
        name: each for name, each in case.settings.items() if name not in ("window", "step")
    }
    program = cernis.load(case.rules, dialect=settings.pop("dialect", None))
    compare(program, case.items, case.events, Settings(**settings))


@pytest.mark.parametrize("seed", range(9000, 9060))
def test_random_programs_for_lanes(seed: int) -> None:
    author = LaneAuthor(Random(seed))
    text = author.program()
    try:
        program = cernis.load(text)
    except ProgramError:
        return
    for _ in range(2):
        lines = "\n".join(author.stream())
        compare(program, items_of(text), lines, Settings(start=0, end=30))


@pytest.mark.parametrize("seed", range(9100, 9160))
def test_random_programs_with_open_values(seed: int) -> None:
    author = LaneAuthor(Random(seed), has_open_values=True)
    text = author.program()
    try:
        program = cernis.load(text)
    except ProgramError:
        return
    for _ in range(2):
        lines = "\n".join(author.stream())
        compare(program, items_of(text), lines, Settings(start=0, end=30))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    text, program = random_program(random)
    for _ in range(2):
        lines: Sequence[str] = random_stream(random, text, Habits(late=0.2))
        chosen = random_settings(random, text)
        settings = {name: each for name, each in chosen.items() if name not in ("window", "step")}
        try:
            by_rules = items_of(str(text))
            program.run(list(lines), **settings)  # type: ignore[arg-type]
        except CernisError:
            continue
        compare(program, by_rules, "\n".join(lines), Settings(**settings))  # type: ignore[arg-type]
