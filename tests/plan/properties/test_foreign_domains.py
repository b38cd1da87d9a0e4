"""Which domains need their members from all of the input, in every bucket."""

from __future__ import annotations

import cernis
from cernis.plan.properties.foreign_domains import foreign_domains

DOMAIN = """
dynamicDomain(ship(_)).
grounding(enter(X)) :- ship(X).
grounding(inside(X)=true) :- ship(X).
initiatedAt(inside(X)=true, T) :- happensAt(enter(X), T).
"""


def test_members_that_are_the_key_are_seen_by_their_bucket() -> None:
    plan = cernis.load(DOMAIN).plan
    assert foreign_domains(plan, plan.routes) == set()


def test_members_that_a_rule_asks_for_are_not() -> None:
    plan = cernis.load(
        DOMAIN + "initiatedAt(met(X, Y)=true, T) :- happensAt(enter(X), T), ship(Y).\n"
    ).plan
    assert foreign_domains(plan, plan.routes) == {("ship", 1)}
