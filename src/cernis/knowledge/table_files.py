"""Files as predicates: a row of a CSV or Parquet file is a fact. Nothing in a file is executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from cernis.errors import DataError
from cernis.knowledge.fact_frames import SECONDS, column_values
from cernis.knowledge.fact_tables import FactTable, fact_table
from cernis.knowledge.ground_values import field_value
from cernis.syntax.time_scale import TimeScale

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

Read = TypeVar("Read")


def read_table(
    path: str | Path, name: str, *, header: bool = True, delimiter: str = ",",
    scale: TimeScale = SECONDS,
) -> FactTable:  # fmt: skip
    """The rows of a file as facts of a predicate, one argument a column.

    A file that ends in `.parquet` or `.pq` is Parquet, any other is delimited text in UTF-8; header
    and delimiter are for text only. Dates of Parquet become time-points of the scale. Raises
    `DataError` with the path, and the line where there is one.
    """
    from pathlib import Path

    file = Path(path)
    _see(file)
    if file.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(file, name, scale)
    return _read_csv(file, name, header, delimiter)


def _see(file: Path) -> None:
    if file.is_dir():
        raise DataError(f"{file}: is a directory; name one file of it")
    if not file.exists():
        raise DataError(f"{file}: there is no such file (looked in {file.parent.absolute()})")


def _read_csv(file: Path, name: str, header: bool, delimiter: str) -> FactTable:
    rows = _guarded(file, lambda: list(_csv_rows(file, delimiter)))
    names = rows.pop(0) if header and rows else []
    if not names and not rows:
        raise DataError(f"{file}: is empty, so the number of arguments of {name} is not known")
    width = len(names or rows[0])
    columns = [[field_value(row[position]) for row in rows] for position in range(width)]
    return fact_table((name, width), columns, names)


def _csv_rows(file: Path, delimiter: str) -> Iterator[list[str]]:
    import csv

    with file.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        width = None
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(f"{file}:{reader.line_num}: {error}") from error
            if not row:
                continue
            width = len(row) if width is None else width
            if len(row) != width:
                fields = f"{len(row)} field{'s' if len(row) != 1 else ''}"
                place = f"{file}:{reader.line_num}"
                raise DataError(f"{place}: {fields}, where the first row has {width}")
            yield row


def _read_parquet(file: Path, name: str, scale: TimeScale) -> FactTable:
    import pyarrow.parquet as pq

    table: pa.Table = _guarded(file, lambda: pq.ParquetFile(file).read())
    columns = [
        column_values(column, title, str(file), scale)
        for title, column in zip(table.column_names, table.columns, strict=True)
    ]
    return fact_table((name, len(columns)), columns, table.column_names, table.num_rows)


def _guarded(file: Path, read: Callable[[], Read]) -> Read:
    """Read, and turn whatever the system or the format has to say into a `DataError`."""
    try:
        return read()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file}: is not UTF-8 text (byte {error.start}): {error.reason}"
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error
