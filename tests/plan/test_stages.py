"""Partition keys, found from the rules."""

from __future__ import annotations

import cernis


def stages(text: str) -> list[tuple[str, ...]]:
    return [stage.key for stage in cernis.load(text).plan.stages]


def test_rules_over_one_entity_share_a_stage() -> None:
    assert stages("""
        initiatedAt(a(V)=true, T) :- happensAt(e(V), T).
        initiatedAt(b(V)=true, T) :- happensAt(f(V, _), T), holdsAt(a(V)=true, T).
    """) == [("V",)]


def test_the_key_need_not_be_the_first_argument() -> None:
    plan = cernis.load("""
        initiatedAt(a(K, V)=true, T) :- happensAt(e(K, V), T), \\+ happensAt(g(V), T).
    """).plan
    assert [stage.key for stage in plan.stages] == [("V",)]
    reads = {exchange.relation: exchange.key for exchange in plan.stages[0].exchanges}
    assert reads == {"e/2": ("V",), "g/1": ("V",)}


def test_pairs_follow_in_a_stage_of_their_own_and_demand_what_they_need() -> None:
    plan = cernis.load("""
        initiatedAt(slow(V)=true, T) :- happensAt(e(V), T).
        holdsFor(together(V, W)=true, I) :-
            holdsFor(near(V, W)=true, N),
            holdsFor(slow(V)=true, S1),
            holdsFor(slow(W)=true, S2),
            intersect_all([N, S1, S2], I).
    """).plan
    assert [stage.key for stage in plan.stages] == [("V",), ("V", "W")]
    demanded = {e.relation: e.demanded_by for e in plan.stages[1].exchanges}
    assert demanded == {"near/2": "", "slow/1": "near/2"}


def test_without_a_shared_variable_all_is_one_partition_and_is_warned_of() -> None:
    plan = cernis.load("initiatedAt(a(V)=true, T) :- happensAt(e(V), T), happensAt(clock, T).").plan
    assert [stage.key for stage in plan.stages] == [()]
    assert [diagnostic.code for diagnostic in plan.diagnostics] == ["C070"]


def test_an_open_head_is_demanded_by_its_own_instances() -> None:
    plan = cernis.load("""
        initiatedAt(met(V, W)=true, T) :- happensAt(meet(V, W), T), \\+ happensAt(bye(W, V), T).
        terminatedAt(met(V, _W)=true, T) :- happensAt(gone(V), T).
        terminatedAt(met(_V, W)=true, T) :- happensAt(lost(W), T).
    """).plan
    assert [stage.key for stage in plan.stages] == [("V", "W")]
    demanded = {e.relation: e.demanded_by for e in plan.stages[0].exchanges}
    assert demanded == {"meet/2": "", "bye/2": "", "gone/1": "met/2", "lost/1": "met/2"}


def test_a_key_is_consistent_over_all_rules_of_a_component() -> None:
    assert stages("""
        initiatedAt(a(X, Y)=true, T) :- happensAt(e(X, Y), T), holdsAt(b(X)=true, T).
        initiatedAt(b(X)=true, T) :- happensAt(f(X), T), holdsAt(a(X, 3)=true, T).
    """) == [("X",)]


def test_a_cycle_that_crosses_keys_has_none() -> None:
    assert stages("""
        initiatedAt(a(X)=true, T) :- happensAt(e(X, Y), T), holdsAt(b(Y)=true, T).
        initiatedAt(b(Y)=true, T) :- happensAt(e(X, Y), T), holdsAt(a(X)=true, T).
    """) == [()]
