"""Properties of plans in sentences: only what is not as usual is said."""

from __future__ import annotations

import cernis
from cernis.plan.property_text import describe_properties


def said(rules: str) -> list[str]:
    return list(describe_properties(cernis.load(rules).plan))


def test_a_plain_program_is_walked_in_slices_too() -> None:
    assert said("initiatedAt(f(X)=true, T) :- happensAt(a(X), T).\n") == [
        "sessions walk on from the first change of each key",
        "on Spark, stage 1 can be walked in slices of time",
    ]


def test_what_does_not_fit_lanes_is_evaluated_for_keys_with_news() -> None:
    rules = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T), \\+ happensAt(b(X, _), T), c(X, Y).\n"
    rules += "initiatedAt(g(X, Y)=true, T) :- happensAt(a(X), T), happensAt(d(Y), T).\nc(1, 2).\n"
    assert "sessions evaluate for the keys that have news: f/1 and g/2" in said(rules)


def test_what_rules_wait_for_is_kept() -> None:
    rules = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T).\n"
    rules += "initiatedAt(g(X)=true, T) :- initiatedAt(f(X)=true, T).\n"
    assert "initiations and terminations of f/1 are kept for other rules" in said(rules)


def test_patterns_say_how_far_back_they_see() -> None:
    assert said("c(X) <- (a(X) seq b(X)) within 10.\n")[:2] == [
        "patterns of a/1 see up to 10 before the window",
        "sessions evaluate the whole window again at every query",
    ]
    assert "patterns of a/1 and b/1 see everything before the window" in said(
        "c(X) <- a(X) and b(X).\n"
    )


def test_members_of_domains_are_forgotten_or_kept() -> None:
    domain = "dynamicDomain(v(_)).\ngrounding(a(X)) :- v(X).\ngrounding(f(X)=true) :- v(X).\n"
    named = domain + "initiatedAt(f(X)=true, T) :- happensAt(a(X), T).\n"
    assert "members of v/1 are forgotten when nothing in the window names them" in said(named)
    of_all = domain + "initiatedAt(f(X)=true, T) :- happensAt(bell, T).\n"
    kept = "members of v/1 are kept for good, since rules may still ask for them"
    assert kept in said(of_all)


def test_stages_on_spark_are_walked_or_not() -> None:
    rules = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T).\n"
    pairs = "initiatedAt(g(X, Y)=true, T) :- happensAt(b(X), T), happensAt(d(Y), T).\n"
    told = said(rules + pairs)
    assert "on Spark, stage 1 is walked" in told
    assert "on Spark, stage 1 can be walked in slices of time" in told
    assert not [line for line in told if "stage 2" in line and "walked" in line]
