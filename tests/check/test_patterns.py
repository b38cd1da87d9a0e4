"""What is said of event patterns that have a fault."""

from __future__ import annotations

import pytest

from .checking import codes, errors, found, places


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("e(X, Y) <- a(X) seq b(X) within 5.", "C030", "Y"),
        ("e(X) <- (a(X) or b(_)) within 5.", "C030", "X"),
        ("e(X) <- a(X) where Z > 3.", "C032", "Z"),
        ("e(X) <- (a(X) where N > 3) seq b(X, N) within 5.", "C032", "N"),
        ("e(X, A) <- a(X) where A = avg(P, last(5)).", "C032", "P"),
        ("e(X, A) <- a(X, P) where A = avg(P, Y, last(5)).", "C032", "Y"),
        ("e(X) <- e(X).", "C065", "e(X)"),
        ("e(X) <- e(X) and a(X) within 5.", "C065", "e(X)"),
        ("e(X) <- e(X) during a(X) within 5.", "C065", "e(X)"),
        ("e(X) <- f(X). f(X) <- e(X).", "C045", ""),
        ("e(X) <- a(X, N) where N > 3. f(X) <- a(X, dog).", "C050", ""),
        ("e(X) <- a(X, N) where N > dog.", "C050", "dog"),
        ("e(X) <- a(X) seq b(X) within soon.", "C066", "soon"),
        ("e(X) <- a(X, P) where A = avg(P, last(0)), A > 2.", "C066", "A = avg(P, last(0))"),
        ("e(X) <- a(X) where holdsAt(f(X)=true, 3).", "C060", "holdsAt(f(X)=true, 3)"),
        ("e(X) <- X seq b(X) within 5.", "C062", "X"),
    ],
)
def test_errors(text: str, code: str, place: str) -> None:
    assert errors(text) == ({code} if code else set()), codes(text)
    assert not place or place in places(text, code)


UNBOUNDED = ["e <- a seq b.", "e <- (a seq b within 5) seq c.", "e <- not(c)[a, b].",
             "e <- (a seq b) or (a seq c within 5).", "e(X) <- a(X) seq e(X)."]  # fmt: skip


@pytest.mark.parametrize("rule", UNBOUNDED)
def test_state_without_bound_is_warned_of(rule: str) -> None:
    assert [d.is_error for d in found(rule, "C071")] == [False]
    assert not found(f":- consumption(recent). {rule}", "C071")
    name = rule.partition(" <-")[0].replace("(X)", "")
    arity = 1 if "(X)" in rule else 0
    assert not found(f":- consumption({name}/{arity}, chronological). {rule}", "C071")


@pytest.mark.parametrize("rule", ["e <- a.", "e <- a or b.", "e <- (a seq b) within 5.", "e <- 7."])
def test_state_with_a_bound_is_not(rule: str) -> None:
    assert codes(rule) == []
