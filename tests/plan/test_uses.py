"""What the literals of rules are about, and which of them a rule cannot do without."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.uses import head_of, indispensable, uses_of

BASE = """
initiatedAt(a(X)=true, T) :- happensAt(e(X), T).
initiatedAt(b(X)=true, T) :- happensAt(f(X), T).
initiatedAt(c(X)=true, T) :- happensAt(g(X), T).
"""


def static(body: str) -> tuple[set[str], set[str]]:
    """What a rule of a statically determined fluent is about, and what it needs."""
    program = cernis.load(f"{BASE}holdsFor(h(X)=true, I) :- {body}.")
    (rule,) = program.checked.definitions.statics
    return {r.name for r, _ in uses_of(rule)}, {r.name for r, _ in indispensable(rule)}


A, B, C = (f"holdsFor({name}(X)=true, {name.upper()})" for name in "abc")


@pytest.mark.parametrize(
    ("operation", "needed"),
    [
        ("union_all([A, B], I)", set()),
        ("intersect_all([A, B], I)", {"a", "b"}),
        ("relative_complement_all(A, [B], I)", {"a"}),
        ("union_all([A, B], J), intersect_all([J, A], I)", {"a"}),
        ("intersect_all([A, B], J), union_all([J, A], I)", {"a"}),
        ("allen(during, A, B, source, I)", {"a", "b"}),
        ("intDurGreater(A, 3, J), union_all([J, B], I), A \\= []", {"a"}),
    ],
)
def test_lists_that_must_not_be_empty(operation: str, needed: set[str]) -> None:
    assert static(f"{A}, {B}, {operation}") == ({"a", "b"}, needed)


def test_conditions_that_are_not_negated_are_needed() -> None:
    program = cernis.load(f"""{BASE}
        initiatedAt(d(X)=true, T) :-
            happensAt(k(X), T), holdsAt(a(X)=true, T), \\+ holdsAt(b(X)=true, T).
    """)
    rule = next(r for r in program.checked.definitions.changes if head_of(r)[0].name == "d")
    assert [r.name for r, _ in uses_of(rule)] == ["k", "a", "b"]
    assert [r.name for r, _ in indispensable(rule)] == ["k", "a"]


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("u(X) seq v(X)", ["u", "v"]),
        ("(u(X) or v(X)) seq w(X)", ["w"]),
        ("u(X) and v(X)", ["u", "v"]),
    ],
)
def test_atoms_without_which_a_pattern_does_not_occur(pattern: str, needed: list[str]) -> None:
    program = cernis.load(f"out(X) <- {pattern}.")
    (rule,) = program.checked.definitions.patterns
    assert head_of(rule)[0].name == "out"
    assert [r.name for r, _ in indispensable(rule)] == needed
