"""Groundings of values that may be any: those they do not allow end others, and never hold."""

from __future__ import annotations

import pytest

import cernis
from tests.evaluate.sweep.test_sweep_then_columns import answers

PLACES = "".join(f"place(x{number}). lives(ann, x{number}). " for number in range(12))
TOY = """
initiatedAt(at(P)=X, T) :- happensAt(go(P, X), T).
initiatedAt(rich(P)=true, T) :- happensAt(win(P), T).
holdsFor(happy(P)=true, I) :- holdsFor(rich(P)=true, A), holdsFor(at(P)=x3, B),
    union_all([A, B], I).
initiatedAt(moved(P)=true, T) :- happensAt(go(P, X), T), holdsAt(at(P)=Old, T), Old \\= X.
person(ann). person(bob).
"""
EVENTS = """go|1|1|ann|x1
go|3|3|ann|x3
go|5|5|ann|nowhere
go|6|6|bob|x5
go|7|7|ann|x2
win|8|8|ann
go|9|9|ann|x4
go|9|9|ann|nowhere
go|10|10|eve|x1
go|11|11|ann|x3
go|14|11|bob|x6
"""


@pytest.mark.parametrize(
    "goals", ["person(P), place(X)", "place(X)", "lives(P, X)", "person(P), lives(Q, X), Q \\= P"]
)
@pytest.mark.parametrize(("window", "step"), [(None, None), (4, 4), (6, 3)])
def test_only_values_that_groundings_allow_hold(
    goals: str, window: int | None, step: int | None
) -> None:
    plan = cernis.load(f"{TOY}{PLACES}\ngrounding(at(P)=X) :- {goals}.\n").plan
    assert plan.is_swept, [verdict for stage in plan.sweep for verdict in stage.verdicts]
    walked, by_columns = answers(plan, EVENTS, window, step)
    assert walked == by_columns
