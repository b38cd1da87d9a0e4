"""The engine as a back-end of the cases under `tests/cases`."""

from __future__ import annotations

import cernis
from cernis.runtime.result import as_text
from tests.reference.cases import Case

from .compare import Scenario, by_engine

FEATURES = frozenset({"allen", "cycles", "delays", "fluents", "patterns", "windows"})
"""What the engine has of what a case may need."""


def engine_text(case: Case) -> str:
    """The engine's answer to a case, as text."""
    program = cernis.load(case.folder / "rules.cer")
    scenario = Scenario((), tuple(case.events.splitlines()), case.settings)  # type: ignore[arg-type]
    return as_text(by_engine(scenario, program).answer)


def engine_per_query(case: Case) -> str:
    """The engine's answers as of each query, as text."""
    program = cernis.load(case.folder / "rules.cer")
    return program.run(case.folder / "events.txt", per_query=True, **case.settings).text()
