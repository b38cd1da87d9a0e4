"""Aggregates over windows that slide along matches: their form, right or wrong."""

from __future__ import annotations

import pytest

from cernis.check.rewrites.sliding_conditions import is_sliding, sliding
from cernis.syntax import parse
from cernis.syntax.tree import Clause, Term


def goal(text: str) -> Term:
    (clause,) = parse(f"h :- {text}.").items
    assert isinstance(clause, Clause)
    return clause.body[0]


@pytest.mark.parametrize(
    ("text", "kind", "keys", "last", "past"),
    [
        ("A = avg(P, last(50))", "avg", [], 50, None),
        ("A = sum(P, X, past(10))", "sum", ["X"], None, 10),
        ("N = count(all)", "count", [], None, None),
        ("N = count([X, Y], last(3))", "count", ["X", "Y"], 3, None),
        ("A = fold(join, P, X, last(2))", "fold", ["X"], 2, None),
    ],
)
def test_aggregates(text: str, kind: str, keys: list[str], last: int, past: int) -> None:
    found = sliding(goal(text))
    assert found is not None
    assert (found.kind, [v.name for v in found.key]) == (kind, keys)
    assert (found.last, found.past) == (last, past)
    assert found.fold == ("join" if kind == "fold" else "")


@pytest.mark.parametrize(
    "text",
    [
        "3 = avg(P, last(50))",
        "A = avg(P, last(0))",
        "A = avg(P, last(x))",
        "A = avg(last(5))",
        "A = avg(P, X, Y, last(5))",
        "A = avg(P, a, last(5))",
        "A = fold(1, P, last(5))",
    ],
)
def test_forms_of_aggregates_with_something_wrong(text: str) -> None:
    assert is_sliding(goal(text))
    assert sliding(goal(text)) is None


@pytest.mark.parametrize("text", ["A = f(P, last(5))", "A = avg(P)", "P > 3", "p(last(5))"])
def test_other_goals(text: str) -> None:
    assert not is_sliding(goal(text))
