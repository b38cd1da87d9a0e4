"""Statically determined pairs that rest on other instances, and which of them can be walked."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.builder import Plan
from cernis.plan.linked.late_pairs import asks_for_edges
from tests.plan.linked.linked_programs import walk_all_over_links

RULES = """
    initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T), \\+ holdsAt(g(X)=true, T).
    terminatedAt(f(X, Y)=true, T) :- happensAt(d(X, Y), T).
    initiatedAt(g(X)=true, T) :- happensAt(d(X, Y), T), holdsAt(f(X, Y)=true, T).
"""


def walked(rule: str) -> Plan:
    """The plan of the rules and one more, with all walked over links that can be."""
    plan = cernis.load(RULES + rule).plan
    walk_all_over_links(plan)
    return plan


def late_bits(plan: Plan) -> list[str]:
    """The relations of late bits."""
    return [
        str(bit.relation) for program in plan.linked for kind in program.kinds
        for number, bit in enumerate(kind.lane.state) if kind.late >> number & 1
    ]  # fmt: skip


def test_what_reads_smaller_instances_is_late() -> None:
    plan = walked("h(X, Y)=true iff f(X, Y)=true, not g(X)=true.")
    assert late_bits(plan) == ["h/2"]
    assert plan.is_swept


def test_what_rests_on_late_pairs_is_late() -> None:
    plan = walked("""
        h(X, Y)=true iff f(X, Y)=true, not g(X)=true.
        k(X, Y)=true iff f(X, Y)=true, not h(X, Y)=true.
        l(X, Y)=true iff f(X, Y)=true, not m(X, Y)=true.
        initiatedAt(m(X, Y)=true, T) :- happensAt(d(X, Y), T).
    """)
    assert set(late_bits(plan)) == {"h/2", "k/2"}


STAYING = {
    "may hold where nothing of its own instance does": """
        h(X, Y)=true iff (f(X, Y)=true or g(X)=true).
    """,
    "reads instances that its head does not name": """
        holdsFor(h(X)=true, I) :- holdsFor(g(X)=true, J), holdsFor(f(X, Y)=true, K),
            relative_complement_all(J, [K], I).
    """,
    "reads other instances, and something holds initially": """
        h(X, Y)=true iff f(X, Y)=true, not g(X)=true.
        initially(f(a, b)=true).
    """,
    "reads other instances, and its starts or ends are asked for": """
        h(X, Y)=true iff f(X, Y)=true, not g(X)=true.
        initiatedAt(l(X, Y)=true, T) :- happensAt(start(h(X, Y)=true), T).
    """,
}


@pytest.mark.parametrize("reason", STAYING)
def test_what_is_not_decided_late(reason: str) -> None:
    plan = walked(STAYING[reason])
    assert not late_bits(plan)
    assert not any(str(r)[0] == "h" for program in plan.linked for r in program.definitions)


def test_edges_of_late_bits() -> None:
    plan = walked("h(X, Y)=true iff f(X, Y)=true, not g(X)=true.")
    (kind,) = (kind for kind in plan.linked[0].kinds if kind.late)
    assert not asks_for_edges(kind.lane, kind.late)
