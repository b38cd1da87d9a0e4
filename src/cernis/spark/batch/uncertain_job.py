"""A run over uncertain records on Spark, as every task knows it: stages, one in each bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cernis.evaluate.probabilities.uncertain_run import UncertainAnswer, UncertainRun
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.windows import Window
from cernis.plan.builder import Plan
from cernis.plan.routes import Routes, find_routes
from cernis.records.gathering import Gathering
from cernis.records.record_columns import RecordColumns, Records, SetAside
from cernis.records.record_shapes import Shapes
from cernis.records.retractions import without_unmatched
from cernis.session.recognise import account
from cernis.session.settings import Settings
from cernis.session.uncertain_windows import WindowedRun
from cernis.spark.batch.uncertain_parts import (
    LAST,
    Told,
    batch_of,
    keys_of,
    owned,
    packed_answer,
    row,
)
from cernis.spark.batch.uncertain_stages import (
    Found,
    Stage,
    StageRun,
    Uncertain,
    addressed,
    can_be_staged,
    sent,
    uncertain_in,
)
from cernis.spark.exchange.blobs import loads, packed_records, unpacked_records
from cernis.spark.exchange.record_places import FIRST_LINES

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class UncertainJob:
    """What workers have to know."""

    plan: Plan
    settings: Settings
    likely: UncertainSettings
    buckets: int
    bounds: tuple[int, int] = (0, 0)

    @property
    def tick(self) -> int:
        """How far apart time-points are."""
        return self.settings.tick or self.plan.checked.definitions.settings.tick

    @cached_property
    def routes(self) -> Routes:
        """Which relation goes where."""
        return find_routes(self.plan, by_links=False)

    @property
    def is_whole(self) -> bool:
        """Is all evaluated in one bucket, all stages together?"""
        return self.buckets == 1

    @property
    def has_windows(self) -> bool:
        """Is there more than one query?"""
        return self.settings.window is not None or self.settings.step is not None

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps, each with an exchange before it: a stage each, or one for all of them."""
        return (1,) if self.is_whole else tuple(sorted(self.routes.owned))

    @cached_property
    def uncertain(self) -> Uncertain:
        """What of the program is uncertain."""
        return uncertain_in(self.plan, self.likely.uncertain or ())

    def can_be_spread(self) -> bool:
        """Can entities be spread over buckets? In windows, only where one key does for all."""
        if keys_of(self.plan) is not None:
            return True
        keys = (key for own in self.routes.owned.values() for key in own.values())
        has_keys = any(key for key in keys)
        staged = has_keys and can_be_staged(self.plan, self.routes, self.uncertain)
        return staged and not self.has_windows

    def addressing(self) -> Callable[[Batches], Batches]:
        """A function from the records that were read to the rows of those who use them."""

        def run(given: Batches) -> Batches:
            for batch in given:
                for blob in batch.column("blob"):
                    parts = [unpacked_records(part) for part in loads(blob.as_buffer())]
                    yield batch_of(self._addressed(parts))

        return run

    def _addressed(self, parts: list[RecordColumns]) -> Iterator[dict[str, Any]]:
        for part in parts:
            if self.is_whole:
                yield row(0, 1, content=packed_records(part))
                continue
            for step in self.steps:
                for bucket, own in addressed(part, step, self.routes, self.buckets):
                    yield row(bucket, step, content=packed_records(own))

    def evaluation(self, step: int) -> Callable[[Batches], Batches]:
        """A function from the rows of a bucket to what a step makes of them.

        Rows of other steps pass through.
        """

        def run(given: Batches) -> Batches:
            mine: list[pa.RecordBatch] = []
            for batch in given:
                own = pc.equal(batch.column("step"), step)
                mine.append(batch.filter(own))
                others = batch.filter(pc.invert(own))
                if others.num_rows:
                    yield others
            bucket, gathering, found = self._gathered(iter(mine))
            if bucket is not None:
                yield batch_of(self._evaluated(step, bucket, gathering, found))

        return run

    def ends(self) -> Callable[[Batches], Batches]:
        """A function from the rows of a bucket to the first and last points of its records."""

        def run(given: Batches) -> Batches:
            records = without_unmatched(self._gathered(given)[1].unresolved())
            row = {"first": records.first, "last": records.last(self.tick)}
            kinds = pa.schema([("first", pa.int64()), ("last", pa.int64())])
            yield pa.RecordBatch.from_pylist([row], kinds)

        return run

    def _gathered(self, given: Batches) -> tuple[int | None, Gathering, list[Found]]:
        """The bucket, its records, and what earlier steps found."""
        gathering = Gathering(Shapes(self.plan.checked), uncertain=True)
        found: list[Found] = []
        bucket = None
        for batch in given:
            for own, blob in zip(batch.column("bucket"), batch.column("blob"), strict=True):
                bucket = own.as_py()
                content = loads(blob.as_buffer()) if blob.is_valid else None
                if isinstance(content, Found):
                    found.append(content)
                elif content is not None:
                    gathering.add(unpacked_records(content))
        return bucket, gathering, found

    def _evaluated(
        self, step: int, bucket: int, gathering: Gathering, found: list[Found]
    ) -> Iterator[dict[str, Any]]:
        """What a step makes of the records of a bucket: an answer, and what goes on."""
        if self.has_windows:
            answer, told = self._in_windows(gathering.unresolved())
        elif self.is_whole:
            answer, told = self._whole(gathering.records())
        else:
            stage = Stage(step, self.routes, self.uncertain, bucket, self.buckets)
            if not stage.routes.is_in_charge(stage.step, stage.bucket):
                return
            for each in found:
                stage.given.setdefault(each.relation, []).append(each)
            answer, told, onward = self._staged(stage, gathering.records())
            for each in onward:
                for later, target, own in sent(each, self.routes, self.buckets):
                    yield row(target, later, content=own)
        if not self.is_whole:
            owned(answer, self.routes.owned[step], bucket, self.buckets)
        yield row(bucket, LAST, told, packed_answer(answer))

    def _whole(self, records: Records) -> tuple[UncertainAnswer, Told]:
        run = UncertainRun(self.plan, self.likely, self.settings.tick, self.settings.ties)
        return self._run(run, records)

    def _staged(self, stage: Stage, records: Records) -> tuple[UncertainAnswer, Told, list[Found]]:
        own = tuple(each for each in self.plan.stages if each.number == stage.step)
        plan = replace(self.plan, stages=own)
        run = StageRun(plan, self.likely, self.settings.tick, self.settings.ties)
        run.stage = stage
        answer, told = self._run(run, records)
        if len(self.steps) > 1:
            # A record may be in several buckets, and is told of where it was read.
            told.used, told.outside, told.too_late = 0, 0, []
        return answer, told, run.found

    def _run(self, run: UncertainRun, records: Records) -> tuple[UncertainAnswer, Told]:
        answer = run.over_uncertain(records, *self.bounds)
        late, outside = account(records, [Window(*self.bounds, self.bounds[0])], run.tick)
        told = Told(
            used=records.used, set_aside=_told(records.set_aside), too_late=_told(late),
            outside=outside, circuits=answer.circuits,
        )  # fmt: skip
        return answer, told

    def _in_windows(self, records: Records) -> tuple[UncertainAnswer, Told]:
        run = WindowedRun(self.plan, self.settings, self.likely)
        answer = run.over(records, *self.bounds)
        counts = run.counts
        return answer, Told(
            used=counts.used, set_aside=_told(counts.set_aside), too_late=_told(counts.too_late),
            outside=counts.outside + run.waiting, queries=run.queries, conflicts=run.conflicts,
        )  # fmt: skip


def _told(asides: list[SetAside]) -> list[SetAside]:
    """Records set aside, by their lines in what a reader had."""
    return [replace(aside, line=aside.line & (FIRST_LINES - 1)) for aside in asides]
