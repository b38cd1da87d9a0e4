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
from cernis.session.settings import Length, Point, Settings, settings
from cernis.spark.batch.spark_pipeline import exchange, step_of, with_links, with_survey
from cernis.spark.batch.spark_results import Recognised
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.exchange_rows import DDL, LAST
from cernis.spark.exchange.pack import pack
from cernis.spark.input.batch_input import Source, source_of
from cernis.spark.input.event_frames import wanted_columns
from cernis.spark.input.partition_pipeline import partitioned_job
from cernis.spark.input.weights import spread_by_weight
from cernis.spark.spark_session import cores_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

AT_ONCE: Final = 1 << 21
"""Records that a partition evaluates at once, by default."""

_PER_CORE: Final = 4
"""Buckets for each core, so that one with much to do is made up for by others with less."""

_PER_BUCKET: Final = 64 << 20


def recognise(
    program: Program | str | Path, events: Any, *, window: Length | None = None,
    step: Length | None = None, start: Point | None = None, end: Point | None = None,
    tick: int | None = None, ties: str | None = None, facts: Iterable[str | Path] = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    at_once: int | None = AT_ONCE, partitioned: bool | None = None,
    spark: SparkSession | None = None,
) -> Recognised:  # fmt: skip
    """Recognise on Spark: when did what hold, given these events?

    Events are a DataFrame with a column `name`, a mapping from names of relations to DataFrames, or
    files (a path, a pattern, a folder, or several), which the workers must be able to read. Columns
    and settings are as for `Program.run`. The result is a set of DataFrames that are computed when
    they are used.

    `partitions` is how many parts the entities are spread over, by default four times as many as
    there are cores, or more for much input. Small files are evaluated in one task unless it is
    given.

    `partitioned` says that the input is partitioned by entity: all records of one lie in one folder
    of Parquet files, or in one partition of a single DataFrame. Then it is evaluated where it lies.
    It is checked, and a DataError if it is not so. By default, this is done for Parquet files whose
    statistics prove it.

    `at_once` is how many records a partition evaluates at once, where no window is given and the
    rules allow it; None for all. No answer depends on it.
    """
    loaded = program if isinstance(program, Program) else load(program, facts)
    plan = loaded.plan
    for diagnostic in plan.diagnostics:
        warnings.warn(f"{diagnostic.code} {diagnostic.message}", stacklevel=2)
    chosen = settings(window, step, start, end, tick, ties)
    return recognise_plan(plan, events, chosen, mapping, partitions, spark, at_once, partitioned)


def recognise_plan(
    plan: Plan, events: Any, chosen: Settings,
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None, at_once: int | None = AT_ONCE,
    partitioned: bool | None = None,
) -> Recognised:  # fmt: skip
    """Run a plan on Spark, as `recognise` runs a program."""
    if partitions is not None and partitions < 1:
        raise DataError("there must be at least one partition")
    if at_once is not None and at_once < 1:
        raise DataError("at least one record must be evaluated at once")
    source = source_of(events, mapping, spark)
    return _recognised(plan, source, chosen, partitions, at_once, partitioned)


def _recognised(
    plan: Plan, source: Source, chosen: Settings, partitions: int | None, at_once: int | None,
    partitioned: bool | None,
) -> Recognised:  # fmt: skip
    cores = cores_of(source.session)
    if partitions is None and source.is_small(cores) and not partitioned:
        job = replace(job_of(plan, chosen, 1), counter=_counter(source.session))
        return Recognised(source.in_one_task, plan, source.schemas, job, 0)
    buckets = partitions or max(_PER_CORE * cores, -(-source.size // _PER_BUCKET))
    job = job_of(plan, chosen, buckets, at_once)
    for frame, own in source.frames:
        # What is missing is an error now, and not when the result is used.
        wanted_columns(frame, own.columns, job.loaded.shapes)
    job = replace(job, counter=_counter(source.session))
    if partitioned is not False:
        found = partitioned_job(source, job, bool(partitioned))
        if found is not None:
            job, pipeline = found
            steps = len(job.loaded.routes.steps)
            return Recognised(pipeline, plan, source.schemas, job, steps if steps > 1 else 0)
    spreads, fullest = spread_by_weight(job, source.splits, source.mappings)
    if job.at_once is not None and source.has_at_most(job.at_once, fullest):
        job = replace(job, at_once=None)
    job = with_links(with_survey(replace(job, spreads=spreads), source), source)
    return Recognised(
        partial(_pipeline, source), plan, source.schemas, job, len(job.loaded.routes.steps)
    )


def _pipeline(source: Source, job: Job) -> tuple[DataFrame, Callable[[Batches], Batches]]:
    """The rows that the last step of a job starts from, and the last step."""
    rows = source.packed(job, pack)
    places = source.places
    steps = job.loaded.routes.steps
    for number in steps[:-1]:
        rows = exchange(rows, job).mapInArrow(step_of(job, number, places), DDL)
    last = step_of(job, steps[-1], places) if steps else _nothing_to_do
    return exchange(rows, job), last


def _nothing_to_do(given: Batches) -> Batches:
    """A program that defines nothing: reports pass through."""
    yield from (batch.filter(pc.equal(batch.column(1), LAST)) for batch in given)


def _counter(session: SparkSession) -> Any:
    """What workers count records with; None with Connect, which has no such thing."""
    context = getattr(session, "_sc", None)
    return None if context is None else context.accumulator(0)
