"""Variables that a goal keeps to itself: those of collections and negations.

`findall(P, price(X, P), L)` gives L a value. What P stands for is known inside only, and so is X
unless something else gives it a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cernis.knowledge.call_graph import NEGATIONS
from cernis.syntax.tree import Compound, Term, Variable, functor, variables

COLLECTIONS: Final = frozenset({
    ("findall", 3), ("findall", 4), ("aggregate_all", 3), ("bagof", 3), ("setof", 3),
})  # fmt: skip
"""Goals that gather the answers of another: template, goal, result."""

GROUPING: Final = frozenset({("bagof", 3), ("setof", 3)})
"""Collections with an answer for each value of the variables that stand in their goal only."""

_CLOSED: Final = NEGATIONS | {("forall", 2)}


def without_carets(goal: Term) -> tuple[Term, list[Term]]:
    """A goal without the `X^` in front of it, and these X."""
    hidden = []
    while isinstance(goal, Compound) and functor(goal) == ("^", 2):
        hidden.append(goal.args[0])
        goal = goal.args[1]
    return goal, hidden


def hidden_names(goal: Compound) -> set[str]:
    """The variables that a collection can give no value to those around it."""
    template, inner = goal.args[:2]
    if functor(goal) not in GROUPING:
        return _names(template) | _names(inner)
    _, carets = without_carets(inner)
    return _names(template).union(*map(_names, carets))


def exposed(goal: Term) -> Iterator[Variable]:
    """The variables that a goal can give a value, in reading order, `_` left out."""
    key = functor(goal)
    if isinstance(goal, Compound) and key in _CLOSED:
        return
    if isinstance(goal, Compound) and key in COLLECTIONS:
        hidden = hidden_names(goal)
        for arg in goal.args[1:]:
            yield from (v for v in variables(arg) if v.name != "_" and v.name not in hidden)
        yield from (v for arg in goal.args[2:] for v in variables(arg) if v.name in hidden)
    elif isinstance(goal, Compound) and goal.functor in (",", ";", "->"):
        for arg in goal.args:
            yield from exposed(arg)
    else:
        yield from (v for v in variables(goal) if v.name != "_")


def exposed_names(goal: Term) -> set[str]:
    """The names of the variables that a goal can give a value."""
    return {variable.name for variable in exposed(goal)}


def asked_names(goal: Term) -> set[str]:
    """The names of the variables of a goal, without those that collections in it keep."""
    if isinstance(goal, Compound) and functor(goal) in (*COLLECTIONS, ("forall", 2)):
        return exposed_names(goal)
    if isinstance(goal, Compound) and (
        goal.functor in (",", ";", "->") or functor(goal) in _CLOSED
    ):
        return set[str]().union(*map(asked_names, goal.args))
    return _names(goal)


def _names(term: Term) -> set[str]:
    return {variable.name for variable in variables(term) if variable.name != "_"}
