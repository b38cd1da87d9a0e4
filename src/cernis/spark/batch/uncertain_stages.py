"""Stages of uncertain records: what one has found, on its way to the next.

Where a rule asks for an uncertain fluent, its probability counts as that of an independent fact. So
courses are all that a later stage has to know of it. Of a derived event that is uncertain it would
have to know the formula, and of initiations, too: programs that need those of an earlier stage do
not run in stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np

from cernis.check.model import Changes, FluentKind, Relation
from cernis.evaluate.probabilities.courses import Courses, Pairs, with_facts
from cernis.evaluate.probabilities.proofs import Segments, Spoken
from cernis.evaluate.probabilities.uncertain_run import (
    Evaluation,
    UncertainRun,
    WholeProbabilities,
    is_by_chance,
    uncertain_relations,
)
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import Changed, News
from cernis.evaluate.recorded_input import RecordedInput
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.definitions.rule_heads import slot_domains
from cernis.operators.intervals.pieces import united
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.plan.logical import parts_of
from cernis.plan.routes import Delivery, Demand, Positions, Routes, Way
from cernis.records.encoded_input import EncodedInput, encoded
from cernis.records.record_columns import Column, RecordColumns, Records, joined, taken
from cernis.records.seen_forms import see_found
from cernis.spark.exchange.blobs import decoded
from cernis.spark.exchange.buckets import bucket_of
from cernis.spark.exchange.pack import arguments_at
from cernis.spark.exchange.sending import targets_of
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable

EVERYWHERE: Final = Delivery(0, Way.EVERYWHERE)


class What(StrEnum):
    """What was found of a relation."""

    COURSES = "courses"
    INTERVALS = "intervals"
    HAPPENINGS = "happenings"


@dataclass(slots=True)
class Found:
    """Rows of a relation: arguments, and the value of a fluent; lists of numbers for each.

    Of courses these are times and probabilities, of intervals starts and ends, and the `flags` say
    which may go on after the query; happenings have one time each.
    """

    relation: Relation
    what: What
    columns: list[Column]
    lengths: Integers
    firsts: Array
    seconds: Array
    flags: Array

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, chosen: Booleans) -> Found:
        """Some of the rows."""
        inner = np.repeat(chosen, self.lengths)
        return Found(
            self.relation, self.what, [taken(column, chosen) for column in self.columns],
            self.lengths[chosen], self.firsts[inner], self.seconds[inner], self.flags[chosen],
        )  # fmt: skip


def stacked(parts: list[Found]) -> Found:
    """What several buckets found of one relation."""
    return Found(
        parts[0].relation, parts[0].what,
        [joined(own) for own in zip(*(part.columns for part in parts), strict=True)],
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.firsts for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.flags for part in parts]),
    )  # fmt: skip


# -- what crosses from stage to stage ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Uncertain:
    """The relations of a program that are uncertain, given those of its input."""

    events: frozenset[Relation]
    fluents: frozenset[Relation]


def uncertain_in(plan: Plan, named: Iterable[str]) -> Uncertain:
    """All relations that rest on uncertain input; what is made of intervals is certain again."""
    catalogue = plan.checked.catalogue
    given = uncertain_relations(plan, named)
    events = {relation for relation in given if relation in catalogue.events}
    fluents = set(given) - events
    known = {key for key, own in plan.knowledge.predicates.items() if own.chances is not None}
    for stratum in (own for stage in plan.stages for own in stage.strata):
        rules = [rule for definition in stratum.definitions for rule in definition.rules]
        spoken = [Spoken.of(rule) for rule in rules]
        if any(map(is_by_chance, rules)) or any(
            each.events & events or each.fluents & fluents or each.predicates & known
            for each in spoken
        ):
            own = stratum.definitions
            events |= {each.relation for each in own if each.kind == "event"}
            fluents |= {each.relation for each in own if each.kind == FluentKind.SIMPLE}
    return Uncertain(frozenset(events), frozenset(fluents))


def can_be_staged(plan: Plan, routes: Routes, uncertain: Uncertain) -> bool:
    """Can all that stages have to know of one another be told?"""
    if plan.checked.definitions.domains or plan.checked.definitions.patterns:
        return False
    owned = {relation: step for step, own in routes.owned.items() for relation in own}
    for stage in plan.stages:
        earlier = {r for r in routes.reads[stage.number] if owned.get(r, 0)}
        if earlier & uncertain.events:
            return False
        parts = (part for stratum in stage.strata for part in parts_of(stratum))
        asked = {part.pair.relation for part in parts if isinstance(part, Changes)}
        if asked & earlier:
            return False
    return True


def addressed(
    part: RecordColumns, step: int, routes: Routes, buckets: int
) -> Iterator[tuple[int, RecordColumns]]:
    """The records of one form that a step reads, by bucket."""
    relation = part.form.relation
    if relation not in routes.reads[step] or not len(part):
        return
    home = routes.homes[relation]
    found = home if home.step == step else _onward(relation, step, routes)
    arguments = arguments_at(part, tuple(range(relation.arity)))
    for bucket, rows in _by_bucket(found, arguments, len(part), buckets):
        yield bucket, part.take(rows)


def sent(found: Found, routes: Routes, buckets: int) -> Iterator[tuple[int, int, Found]]:
    """What later steps have to know of what was found: step, bucket and rows."""
    for delivery in routes.onward.get(found.relation, ()):
        for bucket, rows in _by_bucket(delivery, found.columns, len(found), buckets):
            yield delivery.step, bucket, found.take(rows)


def _onward(relation: Relation, step: int, routes: Routes) -> Delivery:
    return next(each for each in routes.onward[relation] if each.step == step)


def _by_bucket(
    delivery: Delivery, columns: list[Column], length: int, buckets: int
) -> Iterator[tuple[int, Booleans]]:
    """The buckets that rows go to, and which rows; those that carry part of a key go to all."""
    everywhere = delivery if delivery.way in (Way.ONE, Way.KEYED) else EVERYWHERE
    rows, targets = targets_of(everywhere, columns, length, buckets, _nobody_asks)
    for bucket in np.unique(targets).tolist():
        chosen = np.zeros(length, np.bool_)
        chosen[rows[targets == bucket]] = True
        yield bucket, chosen


def _nobody_asks(demand: Demand, columns: list[Column], length: int) -> tuple[Integers, Integers]:
    return np.empty(0, np.int64), np.empty(0, np.int64)


# -- one stage ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Stage:
    """A step in a bucket: what it reads of earlier ones, what it defines, and who reads that."""

    step: int
    routes: Routes
    uncertain: Uncertain
    bucket: int
    buckets: int
    given: dict[Relation, list[Found]] = field(default_factory=dict)

    @property
    def earlier(self) -> list[Relation]:
        """The relations of earlier stages that it reads."""
        owned = {r for own in self.routes.owned.values() for r in own}
        return sorted(self.routes.reads[self.step] & owned)

    def key(self, relation: Relation) -> Positions:
        """The key of what it defines; nothing where there is none."""
        return self.routes.owned[self.step][relation] or ()


class StageRun(UncertainRun):
    """Evaluates one stage over what it reads."""

    stage: Stage
    found: list[Found]
    """What later stages ask for, when it has been evaluated."""

    def forms_of(self, records: Records) -> Forms:
        """The forms of values in records, and in what earlier stages found."""
        forms = super().forms_of(records)
        for parts in self.stage.given.values():
            for part in parts:
                see_found(forms, part.relation, part.columns)
        return forms

    def _evaluator(self) -> WholeProbabilities:
        return _StageProbabilities(
            self.plan, self.memory, self.domains, self.tick, self.chosen, self.stage
        )

    def tell(self, news: News) -> Changed:
        """Take what later stages ask for, as far as it is the bucket's own."""
        stage, evaluation, context = self.stage, self.evaluator.evaluation, news.context
        self.found = []
        for relation in stage.routes.owned[stage.step]:
            if relation in stage.routes.onward:
                whole = _found(relation, evaluation, context)
                key = [whole.columns[at] for at in stage.key(relation)]
                mine = bucket_of(key, len(whole), stage.buckets) == stage.bucket
                self.found.append(whole.take(mine if key else np.ones(len(whole), np.bool_)))
        return {}


class _StageProbabilities(WholeProbabilities):
    def __init__(
        self, plan: Plan, memory: RecordedInput, domains: Domains, tick: int,
        chosen: UncertainSettings, stage: Stage,
    ) -> None:  # fmt: skip
        super().__init__(plan, memory, domains, tick, chosen)
        self._stage = stage

    def _evaluation(self, news: News) -> Evaluation:
        evaluation = _StageEvaluation(self._plan, self._chosen, news.context, news.window)
        evaluation.stage = self._stage
        return evaluation


class _StageEvaluation(Evaluation):
    stage: Stage

    def _input(self, given: EncodedInput) -> None:
        super()._input(given)
        for relation in self.stage.earlier:
            parts = self.stage.given.get(relation)
            if relation in self.stage.uncertain.fluents:
                self._enter_courses(relation, parts)
            elif relation in self._context.catalogue.fluents:
                self._enter_intervals(relation, parts)
            else:
                self._enter_happenings(relation, parts)

    def _enter_courses(self, relation: Relation, parts: list[Found] | None) -> None:
        domains, value_domain = slot_domains(relation, self._context)
        columns = _coded(parts, [*domains, value_domain])
        count = len(columns[-1])
        pairs = Pairs(columns[:-1], columns[-1], domains, value_domain, np.zeros(count))
        whole = stacked(parts) if parts else None
        lengths = np.empty(0, np.int64) if whole is None else whole.lengths
        times = np.empty(0, np.int64) if whole is None else whole.firsts
        chances = np.empty(0) if whole is None else whole.seconds
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
        courses = Courses(pairs, offsets, times, chances)
        facts = self._uncertainty.facts
        self._uncertainty.fluents[relation] = Segments(*with_facts(courses, facts))
        self.courses[relation] = courses

    def _enter_intervals(self, relation: Relation, parts: list[Found] | None) -> None:
        context = self._context
        domains, value_domain = slot_domains(relation, context)
        columns = _coded(parts, [*domains, value_domain])
        if not parts:
            context.fluents[relation] = united([], relation, context)
            return
        whole = stacked(parts)
        owner = np.repeat(np.arange(len(whole)), whole.lengths)
        piece = [c[owner] for c in columns[:-1]], columns[-1][owner], whole.firsts, whole.seconds
        context.fluents[relation] = united([piece], relation, context)
        if whole.flags.any():
            context.leave_open(relation, [column[whole.flags] for column in columns])

    def _enter_happenings(self, relation: Relation, parts: list[Found] | None) -> None:
        context = self._context
        domains = [context.domain("event", relation, at) for at in range(relation.arity)]
        columns = _coded(parts, domains)
        times = stacked(parts).firsts if parts else np.empty(0, np.int64)
        context.events[relation] = EventTable(columns, domains, times)


def _coded(parts: list[Found] | None, domains: list[Any]) -> list[Array]:
    if not parts:
        return [np.empty(0, np.int64)] * len(domains)
    columns = stacked(parts).columns
    return [encoded(column, domain) for column, domain in zip(columns, domains, strict=True)]


def _found(relation: Relation, evaluation: Evaluation, context: Context) -> Found:
    """What an evaluation has found of a relation."""
    if relation in evaluation.courses:
        own = evaluation.courses[relation]
        pairs = own.pairs
        columns = [decoded(*each) for each in zip(
            [*pairs.arguments, pairs.values], [*pairs.domains, pairs.value_domain], strict=True
        )]  # fmt: skip
        flags = np.zeros(len(pairs), np.bool_)
        lengths = np.diff(own.offsets)
        return Found(relation, What.COURSES, columns, lengths, own.times, own.chances, flags)
    if relation in context.fluents:
        table = context.fluents[relation]
        columns = [decoded(*each) for each in table.columns()]
        flags = np.zeros(len(table), np.bool_)
        if relation in context.unsure:
            flags = context.unsure_groups[relation]
        lengths = np.diff(table.offsets)
        return Found(relation, What.INTERVALS, columns, lengths, table.starts, table.ends, flags)
    events = context.events[relation]
    columns = [decoded(*each) for each in zip(events.arguments, events.domains, strict=True)]
    ones = np.ones(len(events), np.int64)
    flags = np.zeros(len(events), np.bool_)
    return Found(relation, What.HAPPENINGS, columns, ones, events.times, events.times, flags)
