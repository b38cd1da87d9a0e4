"""Patterns that build upon themselves: rounds until nothing changes.

What ends at a point rests on what ended before it, or ends there and is shorter: each step of a
recursion extends the interval. So each round makes right at least one more length of every chain,
keeps right what is, and a state that no round changes is the answer. Under unrestricted
consumption, and without absence of what is being defined, a round only adds, and only what has
been added by the last one needs to be combined with the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cernis.check.model import Boundary, Event, Relation
from cernis.errors import KnowledgeError
from cernis.operators.context import Context
from cernis.operators.simple import Carried
from cernis.plan.logical import Definition, Match, Stratum
from cernis.plan.steps import Occurrences, Step, steps_of
from cernis.tables.events import EventTable
from cernis.tables.fluents import FluentTable

CarriedOver: TypeAlias = dict[Relation, Carried]
Evaluate: TypeAlias = Callable[[Definition, Context, CarriedOver], int]

MOST_ROUNDS = 100_000
"""More rounds than this are taken for a recursion without end."""


def has_patterns(stratum: Stratum) -> bool:
    """Is some relation of a stratum defined by a pattern?"""
    return any(isinstance(rule, Match) for own in stratum.definitions for rule in own.rules)


def settle(stratum: Stratum, evaluate: Evaluate, context: Context, carried: CarriedOver) -> int:
    """Leave what no round changes in the context; gives the conflicts between values."""
    relations = frozenset(stratum.relations)
    resting = [id(step) for step in _steps(stratum) if _rests_on(step, relations)]
    before: object = None
    for _ in range(MOST_ROUNDS):
        for step in resting:
            context.matched.pop(step, None)
        conflicts = sum(evaluate(own, context, carried) for own in stratum.definitions)
        now = [_state(relation, context) for relation in stratum.relations]
        if now == before:
            return conflicts
        before = now
    name = stratum.relations[0].name
    raise KnowledgeError(name, "the recursion has no end in sight; let each step add a later event")


def _steps(stratum: Stratum) -> list[Step]:
    return [
        step
        for own in stratum.definitions
        for rule in own.rules
        if isinstance(rule, Match)
        for step in steps_of(rule.part.step)
    ]


def _rests_on(step: Step, relations: frozenset[Relation]) -> bool:
    return any(
        _relation(below) in relations for below in steps_of(step) if isinstance(below, Occurrences)
    )


def _relation(step: Occurrences) -> Relation:
    atom = step.atom
    if isinstance(atom, Event):
        return atom.relation
    return atom.pair.relation if isinstance(atom, Boundary) else atom.relation


def _state(relation: Relation, context: Context) -> object:
    """What a round has found, in a form that compares."""
    event, fluent = context.events.get(relation), context.fluents.get(relation)
    if event is not None:
        return _rows_of(event)
    return None if fluent is None else _groups_of(fluent)


def _rows_of(table: EventTable) -> object:
    columns = [*table.arguments, table.times, table.times if table.starts is None else table.starts]
    order = np.lexsort(columns)
    return [column[order].tolist() for column in columns]


def _groups_of(table: FluentTable) -> object:
    groups = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    columns = [*(data[groups] for data, _ in table.columns()), table.starts, table.ends]
    order = np.lexsort(columns)
    return [column[order].tolist() for column in columns]
