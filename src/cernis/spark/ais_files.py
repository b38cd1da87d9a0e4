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
    """The messages of AIS files, as DataFrames with the columns of `cernis.geo.ais.Sentences`.

    `set_aside` has a column more, the file, and `others` has the number of other messages of each
    file. All are cut out of `packed`, a DataFrame of blobs, which Spark keeps once it is computed.
    `positions_to_events` takes an `AisFrames` as it is, which is quicker than to pass its
    `positions`.
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
    paths = _files([files] if isinstance(files, str | Path) else files)

    def run(batches: Batches) -> Batches:
        numbers = [int(number) for batch in batches for number in batch.column(0).to_pylist()]
        return rows_of(piece for number in numbers for piece in _decoded(paths[number], time))

    numbers = (spark or session()).range(0, len(paths), 1, len(paths))
    return AisFrames(numbers.mapInArrow(run, DDL).persist())


def _files(paths: Iterable[str | Path]) -> list[str]:
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else []
        files += inside or [path]
    missing = [str(file) for file in files if not file.is_file()]
    if missing or not files:
        raise DataError(f"no AIS file: {', '.join(missing) or 'none is given'}")
    return [str(file.absolute()) for file in files]


def _decoded(file: str, time: int | None) -> Iterator[Piece]:
    from cernis.geo import ais

    sentences = ais.read_ais(Path(file), time=time)
    file_names = pa.array([file] * len(sentences.set_aside), pa.string())
    yield 0, POSITIONS, sentences.positions
    yield 0, "vessels", sentences.vessels
    yield 0, "set_aside", sentences.set_aside.add_column(0, "file", file_names)
    yield (
        0,
        "others",
        pa.table({"file": [file], "messages": pa.array([sentences.others], pa.int64())}),
    )
