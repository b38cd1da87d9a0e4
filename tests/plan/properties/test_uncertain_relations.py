"""Which relations rest on uncertain input."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.plan.properties.uncertain_relations import uncertain_relations

RULES = """
initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
initiatedAt(g(X)=true, T) :- happensAt(b(X), T), holdsAt(f(X)=true, T).
initiatedAt(h(X)=true, T) :- happensAt(b(X), T).
"""
A, B = Relation("a", 1), Relation("b", 1)


def test_what_rests_on_uncertain_input_is_uncertain() -> None:
    plan = cernis.load(RULES).plan
    known = plan.uncertainties.of([A])
    assert known.events == {A}
    assert known.fluents == {Relation("f", 1), Relation("g", 1)}
    assert plan.uncertainties.of([A]) is known


def test_input_is_named_with_or_without_its_arguments() -> None:
    plan = cernis.load(RULES).plan
    assert uncertain_relations(plan, ["a"]) == uncertain_relations(plan, ["a/1"]) == {A}
    assert uncertain_relations(plan, None) == {A, B}
    with pytest.raises(DataError, match="c is no relation of the input; there are a/1, b/1"):
        uncertain_relations(plan, ["c"])
