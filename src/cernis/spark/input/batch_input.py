"""The input of a run: DataFrames, or files that workers read by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from cernis.records.mapping import Mappings, read_names
from cernis.records.record_columns import Records
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import input_files
from cernis.spark.batch.single_task import whole
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.exchange_rows import DDL, Row, batches
from cernis.spark.exchange.record_places import Places
from cernis.spark.input.dated_input import has_dates
from cernis.spark.input.event_frames import (
    Frame,
    is_listed,
    records_of,
    refuse_other_tables,
    wanted_columns,
)
from cernis.spark.input.splits import (
    ROW,
    Split,
    parquet_schemas,
    places_of,
    read_together,
    splits_of,
    tasks_of,
)
from cernis.spark.input.typed_frames import kind_of
from cernis.spark.spark_session import session, zone_of_session
from cernis.spark.task_times import TaskTimes
from cernis.spark.worker_collection import exclude_what_lasts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]
Packing = Callable[[Records, Job], Iterator[Row]]

_SMALL: Final = 256 << 20
"""Files of fewer bytes in all can be read and evaluated by one task, without an exchange."""

_FEW: Final = 1 << 21
"""With more records than this, several cores and an exchange take less time than one core."""


@dataclass
class BatchInput:
    """The DataFrames or files that have the records of a run."""

    session: SparkSession
    frames: list[tuple[Frame, DataFrame]] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    mappings: Mappings = field(default_factory=Mappings)
    size: int = 0

    def is_small(self, cores: int) -> bool:
        """Is the input so small that one task should evaluate all of it?"""
        if self.frames or self.size >= _SMALL:
            return False
        return cores == 1 or sum(split.size for split in self.splits) <= _FEW * ROW

    def has_at_most(self, records: int, fullest: float) -> bool:
        """Has surely no bucket more records than this? `fullest` estimates the fullest bucket."""
        if self.frames or not all(split.groups for split in self.splits):
            return False
        total = sum(split.high - split.low for split in self.splits)
        return total <= records or 0 < 1.25 * fullest <= records

    @property
    def may_retract(self) -> bool:
        """Can there be retractions among the records?"""
        return any("retracts" in data.columns for _, data in self.frames) or any(
            split.may_retract for split in self.splits
        )

    @property
    def places(self) -> Places:
        """Finds the source and the line of a record."""
        if self.splits:
            return places_of(self.splits)
        names = [frame.source for frame, _ in self.frames]
        return Places(names=lambda split: (names[split >> 18] if names else "", 0))

    @property
    def schemas(self) -> dict[str, dict[str, str]]:
        """The types of the columns of each relation that has a DataFrame or file of its own."""
        schemas = {
            frame.relation: {title: kind_of(kind) for title, kind in data.dtypes}
            for frame, data in self.frames
            if frame.relation
        }
        return schemas | parquet_schemas(self.splits)

    @property
    def zone(self) -> str:
        """The zone of times without one, as the session has it."""
        return zone_of_session(self.session)

    def has_dates(self, shapes: Shapes) -> bool:
        """Is a time of the input a date or time? Told by schemas, of text by the first records."""
        return has_dates(self.frames, self.splits, self.mappings, shapes)

    def packed(self, job: Job, how: Packing) -> DataFrame:
        """The rows that `how` makes of all records, such as blobs of records for their buckets."""
        parts = [self._packed_frame(frame, data, job, how) for frame, data in self.frames]
        parts.append(self._packed_splits(job, how) if self.splits else self._nothing(job, how))
        packed = parts[0]
        for part in parts[1:]:
            packed = packed.unionAll(part)
        return packed

    def _nothing(self, job: Job, how: Packing) -> DataFrame:
        """A row for each bucket, so that buckets without records are evaluated too."""

        def run(rows: Batches) -> Batches:
            for _ in rows:
                yield from batches(how(Records(), job))

        return self.session.range(0, 1, 1, 1).mapInArrow(run, DDL)

    def columns(self, frame: Frame, data: DataFrame, job: Job) -> list[str]:
        """The columns of a DataFrame that are needed."""
        return [f"`{column}`" for column in wanted_columns(frame, data.columns, job.loaded.shapes)]

    def _packed_frame(self, frame: Frame, data: DataFrame, job: Job, how: Packing) -> DataFrame:
        columns = self.columns(frame, data, job)

        def run(rows: Batches) -> Batches:
            clock = TaskTimes()
            read = records_of(
                rows, frame, partition_number(), job.loaded.shapes, job.may_be_uncertain
            )
            for records in clock.over("reading", read):
                job.tell_read(records.count)
                yield from clock.over("packing", batches(how(records, job)))
            yield from batches([clock.row()])
            exclude_what_lasts()

        return data.select(*columns).mapInArrow(run, DDL)

    def _packed_splits(self, job: Job, how: Packing) -> DataFrame:
        splits, mappings = self.splits, self.mappings
        tasks = tasks_of(splits)

        def run(rows: Batches) -> Batches:
            clock = TaskTimes()
            for batch in rows:
                for number in batch.column(0).to_pylist():
                    shapes = job.loaded.shapes
                    with clock.spent_on("reading"):
                        records = read_together(
                            splits, tasks[number], shapes, mappings, job.may_be_uncertain
                        )
                    job.tell_read(records.count)
                    yield from clock.over("packing", batches(how(records, job)))
            yield from batches([clock.row()])
            exclude_what_lasts()

        numbers = self.session.range(0, len(tasks), 1, max(len(tasks), 1))
        return numbers.mapInArrow(run, DDL)

    def in_one_task(self, job: Job) -> tuple[DataFrame, Callable[[Batches], Batches]]:
        """One task that reads and evaluates everything, without an exchange."""
        splits, mappings = self.splits, self.mappings

        def run(rows: Batches) -> Batches:
            for _ in rows:
                yield from whole(splits, mappings, job)

        return self.session.range(0, 1, 1, 1), run


def batch_input(
    events: Any, mapping: str | Path | Mapping[str, Any] | None, spark: SparkSession | None
) -> BatchInput:
    """The input that a user passes as events: DataFrames or paths; else it is a DataError."""
    from pyspark.sql import DataFrame

    if isinstance(events, DataFrame):
        frame = Frame(0, None, mappings=read_names(mapping))
        return BatchInput(events.sparkSession, [(frame, events)], mappings=frame.mappings)
    if isinstance(events, Mapping):
        refuse_other_tables(events)
        mappings = read_names(mapping)
        frames = [
            (Frame(number, str(name), is_listed(data), mappings), data)
            for number, (name, data) in enumerate(events.items())
        ]
        if not frames:
            return BatchInput(spark or session())
        return BatchInput(frames[0][1].sparkSession, frames, mappings=mappings)
    if isinstance(events, str | Path):
        events = [events]
    if not isinstance(events, Sequence) or not all(isinstance(e, str | Path) for e in events):
        wanted = "events must be Spark DataFrames or the paths of files"
        refuse_other_tables({"events": events}, wanted)
    files = input_files(events)
    splits, mappings = splits_of(files, mapping)
    size = sum(file.stat().st_size for file in files)
    return BatchInput(spark or session(), [], splits, mappings, size)


def partition_number() -> int:
    """The number of the partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0
