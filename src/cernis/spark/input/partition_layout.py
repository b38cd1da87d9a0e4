"""Parts of the input: which files lie together, so that no entity is in two of these sets."""

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
class Layout:
    """The splits of each part, by number, and how parts are spoken of."""

    parts: list[tuple[int, ...]]
    names: list[str]


def found_layout(splits: Sequence[Split], job: Job) -> Layout | None:
    """Parts that the statistics of Parquet files prove; None if they do not.

    Files whose ranges of the key overlap are of one part. Input of later stages may lie anywhere.
    """
    ranges: list[tuple[Any, Any, str]] = []
    files = dict.fromkeys(split.file for split in splits)
    for file in files:
        column = _key_column(file, job)
        if column is None:
            return None
        if column:
            own = key_range(file, column)
            if own is None:
                return None
            ranges.append((*own, file))
    if len({type(low) for low, _, _ in ranges}) != 1:
        return None
    return _laid_out(splits, list(_apart(ranges)), job.buckets)


def said_layout(splits: Sequence[Split], job: Job) -> Layout:
    """Parts as a user says they are: folders, or if there is one only, files.

    Text may retract what is in another part, so it is a DataError; as is a single part.
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
    found = _laid_out(splits, list(parts.values()), job.buckets)
    if found is None:
        raise DataError("input that is said to be partitioned has one part only")
    return found


def _apart(ranges: list[tuple[Any, Any, str]]) -> Iterator[list[str]]:
    """The files whose ranges overlap, together."""
    own: list[str] = []
    end: Any = None
    for low, high, file in sorted(ranges):
        if own and low > end:
            yield own
            own = []
        end = high if not own else max(end, high)
        own.append(file)
    if own:
        yield own


def _laid_out(splits: Sequence[Split], files: list[list[str]], most: int) -> Layout | None:
    """Parts of about the same size, no more than asked for; None if there is one only.

    Files that are in no part go along with some.
    """
    if len(files) < 2:
        return None
    sizes: dict[str, int] = {}
    numbers: dict[str, list[int]] = {}
    for number, split in enumerate(splits):
        sizes[split.file] = sizes.get(split.file, 0) + split.size
        numbers.setdefault(split.file, []).append(number)
    placed = {file for own in files for file in own}
    files = [*files, *([file] for file in sizes if file not in placed)]
    parts: list[list[str]] = [[] for _ in range(min(most, len(files)))]
    waiting = [(0, at) for at in range(len(parts))]
    for own in sorted(files, key=lambda own: -sum(sizes[file] for file in own)):
        load, at = waiting[0]
        parts[at] += own
        heapq.heapreplace(waiting, (load + sum(sizes[file] for file in own), at))
    chosen = [part for part in parts if part]
    return Layout(
        [tuple(number for file in part for number in numbers[file]) for part in chosen],
        [part[0] for part in chosen],
    )


def _key_column(file: str, job: Job) -> str | None:
    """The column of a file that divides it into parts: the first of the key of the first stage.

    Empty if the file has no such key, as it is for a later stage or for none; None if it is not
    known, as in a table of several relations.
    """
    from pyarrow import parquet

    schema = parquet.read_schema(file)
    titles = schema.names
    name, shapes, routes = Path(file).stem, job.loaded.shapes, job.loaded.routes
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
