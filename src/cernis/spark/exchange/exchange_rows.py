"""The rows of an exchange: each has a step, a bucket, a kind and a blob."""

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
"""The step of rows that are part of the result."""

FIRST: Final = -(1 << 63)
"""Before all times: for rows that are needed before any record can be evaluated."""

_BATCH: Final = 1 << 25
"""Bytes that are handed over together."""


class Kind(StrEnum):
    """The kind of content of a blob."""

    RECORDS = "records"
    """Records on their way to their home, among them retractions."""
    RESOLVED = "resolved"
    """Records that go on from their home."""
    FOUND = "found"
    """The output of an earlier stage, query by query."""
    DEMAND = "demand"
    """Keys that buckets demand of others."""
    SURVEY = "survey"
    """The survey of the input."""
    LINKS = "links"
    """Pairs of entities that records link."""
    ANSWER = "answer"
    WRITTEN = "written"
    """Counts of the part of an answer that was written to files."""
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an exchange."""

    bucket: int
    step: int
    kind: Kind
    content: Any
    since: int = FIRST
    """The first time of its records. Where slices are evaluated, rows are sorted by it."""


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
