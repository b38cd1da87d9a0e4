"""The batch job: from DataFrames or files to recognised intervals, as one lazy pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.program import Program, load
from cernis.runtime.query import refuse
from cernis.runtime.settings import Length, Point, Settings, settings
from cernis.spark.blobs import loads
from cernis.spark.domains import foreign_domains
from cernis.spark.frames import wanted_columns
from cernis.spark.job import Job, job_of
from cernis.spark.places import Places
from cernis.spark.results import Recognised
from cernis.spark.rows import DDL, LAST
from cernis.spark.session import cores_of
from cernis.spark.source import Source, source_of
from cernis.spark.stage import evaluate
from cernis.spark.survey import survey_step, together
from cernis.spark.weights import spread_by_weight

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

AT_ONCE: Final = 1 << 21
"""Records that a partition evaluates at once, unless it is said otherwise."""

_PER_CORE: Final = 4
"""Buckets for each core, so that one with much to do is made up for by others with less."""

_PER_BUCKET: Final = 64 << 20


def recognise(
    program: Program | str | Path, events: Any, *, window: Length | None = None,
    step: Length | None = None, start: Point | None = None, end: Point | None = None,
    tick: int | None = None, ties: str | None = None, facts: Iterable[str | Path] = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    at_once: int | None = AT_ONCE, spark: SparkSession | None = None,
) -> Recognised:  # fmt: skip
    """Recognise on Spark: when did what hold, given these events?

    Events are a DataFrame with a column `name`, a mapping from names of relations to DataFrames, or
    files (a path, a pattern, a folder, or several), which the workers must be able to read. Columns
    and settings are as for `Program.run`. The result is a set of DataFrames that are computed when
    they are used.

    `partitions` is how many parts the entities are spread over, by default four times as many as
    there are cores, or more for much input. Small files are evaluated in one task unless it is
    given.

    `at_once` is how many records a partition evaluates at once, where no window is given and the
    rules allow it; None for all. No answer depends on it.
    """
    loaded = program if isinstance(program, Program) else load(program, facts)
    plan = loaded.plan
    for diagnostic in plan.diagnostics:
        warnings.warn(f"{diagnostic.code} {diagnostic.message}", stacklevel=2)
    chosen = settings(window, step, start, end, tick, ties)
    return recognise_plan(plan, events, chosen, mapping, partitions, spark, at_once)


def recognise_plan(
    plan: Plan, events: Any, chosen: Settings,
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None, at_once: int | None = AT_ONCE,
) -> Recognised:  # fmt: skip
    """Run a plan on Spark, as `recognise` runs a program."""
    for stage in plan.stages:
        for stratum in stage.strata:
            refuse(stratum)
    if partitions is not None and partitions < 1:
        raise DataError("there must be at least one partition")
    if at_once is not None and at_once < 1:
        raise DataError("at least one record must be evaluated at once")
    return _recognised(plan, source_of(events, mapping, spark), chosen, partitions, at_once)


def _recognised(
    plan: Plan, source: Source, chosen: Settings, partitions: int | None, at_once: int | None
) -> Recognised:
    cores = cores_of(source.session)
    if partitions is None and source.is_small:
        job = replace(job_of(plan, chosen, 1), counter=_counter(source.session))
        return Recognised(source.in_one_task, plan, source.schemas, job, 0)
    buckets = partitions or max(_PER_CORE * cores, -(-source.size // _PER_BUCKET))
    job = job_of(plan, chosen, buckets, at_once)
    for frame, own in source.frames:
        # What is missing is told now, and not when the result is used.
        wanted_columns(frame, own.columns, job.loaded.shapes)
    spreads, fullest = spread_by_weight(job, source.splits, source.mappings)
    if job.at_once is not None and source.has_at_most(job.at_once, fullest):
        job = replace(job, at_once=None)
    job = _surveyed(replace(job, spreads=spreads), source)
    job = replace(job, counter=_counter(source.session))
    pipeline = partial(_pipeline, source)
    return Recognised(pipeline, plan, source.schemas, job, len(job.loaded.routes.steps))


def _pipeline(source: Source, job: Job) -> tuple[DataFrame, Callable[[Batches], Batches]]:
    """The rows that the last step of a job starts from, and the last step."""
    rows = source.packed(job, True)
    places = source.places
    steps = job.loaded.routes.steps
    for number in steps[:-1]:
        rows = exchange(rows, job).mapInArrow(_step(job, number, places), DDL)
    last = _step(job, steps[-1], places) if steps else _nothing_to_do
    return exchange(rows, job), last


def _nothing_to_do(given: Batches) -> Batches:
    """A program that defines nothing: reports pass through."""
    yield from (batch.filter(pc.equal(batch.column(1), LAST)) for batch in given)


def exchange(rows: DataFrame, job: Job) -> DataFrame:
    """Rows by bucket; in the order of time where slices of it are evaluated."""
    from pyspark.sql.functions import col

    spread = rows.repartitionById(job.buckets, col("bucket"))
    return spread if job.at_once is None else spread.sortWithinPartitions("since")


def _step(job: Job, number: int, places: Places) -> Callable[[Batches], Batches]:
    def run(given: Batches) -> Batches:
        yield from evaluate(given, job, number, places)

    return run


def _surveyed(job: Job, source: Source) -> Job:
    """The job with what has to be known of all the input beforehand.

    Without retractions the buckets find out for themselves where the run starts and ends. Only
    matched retractions count, and no bucket knows of all of them.
    """
    keys = foreign_domains(job.loaded.plan, job.loaded.routes)
    if not keys and not (source.may_retract and job.settings.end is None):
        return job

    def run(given: Batches) -> Batches:
        yield from survey_step(given, job)

    def found() -> Any:
        rows = exchange(source.packed(job, False), job).mapInArrow(run, DDL)
        return together((loads(row.blob) for row in rows.select("blob").collect()), keys)

    survey, _ = found()
    job = replace(job, survey=survey)
    if keys:
        _, members = found()
        job = replace(job, members=members)
    return job


def _counter(session: SparkSession) -> Any:
    """What workers count records with; None with Connect, which has no such thing."""
    context = getattr(session, "_sc", None)
    return None if context is None else context.accumulator(0)
