"""Domains that the input fills: which buckets know all that matters to them, and which do not.

`dynamicDomain(p(_))` makes a member of p of every value that the input shows where a grounding says
p. A bucket sees its own records only. That is enough if p is asked for nothing but the key of the
bucket, and all records that fill it come by that key. Else the members must be found beforehand,
in all of the input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from cernis.check.model import (
    Collect,
    Condition,
    Definitions,
    Either,
    Grounding,
    Literal,
    Pair,
    Relation,
    Unless,
    goals_of,
)
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Floats, Integers
from cernis.knowledge.ground_values import Value
from cernis.plan.builder import Plan
from cernis.plan.routes import Positions, Routes, Way
from cernis.records.record_columns import INFINITE, RecordColumns, RecordKind, Records, coded, taken
from cernis.spark.exchange.batch_job import Member, Spans
from cernis.spark.exchange.pack import distinct_rows
from cernis.syntax.tree import Term, Variable, children, functor, walk

FOREVER: Final = math.inf
"""After every query."""

Key = tuple[str, int]
Members = dict[Key, dict[Member, Spans]]


def foreign_domains(plan: Plan, routes: Routes) -> set[Key]:
    """The domains whose members must be found in all of the input beforehand."""
    definitions = plan.checked.definitions
    keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
    return {key for key in keys if not _is_local(key, plan, routes)}


def _is_local(key: Key, plan: Plan, routes: Routes) -> bool:
    definitions = plan.checked.definitions
    if any(functor(node) == key for term in _elsewhere(plan) for node in walk(term)):
        return False
    stage_of = {own: step for step, there in routes.owned.items() for own in there}
    fillers = [pair for pair in _groundings(definitions, key) if _relation(pair[0]) not in stage_of]
    for grounding, goal in _groundings(definitions, key):
        relation = _relation(grounding)
        if relation not in stage_of:
            continue
        step = stage_of[relation]
        if step in routes.linked:
            return False
        places = _key_places(grounding, goal, routes.owned[step][relation])
        if places is None or not all(
            _comes_by(filler, own, step, places, routes) for filler, own in fillers
        ):
            return False
    return True


def _relation(grounding: Grounding) -> Relation:
    return grounding.entity.relation


def _groundings(definitions: Definitions, key: Key) -> Iterator[tuple[Grounding, Term]]:
    """The grounding rules that speak of a domain, and the goals that do."""
    for grounding in definitions.groundings:
        for goal in grounding.goals:
            if functor(goal) == key:
                yield grounding, goal


def _key_places(grounding: Grounding, goal: Term, key: Positions | None) -> Positions | None:
    """Where the key of a fluent stands in a goal of its grounding; None if it does not."""
    if key is None:
        return ()
    wanted = [grounding.entity.args[position] for position in key]
    given = children(goal)
    if not all(isinstance(term, Variable) and term in given for term in wanted):
        return None
    return tuple(given.index(term) for term in wanted)


def _comes_by(
    grounding: Grounding, goal: Term, step: int, places: Positions, routes: Routes
) -> bool:
    """Do the records that fill a domain come to a step by the members' places?"""
    relation = _relation(grounding)
    home = routes.home(relation)
    if relation not in routes.reads.get(step, ()) or home.step != step:
        return False
    if home.way is Way.ONE:
        return True
    if home.way is not Way.KEYED:
        return home.way is Way.EVERYWHERE
    carried = [grounding.entity.args[position] for position in home.links[0]]
    given = children(goal)
    return bool(places) and carried == [given[place] for place in places]


def _elsewhere(plan: Plan) -> Iterator[Term]:
    """Goals of all places but the heads of grounding goals."""
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


# -- members -----------------------------------------------------------------------------------


def members_of(
    records: Records, definitions: Definitions, keys: set[Key], queries: list[Window], tick: int
) -> Members:
    """The members that resolved records make, and as of which queries they are members.

    A member is one from the first query that sees a record of it, until that is taken back.
    """
    found: Members = {key: {} for key in keys}
    for part in records.relations.values():
        first, last = _queries_of(part, queries, tick)
        for key in keys:
            for grounding, goal in _groundings(definitions, key):
                if _relation(grounding) == part.form.relation:
                    _enter(found[key], grounding, goal, part, first, last)
    return found


def members_at(members: Mapping[Member, Spans], query: int) -> list[tuple[Value, ...]]:
    """Who is a member as of a query, in an order that is always the same."""
    there = [
        tuple(value for _, value in member)
        for member, spans in members.items()
        if any(first <= query < last for first, last in spans)
    ]
    return sorted(there, key=repr)


def join_spans(members: dict[Member, Spans], member: Member, spans: Spans) -> None:
    """Let somebody be a member as of further queries."""
    known = (*members.get(member, ()), *spans)
    lasting = min((first for first, last in known if last == FOREVER), default=FOREVER)
    before = {own for own in known if own[1] != FOREVER and own[0] < lasting}
    members[member] = (*sorted(before), *([(int(lasting), FOREVER)] if lasting < FOREVER else []))


def _queries_of(part: RecordColumns, queries: list[Window], tick: int) -> tuple[Integers, Floats]:
    """The first query that sees each record, -1 if none does, and the one that takes it back.

    If a record is forgotten or taken back at the first query after it, it is so at later ones.
    """
    times = np.array([window.query for window in queries], np.int64)
    edges = np.array([window.forgotten for window in queries], np.int64)
    arrival, start = part.times[:2]
    first = np.searchsorted(times, np.maximum(arrival, start))
    at = np.minimum(first, len(times) - 1)
    if part.form.kind is RecordKind.INTERVAL:
        seen = part.times[2] > edges[at] + tick
    else:
        seen = start > edges[at]
    last = np.full(len(part), FOREVER)
    if part.gone is not None:
        seen &= part.gone > times[at]
        last = np.where(part.gone < INFINITE, np.searchsorted(times, part.gone), FOREVER)
    return np.where((first < len(times)) & seen, first, -1), last


def _enter(
    members: dict[Member, Spans], grounding: Grounding, goal: Term, part: RecordColumns,
    first: Integers, last: Floats,
) -> None:  # fmt: skip
    entity = grounding.entity
    terms = [entity.value, *entity.args] if isinstance(entity, Pair) else [*entity.args]
    columns = {
        term.name: column
        for term, column in zip(terms, part.columns, strict=True)
        if isinstance(term, Variable)
    }
    args = children(goal)
    if not args or not all(isinstance(arg, Variable) and arg.name in columns for arg in args):
        return
    chosen = [coded(columns[arg.name]) for arg in args if isinstance(arg, Variable)]
    # Of records that are never taken back, the first of each member is enough.
    lasting = np.flatnonzero((first >= 0) & (last == FOREVER))
    lasting = lasting[np.argsort(first[lasting], kind="stable")]
    rows = lasting[distinct_rows([taken(column, lasting) for column in chosen])]
    for row in (*rows.tolist(), *np.flatnonzero((first >= 0) & (last < FOREVER)).tolist()):
        values = [column.values[int(column.codes[row])] for column in chosen]
        member = tuple((type(value).__name__, value) for value in values)
        join_spans(members, member, ((int(first[row]), float(last[row])),))
