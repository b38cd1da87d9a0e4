"""Which strata are evaluated together for the keys that have news."""

from __future__ import annotations

import cernis
from cernis.plan.builder import Plan

POINTS = """
initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
terminatedAt(f(X)=true, T) :- happensAt(b(X), T).
happensAt(e(X), T) :- happensAt(a(X), T), holdsAt(f(X)=true, T).
"""


def plan_of(rules: str) -> Plan:
    return cernis.load(rules).plan


def test_news_is_confined_to_keys_where_points_decide() -> None:
    plan = plan_of(
        POINTS + "holdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), holdsFor(h(X)=true, K), "
        "intersect_all([J, K], I).\ninitiatedAt(h(X)=true, T) :- happensAt(c(X), T).\n"
    )
    strata = [each for of_stage in plan.keyed_strata for each in of_stage]
    assert sorted(r.name for each in strata for r in each.definitions) == ["e", "f", "g", "h"]
    assert not any(each.looks_back for each in strata)
    assert plan.confines_news


def test_a_stratum_that_reads_initiations_goes_with_the_one_that_has_them() -> None:
    plan = plan_of(
        POINTS + "initiatedAt(g(X)=true, T) :- initiatedAt(f(X)=true, T), happensAt(c(X), T).\n"
    )
    (together,) = [each for of_stage in plan.keyed_strata for each in of_stage]
    assert {relation.name for relation in together.definitions} == {"e", "f", "g"}


def test_a_complement_looks_back() -> None:
    plan = plan_of(
        POINTS + "holdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), complement_all([J], I).\n"
    )
    looking_back = [each for of_stage in plan.keyed_strata for each in of_stage if each.looks_back]
    assert [relation.name for each in looking_back for relation in each.definitions] == ["g"]


def test_patterns_and_relations_between_intervals_need_all_of_the_window() -> None:
    assert not plan_of("c(X) <- a(X) seq b(X).\n").confines_news
    relates = (
        ":- memory(10).\nholdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), holdsFor(h(X)=true, K), "
    )
    relates += "allen(before, J, K, target, I).\ninitiatedAt(h(X)=true, T) :- happensAt(c(X), T).\n"
    assert not plan_of(POINTS + relates).confines_news


def test_first_points_are_of_what_rules_ask_the_start_of() -> None:
    plan = plan_of(POINTS)
    assert plan.first_points == frozenset()
