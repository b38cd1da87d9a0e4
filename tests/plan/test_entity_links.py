"""Links: what takes the place of a key where rules cross keys, found from the rules."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.entity_links import Linker

CYCLE = """
initiatedAt(a(X)=true, T) :- happensAt(e(X, Y), T), holdsAt(b(Y)=true, T).
initiatedAt(b(Y)=true, T) :- happensAt(e(X, Y), T), holdsAt(a(X)=true, T).
"""


def linked(text: str) -> list[tuple[str, ...] | None]:
    return [stage.linked_by for stage in cernis.load(text).plan.stages if not stage.key]


def test_a_cycle_that_crosses_keys_is_linked_by_its_records() -> None:
    plan = cernis.load(CYCLE).plan
    assert [stage.linked_by for stage in plan.stages] == [("e/2",)]
    assert not plan.diagnostics
    checked = plan.checked
    vertices = checked.dependencies.components[0].vertices
    links = Linker(checked).links(frozenset(vertex.relation for vertex in vertices))
    assert links is not None
    assert {str(r): own for r, own in links.positions.items()} == {
        "a/1": (0,), "b/1": (0,), "e/2": (0, 1),
    }  # fmt: skip


def test_only_records_that_must_link_do() -> None:
    assert linked(CYCLE + "terminatedAt(a(X)=true, T) :- happensAt(f(X, Z), T).") == [("e/2",)]
    text = CYCLE + "terminatedAt(a(X)=true, T) :- happensAt(e(X, Y), T), happensAt(f(Y, Z), T)."
    assert linked(text) == [("e/2",)]
    text = CYCLE + "terminatedAt(a(X)=true, T) :- happensAt(f(Y, X), T), holdsAt(b(Y)=true, T)."
    assert linked(text) == [("e/2", "f/2")]


def test_links_come_through_what_earlier_stages_derive() -> None:
    text = CYCLE.replace("happensAt(e(", "happensAt(met(")
    derived = "happensAt(met(X, Y), T) :- happensAt(e(X, Y, N), T), N > 0."
    assert linked(text + derived) == [("e/3",)]
    # That two met is known from facts: no record links them.
    derived = "happensAt(met(X, Y), T) :- happensAt(e(X), T), friend(X, Y). friend(m, n)."
    assert linked(text + derived) == [None]


@pytest.mark.parametrize(
    "rule",
    [
        "terminatedAt(a(X)=true, T) :- happensAt(f(X), T), happensAt(clock, T).",
        "terminatedAt(a(X)=true, T) :- happensAt(f(X), T), happensAt(f(Y), T), X \\= Y.",
        "terminatedAt(a(X)=true, T) :- happensAt(f(X), T), happensAt(f(Y), T), "
        "\\+ happensAt(e(X, Y), T).",
        "terminatedAt(a(X)=true, T) :- happensAt(f(X), T), holdsAt(b(m)=true, T).",
        "initiatedAt(a(Z)=true, T) :- happensAt(f(X), T), friend(X, Z). friend(m, n).",
        "initiatedAt(a(m)=true, T) :- happensAt(f(X), T).",
        "terminatedAt(a(X)=true, T) :- happensAt(f(X), T), "
        "( happensAt(e(X, Y), T) ; happensAt(f(Y), T) ), \\+ holdsAt(b(Y)=true, T).",
        "terminatedAt(a(X)=true, T) :- happensAt(f(X), T), "
        "findall(Y, holdsAt(b(Y)=true, T), L), length(L, 2).",
    ],
)
def test_rules_that_records_do_not_hold_together_have_no_links(rule: str) -> None:
    plan = cernis.load(CYCLE + rule).plan
    assert [stage.linked_by for stage in plan.stages] == [None]
    assert [diagnostic.code for diagnostic in plan.diagnostics] == ["C070"]


def test_what_holds_initially_links_nothing() -> None:
    text = """
    initiatedAt(near(X, Y)=true, T) :- happensAt(e(X, Y), T), \\+ holdsAt(a(Y)=true, T).
    initiatedAt(a(X)=true, T) :- happensAt(f(X), T), holdsAt(near(X, Y)=true, T).
    terminatedAt(a(Y)=true, T) :- happensAt(f(X), T), holdsAt(near(X, Y)=true, T).
    """
    assert linked(text) == [("e/2",)]
    assert linked(text + "initially(near(m, n)=true).") == [None]
    assert linked(text + "initially(a(m)=true).") == [("e/2",)]


def test_lists_of_intervals_link_where_they_must_be_there() -> None:
    cycle = CYCLE + "initiatedAt(c(X, Y)=true, T) :- happensAt(e(X, Y), T), holdsAt(a(X)=true, T)."
    rule = "\nholdsFor(d(X)=true, I) :- holdsFor(c(X, Y)=true, C), holdsFor(b(Y)=true, B), "
    assert linked(cycle + rule + "intersect_all([C, B], I).")[0] == ("e/2",)
    assert linked(cycle + rule + "union_all([C, B], I).")[-1] is None


def test_linked_and_unlinked_components_have_stages_of_their_own() -> None:
    text = CYCLE + "initiatedAt(crowd=true, T) :- happensAt(e(_, _), T), holdsAt(a(_)=true, T)."
    assert linked(text) == [("e/2",), None]
