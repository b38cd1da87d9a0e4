"""Runs of one stage: over all records of a bucket at once, or slice by slice."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.evaluator_choice import QueriesAhead
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import garbage_collection_paused
from cernis.evaluate.run import Run
from cernis.evaluate.sweep.lane_storage import is_walkable_span
from cernis.evaluate.time_grid import TimeGrid
from cernis.evaluate.windows import Window, windows
from cernis.operators.context.query_context import Context
from cernis.operators.context.restriction import Restriction
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.plan.properties.pointwise import Sliced
from cernis.records.encoded_input import EncodedInput
from cernis.records.record_columns import RecordColumns, RecordKind, Records
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.ownership import Owner
from cernis.spark.exchange.stage_links import BucketLinks, OutputParts, SurveyedMembers
from cernis.spark.exchange.stage_output import Harvest, StageOutput
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses


class StageRun(Run):
    """A run of one stage, which reads the output of earlier stages and gathers that for later."""

    def __init__(
        self, job: Job, step: int, outputs: OutputParts, owner: Owner, survey: Survey
    ) -> None:
        loaded = job.loaded
        self._owner = owner
        self._values = survey.values
        settings = job.settings
        super().__init__(
            loaded.plan.stage_plans[step],
            settings.tick,
            settings.ties,
            uncertain_settings=job.likely,
        )
        self._job = job
        self._survey = survey
        owned = loaded.plan.routes.owned
        earlier = sorted(
            relation for relation in loaded.plan.routes.reads[step]
            if any(relation in keys for keys in owned.values())
        )  # fmt: skip
        self._links = self._linked(
            earlier, frozenset(owned[step]) & frozenset(loaded.plan.routes.onward)
        )
        self._links.put_in(outputs)

    def _linked(self, earlier: list[Relation], later: frozenset[Relation]) -> BucketLinks:
        return BucketLinks(earlier, later, self._uncertain_fluents())

    def _uncertain_fluents(self) -> frozenset[Relation]:
        """The fluents of all stages that are uncertain, by what is known of all the input."""
        if self.uncertain_settings is None:
            return frozenset()
        uncertain = self.uncertain_relations(Records())
        return self._job.loaded.plan.uncertainties.of(uncertain).fluents

    def uncertain_relations(self, records: Records) -> frozenset[Relation]:
        """The relations whose records may be uncertain, wherever these are."""
        return super().uncertain_relations(records) | self._survey.uncertain

    @property
    def harvest(self) -> Harvest:
        """The output of queries for later stages."""
        return self._links.harvest

    def stage_links(self) -> BucketLinks:
        """The links with other stages, which are used at each query."""
        return self._links

    def forms_of(self, records: Records) -> Forms:
        """The forms of values in all of the input, of which these records are a part."""
        forms = self.plan.forms.copy()
        forms.see(self._values)
        return forms

    def context(self, window: Window) -> Context:
        """The context of a query, in which some counts are only of rows that the bucket owns."""
        context = super().context(window)
        # Otherwise a row that several buckets derive would be counted several times.
        owned = self._owner.heads if self._owner.asks else None
        context.restriction = Restriction(owned=owned)
        return context

    @property
    def may_walk(self) -> bool:
        """May lanes be walked? Not where rows are counted that other buckets find as well."""
        return super().may_walk and not self._owner.asks

    def _can_be_walked(
        self, encoded: EncodedInput, grid: TimeGrid, window: int | None, step: int | None
    ) -> bool:
        """Can the input be walked, and what earlier stages have found?

        That may lie between ticks where the input of this stage does not.
        """
        is_whole = self._links.are_whole and (self.tick == 1 or not self._links.earlier)
        return is_whole and super()._can_be_walked(encoded, grid, window, step)

    def walks_parts(self, start: int, end: int) -> bool:
        """May lanes be walked over records that come part by part?

        Before all of them are there, nobody knows whether their numbers can be held in registers,
        nor whether their times are whole ticks apart, or input comes in time for lanes.
        """
        settings, survey = self._job.settings, self._survey
        window, step = settings.window, settings.step
        at_points = any(form.kind is RecordKind.POINT for form in survey.forms)
        has_gaps = window is not None and step is not None and step > window
        reads_intervals = bool(self.plan.listed_input or self._links.earlier)
        return (
            self.may_walk
            and self.tick == 1
            and not self.plan.has_registers
            and not self.plan.input_in_lanes
            and is_walkable_span(start, end)
            and not (reads_intervals and (at_points or has_gaps))
        )

    def make_population(self) -> Population:
        """The members of growing domains, some of them from a survey of all the input."""
        return SurveyedMembers(self.plan, self._job.members or {})


class WindowedRun(StageRun):
    """A run of one stage with windows, some queries at a time.

    The answer is that of all queries at once. Records that no window to come can see are forgotten.
    """

    def __init__(
        self, job: Job, step: int, owner: Owner, survey: Survey, start: int, end: int
    ) -> None:
        super().__init__(job, step, {}, owner, survey)
        length, stride = job.settings.window, job.settings.step
        self._windows = deque(windows(start, end, length, stride))
        self._last: int | None = None
        self.sees_records_once = length is not None and (stride or length) >= length
        self.enter_workspace(self.forms_of(Records()))
        may_walk = self.walks_parts(start, end)
        self.begin(start, QueriesAhead(keeps_answers=True, may_walk=may_walk))

    def last_before(self, time: int) -> int | None:
        """The last query before some time that has not been evaluated; None if all have been."""
        last = None
        for window in self._windows:
            if window.query >= time:
                break
            last = window.query
        return last

    def take(self, records: Records, outputs: OutputParts, query: int) -> None:
        """Evaluate the queries up to one, over all records that they may see."""
        self._links.put_in(outputs)
        with garbage_collection_paused():
            self.memory.use_records(self.encoder.encode_records(records), self._last)
            while self._windows and self._windows[0].query <= query:
                window = self._windows.popleft()
                self.query(window)
                self._last = window.query

    def later(self, part: RecordColumns) -> RecordColumns:
        """The records that a query to come may see."""
        if not self._windows:
            return part.take(np.empty(0, np.int64))
        edge = self._windows[0].forgotten
        if part.form.kind is RecordKind.INTERVAL:
            return part.take(part.times[2] > edge + self.tick)
        return part.take(part.times[1] > edge)

    def later_output(self, output: StageOutput) -> StageOutput:
        """The output for queries to come."""
        return output.take(np.flatnonzero(output.queries >= self.queries))


class SlicedRun(StageRun):
    """A run of one stage, slice by slice.

    The answer is that of a run over everything at once. Records must be visible at the end of the
    run; when they arrived does not matter.
    """

    _links: SlicedLinks

    def __init__(
        self, job: Job, step: int, outputs: OutputParts, owner: Owner, survey: Survey,
        parts: Sliced, start: int, end: int,
    ) -> None:  # fmt: skip
        super().__init__(job, step, outputs, owner, survey)
        self._parts = parts
        self._edge = start
        self.sees_records_once = True
        self.enter_workspace(self.forms_of(Records()))
        self.walks = parts.is_walked and self.walks_parts(start, end)
        ahead = QueriesAhead(keeps_answers=True, may_walk=self.walks)
        self.begin(start, ahead)

    @property
    def kept(self) -> frozenset[Relation]:
        """The input of which all records are needed when the last slice has been evaluated."""
        return frozenset() if self.walks else self._parts.kept

    def take(self, records: Records, query: int) -> None:
        """Evaluate the time after the last slice, up to a point.

        `records` must have all records of that time, and again the intervals that go on.
        """
        window = Window(self._edge, query, self._edge)
        if self.walks:
            self._query(records, window, self._edge)
        else:
            self._take(records, window, self._parts.first)
        self._edge = query

    def _take(self, records: Records, window: Window, strata: Plan) -> None:
        self.evaluator.strata = strata
        self._query(records, window, None)

    def _query(self, records: Records, window: Window, last: int | None) -> None:
        """Evaluate a slice; those of the records that lie before the `last` one's end are known."""
        with garbage_collection_paused():
            self.memory.use_records(self.encoder.encode_records(records), last)
            self.query(window)

    def finish(self, records: Records, end: int) -> Answer:
        """Evaluate the strata that need whole intervals, over all records that they read."""
        assert self.start is not None
        if self.walks:
            return self._finished_walk(end)
        whole = self.evaluator.whole_answer()
        read = self._parts.relations
        self._links.see(
            {relation: table for relation, table in whole.fluents.items() if relation in read},
            {relation: table for relation, table in whole.events.items() if relation in read},
        )
        self.begin(self.start)
        self.queries = 0
        self._take(records, Window(self.start, end, self.start), self._parts.rest)
        return self.answer()

    def _finished_walk(self, end: int) -> Answer:
        """The answer of all slices, which later stages get as that of one query."""
        assert self.start is not None
        self.queries = 1
        answer = self.answer()
        context = self.context(Window(self.start, end, self.start))
        context.relations.fluents |= answer.fluents
        context.relations.events |= answer.events
        self._links.see({}, {})
        self._links.take(context, {})
        return answer

    def _linked(self, earlier: list[Relation], later: frozenset[Relation]) -> SlicedLinks:
        return SlicedLinks(earlier, later)


class SlicedLinks(BucketLinks):
    """Links that are used only when all slices have been evaluated, and intervals are whole."""

    _whole: tuple[dict[Relation, FluentTable], dict[Relation, EventTable]] | None = None

    def see(self, fluents: dict[Relation, FluentTable], events: dict[Relation, EventTable]) -> None:
        """Take the tables of all slices; the next query is evaluated over them."""
        self._whole = fluents, events

    def enter(self, context: Context, courses: dict[Relation, Courses]) -> None:
        """Enter the output of earlier stages and the tables of all slices, once these are whole."""
        if self._whole is not None:
            super().enter(context, courses)
            context.relations.fluents |= self._whole[0]
            context.relations.events |= self._whole[1]

    def take(self, context: Context, courses: dict[Relation, Courses]) -> None:
        """Gather the output for later stages, once intervals are whole."""
        if self._whole is not None:
            super().take(context, courses)
