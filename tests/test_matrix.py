"""Every case on every way to run that answers query by query.

`test_cases` has what the reference and a run say. Here the same records come to sessions, which
evaluate from scratch, from changes, or are saved and restored after each query, and to the jobs of
a stream in buckets. What they report must add up to the answers of the run, as of each query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cernis
from cernis.answers.result import Result
from cernis.program import Program
from tests.agreement.compare import Scenario, by_engine
from tests.fuzz.mixed_programs import stream_difference
from tests.reference.cases import PENDING, Case, read_cases
from tests.session import feeds

pytestmark = pytest.mark.filterwarnings("ignore::cernis.InputWarning")

WINDOW, STEP = 7, 3
"""Ticks of a window, and of a step, for cases that have none of their own."""

MOST_QUERIES = 60

CASES = {
    case.name: case
    for case in read_cases(Path(__file__).parent / "cases")
    if not case.needs & (PENDING | {"uncertain", "credible"})
}


@dataclass(frozen=True)
class Answered:
    """A case, as it is set up or in small windows, and what a run says of it."""

    scenario: Scenario
    program: Program
    result: Result


@cache
def answered(name: str, in_windows: bool) -> Answered | None:
    """A case and its answers as of each query; None if small windows do not suit it."""
    case = CASES[name]
    program = cernis.load(case.rules)
    chosen = _windowed(case, program) if in_windows else case.settings
    if chosen is None:
        return None
    scenario = Scenario((), tuple(case.events.splitlines()), chosen)  # type: ignore[arg-type]
    return Answered(scenario, program, by_engine(scenario, program, per_query=True))


def _windowed(case: Case, program: Program) -> dict[str, Any] | None:
    tick = case.settings.get("tick") or program.checked.definitions.settings.tick
    span = case.settings.get("end", 0) - case.settings.get("start", 0)
    if "window" in case.settings or not 0 < span <= MOST_QUERIES * STEP * tick:
        return None
    return {**case.settings, "window": WINDOW * tick, "step": STEP * tick}


def _fed(case: Answered, is_incremental: bool, is_restored: bool = False) -> str:
    return feeds.difference(case.scenario, case.program, case.result, is_incremental, is_restored)


WAYS: dict[str, Callable[[Answered], str]] = {
    "scratch": lambda case: _fed(case, False),
    "changes": lambda case: _fed(case, True),
    "restored scratch": lambda case: _fed(case, False, True),
    "restored changes": lambda case: _fed(case, True, True),
    "stream": lambda case: stream_difference(case.scenario, case.program, case.result),
}
"""How each way differs from a run; empty if it does not."""


@pytest.mark.parametrize("in_windows", [False, True], ids=["as-is", "windows"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_adds_up_to_the_answers_of_a_run(name: str, way: str, in_windows: bool) -> None:
    case = answered(name, in_windows)
    if case is not None:
        assert WAYS[way](case) == ""
