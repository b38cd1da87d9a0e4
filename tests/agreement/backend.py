"""The engine as a back-end of the cases under `tests/cases`."""

from __future__ import annotations

import re

import numpy as np

import cernis
from cernis.answers.result import as_text
from cernis.evaluate.probabilities.credible.credible_intervals import (
    most_credible,
    recognise,
    united,
)
from cernis.evaluate.probabilities.credible.durations import Durations
from tests.agreement.compare import Scenario, by_engine
from tests.reference.cases import Case

FEATURES = frozenset({"allen", "cycles", "delays", "fluents", "patterns", "windows"})
"""What the engine has of what a case of certain records may need."""

UNCERTAIN = frozenset({"uncertain", "credible"})
"""What cases of uncertain records need."""


def engine_text(case: Case) -> str:
    """The engine's answer to a case, as text."""
    if "uncertain" in case.needs:
        return uncertain_text(case)
    if "credible" in case.needs:
        return credible_text(case)
    program = cernis.load(case.rules)
    scenario = Scenario((), tuple(case.events.splitlines()), case.settings)  # type: ignore[arg-type]
    return as_text(by_engine(scenario, program).answer)


def uncertain_text(case: Case, **more: int) -> str:
    """The probabilities of a case of uncertain records, written as the reference does."""
    program = cernis.load(case.rules)
    result = program.run_uncertain(case.events, strict=True, **case.settings, **more)
    return re.sub(r", (?!\[)", ",", result.probability_text())


def credible_text(case: Case) -> str:
    """The intervals of a case of probabilities, one a line; batches are within one call."""
    chosen = case.settings
    words = (case.folder / "probabilities.txt").read_text().split()
    points = np.array([float(word) for word in words])
    known = Durations(chosen["mean"], chosen["deviation"]) if "mean" in chosen else None
    found, _ = recognise(
        points, np.array([0, len(points)]), chosen["threshold"], limit=chosen.get("limit"),
        durations=known, batch=chosen.get("batches", [len(points)])[0],
        draws=np.array(chosen.get("draws", ()), np.float64),
    )  # fmt: skip
    if "limit" in chosen:
        found = united(found)
    if chosen.get("credible"):
        found = most_credible(found)
    pairs = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    return "".join(f"[{start},{end}]\n" for start, end in pairs)


def engine_per_query(case: Case) -> str:
    """The engine's answers as of each query, as text."""
    program = cernis.load(case.rules)
    return program.run(case.folder / "events.txt", per_query=True, **case.settings).text()
