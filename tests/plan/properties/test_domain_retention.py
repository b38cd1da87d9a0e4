"""When a session may forget the members of domains that nothing in the window names."""

from __future__ import annotations

import cernis
from cernis.plan.properties.domain_retention import are_anchored

DOMAIN = """
dynamicDomain(vessel(_)).
grounding(speed(V)) :- vessel(V).
grounding(calm(V)=true) :- vessel(V).
"""


def test_an_initiation_by_a_record_that_makes_the_member_is_anchored() -> None:
    rule = "initiatedAt(calm(V)=true, T) :- happensAt(speed(V), T).\n"
    assert are_anchored(cernis.load(DOMAIN + rule).plan)


def test_a_head_that_leaves_its_argument_open_is_not() -> None:
    rule = "initiatedAt(calm(V)=true, T) :- happensAt(bell, T).\n"
    assert not are_anchored(cernis.load(DOMAIN + rule).plan)


def test_a_rule_that_asks_for_members_is_not() -> None:
    rules = "initiatedAt(calm(V)=true, T) :- happensAt(speed(V), T).\n"
    rules += "initiatedAt(met(V, W)=true, T) :- happensAt(speed(V), T), vessel(W).\n"
    assert not are_anchored(cernis.load(DOMAIN + rules).plan)


def test_a_member_that_is_the_value_of_a_fluent_is_not() -> None:
    rules = "initiatedAt(calm(V)=true, T) :- happensAt(bell, T), holdsAt(first=V, T).\n"
    simple = "initiatedAt(first=V, T) :- happensAt(speed(V), T).\n"
    static = "collectIntervals(led(_)=_).\nholdsFor(first=V, I) :- holdsFor(led(V)=true, I).\n"
    for first in (simple, static):
        assert not are_anchored(cernis.load(DOMAIN + rules + first).plan)
