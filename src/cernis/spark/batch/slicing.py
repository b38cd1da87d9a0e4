"""Slices of a bucket's records, which are evaluated one after the other."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.answer import Answer
from cernis.plan.properties.pointwise import Sliced
from cernis.records.record_columns import INFINITE, RecordColumns, RecordForm, RecordKind, Records
from cernis.records.record_columns import one_below_the_other as stacked
from cernis.spark.batch.bucket_runs import SlicedRun, WindowedRun
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.ownership import Owner
from cernis.spark.exchange.stage_links import OutputParts

Parts = dict[RecordForm, list[RecordColumns]]


class Slicing:
    """The slices of a step in one bucket. Without `parts`, nothing is evaluated in it."""

    def __init__(
        self, job: Job, step: int, outputs: OutputParts, owner: Owner, survey: Survey,
        parts: Sliced | None, start: int, end: int,
    ) -> None:  # fmt: skip
        self.edge = start
        self._end = end
        self._run: SlicedRun | None = None
        if parts is not None:
            self._run = SlicedRun(job, step, outputs, owner, survey, parts, start, end)
        self._lasting: Parts = {}
        self._kept: Parts = {}

    def take(self, records: Records, query: int) -> None:
        """Evaluate a slice: all records after the last one, up to a point."""
        self.edge = query
        if self._run is None:
            return
        slice_records = Records()
        for form, part in records.relations.items():
            seen = seen_at(part, self._end)
            if form.relation in self._run.kept:
                self._kept.setdefault(form, []).append(seen)
            slice_records.relations[form] = stacked_records([seen, *self._lasting.pop(form, ())])
        self._run.take(slice_records, query)
        for form, part in slice_records.relations.items():
            if form.kind is RecordKind.INTERVAL:
                self._lasting[form] = [part.take(part.times[2] > query + self._run.tick)]

    def finish(self) -> tuple[SlicedRun, Answer]:
        """Evaluate what needs whole intervals, after the last slice; gives run and answer."""
        assert self._run is not None
        kept = Records()
        kept.relations = {form: stacked_records(parts) for form, parts in self._kept.items()}
        return self._run, self._run.finish(kept, self._end)


class Windowing:
    """The slices of a step with windows in one bucket: with each slice, some queries are due."""

    def __init__(
        self, job: Job, step: int, outputs: OutputParts, owner: Owner, survey: Survey, start: int,
        end: int,
    ) -> None:  # fmt: skip
        self.run = WindowedRun(job, step, owner, survey, start, end)
        self._outputs = outputs
        self._kept: Parts = {}

    def take(self, records: Records, query: int) -> None:
        """Evaluate the queries up to one, with all records up to it that are new."""
        slice_records = Records()
        for form, part in records.relations.items():
            slice_records.relations[form] = stacked_records([part, *self._kept.pop(form, ())])
        outputs = {key: list(parts) for key, parts in self._outputs.items()}
        self.run.take(slice_records, outputs, query)
        relations = slice_records.relations.items()
        self._kept = {form: [self.run.later(part)] for form, part in relations}
        for key, parts in self._outputs.items():
            later = [self.run.later_output(output) for output in parts]
            self._outputs[key] = [output for output in later if len(output)]
        for key in [key for key, parts in self._outputs.items() if not parts]:
            del self._outputs[key]

    def finish(self) -> tuple[WindowedRun, Answer]:
        """The run and the answer, after the last slice."""
        return self.run, self.run.answer()


def seen_at(part: RecordColumns, end: int) -> RecordColumns:
    """The records that a query at the end sees, as if each had arrived when it occurred."""
    seen = (part.times[0] <= end) & (part.times[1] <= end)
    if part.gone is not None:
        seen &= part.gone > end
    kept = part if seen.all() else part.take(seen)
    times = [kept.times[1], *kept.times[1:]]
    return RecordColumns(kept.form, times, kept.columns, kept.places)


def nothing(form: RecordForm) -> RecordColumns:
    """No records of a form."""
    none = np.empty(0, np.int64)
    return RecordColumns(form, [none] * len(form.titles), [none] * form.width, none)


def stacked_records(parts: list[RecordColumns]) -> RecordColumns:
    """Several tables of records of one form as one, with the times when they were taken back."""
    filled = [part for part in parts if len(part)] or parts[:1]
    whole = stacked(filled)
    if len(filled) > 1 and any(part.gone is not None for part in filled):
        whole.gone = np.concatenate([
            np.full(len(part), INFINITE) if part.gone is None else part.gone for part in filled
        ])  # fmt: skip
    return whole
