"""Which relations and predicates rules speak of."""

from __future__ import annotations

import cernis
from cernis.check.model import Relation
from cernis.plan.properties.spoken_relations import SpokenRelations

RULES = """
limit(low, 3).
initiatedAt(f(X)=true, T) :- happensAt(a(X, N), T), limit(low, N).
initiatedAt(g(X)=true, T) :- happensAt(b(X), T), \\+ holdsAt(f(X)=true, T).
"""


def test_a_rule_speaks_of_its_head_and_of_all_its_literals() -> None:
    plan = cernis.load(RULES).plan
    definitions = [d for stage in plan.stages for s in stage.strata for d in s.definitions]
    spoken = {d.relation.name: SpokenRelations.of(d.rules) for d in definitions}
    assert spoken["f"].events == {Relation("a", 2)}
    assert spoken["f"].predicates == {("limit", 2)}
    assert spoken["g"].fluents == {Relation("f", 1), Relation("g", 1)}
