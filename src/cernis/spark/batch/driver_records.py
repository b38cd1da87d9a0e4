"""Records of the input that come to the driver, where they are explained or shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from cernis.records.record_columns import Records
from cernis.records.retractions import together
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import loads, packed_records, unpacked_records
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row
from cernis.spark.input.batch_input import BatchInput

TaskRecords: TypeAlias = tuple[list[Any], int | None, int | None, bool]
"""Packed records, the first and the last time of all that were read, and whether any was a date."""


@dataclass(frozen=True)
class DriverRecords:
    """Records that were chosen, and the first and the last time of all that were read."""

    records: Records
    first: int | None
    last: int | None

    def bounds(self, job: Job) -> tuple[int, int]:
        """Where the run over the whole input started and ended."""
        chosen, tick = job.settings, job.tick
        first = tick if self.first is None else self.first
        start = chosen.start if chosen.start is not None else first - tick
        end = chosen.end if chosen.end is not None else self.last
        return start, start if end is None else end


def collect_records(
    source: BatchInput, job: Job, choose: Callable[[Records, Job], Records]
) -> DriverRecords:
    """Let workers read the input, and bring to the driver the records that a function chooses.

    Records that were taken back are left out.
    """

    def pick(records: Records, job: Job) -> Iterator[Row]:
        yield Row(0, LAST, Kind.RECORDS, _picked(records, job, choose(records, job)))

    rows = source.packed(job, pick).select("kind", "blob").toArrow()
    collected = list(_contents(rows))
    firsts = [first for _, first, _, _ in collected if first is not None]
    lasts = [last for _, _, last, _ in collected if last is not None]
    records = together(unpacked_records(each) for content, _, _, _ in collected for each in content)
    is_dated = any(dated for _, _, _, dated in collected)
    records.sources, records.dated = source.places, is_dated and not job.settings.epoch
    return DriverRecords(records, min(firsts, default=None), max(lasts, default=None))


def _picked(records: Records, job: Job, chosen: Records) -> TaskRecords:
    parts = [packed_records(part) for part in chosen.relations.values()]
    return parts, records.first, records.last(job.tick), records.dated


def _contents(rows: pa.Table) -> Iterator[TaskRecords]:
    for kind, blob in zip(
        rows.column("kind").to_pylist(), rows.column("blob").to_pylist(), strict=True
    ):
        if kind == Kind.RECORDS:
            yield loads(blob)
