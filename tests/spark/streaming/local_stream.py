"""The jobs of a stream without Spark: the same functions, with the exchange done by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

import cernis
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.explain.traces.traced_rules import TracedProgram, traced
from cernis.plan.builder import make_plan
from cernis.program import Program
from cernis.session.settings import settings
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.exchange_rows import SCHEMA, batches
from cernis.spark.streaming.bucket_store import Checkpoint
from cernis.spark.streaming.live_buckets import LiveBuckets
from cernis.spark.streaming.stream_input import Input, RowKind, read
from cernis.spark.streaming.stream_job import StreamJob, packed
from cernis.spark.streaming.stream_query import outcome_of
from cernis.spark.streaming.stream_stage import evaluate


@dataclass
class LocalStream:
    """A stream of text records whose micro-batches are given one by one."""

    program: Program
    folder: Path
    window: int
    step: int
    buckets: int = 1
    lateness: int = 0
    policy: str = "early"
    start: int | None = None
    future: int | None = None
    ids: str | None = None
    likely: UncertainSettings | None = None
    tick: int | None = None
    ties: str | None = None
    causes: bool = False
    batch: int = 0
    state: int = -1
    clock: int | None = None
    told: dict[str, Any] = field(default_factory=dict)
    live: LiveBuckets = field(default_factory=LiveBuckets)
    """The buckets that the worker keeps; a new one has none."""
    tries: Callable[[], Sequence[LiveBuckets]] | None = None
    """The workers that evaluate a bucket, one after the other; what the last one gives counts."""

    @cached_property
    def batch_job(self) -> Job:
        chosen = settings(self.window, self.step, self.start, None, self.tick, self.ties)
        plan = self.program.plan if self.traced is None else make_plan(self.traced.checked)
        return job_of(plan, chosen, self.buckets, likely=self.likely)

    @cached_property
    def traced(self) -> TracedProgram | None:
        return traced(self.program.checked) if self.causes else None

    @property
    def job(self) -> StreamJob:
        return StreamJob(
            self.batch_job,
            Input(RowKind.TEXT, uncertain=self.likely is not None, ids=self.ids),
            Checkpoint(self.folder), self.window, self.step, self.lateness, self.policy,
            self.start, self.future, self.batch, self.state, self.clock, traced=self.traced,
        )  # fmt: skip

    def take(self, lines: Sequence[str], readers: int = 2) -> list[dict[str, Any]]:
        """The changes that a micro-batch brings."""
        job = self.job
        rows: list[pa.RecordBatch] = []
        for reader in range(readers):
            own = pa.record_batch({"value": pa.array(lines[reader::readers], pa.string())})
            found = read([own], job.input, reader, job.job.loaded.shapes)
            rows += batches(packed(found, job))
        for step in job.steps:
            rows = [out for own in by_bucket(rows, self.buckets) for out in self._step(own, step)]
        changes, self.told = outcome_of(pa.Table.from_batches(rows, SCHEMA), job.schema)
        self.state = self.batch
        self.batch += 1
        self.clock = self.told["clock"]
        found_changes: list[dict[str, Any]] = changes.to_pylist()
        return found_changes

    def _step(self, rows: list[pa.RecordBatch], step: int) -> list[pa.RecordBatch]:
        """What a step gives for a bucket, in the worker that does it last."""
        workers = [self.live] if self.tries is None else self.tries()
        found = [list(evaluate(rows, self.job, step, live)) for live in workers]
        return found[-1]


def by_bucket(rows: list[pa.RecordBatch], buckets: int) -> Iterator[list[pa.RecordBatch]]:
    table = pa.Table.from_batches(rows, SCHEMA)
    for bucket in range(buckets):
        own = table.filter(pa.compute.equal(table["bucket"], bucket))
        yield own.to_batches()


def stream_of(rules: str, folder: Path, window: int, step: int, **more: Any) -> LocalStream:
    return LocalStream(cernis.load(rules), folder, window, step, **more)
