"""What the rules of a program do with its relations."""

from __future__ import annotations

import cernis
from cernis.plan.properties.relation_roles import roles_of


def roles(text: str) -> dict[str, set[str]]:
    program = cernis.load(text)
    found = roles_of(program.plan.stages, program.checked)
    names = ("counted", "watched", "in_time", "looked_back_at")
    return {
        name: {relation.name for relation in getattr(found, name)}
        for name in names if getattr(found, name)
    }  # fmt: skip


START = "initiatedAt(a(X)=true, T) :- happensAt(e(X), T).\n"


def test_plain_rules_have_no_special_roles() -> None:
    assert roles(START) == {}


def test_events_that_aggregates_collect_are_counted() -> None:
    text = """happensAt(busy(N), T) :-
        happensAt(tick, T), findall(X, happensAt(e(X), T), L), length(L, N)."""
    assert roles(text)["counted"] == {"e"}


def test_fluents_whose_initiations_are_conditions_are_watched() -> None:
    text = f"{START}initiatedAt(b(X)=true, T) :- initiatedAt(a(X)=true, T)."
    assert roles(text) == {"watched": {"a"}}


def test_relations_between_intervals_look_back_unless_the_memory_is_none() -> None:
    text = f"""{START}initiatedAt(b(X)=true, T) :- happensAt(f(X), T).
        holdsFor(c(X)=true, I) :-
            holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), before(A, B, source, I)."""
    assert roles(f":- memory(9).\n{text}") == {"looked_back_at": {"a", "b"}}
    assert roles(f":- memory(0).\n{text}") == {}


def test_events_that_only_windows_without_a_key_slide_along_are_wanted_in_time() -> None:
    slides = "high(P) <- price(P) where (avg(P, last(3)) > 5)."
    assert roles(slides) == {"in_time": {"price"}}
    assert roles(f"{slides}\nout(P) <- price(P) seq stop(P).") == {}
