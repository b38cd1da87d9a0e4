"""Runs of one stage: over all records of a bucket at once, or slice by slice."""

from __future__ import annotations

from collections import deque

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import undisturbed
from cernis.evaluate.run import Run
from cernis.evaluate.windows import Window, windows
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.plan.pointwise import Sliced
from cernis.records.record_columns import RecordColumns, RecordKind, Records
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.ownership import Owner
from cernis.spark.exchange.stage_links import BucketLinks, FoundParts, SurveyedMembers
from cernis.spark.exchange.stage_output import Found, Harvest
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable


class StageRun(Run):
    """A run of one stage: earlier stages' tables are put in, later stages' needs taken out."""

    def __init__(
        self, job: Job, step: int, found: FoundParts, owner: Owner, survey: Survey
    ) -> None:
        loaded = job.loaded
        self._owner = owner
        self._values = survey.values
        settings = job.settings
        super().__init__(loaded.stage(step), settings.tick, settings.ties)
        self._job = job
        owned = loaded.routes.owned
        earlier = sorted(
            relation for relation in loaded.routes.reads[step]
            if any(relation in there for there in owned.values())
        )  # fmt: skip
        self._links = self._linked(
            earlier, frozenset(owned[step]) & frozenset(loaded.routes.onward)
        )
        self._links.put_in(found)

    def _linked(self, earlier: list[Relation], later: frozenset[Relation]) -> BucketLinks:
        return BucketLinks(earlier, later)

    @property
    def harvest(self) -> Harvest:
        """What queries have found for later stages."""
        return self._links.harvest

    def links(self) -> BucketLinks:
        """What is put in and taken out at each query."""
        return self._links

    def forms_of(self, records: Records) -> Forms:
        """The forms of values in all of the input, of which these records are a part."""
        forms = self.plan.forms.copy()
        forms.see(self._values)
        return forms

    def context(self, window: Window) -> Context:
        """What operators can ask for: of some counts, only those of the bucket's own."""
        context = super().context(window)
        # Else what several buckets find would be counted as often.
        context.owned = self._owner.heads if self._owner.asks else None
        return context

    def membership(self) -> Population:
        """Who is in growing domains: some are known from all of the input."""
        return SurveyedMembers(self.checked.definitions, self._job.members or {})


class WindowedRun(StageRun):
    """A run of one stage with windows, some queries at a time: it gives what all at once do.

    Records that no window to come can see are forgotten.
    """

    def __init__(
        self, job: Job, step: int, owner: Owner, survey: Survey, start: int, end: int
    ) -> None:
        super().__init__(job, step, {}, owner, survey)
        self._windows = deque(windows(start, end, job.settings.window, job.settings.step))
        self.enter_workspace(self.forms_of(Records()))
        self.begin(start)

    def last_before(self, time: int) -> int | None:
        """The last query before some time that has not been evaluated; None if all have been."""
        found = None
        for window in self._windows:
            if window.query >= time:
                break
            found = window.query
        return found

    def take(self, records: Records, found: FoundParts, query: int) -> None:
        """Evaluate the queries up to one, over all records that they may see."""
        self._links.put_in(found)
        with undisturbed():
            self.memory.take(self.encoder.encode_records(records))
            while self._windows and self._windows[0].query <= query:
                self.query(self._windows.popleft())

    def later(self, part: RecordColumns) -> RecordColumns:
        """The records that a query to come may see."""
        if not self._windows:
            return part.take(np.empty(0, np.int64))
        edge = self._windows[0].forgotten
        if part.form.kind is RecordKind.INTERVAL:
            return part.take(part.times[2] > edge + self.tick)
        return part.take(part.times[1] > edge)

    def later_found(self, found: Found) -> Found:
        """What is as of queries to come."""
        return found.take(np.flatnonzero(found.queries >= self.queries))


class SlicedRun(StageRun):
    """A run of one stage, slice by slice: all of it gives what a run at once does.

    Records must be visible at the end of the run; when they arrived does not matter.
    """

    _links: SlicedLinks

    def __init__(
        self, job: Job, step: int, found: FoundParts, owner: Owner, survey: Survey, parts: Sliced,
        start: int,
    ) -> None:  # fmt: skip
        super().__init__(job, step, found, owner, survey)
        self._parts = parts
        self._edge = start
        self.enter_workspace(self.forms_of(Records()))
        self.begin(start)

    def take(self, records: Records, query: int) -> None:
        """Evaluate what lies after the last slice, up to a point.

        The records must be all of that time. Intervals that go on must be given again.
        """
        self._take(records, Window(self._edge, query, self._edge), self._parts.first)
        self._edge = query

    def _take(self, records: Records, window: Window, strata: Plan) -> None:
        self.evaluator.strata = strata
        with undisturbed():
            self.memory.take(self.encoder.encode_records(records))
            self.query(window)

    def finish(self, records: Records, end: int) -> Answer:
        """Evaluate what needs whole intervals, over all records that it reads."""
        assert self.start is not None
        whole = self.evaluator.whole_answer()
        self._links.see(
            {r: own for r, own in whole.fluents.items() if r in self._parts.relations},
            {r: own for r, own in whole.events.items() if r in self._parts.relations},
        )
        self.begin(self.start)
        self.queries = 0
        self._take(records, Window(self.start, end, self.start), self._parts.rest)
        return self.answer()

    def _linked(self, earlier: list[Relation], later: frozenset[Relation]) -> SlicedLinks:
        return SlicedLinks(earlier, later)


class SlicedLinks(BucketLinks):
    """Links that count only when all slices have been evaluated, and whole lists are there."""

    _whole: tuple[dict[Relation, FluentTable], dict[Relation, EventTable]] | None = None

    def see(self, fluents: dict[Relation, FluentTable], events: dict[Relation, EventTable]) -> None:
        """Take what all slices have found; the next query is evaluated over it."""
        self._whole = fluents, events

    def enter(self, context: Context) -> None:
        """Put in what earlier stages found, and what all slices did, when whole lists are there."""
        if self._whole is not None:
            super().enter(context)
            context.fluents |= self._whole[0]
            context.events |= self._whole[1]

    def take(self, context: Context) -> None:
        """Take out what later stages need, when all is there."""
        if self._whole is not None:
            super().take(context)
