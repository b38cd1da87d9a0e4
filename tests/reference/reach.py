"""How far before a window's edge rules with durations see, and may still begin.

Whether an interval is long may be decided only when its beginning has left the window. The reach of
a list is the longest sum of durations, one upon another, that it is made with; that of a fluent is
the longest of its rules. So far back do its rules see the intervals that they are made of, and as
far back may an interval begin that goes on after the edge.
"""

from __future__ import annotations

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Compound, Term, Variable, functor, variables

from .arithmetic import NoValue, evaluate
from .intervals import INF
from .program import Program, Rule
from .solve import Solver
from .terms import Env, substitute, unify

DURATIONS = {("intDurGreater", 3), ("intDurLess", 3)}


def reach_of(program: Program, solver: Solver, pair: Term, above: tuple[Rule, ...] = ()) -> float:
    """The reach of the fluent of a pair; `above` are the rules that ask for it."""
    fluent = _fluent(pair)
    rules = [
        rule for rule in program.rules
        if rule.kind == "holdsFor" and _alike(_fluent(rule.head), fluent)
        and not any(rule is other for other in above)
    ]  # fmt: skip
    return max((_reach(program, solver, rule, (*above, rule)) for rule in rules), default=0)


def _fluent(pair: Term) -> Term:
    return pair.args[0] if isinstance(pair, Compound) and pair.functor == "=" else pair


def _alike(one: Term, other: Term) -> bool:
    """Are two fluents of one name, the names of compound arguments included?"""
    if not (isinstance(one, Compound) and isinstance(other, Compound)):
        return isinstance(one, Compound) == isinstance(other, Compound) and (
            not isinstance(one, Compound) and unify(one, other, {}) is not None
        )
    return functor(one) == functor(other) and all(map(_alike_arguments, one.args, other.args))


def _alike_arguments(one: Term, other: Term) -> bool:
    if isinstance(one, Compound) or isinstance(other, Compound):
        return _alike(one, other)
    return True


def _reach(program: Program, solver: Solver, rule: Rule, above: tuple[Rule, ...]) -> float:
    reaches: dict[str, float] = {}
    for goal in rule.body:
        if not isinstance(goal, Compound):
            continue
        if functor(goal) == ("holdsFor", 2):
            reach = reach_of(program, solver, goal.args[0], above)
        else:
            lists = (v.name for arg in goal.args[:-1] for v in variables(arg))
            reach = max((reaches[name] for name in lists if name in reaches), default=0)
            if functor(goal) in DURATIONS:
                reach += max(_longest(solver, goal.args[1], rule), 1)
        if isinstance(goal.args[-1], Variable):
            reaches.setdefault(goal.args[-1].name, reach)
    return reaches.get(rule.at.name, 0) if isinstance(rule.at, Variable) else 0


def _longest(solver: Solver, duration: Term, rule: Rule) -> float:
    """The longest that a duration may be, by what the background literals let it be."""
    names = {variable.name for variable in variables(duration)}
    if not names:
        return _value(duration)
    goals = [goal for goal in rule.body if functor(goal) not in {*DURATIONS, ("holdsFor", 2)}]
    goals = [goal for goal in goals if names <= {each.name for each in variables(goal)}]
    answers = [answer for goal in goals for answer in _answers(solver, goal)]
    return max((_value(substitute(duration, answer)) for answer in answers), default=INF)


def _answers(solver: Solver, goal: Term) -> list[Env]:
    try:
        return list(solver.solve([goal], {}))
    except KnowledgeError:
        return []


def _value(duration: Term) -> float:
    try:
        return evaluate(duration, {})
    except (NoValue, KnowledgeError):
        return INF
