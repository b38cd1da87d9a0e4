"""Files of positions, read by workers; and files of events, written by them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from cernis.errors import DataError


class RowGroups(NamedTuple):
    """Row groups of a file that are read together.

    `first` is the number of the first one, `end` that after the last; `rows` counts their rows.
    """

    file: str
    first: int
    end: int
    rows: int


SPLIT_ROWS = 1 << 19
"""Row groups are read together as long as they have no more rows."""


def splits_of(
    positions: str | Path | list[str] | list[Path],
) -> tuple[list[RowGroups], dict[str, str]]:
    """The parts of Parquet files to be read by one task each, and the columns with their types.

    A folder stands for the Parquet files in it and below. The type of a column is `string` for all
    kinds of text, else Arrow's name of the type. Raises DataError if there is no file, or one that
    is no Parquet, or if files differ in the type of their vessels.
    """
    files = _files([positions] if isinstance(positions, str | Path) else positions)
    splits: list[RowGroups] = []
    types: dict[str, str] = {}
    for file in files:
        try:
            parquet = pq.ParquetFile(file)
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{file}: no Parquet file: {error}") from error
        kinds = {column.name: _type(column.type) for column in parquet.schema_arrow}
        if types and kinds.get("vessel") != types.get("vessel"):
            raise DataError(f"{file}: vessels are {kinds.get('vessel')}, elsewhere otherwise")
        types = {name: kind for name, kind in kinds.items() if not types or name in types}
        splits += _row_groups(str(file), parquet.metadata)
    return splits, types


def _files(paths: Iterable[str | Path]) -> list[Path]:
    files: list[Path] = []
    for path in map(Path, paths):
        files += sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    missing = [str(file) for file in files if not file.exists()]
    if missing or not files:
        raise DataError(f"no positions: {', '.join(missing) or 'no Parquet file there'}")
    return [file.absolute() for file in files]


def _type(kind: pa.DataType) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return "string" if is_text else str(kind)


def _row_groups(file: str, metadata: pq.FileMetaData) -> Iterator[RowGroups]:
    first, rows = 0, 0
    for number in range(metadata.num_row_groups):
        group_rows = metadata.row_group(number).num_rows
        if rows and rows + group_rows > SPLIT_ROWS:
            yield RowGroups(file, first, number, rows)
            first, rows = number, 0
        rows += group_rows
    if rows:
        yield RowGroups(file, first, metadata.num_row_groups, rows)


def read_splits(splits: Iterable[RowGroups], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The positions of some splits."""
    for split in splits:
        with pq.ParquetFile(split.file) as parquet:
            groups = list(range(split.first, split.end))
            table = parquet.read_row_groups(groups, columns=columns)
        yield from table.select(columns).combine_chunks().to_batches()


def write_part(folder: str, relations: dict[str, pa.Table]) -> pa.Table:
    """Write relations into a new part of a folder; the part, relation and rows of each file.

    A task that is run twice writes two parts, of which `commit` keeps one.
    """
    part = uuid.uuid4().hex
    Path(folder, part).mkdir()
    for name, table in relations.items():
        pq.write_table(table, Path(folder, part, f"{name}.parquet"), compression="lz4")
    return pa.table({
        "part": [part] * len(relations), "relation": list(relations),
        "rows": pa.array([len(table) for table in relations.values()], pa.int64()),
    })  # fmt: skip


def started(target: Path) -> Path:
    """A new folder beside the target, to be filled. Raises DataError if the target exists."""
    if target.exists():
        raise DataError(f"{target} exists already")
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    draft.mkdir(parents=True)
    return draft


def commit(draft: Path, target: Path, manifests: Iterable[pa.Table]) -> dict[str, list[Path]]:
    """Keep and number the parts that the manifests list, and give the folder its name.

    Gives the files of each relation; one without files, when there were no positions, is missing.
    """
    rows = [row for manifest in manifests for row in manifest.to_pylist()]
    parts = sorted({row["part"] for row in rows})
    names = {part: f"part-{number:05}" for number, part in enumerate(parts)}
    for each in list(draft.iterdir()):
        if each.name in names:
            each.rename(draft / names[each.name])
        else:
            shutil.rmtree(each)
    draft.rename(target)
    files: dict[str, list[Path]] = {}
    for row in sorted(rows, key=lambda row: (row["relation"], row["part"])):
        file = target / names[row["part"]] / f"{row['relation']}.parquet"
        files.setdefault(row["relation"], []).append(file)
    return files
