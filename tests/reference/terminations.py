"""Terminations that a body asks for, with the value that other goals of it give.

`terminatedAt(F=V, T)` unifies with a termination of any value. Goals are proved one after the
other, so where a later one gives V its value, the goal is put twice: where it stands, for any
value, and again after the last goal that binds something.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from cernis.syntax.tree import Compound, Term, Variable, functor, variables

from .order import BINDS_NOTHING
from .program import UNUSED


@cache
def settled(goals: tuple[Term, ...]) -> tuple[Term, ...]:
    """The goals of a body, at any depth, with such terminations put twice."""
    goals = tuple(map(_inside, goals))
    late = [goal for at, goal in enumerate(goals) if _is_given_later(goal, goals[at + 1 :])]
    if not late:
        return goals
    early = [_of_any_value(goal, at) if goal in late else goal for at, goal in enumerate(goals)]
    tests = [goal for goal in early if _tests(goal)]
    return (*(goal for goal in early if goal not in tests), *late, *tests)


def _inside(goal: Term) -> Term:
    name = functor(goal)
    if not isinstance(goal, Compound) or goal.functor not in {",", ";", "\\+", "not", "findall"}:
        return goal
    if name == ("findall", 3):
        return Compound("findall", (goal.args[0], _body(goal.args[1]), goal.args[2]))
    if goal.functor == ",":
        return Compound(",", settled(goal.args))
    return Compound(goal.functor, tuple(map(_body, goal.args)))


def _body(goal: Term) -> Term:
    found = settled(goal.args if isinstance(goal, Compound) and goal.functor == "," else (goal,))
    return found[0] if len(found) == 1 else Compound(",", found)


def _is_given_later(goal: Term, later: tuple[Term, ...]) -> bool:
    if not isinstance(goal, Compound) or functor(goal) != ("terminatedAt", 2):
        return False
    pair = goal.args[0]
    value = pair.args[1] if isinstance(pair, Compound) and functor(pair) == ("=", 2) else None
    if not isinstance(value, Variable) or value.name.startswith(UNUSED):
        return False
    return any(value.name in _bound(each) for each in later)


def _bound(goal: Term) -> set[str]:
    """The variables that a goal gives values."""
    if not isinstance(goal, Compound) or goal.functor in BINDS_NOTHING:
        return set()
    if goal.functor == ";":
        return set.intersection(*map(_bound, goal.args))
    if goal.functor == ",":
        return set().union(*map(_bound, goal.args))
    asked: Iterator[Term] = iter(goal.args)
    if functor(goal) == ("terminatedAt", 2):
        asked = iter(())
    elif goal.functor == "is":
        asked = iter(goal.args[:1])
    elif goal.functor in ("findall", "aggregate_all"):
        asked = iter(goal.args[2:])
    return {variable.name for term in asked for variable in variables(term)}


def _tests(goal: Term) -> bool:
    return functor(goal)[0] in BINDS_NOTHING | {"is"}


def _of_any_value(goal: Term, at: int) -> Term:
    assert isinstance(goal, Compound)
    pair, time = goal.args
    assert isinstance(pair, Compound)
    whatever = Variable(f"{UNUSED} value of goal {at}")
    return Compound("terminatedAt", (Compound("=", (pair.args[0], whatever)), time))
