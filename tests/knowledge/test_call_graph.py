"""Which predicates a clause calls, wherever its goals stand."""

from __future__ import annotations

import pytest

from cernis.knowledge.call_graph import calls
from cernis.syntax import parse
from cernis.syntax.tree import Clause


def called(body: str, defined: dict[tuple[str, int], object] | None = None) -> list[str]:
    (clause,) = parse(f"h :- {body}.").items
    assert isinstance(clause, Clause)
    return [f"{name}/{arity}" for name, arity in calls(clause, defined or {})]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p(X), q(X, Y)", ["p/1", "q/2"]),
        ("\\+ p(X), (q(X) ; r)", ["p/1", "q/1", "r/0"]),
        ("p(X) -> q ; r", ["p/1", "q/0", "r/0"]),
        ("findall(X, p(X), L), length(L, N)", ["p/1"]),
        ("setof(X, Y^p(X, Y), L)", ["p/2"]),
        ("X > 3, Y is X + 1, X = Y", []),
    ],
)
def test_goals_at_the_bottom(body: str, expected: list[str]) -> None:
    assert called(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("call(p, X)", ["p/1"]),
        ("call(p(a), X, Y)", ["p/3"]),
        ("maplist(p, L, M)", ["p/2"]),
        ("foldl(p(a), L, 0, S)", ["p/4"]),
        ("include(p, L, M)", ["p/1"]),
    ],
)
def test_goals_that_get_more_arguments(body: str, expected: list[str]) -> None:
    assert called(body) == expected


def test_a_program_may_define_a_predicate_of_the_library() -> None:
    assert called("member(X, L)") == []
    assert called("member(X, L)", {("member", 2): None}) == ["member/2"]
    assert called("X > 3", {(">", 2): None}) == []
