"""Keys that are known without records: those that the groundings of a fluent name."""

from __future__ import annotations

from dataclasses import dataclass

from cernis.check.model import Grounding, Pair, Relation
from cernis.plan.sweep.rule_bodies import names_of
from cernis.plan.sweep.unfit import NotSweptError
from cernis.source import Span
from cernis.syntax.tree import Variable


@dataclass(frozen=True, slots=True)
class KeyMembers:
    """The values that `groundings` name for the arguments `positions` of a relation.

    A complement holds of each of them, whatever has happened to it.
    """

    relation: Relation
    positions: tuple[int, ...]
    groundings: tuple[Grounding, ...]

    @property
    def head(self) -> Pair:
        """A pair that stands for all instances."""
        *args, value = (Variable(f"<{at}>") for at in range(self.relation.arity + 1))
        return Pair(self.relation, tuple(args), value)


def members_of(
    relation: Relation, positions: tuple[int, ...], groundings: tuple[Grounding, ...], span: Span
) -> KeyMembers:
    """The keys that groundings name; an error if they do not name all of a key."""
    if not groundings:
        raise NotSweptError("holds where nothing else does, of whatever there is", span)
    for grounding in groundings:
        entity = grounding.entity
        args = entity.args if isinstance(entity, Pair) else ()
        of_key = [args[place] for place in positions] if args else []
        named = {term.name for term in of_key if isinstance(term, Variable)} - {"_"}
        is_named = len(named) == len(positions) and named <= names_of(grounding.goals)
        if not is_named:
            raise NotSweptError(
                "holds where nothing else does, of members that groundings do not name", span
            )
    return KeyMembers(relation, positions, groundings)
