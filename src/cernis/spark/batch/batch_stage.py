"""One step in one bucket: it evaluates the rows that came in, and sends on what others need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from cernis.evaluate.windows import windows
from cernis.plan.builder import Plan
from cernis.plan.properties.routes import Routes
from cernis.records.record_columns import RecordColumns, RecordKind, Records
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
from cernis.spark.exchange.stage_output import StageOutput
from cernis.spark.input.resolved_records import enter
from cernis.spark.task_times import TaskTimes


def evaluate(
    rows: Iterable[pa.RecordBatch], job: Job, step: int, places: Places
) -> Iterator[pa.RecordBatch]:
    """A step over the rows of its bucket. Rows for later steps pass through.

    The number of the bucket is in the rows. The number of the task would not do, as it is a
    different one where the result is part of a larger query.
    """
    work = Step(job, step, places)
    clock = work.clock
    for batch in rows:
        work.count(batch)
        for since, take in work.inbox.each(batch, step):
            yield from clock.over("evaluating", batches(work.before(since)))
            with clock.spent_on("unpacking"):
                take()
        yield from others(batch, step)
    if work.inbox.bucket is not None:
        yield from clock.over("evaluating", batches(work.rows()))
        yield from batches([clock.row()])


class Sends(Protocol):
    """Sends records and the output of a step to later steps."""

    def records(self, part: RecordColumns) -> Iterator[Row]:
        """Records that are at home here."""

    def stage_output(self, output: StageOutput, since: int = FIRST) -> Iterator[Row]:
        """The output of the step for one relation, for queries from some time on."""

    def survey(self, bucket: int, step: int, survey: Survey) -> Iterator[Row]:
        """The survey of the input."""


@dataclass(slots=True)
class Step:
    """The work of one step in one bucket."""

    job: Job
    step: int
    places: Places
    inbox: Inbox = field(default_factory=Inbox)
    spread: Spread | None = None
    """How keys are spread over the tasks of this step; None if over its buckets."""
    sender: Sends | None = None
    """Sends rows on; None for a `Sender`, which sends them to the buckets that read them."""
    report: dict[str, Any] = field(default_factory=dict)
    clock: TaskTimes = field(default_factory=TaskTimes)
    slicing: Slicing | Windowing | None = None
    """The slices so far; None as long as there are none."""
    enough: int = 0
    """The number of records from which it is tried again to make a slice."""

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
        """All rows that the step gives, except for those of earlier slices."""
        end = self._bounds()[1]
        home, resolved = self._entered(self.inbox.records), self.inbox.resolved
        yield from self._sent_on(home)
        if self._evaluates():
            records = self._read(home, resolved)
            yield from self._evaluated(records, end)
        yield from self._sends.survey(self.bucket, self.step, self._survey)
        yield Row(self.bucket, LAST, Kind.REPORT, self.report)

    def count(self, batch: pa.RecordBatch) -> None:
        """Count the rows and bytes that an exchange has brought, also those for later steps."""
        size = pc.sum(pc.binary_length(batch.column(3))).as_py() or 0
        for name, more in (("moved", batch.num_rows), ("size", size)):
            self.report[name] = self.report.get(name, 0) + more

    def before(self, since: int) -> Iterator[Row]:
        """The rows of a slice, if enough records are there, when all before some time are."""
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
                self.job, self.step, self.inbox.outputs, self._owner, self._survey, start, end
            )
        return self.slicing

    def _harvested(self, run: StageRun) -> Iterator[Row]:
        """The output of the queries so far for later steps."""
        start, end = self._bounds()
        stride = self.job.settings.step or self.job.settings.window
        for output in run.harvest.taken():
            first = int(output.queries[0])
            since = FIRST if stride is None else min(start + (first + 1) * stride, end)
            yield from self._sends.stage_output(self._owner.stage_output(output), since)

    def _can_slice(self) -> bool:
        """Can slices be evaluated?

        An input fluent that is given at points cannot be cut, because only later points show
        whether it goes on after a slice.
        """
        if self.job.settings.window is not None:
            return self._evaluates()
        if not self._evaluates():
            return True
        reads = self._routes.reads[self.step]
        forms = [form for form in self._survey.forms if form.relation in reads]
        at_points = any(form.kind is RecordKind.POINT for form in forms)
        return not at_points and self.job.loaded.plan.slices[self.step] is not None

    def _slice(self, home: Records, resolved: Parts, query: int) -> Iterator[Row]:
        start, end = self._bounds()
        yield from self._sent_on(home)
        if not isinstance(self.slicing, Slicing):
            parts = self.job.loaded.plan.slices[self.step] if self._evaluates() else None
            self.slicing = Slicing(
                self.job,
                self.step,
                self.inbox.outputs,
                self._owner,
                self._survey,
                parts,
                start,
                end,
            )
        records = self._read(home, resolved) if self._evaluates() else Records()
        self.slicing.take(records, query)
        self.report["slices"] = self.report.get("slices", 0) + 1

    def _evaluates(self) -> bool:
        return bool(self.step) and self._routes.is_in_charge(self.step, self.bucket)

    @property
    def _routes(self) -> Routes:
        return self.job.loaded.plan.routes

    @property
    def _plan(self) -> Plan:
        return self.job.loaded.plan

    # -- records ----------------------------------------------------------------------------

    def _entered(self, records: Parts) -> Records:
        """The records whose home this is, resolved; unmatched retractions are set aside."""
        resolved = Records(sources=self.places)
        for parts in records.values():
            if parts:
                enter(parts, resolved, self.job, self._owner.owns)
        self.report.setdefault("set_aside", []).extend(resolved.set_aside)
        self._account(resolved)
        return resolved

    def _account(self, home: Records) -> None:
        start, end = self._bounds()
        owned = Records(sources=self.places)
        owned.relations = {form: self._owner.records(part) for form, part in home.relations.items()}
        owned.retractions = [self._owner.records(part) for part in home.retractions]
        settings = self.job.settings
        queries = list(windows(start, end, settings.window, settings.step))
        late, outside = account(owned, queries, self.job.tick)
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
            run = StageRun(self.job, self.step, self.inbox.outputs, self._owner, self._survey)
            answer = run.over(records, *self._bounds(), settings.window, settings.step)
        self.report |= {"queries": answer.queries, "conflicts": answer.conflicts}
        owned = self._owner.answer(answer)
        with self.clock.spent_on("writing"):
            row = answer_row(owned, self.job, self.bucket, self.step)
        yield row
        yield from self._harvested(run)

    def _read(self, home: Records, resolved: Parts) -> Records:
        """The records that the stage reads, with an empty table for forms that only others have."""
        survey = self._survey
        reads = self._routes.reads[self.step]
        parts: Parts = {form: [nothing(form)] for form in sorted(survey.forms, key=str)}
        for form, part in home.relations.items():
            parts.setdefault(form, []).append(part)
        for form, more in resolved.items():
            parts.setdefault(form, []).extend(more)
        records = Records()
        for form, several in parts.items():
            if form.relation in reads:
                records.relations[form] = stacked_records(several)
        return records
