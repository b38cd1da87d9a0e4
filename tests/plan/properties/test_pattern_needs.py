"""What patterns need of the time before a window."""

from __future__ import annotations

import math

import cernis
from cernis.check.model import Relation
from cernis.plan.properties.pattern_needs import PatternNeeds

A, B, C = Relation("a", 1), Relation("b", 1), Relation("c", 1)


def needs_of(rules: str) -> PatternNeeds:
    return cernis.load(rules).plan.pattern_needs


def test_a_sequence_needs_its_first_part_as_far_back_as_it_may_last() -> None:
    needs = needs_of("c(X) <- (a(X) seq b(X)) within 10.\n")
    assert {key: reach for key, (_, reach) in needs.atoms.items()} == {
        ("event", A): 10, ("event", B): 0,
    }  # fmt: skip
    assert needs.needed_keys == {("event", A)}
    assert needs.input_events == {A}


def test_a_choice_needs_nothing_of_the_past() -> None:
    needs = needs_of("c(X) <- a(X) or b(X).\n")
    assert not needs.needed_keys
    assert needs.keys == {("event", A), ("event", B)}


def test_a_conjunction_without_a_bound_needs_both_parts_for_good() -> None:
    needs = needs_of("c(X) <- a(X) and b(X).\n")
    assert {reach for _, reach in needs.atoms.values()} == {math.inf}


def test_derived_events_are_not_handed_over_by_the_input() -> None:
    needs = needs_of("b(X) <- a(X) or d(X).\nc(X) <- (b(X) seq e(X)) within 5.\n")
    assert needs.needed_keys == {("event", B)}
    assert not needs.input_events


def test_a_program_without_patterns_needs_nothing() -> None:
    needs = needs_of("initiatedAt(f(X)=true, T) :- happensAt(a(X), T).\n")
    assert not needs.atoms
    assert not needs.leftover_steps
