"""Every case on every back-end.

A back-end is a function from a case to the text of its answer, with the features it has. A case
that needs more is expected to fail on it, strictly: once it passes, the feature has to be listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.agreement.backend import FEATURES as ENGINE_FEATURES
from tests.agreement.backend import UNCERTAIN, engine_per_query, engine_text
from tests.reference.cases import FEATURES, Case, answer_text, read_cases, run_case

CASES = read_cases(Path(__file__).parent / "cases")


@dataclass(frozen=True)
class BackEnd:
    """A way to run cases. `per_query` gives the answers as of each query."""

    name: str
    run: Callable[[Case], str]
    features: frozenset[str]
    per_query: Callable[[Case], str]


BACKENDS = (
    BackEnd("reference", answer_text, FEATURES, lambda case: run_case(case).per_query_text()),
    BackEnd("engine", engine_text, ENGINE_FEATURES | UNCERTAIN, engine_per_query),
)


def on_backends(cases: list[Case]) -> list[ParameterSet]:
    """Each case on each back-end, marked where a feature is missing."""
    return [
        pytest.param(backend, case, id=f"{backend.name}-{case.name}", marks=_marks(backend, case))
        for backend in BACKENDS
        for case in cases
    ]


def _marks(backend: BackEnd, case: Case) -> list[pytest.MarkDecorator]:
    missing = case.needs - backend.features
    if not missing:
        return []
    reason = f"{backend.name} has no {', '.join(sorted(missing))}"
    return [pytest.mark.xfail(reason=reason, strict=True)]


@pytest.mark.parametrize(("backend", "case"), on_backends(CASES))
def test_answer(backend: BackEnd, case: Case) -> None:
    assert backend.run(case) == case.expected


@pytest.mark.parametrize(
    ("backend", "case"), on_backends([case for case in CASES if case.expected_per_query])
)
def test_answer_per_query(backend: BackEnd, case: Case) -> None:
    assert backend.per_query(case) == case.expected_per_query


FLUENT_CASES = [case for case in CASES if not case.needs & {"patterns", "uncertain", "credible"}]


@pytest.mark.parametrize("case", FLUENT_CASES, ids=lambda case: case.name)
def test_expectation_is_sorted(case: Case) -> None:
    lines = case.expected.splitlines()
    assert lines == sorted(set(lines))
