"""The clock that all buckets of a stream share, and the times that are too far ahead to move it.

The *clock* of a stream is the latest arrival of all records so far, or the latest time that a
`$clock` gives. A query is due when the clock has passed its time by more than the lateness. Each
task that reads lets every bucket know how far its records have come, so all buckets agree on the
clock, and on the queries that are due, within one job and without the driver.

A time that is far ahead, such as one in milliseconds among others in seconds, would make more
queries due than can be answered. So no time counts that lies more queries ahead of the clock than a
run may have. Before there is a clock, and if no start is given, the median of the times that were
read takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cernis.evaluate.windows import MOST_QUERIES
from cernis.kernels.array_types import Booleans, Integers
from cernis.records.gathering import CLOCK
from cernis.records.record_columns import (
    FUTURE,
    INFINITE,
    RecordColumns,
    RecordForm,
    Records,
    SetAside,
)

if TYPE_CHECKING:
    from cernis.spark.streaming.stream_job import StreamJob

BEYOND = (
    f"its time is more than {MOST_QUERIES:,} queries away from the clock of the stream: is it in "
    "another unit? If not, begin with a new checkpoint, or choose a longer step"
)


class Span(NamedTuple):
    """A stretch of the times that one task has read, without large gaps."""

    first: int | None
    """The first point of a record; None if there are only retractions."""
    middle: int
    """The median of the arrivals."""
    last: int | None
    """The latest arrival; None if no arrival lies in the stretch."""
    records: int
    """How many records arrived in the stretch."""


class Bounds(NamedTuple):
    """The times that count, both ends included."""

    low: int
    high: int

    def has_all(self, part: RecordColumns) -> bool:
        """Do all times of records count?"""
        return all(
            int(times.min()) >= self.low and int(times.max()) <= self.high
            for times in part.times[:2]
        )

    def outside(self, part: RecordColumns) -> Booleans:
        """The records whose arrival or occurrence does not count."""
        is_outside = np.zeros(len(part), np.bool_)
        for times in part.times[:2]:
            is_outside |= (times < self.low) | (times > self.high)
        return is_outside


@dataclass(frozen=True, slots=True)
class InputReport:
    """The report of readers on the input: the times of records, their `$clock`, their forms."""

    spans: tuple[Span, ...] = ()
    clock: int | None = None
    forms: frozenset[RecordForm] = frozenset()

    def __add__(self, other: InputReport) -> InputReport:
        clocks = [each for each in (self.clock, other.clock) if each is not None]
        return InputReport(
            self.spans + other.spans, max(clocks, default=None), self.forms | other.forms
        )

    def bounds(self, job: StreamJob) -> Bounds:
        """The times that count."""
        if job.anchor is not None:
            return Bounds(-INFINITE, min(job.anchor + job.reach, INFINITE))
        if not self.spans:
            return Bounds(-INFINITE, INFINITE)
        middle = self._middle()
        return Bounds(max(middle - job.reach, -INFINITE), min(middle + job.reach, INFINITE))

    def _middle(self) -> int:
        """The median of all arrivals, estimated from the medians of the tasks."""
        spans = sorted(self.spans, key=lambda span: span.middle)
        half = sum(span.records for span in spans) / 2
        passed = np.cumsum([span.records for span in spans])
        return spans[int(np.searchsorted(passed, half))].middle

    def first(self, bounds: Bounds) -> int | None:
        """The first point of a record, among those that count."""
        spans = [span for span in self.spans if bounds.low <= span.middle <= bounds.high]
        firsts = [max(span.first, bounds.low) for span in spans if span.first is not None]
        return min(firsts, default=None)

    def last(self, bounds: Bounds) -> int | None:
        """How far the input has come, by times that count."""
        arrived = [(span.last, span.middle) for span in self.spans if span.last is not None]
        lasts = [last if last <= bounds.high else middle for last, middle in arrived]
        lasts += [] if self.clock is None else [self.clock]
        return max((last for last in lasts if last <= bounds.high), default=None)

    def set_aside(self, bounds: Bounds) -> list[SetAside]:
        """A `$clock` that does not count, which shows only when all tasks have reported."""
        if self.clock is None or self.clock <= bounds.high:
            return []
        return [SetAside(0, BEYOND, f"{CLOCK}|{self.clock - 1}")]


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a stream has come, the same in every bucket."""

    start: int | None = None
    """Where the run starts; None before the first record."""
    time: int | None = None
    query: int | None = None
    """The last query."""
    forms: frozenset[RecordForm] = frozenset()

    def heard(self, report: InputReport, job: StreamJob) -> Clock:
        """The clock after a micro-batch has been read.

        If no start is given, queries are at multiples of the step, so that it does not matter how
        the input is cut into micro-batches. A `$clock` before there is a start has no effect, since
        all records have arrived later.
        """
        bounds = report.bounds(job)
        start, first = self.start, report.first(bounds)
        if start is None and first is not None:
            start = (first - job.tick) // job.step * job.step
            start = job.start if job.start is not None else start
        if start is None:
            return replace(self, forms=self.forms | report.forms)
        times = [each for each in (self.time, report.last(bounds)) if each is not None]
        return Clock(start, max(times, default=None), self.query, self.forms | report.forms)

    def due(self, job: StreamJob) -> range:
        """The times of the queries that are due."""
        if self.start is None or self.time is None:
            return range(0)
        last = self.start if self.query is None else self.query
        return range(last + job.step, self.time - job.lateness, job.step)

    def after(self, due: range) -> Clock:
        """The clock after the queries that were due."""
        return replace(self, query=due[-1]) if due else self


# -- of one task -------------------------------------------------------------------------------


def trusted(records: Records, job: StreamJob) -> tuple[InputReport, list[SetAside]]:
    """Take out the records of one task that are too far ahead; gives the report on the others.

    Before there is a clock, a single task cannot decide what is too far ahead; buckets do, which
    have the reports of all tasks.
    """
    aside = list(_set_aside_ahead(records, job))
    bounds = InputReport().bounds(job)
    aside += set_aside_outside(records, bounds)
    forms = frozenset(form for form, part in records.relations.items() if len(part))
    # The median is needed only if it is not known yet where the stream has been.
    spans = tuple(_spans(records, job.reach, job.anchor is None))
    clock = None
    if records.clock is not None:
        times, places = records.clock.times, records.clock.places
        near = times < bounds.high
        # If all that arrived up to a time has come, the next arrival is later.
        clock = int(times[near].max()) + 1 if near.any() else None
        for row in np.flatnonzero(~near).tolist():
            aside.append(records.aside(int(places[row]), BEYOND, f"{CLOCK}|{times[row]}"))
    return InputReport(spans, clock, forms), aside


def set_aside_outside(records: Records, bounds: Bounds) -> Iterator[SetAside]:
    """Take records out whose times do not count."""
    for form, part in records.relations.items():
        if len(part) and not bounds.has_all(part):
            outside = bounds.outside(part)
            for row in np.flatnonzero(outside).tolist():
                yield records.aside(int(part.places[row]), BEYOND, part.text(row))
            records.relations[form] = part.take(~outside)


def _spans(records: Records, reach: int, has_middle: bool) -> Iterator[Span]:
    """The times of one task: one span, unless some are farther from all others than `reach`."""
    parts = [part for part in records.relations.values() if len(part)]
    if not parts:
        return
    arrivals = np.concatenate([part.times[0] for part in parts])
    points = np.concatenate([_points(part) for part in parts])
    if not has_middle:
        latest = int(arrivals.max())
        yield Span(int(points.min()) if len(points) else None, latest, latest, len(arrivals))
        return
    for low, high in _stretches([arrivals, points], reach):
        near_points = points[(points >= low) & (points <= high)]
        near_arrivals = arrivals[(arrivals >= low) & (arrivals <= high)]
        middle = _lower_median(near_arrivals if len(near_arrivals) else near_points)
        first = int(near_points.min()) if len(near_points) else None
        last = int(near_arrivals.max()) if len(near_arrivals) else None
        yield Span(first, middle, last, len(near_arrivals))


def _stretches(times: list[Integers], reach: int) -> list[tuple[int, int]]:
    """The stretches in which times lie, farther apart than `reach`; most often there is one."""
    known = [each for each in times if len(each)]
    low, high = min(int(each.min()) for each in known), max(int(each.max()) for each in known)
    if high - low <= reach:
        return [(low, high)]
    ordered = np.unique(np.concatenate(known))
    # Times may be so far apart that only unsigned numbers can hold the distance.
    cuts = np.flatnonzero(np.diff(ordered.view(np.uint64)) > np.uint64(reach))
    firsts, lasts = ordered[np.append(0, cuts + 1)], ordered[np.append(cuts, len(ordered) - 1)]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _lower_median(times: Integers) -> int:
    half = (len(times) - 1) // 2
    return int(np.partition(times, half)[half])


def _points(part: RecordColumns) -> Integers:
    """The points of records, without those of retractions."""
    return part.times[1] if part.retracts is None else part.times[1][~part.retracts]


def _set_aside_ahead(records: Records, job: StreamJob) -> Iterator[SetAside]:
    """Take records out that are farther ahead of the others than is allowed.

    They are compared with the clock, or with the median of the records that were read with them if
    that is later, because after a pause a stream goes on from where it is.
    """
    if job.future is None:
        return
    for form, part in records.relations.items():
        if not len(part):
            continue
        reference = int(np.median(part.times[0]))
        reference = reference if job.clock is None else max(reference, job.clock)
        ahead: Booleans = part.times[0] > reference + job.future
        ahead |= part.times[1] > part.times[0] + job.future
        for row in np.flatnonzero(ahead).tolist():
            yield records.aside(int(part.places[row]), FUTURE, part.text(row))
        if ahead.any():
            records.relations[form] = part.take(~ahead)
