"""Strata that look no further than a point are evaluated slice by slice, the others at the end."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.properties.pointwise import sliced

BASE = """
initiatedAt(a(X)=true, T) :- happensAt(e(X), T).
terminatedAt(a(X)=true, T) :- happensAt(f(X), T).
"""


def first_part(text: str) -> tuple[set[str], set[str]] | None:
    """What is defined slice by slice, and what is kept to the end."""
    plan = cernis.load(text).plan
    found = sliced(plan, plan)
    if found is None:
        return None
    return {r.name for r in found.relations}, {r.name for r in found.kept}


def test_conditions_at_a_point_are_pointwise() -> None:
    text = f"{BASE}initiatedAt(b(X)=true, T) :- happensAt(g(X), T), holdsAt(a(X)=true, T)."
    assert first_part(text) == ({"a", "b"}, set())


@pytest.mark.parametrize("operator", ["union_all", "intersect_all"])
def test_sets_of_points_are_pointwise(operator: str) -> None:
    text = f"""{BASE}initiatedAt(b(X)=true, T) :- happensAt(g(X), T).
        holdsFor(c(X)=true, I) :-
            holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), {operator}([A, B], I)."""
    assert first_part(text) == ({"a", "b", "c"}, set())


def test_lengths_of_intervals_are_not_and_keep_what_they_read() -> None:
    text = f"""{BASE}
        holdsFor(long(X)=true, I) :- holdsFor(a(X)=true, A), intDurGreater(A, 5, I)."""
    assert first_part(text) == ({"a"}, {"a"})


def test_what_rests_on_whole_intervals_waits_with_them() -> None:
    text = f"""{BASE}
        holdsFor(long(X)=true, I) :- holdsFor(a(X)=true, A), intDurGreater(A, 5, I).
        initiatedAt(b(X)=true, T) :- happensAt(g(X), T), holdsAt(long(X)=true, T)."""
    found = first_part(text)
    assert found is not None
    assert found[0] == {"a"}
    assert found[1] >= {"a", "g"}


def test_patterns_are_never_sliced() -> None:
    assert first_part(f"{BASE}out(X) <- e(X) seq f(X).") is None
