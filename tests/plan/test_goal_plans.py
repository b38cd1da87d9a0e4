"""Goals beside rules: each is planned once, and equal ones share a plan."""

from __future__ import annotations

import cernis
from cernis.plan.goal_plans import is_of_all
from cernis.plan.logical import Delay, Lookup

RULES = """
grounding(busy(X)=true) :- worker(X).
worker(ann).
worker(bob).
patience(ann, 5).
patience(bob, 7).
initiatedAt(busy(X)=true, T) :- happensAt(call(X), T).
fi(busy(X)=true, busy(X)=false, N) :- patience(X, N).
"""


def test_a_grounding_is_planned_once() -> None:
    plan = cernis.load(RULES).plan
    (grounding,) = plan.checked.definitions.groundings
    steps = plan.goals.of_grounding(grounding)
    assert [type(step) for step in steps] == [Lookup]
    assert plan.goals.of_grounding(grounding) is steps
    assert plan.goals.tables_of((grounding,)) == {("worker", 1)}


def test_a_delay_of_each_instance_is_not_of_all() -> None:
    plan = cernis.load(RULES).plan
    definitions = [d for stage in plan.stages for s in stage.strata for d in s.definitions]
    (delay,) = [rule for d in definitions for rule in d.rules if isinstance(rule, Delay)]
    assert not is_of_all(delay.effect)
    assert plan.goals.of_effect(delay.effect) is plan.goals.of_effect(delay.effect)
