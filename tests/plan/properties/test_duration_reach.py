"""How far before a window's edge durations reach."""

import cernis
from cernis.check.model import Relation

RULES = """
initiatedAt(a(X)=true, T) :- happensAt(e(X), T).
initiatedAt(b(X)=true, T) :- happensAt(f(X), T).
holdsFor(long(X)=true, I) :-
    holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), union_all([A, B], C), least(D),
    intDurGreater(C, D, I).
holdsFor(short(X)=true, I) :- holdsFor(long(X)=true, L), intDurLess(L, 2min, I).
holdsFor(both(X)=true, I) :-
    holdsFor(short(X)=true, S), holdsFor(b(X)=true, B), intersect_all([S, B], I).
holdsFor(either(X)=true, I) :-
    holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), union_all([A, B], I).
least(5). least(9).
"""


def test_durations_add_up() -> None:
    reach = cernis.load(RULES).plan.durations
    by_name = {relation.name: reach for relation, reach in reach.results.items()}
    assert by_name == {"long": 9, "short": 129, "both": 129}
    operands = {relation.name: reach for relation, reach in reach.operands.items()}
    assert operands == {"a": 9, "b": 129, "long": 129, "short": 129}


def test_a_duration_that_is_not_known_reaches_back_for_ever() -> None:
    text = RULES.replace("least(D),", "happened(D),") + "\n:- dynamic happened/1."
    plan = cernis.load(text + "\ndynamicDomain(happened(_)). grounding(e(X)) :- happened(X).").plan
    assert plan.roles.looked_back_at[Relation("a", 1)] is None
