"""Predicates whose answers change while a program runs."""

from __future__ import annotations

import cernis
from cernis.plan.properties.growing_predicates import growing


def test_facts_and_rules_over_them_do_not_grow() -> None:
    program = cernis.load("""
        port(brest). large(P) :- port(P).
        initiatedAt(at(V)=P, T) :- happensAt(enter(V, P), T), large(P).
    """)
    assert growing(program.plan) == frozenset()


def test_domains_grow_and_all_predicates_that_ask_for_them() -> None:
    program = cernis.load("""
        dynamicDomain(ship(_)).
        grounding(seen(V)) :- ship(V).
        pair(V, W) :- ship(V), ship(W). trio(V, W, X) :- pair(V, W), pair(W, X).
        port(brest). large(P) :- port(P).
        initiatedAt(known(V)=true, T) :- happensAt(seen(V), T), \\+ trio(V, V, V), large(brest).
    """)
    assert growing(program.plan) == {"ship", "pair", "trio"}
