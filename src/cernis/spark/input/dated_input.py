"""Are the times of some input dates? Told before a run, by schemas and by the first records.

Spark needs the types of columns before the first row, so a run must know whether its results have
timestamps before it has read its input.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cernis.errors import DataError
from cernis.records.column_titles import TIMES, relation_title, table_form
from cernis.records.gathering import Gathering
from cernis.records.mapping import Mappings
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import read_file
from cernis.records.tabular import add_mixed_table, add_table
from cernis.spark.input.event_frames import Frame, records_of, wanted_columns
from cernis.spark.input.splits import Split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILES: Final = 16
"""How many files are looked at."""

_ROWS: Final = 64
"""How many rows of a table are looked at."""

_BYTES: Final = 1 << 16
"""How much of a text is looked at."""

_DATED: Final = ("timestamp", "date")


def has_dates(
    frames: Iterable[tuple[Frame, DataFrame]], splits: Iterable[Split], mappings: Mappings,
    shapes: Shapes,
) -> bool:  # fmt: skip
    """Is a time of the input a date or time? Only columns of text are looked into."""
    return any(frame_has_dates(frame, data, shapes) for frame, data in frames) or any(
        _file_has_dates(file, mappings, shapes) for file in _some_files(splits)
    )


def frame_has_dates(frame: Frame, data: DataFrame, shapes: Shapes) -> bool:
    """Is a time in a DataFrame a date or time? A stream is judged by its types alone."""
    kinds = dict(data.dtypes)
    titles = _time_titles(frame, data.columns, shapes.named(frame.mappings.names))
    times = [kinds[title] for title in titles if title in kinds]
    if any(kind.startswith(_DATED) for kind in times):
        return True
    if data.isStreaming or not any(kind.startswith("string") for kind in times):
        return False
    columns = [f"`{title}`" for title in wanted_columns(frame, data.columns, shapes)]
    rows = data.select(*columns).limit(_ROWS).toArrow()
    return any(records.dated for records in records_of(rows.to_batches(), frame, 0, shapes, True))


def _time_titles(frame: Frame, titles: list[str], shapes: Shapes) -> list[str]:
    """The columns with times."""
    if frame.relation is None:
        return [title for title in (shapes.names.column(role) or role for role in TIMES)
                if title in titles]  # fmt: skip
    if not shapes.knows(frame.relation):
        return []
    mapped = [mapping.titles for mapping in frame.mappings.of_table(frame.relation)]
    if mapped:
        used = [time for each in mapped for time in (each.arrival, each.start, each.end)]
        return [time for time in used if time is not None]
    form = table_form(frame.relation, titles, shapes, frame.source, listed=frame.listed)
    times = (form.titles.arrival, form.titles.start, form.titles.end)
    return [title for title in times if title is not None]


# -- files -------------------------------------------------------------------------------------


def _some_files(splits: Iterable[Split]) -> Iterator[Path]:
    """Some files, each name once, as files of one name are about one relation."""
    names: dict[str, str] = {}
    for split in splits:
        names.setdefault(Path(split.file).name if split.groups else split.file, split.file)
    yield from map(Path, list(names.values())[:_FILES])


def _file_has_dates(file: Path, mappings: Mappings, shapes: Shapes) -> bool:
    """Is a time in the first records of a file a date? What is wrong with it is told by the run."""
    gathering = Gathering(shapes.named(mappings.names), uncertain=True, live=True)
    try:
        if file.suffix.lower() in (".parquet", ".pq") and not mappings.of(file):
            _add_first_rows(file, gathering)
        else:
            _add_first_lines(file, gathering, mappings)
    except (DataError, OSError, pa.ArrowException):
        return False
    return gathering.dated


def _add_first_rows(file: Path, gathering: Gathering) -> None:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        schema = opened.schema_arrow
        first = next(opened.iter_batches(_ROWS), None)
        table = pa.Table.from_batches([] if first is None else [first], schema)
    if relation_title(table.column_names, gathering.shapes, file.stem):
        add_mixed_table(table, gathering, str(file))
    else:
        add_table(file.stem, table, gathering, str(file))


def _add_first_lines(file: Path, gathering: Gathering, mappings: Mappings) -> None:
    """Read the first lines of a text by itself, under the name and the end of the path it has."""
    if file.suffix.lower() in (".parquet", ".pq"):
        read_file(file, gathering, mappings)
        return
    with file.open("rb") as stream:
        lines = stream.read(_BYTES)
    lines = lines[: lines.rfind(b"\n") + 1] or lines
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder, *file.absolute().parts[1:])
        head.parent.mkdir(parents=True)
        head.write_bytes(lines)
        read_file(head, gathering, mappings)
