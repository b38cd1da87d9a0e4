"""Uncertain records on Spark: entities side by side, each part as the process itself would do it.

Stages are those of certain records: entities are spread over buckets by the key of each, and what
a stage has found goes on to the next. What cannot be spread runs in one partition, and a warning
says so. Which relations are uncertain is known of all the input before any of it is evaluated, so
that it makes no difference where a record is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from cernis.answers.result import Summary
from cernis.answers.uncertain_result import CREDIBLE, PROBABILITIES, UncertainResult
from cernis.answers.unused_records import missing_fluents, warn_of_input
from cernis.errors import DataError
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings, uncertain_settings
from cernis.plan.builder import Plan
from cernis.program import Program, load
from cernis.records.gathering import Gathering
from cernis.records.record_columns import Records, SetAside
from cernis.records.record_shapes import Shapes
from cernis.records.tabular import add_mixed_table, add_table
from cernis.session.recognise import chosen_bounds
from cernis.session.settings import Length, Point, Settings, settings
from cernis.spark.batch.uncertain_job import UncertainJob
from cernis.spark.batch.uncertain_parts import (
    LAST,
    ROWS,
    Told,
    batch_of,
    row,
    told_of,
    united,
)
from cernis.spark.exchange.blobs import loads, packed_records
from cernis.spark.exchange.record_places import sources_of
from cernis.spark.input.batch_input import partition_number
from cernis.spark.input.event_frames import is_listed
from cernis.spark.input.splits import Split, input_files, read_split, splits_of
from cernis.spark.spark_session import cores_of, session
from cernis.spark.worker_errors import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

_FOUND: Final = (
    "kind string, fluent string, args array<string>, value string, start bigint, `end` bigint, "
    "open boolean, probability double"
)
_PER_CORE: Final = 4


@dataclass(frozen=True)
class UncertainRecognised:
    """What was recognised, as DataFrames that are computed when they are used."""

    job: UncertainJob
    answers: DataFrame
    """What the buckets of all steps have found, packed."""
    told: Told
    """What readers told of the input."""

    @property
    def records(self) -> int:
        """How many records there were."""
        return self.told.records

    @property
    def set_aside(self) -> int:
        """How many of them cannot be read."""
        return len(self.told.set_aside)

    @cached_property
    def found(self) -> DataFrame:
        """Intervals and probabilities in one DataFrame, told apart by `kind`."""
        return self.answers.mapInArrow(_tables(self.job.plan), _FOUND)

    @cached_property
    def intervals(self) -> DataFrame:
        """`fluent, args, value, start, end, open, probability`, as of the in-process result."""
        return self._of("intervals", CREDIBLE.names)

    @cached_property
    def probabilities(self) -> DataFrame:
        """`fluent, args, value, start, end, probability`."""
        return self._of("probabilities", PROBABILITIES.names)

    def _of(self, kind: str, names: Sequence[str]) -> DataFrame:
        return self.found.where(f"kind = '{kind}'").select(*(f"`{name}`" for name in names))

    def collected(self) -> UncertainResult:
        """The result in this process, as `Program.run_uncertain` gives it."""
        began = time.perf_counter()
        with explained():
            given = self.answers.select("told", "blob").collect()
        told = sum((loads(row.told) for row in given), self.told)
        answer = united([loads(row.blob) for row in given])
        answer.circuits = told.circuits
        start, end = self.job.bounds
        remarks = tuple(missing_fluents(told.fluents, self.job.plan.checked.catalogue))
        summary = Summary(
            told.records, told.used, dict(sorted(told.ignored.items())), _sorted(told.set_aside),
            _sorted(told.too_late), told.outside, remarks, start, end, told.queries, told.conflicts,
            time.perf_counter() - began, told.warnings,
        )  # fmt: skip
        warn_of_input(summary, self.job.plan.checked.catalogue)
        return UncertainResult(answer, self.job.plan.checked.catalogue, summary)


def _sorted(asides: list[SetAside]) -> tuple[SetAside, ...]:
    return tuple(sorted(asides, key=lambda aside: (aside.source, aside.line)))


def recognise_uncertain(
    program: Program | str | Path, events: Any, *, threshold: float = 0.5,
    thresholds: Mapping[str, float] | None = None, memory: int | None = None,
    durations: Mapping[str, Any] | str | Path | None = None, seed: int = 0,
    uncertain: Iterable[str] | None = None, window: Length | None = None,
    step: Length | None = None, start: Point | None = None, end: Point | None = None,
    tick: int | None = None, ties: str | None = None, facts: Iterable[str | Path] = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None,
) -> UncertainRecognised:  # fmt: skip
    """Recognise from uncertain events on Spark; see `Program.run_uncertain`.

    Events are a DataFrame with a column `name`, a mapping from names of relations to DataFrames,
    or files that the workers can read; a column `probability` says how sure a record is. The
    records are read when this is called, to know where the run starts and ends.
    """
    loaded = program if isinstance(program, Program) else load(program, facts)
    chosen = settings(window, step, start, end, tick, ties)
    likely = uncertain_settings(threshold, thresholds, memory, durations, seed, uncertain)
    return recognise_uncertain_plan(loaded.plan, events, chosen, likely, mapping, partitions, spark)


def recognise_uncertain_plan(
    plan: Plan, events: Any, chosen: Settings, likely: UncertainSettings,
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None,
) -> UncertainRecognised:  # fmt: skip
    """As `recognise_uncertain`, with a plan and settings that are made already."""
    likely.check_names(plan.checked.catalogue.fluents)
    if partitions is not None and partitions < 1:
        raise DataError("there must be at least one partition")
    own = spark or _session_of(events)
    job = UncertainJob(plan, chosen, likely, partitions or _PER_CORE * cores_of(own))
    told, rows = _surveyed(events, job, mapping, own)
    job = replace(job, likely=likely.with_more(sorted(told.uncertain)))
    if job.buckets > 1 and not job.can_be_spread():
        job = replace(job, buckets=1)
        warnings.warn(
            "the rules do not fall apart by keys: all of them are evaluated in one partition",
            stacklevel=3,
        )
    addressed = rows.where("blob is not null").mapInArrow(job.addressing(), ROWS)
    addressed = addressed.unionAll(_one_each(job, own))
    first, last = _ends(addressed, job) if told.retracts else (told.first, told.last)
    job = replace(job, bounds=chosen_bounds(first, last, chosen, job.tick))
    for number in job.steps:
        spread = addressed.repartitionById(job.buckets, addressed.bucket)
        addressed = spread.mapInArrow(job.evaluation(number), ROWS)
    told.used = told.used if len(job.steps) > 1 else 0
    return UncertainRecognised(job, addressed.where(f"step = {LAST}"), told)


def _one_each(job: UncertainJob, spark: SparkSession) -> DataFrame:
    """A row for each bucket of each step: what holds initially may be found without records."""
    count = job.buckets * len(job.steps)
    return spark.range(count).selectExpr(
        f"cast(id % {job.buckets} as int) as bucket",
        f"cast(id div {job.buckets} + {job.steps[0]} as int) as step",
        "cast(null as binary) as told", "cast(null as binary) as blob",
    )  # fmt: skip


def _surveyed(
    events: Any, job: UncertainJob, mapping: str | Path | Mapping[str, Any] | None,
    spark: SparkSession,
) -> tuple[Told, DataFrame]:  # fmt: skip
    """What readers tell of the input, and the rows that hold their records."""
    rows = _packed(events, job, mapping, spark).persist()
    with explained():
        given = rows.where("told is not null").select("told").collect()
    return sum((loads(row.told) for row in given), Told()), rows


def _ends(rows: DataFrame, job: UncertainJob) -> tuple[int | None, int | None]:
    """The first and last points of records; a retraction that finds none counts for nothing."""
    spread = rows.repartitionById(job.buckets, rows.bucket)
    with explained():
        given = spread.mapInArrow(job.ends(), "first bigint, last bigint").collect()
    firsts = [row["first"] for row in given if row["first"] is not None]
    lasts = [row["last"] for row in given if row["last"] is not None]
    return min(firsts, default=None), max(lasts, default=None)


def _tables(plan: Plan) -> Callable[[Batches], Batches]:
    """A function from packed answers to intervals and probabilities."""

    def run(given: Batches) -> Batches:
        for batch in given:
            for blob in batch.column("blob"):
                answer = united([loads(blob.as_buffer())])
                yield from _as_rows(UncertainResult(answer, plan.checked.catalogue, Summary(0, 0)))

    return run


def _as_rows(result: UncertainResult) -> Batches:
    tables = {"intervals": result.intervals, "probabilities": result.probabilities}
    for kind, table in tables.items():
        count = table.num_rows
        if kind == "probabilities":
            table = table.append_column("open", pa.nulls(count, pa.bool_()))
        table = table.select(CREDIBLE.names)
        kinds = pa.repeat(pa.scalar(kind), count)
        yield from table.add_column(0, "kind", kinds).combine_chunks().to_batches()


def _session_of(events: Any) -> SparkSession:
    from pyspark.sql import DataFrame

    frames = events.values() if isinstance(events, Mapping) else [events]
    own = next((frame for frame in frames if isinstance(frame, DataFrame)), None)
    return own.sparkSession if own is not None else session()


# -- packing -----------------------------------------------------------------------------------


def _packed(
    events: Any, job: UncertainJob, mapping: str | Path | Mapping[str, Any] | None,
    spark: SparkSession,
) -> DataFrame:  # fmt: skip
    """All records as parts for their buckets."""
    from pyspark.sql import DataFrame

    if isinstance(events, DataFrame):
        return events.mapInArrow(_reading(None, job), ROWS)
    if isinstance(events, Mapping):
        wrong = [name for name, own in events.items() if not isinstance(own, DataFrame)]
        if wrong or not events:
            raise DataError(f"{wrong[0] if wrong else 'each relation'} must be a DataFrame")
        parts = [
            own.mapInArrow(_reading(str(name), job, is_listed(own)), ROWS)
            for name, own in events.items()
        ]
        found: DataFrame = parts[0]
        for part in parts[1:]:
            found = found.unionAll(part)
        return found
    given = [events] if isinstance(events, str | Path) else list(events)
    splits, mappings = splits_of(input_files(given), mapping)
    numbers = spark.range(0, len(splits), 1, max(len(splits), 1))
    return numbers.mapInArrow(_reading_files(splits, mappings, job), ROWS)


def _reading_files(
    splits: list[Split], mappings: Any, job: UncertainJob
) -> Callable[[Batches], Batches]:
    def run(given: Batches) -> Batches:
        shapes = Shapes(job.plan.checked)
        for batch in given:
            for number in batch.column(0).to_pylist():
                records = read_split(splits[number], number, shapes, mappings, uncertain=True)
                yield _rows(records, job)

    return run


def _reading(
    name: str | None, job: UncertainJob, listed: bool = False
) -> Callable[[Batches], Batches]:
    def run(given: Batches) -> Batches:
        shapes = Shapes(job.plan.checked)
        sources = sources_of(partition_number(), name or "", 0)
        for batch in given:
            gathering = Gathering(shapes, sources, uncertain=True)
            table = pa.Table.from_batches([batch])
            if name is None:
                add_mixed_table(table, gathering, "")
            else:
                add_table(name, table, gathering, name, listed=listed)
            yield _rows(gathering.unresolved(), job)

    return run


def _rows(records: Records, job: UncertainJob) -> pa.RecordBatch:
    """Records as one row, and one that tells of them."""
    parts = [packed_records(part) for part in records.relations.values()]
    return batch_of([row(0, 0, told_of(records, job.tick)), row(0, 0, content=parts)])
