"""The pipeline over input that is partitioned by entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from cernis.errors import DataError
from cernis.records.record_columns import Records
from cernis.spark.batch.spark_pipeline import exchange, step_of, with_links, with_survey
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.exchange_rows import DDL
from cernis.spark.input.batch_input import BatchInput, partition_number
from cernis.spark.input.event_frames import records_of
from cernis.spark.input.partition_layout import PartitionLayout, declared_layout, proven_layout
from cernis.spark.input.partitioned_input import (
    Held,
    can_be_partitioned,
    evaluated_part,
    forward,
    look_at,
    put_together,
)
from cernis.spark.input.splits import read_together, stacked
from cernis.spark.task_times import TaskTimes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]
Ends = tuple["DataFrame", Callable[[Batches], Batches]]
"""The rows that the last step of a job starts from, and the last step."""
Work = Callable[[Records, int, TaskTimes], Batches]
"""What is done with the records of a part; it gets the number of the part."""


def partitioned_job(
    source: BatchInput, job: Job, is_declared: bool
) -> tuple[Job, Callable[[Job], Ends]] | None:
    """The job over input that is partitioned, and its pipeline.

    None if the input is not partitioned, or if the rules cannot use it. `is_declared` means that
    the user says that it is; else the statistics of the files have to prove it.
    """
    if not is_declared and (source.frames or source.may_retract):
        return None
    if not can_be_partitioned(job):
        return None
    layout = _layout(source, job, is_declared)
    if layout is None and not source.frames:
        return None
    job = with_links(with_survey(replace(job, at_once=None), source), source)
    parts = _Parts(source, layout)
    rows = parts.each(lambda records, part, clock: look_at(records, part, job), job).select("blob")
    names = [] if layout is None else layout.names
    survey, held = put_together((loads(row.blob) for row in rows.collect()), names)
    if not len(held.hashes):
        return None
    return replace(job, survey=job.survey or survey), partial(_over_parts, parts, held)


def _layout(source: BatchInput, job: Job, is_declared: bool) -> PartitionLayout | None:
    if not source.frames:
        return (declared_layout if is_declared else proven_layout)(source.splits, job)
    if len(source.frames) > 1 or source.may_retract:
        raise DataError(
            "input that is said to be partitioned must be one DataFrame, with a column name where "
            "it has several relations, and without a column retracts"
        )
    return None


class _Parts:
    """The parts of the input, to be worked on one by one."""

    def __init__(self, source: BatchInput, layout: PartitionLayout | None) -> None:
        self.source, self.layout = source, layout

    def each(self, work: Work, job: Job) -> DataFrame:
        """The rows that some work gives, which gets the records of a part and its number."""
        base, run = self.ends(work, job)
        return base.mapInArrow(run, DDL)

    def ends(self, work: Work, job: Job) -> Ends:
        """What `each` is made of: a DataFrame, and the function to be mapped over it in Arrow."""
        if self.layout is None:
            return self._partitions(work, job)
        source, parts = self.source, self.layout.parts
        splits, mappings = source.splits, source.mappings

        def run(rows: Batches) -> Batches:
            for batch in rows:
                for part in batch.column(0).to_pylist():
                    clock = TaskTimes()
                    with clock.spent_on("reading"):
                        shapes = job.loaded.shapes
                        records = read_together(
                            splits, parts[part], shapes, mappings, job.may_be_uncertain
                        )
                    yield from work(records, part, clock)

        return source.session.range(0, len(parts), 1, len(parts)), run

    def _partitions(self, work: Work, job: Job) -> Ends:
        ((frame, data),) = self.source.frames
        columns = self.source.columns(frame, data, job)

        def run(rows: Batches) -> Batches:
            part, clock = partition_number(), TaskTimes()
            with clock.spent_on("reading"):
                read = records_of(rows, frame, part, job.loaded.shapes, job.may_be_uncertain)
                records = stacked(read)
            yield from work(records, part, clock)

        return data.select(*columns), run


def _over_parts(parts: _Parts, held: Held, job: Job) -> Ends:
    places = parts.source.places

    def first(records: Records, part: int, clock: TaskTimes) -> Batches:
        job.tell_read(records.count)
        return evaluated_part(records, job, held, places, clock)

    steps = job.loaded.plan.routes.steps
    if len(steps) == 1:
        return parts.ends(first, job)

    def forwarded(received: Batches) -> Batches:
        return forward(received, job)

    rows = exchange(parts.each(first, job), job).mapInArrow(forwarded, DDL)
    for number in steps[1:-1]:
        rows = exchange(rows, job).mapInArrow(step_of(job, number, places), DDL)
    return exchange(rows, job), step_of(job, steps[-1], places)
