"""What every task of a stream's micro-batch knows, and the clock that all buckets go by.

The *clock* of a stream is the latest arrival of all records so far, or the latest time that a
`$clock` tells of. A query is due when the clock has passed its time by more than the lateness. Each
task that reads tells every bucket how far its records have come, so all buckets agree on the clock,
and on the queries that are due, within one job and without the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cernis.check.model import Relation
from cernis.runtime.columns import FUTURE, Booleans, Form, RecordColumns, Records, SetAside
from cernis.runtime.feed import FEED
from cernis.runtime.run import Window
from cernis.runtime.uncertain_session import UNCERTAIN_FEED
from cernis.runtime.uncertain_settings import UncertainSettings
from cernis.spark.blobs import packed_records
from cernis.spark.buckets import bucket_of
from cernis.spark.job import Job
from cernis.spark.pack import Piece, arguments_at, by_bucket, to_all
from cernis.spark.routes import Delivery, Routes, Way
from cernis.spark.rows import LAST, Kind, Row
from cernis.spark.store import Checkpoint
from cernis.spark.stream_demands import asking
from cernis.spark.stream_input import Input, Read


@dataclass(frozen=True, slots=True)
class Told:
    """What a reader, or a bucket, tells of the input: its first point, its clock, its forms."""

    first: int | None = None
    clock: int | None = None
    forms: frozenset[Form] = frozenset()

    def __add__(self, other: Told) -> Told:
        firsts = [each for each in (self.first, other.first) if each is not None]
        clocks = [each for each in (self.clock, other.clock) if each is not None]
        return Told(min(firsts, default=None), max(clocks, default=None), self.forms | other.forms)


@dataclass(frozen=True)
class StreamJob:
    """One micro-batch of a stream."""

    job: Job
    input: Input
    checkpoint: Checkpoint
    window: int
    step: int
    lateness: int
    policy: str
    start: int | None = None
    future: int | None = None
    batch: int = 0
    previous: int = -1
    """The version of the state that the micro-batch begins with; -1 for none."""
    clock: int | None = None
    """The clock before the micro-batch."""
    likely: UncertainSettings | None = None
    """How likely intervals are recognised; None if records are certain."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of changes."""
        return FEED if self.likely is None else UNCERTAIN_FEED

    @property
    def tick(self) -> int:
        """How far apart time-points are."""
        return self.job.settings.tick or self.job.loaded.plan.checked.definitions.settings.tick

    @property
    def is_whole(self) -> bool:
        """Is all evaluated in one bucket, all stages together?"""
        return self.job.buckets == 1

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps, each with an exchange before it: a stage each, or one for all of them."""
        return (1,) if self.is_whole else tuple(sorted(self.routes.owned))

    @property
    def routes(self) -> Routes:
        """Which relation goes where."""
        return self.job.loaded.stream_routes

    def at(self, batch: int, previous: int, clock: int | None) -> StreamJob:
        """The job of another micro-batch."""
        return replace(self, batch=batch, previous=previous, clock=clock)


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a stream has come, the same in every bucket."""

    start: int | None = None
    """Where the run starts; None before the first record."""
    time: int | None = None
    query: int | None = None
    """The last query."""
    forms: frozenset[Form] = frozenset()

    def heard(self, told: Told, job: StreamJob) -> Clock:
        """The clock after a micro-batch has been read.

        Without a start that is given, queries are at multiples of the step, so that it does not
        matter how the input is cut into micro-batches.
        """
        start = self.start
        if start is None and told.first is not None:
            start = (told.first - job.tick) // job.step * job.step
            start = job.start if job.start is not None else start
        times = [each for each in (self.time, told.clock) if each is not None]
        return Clock(start, max(times, default=None), self.query, self.forms | told.forms)

    def due(self, job: StreamJob) -> list[Window]:
        """The queries that are due, in order."""
        if self.start is None or self.time is None:
            return []
        last = self.start if self.query is None else self.query
        found = []
        while last + job.step + job.lateness < self.time:
            found.append(Window.after(last, last + job.step, self.start, job.window))
            last += job.step
        return found

    def asked(self, due: list[Window]) -> Clock:
        """The clock after some queries."""
        return replace(self, query=due[-1].query) if due else self


# -- from records to buckets -------------------------------------------------------------------


def packed(given: Read, job: StreamJob) -> Iterator[Row]:
    """The rows of what one task has read."""
    records = given.records
    ahead = list(_set_aside_ahead(records, job))
    for part in records.relations.values():
        for step in job.steps:
            for bucket, _, own in _addressed(part, step, job):
                yield Row(bucket, step, Kind.RECORDS, packed_records(own))
    # When all that arrived up to a time has come, the next arrival is later.
    if not job.is_whole:
        yield from asking(records, job.job)
    told = told_of(records, None if given.clock is None else given.clock + 1)
    for bucket in range(job.job.buckets):
        yield Row(bucket, job.steps[0], Kind.SURVEY, told)
    yield Row(0, LAST, Kind.REPORT, {
        "events": records.count, "ignored": sum(records.ignored.values()),
        "aside": [*records.set_aside, *ahead], "clock": told.clock,
    })  # fmt: skip


def _addressed(part: RecordColumns, step: int, job: StreamJob) -> Iterator[Piece]:
    """The records of one form that a step reads, by bucket."""
    relation, routes, buckets = part.form.relation, job.routes, job.job.buckets
    if job.is_whole:
        yield from by_bucket(part, np.zeros(len(part), np.int64), job.job)
        return
    if relation not in routes.reads[step]:
        return
    home = routes.homes[relation]
    delivery = home if home.step == step else _onward(relation, step, routes)
    if delivery.way is Way.ONE:
        yield from by_bucket(part, np.zeros(len(part), np.int64), job.job)
    elif delivery.way is Way.KEYED:
        pairs = [
            np.arange(len(part)) * buckets + bucket_of(arguments_at(part, link), len(part), buckets)
            for link in delivery.links
        ]
        chosen = pairs[0] if len(pairs) == 1 else np.unique(np.concatenate(pairs))
        yield from by_bucket(part.take(chosen // buckets), chosen % buckets, job.job)
    else:
        yield from to_all(part, job.job)


def _onward(relation: Relation, step: int, routes: Routes) -> Delivery:
    return next(each for each in routes.onward[relation] if each.step == step)


def told_of(records: Records, clock: int | None) -> Told:
    """What records tell of the input. Retractions arrive too; they tell of no first point."""
    found = Told(None, clock)
    for form, part in records.relations.items():
        if not len(part):
            continue
        times = part.times[1] if part.retracts is None else part.times[1][~part.retracts]
        first = int(times.min()) if len(times) else None
        found += Told(first, int(part.times[0].max()), frozenset([form]))
    return found


def _set_aside_ahead(records: Records, job: StreamJob) -> Iterator[SetAside]:
    """Take records out that are too far ahead of the others.

    What others are at is the clock, or the middle of what was read with them if that is later:
    after a pause a stream goes on from where it is.
    """
    if job.future is None:
        return
    for form, part in records.relations.items():
        if not len(part):
            continue
        reference = int(np.median(part.times[0]))
        reference = reference if job.clock is None else max(reference, job.clock)
        ahead: Booleans = part.times[0] > reference + job.future
        ahead |= part.times[1] > part.times[0] + job.future
        for row in np.flatnonzero(ahead).tolist():
            yield records.aside(int(part.places[row]), FUTURE, part.text(row))
        if ahead.any():
            records.relations[form] = part.take(~ahead)
