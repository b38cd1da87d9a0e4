"""Runs of one stage: over all records of a bucket at once, or slice by slice."""

from __future__ import annotations

from collections import deque

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.columns.state import State
from cernis.evaluate.windowed_run import Answer, Run, Window, undisturbed, windows
from cernis.operators.query_context import Context
from cernis.plan.held_forms import Forms
from cernis.plan.pointwise import Sliced
from cernis.records.encoded_input import Encoder, Input
from cernis.records.record_columns import Kind, RecordColumns, Records
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.ownership import Owner
from cernis.spark.exchange.stage_output import Found, Given, Harvest, What, one_below_the_other
from cernis.spark.input.bucket_domains import members_at
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import empty_table

FoundParts = dict[tuple[Relation, What], list[Found]]


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
        self._found = found
        self._given: list[Given] | None = None
        owned = loaded.routes.owned
        self._earlier = sorted(
            relation for relation in loaded.routes.reads[step]
            if any(relation in there for there in owned.values())
        )  # fmt: skip
        self.harvest = Harvest(frozenset(owned[step]) & frozenset(loaded.routes.onward))

    def forms_of(self, records: Records) -> Forms:
        """The forms of values in all of the input, of which these records are a part."""
        forms = self.plan.forms.copy()
        forms.see(self._values)
        return forms

    def _context(self, given: Input, window: Window, start: int, state: State) -> Context:
        context = super()._context(given, window, start, state)
        # Else what several buckets find would be counted as often.
        context.owned = self._owner.heads if self._owner.asks else None
        return context

    def before_query(self, number: int, context: Context) -> None:
        """Put in what earlier stages found as of this query, and who is in each domain."""
        if self._given is None:
            parts = self._found.values()
            self._given = [Given(one_below_the_other(own), context) for own in parts]
        for relation in self._earlier:
            self._enter_nothing(relation, context)
        for given in self._given:
            given.enter(number, context)
        if self._job.members is not None:
            for key, own in self._job.members.items():
                context.fill(key, members_at(own, number), number + 1)

    def _enter_nothing(self, relation: Relation, context: Context) -> None:
        fluent = self.checked.catalogue.fluents.get(relation)
        if fluent is not None and fluent.kind is not FluentKind.INPUT:
            domains = [context.domain("fluent", relation, at) for at in range(relation.arity)]
            value = context.domain("fluent", relation, "value")
            context.fluents[relation] = empty_table(domains, value)
        else:
            domains = [context.domain("event", relation, at) for at in range(relation.arity)]
            none = np.empty(0, np.int64)
            context.events[relation] = EventTable([none] * len(domains), domains, none)

    def after_query(self, number: int, context: Context) -> None:
        """Take out what later stages need; earlier stages carry over what is theirs."""
        for relation in self._earlier:
            context.fluents.pop(relation, None)
            context.events.pop(relation, None)
        self.harvest.add(number, context)


class WindowedRun(StageRun):
    """A run of one stage with windows, some queries at a time: it gives what all at once do.

    Records that no window to come can see are forgotten.
    """

    def __init__(
        self, job: Job, step: int, owner: Owner, survey: Survey, start: int, end: int
    ) -> None:
        super().__init__(job, step, {}, owner, survey)
        self._windows = deque(windows(start, end, job.settings.window, job.settings.step))
        self._enter(self._prepared(self.forms_of(Records())))
        self._encoder = Encoder(self.checked, self.domains, self.tick)
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
        self._found, self._given = found, None
        with undisturbed():
            given = self._encoder.encode_records(records)
            while self._windows and self._windows[0].query <= query:
                self.query(self._windows.popleft(), given, self.plan)

    def later(self, part: RecordColumns) -> RecordColumns:
        """The records that a query to come may see."""
        if not self._windows:
            return part.take(np.empty(0, np.int64))
        edge = self._windows[0].forgotten
        if part.form.kind is Kind.INTERVAL:
            return part.take(part.times[2] > edge + self.tick)
        return part.take(part.times[1] > edge)

    def later_found(self, found: Found) -> Found:
        """What is as of queries to come."""
        return found.take(np.flatnonzero(found.queries >= self.queries))


class SlicedRun(StageRun):
    """A run of one stage, slice by slice: all of it gives what a run at once does.

    Records must be visible at the end of the run; when they arrived does not matter.
    """

    def __init__(
        self, job: Job, step: int, found: FoundParts, owner: Owner, survey: Survey, parts: Sliced,
        start: int,
    ) -> None:  # fmt: skip
        super().__init__(job, step, found, owner, survey)
        self._parts = parts
        self._edge = start
        self._whole: Answer | None = None
        self._enter(self._prepared(self.forms_of(Records())))
        self._encoder = Encoder(self.checked, self.domains, self.tick)
        self.begin(start)

    def take(self, records: Records, query: int) -> None:
        """Evaluate what lies after the last slice, up to a point.

        Records must tell of all that happens there. Intervals that last on must come again.
        """
        with undisturbed():
            given = self._encoder.encode_records(records)
            self.query(Window(self._edge, query, self._edge), given, self._parts.first)
        self._edge = query

    def finish(self, records: Records, end: int) -> Answer:
        """Evaluate what needs whole intervals, over all records that it reads."""
        self._whole = Answer(self.state.fluents(), self.state.events())
        self.begin(self.start)
        self.queries = 0
        with undisturbed():
            given = self._encoder.encode_records(records)
            self.query(Window(self.start, end, self.start), given, self._parts.rest)
        return self.answer()

    def before_query(self, number: int, context: Context) -> None:
        """Put in what earlier stages found, and what all slices did, when whole lists are there."""
        if self._whole is not None:
            super().before_query(number, context)
            fluents, events = self._whole.fluents, self._whole.events
            context.fluents |= {r: t for r, t in fluents.items() if self._is_first(r)}
            context.events |= {r: t for r, t in events.items() if self._is_first(r)}

    def after_query(self, number: int, context: Context) -> None:
        """Take out what later stages need, when all is there."""
        if self._whole is not None:
            super().after_query(number, context)

    def _is_first(self, relation: Relation) -> bool:
        return relation in self._parts.relations
