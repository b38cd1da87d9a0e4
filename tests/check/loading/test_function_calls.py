"""Calls of functions are found wherever conditions stand."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.loading.function_calls import call_functions
from cernis.check.reporter import Report
from cernis.knowledge.user_functions import UserFunction, user_functions
from cernis.syntax import parse
from cernis.syntax.printer import show
from cernis.syntax.tree import Clause


def twice(number: float) -> float:
    return number * 2


def is_high(number: float) -> bool:
    return number > 5


@pytest.fixture
def functions() -> tuple[UserFunction, ...]:
    return user_functions({"twice": twice, "is_high": is_high})


def body(rule: str, functions: tuple[UserFunction, ...]) -> list[str]:
    """The conditions of a rule, in which digests are left out."""
    (clause,) = call_functions(parse(rule).items, functions, Report())
    assert isinstance(clause, Clause)
    shown = [show(goal) for goal in clause.body]
    for each in functions:
        shown = [text.replace(f"'{each.functor}'", each.name.upper()) for text in shown]
    return shown


def test_calls_are_found_within_expressions_and_control(
    functions: tuple[UserFunction, ...],
) -> None:
    rule = "p(X, Y) :- X > twice(twice(Y) + 1), (is_high(X) ; \\+ is_high(Y)), is_high(X, Y)."
    assert body(rule, functions) == [
        "X > TWICE(TWICE(Y) + 1)", "IS_HIGH(X) =:= 1 ; \\+ IS_HIGH(Y) =:= 1", "is_high(X, Y)",
    ]  # fmt: skip


def test_programs_without_functions_stay_as_they_are() -> None:
    items = parse("p(X) :- twice(X).").items
    assert call_functions(items, (), Report()) == list(items)


def test_conditions_of_patterns_call_functions() -> None:
    rules = "rise(X) <- a(X, N) seq b(X, M) where twice(N) < M, is_high(M)."
    program = cernis.load(rules, functions={"twice": twice, "is_high": is_high})
    text = program.run("a|1|1|x|4\nb|2|2|x|9\na|3|3|y|2\nb|4|4|y|5\n").text()
    assert "rise(x)" in text
    assert "rise(y)" not in text
