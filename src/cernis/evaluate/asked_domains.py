"""Which domains that grow the definitions of a program ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cernis.check.model import Grounding
from cernis.evaluate.query_loop import Predicate
from cernis.evaluate.relation_layout import Spaces
from cernis.plan.growing_predicates import growing
from cernis.plan.logical import Definition, parts_of
from cernis.syntax.tree import Compound, Variable, functor


@dataclass(frozen=True, slots=True)
class AskedDomain:
    """A domain that grows, as a definition asks for it: which of its arguments are in the key.

    Without such arguments a new member may affect everything. Without a predicate, it is asked for
    by way of others.
    """

    predicate: Predicate | None
    pairs: tuple[tuple[int, int], ...]


def asked_domains(definitions: Iterable[Definition], spaces: Spaces) -> tuple[AskedDomain, ...]:
    """How definitions ask for the members of domains that grow."""
    names = growing(spaces.plan)
    domains = {(r.name, r.arity) for r, _ in spaces.plan.checked.definitions.domains}
    found: dict[AskedDomain, None] = {}
    for definition in definitions:
        key = spaces.homes[definition.relation].positions
        for part in (*definition.rules, *definition.groundings):
            head = part.entity if isinstance(part, Grounding) else getattr(part, "head", None)
            terms = [head.args[at] for at in key] if head is not None else []
            for goal in parts_of(part):
                if isinstance(goal, Compound) and goal.functor in names:
                    predicate = functor(goal)
                    pairs = tuple((goal.args.index(t), at) for at, t in enumerate(terms)
                                  if isinstance(t, Variable) and t in goal.args)  # fmt: skip
                    is_straight = predicate in domains
                    own = AskedDomain(predicate, pairs) if is_straight else AskedDomain(None, ())
                    found[own] = None
    return tuple(found)
