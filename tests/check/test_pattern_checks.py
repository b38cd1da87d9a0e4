"""What is said of event patterns that have a fault."""

from __future__ import annotations

import pytest

from tests.check.checking import codes, errors, found, places


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
        ("e(X) <- e(X) or (e(X) seq a(X)) within 5.", "C065", "e(X)"),
        ("e(X) <- f(X). f(X) <- e(X).", "C065", ""),
        ("e(X) <- d(X) and a(X) within 5. happensAt(d(X), T) :- happensAt(e(X), T).", "C045", ""),
        ("e(X) <- a(X, P) where A = stddev(P, last(3)), A > 1.", "C025", "stddev(P, last(3))"),
        ("e(X) <- a(X, P) where P > stddev(P).", "C025", "stddev(P)"),
        ("e(X) <- a(X, P) where A = sqr(P), A > 1.", "C025", "sqr(P)"),
        ("e(X) <- a(X, P) where \\+ (P > 1, 2 < sqr(P)).", "C025", "sqr(P)"),
        ("e(X) <- a(X, P) where A = avg(P), A > 1.", "C025", "avg(P)"),
        ("e(X) <- a(X, P) where P > 1 + abs(P, P).", "C025", "abs(P, P)"),
        ("e(X) <- a(X, P) seq b(X) within twice(P).", "C025", "twice(P)"),
        ("e(X, 1 + sqr(P)) <- a(X, P).", "C025", "sqr(P)"),
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


@pytest.mark.parametrize(
    ("wrong", "help_"),
    [
        ("average(P, last(3))", "it is called avg"),
        ("summ(P, last(3))", "did you mean `sum`?"),
        ("sqr(P)", "did you mean `sqrt`?"),
        ("sqrt(P, 2)", "sqrt has 1 argument"),
    ],
)
def test_functions_that_may_be_meant_are_named(wrong: str, help_: str) -> None:
    (diagnostic,) = found(f"e(X) <- a(X, P) where A = {wrong}, A > 1.", "C025")
    assert diagnostic.help == help_


@pytest.mark.parametrize(
    "rules",
    [
        "e(X) <- e(X) and a(X) within 5. e(X) <- a(X).",
        "e(X) <- e(X) during a(X) within 5. e(X) <- a(X) seq b(X) within 2.",
        "e(X) <- f(X) seq a(X) within 5. f(X) <- e(X) seq b(X) within 5. e(X) <- a(X).",
        "e(X) <- a(X) or f(X). f(X) <- e(X) seq b(X) within 5.",
        "e(X) <- a(X, P) where P > 2 * avg(P, X, last(5)), end - start < sqrt(4).",
        "e(X) <- a(X, K) where K = pair(X, _). f(pair(X, X)) <- a(X, _).",
    ],
)
def test_what_has_a_meaning_passes(rules: str) -> None:
    assert errors(rules) == set(), codes(rules)


NEVER = {
    "e <- a par b within 5.": "a par b",
    "e <- (a seq b) par c within 5.": "(a seq b) par c",
    "e <- a during b within 5.": "a during b",
    "e <- a starts b within 5.": "a starts b",
    "e <- a finishes b within 5.": "a finishes b",
    "e <- a equals (b seq c) within 5.": "a equals (b seq c)",
    "e <- (a seq b) within 0.": "(a seq b) within 0",
    "d <- a seq b within 1. e <- c during d within 5.": "c during d",
}


@pytest.mark.parametrize("rules", NEVER)
def test_a_pattern_that_can_never_match_is_warned_of(rules: str) -> None:
    assert [d.is_error for d in found(rules, "C072")] == [False]
    assert NEVER[rules] in places(rules, "C072")


@pytest.mark.parametrize(
    "rules",
    [
        "e <- (a seq b) par (c seq d) within 5.",
        "e <- (a seq b) par f=true within 5. initiatedAt(f=true, T) :- happensAt(c, T).",
        "e <- a meets b within 5.",
        "e <- a equals b within 5.",
        "d <- a seq b within 2. e <- c during d within 5.",
        "d <- a. d <- d seq a within 5. e <- c during d within 9.",
    ],
)
def test_a_pattern_that_may_match_is_not(rules: str) -> None:
    assert not found(rules, "C072"), codes(rules)


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


def test_an_argument_to_compute_is_no_event_to_find() -> None:
    assert errors("c(X) <- a(X + 1) seq b(X) within 5.") == {"C062"}
    assert errors("c(X) <- a(Y) seq b(X) where Y = X + 1 within 5.") == set()
