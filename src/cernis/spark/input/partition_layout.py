"""The layout of partitioned input: which files form one part, so that no entity is in two parts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cernis.errors import DataError
from cernis.records.column_titles import is_in_order, relation_title, table_form
from cernis.spark.exchange.batch_job import Job
from cernis.spark.input.splits import Split, key_range


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """The numbers of the splits of each part, and the name of each part in messages."""

    parts: list[tuple[int, ...]]
    names: list[str]


def proven_layout(splits: Sequence[Split], job: Job) -> PartitionLayout | None:
    """The parts that the statistics of Parquet files prove; None if they prove none.

    Files whose ranges of keys overlap belong to one part. Input of later stages may lie anywhere.
    """
    ranges: list[tuple[Any, Any, str]] = []
    files = dict.fromkeys(split.file for split in splits)
    for file in files:
        column = _key_column(file, job)
        if column is None:
            return None
        if column:
            bounds = key_range(file, column)
            if bounds is None:
                return None
            ranges.append((*bounds, file))
    if len({type(low) for low, _, _ in ranges}) != 1:
        return None
    return _laid_out(splits, list(_apart(ranges)), job.buckets)


def declared_layout(splits: Sequence[Split], job: Job) -> PartitionLayout:
    """The parts that a user declares: the folders, or the files if there is only one folder.

    Text may retract records of another part, so it is a DataError; a single part is one, too.
    """
    if any(split.may_retract for split in splits):
        raise DataError(
            "input that is said to be partitioned must be Parquet without a column retracts, or a "
            "DataFrame without one"
        )
    keyed = [file for file in dict.fromkeys(s.file for s in splits) if _key_column(file, job) != ""]
    folders = {file: str(Path(file).parent) for file in keyed}
    if len(set(folders.values())) < 2:
        folders = {file: file for file in keyed}
    parts: dict[str, list[str]] = {}
    for file, folder in folders.items():
        parts.setdefault(folder, []).append(file)
    layout = _laid_out(splits, list(parts.values()), job.buckets)
    if layout is None:
        raise DataError("input that is said to be partitioned has one part only")
    return layout


def _apart(ranges: list[tuple[Any, Any, str]]) -> Iterator[list[str]]:
    """Groups of files whose ranges overlap."""
    overlapping: list[str] = []
    end: Any = None
    for low, high, file in sorted(ranges):
        if overlapping and low > end:
            yield overlapping
            overlapping = []
        end = high if not overlapping else max(end, high)
        overlapping.append(file)
    if overlapping:
        yield overlapping


def _laid_out(splits: Sequence[Split], files: list[list[str]], most: int) -> PartitionLayout | None:
    """Parts of about the same size, at most so many; None if all files are in one group.

    Files that are in no group may go into any part.
    """
    if len(files) < 2:
        return None
    sizes: dict[str, int] = {}
    numbers: dict[str, list[int]] = {}
    for number, split in enumerate(splits):
        sizes[split.file] = sizes.get(split.file, 0) + split.size
        numbers.setdefault(split.file, []).append(number)
    placed = {file for group in files for file in group}
    files = [*files, *([file] for file in sizes if file not in placed)]
    parts: list[list[str]] = [[] for _ in range(min(most, len(files)))]
    waiting = [(0, part) for part in range(len(parts))]
    for group in sorted(files, key=lambda group: -sum(sizes[file] for file in group)):
        load, lightest = waiting[0]
        parts[lightest] += group
        heapq.heapreplace(waiting, (load + sum(sizes[file] for file in group), lightest))
    chosen = [part for part in parts if part]
    return PartitionLayout(
        [tuple(number for file in part for number in numbers[file]) for part in chosen],
        [part[0] for part in chosen],
    )


def _key_column(file: str, job: Job) -> str | None:
    """The column of a file that divides it into parts: the first of the key of the first stage.

    It is empty if the file has no such key because a later stage or no stage reads it. It is None
    if the key is not known, as in a table of several relations.
    """
    from pyarrow import parquet

    schema = parquet.read_schema(file)
    titles = schema.names
    name, shapes, routes = Path(file).stem, job.loaded.shapes, job.loaded.plan.routes
    if relation_title(titles, shapes, name) is not None:
        return None
    if not shapes.knows(name):
        return ""
    table = table_form(name, titles, shapes, file, listed=is_in_order(schema.metadata))
    form, columns = table.form, table.columns
    home = routes.homes.get(form.relation)
    if home is None or home.step != routes.steps[0]:
        return ""
    return columns[form.width - form.relation.arity + home.links[0][0]]
