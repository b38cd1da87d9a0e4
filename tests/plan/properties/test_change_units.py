"""Which strata are brought up to date together from changes, and how little that takes."""

from __future__ import annotations

import cernis
from cernis.plan.builder import Plan
from cernis.plan.properties.change_units import UnitKind

POINTS = """
initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
terminatedAt(f(X)=true, T) :- happensAt(b(X), T).
happensAt(e(X), T) :- happensAt(a(X), T), holdsAt(f(X)=true, T).
"""


def plan_of(rules: str) -> Plan:
    return cernis.load(rules).plan


def kinds(plan: Plan) -> dict[str, UnitKind]:
    units = [unit for stage in plan.change_units for unit in stage]
    return {relation.name: unit.kind for unit in units for relation in unit.definitions}


def test_each_kind_of_definition_has_its_kind_of_unit() -> None:
    plan = plan_of(
        POINTS + "holdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), holdsFor(h(X)=true, K), "
        "intersect_all([J, K], I).\ninitiatedAt(h(X)=true, T) :- happensAt(c(X), T).\n"
    )
    assert kinds(plan) == {
        "f": UnitKind.SIMPLE, "e": UnitKind.EVENT, "g": UnitKind.STATIC, "h": UnitKind.SIMPLE,
    }  # fmt: skip
    assert plan.may_follow_changes


def test_a_stratum_that_reads_initiations_goes_with_the_one_that_has_them() -> None:
    plan = plan_of(
        POINTS + "initiatedAt(g(X)=true, T) :- initiatedAt(f(X)=true, T), happensAt(c(X), T).\n"
    )
    (unit,) = [u for stage in plan.change_units for u in stage]
    assert {relation.name for relation in unit.definitions} == {"e", "f", "g"}
    assert kinds(plan)["f"] is UnitKind.WHOLE


def test_a_complement_looks_back() -> None:
    plan = plan_of(
        POINTS + "holdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), complement_all([J], I).\n"
    )
    (unit,) = [u for stage in plan.change_units for u in stage if u.kind is UnitKind.WHOLE]
    assert unit.looks_back


def test_patterns_and_relations_between_intervals_need_all_of_the_window() -> None:
    assert not plan_of("c(X) <- a(X) seq b(X).\n").may_follow_changes
    relates = (
        ":- memory(10).\nholdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), holdsFor(h(X)=true, K), "
    )
    relates += "allen(before, J, K, target, I).\ninitiatedAt(h(X)=true, T) :- happensAt(c(X), T).\n"
    assert not plan_of(POINTS + relates).may_follow_changes


def test_first_points_are_of_what_rules_ask_the_start_of() -> None:
    plan = plan_of(POINTS)
    assert plan.first_points == frozenset()
