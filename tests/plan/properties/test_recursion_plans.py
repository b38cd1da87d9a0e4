"""Patterns that depend on themselves: what rounds evaluate again."""

from __future__ import annotations

import cernis
from cernis.plan.logical import Stratum
from cernis.plan.properties.recursion_plans import recursion_plan


def cycle(rules: str) -> Stratum:
    strata = [s for stage in cernis.load(rules).plan.stages for s in stage.strata]
    (stratum,) = [s for s in strata if s.immediate]
    return stratum


def test_a_recursion_that_only_adds_goes_on_with_its_recursive_rules() -> None:
    stratum = cycle("r(X) <- a(X).\nr(X) <- r(X) seq a(X).\n:- consumption(unrestricted).\n")
    plan = recursion_plan(stratum)
    assert plan is not None
    assert plan.only_adds
    (definition,) = plan.recursive
    assert len(definition.rules) == 1
    assert [str(atom) for atom in plan.atoms] == ["a(X)"]


def test_two_uses_of_the_recursion_are_evaluated_as_a_whole() -> None:
    stratum = cycle("r(X) <- a(X).\nr(X) <- r(X) seq r(X).\n:- consumption(unrestricted).\n")
    assert stratum.recursion is not None
    assert not stratum.recursion.only_adds


def test_a_cycle_without_patterns_has_no_such_plan() -> None:
    rules = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T), \\+ holdsAt(g(X)=true, T).\n"
    rules += "initiatedAt(g(X)=true, T) :- happensAt(b(X), T), \\+ holdsAt(f(X)=true, T).\n"
    assert cycle(rules).recursion is None
