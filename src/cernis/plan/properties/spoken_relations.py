"""Which relations and predicates a part of a plan speaks of."""

from __future__ import annotations

from dataclasses import dataclass

from cernis.check.model import Event, Pair, Relation
from cernis.plan.logical import Exclude, Lookup, parts_of
from cernis.syntax.tree import functor


@dataclass(frozen=True, slots=True)
class SpokenRelations:
    """What a part of a plan speaks of."""

    events: frozenset[Relation]
    fluents: frozenset[Relation]
    predicates: frozenset[tuple[str, int]]

    @staticmethod
    def of(part_of_plan: object) -> SpokenRelations:
        """All that some part of it speaks of."""
        parts = list(parts_of(part_of_plan))
        goals = [part.goal for part in parts if isinstance(part, Lookup | Exclude)]
        return SpokenRelations(
            frozenset(part.relation for part in parts if isinstance(part, Event)),
            frozenset(part.relation for part in parts if isinstance(part, Pair)),
            frozenset(map(functor, goals)),
        )
