"""Lists that are combined before they are measured have names over uncertain records."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Relation
from cernis.plan.measured_combinations import setting_names

PARTS = "holdsFor(a(X)=true, A), holdsFor(b(X, Y)=true, B)"
LONG = "initiatedAt(a(X)=true, T) :- happensAt(up(X), T)."


def hidden(rules: str) -> set[str]:
    """The parts of a program that have a name over uncertain records only."""
    plan = cernis.load(rules).plan
    assert plan.over_uncertain.over_uncertain is plan.over_uncertain
    return {str(each) for each in plan.over_uncertain.checked.definitions.auxiliary}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("holdsFor(a(X)=true, A), intDurGreater(A, 5, I)", set()),
        (
            "holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), union_all([A, B], C), "
            "intDurGreater(C, 5, I)",
            {"combined 1 in long/1/1"},
        ),
        # Both lists of a relation, the second of which takes another list in.
        (
            "holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), union_all([A, B], C), "
            "relative_complement_all(C, [B], D), before(C, D, source, I)",
            {"combined 1 in long/1/1", "combined 2 in long/1/1"},
        ),
        # What the base of a complement does not bind, and complements of all time, stay.
        (f"{PARTS}, relative_complement_all(A, [B], C), intDurGreater(C, 5, I)", set()),
        (
            f"{PARTS}, relative_complement_all(B, [A], C), intDurGreater(C, 5, I)",
            {"combined 1 in long/1/2"},
        ),
        ("holdsFor(a(X)=true, A), complement_all([A], C), intDurGreater(C, 5, I)", set()),
        # A list that is measured first is certain, and stays so.
        (
            "holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), intDurGreater(A, 2, L), "
            "union_all([L, B], C), intDurGreater(C, 5, I)",
            set(),
        ),
    ],
)
def test_which_lists_have_names(body: str, expected: set[str]) -> None:
    assert hidden(f"{LONG} holdsFor(long(X)=true, I) :- {body}.") == expected


def test_settings_are_those_of_the_fluent_that_measures() -> None:
    assert setting_names(Relation("combined 1 in long/1", 2)) == ("long/1", "long")
    assert setting_names(Relation("long", 1)) == ("long/1", "long")
