"""One step of a stream in one bucket: state taken up, queries answered, state left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from cernis.evaluate.working_memory import BEHIND, Counts
from cernis.plan.routes import Way
from cernis.records.record_columns import (
    INFINITE,
    RecordColumns,
    RecordForm,
    Records,
    one_below_the_other,
)
from cernis.session.feed import Feed
from cernis.spark.exchange.blobs import loads, unpacked_records
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row, batches
from cernis.spark.exchange.inbox import others, rows_for
from cernis.spark.exchange.sending import targets_of
from cernis.spark.exchange.stage_output import Found, unpacked
from cernis.spark.streaming.stream_clock import Bounds, Clock, Told, set_aside_outside
from cernis.spark.streaming.stream_demands import Asked, Demands, unpacked_asked
from cernis.spark.streaming.stream_job import StreamJob
from cernis.spark.streaming.stream_session import table_of
from cernis.spark.streaming.stream_state import BucketState, Standing


def evaluate(
    given: Iterable[pa.RecordBatch], job: StreamJob, step: int
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through."""
    inbox = StreamInbox()
    for batch in given:
        inbox.take(batch, step)
        yield from others(batch, step)
    if inbox.bucket is not None:
        yield from batches(Bucket(job, step, inbox.bucket, inbox).rows())


@dataclass(slots=True)
class StreamInbox:
    """What came for a step of a stream."""

    bucket: int | None = None
    told: Told = field(default_factory=Told)
    parts: dict[RecordForm, list[RecordColumns]] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def take(self, batch: pa.RecordBatch, step: int) -> None:
        """Take the rows of a batch that are for the step."""
        for row in rows_for(batch, step):
            self.bucket = row.bucket
            content = loads(row.blob.as_buffer())
            if row.kind is Kind.SURVEY:
                self.told += content
            elif row.kind is Kind.FOUND:
                self.found.append(unpacked(content))
            elif row.kind is Kind.DEMAND:
                self.asked.append(unpacked_asked(content))
            else:
                part = unpacked_records(content)
                self.parts.setdefault(part.form, []).append(part)

    def records(self, bounds: Bounds) -> Records:
        """The records, as a session takes them; those whose times do not count are set aside."""
        records = Records()
        for form, parts in sorted(self.parts.items(), key=lambda each: str(each[0])):
            whole = one_below_the_other(parts)
            if whole.retracts is not None:
                # Which reader was first says nothing: of one arrival, retractions come last.
                whole.places = np.where(whole.retracts, whole.places | BEHIND, whole.places)
            records.relations[form] = whole
        records.set_aside = list(set_aside_outside(records, bounds))
        records.count = records.used
        return records


@dataclass(slots=True)
class Changes:
    """The changes that the queries of a micro-batch report; a query without any leaves nothing.

    So many queries of nothing, after a pause, take no memory.
    """

    schema: pa.Schema
    tables: list[pa.Table] = field(default_factory=list)
    conflicts: int = 0

    def add(self, feed: Feed) -> None:
        """Take over what one query reports."""
        self.conflicts += feed.conflicts
        table = table_of(feed)
        if len(table):
            self.tables.append(table)

    def packed(self) -> bytes:
        """All changes, as Arrow has them in a file."""
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self.schema) as writer:
            writer.write_table(pa.concat_tables([self.schema.empty_table(), *self.tables]))
        return bytes(stream.getvalue())


@dataclass(slots=True)
class Bucket:
    """The work of one step in one bucket."""

    job: StreamJob
    step: int
    bucket: int
    inbox: StreamInbox

    def rows(self) -> Iterator[Row]:
        """All rows that come of it."""
        yield from self._told_on()
        if not (self.job.is_whole or self.job.routes.is_in_charge(self.step, self.bucket)):
            return
        state = BucketState(self.job, self.step, self.bucket)
        standing = state.standing()
        clock = standing.clock.heard(self.inbox.told, self.job)
        bounds = self.inbox.told.bounds(self.job)
        records = self.inbox.records(bounds)
        aside = [*records.set_aside, *self.inbox.told.set_aside(bounds)]
        yield Row(self.bucket, LAST, Kind.REPORT, {"aside": aside})
        demands = state.demands()
        if demands.enter(self.inbox.asked, self._forgotten(clock)):
            state.put_demands(demands)
        due = clock.due(self.job)
        if due:
            yield from self._answered(state, clock, due, demands, records)
        else:
            state.put_waiting(records)
            sizes = state.leave(replace(standing, clock=clock))
            yield Row(self.bucket, LAST, Kind.REPORT, {
                "held": standing.held, "kept": standing.kept,
                "open_intervals": standing.open_intervals, "queries": 0,
                "query_time": clock.query, "clock": clock.time, **sizes,
            })  # fmt: skip

    def _answered(
        self, state: BucketState, clock: Clock, due: range, demands: Demands, records: Records
    ) -> Iterator[Row]:
        """Answer queries: their changes, what goes on to later steps, and a report."""
        times = [time.process_time()]
        session = state.session()
        times.append(time.process_time())
        session.start = clock.start
        dropped = session.dropped
        session.insert(records)
        session.put_in(self.inbox.found)
        changes = Changes(self.job.schema)
        for query in due:
            changes.add(session.answered(query))
        yield from self._sent_on(session.taken_out(), demands)
        yield Row(self.bucket, LAST, Kind.ANSWER, changes.packed())
        counts = session.counted()
        times.append(time.process_time())
        state.put_session(session)
        standing = Standing(
            clock.asked(due), len(session), session.open_intervals, session.kept
        )  # fmt: skip
        sizes = state.leave(standing)
        times.append(time.process_time())
        restoring, evaluating, saving = np.diff(times).tolist()
        yield Row(self.bucket, LAST, Kind.REPORT, {
            "aside": counts.set_aside, "late": counts.too_late, "held": standing.held,
            "kept": standing.kept, "dropped": session.dropped - dropped,
            "open_intervals": standing.open_intervals, "queries": len(due),
            "duplicates": self._duplicates(counts),
            "query_time": standing.clock.query, "clock": clock.time, **sizes,
            "conflicts": changes.conflicts, "restoring_seconds": restoring,
            "evaluating_seconds": evaluating, "saving_seconds": saving,
        })  # fmt: skip

    def _duplicates(self, counts: Counts) -> int:
        """How many records came again, of those that come here first."""
        homes = self.job.routes.homes
        found = 0
        for relation, delivery in homes.items():
            spread = delivery.way is Way.KEYED or self.bucket == 0
            if self.job.is_whole or (delivery.step == self.step and spread):
                found += counts.duplicated.get(str(relation), 0)
        return found

    def _forgotten(self, clock: Clock) -> int:
        """Up to where every query to come has forgotten all."""
        if clock.query is None:
            return -INFINITE
        return clock.query - self.job.window

    # -- what goes on -----------------------------------------------------------------------

    def _told_on(self) -> Iterator[Row]:
        """Send on to the same bucket of the next step what readers have reported."""
        following = [step for step in self.job.steps if step > self.step]
        if following:
            yield Row(self.bucket, following[0], Kind.SURVEY, self.inbox.told)

    def _sent_on(self, found: list[Found], demands: Demands) -> Iterator[Row]:
        """What later steps have to know, for the buckets of theirs that may ask for it."""
        for each in found:
            for delivery in self.job.routes.onward.get(each.relation, ()):
                rows, targets = targets_of(
                    delivery, each.columns, len(each), self.job.job.buckets, demands.met
                )
                for bucket in np.unique(targets).tolist():
                    own = each.take(rows[targets == bucket])
                    yield Row(bucket, delivery.step, Kind.FOUND, own.packed())
