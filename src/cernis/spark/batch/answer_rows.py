"""The answers of tasks: blobs from which DataFrames are made, or files that tasks write themselves.

A task that is tried again writes the same files under the same names, so nothing is there twice.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from cernis.answers.answer_tables import happening_columns, interval_columns
from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row
from cernis.spark.exchange.packed_answers import packed_answer

_TIMES: Final = ("start", "end", "occurrence")


def answer_row(answer: Answer, job: Job, bucket: int, step: int) -> Row:
    """The row of an answer: the answer itself, or the counts of what was written to files."""
    if job.folder is None:
        return Row(bucket, LAST, Kind.ANSWER, packed_answer(answer))
    counts = write_answer(answer, Path(job.folder), f"{bucket:05}-{step}", job.times)
    return Row(bucket, LAST, Kind.WRITTEN, counts)


def write_answer(
    answer: Answer, folder: Path, part: str, times: TimeOutput = WHOLE_NUMBERS
) -> dict[str, Any]:
    """Write an answer into a folder, a file a relation; gives what there was to write."""
    counts: dict[str, Any] = {"intervals": {}, "pairs": 0, "happenings": 0, "files": 0}
    for relation, fluent in answer.fluents.items():
        if len(fluent.starts):
            table = times.table(pa.table(interval_columns(fluent)))
            _write_table(table, folder / "intervals", "fluent", part, relation)
            name = relation.name
            counts["intervals"][name] = counts["intervals"].get(name, 0) + len(fluent.starts)
            counts["pairs"] += len(fluent)
            counts["files"] += 1
    for relation, event in answer.events.items():
        if len(event):
            table = times.table(pa.table(happening_columns(event)))
            _write_table(table, folder / "happenings", "event", part, relation)
            counts["happenings"] += len(event)
            counts["files"] += 1
    return counts


def _write_table(table: pa.Table, where: Path, title: str, part: str, relation: Relation) -> None:
    """Write into the folder of a relation, as Hive names it. A complete file gets its name last.

    Relations of one name that differ in their arity share a folder, with files of their own.
    """
    from pyarrow import parquet

    folder = where / f"{title}={quote(relation.name, safe='')}"
    part = f"{part}-{relation.arity}"
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".part-{part}-{os.getpid()}"
    # A dictionary pays off for values only: times hardly repeat, and equal arguments are next to
    # each other, so that they compress well without one.
    parquet.write_table(
        table, unfinished, compression="zstd",
        use_dictionary=["value"] if "value" in table.column_names else False,
        write_statistics=[name for name in _TIMES if name in table.column_names],
        column_encoding={
            name: "DELTA_BINARY_PACKED" for name in _TIMES if name in table.column_names
        },
    )  # fmt: skip
    unfinished.replace(folder / f"part-{part}.parquet")
