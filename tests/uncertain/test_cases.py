"""The cases of uncertain input, on the engine."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import cernis
from cernis.runtime.recognise import recognise_uncertain
from cernis.runtime.settings import settings
from cernis.runtime.uncertain_result import UncertainResult
from cernis.runtime.uncertain_settings import UncertainSettings

CASES = Path(__file__).parents[1] / "cases"


def run(rules: str | Path, events: str, **given: int | str) -> UncertainResult:
    program = cernis.load(rules)
    chosen = settings(**given)  # type: ignore[arg-type]
    return recognise_uncertain(program.plan, events, chosen, UncertainSettings(), strict=True)


@pytest.mark.parametrize("folder", sorted(CASES.glob("uncertain_*")), ids=lambda own: own.name)
def test_case(folder: Path) -> None:
    given = tomllib.loads((folder / "case.toml").read_text()).get("settings", {})
    result = run(folder / "rules.cer", (folder / "events.txt").read_text(), **given)
    expected = (folder / "expected.txt").read_text()
    assert result.probability_text().replace(", ", ",") == expected.replace(", ", ",")
