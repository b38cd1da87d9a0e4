"""Patterns that depend on themselves: rounds until nothing changes.

An occurrence depends on occurrences that end earlier, or that end at the same point and are
shorter, because each step of a recursion extends the interval. So each round makes the occurrences
of at least one more length right, and leaves the right ones as they are. A state that no round
changes is the answer.

In some strata rounds can only add occurrences: consumption is unrestricted, and no pattern asks for
the absence of what is being defined. If moreover each rule uses one occurrence of the recursion at
a time, a round combines only what the last round has added with the rest. Then the work depends on
the number of occurrences, and not on the number of rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.errors import KnowledgeError
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.patterns.derived_events import evaluate_event
from cernis.operators.patterns.pattern_operators import known_occurrences
from cernis.plan.logical import Definition, Stratum
from cernis.plan.properties.recursion_plans import RecursionPlan
from cernis.tables.event_tables import EventTable, stacked

CarriedOver: TypeAlias = dict[Relation, Carried]
Evaluate: TypeAlias = Callable[[Definition, Context, CarriedOver], int]

MOST_ROUNDS = 20_000
"""More rounds than this are taken for a recursion without end."""


def settle_recursion(
    stratum: Stratum, plan: RecursionPlan, evaluate: Evaluate, context: Context,
    carried: CarriedOver,
) -> int:  # fmt: skip
    """Leave the state that no round changes in the context; gives the conflicts between values."""
    recursion = PatternRecursion(stratum, plan, context)
    if plan.only_adds:
        recursion.add_rounds()
        return 0
    before: list[Array] = []
    for _ in range(MOST_ROUNDS):
        recursion.forget_matches()
        conflicts = sum(
            evaluate(definition, context, carried) for definition in stratum.definitions
        )
        now = [
            column
            for relation in stratum.relations
            for column in _state(relation, context.relations)
        ]
        if len(now) == len(before) and all(map(np.array_equal, now, before)):
            return conflicts
        before = now
    raise _endless(stratum)


def _endless(stratum: Stratum) -> KnowledgeError:
    name = stratum.relations[0].name
    return KnowledgeError(
        name, "the recursion has no end in sight; let each step add a later event"
    )


class PatternRecursion:
    """A stratum whose patterns depend on one another."""

    def __init__(self, stratum: Stratum, plan: RecursionPlan, context: Context) -> None:
        self._stratum = stratum
        self._plan = plan
        self._context = context

    def forget_matches(self) -> None:
        """Forget the matches that depend on the state of the last round."""
        for step in self._plan.dependent_steps:
            self._context.caches.matched.pop(id(step), None)

    # -- where rounds only add --------------------------------------------------------------

    def add_rounds(self) -> None:
        """Combine, round by round, the occurrences that are new with the rest."""
        context = self._context
        definitions = {definition.relation: definition for definition in self._stratum.definitions}
        tables: dict[Relation, list[EventTable]] = {relation: [] for relation in definitions}
        seen = {relation: SeenOccurrences() for relation in definitions}
        for relation in definitions:
            context.relations.events.pop(relation, None)
        history = dict(context.relations.history)
        for round_number in range(self._most_rounds()):
            self.forget_matches()
            new = {
                relation: seen[relation].new_of(evaluate_event(relation, definition, context))
                for relation, definition in definitions.items()
            }
            for relation, table in new.items():
                tables[relation].append(table)
                context.relations.events[relation] = table
                context.relations.history.pop(("event", relation), None)
            if not any(map(len, new.values())):
                break
            if round_number == 0:
                definitions = {each.relation: each for each in self._plan.recursive}
        else:
            raise _endless(self._stratum)
        context.relations.history.update(history)
        context.relations.events.update(
            {relation: stacked(parts) for relation, parts in tables.items()}
        )
        self.forget_matches()

    def _most_rounds(self) -> int:
        """A bound on rounds: each extends intervals by an edge of something defined before."""
        edges = sum(2 * len(known_occurrences(atom, self._context)) for atom in self._plan.atoms)
        # A rule that only gives an event another name extends nothing, so there are some more.
        return min(len(self._stratum.definitions) * (edges + 10), MOST_ROUNDS)


class SeenOccurrences:
    """Knows which occurrences have been added, by their arguments, start and end."""

    def __init__(self) -> None:
        self._numberings: list[Numbering] = []

    def new_of(self, table: EventTable) -> EventTable:
        """The rows that were in no table before, each once."""
        assert table.starts is not None
        columns = [table.starts, table.times, *table.arguments]
        if not self._numberings:
            self._numberings = [Numbering() for _ in range(2 * len(columns) - 1)]
        count = len(self._numberings[-1])
        which = self._number(columns)
        new = np.flatnonzero(which >= count)
        first = np.unique(which[new], return_index=True)[1]
        return table.take(np.sort(new[first]))

    def _number(self, columns: list[Array]) -> Integers:
        """A number for each row; equal rows have the same one."""
        codes = [
            numbering.of(_bits(column))
            for numbering, column in zip(self._numberings, columns, strict=False)
        ]
        which = codes[0]
        for numbering, column_codes in zip(
            self._numberings[len(columns) :], codes[1:], strict=True
        ):
            which = numbering.of((which << 31) | column_codes)
        return which


def _bits(column: Array) -> Integers:
    """A column as integers that differ where its values do."""
    if column.dtype.kind == "f":
        # 0.0 and -0.0 have different bits; to add 0.0 makes them the same.
        return np.ascontiguousarray(column + 0.0).view(np.int64)
    return np.ascontiguousarray(column, dtype=np.int64)


def _state(relation: Relation, relations: QueryRelations) -> list[Array]:
    """The rows of a relation after a round, sorted."""
    event, fluent = relations.events.get(relation), relations.fluents.get(relation)
    columns: list[Array] = []
    if event is not None:
        starts = event.times if event.starts is None else event.starts
        columns = [*event.arguments, event.times, starts]
    elif fluent is not None:
        groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
        columns = [*(data[groups] for data, _ in fluent.columns()), fluent.starts, fluent.ends]
    order = np.lexsort(columns) if columns else np.empty(0, np.int64)
    return [column[order] for column in columns]
