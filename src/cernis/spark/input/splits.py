"""Splits: parts of input files that workers read by themselves, without the JVM."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from cernis.errors import DataError
from cernis.records.column_names import NO_NAMES
from cernis.records.column_titles import relation_title
from cernis.records.gathering import Gathering
from cernis.records.mapping import Mappings, read_mappings
from cernis.records.python_rows import add_json_lines
from cernis.records.record_columns import RecordColumns, RecordForm, Records, one_below_the_other
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import read_file
from cernis.records.tabular import add_mixed_table, add_table
from cernis.records.text_records import read_stream
from cernis.spark.exchange.record_places import Places, sources_of
from cernis.spark.input.typed_frames import kind_of

BYTES: Final = 1 << 25
"""How much of a text file is one split."""

ROWS: Final = 1 << 20
"""How many rows of a Parquet file are one split."""

_PARQUET: Final = (".parquet", ".pq")
_JSON: Final = (".jsonl", ".ndjson", ".json")
_TABLES: Final = (".csv", ".tsv")
_BY_TITLES: Final = (*_PARQUET, *_TABLES)
"""Files with columns, which are read whole where these are called otherwise."""
_INFINITE: Final = 1 << 62
ROW: Final = 32
"""Bytes of a record, roughly."""


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file: bytes of text, row groups of Parquet, or all of it."""

    file: str
    kind: str
    low: int = 0
    high: int = _INFINITE
    groups: tuple[int, ...] = ()
    size: int = 0
    """About how many bytes it has."""

    @property
    def may_retract(self) -> bool:
        """May it have retractions? Text, JSON and tables with a column `retracts` may."""
        return self.kind != "parquet"


def splits_of(
    files: Sequence[Path], mapping: str | Path | Mapping[str, Any] | None, rows: int = ROWS,
    size: int = BYTES,
) -> tuple[list[Split], Mappings]:  # fmt: skip
    """The splits of files, and the mappings of the columns of those that have some."""
    splits: list[Split] = []
    mappings: dict[Any, None] = {}
    names = NO_NAMES
    for file in files:
        file_mappings = read_mappings(mapping, file.parent)
        mappings.update(dict.fromkeys(file_mappings.of(file)))
        names = names.over(file_mappings.names)
        is_mapped = bool(file_mappings.of(file)) or bool(file_mappings.names.entries)
        splits += _splits(file, is_mapped and file.suffix.lower() in _BY_TITLES, rows, size)
    return splits, Mappings(tuple(mappings), names)


def _splits(file: Path, is_mapped: bool, rows: int, size: int) -> Iterator[Split]:
    ending = file.suffix.lower()
    name = str(file.absolute())
    if ending in _PARQUET and not is_mapped:
        yield from _row_groups(file, name, rows)
    elif is_mapped or ending in _TABLES:
        yield Split(name, "whole", size=file.stat().st_size)
    else:
        kind = "json" if ending in _JSON else "text"
        length = file.stat().st_size
        for low in range(0, max(length, 1), size):
            yield Split(name, kind, low, low + size, size=min(size, length - low))


def _row_groups(file: Path, name: str, rows: int) -> Iterator[Split]:
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(file)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error
    retracts = "retracts" in metadata.schema.names
    groups: list[int] = []
    low = high = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        high += metadata.row_group(group).num_rows
        if high - low >= rows or group + 1 == metadata.num_row_groups:
            kind = "retracting" if retracts else "parquet"
            yield Split(name, kind, low, high, tuple(groups), (high - low) * ROW)
            groups, low = [], high


def key_range(file: str, column: str) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column by the statistics of a file; None if unknown.

    A file without rows has an empty range, which is None too.
    """
    from pyarrow import parquet

    metadata = parquet.read_metadata(file)
    names = [metadata.schema.column(position).path for position in range(metadata.num_columns)]
    if column not in names or not metadata.num_row_groups:
        return None
    position = names.index(column)
    statistics = [
        metadata.row_group(group).column(position).statistics
        for group in range(metadata.num_row_groups)
    ]
    if not all(each is not None and each.has_min_max for each in statistics):
        return None
    return min(each.min for each in statistics), max(each.max for each in statistics)


def parquet_schemas(splits: Sequence[Split]) -> dict[str, dict[str, str]]:
    """The types of the columns of Parquet files, by the relation each is named after."""
    from pyarrow import parquet

    files = dict.fromkeys(split.file for split in splits if split.groups)
    return {
        Path(file).stem: {field.name: _kind(field.type) for field in parquet.read_schema(file)}
        for file in files
    }


def _kind(kind: pa.DataType) -> str:
    return kind_of(str(kind.value_type if pa.types.is_dictionary(kind) else kind))


def tasks_of(splits: Sequence[Split], size: int = BYTES) -> list[tuple[int, ...]]:
    """The numbers of splits, in order, so that small ones are read by one task together.

    >>> tasks_of([Split("a", "text", size=10), Split("b", "text", size=20)], 25)
    [(0,), (1,)]
    """
    tasks: list[list[int]] = []
    room = 0
    for number, split in enumerate(splits):
        if not tasks or split.size > room:
            tasks.append([])
            room = size
        tasks[-1].append(number)
        room -= split.size
    return [tuple(task) for task in tasks]


# -- reading -----------------------------------------------------------------------------------


def read_split(
    split: Split, number: int, shapes: Shapes, mappings: Mappings, uncertain: bool = False
) -> Records:
    """The records of a split, not resolved; with `uncertain`, records may have probabilities."""
    before = split.low if split.groups else 0
    places = sources_of(number, split.file, before)
    if split.kind in ("text", "json") and split.low:
        # Lines are counted only if some record of the split is set aside.
        places.names = lambda _: (split.file, lines_before(split.file, split.low))
    if split.kind == "json":
        shapes = shapes.named(mappings.names)
    gathering = Gathering(shapes, places, uncertain=uncertain)
    if split.groups:
        _add_row_groups(split, gathering)
    elif split.kind == "whole":
        read_file(Path(split.file), gathering, mappings)
    else:
        stream = io.BytesIO(_text(split))
        if split.kind == "json":
            add_json_lines(stream, gathering, split.file)
        else:
            read_stream(stream, split.file, gathering)
    return gathering.unresolved()


def read_together(
    splits: Sequence[Split], numbers: Sequence[int], shapes: Shapes, mappings: Mappings,
    uncertain: bool = False,
) -> Records:  # fmt: skip
    """The records of several splits, not resolved; uncertain ones only if that is said."""
    return stacked(
        read_split(splits[number], number, shapes, mappings, uncertain) for number in numbers
    )


def stacked(several: Iterable[Records]) -> Records:
    """Several tables of unresolved records as one, in this order."""
    whole = Records()
    parts: dict[RecordForm, list[RecordColumns]] = {}
    for records in several:
        for form, part in records.relations.items():
            parts.setdefault(form, []).append(part)
        whole.set_aside += records.set_aside
        whole.warnings += [each for each in records.warnings if each not in whole.warnings]
        whole.notes += [each for each in records.notes if each not in whole.notes]
        whole.count += records.count
        whole.dated |= records.dated
        for name, count in records.ignored.items():
            whole.ignored[name] = whole.ignored.get(name, 0) + count
    whole.relations = {form: one_below_the_other(columns) for form, columns in parts.items()}
    return whole


def _add_row_groups(split: Split, gathering: Gathering) -> None:
    from pyarrow import parquet

    table = parquet.ParquetFile(split.file).read_row_groups(list(split.groups))
    name = Path(split.file).stem
    if relation_title(table.column_names, gathering.shapes, name):
        add_mixed_table(table, gathering, split.file)
    else:
        add_table(name, table, gathering, split.file)


def _text(split: Split) -> bytes:
    """The lines that begin within the bytes of a split."""
    with open(split.file, "rb") as stream:
        start = split.low
        if start:
            stream.seek(start - 1)
            start += len(stream.readline()) - 1
        if start >= split.high:
            return b""
        stream.seek(start)
        text = stream.read(split.high - start)
        return text if text.endswith(b"\n") else text + stream.readline()


@lru_cache(maxsize=64)
def lines_before(file: str, low: int) -> int:
    """How many lines of a file begin before some byte of it."""
    count, left, last = 0, low - 1, b""
    with open(file, "rb") as stream:
        while left > 0:
            last = stream.read(min(left, 1 << 24))
            if not last:
                break
            count += last.count(b"\n")
            left -= len(last)
    # The last line of the split before begins before that byte, too.
    return count + 1


def places_of(splits: Sequence[Split]) -> Places:
    """Finds the source and the line of a place in any split."""

    def names(number: int) -> tuple[str, int]:
        if number >= len(splits):
            return "", 0
        split = splits[number]
        if split.groups:
            return split.file, split.low
        before = lines_before(split.file, split.low) if split.low else 0
        return split.file, before

    return Places(names=names)
