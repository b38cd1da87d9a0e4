"""What rules over intervals need, by the lists and variables of their bodies."""

from __future__ import annotations

import cernis
from cernis.check.model import Relation
from cernis.plan.logical import IntervalRule
from cernis.plan.properties.interval_needs import IntervalNeeds, bound_elsewhere, is_local

SIMPLE = """
initiatedAt(a(X)=true, T) :- happensAt(e(X), T).
initiatedAt(b(X)=true, T) :- happensAt(f(X), T).
initiatedAt(c(X, Y)=true, T) :- happensAt(g(X, Y), T).
"""


def rule_of(text: str) -> IntervalRule:
    plan = cernis.load(SIMPLE + text).plan
    definitions = [d for stage in plan.stages for s in stage.strata for d in s.definitions]
    (rule,) = [r for d in definitions for r in d.rules if isinstance(r, IntervalRule)]
    return rule


def needs_of(text: str) -> IntervalNeeds:
    return rule_of(text).needs


def test_an_intersection_needs_all_of_its_lists() -> None:
    needs = needs_of(
        "holdsFor(h(X)=true, I) :- holdsFor(a(X)=true, J), holdsFor(b(X)=true, K), "
        "intersect_all([J, K], I)."
    )
    (needed,) = needs.alternatives
    assert len(needed) == 2
    assert needs.together == needed
    assert needs.relations == {Relation("a", 1), Relation("b", 1)}
    assert needs.variables == {"X"}
    assert not needs.relates_intervals
    assert not needs.may_repeat


def test_a_union_needs_one_of_its_lists() -> None:
    needs = needs_of(
        "holdsFor(h(X)=true, I) :- holdsFor(a(X)=true, J), holdsFor(b(X)=true, K), "
        "union_all([J, K], I)."
    )
    assert sorted(map(len, needs.alternatives)) == [1, 1]
    assert not needs.together


def test_a_value_that_nobody_names_may_repeat_a_binding() -> None:
    assert needs_of("holdsFor(h(X)=true, I) :- holdsFor(c(X, Y)=true, I).").may_repeat


def test_a_rule_that_relates_intervals_says_so() -> None:
    needs = needs_of(
        "holdsFor(h(X)=true, I) :- holdsFor(a(X)=true, J), holdsFor(b(X)=true, K), "
        "allen(before, J, K, target, I)."
    )
    assert needs.relates_intervals


def test_what_depends_on_a_complement_alone_is_not_local() -> None:
    of_one = rule_of(
        "holdsFor(h(X)=true, I) :- holdsFor(a(X)=true, J), holdsFor(b(X)=true, K), "
        "relative_complement_all(J, [K], I)."
    )
    assert is_local(of_one, has_groundings=False)


def test_rules_keep_what_they_need() -> None:
    rule = rule_of("holdsFor(h(X)=true, I) :- holdsFor(a(X)=true, I).")
    assert rule.needs is rule.needs


def test_a_union_takes_what_only_one_list_has_from_elsewhere() -> None:
    union = rule_of(
        "holdsFor(h(X, Y)=true, I) :- holdsFor(a(X)=true, J), holdsFor(c(X, Y)=true, K), "
        "union_all([J, K], I)."
    )
    assert bound_elsewhere(union, has_groundings=False) == {"Y"}
    assert not bound_elsewhere(union, has_groundings=True)
