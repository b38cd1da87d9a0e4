"""Answers as tables in a folder, a folder for each fluent and each derived event, as Hive has them.

```text
intervals/fluent=NAME/part-*.parquet    args, value, start, end, open
happenings/event=NAME/part-*.parquet    args, start, occurrence
```

Both engines write so, and with the same columns. Relations of one name that differ in their arity
share a folder, with files of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from cernis.answers.answer_tables import (
    happening_columns,
    interval_columns,
    sorted_event,
    sorted_fluent,
)
from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer

INTERVAL_FOLDER: Final = "intervals"
HAPPENING_FOLDER: Final = "happenings"
SUCCESS: Final = "_SUCCESS"
"""The file that says that a result is complete."""

_TIMES: Final = ("query", "start", "end", "occurrence")


def write_answer(
    answer: Answer, folder: Path, part: str, times: TimeOutput = WHOLE_NUMBERS
) -> dict[str, Any]:
    """Write an answer into a folder, a file a relation; gives what there was to write."""
    counts: dict[str, Any] = {"intervals": {}, "pairs": 0, "happenings": 0, "files": 0}
    for relation, fluent in answer.fluents.items():
        if len(fluent.starts):
            table = times.table(pa.table(interval_columns(fluent)))
            write_relation(table, folder / INTERVAL_FOLDER, "fluent", part, relation)
            name = relation.name
            counts["intervals"][name] = counts["intervals"].get(name, 0) + len(fluent.starts)
            counts["pairs"] += len(fluent)
            counts["files"] += 1
    for relation, event in answer.events.items():
        if len(event):
            table = times.table(pa.table(happening_columns(event)))
            write_relation(table, folder / HAPPENING_FOLDER, "event", part, relation)
            counts["happenings"] += len(event)
            counts["files"] += 1
    return counts


def write_answers(
    answers: Sequence[tuple[int | None, Answer]], folder: Path, times: TimeOutput
) -> Iterator[Path]:
    """Write the answers of a run into a folder, each relation in order; gives the files.

    Answers as of a query have its time in a column `query`.
    """
    for relation in sorted({each for _, answer in answers for each in answer.fluents}):
        parts = [
            _as_of(query, interval_columns(sorted_fluent(answer.fluents[relation])[0]))
            for query, answer in answers if relation in answer.fluents
        ]  # fmt: skip
        table = times.table(pa.concat_tables(parts))
        if len(table):
            yield write_relation(table, folder / INTERVAL_FOLDER, "fluent", _PART, relation)
    for relation in sorted({each for _, answer in answers for each in answer.events}):
        parts = [
            _as_of(query, happening_columns(sorted_event(answer.events[relation])))
            for query, answer in answers if relation in answer.events
        ]  # fmt: skip
        table = times.table(pa.concat_tables(parts))
        if len(table):
            yield write_relation(table, folder / HAPPENING_FOLDER, "event", _PART, relation)


_PART: Final = "00000-1"
"""A process is one bucket, and has one stage."""


def _as_of(query: int | None, columns: dict[str, pa.Array]) -> pa.Table:
    table = pa.table(columns)
    if query is None:
        return table
    return table.add_column(0, "query", pa.repeat(pa.scalar(query, pa.int64()), len(table)))


def write_relation(table: pa.Table, where: Path, title: str, part: str, relation: Relation) -> Path:
    """Write into the folder of a relation, as Hive names it. A complete file gets its name last."""
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
    return unfinished.replace(folder / f"part-{part}.parquet")
