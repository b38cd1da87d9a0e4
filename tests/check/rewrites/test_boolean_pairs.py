"""`iff`: Boolean combinations of pairs become operations on intervals."""

from __future__ import annotations

import pytest

from cernis.check.model import Condition, HoldsFor, IntervalOperation
from tests.check.checking import errors, understood

BASE = "".join(f"initiatedAt({f}(X)=true, T) :- happensAt(e{f}(X), T).\n" for f in "abc")


def operations(body: str) -> list[str]:
    """What a combination of a, b and c becomes: fluents, operators and conditions in order."""
    (rule,) = understood(f"{BASE}g(X)=true iff {body}.").statics
    found = []
    for literal in rule.body:
        if isinstance(literal, HoldsFor):
            found.append(literal.pair.relation.name)
        elif isinstance(literal, IntervalOperation):
            found.append(literal.operator)
        elif isinstance(literal, Condition):
            found.append("condition")
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a(X)=true or b(X)=true", ["a", "b", "union_all"]),
        ("a(X)=true, b(X)=true", ["a", "b", "intersect_all"]),
        ("a(X)=true and b(X)=true", ["a", "b", "intersect_all"]),
        ("a(X)=true, not b(X)=true", ["a", "b", "relative_complement_all"]),
        ("a(X)=true, X > 3", ["a", "condition"]),
        ("a(X)=true", ["a"]),
    ],
)
def test_operators(body: str, expected: list[str]) -> None:
    assert sorted(operations(body)) == sorted(expected)


def test_combinations_are_nested() -> None:
    found = operations("(a(X)=true or b(X)=true), not c(X)=true")
    assert found.index("union_all") < found.index("relative_complement_all")


def test_without_a_fluent_there_is_nothing_to_combine() -> None:
    assert errors(f"{BASE}g(X)=true iff X > 3.") >= {"C061"}
