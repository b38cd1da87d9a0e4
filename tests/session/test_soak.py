"""Many windows go by, with ever new entities: what a session keeps does not grow."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

import cernis
from cernis.session import session as session_module
from cernis.session.saved.plain_trees import packed
from cernis.session.saved.saved_state import saved_tree
from cernis.session.saved.session_file import LAYOUT
from cernis.session.session import Session

RULES = """
dynamicDomain(ship(_)).
grounding(enter(X)) :- ship(X).
grounding(leave(X)) :- ship(X).
grounding(meet(X, Y)) :- ship(X), ship(Y).
grounding(inside(X)=true) :- ship(X).
initiatedAt(inside(X)=true, T) :- happensAt(enter(X), T).
terminatedAt(inside(X)=true, T) :- happensAt(leave(X), T).
initiatedAt(talks(X, Y)=true, T) :- happensAt(meet(X, Y), T), holdsAt(inside(X)=true, T).
terminatedAt(talks(X, Y)=true, T) :- happensAt(end(inside(X)=true), T).
holdsFor(busy(X)=true, I) :-
    holdsFor(inside(X)=true, A), holdsFor(talks(X, Y)=true, B), intersect_all([A, B], I).
"""


def _batch(number: int) -> list[tuple[object, ...]]:
    ships = [f"ship {number} {k}" for k in range(12)]
    at = 100 * number
    found: list[tuple[object, ...]] = [("enter", at + 1, at + 1, ship) for ship in ships]
    found += [("meet", at + 20, at + 20, a, b) for a, b in pairwise(ships)]
    return [*found, *(("leave", at + 60, at + 60, ship, ) for ship in ships)]  # fmt: skip


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
def test_memory_follows_the_window(incremental: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "LEAST_CODES", 64)
    plan = cernis.load(RULES).plan
    assert plan.may_forget_members
    session = Session(plan, 200, 50, 0, incremental=incremental)
    states, memory = [], []
    for number in range(60):
        session.insert(_batch(number))
        session.query(100 * number + 50)
        assert len(session.query(100 * number + 100)) > 0
        if number == 8:
            tracemalloc.start()
        if number % 10 == 9:
            gc.collect()
            memory.append(tracemalloc.get_traced_memory()[0])
            states.append(len(packed(saved_tree(session), LAYOUT)[0]))
    tracemalloc.stop()
    for title, sizes in (("state", states), ("memory", memory)):
        early, late = np.array(sizes[1:4]), np.array(sizes[4:])
        assert late.max() < 1.05 * early.max(), f"{title}: {sizes}"


@pytest.mark.parametrize(
    "rule",
    [
        "initiatedAt(wet(X)=true, T) :- happensAt(rain, T), ship(X).",
        "initiatedAt(wet(X)=true, T) :- happensAt(rain, T).\ngrounding(wet(X)=true) :- ship(X).",
        "initially(wet(X)=false) :- ship(X).",
        "initiatedAt(lit(X)=true, T) :- happensAt(lamp(X), T).\ngrounding(lit(X)=true) :- ship(X).",
        "holdsFor(out(X)=true, I) :- holdsFor(inside(X)=true, A), complement_all([A], I).\n"
        "grounding(out(X)=true) :- ship(X).",
    ],
)
def test_members_are_kept_where_rules_may_speak_of_them(rule: str) -> None:
    """Rules that say something of members that nothing is heard of."""
    plan = cernis.load(RULES + rule + "\n").plan
    assert not plan.may_forget_members
    session = Session(plan, 20, 10, 0)
    session.insert([("enter", 1, 1, "old"), ("leave", 2, 2, "old")])
    for query in range(10, 100, 10):
        session.query(query)
    session._recode()
    assert [len(goal.members()[0]) for goal in session.population.goals][:2] == [1, 1]
