"""The batch job: from DataFrames or files to recognised intervals, as one lazy pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.program import Program, load
from cernis.runtime.columns import Records
from cernis.runtime.mapping import Mappings
from cernis.runtime.settings import Length, Point, Settings, settings
from cernis.spark.blobs import loads
from cernis.spark.domains import foreign_domains
from cernis.spark.frames import Frame, records_of, wanted_columns
from cernis.spark.job import Job, job_of
from cernis.spark.pack import pack, pack_links
from cernis.spark.places import Places
from cernis.spark.results import Recognised
from cernis.spark.rows import DDL, LAST, Row, batches
from cernis.spark.session import cores_of
from cernis.spark.splits import (
    Split,
    input_files,
    parquet_schemas,
    places_of,
    read_together,
    splits_of,
    tasks_of,
)
from cernis.spark.stage import evaluate
from cernis.spark.survey import survey_step, together, with_components
from cernis.spark.typed import kind_of
from cernis.spark.whole import whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]
Packing = Callable[[Records, Job, int], Iterator[Row]]

_SMALL: Final = 256 << 20
"""Files of fewer bytes in all are read and evaluated by one task, without an exchange."""

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
    if partitions is not None and partitions < 1:
        raise DataError("there must be at least one partition")
    if at_once is not None and at_once < 1:
        raise DataError("at least one record must be evaluated at once")
    return _pipeline(plan, _source(events, mapping, spark), chosen, partitions, at_once)


def _pipeline(
    plan: Plan, source: Source, chosen: Settings, partitions: int | None, at_once: int | None
) -> Recognised:
    cores = cores_of(source.session)
    if partitions is None and source.is_small:
        job = replace(job_of(plan, chosen, 1), counter=_counter(source.session))
        return Recognised(*source.in_one_task(job), plan, source.schemas, job, 0)
    buckets = partitions or max(_PER_CORE * cores, -(-source.size // _PER_BUCKET))
    if at_once is not None and source.has_at_most(at_once):
        at_once = None
    job = _surveyed(job_of(plan, chosen, buckets, at_once), source)
    job = _linked(job, source)
    job = replace(job, counter=_counter(source.session))
    rows = source.packed(job, pack)
    places = source.places
    steps = job.loaded.routes.steps
    for number in steps[:-1]:
        rows = _exchange(rows, job).mapInArrow(_step(job, number, places), DDL)
    last = _step(job, steps[-1], places) if steps else _nothing_to_do
    return Recognised(_exchange(rows, job), last, plan, source.schemas, job, len(steps))


def _nothing_to_do(given: Batches) -> Batches:
    """A program that defines nothing: reports pass through."""
    yield from (batch.filter(pc.equal(batch.column(1), LAST)) for batch in given)


def _exchange(rows: DataFrame, job: Job) -> DataFrame:
    """Rows by bucket; in the order of time where slices of it are evaluated."""
    from pyspark.sql.functions import col

    spread = rows.repartitionById(job.buckets, col("bucket"))
    return spread if job.at_once is None else spread.sortWithinPartitions("since")


def _step(job: Job, number: int, places: Places) -> Callable[[Batches], Batches]:
    def run(given: Batches) -> Batches:
        yield from evaluate(given, job, number, places)

    return run


def partition_number() -> int:
    """The number of the partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _surveyed(job: Job, source: Source) -> Job:
    """The job with what has to be known of all the input beforehand.

    Without retractions the buckets find out for themselves where the run starts and ends. Only
    matched retractions count, and no bucket knows of all of them.
    """
    keys = foreign_domains(job.loaded.plan, job.loaded.routes)
    if not keys and not (source.may_retract and job.settings.end is None):
        return job
    tick = _tick(job)

    def run(given: Batches) -> Batches:
        yield from survey_step(given, job, tick)

    def found() -> Any:
        rows = _exchange(source.packed(job, partial(pack, home=False)), job).mapInArrow(run, DDL)
        return together((loads(row.blob) for row in rows.select("blob").collect()), keys)

    survey, _ = found()
    job = replace(job, survey=survey)
    if keys:
        _, members = found()
        job = replace(job, members=members)
    return job


def _linked(job: Job, source: Source) -> Job:
    """The job with the components of the entities that records link, where stages need them."""
    if not job.loaded.routes.linked or job.buckets == 1:
        return job
    rows = source.packed(job, pack_links).select("step", "blob").collect()
    return with_components(job, ((row.step, loads(row.blob)) for row in rows))


def _tick(job: Job) -> int:
    return job.settings.tick or job.loaded.plan.checked.definitions.settings.tick


def _counter(session: SparkSession) -> Any:
    """What workers count records with; None with Connect, which has no such thing."""
    context = getattr(session, "_sc", None)
    return None if context is None else context.accumulator(0)


# -- sources -----------------------------------------------------------------------------------


@dataclass
class Source:
    """Where the records of a run come from."""

    session: SparkSession
    frames: list[tuple[Frame, DataFrame]] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    mappings: Mappings = field(default_factory=Mappings)
    size: int = 0

    @property
    def is_small(self) -> bool:
        """Is it so little that one task can have it all?"""
        return not self.frames and self.size < _SMALL

    def has_at_most(self, records: int) -> bool:
        """Is it known that there are no more records than so many?"""
        return (
            not self.frames
            and all(s.groups for s in self.splits)
            and (sum(split.high - split.low for split in self.splits) <= records)
        )

    @property
    def may_retract(self) -> bool:
        """Can there be retractions among the records?"""
        return any("retracts" in own.columns for _, own in self.frames) or any(
            split.may_retract for split in self.splits
        )

    @property
    def places(self) -> Places:
        """Tells sources and lines of records."""
        if self.splits:
            return places_of(self.splits)
        names = [frame.source for frame, _ in self.frames]
        return Places(names=lambda split: (names[split >> 18] if names else "", 0))

    @property
    def schemas(self) -> dict[str, dict[str, str]]:
        """The types of the columns of each relation that has a DataFrame or file of its own."""
        found = {
            frame.relation: {title: kind_of(kind) for title, kind in own.dtypes}
            for frame, own in self.frames
            if frame.relation
        }
        return found | parquet_schemas(self.splits)

    def packed(self, job: Job, how: Packing) -> DataFrame:
        """All records as rows for their buckets, or what else there is to tell of them."""
        parts = [self._packed_frame(frame, own, job, how) for frame, own in self.frames]
        parts.append(self._packed_splits(job, how) if self.splits else self._nothing(job, how))
        found = parts[0]
        for part in parts[1:]:
            found = found.unionAll(part)
        return found

    def _nothing(self, job: Job, how: Packing) -> DataFrame:
        """A row for each bucket, so that buckets without records are evaluated too."""
        tick = _tick(job)

        def run(given: Batches) -> Batches:
            for _ in given:
                yield from batches(how(Records(), job, tick))

        return self.session.range(0, 1, 1, 1).mapInArrow(run, DDL)

    def _packed_frame(self, frame: Frame, own: DataFrame, job: Job, how: Packing) -> DataFrame:
        columns = wanted_columns(frame, own.columns, job.loaded.shapes)
        tick = _tick(job)

        def run(given: Batches) -> Batches:
            for records in records_of(given, frame, partition_number(), job.loaded.shapes):
                job.tell_read(records.count)
                yield from batches(how(records, job, tick))

        return own.select(*(f"`{column}`" for column in columns)).mapInArrow(run, DDL)

    def _packed_splits(self, job: Job, how: Packing) -> DataFrame:
        splits, mappings, tick = self.splits, self.mappings, _tick(job)
        tasks = tasks_of(splits)

        def run(given: Batches) -> Batches:
            for batch in given:
                for number in batch.column(0).to_pylist():
                    shapes = job.loaded.shapes
                    records = read_together(splits, tasks[number], shapes, mappings)
                    job.tell_read(records.count)
                    yield from batches(how(records, job, tick))

        numbers = self.session.range(0, len(tasks), 1, max(len(tasks), 1))
        return numbers.mapInArrow(run, DDL)

    def in_one_task(self, job: Job) -> tuple[DataFrame, Callable[[Batches], Batches]]:
        """All in one task: read, evaluated, and no exchange."""
        splits, mappings = self.splits, self.mappings

        def run(given: Batches) -> Batches:
            for _ in given:
                yield from whole(splits, mappings, job)

        return self.session.range(0, 1, 1, 1), run


def _source(
    events: Any, mapping: str | Path | Mapping[str, Any] | None, spark: SparkSession | None
) -> Source:
    from pyspark.sql import DataFrame

    if isinstance(events, DataFrame):
        return Source(events.sparkSession, [(Frame(0, None), events)])
    if isinstance(events, Mapping):
        wrong = [name for name, own in events.items() if not isinstance(own, DataFrame)]
        if wrong:
            raise DataError(f"{wrong[0]} must be a DataFrame")
        frames = [(Frame(at, str(name)), own) for at, (name, own) in enumerate(events.items())]
        if not frames:
            return Source(spark or _active())
        return Source(frames[0][1].sparkSession, frames)
    if isinstance(events, str | Path):
        events = [events]
    if not isinstance(events, Sequence) or not all(isinstance(e, str | Path) for e in events):
        raise DataError("events must be DataFrames or the paths of files")
    files = input_files(events)
    splits, mappings = splits_of(files, mapping)
    size = sum(file.stat().st_size for file in files)
    return Source(spark or _active(), [], splits, mappings, size)


def _active() -> SparkSession:
    from cernis.spark.session import session

    return session()
