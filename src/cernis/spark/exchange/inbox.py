"""The inbox of one bucket of a stage: rows of an exchange, unpacked and sorted by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cernis.check.model import Relation
from cernis.kernels.array_types import Booleans, Integers
from cernis.plan.properties.routes import Demand
from cernis.records.record_columns import Column, RecordColumns
from cernis.spark.batch.slicing import Parts
from cernis.spark.exchange.batch_job import Survey
from cernis.spark.exchange.blobs import loads, unpacked_column, unpacked_records
from cernis.spark.exchange.exchange_rows import SCHEMA, Kind
from cernis.spark.exchange.stage_output import OutputKind, StageOutput, unpacked

DemandedKeys = dict[Demand, list[tuple[list[Column], Integers]]]
"""By demand: the keys that are demanded, and the buckets that demand them."""


@dataclass(slots=True)
class Inbox:
    """Everything that an exchange has brought for one bucket of a stage, by kind."""

    records: Parts = field(default_factory=dict)
    resolved: Parts = field(default_factory=dict)
    outputs: dict[tuple[Relation, OutputKind], list[StageOutput]] = field(default_factory=dict)
    demands: DemandedKeys = field(default_factory=dict)
    survey: Survey = field(default_factory=Survey)
    bucket: int | None = None
    count: int = 0
    """How many records there are."""

    def each(self, batch: pa.RecordBatch, step: int) -> Iterator[tuple[int, Callable[[], None]]]:
        """For each row of a batch for a step: its first time, and a function that takes it in."""
        for row in rows_for(batch, step):
            self.bucket = row.bucket
            yield row.since, partial(self._take, row.kind, row.blob)

    def number_up_to(self, time: int) -> int:
        """How many records lie at a time or before it."""
        parts = [
            part
            for box in (self.records, self.resolved)
            for parts_of_form in box.values()
            for part in parts_of_form
        ]
        return sum(int(np.count_nonzero(part.times[1] <= time)) for part in parts)

    def up_to(self, time: int) -> tuple[Parts, Parts]:
        """Take out the records, and the resolved ones, that lie at a time or before it."""
        early = _parted(self.records, time), _parted(self.resolved, time)
        self.count -= sum(len(part) for box in early for parts in box.values() for part in parts)
        return early

    def _take(self, kind: Kind, blob: pa.BinaryScalar) -> None:
        content = loads(blob.as_buffer())
        if kind in (Kind.RECORDS, Kind.RESOLVED):
            box = self.records if kind is Kind.RECORDS else self.resolved
            for part in map(unpacked_records, content):
                box.setdefault(part.form, []).append(part)
                self.count += len(part)
        elif kind is Kind.FOUND:
            output = unpacked(content)
            self.outputs.setdefault((output.relation, output.kind), []).append(output)
        elif kind is Kind.DEMAND:
            demand, columns, targets = content
            demanded = self.demands.setdefault(demand, [])
            demanded.append(([unpacked_column(column) for column in columns], targets))
        else:
            self.survey += content


class ReceivedRow(NamedTuple):
    """A row of an exchange whose content is still packed."""

    bucket: int
    kind: Kind
    blob: pa.BinaryScalar
    since: int


def rows_for(batch: pa.RecordBatch, step: int) -> Iterator[ReceivedRow]:
    """The rows of a batch that are for a step."""
    kinds, blobs = batch.column(2).to_pylist(), batch.column(3)
    for row in np.flatnonzero(np.array(batch.column(1)) == step).tolist():
        bucket, since = (batch.column(column)[row].as_py() for column in (0, 4))
        yield ReceivedRow(bucket, Kind(kinds[row]), blobs[row], since)


def others(batch: pa.RecordBatch, step: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch that are not for a step."""
    is_for_step = np.array(batch.column(1)) == step
    if not is_for_step.all():
        yield batch.filter(pa.array(~is_for_step)).cast(SCHEMA)


def _parted(box: Parts, time: int) -> Parts:
    """Take the records up to a time out of a box; gives them."""
    early_parts: Parts = {}
    for form, parts in box.items():
        is_early = [part.times[1] <= time for part in parts]
        early_parts[form] = [
            _some(part, chosen) for part, chosen in zip(parts, is_early, strict=True)
        ]
        box[form] = [
            _some(part, ~chosen)
            for part, chosen in zip(parts, is_early, strict=True)
            if not chosen.all()
        ]
    return early_parts


def _some(part: RecordColumns, chosen: Booleans) -> RecordColumns:
    return part if chosen.all() else part.take(chosen)
