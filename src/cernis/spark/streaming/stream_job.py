"""What every task of a stream's micro-batch knows, and how records come to buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cernis.check.amounts import FARTHEST
from cernis.check.model import Relation
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.windows import MOST_QUERIES
from cernis.explain.traces.traced_rules import TracedProgram
from cernis.plan.properties.routes import Delivery, Routes, Way
from cernis.records.record_columns import RecordColumns, Records
from cernis.session.caused_session import CAUSED_FEED
from cernis.session.feed import FEED
from cernis.session.uncertain_session import UNCERTAIN_FEED
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import packed_records
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row
from cernis.spark.exchange.pack import Piece, arguments_at, by_bucket, to_all
from cernis.spark.streaming.bucket_store import Checkpoint
from cernis.spark.streaming.stream_clock import trusted
from cernis.spark.streaming.stream_demands import demand_rows
from cernis.spark.streaming.stream_input import Input

_MOST_SHOWN = 20_000
"""So many records of an event or fluent come from one task to a page that shows them."""


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
    shows_records: bool = False
    """Are the newest records to come to the driver, for a page that shows them?"""
    traced: TracedProgram | None = None
    """The program with its traces, if changes are to name their causes; the plan is its plan."""

    @property
    def likely(self) -> UncertainSettings | None:
        """How likely intervals are recognised; None if records are certain."""
        return self.job.likely

    @property
    def schema(self) -> pa.Schema:
        """The columns of changes."""
        if self.traced is not None:
            return CAUSED_FEED
        return FEED if self.likely is None else UNCERTAIN_FEED

    @property
    def tick(self) -> int:
        """How far apart time-points are."""
        return self.job.settings.tick or self.job.loaded.plan.checked.definitions.settings.tick

    @property
    def is_whole(self) -> bool:
        """Are all stages evaluated together, in one bucket?"""
        return self.job.buckets == 1

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps, each with an exchange before it: a stage each, or one for all of them."""
        return (1,) if self.is_whole else tuple(sorted(self.routes.owned))

    @property
    def anchor(self) -> int | None:
        """The time that the stream had reached before the micro-batch; None if it is not known."""
        return self.clock if self.clock is not None else self.start

    @property
    def reach(self) -> int:
        """How far ahead a time may be, so that no more queries are due than a run may have."""
        return min(MOST_QUERIES * self.step + self.lateness, FARTHEST)

    @property
    def routes(self) -> Routes:
        """Where the rows of each relation are sent."""
        return self.job.loaded.plan.stream_routes

    def for_batch(self, batch: int, previous: int, clock: int | None) -> StreamJob:
        """The job of another micro-batch."""
        return replace(self, batch=batch, previous=previous, clock=clock)


# -- from records to buckets -------------------------------------------------------------------


def packed(records: Records, job: StreamJob) -> Iterator[Row]:
    """The rows of an exchange for the records that one task has read."""
    report, ahead = trusted(records, job)
    for part in records.relations.values():
        for step in job.steps:
            for bucket, _, piece in _addressed(part, step, job):
                yield Row(bucket, step, Kind.RECORDS, packed_records(piece))
    if not job.is_whole:
        yield from demand_rows(records, job.job)
    for bucket in range(job.job.buckets):
        yield Row(bucket, job.steps[0], Kind.SURVEY, report)
    yield Row(0, LAST, Kind.REPORT, {
        "events": records.count, "ignored": Counter(records.ignored),
        "warnings": records.warnings, "fluents": list(records.fluents),
        "unread": [*records.set_aside, *ahead], "skipped": records.skipped,
        "dated": records.dated,
        "shown": _newest(records) if job.shows_records else [],
    })  # fmt: skip


def _newest(records: Records) -> list[tuple[Any, ...]]:
    """The newest records of each form, packed."""
    parts = []
    for part in records.relations.values():
        if len(part) > _MOST_SHOWN:
            part = part.take(np.sort(np.argsort(part.times[1], kind="stable")[-_MOST_SHOWN:]))
        parts.append(packed_records(part))
    return parts


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
            np.arange(len(part)) * buckets + Spread(buckets).of(arguments_at(part, link), len(part))
            for link in delivery.links
        ]
        chosen = pairs[0] if len(pairs) == 1 else np.unique(np.concatenate(pairs))
        yield from by_bucket(part.take(chosen // buckets), chosen % buckets, job.job)
    else:
        yield from to_all(part, job.job)


def _onward(relation: Relation, step: int, routes: Routes) -> Delivery:
    return next(each for each in routes.onward[relation] if each.step == step)
