"""Keys that groundings name, for pairs that hold where nothing else does."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.sweep.lanes import SweepWay

RULES = """
initiatedAt(on(X, K)=true, T) :- happensAt(start(X, K), T).
terminatedAt(on(X, K)=true, T) :- happensAt(stop(X, K), T).
holdsFor(off(X, K)=true, I) :- holdsFor(on(X, K)=true, J), complement_all([J], I).
kind(a). kind(b). lamp(x, a). lamp(y, b).
"""


def verdict(groundings: str) -> tuple[SweepWay, str]:
    """How the complement is evaluated, and why."""
    swept = cernis.load(RULES + groundings).plan.sweep
    (each,) = (v for plan in swept for v in plan.verdicts if v.relation.name == "off")
    return each.way, each.reason


def test_groundings_name_the_keys() -> None:
    text = RULES + "grounding(off(X, K)=true) :- lamp(X, K).\n"
    (lane,) = (lane for swept in cernis.load(text).plan.sweep for lane in swept.lanes)
    (members,) = lane.members
    assert members.relation.name == "off"
    assert members.positions == dict(lane.keys)[members.relation]
    assert verdict("grounding(off(X, K)=true) :- lamp(X, K).\n") == (SweepWay.LANE, "")


@pytest.mark.parametrize(
    ("groundings", "why"),
    [
        ("", "holds where nothing else does, of whatever there is"),
        (
            "grounding(off(X, _)=true) :- lamp(X, _).\ngrounding(off(x, K)=true) :- kind(K).\n",
            "of members that groundings do not name",
        ),
    ],
)
def test_keys_that_nothing_names(groundings: str, why: str) -> None:
    way, reason = verdict(groundings)
    assert way is SweepWay.COLUMNS
    assert why in reason
