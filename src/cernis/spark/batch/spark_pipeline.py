"""The parts that pipelines consist of: exchanges, steps, and surveys of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cernis.plan.properties.foreign_domains import foreign_domains
from cernis.spark.batch.batch_stage import evaluate
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.exchange_rows import DDL, Kind
from cernis.spark.exchange.pack import pack, pack_links
from cernis.spark.exchange.record_places import Places
from cernis.spark.input.batch_input import BatchInput
from cernis.spark.input.survey import survey_step, together, with_components
from cernis.spark.worker_collection import exclude_what_lasts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]
Ends = tuple["DataFrame", Callable[[Batches], Batches]]
"""The rows that the last step of a job starts from, and the last step."""


def exchange(rows: DataFrame, job: Job) -> DataFrame:
    """Rows by bucket; in the order of time where slices of it are evaluated."""
    from pyspark.sql.functions import col

    spread = rows.repartitionById(job.buckets, col("bucket"))
    return spread if job.at_once is None else spread.sortWithinPartitions("since")


def step_of(job: Job, number: int, places: Places) -> Callable[[Batches], Batches]:
    """A step over the rows of its bucket."""

    def run(rows: Batches) -> Batches:
        yield from evaluate(rows, job, number, places)
        exclude_what_lasts()

    return run


def with_survey(job: Job, source: BatchInput) -> Job:
    """The job with a survey of the input, if one is needed before the run.

    Without retractions, the buckets determine themselves where the run starts and ends. Of
    retractions, only matched ones count, and no bucket knows all of them.
    """
    keys = foreign_domains(job.loaded.plan, job.loaded.plan.routes)
    if not keys and not (source.may_retract and job.settings.end is None):
        return job

    def run(batches: Batches) -> Batches:
        yield from survey_step(batches, job)

    def surveyed() -> Any:
        rows = exchange(source.packed(job, partial(pack, home=False)), job).mapInArrow(run, DDL)
        return together((loads(row.blob) for row in rows.select("blob").collect()), keys)

    survey, _ = surveyed()
    job = replace(job, survey=survey)
    if keys:
        _, members = surveyed()
        job = replace(job, members=members)
    return job


def with_links(job: Job, source: BatchInput) -> Job:
    """The job with the components of the entities that records link, where stages need them."""
    if not job.loaded.plan.routes.linked or job.buckets == 1:
        return job
    rows = source.packed(job, pack_links).select("step", "kind", "blob").collect()
    links = ((row.step, loads(row.blob)) for row in rows if row.kind == Kind.LINKS)
    return with_components(job, links)
