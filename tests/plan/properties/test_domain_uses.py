"""How definitions use the domains that grow with the input."""

from __future__ import annotations

import cernis
from cernis.plan.builder import Plan
from cernis.plan.properties.domain_uses import DomainUse

RULES = """
dynamicDomain(vessel(_)).
grounding(speed(V)) :- vessel(V).
grounding(calm(V)=true) :- vessel(V).
initiatedAt(calm(V)=true, T) :- happensAt(speed(V), T).
"""


def uses(plan: Plan) -> set[DomainUse]:
    return {use for stage in plan.keyed_strata for strata in stage for use in strata.domain_uses}


def test_a_grounding_uses_a_domain_by_the_arguments_in_the_key() -> None:
    plan = cernis.load(RULES).plan
    assert uses(plan) == {DomainUse(("vessel", 1), ((0, 0),))}
    assert plan.may_forget_members


def test_a_rule_that_asks_for_members_keeps_them() -> None:
    more = "initiatedAt(met(V, W)=true, T) :- happensAt(speed(V), T), vessel(W).\n"
    more += "grounding(met(V, W)=true) :- vessel(V), vessel(W).\n"
    assert not cernis.load(RULES + more).plan.may_forget_members
