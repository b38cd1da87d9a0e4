"""Which predicates change while a program runs: domains that grow with the input."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.plan.builder import Plan
from cernis.plan.logical import parts_of
from cernis.syntax.tree import Compound


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
