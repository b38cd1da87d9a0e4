"""Which predicates a clause calls, and the order in which predicates can be understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cernis.knowledge.ground_values import Key
from cernis.knowledge.resolution.builtins import BUILTINS, builtin
from cernis.syntax.tree import Atom, Clause, Compound, Term, functor

NEGATIONS: Final = frozenset({("\\+", 1), ("not", 1)})
_APPLIED: Final = {"call": None, "maplist": None, "foldl": 3, "include": 1, "exclude": 1}
"""Predicates that add arguments to the goal they are given, and how many; None: all the others."""


def leaves(goal: Term) -> Iterator[Term]:
    """The goals at the bottom of a goal: below conjunctions, negations, collections and the like.

    The goals that hold others are not among them, but collections are, as they have a result.
    """
    known = builtin(*functor(goal))
    if known is None or not known.goals or not isinstance(goal, Compound):
        yield goal
        return
    if goal.functor in _APPLIED:
        yield _applied(goal)
        return
    if known.kind != "control":
        yield goal
    positions = range(len(goal.args)) if goal.functor in (",", ";") else known.goals
    for position in positions:
        yield from leaves(_without_carets(goal.args[position]))


def _applied(goal: Compound) -> Term:
    target, *extra = goal.args
    added = _APPLIED[goal.functor]
    added_args = tuple(extra) if added is None else tuple(extra[:1] * added)
    if isinstance(target, Compound):
        return Compound(target.functor, (*target.args, *added_args), goal.span)
    if isinstance(target, Atom) and added_args:
        return Compound(target.name, added_args, goal.span)
    return target


def _without_carets(goal: Term) -> Term:
    while isinstance(goal, Compound) and functor(goal) == ("^", 2):
        goal = goal.args[1]
    return goal


def calls(clause: Clause, defined: Mapping[Key, object]) -> Iterator[Key]:
    """The predicates a clause calls, built-ins left out unless the program defines them."""
    for goal in clause.body:
        for leaf in leaves(goal):
            key = functor(leaf)
            if key[0] and (key not in BUILTINS or (key in defined and BUILTINS[key].library)):
                yield key
