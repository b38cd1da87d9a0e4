"""From positions to events on Spark, as DataFrames or as files.

What is done to positions is in `cernis.geo`; here it is spread over a cluster in four steps, with
an exchange of blobs between each two:

1. positions go to the bucket of their vessel;
2. there the events of each vessel are found, and where it was at common times, which goes to the
   bucket of the time;
3. there vessels near each other are found; the intervals go to the bucket of the pair;
4. there intervals that were cut by the edge of a time bucket are made one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cernis.errors import DataError
from cernis.geo.areas import Areas
from cernis.geo.events import EVENTS, FLUENT, IN_ORDER
from cernis.geo.parameters import Parameters
from cernis.geo.tracks import POSITION_COLUMNS
from cernis.spark.ais_files import POSITIONS, AisFrames
from cernis.spark.geo.geo_blobs import DDL, pieces_of, unpacked
from cernis.spark.geo.geo_files import RowGroups, commit, read_splits, splits_of, started
from cernis.spark.geo.geo_steps import (
    ASIDE,
    FILES,
    Work,
    find_near,
    follow,
    join_pairs,
    spread,
    spread_again,
)
from cernis.spark.spark_session import cores_of, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Source = DataFrame | AisFrames | str | Path | list[str] | list[Path]
    """Positions: a DataFrame, AIS sentences, or Parquet files that workers can read there."""

Batches = Iterator[pa.RecordBatch]

TASK_ROWS = 1 << 21
"""Positions of files that one task takes, at most, unless the number of buckets is given."""


@dataclass(frozen=True)
class PositionFrames:
    """The events of positions, a DataFrame for each relation, and what was set aside.

    They have the columns of the tables of `cernis.geo.events.PositionEvents`. All are cut out of
    one DataFrame of blobs, `packed`, which is kept (in memory, else on disk) when it has been made,
    so that the work is done once. `release` lets go of it.
    """

    relations: dict[str, DataFrame]
    set_aside: DataFrame
    packed: DataFrame

    def release(self) -> None:
        """Forget what Spark keeps; it is computed again if it is needed again."""
        self.packed.unpersist()


def positions_to_events(
    positions: Source,
    parameters: Parameters | None = None,
    areas: Areas | None = None,
    *,
    arrivals: bool = False,
    partitions: int | None = None,
    spark: SparkSession | None = None,
) -> PositionFrames:
    """As `cernis.geo.events.positions_to_events`, on Spark; lazily, as DataFrames are.

    Unless the number of partitions is given, there are as many as cores, or more for large files.
    Files are read with the session given, or with the active one. Raises DataError if columns are
    missing.
    """
    work = Work(parameters or Parameters(), areas or Areas({}), arrivals, 0)
    packed, vessel = _pipeline(positions, work, partitions, spark)
    packed = packed.persist()
    columns = relation_columns(vessel, arrivals)
    relations = {
        name: _in_order(unpacked(packed, name, columns[name])) for name in (*EVENTS, FLUENT)
    }
    return PositionFrames(relations, unpacked(packed, ASIDE, columns[ASIDE]), packed)


def _in_order(relation: DataFrame) -> DataFrame:
    """A relation whose metadata say that its columns are in the order of the arguments."""
    return relation.withMetadata(relation.columns[-1], IN_ORDER)


def write_events(
    positions: Source,
    folder: str | Path,
    parameters: Parameters | None = None,
    areas: Areas | None = None,
    *,
    arrivals: bool = False,
    partitions: int | None = None,
    spark: SparkSession | None = None,
) -> dict[str, list[Path]]:
    """As `positions_to_events`, but workers write the events to Parquet files themselves.

    Gives the files of each relation, `<folder>/<part>/<relation>.parquet`; those set aside are of
    `set_aside`. The folder must not exist, and be one that workers and driver share; it appears
    when all is written. This is the quickest way: no event goes through an exchange.
    """
    target = Path(folder).absolute()
    draft = started(target)
    work = Work(parameters or Parameters(), areas or Areas({}), arrivals, 0, str(draft))
    try:
        packed, _ = _pipeline(positions, work, partitions, spark)
        written = [
            table for _, name, table in pieces_of(packed.toArrow().to_batches()) if name == FILES
        ]
        return commit(draft, target, written)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def relation_columns(vessel: str, arrivals: bool) -> dict[str, str]:
    """The columns of the relations, in Spark's words, given the type of vessels."""
    known = "arrival bigint, " if arrivals else ""
    event = f"{known}occurrence bigint, vessel {vessel}"
    columns = dict.fromkeys(EVENTS, event)
    columns["velocity"] = f"{event}, speed double, course double, heading bigint"
    columns["entersArea"] = columns["leavesArea"] = f"{event}, area string"
    pair = f"vessel1 {vessel}, vessel2 {vessel}"
    columns[FLUENT] = f"{known}start bigint, end bigint, value string, {pair}"
    columns[ASIDE] = f"vessel {vessel}, t bigint, reason string"
    return columns


def _pipeline(
    positions: Source, work: Work, partitions: int | None, spark: SparkSession | None
) -> tuple[DataFrame, str]:
    """The rows of all pieces of all relations, and the type of vessels."""
    packed, vessel, work = _spread(positions, work, partitions, spark)
    # The grid of the areas is made here, once; only the step that needs it gets the areas.
    work.areas.index  # noqa: B018
    light = _light(work)
    for step, step_work in ((follow, work), (find_near, light), (join_pairs, light)):
        packed = _mapped(packed.repartitionById(work.buckets, packed["bucket"]), step, step_work)
    return packed, vessel


def _spread(
    positions: Source, work: Work, partitions: int | None, spark: SparkSession | None
) -> tuple[DataFrame, str, Work]:
    """Positions as pieces for their buckets, the type of vessels, and the number of buckets."""
    from pyspark.sql import DataFrame

    if isinstance(positions, AisFrames):
        frame = positions.packed.where(positions.packed["name"] == POSITIONS)
        work = replace(work, buckets=partitions or cores_of(frame.sparkSession))
        return _mapped(frame, spread_again, _light(work)), "bigint", work
    if isinstance(positions, DataFrame):
        types = dict(positions.dtypes)
        work = replace(work, buckets=partitions or cores_of(positions.sparkSession))
        chosen = positions.select(*_columns(types))
        return _mapped(chosen, spread, _light(work)), _vessel_type(types["vessel"]), work
    active = spark or session()
    splits, types = splits_of(positions)
    cores, rows = cores_of(active), sum(split.rows for split in splits)
    # Each core gets the same number of tasks, so that none is idle while another has one left.
    tasks = cores * max(1, -(-rows // (cores * TASK_ROWS)))
    work = replace(work, buckets=partitions or tasks)
    packed = _read(active, splits, _columns(types), min(tasks, len(splits)), work)
    return packed, _vessel_type(types["vessel"]), work


def _light(work: Work) -> Work:
    return replace(work, areas=Areas({}))


Step = Callable[[Batches, Work], Batches]


def _mapped(frame: DataFrame, step: Step, work: Work) -> DataFrame:
    def run(batches: Batches) -> Batches:
        return step(batches, work)

    return frame.mapInArrow(run, DDL)


def _read(
    spark: SparkSession, splits: list[RowGroups], columns: list[str], tasks: int, work: Work
) -> DataFrame:
    """Workers read the files, each task some of the splits."""
    light = _light(work)

    def run(batches: Batches) -> Batches:
        numbers = [int(number) for batch in batches for number in batch.column(0).to_pylist()]
        return spread(read_splits([splits[number] for number in numbers], columns), light)

    return spark.range(0, len(splits), 1, max(1, tasks)).mapInArrow(run, DDL)


def _columns(types: Mapping[str, str]) -> list[str]:
    missing = [name for name in POSITION_COLUMNS[:4] if name not in types]
    if missing:
        raise DataError(
            f"positions have no column {', '.join(missing)}; the columns are {', '.join(types)}"
        )
    return [name for name in POSITION_COLUMNS if name in types]


def _vessel_type(kind: str) -> str:
    if kind.startswith(("string", "varchar", "char")):
        return "string"
    if "int" in kind:
        return "bigint"
    raise DataError(f"vessels must be whole numbers or text, and are {kind}")
