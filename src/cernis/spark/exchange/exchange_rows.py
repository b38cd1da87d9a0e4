"""The rows of an exchange: for which step and bucket, of what kind, and a blob."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from cernis.spark.exchange.blobs import dumps

SCHEMA: Final = pa.schema([
    ("bucket", pa.int32()), ("step", pa.int32()), ("kind", pa.string()), ("blob", pa.binary()),
    ("since", pa.int64()),
])  # fmt: skip
DDL: Final = "bucket int, step int, kind string, blob binary, since bigint"

LAST: Final = 1 << 20
"""The step after all others: what has it is part of the result."""

FIRST: Final = -(1 << 63)
"""Before all times: what is needed before any record can be evaluated."""

_BATCH: Final = 1 << 25
"""Bytes that are handed over together."""


class Kind(StrEnum):
    """What a blob holds."""

    RECORDS = "records"
    """Records on their way home: retractions are among them."""
    RESOLVED = "resolved"
    """Records that go on from their home."""
    FOUND = "found"
    """What an earlier stage found, query by query."""
    DEMAND = "demand"
    """Which buckets ask for what."""
    SURVEY = "survey"
    """What is known of all the input."""
    LINKS = "links"
    """Which entities records link."""
    ANSWER = "answer"
    WRITTEN = "written"
    """What of an answer was written to files."""
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an exchange."""

    bucket: int
    step: int
    kind: Kind
    content: Any
    since: int = FIRST
    """The first time that records in it are about. Where slices are evaluated, rows are sorted."""


def batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Rows as record batches of limited size."""
    waiting: list[tuple[Row, bytes]] = []
    size = 0
    for row in rows:
        blob = dumps(row.content)
        waiting.append((row, blob))
        size += len(blob)
        if size >= _BATCH:
            yield _batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[tuple[Row, bytes]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([row.bucket for row, _ in rows], pa.int32()),
            pa.array([row.step for row, _ in rows], pa.int32()),
            pa.array([str(row.kind) for row, _ in rows], pa.string()),
            pa.array([blob for _, blob in rows], pa.binary()),
            pa.array([row.since for row, _ in rows], pa.int64()),
        ],
        schema=SCHEMA,
    )
