"""Which pairs a pair with open variables stands for (section 4 of the semantics)."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.syntax.tree import Compound, Term, Variable, variables

from .context import Context
from .intervals import holds_at
from .program import fluent_of, value_of
from .terms import Env, is_ground, order_key, substitute, unify


def known_instances(context: Context, head: Term, point: int) -> list[Term]:
    """The pairs that a pair with open variables stands for at a point.

    Open arguments range over the fluents that grounding allows with some value; without
    grounding, over those that were initiated at an earlier point of the window, or that hold or
    have effects to come at its edge, whatever their value. An open value ranges over the values
    they are allowed with, or have.
    """
    any_value = Compound("=", (fluent_of(head), Variable("_any")))
    if context.domain.restricts(head):
        pairs = list(context.domain.instances(any_value))
    else:
        pairs = _remembered(context, point)
    envs = [_stands_for(head, pair) for pair in pairs]
    found = {substitute(head, env) for env in envs if env is not None}
    return sorted(found, key=order_key)


def grounded_as(context: Context, head: Term, names: set[str]) -> Iterator[Env]:
    """The values that variables of a pair take from grounding: of any value unless that is one."""
    for pair in _grounded_pairs(context, head):
        env = unify(*_compared(head, pair, head, names), {})
        if env is not None:
            yield env


def is_grounded_as(context: Context, open_head: Term, names: set[str], head: Term) -> bool:
    """Do groundings still allow a pair when the body has bound what else is open in its head?"""
    return any(
        unify(*_compared(head, pair, open_head, names), {}) is not None
        for pair in _grounded_pairs(context, head)
    )


def _grounded_pairs(context: Context, head: Term) -> Iterator[Term]:
    return context.domain.instances(Compound("=", (fluent_of(head), Variable("_any"))))


def _compared(head: Term, pair: Term, open_head: Term, names: set[str]) -> tuple[Term, Term]:
    """The pairs, or the fluents alone unless the value is among the variables."""
    has_value = any(variable.name in names for variable in variables(value_of(open_head)))
    return (head, pair) if has_value else (fluent_of(head), fluent_of(pair))


def _remembered(context: Context, point: int) -> list[Term]:
    """The pairs of simple fluents that are known behind the edge before the point."""
    state, first = context.state, context.edge + context.tick
    known = [pair for pair, held in state.simple.items() if holds_at(held, first)]
    known += context.waiting
    since = context.start if context.edge == context.start else first
    for earlier, initiated in state.initiated.items():
        known += initiated if since <= earlier < point else ()
    return known


def _stands_for(head: Term, pair: Term) -> Env | None:
    """The values that open variables take from a pair; those of the value if that is open."""
    env = unify(fluent_of(head), fluent_of(pair), {})
    return env if env is None or is_ground(substitute(head, env)) else unify(head, pair, {})
