"""Which predicates change while a program runs: domains that grow with the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cernis.check.model import Event, Grounding
from cernis.plan.logical import parts_of
from cernis.syntax.tree import Compound, Variable, functor

if TYPE_CHECKING:
    from cernis.plan.builder import Plan


def growing(plan: Plan) -> frozenset[str]:
    """The names of domains that grow with the input, and of predicates that may ask for them."""
    growing_names = {relation.name for relation, _ in plan.checked.definitions.domains}
    names = {
        key: set(functors_in(tuple(clause.body for clause in called)))
        for key, called in plan.checked.clauses.items()
    }
    while True:
        more = {
            key.name for key, called in names.items() if not called.isdisjoint(growing_names)
        } - growing_names
        if not more:
            return frozenset(growing_names)
        growing_names |= more


def functors_in(node: object) -> Iterator[str]:
    """The names of all compound terms in something."""
    return (part.functor for part in parts_of(node) if isinstance(part, Compound))


def domain_goals(grounding: Grounding, keys: set[tuple[str, int]]) -> Iterator[Compound]:
    """The goals that say which domain the arguments of an input entity belong to."""
    entity = grounding.entity
    terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
    names = {term.name for term in terms if isinstance(term, Variable)}
    for goal in grounding.goals:
        if isinstance(goal, Compound) and functor(goal) in keys:
            args = [arg for arg in goal.args if isinstance(arg, Variable) and arg.name in names]
            if len(args) == len(goal.args):
                yield goal
