"""The cases of uncertain input in windows, which make no difference to a stream on time."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.session.recognise import recognise_uncertain
from cernis.session.settings import settings
from tests.agreement.backend import uncertain_text
from tests.reference.cases import Case, read_cases

CASES = read_cases(Path(__file__).parents[1] / "cases")


def run(rules: str | Path, events: str, **given: int | str) -> UncertainResult:
    program = cernis.load(rules)
    chosen = settings(**given)  # type: ignore[arg-type]
    return recognise_uncertain(program.plan, events, chosen, UncertainSettings(), strict=True)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.needs == {"uncertain"}], ids=lambda case: case.name
)
@pytest.mark.parametrize(("window", "step"), [(40, 40), (160, 80)])
def test_in_windows(case: Case, window: int, step: int) -> None:
    assert uncertain_text(case, window=window, step=step) == case.expected
