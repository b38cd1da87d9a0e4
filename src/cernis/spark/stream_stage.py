"""One step of a stream in one bucket: state taken up, queries answered, state left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.runtime.columns import (
    Column,
    Form,
    Integers,
    RecordColumns,
    Records,
    one_below_the_other,
)
from cernis.runtime.feed import FEED, Feed
from cernis.spark.blobs import loads, unpacked_records
from cernis.spark.buckets import bucket_of
from cernis.spark.found import Found, unpacked
from cernis.spark.frozen import MAIN, frozen, thawed
from cernis.spark.routes import Delivery, Way
from cernis.spark.rows import LAST, Kind, Row, batches
from cernis.spark.stage import others
from cernis.spark.store import Part, Place, Shelf
from cernis.spark.stream_job import Clock, StreamJob, Told
from cernis.spark.stream_session import StageSession, table_of


def evaluate(
    given: Iterable[pa.RecordBatch], job: StreamJob, step: int
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through."""
    inbox = Inbox()
    for batch in given:
        inbox.take(batch, step)
        yield from others(batch, step)
    if inbox.bucket is not None:
        yield from batches(Bucket(job, step, inbox.bucket, inbox).rows())


@dataclass(slots=True)
class Inbox:
    """What came for a step."""

    bucket: int | None = None
    told: Told = field(default_factory=Told)
    parts: dict[Form, list[RecordColumns]] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)

    def take(self, batch: pa.RecordBatch, step: int) -> None:
        """Take the rows of a batch that are for the step."""
        own = np.array(batch.column(1)) == step
        kinds, blobs = batch.column(2).to_pylist(), batch.column(3)
        for row in np.flatnonzero(own).tolist():
            self.bucket = batch.column(0)[row].as_py()
            content = loads(blobs[row].as_buffer())
            if kinds[row] == Kind.SURVEY:
                self.told += content
            elif kinds[row] == Kind.FOUND:
                self.found.append(unpacked(content))
            else:
                part = unpacked_records(content)
                self.parts.setdefault(part.form, []).append(part)

    def records(self) -> Records:
        """The records, as a session takes them."""
        records = Records()
        for form, parts in sorted(self.parts.items(), key=lambda each: str(each[0])):
            records.relations[form] = one_below_the_other(parts)
            records.count += len(records.relations[form])
        return records


@dataclass(slots=True)
class Bucket:
    """The work of one step in one bucket."""

    job: StreamJob
    step: int
    bucket: int
    inbox: Inbox
    places: dict[str, Place] = field(default_factory=dict)
    """Where the parts of the state are that the work began with."""

    def rows(self) -> Iterator[Row]:
        """All rows that come of it."""
        yield from self._told_on()
        if not self._is_in_charge():
            return
        times = [time.process_time()]
        clock, session = self._taken_up()
        times.append(time.process_time())
        clock = clock.heard(self.inbox.told, self.job)
        session.start = clock.start
        session.insert(self.inbox.records())
        session.put_in(self.inbox.found)
        feeds = [session.answered(window.query) for window in clock.due(self.job)]
        yield from self._sent_on(session.taken_out())
        clock = clock.asked(clock.due(self.job))
        yield self._changes(feeds)
        report = self._counted(session)
        times.append(time.process_time())
        report |= self._left(clock, session)
        times.append(time.process_time())
        restoring, evaluating, saving = np.diff(times).tolist()
        yield Row(self.bucket, LAST, Kind.REPORT, {
            **report, "queries": len(feeds), "query_time": clock.query, "clock": clock.time,
            "conflicts": sum(feed.conflicts for feed in feeds), "restoring_seconds": restoring,
            "evaluating_seconds": evaluating, "saving_seconds": saving,
        })  # fmt: skip

    def _is_in_charge(self) -> bool:
        """A stage without a key is evaluated in one bucket."""
        if self.job.is_whole:
            return True
        keys = self.job.routes.owned[self.step].values()
        return self.bucket == 0 or any(key is not None for key in keys)

    def _told_on(self) -> Iterator[Row]:
        """Let the same bucket of the next step know what readers have told."""
        following = [step for step in self.job.steps if step > self.step]
        if following:
            yield Row(self.bucket, following[0], Kind.SURVEY, self.inbox.told)

    # -- state ------------------------------------------------------------------------------

    @property
    def _shelf(self) -> Shelf:
        return self.job.checkpoint.shelf(self.step, self.bucket)

    @property
    def _plan(self) -> Plan:
        loaded = self.job.job.loaded
        return loaded.plan if self.job.is_whole else loaded.stage(self.step)

    def _taken_up(self) -> tuple[Clock, StageSession]:
        """The state as the micro-batch before has left it; at the beginning, nothing."""
        if self.job.previous < 0:
            return Clock(), self._begun()
        self.places = self._shelf.places(self.job.previous)
        try:
            clock, session = thawed(self._shelf.read(self.places), self._plan)
        except DataError as error:
            raise DataError(f"bucket {self.bucket} of stage {self.step}: {error}") from error
        return clock, session

    def _begun(self) -> StageSession:
        job = self.job
        settings = job.job.settings
        session = StageSession(
            self._plan, job.window, job.step, None, settings.tick, settings.ties, job.policy,
            incremental=False,
        )  # fmt: skip
        step = None if job.is_whole else self.step
        session.serve(job.job.loaded, step, self.bucket, job.job.buckets)
        return session

    def _left(self, clock: Clock, session: StageSession) -> dict[str, int]:
        """Leave the state to the next micro-batch; gives how large it is."""
        parts = frozen((clock, session), self._plan)
        kept = {name: place for name, place in self.places.items() if name in parts}
        kept.pop(MAIN, None)
        if self._shelf.is_wasteful(kept):
            kept = {}
        new = {name: Part(own, name != MAIN) for name, own in parts.items() if name not in kept}
        places = self._shelf.write(self.job.batch, new, kept)
        self._shelf.forget((self.job.previous, self.job.batch))
        return {
            "state_bytes": sum(place.size for place in places.values()),
            "written_bytes": sum(places[name].size for name in new), "held": len(session),
            "open_intervals": session.open_intervals,
        }  # fmt: skip

    def _counted(self, session: StageSession) -> dict[str, Any]:
        counts = session.counted()
        return {"aside": counts.set_aside, "late": counts.too_late}

    # -- what goes on ------------------------------------------------------------------------

    def _changes(self, feeds: list[Feed]) -> Row:
        table = pa.concat_tables([FEED.empty_table(), *map(table_of, feeds)])
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, FEED) as writer:
            writer.write_table(table)
        return Row(self.bucket, LAST, Kind.ANSWER, stream.getvalue().to_pybytes())

    def _sent_on(self, found: list[Found]) -> Iterator[Row]:
        """What later steps have to know, for the buckets of theirs that may ask for it."""
        for each in found:
            for delivery in self.job.routes.onward.get(each.relation, ()):
                rows, targets = self._targets(each.columns, len(each), delivery)
                for bucket in np.unique(targets).tolist():
                    own = each.take(rows[targets == bucket])
                    yield Row(bucket, delivery.step, Kind.FOUND, own.packed())

    def _targets(
        self, columns: list[Column], length: int, delivery: Delivery
    ) -> tuple[Integers, Integers]:
        """Which rows go to which buckets, each pair once."""
        buckets = self.job.job.buckets
        if delivery.way is Way.ONE:
            return np.arange(length), np.zeros(length, np.int64)
        if delivery.way is not Way.KEYED:
            return np.repeat(np.arange(length), buckets), np.tile(np.arange(buckets), length)
        pairs = [
            np.arange(length) * buckets + bucket_of([columns[at] for at in link], length, buckets)
            for link in delivery.links
        ]
        chosen = np.unique(np.concatenate(pairs))
        return chosen // buckets, chosen % buckets
