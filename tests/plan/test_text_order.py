"""Steps in the order of the text, each still after what it builds upon."""

from __future__ import annotations

import cernis
from cernis.plan.logical import PointRule
from cernis.plan.text_order import in_text_order

RULES = """
limit(3).
initiatedAt(f(X)=true, T) :- happensAt(a(X, N), T), holdsAt(g(X)=true, T), limit(M), N + 1 > M.
initiatedAt(g(X)=true, T) :- happensAt(b(X), T).
"""


def test_conditions_come_after_what_stands_before_them_in_the_text() -> None:
    plan = cernis.load(RULES).plan
    definitions = [d for stage in plan.stages for s in stage.strata for d in s.definitions]
    (rule,) = [r for d in definitions if d.relation.name == "f" for r in d.rules]
    assert isinstance(rule, PointRule)
    steps = in_text_order(rule.steps)
    assert set(steps) == set(rule.steps)
    assert [step.span[0] for step in steps] == sorted(step.span[0] for step in steps)
