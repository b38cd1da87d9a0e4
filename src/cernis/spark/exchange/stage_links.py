"""How a stage in a bucket is linked with others: it reads their output and passes on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import Admitted, Predicate, WindowRecords
from cernis.kernels.array_types import Array
from cernis.operators.context.query_context import Context
from cernis.plan.builder import Plan
from cernis.spark.exchange.batch_job import Member, Spans
from cernis.spark.exchange.stage_output import (
    Harvest,
    OutputKind,
    ReceivedOutput,
    StageOutput,
    one_below_the_other,
)
from cernis.spark.input.bucket_domains import members_at
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import empty_table

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses

Surveyed: TypeAlias = Mapping[Member, Spans]
OutputParts = dict[tuple[Relation, OutputKind], list[StageOutput]]


class BucketLinks:
    """Enters the output of earlier stages into each query, and gathers output for later stages.

    `earlier` are the relations that the stage reads of others, `later` those of its own that others
    read. Fluents that are `uncertain` are entered and gathered as courses, others as tables.
    Queries are counted from 0.
    """

    def __init__(
        self, earlier: Iterable[Relation], later: frozenset[Relation],
        uncertain: frozenset[Relation] = frozenset(),
    ) -> None:  # fmt: skip
        self.earlier = tuple(earlier)
        self._uncertain = uncertain
        self.passed_on = later
        self.begin(())

    def begin(self, outputs: Iterable[StageOutput]) -> None:
        """Count queries from 0, with the output of earlier stages for these queries."""
        parts: OutputParts = {}
        for output in outputs:
            parts.setdefault((output.relation, output.kind), []).append(output)
        self.harvest = Harvest(self.passed_on)
        self.number = 0
        self.put_in(parts)

    def put_in(self, parts: OutputParts) -> None:
        """Set the output of earlier stages for the queries to come."""
        self._parts = parts
        self._received: list[ReceivedOutput] | None = None

    @property
    def are_whole(self) -> bool:
        """Do the tables of earlier stages say when intervals begin and end?

        Where input is forgotten or given at points, it is only known what is seen of them.
        """
        return not any(
            output.kind is OutputKind.FLUENT and output.flags.any()
            for outputs in self._parts.values() for output in outputs
        )  # fmt: skip

    def go_on_within(self, before: BucketLinks) -> None:
        """Take over the output and the count of queries from links whose values had other codes."""
        self.harvest, self.number = before.harvest, before.number
        self.put_in(before._parts)

    def enter(self, context: Context, courses: dict[Relation, Courses]) -> None:
        """Enter the output of earlier stages for the next query."""
        for relation in self.earlier:
            if relation in self._uncertain:
                courses[relation] = _no_courses(relation, context)
            else:
                _enter_nothing(relation, context)
        if self._received is None:
            self._received = [
                ReceivedOutput(one_below_the_other(outputs), context.encoding)
                for outputs in self._parts.values()
            ]
        for output in self._received:
            output.enter(self.number, context, courses)

    def take(self, context: Context, courses: dict[Relation, Courses]) -> None:
        """Gather the output for later stages, and drop the tables of earlier ones.

        Earlier stages carry over their tables themselves.
        """
        for relation in self.earlier:
            context.relations.fluents.pop(relation, None)
            context.relations.events.pop(relation, None)
        self.harvest.add(self.number, context, courses)
        self.number += 1


def _enter_nothing(relation: Relation, context: Context) -> None:
    fluent = context.encoding.catalogue.fluents.get(relation)
    if fluent is not None and fluent.kind is not FluentKind.INPUT:
        context.relations.fluents[relation] = empty_table(*context.encoding.fluents[relation])
    else:
        domains = context.encoding.events[relation]
        none = np.empty(0, np.int64)
        context.relations.events[relation] = EventTable([none] * len(domains), domains, none)


def _no_courses(relation: Relation, context: Context) -> Courses:
    from cernis.evaluate.probabilities.courses import Courses, Pairs

    domains, value_domain = context.encoding.fluents[relation]
    none, nothing = np.empty(0, np.int64), np.empty(0)
    pairs = Pairs([none] * relation.arity, none, domains, value_domain, nothing)
    return Courses(pairs, np.zeros(1, np.int64), none, nothing)


class SurveyedMembers(Population):
    """The members of growing domains; those of some domains come from a survey of all the input."""

    def __init__(self, plan: Plan, surveyed: Mapping[Predicate, Surveyed]) -> None:
        super().__init__(plan)
        self._surveyed = surveyed
        self._number = 0

    def update(
        self, admitted: Mapping[Relation, Admitted], memory: WindowRecords, context: Context
    ) -> dict[Predicate, list[list[Array]]]:
        """Fill the context with the members at the next query."""
        changed = super().update(admitted, memory, context)
        for key, members in self._surveyed.items():
            context.background.fill(key, members_at(members, self._number), self._number + 1)
        self._number += 1
        return changed
