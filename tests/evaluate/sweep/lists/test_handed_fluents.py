"""What another stage hands over comes and goes by what its tables say after the window's edge."""

from __future__ import annotations

from random import Random

import numpy as np

import cernis
from cernis.check.model import Relation
from cernis.evaluate.relation_layout import context_of
from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.evaluate.sweep.lists.handed_fluents import HandedFluents, handed_to
from cernis.evaluate.windows import Window
from cernis.evaluate.workspace import Workspace, workspace_for
from cernis.operators.context.query_context import Context
from cernis.plan.builder import Plan
from cernis.tables.interval_pieces import united

RULES = """
initiatedAt(slow(X)=true, T) :- happensAt(brake(X), T).
terminatedAt(slow(X)=true, T) :- happensAt(push(X), T).
holdsFor(jam(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(slow(X)=true, A), holdsFor(slow(Y)=true, B),
    intersect_all([N, A, B], I).
"""
SLOW = Relation("slow", 1)
Rows = set[tuple[int, int, int]]
"""Intervals: the number of a car, start and end."""


def stage_of_jams() -> Plan:
    plan = cernis.load(RULES).plan.stage_plans[2]
    assert plan.is_swept
    assert plan.elsewhere == {1}
    return plan


def context_with(plan: Plan, workspace: Workspace, edge: int, rows: Rows) -> Context:
    """The context of a query into which the rows of `slow` are handed."""
    window = Window(edge, edge + 10, edge)
    context = context_of(plan, workspace.domains, workspace.memo, 1, "break", window, 0)
    arguments, value = context.encoding.fluents[SLOW]
    assert arguments[0] is not None
    assert value is not None
    ordered = sorted(rows)
    cars = arguments[0].encode([f"car{car}" for car, _, _ in ordered])
    starts, ends = (np.array([row[at] for row in ordered], np.int64) for at in (1, 2))
    piece = ([cars], value.encode(["true"] * len(ordered)), starts, ends)
    context.relations.fluents[SLOW] = united([piece], (arguments, value))
    return context


def rows_of(handed: HandedFluents, intervals: BitIntervals) -> Rows:
    (cars,) = handed.of_keys.columns(intervals.keys)
    domain = handed.of_keys.domains[0]
    assert domain is not None
    names = [str(name) for name in domain.decode(cars)]
    return {
        (int(name.removeprefix("car")), start, end)
        for name, start, end in zip(
            names, intervals.starts.tolist(), intervals.ends.tolist(), strict=True
        )
    }


def test_changes_add_up_to_what_was_handed_over() -> None:
    plan = stage_of_jams()
    (program,) = plan.list_programs.values()
    for seed in range(30):
        random, workspace = Random(seed), workspace_for(plan, plan.forms.copy())
        (handed,) = handed_to(program, 1, context_with(plan, workspace, 0, set()))
        known: Rows = set()
        for query in range(6):
            edge = 10 * query
            rows = {
                (car, 20 * turn + random.randint(0, 6), 20 * turn + random.randint(8, 17))
                for car in range(3) for turn in range(4)
            }  # fmt: skip
            rows = {row for row in rows if row[2] > edge + 1}
            changes = handed.update(context_with(plan, workspace, edge, rows))
            come, gone = (rows_of(handed, each) for each in (changes.come, changes.gone))
            # What ended before the edge is in no table any more, and has not gone.
            assert all(end > edge + 1 for _, _, end in come | gone), seed
            assert gone <= known, seed
            assert come.isdisjoint(known), seed
            known = {row for row in known - gone if row[2] > edge + 1} | come
            assert known == rows == rows_of(handed, handed.intervals()), seed


def test_what_was_handed_over_can_be_saved() -> None:
    plan = stage_of_jams()
    (program,) = plan.list_programs.values()
    workspace = workspace_for(plan, plan.forms.copy())
    rows = {(1, 3, 20), (1, 30, 40), (2, 5, 17)}
    context = context_with(plan, workspace, 4, rows)
    (before,), (after,) = (list(handed_to(program, 1, context)) for _ in range(2))
    before.update(context)
    ((relation, saved),) = before.rows()
    after.begin_from({relation: saved}, context)
    assert rows_of(after, after.intervals()) == rows
    changes = after.update(context_with(plan, workspace, 4, rows | {(2, 25, 30)}))
    assert rows_of(after, changes.come) == {(2, 25, 30)}
    assert not len(changes.gone.bits)
