"""Input that is partitioned by entity: parts are evaluated where they are read, not exchanged.

A part is a set of files, or a partition of a DataFrame. All records of an entity that the first
stage needs must lie in one part. Before the run, all parts are read once to see where the run
starts and ends and which keys each part holds; a key that two parts hold is an error. Rows that
later stages need are sent to the bucket of their key first, which knows the buckets that ask for
them, and from there to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.kernels.array_types import Integers
from cernis.plan.properties.routes import Way
from cernis.records.record_columns import (
    Column,
    RecordColumns,
    Records,
    cell,
    joined,
    shown,
    taken,
)
from cernis.spark.batch.batch_stage import Step
from cernis.spark.batch.slicing import Parts
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.blobs import packed_column, packed_records, unpacked_column
from cernis.spark.exchange.buckets import Hashes, Spread, hashes_of
from cernis.spark.exchange.exchange_rows import FIRST, LAST, Kind, Row, batches
from cernis.spark.exchange.inbox import Inbox, others
from cernis.spark.exchange.pack import (
    MOST_ROWS,
    arguments_at,
    by_bucket,
    demands,
    first_of,
    report_of,
    sent_home,
    surveyed,
)
from cernis.spark.exchange.record_places import Places
from cernis.spark.exchange.sending import Sender
from cernis.spark.exchange.stage_output import StageOutput
from cernis.spark.task_times import TaskTimes

Keys = tuple[Hashes, list[Column]]
"""Distinct keys: their hashes, and a column of values for each component."""


@dataclass(frozen=True, slots=True)
class Held(Spread):
    """Which part of the input holds which key. A key that no part holds is assigned to one."""

    hashes: Hashes = field(default_factory=lambda: np.empty(0, np.uint64), compare=False)
    """Sorted."""
    parts: Integers = field(default_factory=lambda: np.empty(0, np.int64), compare=False)
    orphans: int = 0

    def of_hashes(self, hashes: Hashes) -> Integers:
        """The part of each key."""
        if not len(self.hashes):
            return np.full(len(hashes), self.orphans)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, self.parts[places], self.orphans)


def can_be_partitioned(job: Job) -> bool:
    """Is the first stage evaluated by key, and does all that it reads carry the whole key?"""
    routes = job.loaded.plan.routes
    if not routes.steps or not routes.steps[0] or None in routes.owned[routes.steps[0]].values():
        return False
    homes = [home for home in routes.homes.values() if home.step == routes.steps[0]]
    return bool(homes) and all(home.way is Way.KEYED for home in homes)


# -- before the run ----------------------------------------------------------------------------


def look_at(records: Records, part: int, job: Job) -> Iterator[pa.RecordBatch]:
    """The survey of one part, and its keys."""
    hashes, columns = keys_of(records, job)
    content = surveyed(records, job), part, hashes, [packed_column(column) for column in columns]
    yield from batches([Row(0, LAST, Kind.SURVEY, content)])


def keys_of(records: Records, job: Job) -> Keys:
    """The distinct keys of records that are at home at the first step."""
    routes = job.loaded.plan.routes
    columns: list[list[Column]] = []
    for form, part in records.relations.items():
        home = routes.homes.get(form.relation)
        if home is not None and home.step == routes.steps[0] and len(part):
            columns.append(arguments_at(part, home.links[0]))
    if not columns:
        return np.empty(0, np.uint64), []
    stacked = [joined(parts) for parts in zip(*columns, strict=True)]
    hashes, rows = np.unique(hashes_of(stacked, len(stacked[0])), return_index=True)
    return hashes, [taken(column, rows) for column in stacked]


def put_together(surveys: Iterable[tuple[Any, ...]], names: Sequence[str]) -> tuple[Survey, Held]:
    """The survey of all parts, and which part holds which key. A key of two parts is a DataError.

    `names` are the names of parts in messages; parts without a name are called by their number.
    """
    survey = Survey()
    kept: list[tuple[int, Hashes, list[Column]]] = []
    for of_part, part, hashes, columns in surveys:
        survey += of_part
        kept.append((part, hashes, [unpacked_column(column) for column in columns]))
    hashes = np.concatenate([np.empty(0, np.uint64), *(own for _, own, _ in kept)])
    parts = np.repeat([part for part, _, _ in kept], [len(own) for _, own, _ in kept])
    order = np.argsort(hashes, kind="stable")
    hashes, parts = hashes[order], parts[order]
    twice = np.flatnonzero(hashes[1:] == hashes[:-1])
    if len(twice):
        place = int(twice[0])
        raise _clash(hashes[place], [int(parts[place]), int(parts[place + 1])], kept, names)
    orphans = int(parts.min()) if len(parts) else 0
    many = 1 + max((part for part, _, _ in kept), default=0)
    return survey, Held(many, None, hashes, parts.astype(np.int64), orphans)


def _clash(
    hash_: np.uint64, parts: list[int], kept: list[tuple[int, Hashes, list[Column]]],
    names: Sequence[str],
) -> DataError:  # fmt: skip
    part_names = [names[part] if part < len(names) else f"partition {part}" for part in parts]
    columns = next(own for part, _, own in kept if part == parts[0])
    hashes = next(own for part, own, _ in kept if part == parts[0])
    row = int(np.searchsorted(hashes, hash_))
    key = ", ".join(shown(cell(column, row)) for column in columns)
    return DataError(
        f"{key} is in {part_names[0]} and in {part_names[1]}: input that is said to be partitioned "
        "must have all records of an entity in one part. Leave out partitioned (--partitioned) to "
        "have them brought together"
    )


# -- the run -----------------------------------------------------------------------------------


def evaluated_part(
    records: Records, job: Job, held: Held, places: Places, clock: TaskTimes
) -> Iterator[pa.RecordBatch]:
    """The first step over one part of the input."""
    yield from clock.over("evaluating", batches(_evaluated(records, job, held, places, clock)))
    yield from batches([clock.row()])


def _evaluated(
    records: Records, job: Job, held: Held, places: Places, clock: TaskTimes
) -> Iterator[Row]:
    hashes, _ = keys_of(records, job)
    # A part without keys has nothing to send.
    part = int(held.of_hashes(hashes[:1])[0]) if len(hashes) else -1
    if not np.isin(hashes, held.hashes).all() or (held.of_hashes(hashes) != part).any():
        raise DataError(
            "a partition has other keys than before: a DataFrame that is said to be partitioned "
            "must give the same partitions each time it is computed; persist it, or write it first"
        )
    yield Row(0, LAST, Kind.REPORT, report_of(records, job))
    step = job.loaded.plan.routes.steps[0]
    parts: Parts = {}
    elsewhere = Records()
    for form, columns in records.relations.items():
        if job.loaded.plan.routes.home(form.relation).step == step:
            parts[form] = [columns]
        else:
            elsewhere.relations[form] = columns
    yield from sent_home(elsewhere, job)
    yield from demands(records, job)
    sender = HomeSender(job, part == held.orphans)
    for row in Step(job, step, places, Inbox(parts, bucket=part), held, sender, clock=clock).rows():
        yield replace(row, bucket=row.bucket % job.buckets)


@dataclass(frozen=True, slots=True)
class HomeSender:
    """Sends the rows that later steps read to the buckets of their keys at the first step."""

    job: Job
    is_first: bool
    """Is this the part that sends the survey? Only one part may."""

    def records(self, part: RecordColumns) -> Iterator[Row]:
        """Records of one form."""
        routes = self.job.loaded.plan.routes
        if part.form.relation not in routes.onward or not len(part):
            return
        home = routes.home(part.form.relation)
        where = self.job.spread(home.step).of(arguments_at(part, home.links[0]), len(part))
        for bucket, _, piece in by_bucket(part, where, self.job):
            yield Row(bucket, home.step, Kind.RESOLVED, [packed_records(piece)], first_of(piece))

    def stage_output(self, output: StageOutput, since: int = FIRST) -> Iterator[Row]:
        """The output of the first step for one relation."""
        step = self.job.loaded.plan.routes.steps[0]
        key = self.job.loaded.plan.routes.owned[step][output.relation]
        where = self.job.spread(step).of(
            [output.columns[position] for position in key or ()], len(output)
        )
        for bucket in np.unique(where).tolist():
            rows = np.flatnonzero(where == bucket)
            for low in range(0, len(rows), MOST_ROWS):
                part = output.take(rows[low : low + MOST_ROWS])
                yield Row(bucket, step, Kind.FOUND, part.packed(), since)

    def survey(self, bucket: int, step: int, survey: Survey) -> Iterator[Row]:
        """Send the survey to all buckets, so that each evaluates its share."""
        if self.is_first and len(self.job.loaded.plan.routes.steps) > 1:
            for each in range(self.job.buckets):
                yield Row(each, step, Kind.SURVEY, survey)


def forward(rows: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Forward the output of the parts from the buckets of its keys to those that ask for it."""
    inbox, step = Inbox(), job.loaded.plan.routes.steps[0]
    for batch in rows:
        for _, take in inbox.each(batch, step):
            take()
        yield from others(batch, step)
    if inbox.bucket is not None:
        yield from batches(_forwarded(inbox, job, step))


def _forwarded(inbox: Inbox, job: Job, step: int) -> Iterator[Row]:
    assert inbox.bucket is not None
    sender = Sender(job, inbox.demands)
    for parts in inbox.resolved.values():
        for part in parts:
            yield from sender.records(part)
    for outputs in inbox.outputs.values():
        for output in outputs:
            yield from sender.stage_output(output)
    yield from sender.survey(inbox.bucket, step, job.survey or inbox.survey)
