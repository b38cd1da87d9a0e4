"""Slices of a bucket's records: one after the other, and what of them must be kept."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.answer import Answer
from cernis.plan.pointwise import Sliced
from cernis.records.record_columns import INFINITE, RecordColumns, RecordForm, RecordKind, Records
from cernis.records.record_columns import one_below_the_other as stacked
from cernis.spark.batch.bucket_runs import SlicedRun, WindowedRun
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.ownership import Owner
from cernis.spark.exchange.stage_links import FoundParts

Parts = dict[RecordForm, list[RecordColumns]]


class Slicing:
    """The slices of a step in one bucket. Without `parts`, nothing is evaluated in it."""

    def __init__(
        self, job: Job, step: int, found: FoundParts, owner: Owner, survey: Survey,
        parts: Sliced | None, start: int, end: int,
    ) -> None:  # fmt: skip
        self.edge = start
        self._end = end
        self._parts = parts
        self._run: SlicedRun | None = None
        if parts is not None:
            self._run = SlicedRun(job, step, found, owner, survey, parts, start)
        self._lasting: Parts = {}
        self._kept: Parts = {}

    def take(self, records: Records, query: int) -> None:
        """Evaluate a slice: all records after the last one, up to a point."""
        self.edge = query
        if self._run is None or self._parts is None:
            return
        given = Records()
        for form, part in records.relations.items():
            own = seen_at(part, self._end)
            if form.relation in self._parts.kept:
                self._kept.setdefault(form, []).append(own)
            given.relations[form] = stacked_records([own, *self._lasting.pop(form, ())])
        self._run.take(given, query)
        for form, part in given.relations.items():
            if form.kind is RecordKind.INTERVAL:
                self._lasting[form] = [part.take(part.times[2] > query + self._run.tick)]

    def finish(self) -> tuple[SlicedRun, Answer]:
        """What needs whole intervals, after the last slice; gives the run and the answer."""
        assert self._run is not None
        kept = Records()
        kept.relations = {form: stacked_records(own) for form, own in self._kept.items()}
        return self._run, self._run.finish(kept, self._end)


class Windowing:
    """The slices of a step with windows in one bucket: of each, some queries are evaluated."""

    def __init__(
        self, job: Job, step: int, found: FoundParts, owner: Owner, survey: Survey, start: int,
        end: int,
    ) -> None:  # fmt: skip
        self.run = WindowedRun(job, step, owner, survey, start, end)
        self._found = found
        self._kept: Parts = {}

    def take(self, records: Records, query: int) -> None:
        """Evaluate the queries up to one, with all records up to it that are new."""
        given = Records()
        for form, part in records.relations.items():
            given.relations[form] = stacked_records([part, *self._kept.pop(form, ())])
        self.run.take(given, {key: list(own) for key, own in self._found.items()}, query)
        self._kept = {form: [self.run.later(own)] for form, own in given.relations.items()}
        for key, parts in self._found.items():
            left = [self.run.later_found(own) for own in parts]
            self._found[key] = [own for own in left if len(own)]
        for key in [key for key, parts in self._found.items() if not parts]:
            del self._found[key]

    def finish(self) -> tuple[WindowedRun, Answer]:
        """The run and the answer, after the last slice."""
        return self.run, self.run.answer()


def seen_at(part: RecordColumns, end: int) -> RecordColumns:
    """The records that a query at the end sees, as if each had come when it was due."""
    seen = (part.times[0] <= end) & (part.times[1] <= end)
    if part.gone is not None:
        seen &= part.gone > end
    own = part if seen.all() else part.take(seen)
    times = [own.times[1], *own.times[1:]]
    return RecordColumns(own.form, times, own.columns, own.places)


def nothing(form: RecordForm) -> RecordColumns:
    """No records of a form."""
    none = np.empty(0, np.int64)
    return RecordColumns(form, [none] * len(form.titles), [none] * form.width, none)


def stacked_records(parts: list[RecordColumns]) -> RecordColumns:
    """Records of one form as one, with when each was taken back."""
    filled = [part for part in parts if len(part)] or parts[:1]
    whole = stacked(filled)
    if len(filled) > 1 and any(part.gone is not None for part in filled):
        whole.gone = np.concatenate([
            np.full(len(part), INFINITE) if part.gone is None else part.gone for part in filled
        ])  # fmt: skip
    return whole
