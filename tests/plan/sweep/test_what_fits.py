"""What of the examples fits the sweep: the table says what is decided, and must only improve."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import cernis
from cernis.plan.sweep.lanes import Verdict

EXAMPLES = Path(__file__).parents[3] / "examples"

# Definitions by how they are evaluated: lanes, lists, linked lists, linked lanes, columns.
FITS: dict[str, tuple[int, int, int, int, int]] = {
    "feedback": (12, 0, 0, 0, 0),
    "fleet": (10, 1, 0, 0, 0),
    "jetstream": (0, 0, 0, 0, 2),
    "maritime": (15, 4, 3, 0, 0),
    "netbill": (0, 0, 0, 7, 0),
    "rendezvous": (3, 0, 1, 0, 3),
    "surveillance": (1, 1, 0, 0, 7),
    "toy": (3, 0, 0, 0, 0),
    "trading": (0, 0, 0, 0, 8),
    "voting": (12, 0, 0, 0, 0),
    "weather": (0, 0, 0, 0, 8),
}

# Why definitions stay with columns that do so by themselves, and not for what they read.
REASONS: dict[str, dict[str, str]] = {
    "surveillance": {"close/3": "needs a family: its argument Id1 takes any value"},
}


def verdicts(name: str) -> list[Verdict]:
    """The verdicts on the definitions of an example."""
    folder = EXAMPLES / name
    plan = cernis.load(folder / "rules.cer", [folder / "facts.cer"]).plan
    return [verdict for swept in plan.sweep for verdict in swept.verdicts]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXAMPLES.glob("*/rules.cer")))
def test_the_table_of_what_fits(name: str) -> None:
    decided = verdicts(name)
    counts = Counter(str(verdict.way) for verdict in decided)
    assert (
        tuple(counts[way] for way in ("lane", "list", "linked", "linked lane", "columns"))
        == FITS[name]
    )
    assert all(bool(each.reason) == (each.way == "columns") for each in decided)


@pytest.mark.parametrize("name", REASONS)
def test_reasons(name: str) -> None:
    reasons = {str(each.relation): each.reason for each in verdicts(name)}
    assert {relation: reasons[relation] for relation in REASONS[name]} == REASONS[name]
