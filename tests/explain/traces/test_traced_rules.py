"""Programs with traces: which events stand beside rules."""

from __future__ import annotations

import cernis
from cernis.check.model import Relation
from cernis.explain.traces.traced_rules import traced


def effects(rules: str, *relations: Relation) -> list[tuple[str, str]]:
    """What each trace is about."""
    program = traced(cernis.load(rules).checked, relations or None)
    return [(rule.effect, str(rule.relation)) for rule in program.rules]


def test_changes_are_traced_where_they_change_something() -> None:
    rules = "initiatedAt(f=a, T) :- happensAt(x, T). terminatedAt(f=a, T) :- happensAt(y, T)."
    assert effects(rules) == [("begins", "f/0"), ("ends", "f/0")]


def test_all_initiations_are_traced_where_effects_follow() -> None:
    rules = "initiatedAt(f=a, T) :- happensAt(x, T). fi(f=a, f=b, 3)."
    assert effects(rules) == [("initiates", "f/0"), ("begins", "f/0"), ("replaces", "f/0")]


def test_branches_have_a_trace_each() -> None:
    rules = "happensAt(e, T) :- happensAt(x, T), (happensAt(y(_), T) ; happensAt(z(_, _), T))."
    checked = cernis.load(rules).checked
    parts = [len(rule.parts) for rule in traced(checked).rules]
    assert parts == [2, 2]


def test_only_rules_of_some_relations_are_traced() -> None:
    rules = "happensAt(e, T) :- happensAt(x, T). happensAt(d, T) :- happensAt(x, T)."
    assert effects(rules, Relation("d", 0)) == [("happens", "d/0")]


def test_what_an_aggregate_counts_is_not_told_apart() -> None:
    program = traced(cernis.load("busy(N) <- price(_, _) where N = count(past(3)), N > 2.").checked)
    assert program.rules == ()
