"""The batch job: from DataFrames or files to recognised intervals, as one lazy pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.loading.program_origin import FactSources
from cernis.errors import DataError, ProgramWarning, warn_of_program
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings, uncertain_settings
from cernis.plan.builder import Plan, in_one_stage
from cernis.program import Program, load
from cernis.session.settings import Length, Point, Settings, settings
from cernis.spark.batch.recognised import Recognised, UncertainRecognised
from cernis.spark.batch.spark_pipeline import Ends, exchange, step_of, with_links, with_survey
from cernis.spark.batch.spark_results import CertainComputation, UncertainComputation
from cernis.spark.batch.uncertain_stages import IN_ONE_PARTITION, must_be_in_one_stage
from cernis.spark.exchange.batch_job import Job, job_of, plan_in_zone
from cernis.spark.exchange.exchange_rows import DDL, LAST
from cernis.spark.exchange.pack import pack
from cernis.spark.input.batch_input import BatchInput, batch_input
from cernis.spark.input.event_frames import check_frame
from cernis.spark.input.partition_pipeline import partitioned_job
from cernis.spark.input.weights import spread_by_weight
from cernis.spark.spark_session import cores_of
from cernis.spark.worker_setup import prepare_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Batches = Iterator[pa.RecordBatch]

AT_ONCE: Final = 1 << 21
"""Records that a partition evaluates at once, by default."""

_PER_CORE: Final = 4
"""Buckets for each core: with several, cores with light buckets take over more of them."""

_PER_BUCKET: Final = 64 << 20


def recognise(
    program: Program | str | Path, events: Any, *, window: Length | None = None,
    step: Length | None = None, start: Point | None = None, end: Point | None = None,
    tick: int | None = None, ties: str | None = None, facts: FactSources = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    at_once: int | None = AT_ONCE, partitioned: bool | None = None,
    spark: SparkSession | None = None, epoch: bool = False,
) -> Recognised:  # fmt: skip
    """Recognise on Spark: when did what hold, given these events?

    Events are a DataFrame with a column `name`, a mapping from names of relations to DataFrames, or
    files (a path, a pattern, a folder, or several), which the workers must be able to read. Columns
    and settings are as for `Program.run`, facts as for `cernis.load`. The result is a set of
    DataFrames that are computed when they are used.

    `partitions` is how many parts the entities are spread over, by default four times as many as
    there are cores, or more for much input. Small files are evaluated in one task unless it is
    given.

    `partitioned` says that the input is partitioned by entity: all records of one lie in one folder
    of Parquet files, or in one partition of a single DataFrame. Then it is evaluated where it lies.
    It is checked, and a DataError if it is not so. By default, this is done for Parquet files whose
    statistics prove it.

    `at_once` is how many records a partition evaluates at once, where no window is given and the
    rules allow it; None for all. No answer depends on it.

    Times without a zone are in `spark.sql.session.timeZone`, unless the program says a zone. If the
    times of the input are dates or timestamps, those of the results are timestamps, or whole
    numbers if `epoch` asks for these.
    """
    plan, source = _loaded(program, facts), batch_input(events, mapping, spark)
    scale = plan.checked.definitions.settings.time.unless_said(source.zone)
    chosen = settings(window, step, start, end, tick, ties, scale, epoch)
    spreading = _Spreading(partitions, at_once, partitioned)
    return Recognised(CertainComputation(*_prepared(plan, source, chosen, spreading)))


def recognise_uncertain(
    program: Program | str | Path, events: Any, *, threshold: float = 0.5,
    thresholds: Mapping[str, float] | None = None, memory: int | None = None,
    durations: Mapping[str, Any] | str | Path | None = None, seed: int = 0,
    uncertain: Iterable[str] | None = None, window: Length | None = None,
    step: Length | None = None, start: Point | None = None, end: Point | None = None,
    tick: int | None = None, ties: str | None = None, facts: FactSources = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    partitioned: bool | None = None, spark: SparkSession | None = None, epoch: bool = False,
) -> UncertainRecognised:  # fmt: skip
    """Recognise from uncertain events on Spark; see `Program.run_uncertain`.

    Events, and how they are spread, are as for `recognise`; a column `probability` says how sure a
    record is.
    """
    plan, source = _loaded(program, facts), batch_input(events, mapping, spark)
    scale = plan.checked.definitions.settings.time.unless_said(source.zone)
    chosen = settings(window, step, start, end, tick, ties, scale, epoch)
    likely = uncertain_settings(threshold, thresholds, memory, durations, seed, uncertain)
    likely.check_names(plan.checked.catalogue.fluents)
    spreading = _Spreading(partitions, None, partitioned)
    computation = UncertainComputation(*_prepared(plan, source, chosen, spreading, likely))
    if computation.plan.is_in_one_stage and partitions != 1:
        warnings.warn(IN_ONE_PARTITION, ProgramWarning, stacklevel=2)
    return UncertainRecognised(computation)


def program_with_facts(program: Program | str | Path, facts: FactSources) -> Program:
    """A program that is given or loaded, with facts from files and tables of any library."""
    if not isinstance(program, Program):
        return load(program, facts)
    return program.with_facts(facts) if facts else program


def _loaded(program: Program | str | Path, facts: FactSources) -> Plan:
    """The plan of a program, with its warnings."""
    plan = program_with_facts(program, facts).plan
    warn_of_program(plan.diagnostics, plan.checked.sources, 3)
    return plan


def recognise_plan(
    plan: Plan, events: Any, chosen: Settings,
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None, at_once: int | None = AT_ONCE,
    partitioned: bool | None = None,
) -> CertainComputation:  # fmt: skip
    """Run a plan on Spark, as `recognise` runs a program."""
    source = batch_input(events, mapping, spark)
    spreading = _Spreading(partitions, at_once, partitioned)
    return CertainComputation(*_prepared(plan, source, chosen, spreading))


def recognise_uncertain_plan(
    plan: Plan, events: Any, chosen: Settings, likely: UncertainSettings,
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None, partitioned: bool | None = None,
) -> UncertainComputation:  # fmt: skip
    """Run a plan on Spark over uncertain events, as `recognise_uncertain` runs a program."""
    likely.check_names(plan.checked.catalogue.fluents)
    source = batch_input(events, mapping, spark)
    spreading = _Spreading(partitions, None, partitioned)
    return UncertainComputation(*_prepared(plan, source, chosen, spreading, likely))


@dataclass(frozen=True, slots=True)
class _Spreading:
    """How the input is spread over partitions, and how much of it is evaluated at once."""

    partitions: int | None
    at_once: int | None
    partitioned: bool | None

    def __post_init__(self) -> None:
        if self.partitions is not None and self.partitions < 1:
            raise DataError("there must be at least one partition")
        if self.at_once is not None and self.at_once < 1:
            raise DataError("at least one record must be evaluated at once")


Prepared: TypeAlias = tuple[Callable[[Job], Ends], Plan, BatchInput, Job, int]
"""A pipeline, the plan, the input, the job, and how often it exchanges."""


def _prepared(
    plan: Plan, source: BatchInput, chosen: Settings, spreading: _Spreading,
    likely: UncertainSettings | None = None,
) -> Prepared:  # fmt: skip
    prepare_workers(source.session)
    cores, partitioned = cores_of(source.session), spreading.partitioned
    plan = plan_in_zone(plan, source.zone)
    plan = plan if likely is None else plan.over_uncertain
    if spreading.partitions is None and source.is_small(cores) and not partitioned:
        job = job_of(plan, chosen, 1, likely=likely)
        job = replace(job, counter=_counter(source.session))
        return source.in_one_task, plan, source, job, 0
    buckets = spreading.partitions or max(_PER_CORE * cores, -(-source.size // _PER_BUCKET))
    if likely is not None and must_be_in_one_stage(plan, source, chosen, likely):
        plan, buckets = in_one_stage(plan), 1
    job = job_of(plan, chosen, buckets, spreading.at_once, likely)
    for frame, data in source.frames:
        # What is wrong with columns is an error now, and not when the result is used.
        check_frame(frame, data, job.loaded.shapes, uncertain=likely is not None)
    job = replace(job, counter=_counter(source.session))
    if partitioned is not False:
        partitioned_pipeline = partitioned_job(source, job, bool(partitioned))
        if partitioned_pipeline is not None:
            job, pipeline = partitioned_pipeline
            steps = len(job.loaded.plan.routes.steps)
            return pipeline, plan, source, job, steps if steps > 1 else 0
    spreads, fullest = spread_by_weight(job, source.splits, source.mappings)
    if job.at_once is not None and source.has_at_most(job.at_once, fullest):
        job = replace(job, at_once=None)
    job = with_links(with_survey(replace(job, spreads=spreads), source), source)
    return partial(_pipeline, source), plan, source, job, len(job.loaded.plan.routes.steps)


def _pipeline(source: BatchInput, job: Job) -> Ends:
    """The rows that the last step of a job starts from, and the last step."""
    rows = source.packed(job, pack)
    places = source.places
    steps = job.loaded.plan.routes.steps
    for number in steps[:-1]:
        rows = exchange(rows, job).mapInArrow(step_of(job, number, places), DDL)
    last = step_of(job, steps[-1], places) if steps else _nothing_to_do
    return exchange(rows, job), last


def _nothing_to_do(rows: Batches) -> Batches:
    """The last step of a program that defines nothing: only reports pass through."""
    yield from (batch.filter(pc.equal(batch.column(1), LAST)) for batch in rows)


def _counter(session: SparkSession) -> Any:
    """An accumulator with which workers count records; None with Connect, which has none."""
    context = getattr(session, "_sc", None)
    return None if context is None else context.accumulator(0)
