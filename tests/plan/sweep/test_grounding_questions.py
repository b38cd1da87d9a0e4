"""Which groundings ask the same of keys."""

from __future__ import annotations

import cernis
from cernis.check.model import Relation
from cernis.plan.sweep.grounding_questions import NEVER_ALLOWED, GroundedPair, first_alike
from cernis.syntax.tree import Atom

RULES = """
grounding(f(X)=on) :- lamp(X).
grounding(g(K, Y)=V) :- lamp(Y), kind(K), value(V).
grounding(h(Z)=yes) :- lamp(Z).
grounding(h(Z)=no) :- lamp(Z), old(Z).
grounding(i(a)=yes) :- lamp(a).
initiatedAt(f(X)=on, T) :- happensAt(e(X), T).
initiatedAt(g(K, X)=on, T) :- happensAt(e(X), T), kind(K).
initiatedAt(h(X)=yes, T) :- happensAt(e(X), T).
initiatedAt(i(X)=yes, T) :- happensAt(e(X), T).
lamp(a). lamp(b). old(a). kind(k). value(on).
"""


def test_names_of_variables_do_not_matter() -> None:
    groundings = cernis.load(RULES).checked.definitions.groundings
    arities = (("f", 1), ("g", 2), ("h", 1), ("i", 1))
    relations = {name: Relation(name, arity) for name, arity in arities}
    of = {
        name: tuple(each for each in groundings if each.entity.relation == relation)
        for name, relation in relations.items()
    }
    on, yes, no = map(Atom, ("on", "yes", "no"))
    pairs = [
        GroundedPair(relations["f"], (0,), (None,), on, of["f"]),
        GroundedPair(relations["g"], (1,), (Atom("k"), None), on, of["g"]),
        GroundedPair(relations["h"], (0,), (None,), yes, of["h"]),
        GroundedPair(relations["h"], (0,), (None,), no, of["h"]),
        GroundedPair(relations["i"], (0,), (None,), yes, of["i"]),
        GroundedPair(relations["i"], (0,), (None,), yes, of["i"]),
    ]
    # A grounding of one key by name is not compared with others.
    assert first_alike(pairs) == [0, 1, 0, 3, 4, 5]
    assert first_alike([pairs[0]._replace(value=no)]) == [NEVER_ALLOWED]
