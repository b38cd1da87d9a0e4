"""Statically determined fluents under uncertainty, at one point and in every possible world.

At a point a fluent has no intervals: in a world it holds there or not. So a list of intervals is
the point itself, or nothing. Each pair that a rule is made of is a fact of that point, true with
the probability that it has there; values of one simple fluent exclude each other. The rules of a
pair add up. Instances are those for which parts that may hold at some point of the run or the
window, grounding and background knowledge give each variable a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cernis.errors import KnowledgeError, UnsupportedError
from cernis.syntax.tree import Clause, Compound, Term, Variable, children, functor

from . import intervals as lists
from .iff import expand
from .static import _background, _distinct, _fluents, _many, _needed, _one, _only_in_background
from .terms import Env, Renamer, is_ground, substitute, unify

if TYPE_CHECKING:
    from .uncertain import Fact, Run

POINT = [(0, 1)]
"""The list of a fluent that holds at the point."""

POINTWISE = ("union_all", "intersect_all", "relative_complement_all", "complement_all")


@dataclass(frozen=True, slots=True)
class StaticRule:
    """`holdsFor(head, at) :- body.`"""

    head: Term
    at: Term
    body: tuple[Term, ...]


def static_rules(clauses: Iterable[Clause]) -> list[StaticRule]:
    """The rules of statically determined fluents, those first that others are made of."""
    rules = []
    for clause in clauses:
        if functor(clause.head) == ("iff", 2):
            clause = expand(*children(clause.head))
        if functor(clause.head) == ("holdsFor", 2):
            head, at = children(clause.head)
            renamer = Renamer("any")
            rules.append(StaticRule(head, at, tuple(map(renamer.anonymous, clause.body))))
    ordered: list[StaticRule] = []
    while rules:
        waiting = [rule.head for rule in rules]
        ready = [
            rule
            for rule in rules
            if not any(may_define(head, part) for head in waiting for part in _fluents(rule))
        ]
        if not ready:
            raise UnsupportedError("a cycle of statically determined fluents")
        for rule in ready:
            _refuse_intervals(rule)
        ordered += ready
        rules = [rule for rule in rules if rule not in ready]
    return ordered


def _refuse_intervals(rule: StaticRule) -> None:
    for goal in rule.body:
        name = functor(goal)[0]
        if name in ("intDurGreater", "intDurLess", "allen", "findall") or name in lists.RELATIONS:
            raise UnsupportedError(f"{name} is not defined at a point")


def may_define(head: Term, pair: Term) -> bool:
    """Is a rule with this head about the pair? Values of one fluent may differ in kind."""
    (fluent, own), (other, asked) = children(head), children(pair)
    is_open = isinstance(own, Variable) or isinstance(asked, Variable)
    return functor(fluent) == functor(other) and (is_open or own == asked)


def point_lists(goal: Term) -> Iterator[Term]:
    """An operation on lists, at a point."""
    assert isinstance(goal, Compound)
    name, args = goal.functor, goal.args
    if name == "union_all":
        result = lists.union_all(_many(args[0]))
    elif name == "intersect_all":
        result = lists.intersect_all(_many(args[0]))
    elif name == "relative_complement_all":
        result = lists.relative_complement_all(_one(args[0]), _many(args[1]))
    else:
        result = lists.relative_complement_all(POINT, _many(args[0]))
    yield Compound(name, (*args[:-1], lists.to_term(result)))


def instances(rule: StaticRule, known: Iterable[Term], run: Run) -> list[Env]:
    """The values of a rule's variables, by what may hold at some point."""
    partial: list[Env] = [{}]
    if run.is_restricted(rule.head):
        for env in run.solver.solve([Compound("grounding", (rule.head,))], {}):
            partial.append({n: t for n, t in env.items() if is_ground(t)})
    candidates = list(known)
    for pair in _fluents(rule):  # type: ignore[arg-type]
        found = (unify(pair, each, env) for env in partial for each in candidates)
        partial = _distinct([*partial, *(env for env in found if env is not None)])
    background, needed = _background(rule), _needed(rule)  # type: ignore[arg-type]
    given = needed - _only_in_background(rule, background)  # type: ignore[arg-type]
    complete = []
    for env in partial:
        if given <= env.keys():
            try:
                answers = [{**env, **answer} for answer in run.solver.solve(background, env)]
            except KnowledgeError:
                continue
            complete += [answer for answer in answers if needed <= answer.keys()]
    return _distinct(complete)


def heads_in(
    world: Mapping[Fact, bool], rule: StaticRule, envs: Iterable[Env], run: Run
) -> frozenset[Term]:
    """The pairs that a rule gives at the point, in a world."""
    run.world = world
    heads = set()
    for env in envs:
        for answer in run.solver.solve(rule.body, env):
            known = {**env, **answer}
            if lists.from_term(substitute(rule.at, known)):
                heads.add(substitute(rule.head, known))
    return frozenset(head for head in heads if run.exists(head))
