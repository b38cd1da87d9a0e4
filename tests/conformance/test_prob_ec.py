"""Prob-EC's maritime application, its rules and records as they are: pair by pair.

It runs where `CERNIS_OPIEC` names a checkout of the repository Periklismant/oPIEC.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.syntax import parse
from cernis.syntax.tree import Clause
from tests.conformance.prob_ec import (
    LAYERS,
    Translation,
    answers,
    folder,
    moment,
    prob_ec_answers,
    records,
)

pytestmark = pytest.mark.skipif(
    folder() is None, reason="CERNIS_OPIEC does not name a checkout of Periklismant/oPIEC"
)


def chance_at(stretches: list[tuple[int, int | None, float]], time: int) -> float:
    """The probability of a pair at a time, from its stretches."""
    for start, end, chance in stretches:
        if start <= time and (end is None or time < end):
            return chance
    return 0.0


def test_maritime(tmp_path: Path) -> None:
    checkout = folder()
    assert checkout is not None
    maritime = checkout / "applications" / "maritime"
    rules = (maritime / "event_description" / "rules.pl").read_text()
    areas = (maritime / "event_description" / "declarations.pl").read_text()
    auxiliary = [
        (maritime / "auxiliary" / f"{name}.pl").read_text()
        for name in ("compare", "vesselStaticInfo", "staticDataPredicates", "typeSpeeds",
                     "thresholds")
    ]  # fmt: skip
    given = [item for item in parse(rules).items if isinstance(item, Clause)]
    facts = "\n".join(line for line in areas.splitlines() if line.startswith("area("))
    text = "\n".join([":- ties(initiation).", Translation(given).text(), facts, *auxiliary])
    program = cernis.load(text + "\n")
    lines, first = records((maritime / "datasets" / "Brest_250.pl").read_text())
    result = program.run_uncertain("\n".join(lines) + "\n", start=0)
    found: dict[str, list[tuple[int, int | None, float]]] = {}
    for row in result.probabilities.to_pylist():
        *args, value = row["args"]
        pair = f"{row['fluent']}({','.join(args)})={value}"
        found.setdefault(pair, []).append((row["start"], row["end"], row["probability"]))
    expected = answers(prob_ec_answers(checkout, "maritime", "Brest_250.pl", tmp_path))
    wrong = []
    for pair, series in expected.items():
        for time, chance in series:
            # What records of a time cause is there in the last layer, before the next time.
            at = moment(time - 1, first) + LAYERS
            ours = chance_at(found.get(pair, []), at)
            if abs(ours - chance) > 1e-5:
                wrong.append((pair, time, chance, ours))
    assert len(expected) == 81
    assert not wrong
