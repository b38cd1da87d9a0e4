"""Results written by the workers: Parquet, a folder a fluent, that is complete or not there.

All is written into a folder beside the one wanted, and moved when everything is there. So a folder
with `_SUCCESS` in it is a whole result, and what a failed run leaves is removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from cernis.check.model import Relation
from cernis.runtime.frames import all_happenings, all_intervals
from cernis.runtime.result import Summary
from cernis.runtime.run import Answer
from cernis.runtime.writers import write_set_aside
from cernis.spark.answers import answer_of
from cernis.spark.blobs import loads
from cernis.spark.exchanged import Exchanged, exchanged
from cernis.spark.results import Recognised, summary_of
from cernis.spark.rows import DDL, LAST, Kind, Row, batches

SUCCESS: Final = "_SUCCESS"

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Written:
    """What came of writing a result."""

    summary: Summary
    reports: list[dict[str, Any]]
    intervals: dict[str, int]
    """How many intervals each fluent has, of those that have any."""
    pairs: int
    happenings: int
    files: int

    @property
    def exchanged(self) -> Exchanged:
        """What was moved between workers."""
        return exchanged(self.reports)


def write(
    result: Recognised, directory: Path, accept: Callable[[Summary], None] = lambda summary: None
) -> Written:
    """Write a result into a folder: `intervals/fluent=NAME` and `happenings/event=NAME`.

    Earlier results in it are replaced, other files stay. If anything fails, or `accept` raises an
    error at the summary, nothing is there.
    """
    target = directory.absolute()
    beside = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        written = _written(result, beside)
        accept(written.summary)
        _move(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return written


def _written(result: Recognised, beside: Path) -> Written:
    folder = str(beside)

    def run(given: Batches) -> Batches:
        yield from batches(_kept(given, folder))

    reports: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    rows = result.through(run, DDL).select("kind", "blob").collect()
    for row in rows:
        (reports if row.kind == Kind.REPORT else counts).append(loads(row.blob))
    summary = summary_of(reports)
    intervals: dict[str, int] = {}
    for own in counts:
        for name, count in own["intervals"].items():
            intervals[name] = intervals.get(name, 0) + count
    files = sum(own["files"] for own in counts) + len(list(write_set_aside(summary, beside)))
    return Written(
        summary, reports, dict(sorted(intervals.items())), sum(own["pairs"] for own in counts),
        sum(own["happenings"] for own in counts), files,
    )  # fmt: skip


def _kept(given: Batches, folder: str) -> Iterator[Row]:
    """Write the answers of one partition; reports, and what was written, go to the driver."""
    part = 0
    for batch in given:
        buckets, blobs = batch.column(0), batch.column(3)
        for at, kind in enumerate(batch.column(2).to_pylist()):
            content = loads(blobs[at].as_buffer())
            if kind == Kind.ANSWER:
                name = f"{buckets[at].as_py():05}-{part}"
                counts = _write_answer(answer_of([content]), Path(folder), name)
                yield Row(0, LAST, Kind.ANSWER, counts)
                part += 1
            else:
                yield Row(0, LAST, Kind.REPORT, content)


def _write_answer(answer: Answer, folder: Path, part: str) -> dict[str, Any]:
    counts: dict[str, Any] = {"intervals": {}, "pairs": 0, "happenings": 0, "files": 0}
    for relation, fluent in answer.fluents.items():
        if len(fluent.starts):
            table = all_intervals(Answer({relation: fluent})).drop_columns(["fluent"])
            _write_table(table, folder / "intervals" / _folder("fluent", relation), part)
            name = relation.name
            counts["intervals"][name] = counts["intervals"].get(name, 0) + len(fluent.starts)
            counts["pairs"] += len(fluent)
            counts["files"] += 1
    for relation, event in answer.events.items():
        if len(event):
            table = all_happenings(Answer({}, {relation: event})).drop_columns(["event"])
            _write_table(table, folder / "happenings" / _folder("event", relation), part)
            counts["happenings"] += len(event)
            counts["files"] += 1
    return counts


def _folder(title: str, relation: Relation) -> str:
    """The folder of a relation, as Hive and its followers name it."""
    return f"{title}={quote(relation.name, safe='')}"


def _write_table(table: pa.Table, folder: Path, part: str) -> None:
    """A task that is tried again replaces what it has written before."""
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".part-{part}-{os.getpid()}"
    parquet.write_table(table, unfinished, compression="zstd")
    unfinished.replace(folder / f"part-{part}.parquet")


def _move(beside: Path, target: Path) -> None:
    if not target.exists():
        (beside / SUCCESS).touch()
        beside.replace(target)
        return
    clear(target)
    for each in beside.iterdir():
        each.replace(target / each.name)
    (target / SUCCESS).touch()


def clear(directory: Path) -> None:
    """Remove an earlier result from a folder, the sign that it is complete first."""
    from cernis.runtime.writers import clear as clear_files

    (directory / SUCCESS).unlink(missing_ok=True)
    clear_files(directory)
    for name in ("intervals", "happenings"):
        shutil.rmtree(directory / name, ignore_errors=True)
