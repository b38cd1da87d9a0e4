"""One step in one bucket: what came in is evaluated, and what others need is sent on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from cernis.evaluate.windows import windows
from cernis.plan.builder import Plan
from cernis.plan.routes import Routes
from cernis.records.record_columns import RecordColumns, Records
from cernis.records.record_columns import RecordKind as Given
from cernis.session.recognise import account, chosen_bounds
from cernis.spark.batch.answer_rows import answer_row
from cernis.spark.batch.bucket_runs import StageRun
from cernis.spark.batch.slicing import Parts, Slicing, Windowing, nothing, stacked_records
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.exchange_rows import FIRST, LAST, Kind, Row, batches
from cernis.spark.exchange.inbox import Inbox, others
from cernis.spark.exchange.ownership import Owner
from cernis.spark.exchange.record_places import Places
from cernis.spark.exchange.sending import Sender
from cernis.spark.exchange.stage_output import Found
from cernis.spark.input.resolved_records import enter
from cernis.spark.task_times import Clock


def evaluate(
    given: Iterable[pa.RecordBatch], job: Job, step: int, places: Places
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through.

    The number of the bucket is in the rows. The number of the task would not do, as it is a
    different one where the result is part of a larger query.
    """
    work = Step(job, step, places)
    clock = work.clock
    for batch in given:
        work.count(batch)
        for since, take in work.inbox.each(batch, step):
            yield from clock.over("evaluating", batches(work.before(since)))
            with clock.at("unpacking"):
                take()
        yield from others(batch, step)
    if work.inbox.bucket is not None:
        yield from clock.over("evaluating", batches(work.rows()))
        yield from batches([clock.row()])


class Sends(Protocol):
    """Sends what a step has to those after it."""

    def records(self, part: RecordColumns) -> Iterator[Row]:
        """Records that are at home here."""

    def found(self, found: Found, since: int = FIRST) -> Iterator[Row]:
        """What was found here, as of queries from some time on."""

    def survey(self, bucket: int, step: int, survey: Survey) -> Iterator[Row]:
        """What is known of all the input."""


@dataclass(slots=True)
class Step:
    """The work of one step in one bucket."""

    job: Job
    step: int
    places: Places
    inbox: Inbox = field(default_factory=Inbox)
    spread: Spread | None = None
    """How keys are spread over those who evaluate this step; None: over its buckets."""
    sender: Sends | None = None
    """What sends things on; None: to those who read them."""
    report: dict[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    slicing: Slicing | Windowing | None = None
    """What the slices so far have come to; None as long as there are none."""
    enough: int = 0
    """With how many records it is seen whether they make a slice."""

    @property
    def bucket(self) -> int:
        """The number of the bucket."""
        assert self.inbox.bucket is not None
        return self.inbox.bucket

    @property
    def _owner(self) -> Owner:
        return Owner(self.job, self.step, self.bucket, self.spread or self.job.spread(self.step))

    @property
    def _sends(self) -> Sends:
        return self.sender or Sender(self.job, self.inbox.demands)

    @property
    def _survey(self) -> Survey:
        return self.job.survey or self.inbox.survey

    def _bounds(self) -> tuple[int, int]:
        survey = self._survey
        return chosen_bounds(survey.first, survey.last, self.job.settings, self.job.tick)

    def rows(self) -> Iterator[Row]:
        """All rows that come of it, but for those of slices before."""
        end = self._bounds()[1]
        home, resolved = self._entered(self.inbox.records), self.inbox.resolved
        yield from self._sent_on(home)
        if self._evaluates():
            records = self._read(home, resolved)
            yield from self._evaluated(records, end)
        yield from self._sends.survey(self.bucket, self.step, self._survey)
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
        if self.job.settings.window is not None:
            yield from self._queries(since)
            return
        start, end = self._bounds()
        query = start + (since - 1 - start) // self.job.tick * self.job.tick
        edge = self.slicing.edge if isinstance(self.slicing, Slicing) else start
        if not edge < query < end or 2 * self.inbox.number_up_to(query) < least:
            self.enough = self.inbox.count + max(least // 4, 1)
            return
        self.enough = 0
        home, resolved = self.inbox.up_to(query)
        yield from self._slice(self._entered(home), resolved, query)

    def _queries(self, since: int) -> Iterator[Row]:
        """The rows of the queries before some time, when all records before it are there."""
        windowing = self._windowing()
        query = windowing.run.last_before(since)
        if query is None or 2 * self.inbox.number_up_to(query) < (self.job.at_once or 0):
            self.enough = self.inbox.count + max((self.job.at_once or 0) // 4, 1)
            return
        self.enough = 0
        home, resolved = self.inbox.up_to(query)
        records = self._entered(home)
        yield from self._sent_on(records)
        windowing.take(self._read(records, resolved), query)
        yield from self._harvested(windowing.run)
        self.report["slices"] = self.report.get("slices", 0) + 1

    def _windowing(self) -> Windowing:
        if not isinstance(self.slicing, Windowing):
            start, end = self._bounds()
            self.slicing = Windowing(
                self.job, self.step, self.inbox.found, self._owner, self._survey, start, end
            )
        return self.slicing

    def _harvested(self, run: StageRun) -> Iterator[Row]:
        """What the queries so far have found for later steps."""
        start, end = self._bounds()
        stride = self.job.settings.step or self.job.settings.window
        for found in run.harvest.taken():
            first = int(found.queries[0])
            since = FIRST if stride is None else min(start + (first + 1) * stride, end)
            yield from self._sends.found(self._owner.found(found), since)

    def _can_slice(self) -> bool:
        """A fluent that is given at points may go on after a slice, or not: it is not sliced."""
        if self.job.settings.window is not None:
            return self._evaluates()
        if not self._evaluates():
            return True
        reads = self._routes.reads[self.step]
        forms = [form for form in self._survey.forms if form.relation in reads]
        at_points = any(form.kind is Given.POINT for form in forms)
        return not at_points and self.job.loaded.sliced(self.step) is not None

    def _slice(self, home: Records, resolved: Parts, query: int) -> Iterator[Row]:
        start, end = self._bounds()
        yield from self._sent_on(home)
        if not isinstance(self.slicing, Slicing):
            parts = self.job.loaded.sliced(self.step) if self._evaluates() else None
            self.slicing = Slicing(
                self.job, self.step, self.inbox.found, self._owner, self._survey, parts, start, end
            )
        records = self._read(home, resolved) if self._evaluates() else Records()
        self.slicing.take(records, query)
        self.report["slices"] = self.report.get("slices", 0) + 1

    def _evaluates(self) -> bool:
        return bool(self.step) and self._routes.is_in_charge(self.step, self.bucket)

    @property
    def _routes(self) -> Routes:
        return self.job.loaded.routes

    @property
    def _plan(self) -> Plan:
        return self.job.loaded.plan

    # -- records ----------------------------------------------------------------------------

    def _entered(self, records: Parts) -> Records:
        """The records whose home this is, resolved; retractions of nothing are set aside."""
        found = Records(sources=self.places)
        for parts in records.values():
            if parts:
                enter(parts, found, self.job, self._owner.owns)
        self.report.setdefault("set_aside", []).extend(found.set_aside)
        self._account(found)
        return found

    def _account(self, home: Records) -> None:
        start, end = self._bounds()
        own = Records(sources=self.places)
        own.relations = {form: self._owner.records(part) for form, part in home.relations.items()}
        own.retractions = [self._owner.records(part) for part in home.retractions]
        settings = self.job.settings
        queries = list(windows(start, end, settings.window, settings.step))
        late, outside = account(own, queries, self.job.tick)
        self.report |= {"start": start, "end": end, "step": self.step}
        self.report.setdefault("too_late", []).extend(late)
        rows = sum(map(len, home.relations.values()))
        for name, more in (("outside", outside), ("rows", rows)):
            self.report[name] = self.report.get(name, 0) + more

    def _sent_on(self, home: Records) -> Iterator[Row]:
        """The records of this home that later steps read."""
        for part in home.relations.values():
            yield from self._sends.records(self._owner.records(part))

    # -- evaluation -------------------------------------------------------------------------

    def _evaluated(self, records: Records, end: int) -> Iterator[Row]:
        run: StageRun
        if self.slicing is not None:
            self.slicing.take(records, end)
            self.report["slices"] = self.report.get("slices", 0) + 1
            run, answer = self.slicing.finish()
        else:
            settings = self.job.settings
            run = StageRun(self.job, self.step, self.inbox.found, self._owner, self._survey)
            answer = run.over(records, *self._bounds(), settings.window, settings.step)
        self.report |= {"queries": answer.queries, "conflicts": answer.conflicts}
        own = self._owner.answer(answer)
        with self.clock.at("writing"):
            row = answer_row(own, self.job, self.bucket, self.step)
        yield row
        yield from self._harvested(run)

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
                found.relations[form] = stacked_records(own)
        return found
