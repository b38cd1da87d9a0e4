"""Which domains that the input fills need members from all of the input in every bucket.

With `dynamicDomain(p(_))`, every value that a record has where a grounding names p is a member of
p. A bucket sees only the records that are sent to it. That is enough if the rules ask for no
members of p but the key of the bucket, and if all records that fill p are sent by that key.
"""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.model import (
    Collect,
    Condition,
    Definitions,
    Either,
    Grounding,
    Literal,
    Unless,
    goals_of,
)
from cernis.plan.builder import Plan
from cernis.plan.properties.routes import Positions, Routes, Way
from cernis.syntax.tree import Term, Variable, children, functor, walk

Key = tuple[str, int]


def foreign_domains(plan: Plan, routes: Routes) -> set[Key]:
    """The domains whose members must be determined from all of the input before the run."""
    definitions = plan.checked.definitions
    keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
    return {key for key in keys if not _is_local(key, plan, routes)}


def _is_local(key: Key, plan: Plan, routes: Routes) -> bool:
    definitions = plan.checked.definitions
    if any(functor(node) == key for term in _elsewhere(plan) for node in walk(term)):
        return False
    stage_of = {relation: step for step, keys in routes.owned.items() for relation in keys}
    fillers = [
        (grounding, goal) for grounding, goal in groundings_of(definitions, key)
        if grounding.entity.relation not in stage_of
    ]  # fmt: skip
    for grounding, goal in groundings_of(definitions, key):
        relation = grounding.entity.relation
        if relation not in stage_of:
            continue
        step = stage_of[relation]
        if step in routes.linked:
            return False
        places = _key_places(grounding, goal, routes.owned[step][relation])
        if places is None or not all(
            _comes_by(filler, filled, step, places, routes) for filler, filled in fillers
        ):
            return False
    return True


def groundings_of(definitions: Definitions, key: Key) -> Iterator[tuple[Grounding, Term]]:
    """The grounding rules that name a domain, each with the goal that does."""
    for grounding in definitions.groundings:
        for goal in grounding.goals:
            if functor(goal) == key:
                yield grounding, goal


def _key_places(grounding: Grounding, goal: Term, key: Positions | None) -> Positions | None:
    """The positions of the key of a fluent in a goal of its grounding; None if it is not there."""
    if key is None:
        return ()
    wanted = [grounding.entity.args[position] for position in key]
    arguments = children(goal)
    if not all(isinstance(term, Variable) and term in arguments for term in wanted):
        return None
    return tuple(arguments.index(term) for term in wanted)


def _comes_by(
    grounding: Grounding, goal: Term, step: int, places: Positions, routes: Routes
) -> bool:
    """Are the records that fill a domain sent to a step by these arguments of its members?"""
    relation = grounding.entity.relation
    home = routes.home(relation)
    if relation not in routes.reads.get(step, ()) or home.step != step:
        return False
    if home.way is Way.ONE:
        return True
    if home.way is not Way.KEYED:
        return home.way is Way.EVERYWHERE
    carried = [grounding.entity.args[position] for position in home.links[0]]
    arguments = children(goal)
    return bool(places) and carried == [arguments[place] for place in places]


def _elsewhere(plan: Plan) -> Iterator[Term]:
    """All goals of a program, except that of grounding goals only the arguments count."""
    definitions = plan.checked.definitions
    for body in [rule.body for rule in definitions.changes] + [
        rule.body for rule in definitions.events
    ]:
        yield from _goals(body)
    for static in definitions.statics:
        yield from (goal for each in static.body for goal in goals_of(each))
    yield from (goal for each in definitions.initials for goal in each.goals)
    yield from (goal for each in definitions.effects for goal in each.goals)
    yield from (goal for each in definitions.postponables for goal in each.goals)
    for clauses in plan.checked.clauses.values():
        for clause in clauses:
            yield from clause.body
    for grounding in definitions.groundings:
        for goal in grounding.goals:
            yield from children(goal)


def _goals(body: tuple[Literal, ...]) -> Iterator[Term]:
    for literal in body:
        if isinstance(literal, Condition):
            yield literal.goal
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from _goals(branch)
        elif isinstance(literal, Unless | Collect):
            yield from _goals(literal.body)
