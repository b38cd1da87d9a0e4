"""Functions of arithmetic and aggregates that there are not, and what is advised instead."""

from __future__ import annotations

import pytest

from tests.check.checking import found


def advice(condition: str) -> list[tuple[str, str]]:
    text = f"initiatedAt(a(X)=true, T) :- happensAt(e(X, N), T), {condition}."
    return [(each.message, each.help) for each in found(text, "C025")]


@pytest.mark.parametrize("condition", ["N > abs(3)", "M is max(N, 2), M > 1", "N = f(x)"])
def test_functions_that_there_are_and_terms_that_are_values(condition: str) -> None:
    assert advice(condition) == []


def test_a_misspelt_function_is_named_with_the_one_that_is_meant() -> None:
    ((message, help_),) = advice("N > sqr(4)")
    assert message == "there is no function sqr/1"
    assert "sqrt" in help_


def test_a_function_with_other_arguments_tells_how_many_it_has() -> None:
    ((message, help_),) = advice("N > abs(1, 2)")
    assert message == "there is no function abs/2"
    assert help_ == "abs has 1 argument"


def test_functions_inside_others_are_looked_at() -> None:
    assert [message for message, _ in advice("M is abs(1 + foo(N)), M > 0")] == [
        "there is no function foo/1"
    ]


@pytest.mark.parametrize(("name", "usual"), [("average", "avg"), ("total", "sum")])
def test_aggregates_by_the_names_they_have_elsewhere(name: str, usual: str) -> None:
    (diagnostic,) = found(f"out(P) <- price(P) where (P > {name}(P, last(5))).", "C025")
    assert diagnostic.message == f"there is no aggregate {name}"
    assert diagnostic.help == f"it is called {usual}"


def test_an_aggregate_without_a_window() -> None:
    (diagnostic,) = found("out(P) <- price(P) where (P > avg(P)).", "C025")
    assert diagnostic.message == "avg(P) has no window"
