"""What a step sends on: records and findings, to the buckets of later steps that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.plan.routes import Delivery, Demand, Way
from cernis.records.record_columns import Column, RecordColumns, joined, numbered
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.blobs import packed_records
from cernis.spark.exchange.buckets import bucket_of
from cernis.spark.exchange.exchange_rows import FIRST, Kind, Row
from cernis.spark.exchange.inbox import Asked
from cernis.spark.exchange.pack import MOST_ROWS, Piece, arguments_at, by_bucket, first_of, to_all
from cernis.spark.exchange.stage_output import Found

Asking: TypeAlias = Callable[[Demand, list[Column], int], tuple[Integers, Integers]]
"""Which rows somebody asks for, given the values of a demand's positions, and which bucket does."""


def targets_of(
    delivery: Delivery, columns: list[Column], length: int, buckets: int, asked: Asking,
    placed: Callable[[int], Integers] | None = None,
) -> tuple[Integers, Integers]:  # fmt: skip
    """Which rows go to which buckets, each pair once.

    By a link, rows go where `placed` says, given its number, or else to the bucket of its values.
    """
    if delivery.way is Way.ONE:
        return np.arange(length), np.zeros(length, np.int64)
    if delivery.way is Way.EVERYWHERE:
        return np.repeat(np.arange(length), buckets), np.tile(np.arange(buckets), length)
    pairs = []
    for number, link in enumerate(delivery.links):
        values = [columns[at] for at in link]
        target = bucket_of(values, length, buckets) if placed is None else placed(number)
        pairs.append(np.arange(length) * buckets + target)
    for demand, positions in delivery.demands:
        rows, targets = asked(demand, [columns[at] for at in positions], length)
        pairs.append(rows * buckets + targets)
    chosen = pairs[0] if len(pairs) == 1 and not delivery.demands else None
    chosen = np.unique(np.concatenate(pairs)) if chosen is None else chosen
    return chosen // buckets, chosen % buckets


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends rows on, to those who asked for them or by key."""

    job: Job
    demands: Asked

    def records(self, part: RecordColumns) -> Iterator[Row]:
        """Records of one form, for all later steps that read them."""
        for delivery in self.job.loaded.routes.onward.get(part.form.relation, ()):
            for bucket, _, own in self._spread(part, delivery):
                content = [packed_records(own)]
                yield Row(bucket, delivery.step, Kind.RESOLVED, content, first_of(own))

    def found(self, found: Found, since: int = FIRST) -> Iterator[Row]:
        """What a step found of one relation, for all later steps that read it.

        `since` is the time of the first query that it is as of.
        """
        for delivery in self.job.loaded.routes.onward.get(found.relation, ()):
            rows, targets = self._targets(found.columns, len(found), delivery)
            for bucket in np.unique(targets).tolist():
                own = rows[targets == bucket]
                for low in range(0, len(own), MOST_ROWS):
                    part = found.take(own[low : low + MOST_ROWS])
                    yield Row(bucket, delivery.step, Kind.FOUND, part.packed(), since)

    def survey(self, bucket: int, step: int, survey: Survey) -> Iterator[Row]:
        """Send the survey on to the same bucket of the following step, if there is one."""
        steps = self.job.loaded.routes.steps
        if step != steps[-1]:
            yield Row(bucket, steps[steps.index(step) + 1], Kind.SURVEY, survey)

    def _spread(self, part: RecordColumns, delivery: Delivery) -> Iterator[Piece]:
        if delivery.way is Way.EVERYWHERE:
            yield from to_all(part, self.job)
            return
        arguments = arguments_at(part, tuple(range(part.form.relation.arity)))
        rows, targets = self._targets(arguments, len(part), delivery)
        yield from by_bucket(part.take(rows), targets, self.job)

    def _targets(
        self, arguments: list[Column], length: int, delivery: Delivery
    ) -> tuple[Integers, Integers]:
        def placed(number: int) -> Integers:
            values = [arguments[at] for at in delivery.links[number]]
            kinds = delivery.kinds[number : number + 1]
            return self.job.placed(delivery.step, values, length, kinds)

        return targets_of(delivery, arguments, length, self.job.buckets, self._asked, placed)

    def _asked(
        self, demand: Demand, columns: list[Column], length: int
    ) -> tuple[Integers, Integers]:
        """The rows that other buckets have asked for, and which bucket asked."""
        asked = self.demands.get(demand)
        none = np.empty(0, np.int64)
        if not asked or not length:
            return none, none
        wanted = [joined(own) for own in zip(*(own for own, _ in asked), strict=True)]
        targets = np.concatenate([own for _, own in asked])
        keys = np.zeros(length + len(targets), np.int64)
        for mine, theirs in zip(columns, wanted, strict=True):
            own, count = numbered(joined([mine, theirs]))
            keys, _ = numbered(keys * max(count, 1) + own)
        mine, theirs = keys[:length], keys[length:]
        order = np.argsort(theirs, kind="stable")
        low = np.searchsorted(theirs[order], mine, "left")
        counts = np.searchsorted(theirs[order], mine, "right") - low
        rows = np.repeat(np.arange(length), counts)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, targets[order[places + np.repeat(low, counts)]]
