"""Who is in the domains that grow with the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from cernis.check.model import Definitions, Event, Grounding, Pair
from cernis.kernels.array_types import Array
from cernis.operators.distinct import distinct
from cernis.operators.query_context import Context, recoded
from cernis.records.encoded_input import Input
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Column
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import Finder

_Columns: TypeAlias = dict[str, tuple[Array, Domain | None]]


class Members:
    """The members of dynamic domains, as far as a run has seen them."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._members: dict[int, list[Array]] = {}
        self._filled: dict[tuple[str, int], tuple[list[Array], int]] = {}

    def fill(self, context: Context, given: Input) -> None:
        """Fill dynamic domains from the input seen so far, but for what was taken back."""
        definitions = self._definitions
        keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
        if not keys:
            return
        members: dict[tuple[str, int], list[list[Array]]] = {key: [] for key in keys}
        for grounding in definitions.groundings:
            columns = _entity_columns(grounding.entity, context)
            kept = _not_taken_back(grounding.entity, given, context.query)
            for goal in domain_goals(grounding, keys):
                own = self._seen(goal, columns, kept, context)
                if own is not None:
                    members[functor(goal)].append(own)
        for key, parts in members.items():
            self._fill(key, parts, context)

    def _seen(
        self, goal: Compound, columns: _Columns | None, kept: _Columns | None, context: Context
    ) -> list[Array] | None:
        """The members that a goal has been given so far, but for those that were taken back."""
        own = self._members.get(id(goal))
        if columns is not None:
            now = _members_of(goal, columns, context)
            own = now if own is None else _different([own, now], context.slots_of(functor(goal)))
        if own is not None and kept is not None:
            alive = _members_of(goal, kept, context)
            domains = context.slots_of(functor(goal))
            finder = Finder(list(zip(alive, domains, strict=True)), len(alive[0]))
            stands = finder.one(own, len(own[0])) >= 0
            own = [column[stands] for column in own]
        if own is not None:
            self._members[id(goal)] = own
        return own

    def _fill(self, key: tuple[str, int], parts: list[list[Array]], context: Context) -> None:
        none: list[Array] = [np.empty(0, np.int64)] * key[1]
        rows = _different(parts, context.slots_of(key)) if parts else none
        before, filling = self._filled.get(key, (None, 0))
        if before is None or not all(map(np.array_equal, before, rows)):
            filling += 1
        self._filled[key] = rows, filling
        context.filled[key], context.fillings[key] = rows, filling


def domain_goals(grounding: Grounding, keys: set[tuple[str, int]]) -> Iterator[Compound]:
    """The goals that say which domain the arguments of an input entity belong to."""
    entity = grounding.entity
    terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
    names = {term.name for term in terms if isinstance(term, Variable)}
    for goal in grounding.goals:
        if isinstance(goal, Compound) and functor(goal) in keys:
            args = [arg for arg in goal.args if isinstance(arg, Variable) and arg.name in names]
            if len(args) == len(goal.args):
                yield goal


def _members_of(goal: Compound, columns: _Columns, context: Context) -> list[Array]:
    """The different values that the arguments of a goal take, as its predicate encodes them."""
    domains = context.slots_of(functor(goal))
    chosen = [columns[arg.name] for arg in goal.args if isinstance(arg, Variable)]
    first, _ = distinct([c for c, _ in chosen], [d for _, d in chosen])
    return [
        recoded(Column(column[first], own), domain, len(first))
        for (column, own), domain in zip(chosen, domains, strict=True)
    ]


def _different(parts: list[list[Array]], domains: list[Domain | None]) -> list[Array]:
    """The different rows of several tables, those of the first ones first."""
    columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
    first, _ = distinct(columns, domains)
    rows = np.sort(first)
    return [column[rows] for column in columns]


def _not_taken_back(entity: Event | Pair, given: Input, query: int) -> _Columns | None:
    """The columns of what has arrived and stands; None if nothing was taken back."""
    if isinstance(entity, Event):
        events = given.events.get(entity.relation)
        if events is None or events.gone is None:
            return None
        stands = (events.arrivals <= query) & (events.gone > query)
        pairs = list(zip(entity.args, events.arguments, events.domains, strict=True))
    else:
        fluent = given.fluents.get(entity.relation)
        if fluent is None or fluent.gone is None:
            return None
        stands = (fluent.arrivals <= query) & (fluent.gone > query)
        terms = [*entity.args, entity.value]
        columns = [*fluent.arguments, fluent.values]
        pairs = list(zip(terms, columns, [*fluent.domains, fluent.value_domain], strict=True))
    return {t.name: (c[stands], d) for t, c, d in pairs if isinstance(t, Variable)}


def _entity_columns(entity: Event | Pair, context: Context) -> _Columns | None:
    """The columns of an input entity by the names of a grounding's variables."""
    if isinstance(entity, Event):
        table = context.events.get(entity.relation)
        if table is None:
            return None
        pairs = list(zip(entity.args, table.arguments, table.domains, strict=True))
    else:
        fluent = context.fluents.get(entity.relation)
        if fluent is None:
            return None
        terms = [*entity.args, entity.value]
        pairs = [(t, c, d) for t, (c, d) in zip(terms, fluent.columns(), strict=True)]
    return {t.name: (c, d) for t, c, d in pairs if isinstance(t, Variable)}
