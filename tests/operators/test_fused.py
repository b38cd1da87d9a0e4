"""Conditions put together say the same as one by one, however few rows there are."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from cernis.answers.result import as_text
from cernis.errors import CernisError
from cernis.operators import rule_pipeline as pipeline
from tests.agreement.backend import FEATURES, engine_text
from tests.agreement.compare import by_engine, scenarios
from tests.reference.cases import Case, read_cases

CASES = [case for case in read_cases(Path(__file__).parents[1] / "cases") if case.needs <= FEATURES]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put conditions together on any number of rows."""
    monkeypatch.setattr(pipeline, "MANY", 1)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case) -> None:
    assert engine_text(case) == case.expected


@pytest.mark.parametrize("first", range(9000, 9200, 50))
def test_random_programs(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for seed in range(first, first + 50):
        for scenario, program in islice(scenarios(seed, 1), 1):
            monkeypatch.setattr(pipeline, "MANY", 1 << 40)
            try:
                apart = as_text(by_engine(scenario, program).answer)
            except CernisError:
                continue
            monkeypatch.setattr(pipeline, "MANY", 1)
            assert as_text(by_engine(scenario, program).answer) == apart, f"seed {seed}"
            compared += 1
    assert compared > 40
