"""Results that workers write: Parquet files, in a folder for each fluent, all of them or none.

They are written into a folder beside the one that is wanted, and moved when all are there. So a
folder with `_SUCCESS` in it has a whole result, and the files of a failed run are removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cernis.answers.relation_files import SUCCESS
from cernis.answers.result import Summary
from cernis.answers.writers import write_set_aside
from cernis.check.model import Relation
from cernis.spark.batch.spark_results import CertainComputation, summary_of
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.exchange_rows import Kind
from cernis.spark.exchange.exchange_stats import Exchanged, exchanged


@dataclass(frozen=True)
class Written:
    """A result that was written: its summary, and how much of it there is."""

    summary: Summary
    reports: list[dict[str, Any]]
    intervals: dict[str, int]
    """How many intervals each fluent has, of those that have any."""
    pairs: int
    happenings: int
    files: int

    @property
    def exchanged(self) -> Exchanged:
        """The figures of the exchanges between workers."""
        return exchanged(self.reports)


def write(
    result: CertainComputation, directory: Path,
    accept: Callable[[Summary], None] = lambda summary: None,
    selected: frozenset[Relation] | None = None,
) -> Written:  # fmt: skip
    """Write a result into a folder: `intervals/fluent=NAME` and `happenings/event=NAME`.

    If fluents and events are selected, no others are written.
    Earlier results in it are replaced, other files stay. If anything fails, or `accept` raises an
    error at the summary, nothing is there.
    """
    target = directory.absolute()
    beside = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        written = _written(result, beside, selected)
        accept(written.summary)
        _move(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return written


def _written(
    result: CertainComputation, beside: Path, selected: frozenset[Relation] | None
) -> Written:
    reports: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    for row in result.written_into(str(beside), selected).select("kind", "blob").collect():
        (reports if row.kind == Kind.REPORT else counts).append(loads(row.blob))
    summary = summary_of(reports, result.plan.checked.catalogue)
    intervals: dict[str, int] = {}
    for entry in counts:
        for name, count in entry["intervals"].items():
            intervals[name] = intervals.get(name, 0) + count
    files = sum(entry["files"] for entry in counts) + len(list(write_set_aside(summary, beside)))
    return Written(
        summary, reports, dict(sorted(intervals.items())), sum(entry["pairs"] for entry in counts),
        sum(entry["happenings"] for entry in counts), files,
    )  # fmt: skip


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
    from cernis.answers.writers import clear as clear_files

    clear_files(directory)
