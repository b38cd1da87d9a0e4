"""Uncertain records on Spark: entities side by side, each part as the process itself would do it.

A program whose rules all fall apart by one key is spread over partitions by it. Any other runs in
one partition, and a warning says so.
"""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.program import Program, load
from cernis.runtime.columns import Coded, Column, Integers, RecordColumns, Records, coded
from cernis.runtime.gathering import Gathering
from cernis.runtime.mapping import read_mappings
from cernis.runtime.recognise import chosen_bounds
from cernis.runtime.settings import Point, Settings, settings
from cernis.runtime.shapes import Shapes
from cernis.runtime.sources import read_file
from cernis.runtime.tabular import add_mixed_table, add_table
from cernis.runtime.uncertain import UncertainRun
from cernis.runtime.uncertain_result import CREDIBLE, PROBABILITIES, UncertainResult
from cernis.runtime.uncertain_settings import UncertainSettings, uncertain_settings
from cernis.spark.session import cores_of, session
from cernis.spark.trouble import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

_PACKED: Final = "bucket int, first bigint, last bigint, records bigint, aside bigint, blob binary"
_FOUND: Final = (
    "kind string, fluent string, args array<string>, value string, start bigint, `end` bigint, "
    "open boolean, probability double"
)
_PER_CORE: Final = 4


@dataclass(frozen=True)
class UncertainRecognised:
    """What was recognised, as DataFrames that are computed when they are used."""

    found: DataFrame
    records: int
    """How many records there were."""
    set_aside: int
    """How many of them cannot be read."""

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


def recognise_uncertain(
    program: Program | str | Path, events: Any, *, threshold: float = 0.5,
    thresholds: Mapping[str, float] | None = None, memory: int | None = None,
    durations: Mapping[str, Any] | str | Path | None = None, seed: int = 0,
    start: Point | None = None, end: Point | None = None, tick: int | None = None,
    ties: str | None = None, facts: Iterable[str | Path] = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    spark: SparkSession | None = None,
) -> UncertainRecognised:  # fmt: skip
    """Recognise from uncertain events on Spark; see `Program.run_uncertain`.

    Events are a DataFrame with a column `name`, a mapping from names of relations to DataFrames,
    or files that the workers can read; a column `probability` says how sure a record is. The
    records are read when this is called, to know where the run starts and ends.
    """
    loaded = program if isinstance(program, Program) else load(program, facts)
    job = _Job(
        loaded.plan, settings(None, None, start, end, tick, ties),
        uncertain_settings(threshold, thresholds, memory, durations, seed), mapping,
    )  # fmt: skip
    if partitions is not None and partitions < 1:
        raise DataError("there must be at least one partition")
    own = spark or _session_of(events)
    buckets = partitions or _PER_CORE * cores_of(own)
    if _keys(loaded.plan) is None:
        buckets = 1
        warnings.warn(
            "the rules do not fall apart by one key: all of them are evaluated in one partition",
            stacklevel=2,
        )
    rows = _packed(events, job, buckets, own).persist()
    with explained():
        told = rows.selectExpr("min(first)", "max(last)", "sum(records)", "sum(aside)").first()
    assert told is not None
    bounds = chosen_bounds(told[0], told[1], job.settings, job.tick)
    spread = rows.repartitionById(buckets, rows.bucket)
    found = spread.mapInArrow(job.evaluation(bounds), _FOUND)
    return UncertainRecognised(found, told[2] or 0, told[3] or 0)


@dataclass(frozen=True)
class _Job:
    """What workers have to know."""

    plan: Plan
    settings: Settings
    chosen: UncertainSettings
    mapping: str | Path | Mapping[str, Any] | None

    @property
    def tick(self) -> int:
        return self.settings.tick or self.plan.checked.definitions.settings.tick

    def evaluation(self, bounds: tuple[int, int]) -> Any:
        """A function from the rows of a bucket to what is recognised in it."""

        def run(given: Batches) -> Batches:
            gathering = Gathering(Shapes(self.plan.checked), uncertain=True)
            some = False
            for batch in given:
                for blob in batch.column("blob").to_pylist():
                    some = True
                    for part in pickle.loads(blob):
                        gathering.add(part)
            if some:
                yield from self._evaluated(gathering.records(), bounds)

        return run

    def _evaluated(self, records: Records, bounds: tuple[int, int]) -> Batches:
        run = UncertainRun(self.plan, self.chosen, self.settings.tick, self.settings.ties)
        answer = run.over_uncertain(records, *bounds)
        result = UncertainResult(answer, self.plan.checked.catalogue, _nothing())
        tables = {"intervals": result.intervals, "probabilities": result.probabilities}
        for kind, table in tables.items():
            count = table.num_rows
            if kind == "probabilities":
                table = table.append_column("open", pa.nulls(count, pa.bool_()))
            table = table.select(CREDIBLE.names)
            kinds = pa.repeat(pa.scalar(kind), count)
            yield from table.add_column(0, "kind", kinds).combine_chunks().to_batches()


def _nothing() -> Any:
    from cernis.runtime.result import Summary

    return Summary(0, 0)


def _session_of(events: Any) -> SparkSession:
    from pyspark.sql import DataFrame

    frames = events.values() if isinstance(events, Mapping) else [events]
    own = next((frame for frame in frames if isinstance(frame, DataFrame)), None)
    return own.sparkSession if own is not None else session()


# -- packing -----------------------------------------------------------------------------------


def _packed(events: Any, job: _Job, buckets: int, spark: SparkSession) -> DataFrame:
    """All records as parts for their buckets."""
    from pyspark.sql import DataFrame

    if isinstance(events, DataFrame):
        return _packed_frame(None, events, job, buckets)
    if isinstance(events, Mapping):
        wrong = [name for name, own in events.items() if not isinstance(own, DataFrame)]
        if wrong or not events:
            raise DataError(f"{wrong[0] if wrong else 'each relation'} must be a DataFrame")
        parts = [_packed_frame(str(name), own, job, buckets) for name, own in events.items()]
        found = parts[0]
        for part in parts[1:]:
            found = found.unionAll(part)
        return found
    given = [events] if isinstance(events, str | Path) else list(events)
    files = [str(Path(file).absolute()) for file in given]

    def run(given: Batches) -> Batches:
        for batch in given:
            for number in batch.column(0).to_pylist():
                gathering = Gathering(Shapes(job.plan.checked), uncertain=True)
                file = Path(files[number])
                read_file(file, gathering, read_mappings(job.mapping, file.parent))
                yield _rows(gathering, job, buckets)

    return spark.range(0, len(files), 1, max(len(files), 1)).mapInArrow(run, _PACKED)


def _packed_frame(name: str | None, own: DataFrame, job: _Job, buckets: int) -> DataFrame:
    def run(given: Batches) -> Batches:
        for batch in given:
            gathering = Gathering(Shapes(job.plan.checked), uncertain=True)
            table = pa.Table.from_batches([batch])
            if name is None:
                add_mixed_table(table, gathering, "")
            else:
                add_table(name, table, gathering, name)
            yield _rows(gathering, job, buckets)

    return own.mapInArrow(run, _PACKED)


def _rows(gathering: Gathering, job: _Job, buckets: int) -> pa.RecordBatch:
    """One row for each bucket that has records of these, and one that counts them."""
    records = gathering.unresolved()
    keys = _keys(job.plan) if buckets > 1 else None
    parts: dict[int, list[RecordColumns]] = {0: []}
    for form, own in records.relations.items():
        where = np.zeros(len(own), np.int64)
        if keys is not None:
            where = _buckets(own, keys[form.relation], buckets)
        for bucket in np.unique(where).tolist():
            parts.setdefault(bucket, []).append(own.take(where == bucket))
    first, last = records.first, records.last(job.tick)
    counts = [(records.count, len(records.set_aside)), *[(0, 0)] * (len(parts) - 1)]
    rows = [
        {"bucket": bucket, "first": first, "last": last, "records": count, "aside": aside,
         "blob": pickle.dumps(own)}
        for (bucket, own), (count, aside) in zip(parts.items(), counts, strict=True)
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


_SCHEMA: Final = pa.schema([
    ("bucket", pa.int32()), ("first", pa.int64()), ("last", pa.int64()), ("records", pa.int64()),
    ("aside", pa.int64()), ("blob", pa.binary()),
])  # fmt: skip


def _buckets(own: RecordColumns, key: tuple[int, ...], buckets: int) -> Integers:
    """The bucket of each record, by the values of its key."""
    skipped = own.form.width - own.form.relation.arity
    found = np.zeros(len(own), np.uint64)
    for at in key:
        found = found * np.uint64(0x9E3779B97F4A7C15) + _hashes(own.columns[skipped + at])
    return (found % np.uint64(buckets)).astype(np.int64)


def _hashes(column: Column) -> np.ndarray[Any, np.dtype[np.uint64]]:
    known: Coded = coded(column)
    hashes = [zlib.crc32(repr(value).encode()) for value in known.values]
    return np.array(hashes, np.uint64)[known.codes]


def _keys(plan: Plan) -> dict[Relation, tuple[int, ...]] | None:
    """The key of each relation, if all rules fall apart by one; None if they do not.

    What holds initially, and domains that are filled from the input, belong to no bucket.
    """
    definitions = plan.checked.definitions
    if len(plan.stages) != 1 or definitions.initials or definitions.domains:
        return None
    (stage,) = plan.stages
    keys = dict(stage.keys)
    is_whole = all(not exchange.demanded_by for exchange in stage.exchanges)
    return keys if stage.key and is_whole and all(keys.values()) else None
