"""How one stage in a bucket is linked with others: what it gets from them, and gives to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np

from cernis.check.model import Definitions, FluentKind, Relation
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import Admitted, Predicate, WindowRecords
from cernis.kernels.array_types import Array
from cernis.operators.query_context import Context
from cernis.spark.exchange.batch_job import Member, Spans
from cernis.spark.exchange.stage_output import Found, Given, Harvest, What, one_below_the_other
from cernis.spark.input.bucket_domains import members_at
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import empty_table

Surveyed: TypeAlias = Mapping[Member, Spans]
FoundParts = dict[tuple[Relation, What], list[Found]]


class BucketLinks:
    """Puts in what earlier stages found as of each query, and takes out what later ones read.

    Queries are counted from 0.
    """

    def __init__(self, earlier: Iterable[Relation], later: frozenset[Relation]) -> None:
        self._earlier = tuple(earlier)
        self._later = later
        self.begin(())

    def begin(self, found: Iterable[Found]) -> None:
        """Count queries from 0, with what earlier stages found as of them."""
        parts: FoundParts = {}
        for each in found:
            parts.setdefault((each.relation, each.what), []).append(each)
        self.harvest = Harvest(self._later)
        self.number = 0
        self.put_in(parts)

    def put_in(self, parts: FoundParts) -> None:
        """Let this be what earlier stages found, as of the queries to come."""
        self._parts = parts
        self._given: list[Given] | None = None

    def go_on_within(self, before: BucketLinks) -> None:
        """Go on with the queries of another, whose values had other codes."""
        self.harvest, self.number = before.harvest, before.number
        self.put_in(before._parts)

    def enter(self, context: Context) -> None:
        """Put in what earlier stages found as of the next query."""
        for relation in self._earlier:
            _enter_nothing(relation, context)
        if self._given is None:
            self._given = [Given(one_below_the_other(own), context) for own in self._parts.values()]
        for each in self._given:
            each.enter(self.number, context)

    def take(self, context: Context) -> None:
        """Take out what later stages need; earlier stages carry over what is theirs."""
        for relation in self._earlier:
            context.fluents.pop(relation, None)
            context.events.pop(relation, None)
        self.harvest.add(self.number, context)
        self.number += 1


def _enter_nothing(relation: Relation, context: Context) -> None:
    fluent = context.catalogue.fluents.get(relation)
    if fluent is not None and fluent.kind is not FluentKind.INPUT:
        domains = [context.domain("fluent", relation, at) for at in range(relation.arity)]
        value = context.domain("fluent", relation, "value")
        context.fluents[relation] = empty_table(domains, value)
    else:
        domains = [context.domain("event", relation, at) for at in range(relation.arity)]
        none = np.empty(0, np.int64)
        context.events[relation] = EventTable([none] * len(domains), domains, none)


class SurveyedMembers(Population):
    """The members of growing domains, some of which a survey of all the input has found."""

    def __init__(self, definitions: Definitions, surveyed: Mapping[Predicate, Surveyed]) -> None:
        super().__init__(definitions)
        self._surveyed = surveyed
        self._number = 0

    def update(
        self, admitted: Mapping[Relation, Admitted], memory: WindowRecords, context: Context
    ) -> dict[Predicate, list[list[Array]]]:
        """Fill the context with who is a member as of the next query."""
        changed = super().update(admitted, memory, context)
        for key, own in self._surveyed.items():
            context.fill(key, members_at(own, self._number), self._number + 1)
        self._number += 1
        return changed
