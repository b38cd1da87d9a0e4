"""One step in one bucket: what came in is evaluated, and what others need is sent on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from cernis.check.model import FluentKind, Relation
from cernis.operators.context import Context
from cernis.plan.builder import Plan
from cernis.runtime.columns import (
    INFINITE,
    Booleans,
    Column,
    Form,
    Integers,
    RecordColumns,
    Records,
    as_floats,
    joined,
    numbered,
)
from cernis.runtime.columns import one_below_the_other as stacked
from cernis.runtime.recognise import account, chosen_bounds
from cernis.runtime.run import Answer, Run, windows
from cernis.spark.answers import packed_answer
from cernis.spark.blobs import decoded, loads, packed_records, unpacked_column, unpacked_records
from cernis.spark.buckets import bucket_of
from cernis.spark.found import Found, Given, Harvest, What, one_below_the_other, unpacked
from cernis.spark.job import Job, Survey
from cernis.spark.pack import MOST_ROWS, arguments_at, by_bucket, cut
from cernis.spark.places import Places
from cernis.spark.resolved import enter
from cernis.spark.routes import Delivery, Demand, Routes, Way
from cernis.spark.rows import LAST, SCHEMA, Kind, Row, batches
from cernis.tables.events import EventTable
from cernis.tables.fluents import empty_table


def evaluate(
    given: Iterable[pa.RecordBatch], job: Job, step: int, places: Places
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through.

    The rows tell the bucket: the number of a task would not do, as it is another one where the
    result is part of a larger query.
    """
    inbox = Inbox()
    for batch in given:
        yield from inbox.add(batch, step)
    if inbox.bucket is not None:
        yield from batches(_Step(job, step, inbox.bucket, places, inbox).rows())


@dataclass(slots=True)
class Inbox:
    """What came for a step, by kind."""

    records: dict[Form, list[RecordColumns]] = field(default_factory=dict)
    resolved: dict[Form, list[RecordColumns]] = field(default_factory=dict)
    found: dict[tuple[Relation, What], list[Found]] = field(default_factory=dict)
    demands: dict[Demand, list[tuple[list[Column], Integers]]] = field(default_factory=dict)
    survey: Survey = field(default_factory=Survey)
    bucket: int | None = None

    def add(self, batch: pa.RecordBatch, step: int) -> Iterator[pa.RecordBatch]:
        """Take in the rows of a batch that are for this step; gives the others."""
        own = np.array(batch.column(1)) == step
        kinds, blobs = batch.column(2).to_pylist(), batch.column(3)
        for row in np.flatnonzero(own).tolist():
            self.bucket = batch.column(0)[row].as_py()
            self._take(Kind(kinds[row]), loads(blobs[row].as_buffer()))
        if not own.all():
            yield batch.filter(pa.array(~own)).cast(SCHEMA)

    def _take(self, kind: Kind, content: Any) -> None:
        if kind in (Kind.RECORDS, Kind.RESOLVED):
            box = self.records if kind is Kind.RECORDS else self.resolved
            for part in map(unpacked_records, content):
                box.setdefault(part.form, []).append(part)
        elif kind is Kind.FOUND:
            found = unpacked(content)
            self.found.setdefault((found.relation, found.what), []).append(found)
        elif kind is Kind.DEMAND:
            demand, columns, targets = content
            own = self.demands.setdefault(demand, [])
            own.append(([unpacked_column(column) for column in columns], targets))
        else:
            self.survey += content


@dataclass(slots=True)
class _Step:
    """The work of one step in one bucket."""

    job: Job
    step: int
    bucket: int
    places: Places
    inbox: Inbox
    report: dict[str, Any] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """All rows that come of it."""
        home = self._home()
        survey = self.job.survey or self.inbox.survey
        tick = self.job.settings.tick or self._plan.checked.definitions.settings.tick
        start, end = chosen_bounds(survey.first, survey.last, self.job.settings, tick)
        self._account(home, start, end, tick)
        yield from self._sent_on(home)
        if self.step and self._is_in_charge():
            yield from self._evaluated(home, start, end)
        if self.step != self._routes.steps[-1]:
            following = self._routes.steps[self._routes.steps.index(self.step) + 1]
            yield Row(self.bucket, following, Kind.SURVEY, survey)
        yield Row(self.bucket, LAST, Kind.REPORT, self.report)

    @property
    def _routes(self) -> Routes:
        return self.job.loaded.routes

    @property
    def _plan(self) -> Plan:
        return self.job.loaded.plan

    def _is_in_charge(self) -> bool:
        """A stage without a key is evaluated in one bucket."""
        keys = self._routes.owned[self.step].values()
        return self.bucket == 0 or any(key is not None for key in keys)

    # -- records ----------------------------------------------------------------------------

    def _home(self) -> Records:
        """The records whose home this is, resolved; retractions of nothing are set aside."""
        found = Records(sources=self.places)
        for parts in self.inbox.records.values():
            enter(parts, found, self.job, self._owns)
        self.report["set_aside"] = found.set_aside
        return found

    def _owns(self, part: RecordColumns) -> Booleans:
        """Which records are accounted for here: all, unless every bucket has them."""
        if self._routes.home(part.form.relation).way is not Way.EVERYWHERE:
            return np.ones(len(part), np.bool_)
        return np.asarray(bucket_of(part.columns, len(part), self.job.buckets) == self.bucket)

    def _own(self, part: RecordColumns) -> RecordColumns:
        """The records that are accounted for here."""
        own = self._owns(part)
        return part if own.all() else part.take(own)

    def _account(self, home: Records, start: int, end: int, tick: int) -> None:
        own = Records(sources=self.places)
        own.relations = {form: self._own(part) for form, part in home.relations.items()}
        own.retractions = [self._own(part) for part in home.retractions]
        settings = self.job.settings
        queries = list(windows(start, end, settings.window, settings.step))
        late, outside = account(own, queries, tick)
        self.report |= {"too_late": late, "outside": outside, "start": start, "end": end}
        self.report |= {"rows": sum(map(len, home.relations.values())), "step": self.step}

    def _sent_on(self, home: Records) -> Iterator[Row]:
        """The records of this home that later steps read."""
        for form, part in home.relations.items():
            for delivery in self._routes.onward.get(form.relation, ()):
                for bucket, own in self._spread(self._own(part), delivery):
                    content = [packed_records(own)]
                    yield Row(bucket, delivery.step, Kind.RESOLVED, content)

    def _spread(
        self, part: RecordColumns, delivery: Delivery
    ) -> Iterator[tuple[int, RecordColumns]]:
        if delivery.way is Way.EVERYWHERE:
            for own in cut(part):
                yield from ((bucket, own) for bucket in range(self.job.buckets))
            return
        arguments = arguments_at(part, tuple(range(part.form.relation.arity)))
        rows, targets = self._targets(arguments, len(part), delivery)
        yield from by_bucket(part.take(rows), targets)

    def _targets(
        self, arguments: list[Column], length: int, delivery: Delivery
    ) -> tuple[Integers, Integers]:
        """Which rows go to which buckets, each pair once."""
        buckets = self.job.buckets
        if delivery.way is Way.ONE:
            return np.arange(length), np.zeros(length, np.int64)
        if delivery.way is Way.EVERYWHERE:
            return np.repeat(np.arange(length), buckets), np.tile(np.arange(buckets), length)
        pairs = [
            np.arange(length) * buckets + bucket_of([arguments[at] for at in link], length, buckets)
            for link in delivery.links
        ]
        for demand, positions in delivery.demands:
            rows, targets = self._asked(demand, [arguments[at] for at in positions], length)
            pairs.append(rows * buckets + targets)
        chosen = pairs[0] if len(pairs) == 1 and not delivery.demands else None
        chosen = np.unique(np.concatenate(pairs)) if chosen is None else chosen
        return chosen // buckets, chosen % buckets

    def _asked(
        self, demand: Demand, columns: list[Column], length: int
    ) -> tuple[Integers, Integers]:
        """The rows that somebody asks for, and who."""
        asked = self.inbox.demands.get(demand)
        none = np.empty(0, np.int64)
        if not asked or not length:
            return none, none
        wanted = [joined(own) for own in zip(*(own for own, _ in asked), strict=True)]
        targets = np.concatenate([own for _, own in asked])
        keys = np.zeros(length + len(targets), np.int64)
        for mine, theirs in zip(columns, wanted, strict=True):
            own, count = numbered(joined([mine, theirs]))
            keys, _ = numbered(keys * max(count, 1) + own)
        mine, theirs = keys[:length], keys[length:]
        order = np.argsort(theirs, kind="stable")
        low = np.searchsorted(theirs[order], mine, "left")
        counts = np.searchsorted(theirs[order], mine, "right") - low
        rows = np.repeat(np.arange(length), counts)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, targets[order[places + np.repeat(low, counts)]]

    # -- evaluation -------------------------------------------------------------------------

    def _evaluated(self, home: Records, start: int, end: int) -> Iterator[Row]:
        settings = self.job.settings
        run = StageRun(self.job, self.step, self.inbox)
        records = self._read(home)
        answer = run.over(records, start, end, settings.window, settings.step)
        self.report |= {"queries": answer.queries, "conflicts": answer.conflicts}
        own = self._owned(answer)
        yield Row(self.bucket, LAST, Kind.ANSWER, packed_answer(own))
        for found in run.harvest.found():
            yield from self._found_rows(found)

    def _read(self, home: Records) -> Records:
        """The records that the stage reads, with a place for each form there is anywhere."""
        survey = self.job.survey or self.inbox.survey
        reads = self._routes.reads[self.step]
        parts: dict[Form, list[RecordColumns]] = {
            form: [_nothing(form)] for form in sorted(survey.forms, key=str)
        }
        for form, part in home.relations.items():
            parts.setdefault(form, []).append(part)
        for form, more in self.inbox.resolved.items():
            parts.setdefault(form, []).extend(more)
        found = Records()
        for form, own in parts.items():
            if form.relation in reads:
                found.relations[form] = _with_floats(_together(own), survey)
        return found

    def _owned(self, answer: Answer) -> Answer:
        """The answer without what belongs to other buckets."""
        found = Answer()
        for relation, key in self._routes.owned[self.step].items():
            fluent, event = answer.fluents.get(relation), answer.events.get(relation)
            if fluent is not None:
                columns = [decoded(fluent.arguments[at], fluent.domains[at]) for at in key or ()]
                mine = self._mine(columns, len(fluent), key is None)
                found.fluents[relation] = fluent if mine is None else fluent.take(mine)
            if event is not None:
                columns = [decoded(event.arguments[at], event.domains[at]) for at in key or ()]
                mine = self._mine(columns, len(event), key is None)
                found.events[relation] = event if mine is None else event.take(mine)
        return found

    def _mine(self, columns: list[Column], length: int, everything: bool) -> Integers | None:
        """The rows whose key belongs to this bucket; None for all."""
        if everything or self.job.buckets == 1:
            return None
        own = bucket_of(columns, length, self.job.buckets) == self.bucket
        return None if own.all() else np.flatnonzero(own)

    def _found_rows(self, found: Found) -> Iterator[Row]:
        key = self._routes.owned[self.step][found.relation]
        mine = self._mine([found.columns[at] for at in key or ()], len(found), key is None)
        found = found if mine is None else found.take(mine)
        for delivery in self._routes.onward.get(found.relation, ()):
            rows, targets = self._targets(found.columns, len(found), delivery)
            for bucket in np.unique(targets).tolist():
                own = rows[targets == bucket]
                for low in range(0, len(own), MOST_ROWS):
                    part = found.take(own[low : low + MOST_ROWS])
                    yield Row(bucket, delivery.step, Kind.FOUND, part.packed())


def _nothing(form: Form) -> RecordColumns:
    none = np.empty(0, np.int64)
    return RecordColumns(form, [none] * len(form.titles), [none] * form.width, none)


def _together(parts: list[RecordColumns]) -> RecordColumns:
    """Records of one form, and when each was taken back."""
    filled = [part for part in parts if len(part)] or parts[:1]
    whole = stacked(filled)
    if len(filled) > 1 and any(part.gone is not None for part in filled):
        whole.gone = np.concatenate([
            np.full(len(part), INFINITE) if part.gone is None else part.gone for part in filled
        ])  # fmt: skip
    return whole


def _with_floats(part: RecordColumns, survey: Survey) -> RecordColumns:
    """Numbers that are floats anywhere are floats here, so that answers read alike."""
    for at in range(len(part.columns)):
        if (part.form, at) in survey.floats:
            part.columns[at] = as_floats(part.columns[at])
    return part


class StageRun(Run):
    """A run of one stage: earlier stages' tables are put in, later stages' needs taken out."""

    def __init__(self, job: Job, step: int, inbox: Inbox) -> None:
        loaded = job.loaded
        settings = job.settings
        super().__init__(loaded.stage(step), settings.tick, settings.ties)
        self._job = job
        self._inbox = inbox
        self._given: list[Given] | None = None
        owned = loaded.routes.owned
        self._earlier = sorted(
            relation for relation in loaded.routes.reads[step]
            if any(relation in there for there in owned.values())
        )  # fmt: skip
        self.harvest = Harvest(frozenset(owned[step]) & frozenset(loaded.routes.onward))

    def before_query(self, number: int, context: Context) -> None:
        """Put in what earlier stages found as of this query, and who is in each domain."""
        if self._given is None:
            parts = self._inbox.found.values()
            self._given = [Given(one_below_the_other(own), context) for own in parts]
        for relation in self._earlier:
            self._enter_nothing(relation, context)
        for given in self._given:
            given.enter(number, context)
        if self._job.members is not None:
            for key, own in self._job.members.items():
                there = [member for member, since in own.items() if since <= number]
                context.fill(key, sorted(there, key=repr), number + 1)

    def _enter_nothing(self, relation: Relation, context: Context) -> None:
        fluent = self.checked.catalogue.fluents.get(relation)
        if fluent is not None and fluent.kind is not FluentKind.INPUT:
            domains = [context.domain("fluent", relation, at) for at in range(relation.arity)]
            value = context.domain("fluent", relation, "value")
            context.fluents[relation] = empty_table(domains, value)
        else:
            domains = [context.domain("event", relation, at) for at in range(relation.arity)]
            none = np.empty(0, np.int64)
            context.events[relation] = EventTable([none] * len(domains), domains, none)

    def after_query(self, number: int, context: Context) -> None:
        """Take out what later stages need; earlier stages carry over what is theirs."""
        for relation in self._earlier:
            context.fluents.pop(relation, None)
            context.events.pop(relation, None)
        self.harvest.add(number, context)
