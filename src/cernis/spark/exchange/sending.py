"""Sending: records and the output of a step go to the buckets of later steps that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.plan.properties.routes import Delivery, Demand, Way
from cernis.records.record_columns import Column, RecordColumns, joined
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.blobs import packed_records
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.exchange_rows import FIRST, Kind, Row
from cernis.spark.exchange.inbox import DemandedKeys
from cernis.spark.exchange.pack import (
    MOST_ROWS,
    Piece,
    arguments_at,
    by_bucket,
    first_of,
    row_keys,
    to_all,
)
from cernis.spark.exchange.stage_output import StageOutput

Demanded: TypeAlias = Callable[[Demand, list[Column], int], tuple[Integers, Integers]]
"""From the values at a demand's positions: the rows that are demanded, and by which buckets."""


def targets_of(
    delivery: Delivery, columns: list[Column], length: int, buckets: int, demanded: Demanded,
    placed: Callable[[int], Integers] | None = None,
) -> tuple[Integers, Integers]:  # fmt: skip
    """The numbers of rows and, beside them, the buckets they go to; each pair is there once.

    A row goes to one bucket for each link of the delivery. `placed` is called with the number of
    the link and gives the buckets of all rows; without it, they go by the hash of their values.
    """
    if delivery.way is Way.ONE:
        return np.arange(length), np.zeros(length, np.int64)
    if delivery.way is Way.EVERYWHERE:
        return np.repeat(np.arange(length), buckets), np.tile(np.arange(buckets), length)
    pairs = []
    for number, link in enumerate(delivery.links):
        values = [columns[position] for position in link]
        target = Spread(buckets).of(values, length) if placed is None else placed(number)
        pairs.append(np.arange(length) * buckets + target)
    for demand, positions in delivery.demands:
        rows, targets = demanded(demand, [columns[position] for position in positions], length)
        pairs.append(rows * buckets + targets)
    chosen = pairs[0] if len(pairs) == 1 and not delivery.demands else None
    chosen = np.unique(np.concatenate(pairs)) if chosen is None else chosen
    return chosen // buckets, chosen % buckets


def equal_rows(
    columns: list[Column], length: int, wanted: list[Column], targets: Integers
) -> tuple[Integers, Integers]:
    """The numbers of rows that equal a wanted row, each with the target of that wanted row.

    A row that equals several wanted rows is there once for each of them.
    """
    if not length or not len(targets):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    both = zip(columns, wanted, strict=True)
    stacked = [joined([mine, theirs]) for mine, theirs in both]
    keys = row_keys(stacked, length + len(targets))
    mine, theirs = keys[:length], keys[length:]
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], mine, "left")
    counts = np.searchsorted(theirs[order], mine, "right") - low
    rows = np.repeat(np.arange(length), counts)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, targets[order[places + np.repeat(low, counts)]]


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends rows on to the buckets that demand them, or to those of their keys."""

    job: Job
    demands: DemandedKeys

    def records(self, part: RecordColumns) -> Iterator[Row]:
        """Records of one form, to all later steps that read them."""
        for delivery in self.job.loaded.plan.routes.onward.get(part.form.relation, ()):
            for bucket, _, piece in self._spread(part, delivery):
                content = [packed_records(piece)]
                yield Row(bucket, delivery.step, Kind.RESOLVED, content, first_of(piece))

    def stage_output(self, output: StageOutput, since: int = FIRST) -> Iterator[Row]:
        """The output of a step for one relation, to all later steps that read it.

        `since` is the time of the first query that it belongs to.
        """
        for delivery in self.job.loaded.plan.routes.onward.get(output.relation, ()):
            rows, targets = self._targets(output.columns, len(output), delivery)
            for bucket in np.unique(targets).tolist():
                chosen = rows[targets == bucket]
                for low in range(0, len(chosen), MOST_ROWS):
                    part = output.take(chosen[low : low + MOST_ROWS])
                    yield Row(bucket, delivery.step, Kind.FOUND, part.packed(), since)

    def survey(self, bucket: int, step: int, survey: Survey) -> Iterator[Row]:
        """Send the survey on to the same bucket of the following step, if there is one."""
        steps = self.job.loaded.plan.routes.steps
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
            values = [arguments[position] for position in delivery.links[number]]
            kinds = delivery.kinds[number : number + 1]
            return self.job.placed(delivery.step, values, length, kinds)

        return targets_of(delivery, arguments, length, self.job.buckets, self._demanded, placed)

    def _demanded(
        self, demand: Demand, columns: list[Column], length: int
    ) -> tuple[Integers, Integers]:
        """The numbers of rows that are demanded, and the bucket that demands each."""
        demanded = self.demands.get(demand)
        if not demanded:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        wanted = [joined(parts) for parts in zip(*(keys for keys, _ in demanded), strict=True)]
        targets = np.concatenate([buckets for _, buckets in demanded])
        return equal_rows(columns, length, wanted, targets)
