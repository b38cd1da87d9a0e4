"""One step in one bucket: what came in is evaluated, and what others need is sent on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.model import Relation
from cernis.plan.builder import Plan
from cernis.runtime.columns import (
    Booleans,
    Column,
    Integers,
    RecordColumns,
    Records,
    as_floats,
    joined,
    numbered,
)
from cernis.runtime.columns import Kind as Given
from cernis.runtime.recognise import account, chosen_bounds
from cernis.runtime.run import Answer, windows
from cernis.spark.answers import packed_answer
from cernis.spark.blobs import decoded, loads, packed_records, unpacked_column, unpacked_records
from cernis.spark.buckets import bucket_of
from cernis.spark.found import Found, What, unpacked
from cernis.spark.job import Job, Survey
from cernis.spark.pack import MOST_ROWS, Piece, arguments_at, by_bucket, first_of, to_all
from cernis.spark.places import Places
from cernis.spark.resolved import enter
from cernis.spark.routes import Delivery, Demand, Positions, Routes, Way
from cernis.spark.rows import LAST, SCHEMA, Kind, Row, batches
from cernis.spark.runs import StageRun
from cernis.spark.slicing import Parts, Slicing, nothing, stacked_records


def evaluate(
    given: Iterable[pa.RecordBatch], job: Job, step: int, places: Places
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through.

    The rows tell the bucket: the number of a task would not do, as it is another one where the
    result is part of a larger query.
    """
    work = _Step(job, step, places)
    for batch in given:
        work.count(batch)
        for since, take in work.inbox.each(batch, step):
            yield from batches(work.before(since))
            take()
        yield from others(batch, step)
    if work.inbox.bucket is not None:
        yield from batches(work.rows())


def others(batch: pa.RecordBatch, step: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch that are not for a step."""
    own = np.array(batch.column(1)) == step
    if not own.all():
        yield batch.filter(pa.array(~own)).cast(SCHEMA)


@dataclass(slots=True)
class Inbox:
    """What came for a step, by kind."""

    records: Parts = field(default_factory=dict)
    resolved: Parts = field(default_factory=dict)
    found: dict[tuple[Relation, What], list[Found]] = field(default_factory=dict)
    demands: dict[Demand, list[tuple[list[Column], Integers]]] = field(default_factory=dict)
    survey: Survey = field(default_factory=Survey)
    bucket: int | None = None
    count: int = 0
    """How many records there are."""

    def each(self, batch: pa.RecordBatch, step: int) -> Iterator[tuple[int, Callable[[], None]]]:
        """The rows of a batch that are for a step: since when each is, and what takes it in."""
        own = np.array(batch.column(1)) == step
        kinds, blobs = batch.column(2).to_pylist(), batch.column(3)
        for row in np.flatnonzero(own).tolist():
            self.bucket = batch.column(0)[row].as_py()
            yield (
                batch.column(4)[row].as_py(),
                partial(self._take, Kind(kinds[row]), blobs[row]),
            )

    def number_up_to(self, time: int) -> int:
        """How many records are about times up to some."""
        parts = [
            part for box in (self.records, self.resolved) for own in box.values() for part in own
        ]
        return sum(int(np.count_nonzero(part.times[1] <= time)) for part in parts)

    def up_to(self, time: int) -> tuple[Parts, Parts]:
        """Take out the records, and the resolved ones, that are about times up to some."""
        early = _parted(self.records, time), _parted(self.resolved, time)
        self.count -= sum(len(part) for box in early for own in box.values() for part in own)
        return early

    def _take(self, kind: Kind, blob: pa.BinaryScalar) -> None:
        content = loads(blob.as_buffer())
        if kind in (Kind.RECORDS, Kind.RESOLVED):
            box = self.records if kind is Kind.RECORDS else self.resolved
            for part in map(unpacked_records, content):
                box.setdefault(part.form, []).append(part)
                self.count += len(part)
        elif kind is Kind.FOUND:
            found = unpacked(content)
            self.found.setdefault((found.relation, found.what), []).append(found)
        elif kind is Kind.DEMAND:
            demand, columns, targets = content
            own = self.demands.setdefault(demand, [])
            own.append(([unpacked_column(column) for column in columns], targets))
        else:
            self.survey += content


def _parted(box: Parts, time: int) -> Parts:
    """Take the records up to some time out of a box."""
    found: Parts = {}
    for form, parts in box.items():
        early = [part.times[1] <= time for part in parts]
        found[form] = [_some(part, own) for part, own in zip(parts, early, strict=True)]
        box[form] = [
            _some(part, ~own) for part, own in zip(parts, early, strict=True) if not own.all()
        ]
    return found


def _some(part: RecordColumns, chosen: Booleans) -> RecordColumns:
    return part if chosen.all() else part.take(chosen)


@dataclass(slots=True)
class _Step:
    """The work of one step in one bucket."""

    job: Job
    step: int
    places: Places
    inbox: Inbox = field(default_factory=Inbox)
    report: dict[str, Any] = field(default_factory=dict)
    slicing: Slicing | None = None
    """What the slices so far have come to; None as long as there are none."""
    enough: int = 0
    """With how many records it is seen whether they make a slice."""

    @property
    def bucket(self) -> int:
        assert self.inbox.bucket is not None
        return self.inbox.bucket

    @property
    def _survey(self) -> Survey:
        return self.job.survey or self.inbox.survey

    @property
    def _tick(self) -> int:
        return self.job.settings.tick or self._plan.checked.definitions.settings.tick

    def _bounds(self) -> tuple[int, int]:
        survey = self._survey
        return chosen_bounds(survey.first, survey.last, self.job.settings, self._tick)

    def rows(self) -> Iterator[Row]:
        """All rows that come of it, but for those of slices before."""
        end = self._bounds()[1]
        home, resolved = self._entered(self.inbox.records), self.inbox.resolved
        yield from self._sent_on(home)
        if self._evaluates():
            records = self._read(home, resolved)
            yield from self._evaluated(records, end)
        if self.step != self._routes.steps[-1]:
            following = self._routes.steps[self._routes.steps.index(self.step) + 1]
            yield Row(self.bucket, following, Kind.SURVEY, self._survey)
        yield Row(self.bucket, LAST, Kind.REPORT, self.report)

    def count(self, batch: pa.RecordBatch) -> None:
        """Rows and bytes that an exchange has brought, those for later steps among them."""
        size = pc.sum(pc.binary_length(batch.column(3))).as_py() or 0
        for name, more in (("moved", batch.num_rows), ("size", size)):
            self.report[name] = self.report.get(name, 0) + more

    def before(self, since: int) -> Iterator[Row]:
        """The rows of a slice, if there is enough for one, when all before some time is there."""
        least = self.job.at_once
        if least is None or self.inbox.count < max(self.enough, least) or not self._can_slice():
            return
        start, end = self._bounds()
        query = start + (since - 1 - start) // self._tick * self._tick
        edge = self.slicing.edge if self.slicing is not None else start
        if not edge < query < end or 2 * self.inbox.number_up_to(query) < least:
            self.enough = self.inbox.count + max(least // 4, 1)
            return
        self.enough = 0
        home, resolved = self.inbox.up_to(query)
        yield from self._slice(self._entered(home), resolved, query)

    def _can_slice(self) -> bool:
        """A fluent that is given at points may go on behind a slice, or not: it is not sliced."""
        if not self._evaluates():
            return True
        reads = self._routes.reads[self.step]
        forms = [form for form in self._survey.forms if form.relation in reads]
        at_points = any(form.kind is Given.POINT for form in forms)
        return not at_points and self.job.loaded.sliced(self.step) is not None

    def _slice(self, home: Records, resolved: Parts, query: int) -> Iterator[Row]:
        start, end = self._bounds()
        yield from self._sent_on(home)
        if self.slicing is None:
            parts = self.job.loaded.sliced(self.step) if self._evaluates() else None
            self.slicing = Slicing(self.job, self.step, self.inbox.found, parts, start, end)
        records = self._read(home, resolved) if self._evaluates() else Records()
        self.slicing.take(records, query)
        self.report["slices"] = self.report.get("slices", 0) + 1

    def _evaluates(self) -> bool:
        return bool(self.step) and self._is_in_charge()

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

    def _entered(self, records: Parts) -> Records:
        """The records whose home this is, resolved; retractions of nothing are set aside."""
        found = Records(sources=self.places)
        for parts in records.values():
            if parts:
                enter(parts, found, self.job, self._owns)
        self.report.setdefault("set_aside", []).extend(found.set_aside)
        self._account(found)
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

    def _account(self, home: Records) -> None:
        start, end = self._bounds()
        own = Records(sources=self.places)
        own.relations = {form: self._own(part) for form, part in home.relations.items()}
        own.retractions = [self._own(part) for part in home.retractions]
        settings = self.job.settings
        queries = list(windows(start, end, settings.window, settings.step))
        late, outside = account(own, queries, self._tick)
        self.report |= {"start": start, "end": end, "step": self.step}
        self.report.setdefault("too_late", []).extend(late)
        rows = sum(map(len, home.relations.values()))
        for name, more in (("outside", outside), ("rows", rows)):
            self.report[name] = self.report.get(name, 0) + more

    def _sent_on(self, home: Records) -> Iterator[Row]:
        """The records of this home that later steps read."""
        for form, part in home.relations.items():
            for delivery in self._routes.onward.get(form.relation, ()):
                for bucket, _, own in self._spread(self._own(part), delivery):
                    content = [packed_records(own)]
                    yield Row(bucket, delivery.step, Kind.RESOLVED, content, first_of(own))

    def _spread(self, part: RecordColumns, delivery: Delivery) -> Iterator[Piece]:
        if delivery.way is Way.EVERYWHERE:
            yield from to_all(part, self.job)
            return
        arguments = arguments_at(part, tuple(range(part.form.relation.arity)))
        rows, targets = self._targets(arguments, len(part), delivery)
        yield from by_bucket(part.take(rows), targets, self.job)

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
            np.arange(length) * buckets + self._bucket(link, arguments, length, delivery, at)
            for at, link in enumerate(delivery.links)
        ]
        for demand, positions in delivery.demands:
            rows, targets = self._asked(demand, [arguments[at] for at in positions], length)
            pairs.append(rows * buckets + targets)
        chosen = pairs[0] if len(pairs) == 1 and not delivery.demands else None
        chosen = np.unique(np.concatenate(pairs)) if chosen is None else chosen
        return chosen // buckets, chosen % buckets

    def _bucket(
        self, link: Positions, arguments: list[Column], length: int, delivery: Delivery, at: int
    ) -> Integers:
        kinds = delivery.kinds[at : at + 1]
        return self.job.placed(delivery.step, [arguments[p] for p in link], length, kinds)

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

    def _evaluated(self, records: Records, end: int) -> Iterator[Row]:
        run: StageRun
        if self.slicing is not None:
            self.slicing.take(records, end)
            self.report["slices"] += 1
            run, answer = self.slicing.finish()
        else:
            settings = self.job.settings
            run = StageRun(self.job, self.step, self.inbox.found)
            answer = run.over(records, *self._bounds(), settings.window, settings.step)
        self.report |= {"queries": answer.queries, "conflicts": answer.conflicts}
        own = self._owned(answer)
        yield Row(self.bucket, LAST, Kind.ANSWER, packed_answer(own))
        for found in run.harvest.found():
            yield from self._found_rows(found)

    def _read(self, home: Records, resolved: Parts) -> Records:
        """The records that the stage reads, with a place for each form there is anywhere."""
        survey = self._survey
        reads = self._routes.reads[self.step]
        parts: Parts = {form: [nothing(form)] for form in sorted(survey.forms, key=str)}
        for form, part in home.relations.items():
            parts.setdefault(form, []).append(part)
        for form, more in resolved.items():
            parts.setdefault(form, []).extend(more)
        found = Records()
        for form, own in parts.items():
            if form.relation in reads:
                found.relations[form] = _with_floats(stacked_records(own), survey)
        return found

    def _owned(self, answer: Answer) -> Answer:
        """The answer without what belongs to other buckets."""
        found = Answer()
        for relation, key in self._routes.owned[self.step].items():
            fluent, event = answer.fluents.get(relation), answer.events.get(relation)
            if fluent is not None:
                columns = [decoded(fluent.arguments[at], fluent.domains[at]) for at in key or ()]
                mine = self._mine(relation, columns, len(fluent))
                found.fluents[relation] = fluent if mine is None else fluent.take(mine)
            if event is not None:
                columns = [decoded(event.arguments[at], event.domains[at]) for at in key or ()]
                mine = self._mine(relation, columns, len(event))
                found.events[relation] = event if mine is None else event.take(mine)
        return found

    def _mine(self, relation: Relation, columns: list[Column], length: int) -> Integers | None:
        """The rows whose key belongs to this bucket; None for all."""
        key = self._routes.owned[self.step][relation]
        if key is None or self.job.buckets == 1:
            return None
        kinds = self._routes.kinds(self.step, relation, key)
        own = self.job.placed(self.step, columns, length, kinds) == self.bucket
        return None if own.all() else np.flatnonzero(own)

    def _found_rows(self, found: Found) -> Iterator[Row]:
        key = self._routes.owned[self.step][found.relation]
        mine = self._mine(found.relation, [found.columns[at] for at in key or ()], len(found))
        found = found if mine is None else found.take(mine)
        for delivery in self._routes.onward.get(found.relation, ()):
            rows, targets = self._targets(found.columns, len(found), delivery)
            for bucket in np.unique(targets).tolist():
                own = rows[targets == bucket]
                for low in range(0, len(own), MOST_ROWS):
                    part = found.take(own[low : low + MOST_ROWS])
                    yield Row(bucket, delivery.step, Kind.FOUND, part.packed())


def _with_floats(part: RecordColumns, survey: Survey) -> RecordColumns:
    """Numbers that are floats anywhere are floats here, so that answers read alike."""
    for at in range(len(part.columns)):
        if (part.form, at) in survey.floats:
            part.columns[at] = as_floats(part.columns[at])
    return part
