"""One step of a stream in one bucket: it reads its state, answers queries, and writes its state."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from cernis.evaluate.working_memory import AFTER_ALL, Counts
from cernis.plan.properties.routes import Way
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
from cernis.spark.exchange.stage_output import StageOutput, unpacked
from cernis.spark.streaming.bucket_progress import BucketProgress
from cernis.spark.streaming.live_buckets import LIVE, LiveBuckets
from cernis.spark.streaming.stream_clock import Bounds, Clock, InputReport, set_aside_outside
from cernis.spark.streaming.stream_demands import DemandedRows, Demands, unpacked_demand
from cernis.spark.streaming.stream_job import StreamJob
from cernis.spark.streaming.stream_session import table_of
from cernis.spark.streaming.stream_state import BucketState


def evaluate(
    rows: Iterable[pa.RecordBatch], job: StreamJob, step: int, live: LiveBuckets = LIVE
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through.

    A bucket may be among the live ones of this worker, and is then among them.
    """
    inbox = StreamInbox()
    for batch in rows:
        inbox.take(batch, step)
        yield from others(batch, step)
    if inbox.bucket is not None:
        yield from batches(Bucket(job, step, inbox.bucket, inbox, live).rows())


@dataclass(slots=True)
class StreamInbox:
    """The rows that an exchange has brought for one bucket of a step of a stream, by kind."""

    bucket: int | None = None
    report: InputReport = field(default_factory=InputReport)
    parts: dict[RecordForm, list[RecordColumns]] = field(default_factory=dict)
    outputs: list[StageOutput] = field(default_factory=list)
    demanded: list[DemandedRows] = field(default_factory=list)

    def take(self, batch: pa.RecordBatch, step: int) -> None:
        """Take the rows of a batch that are for the step."""
        for row in rows_for(batch, step):
            self.bucket = row.bucket
            content = loads(row.blob.as_buffer())
            if row.kind is Kind.SURVEY:
                self.report += content
            elif row.kind is Kind.FOUND:
                self.outputs.append(unpacked(content))
            elif row.kind is Kind.DEMAND:
                self.demanded.append(unpacked_demand(content))
            else:
                part = unpacked_records(content)
                self.parts.setdefault(part.form, []).append(part)

    def records(self, bounds: Bounds) -> Records:
        """The records, as a session takes them; those whose times do not count are set aside."""
        records = Records()
        for form, parts in sorted(self.parts.items(), key=lambda each: str(each[0])):
            whole = one_below_the_other(parts)
            if whole.retracts is not None:
                # The order of readers has no meaning, so retractions come last in an arrival.
                whole.places = np.where(whole.retracts, whole.places | AFTER_ALL, whole.places)
            records.relations[form] = whole
        records.set_aside = list(set_aside_outside(records, bounds))
        records.count = records.used
        return records


@dataclass(slots=True)
class ReportedChanges:
    """The changes that the queries of a micro-batch report.

    Queries without changes are not kept, so that the many queries after a pause take no memory.
    """

    schema: pa.Schema
    tables: list[pa.Table] = field(default_factory=list)
    conflicts: int = 0

    def add(self, feed: Feed) -> None:
        """Take over the changes of one query."""
        self.conflicts += feed.conflicts
        table = table_of(feed)
        if len(table):
            self.tables.append(table)

    def packed(self) -> bytes:
        """All changes as an Arrow stream."""
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
    live: LiveBuckets

    def rows(self) -> Iterator[Row]:
        """All rows that the step gives."""
        yield from self._report_sent_on()
        if not (self.job.is_whole or self.job.routes.is_in_charge(self.step, self.bucket)):
            return
        state = BucketState(self.job, self.step, self.bucket, self.live)
        progress = state.progress
        clock = progress.clock.heard(self.inbox.report, self.job)
        bounds = self.inbox.report.bounds(self.job)
        records = self.inbox.records(bounds)
        aside = [*records.set_aside, *self.inbox.report.set_aside(bounds)]
        yield Row(self.bucket, LAST, Kind.REPORT, {"aside": aside})
        demands = state.demands()
        if demands.enter(self.inbox.demanded, self._forgotten(clock)):
            state.put_demands(demands)
        due = clock.due(self.job)
        if due:
            yield from self._answered(state, clock, due, demands, records)
        else:
            state.put_waiting(records)
            sizes = state.leave(replace(progress, clock=clock), demands)
            yield Row(self.bucket, LAST, Kind.REPORT, {
                "held": progress.held, "kept": progress.kept,
                "open_intervals": progress.open_intervals, "queries": 0,
                "query_time": clock.query, "clock": clock.time, **sizes,
            })  # fmt: skip

    def _answered(
        self, state: BucketState, clock: Clock, due: range, demands: Demands, records: Records
    ) -> Iterator[Row]:
        """Answer queries; gives their changes, the output for later steps, and a report."""
        times = [time.process_time()]
        session = state.session()
        times.append(time.process_time())
        session.start = clock.start
        dropped = session.dropped
        session.insert(records)
        session.put_in(self.inbox.outputs)
        changes = ReportedChanges(self.job.schema)
        for query in due:
            changes.add(session.answered(query))
        yield from self._sent_on(session.taken_out(), demands)
        yield Row(self.bucket, LAST, Kind.ANSWER, changes.packed())
        counts = session.counted()
        times.append(time.process_time())
        held = len(session)
        state.put_session(session, records, len(due), held)
        progress = BucketProgress(clock.after(due), held, session.open_intervals, session.kept)
        sizes = state.leave(progress, demands, session)
        times.append(time.process_time())
        restoring, evaluating, saving = np.diff(times).tolist()
        yield Row(self.bucket, LAST, Kind.REPORT, {
            "aside": counts.set_aside, "late": counts.too_late, "held": progress.held,
            "kept": progress.kept, "dropped": session.dropped - dropped,
            "open_intervals": progress.open_intervals, "queries": len(due),
            "duplicates": self._duplicates(counts),
            "query_time": progress.clock.query, "clock": clock.time, **sizes,
            "conflicts": changes.conflicts, "restoring_seconds": restoring,
            "evaluating_seconds": evaluating, "saving_seconds": saving,
        })  # fmt: skip

    def _duplicates(self, counts: Counts) -> int:
        """How many records came again, of those whose home is this bucket."""
        count = 0
        for relation, delivery in self.job.routes.homes.items() if counts.duplicated else ():
            spread = delivery.way is Way.KEYED or self.bucket == 0
            if self.job.is_whole or (delivery.step == self.step and spread):
                count += counts.duplicated.get(str(relation), 0)
        return count

    def _forgotten(self, clock: Clock) -> int:
        """The point up to which all queries to come have forgotten everything."""
        if clock.query is None:
            return -INFINITE
        return clock.query - self.job.window

    # -- rows for later steps ---------------------------------------------------------------

    def _report_sent_on(self) -> Iterator[Row]:
        """Send the report of readers on to the same bucket of the next step."""
        following = [step for step in self.job.steps if step > self.step]
        if following:
            yield Row(self.bucket, following[0], Kind.SURVEY, self.inbox.report)

    def _sent_on(self, outputs: list[StageOutput], demands: Demands) -> Iterator[Row]:
        """The output of the step, for the buckets of later steps that may read it."""
        for output in outputs:
            for delivery in self.job.routes.onward.get(output.relation, ()):
                rows, targets = targets_of(
                    delivery, output.columns, len(output), self.job.job.buckets, demands.met
                )
                for bucket in np.unique(targets).tolist():
                    part = output.take(rows[targets == bucket])
                    yield Row(bucket, delivery.step, Kind.FOUND, part.packed())
