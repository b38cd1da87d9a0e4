"""AIS sentences on Spark: files that workers read and decode themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cernis.errors import DataError
from cernis.spark.geo.geo_blobs import DDL, Piece, rows_of, unpacked
from cernis.spark.spark_session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

POSITIONS: Final = "positions"
_COLUMNS: Final = {
    POSITIONS: "vessel bigint, t bigint, lon double, lat double, speed double, course double, "
    "heading double",
    "vessels": "vessel bigint, t bigint, name string, ship_type bigint, draught double, "
    "callsign string, destination string",
    "set_aside": "file string, line bigint, reason string, text string",
    "others": "file string, messages bigint",
}


@dataclass(frozen=True)
class AisFrames:
    """What AIS files say, as DataFrames with the columns of `cernis.geo.ais.Sentences`.

    `set_aside` has the file besides, and `others` the number of other messages of each file. All
    are cut out of `packed`, a DataFrame of blobs, which is kept when it has been made.
    `positions_to_events` takes this as it is, which is quicker than its `positions`.
    """

    packed: DataFrame

    @property
    def positions(self) -> DataFrame:
        """One row for each position report."""
        return self._of(POSITIONS)

    @property
    def vessels(self) -> DataFrame:
        """One row for each report of static data."""
        return self._of("vessels")

    @property
    def set_aside(self) -> DataFrame:
        """Lines that cannot be used, with the reason."""
        return self._of("set_aside")

    @property
    def others(self) -> DataFrame:
        """How many messages of other types there were."""
        return self._of("others")

    def _of(self, name: str) -> DataFrame:
        return unpacked(self.packed, name, _COLUMNS[name])


def read_ais(
    files: str | Path | list[str] | list[Path], *, time: int | None = None,
    spark: SparkSession | None = None,
) -> AisFrames:  # fmt: skip
    """Decode files of AIS sentences, one task for each file, as `cernis.geo.ais.read_ais` does.

    A message in several parts is put together if its parts are in one file. A folder stands for all
    files in it. Raises DataError if there is no such file.
    """
    found = _files([files] if isinstance(files, str | Path) else files)

    def run(batches: Batches) -> Batches:
        numbers = [int(number) for batch in batches for number in batch.column(0).to_pylist()]
        return rows_of(piece for number in numbers for piece in _decoded(found[number], time))

    numbers = (spark or session()).range(0, len(found), 1, len(found))
    return AisFrames(numbers.mapInArrow(run, DDL).persist())


def _files(paths: Iterable[str | Path]) -> list[str]:
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(own for own in path.rglob("*") if own.is_file()) if path.is_dir() else []
        found += inside or [path]
    missing = [str(file) for file in found if not file.is_file()]
    if missing or not found:
        raise DataError(f"no AIS file: {', '.join(missing) or 'none is given'}")
    return [str(file.absolute()) for file in found]


def _decoded(file: str, time: int | None) -> Iterator[Piece]:
    from cernis.geo import ais

    said = ais.read_ais(Path(file), time=time)
    named = pa.array([file] * len(said.set_aside), pa.string())
    yield 0, POSITIONS, said.positions
    yield 0, "vessels", said.vessels
    yield 0, "set_aside", said.set_aside.add_column(0, "file", named)
    yield 0, "others", pa.table({"file": [file], "messages": pa.array([said.others], pa.int64())})
