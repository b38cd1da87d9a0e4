"""Which of the domains that grow with the input the definitions of a program use, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cernis.check.model import Grounding
from cernis.plan.logical import Definition, parts_of
from cernis.syntax.tree import Compound, Term, Variable, functor

if TYPE_CHECKING:
    from cernis.plan.builder import Plan

Predicate: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class DomainUse:
    """A domain that grows with the input, as a definition uses it.

    `pairs` are the arguments of the domain that are in the definition's key: the position of each
    in the domain and in the key. Without such arguments a new member may affect everything. Without
    a predicate, the definition uses growing domains only through other predicates.
    """

    predicate: Predicate | None
    pairs: tuple[tuple[int, int], ...]


def domain_uses(definitions: Iterable[Definition], plan: Plan) -> tuple[DomainUse, ...]:
    """How definitions use the members of domains that grow, each way once."""
    growing_names = plan.growing
    domains = {(r.name, r.arity) for r, _ in plan.checked.definitions.domains}
    return tuple(dict.fromkeys(
        _use(goal, terms, domains)
        for definition in definitions
        for part, terms in _parts_with_keys(definition, plan)
        for goal in parts_of(part)
        if isinstance(goal, Compound) and goal.functor in growing_names
    ))  # fmt: skip


def _parts_with_keys(definition: Definition, plan: Plan) -> Iterator[tuple[object, list[Term]]]:
    """The rules and groundings of a definition, each with the terms of its head in the key."""
    key = plan.homes[definition.relation].positions
    for part in (*definition.rules, *definition.groundings):
        head = part.entity if isinstance(part, Grounding) else getattr(part, "head", None)
        yield part, [head.args[position] for position in key] if head is not None else []


def _use(goal: Compound, key_terms: list[Term], domains: set[Predicate]) -> DomainUse:
    predicate = functor(goal)
    if predicate not in domains:
        return DomainUse(None, ())
    return DomainUse(predicate, tuple(
        (goal.args.index(term), position) for position, term in enumerate(key_terms)
        if isinstance(term, Variable) and term in goal.args
    ))  # fmt: skip
