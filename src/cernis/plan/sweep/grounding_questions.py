"""What groundings ask of keys: pairs of which they ask the same are asked about once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cernis.check.model import Grounding, Pair, Relation
from cernis.knowledge.ground_values import canonical
from cernis.plan.sweep.lanes import Arguments
from cernis.plan.sweep.rule_bodies import with_constants
from cernis.syntax.tree import Term, Variable


class GroundedPair(NamedTuple):
    """A pair that groundings restrict, with the key at `positions` among its arguments."""

    relation: Relation
    positions: tuple[int, ...]
    arguments: Arguments
    value: Term
    groundings: tuple[Grounding, ...]


NEVER_ALLOWED = -1
"""In place of a number: no grounding is about the pair."""


def first_alike(pairs: Iterable[GroundedPair]) -> list[int]:
    """For each pair: the number of the first one of which groundings ask the same."""
    known: dict[object, int] = {frozenset(): NEVER_ALLOWED}
    return [
        known.setdefault(number if asked is None else asked, number)
        for number, asked in enumerate(map(question, pairs))
    ]


def question(pair: GroundedPair) -> frozenset[tuple[Term, ...]] | None:
    """The goals of groundings about a key, any of which must be true; None if it is not so easy."""
    _, positions, arguments, value, groundings = pair
    goal_sets: set[tuple[Term, ...]] = set()
    for grounding in groundings:
        entity = grounding.entity
        assert isinstance(entity, Pair)
        names: dict[str, Term] = {}
        fits = True
        for place, term in enumerate((*entity.args, entity.value)):
            is_of_key = place in positions
            known = key_variable(positions.index(place)) if is_of_key else None
            wanted = known or (*arguments, value)[place]
            assert wanted is not None
            if isinstance(term, Variable):
                if term.name != "_" and names.setdefault(term.name, wanted) != wanted:
                    return None
            elif is_of_key:
                return None
            else:
                fits = fits and canonical(term) == wanted
        if fits:
            goal_sets.add(with_constants(tuple(grounding.goals), names))
    return frozenset(goal_sets)


def key_variable(place: int) -> Variable:
    """The variable that stands in questions for an argument of the key."""
    return Variable(f"<{place}>")
