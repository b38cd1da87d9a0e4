"""What rules over time-points read."""

from __future__ import annotations

import cernis
from cernis.check.model import Relation
from cernis.plan.logical import PointRule
from cernis.plan.properties.rule_reads import (
    EVENT,
    FLUENT,
    INITIATIONS,
    is_anchored,
    literals,
    watched_by,
)

RULES = """
initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
initiatedAt(g(X)=true, T) :- happensAt(b(X), T), \\+ holdsAt(f(X)=true, T).
initiatedAt(h(X)=true, T) :- initiatedAt(f(X)=true, T).
"""


def test_a_rule_reads_its_literals_in_order() -> None:
    plan = cernis.load(RULES).plan
    definitions = [d for stage in plan.stages for s in stage.strata for d in s.definitions]
    reads = {
        d.relation.name: [(r.kind, r.relation.name) for r in literals(rule.steps)]
        for d in definitions for rule in d.rules if isinstance(rule, PointRule)
    }  # fmt: skip
    assert reads == {
        "f": [(EVENT, "a")], "g": [(EVENT, "b"), (FLUENT, "f")], "h": [(INITIATIONS, "f")],
    }  # fmt: skip


def test_a_stratum_watches_the_initiations_of_others() -> None:
    plan = cernis.load(RULES).plan
    strata = [stratum for stage in plan.stages for stratum in stage.strata]
    watched = {s.relations[0].name: watched_by(s) for s in strata}
    assert watched == {"f": set(), "g": set(), "h": {Relation("f", 1)}}


def test_a_rule_is_anchored_if_something_that_must_be_true_carries_the_key() -> None:
    plan = cernis.load(RULES).plan
    rules = [r for stage in plan.stages for s in stage.strata for d in s.definitions
             for r in d.rules]  # fmt: skip
    assert all(is_anchored(rule, (0,)) for rule in rules)
