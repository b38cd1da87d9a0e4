"""Goals of a body that bind nothing, put behind those that give their variables values.

Whether a variable is bound does not depend on the order of the goals: one that a positive goal
binds anywhere in the body has that goal's value in negations and comparisons, too. Goals are
proved one after the other, so a negation that stands before such a goal waits for it.
"""

from __future__ import annotations

from functools import cache

from cernis.syntax.tree import Compound, Term, functor, variables

from .order import BINDS_NOTHING
from .program import fluent_of, is_pair

_INSIDE = frozenset({",", ";", "\\+", "not"})


@cache
def bound_first(goals: tuple[Term, ...]) -> tuple[Term, ...]:
    """The goals of a body, at any depth, with negations behind what binds their variables."""
    placed: list[Term] = []
    waiting: list[Term] = []
    bound: set[str] = set()
    for at, goal in enumerate(map(_inside, goals)):
        if functor(goal)[0] in BINDS_NOTHING:
            waiting.append(goal)
        else:
            placed.append(goal)
            bound |= _binds(goal)
        to_come = set().union(*map(_binds, goals[at + 1 :])) - bound
        placed += [each for each in waiting if not _names(each) & to_come]
        waiting = [each for each in waiting if _names(each) & to_come]
    return (*placed, *waiting)


def _inside(goal: Term) -> Term:
    if not isinstance(goal, Compound) or goal.functor not in _INSIDE:
        return goal
    if goal.functor == ",":
        return Compound(",", bound_first(goal.args))
    return Compound(goal.functor, tuple(map(_inside, goal.args)))


def _binds(goal: Term) -> set[str]:
    """The variables that a goal gives values; a termination may leave the fluent's value open."""
    if not isinstance(goal, Compound) or goal.functor in BINDS_NOTHING:
        return set()
    if goal.functor == ";":
        return set.intersection(*map(_binds, goal.args))
    if goal.functor == ",":
        return set().union(*map(_binds, goal.args))
    asked = goal.args
    if functor(goal) == ("terminatedAt", 2):
        asked = (fluent_of(asked[0]),) if is_pair(asked[0]) else ()
    elif goal.functor == "is":
        asked = asked[:1]
    elif goal.functor in ("findall", "aggregate_all"):
        asked = asked[2:]
    return set().union(*map(_names, asked))


def _names(term: Term) -> set[str]:
    return {variable.name for variable in variables(term)} - {"_"}
