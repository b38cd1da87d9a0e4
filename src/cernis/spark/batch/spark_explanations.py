"""Explains what a run on Spark gave: only the records that a question can reach are collected.

Workers read the input and keep the records of the entities concerned, as rules lead to them from
the question. These come to the driver, where they are evaluated again, within the bounds of the
whole input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from cernis.explain.explaining import RunLimits, explain
from cernis.explain.explanation_tree import Explanation
from cernis.explain.questions import Question, read_question
from cernis.explain.reachable_records import reachable
from cernis.records.record_columns import (
    INFINITE,
    RecordColumns,
    RecordForm,
    Records,
    one_below_the_other,
)
from cernis.records.retractions import resolve
from cernis.records.times import call_time
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import loads, packed_records, unpacked_records
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row

if TYPE_CHECKING:
    from cernis.spark.batch.spark_results import CertainComputation

Collected: TypeAlias = tuple[list[Any], int | None, int | None, bool]
"""Packed records, the first and the last time of all that were read, and whether any was a date."""


def explain_on_spark(result: CertainComputation, text: str, time: Any) -> Explanation:
    """Why a pair held in a run on Spark, or why not; or an event."""
    plan, chosen = result.plan, result.job.settings
    question = read_question(text, plan.checked)

    def pick(records: Records, job: Job) -> Iterator[Row]:
        yield Row(0, LAST, Kind.RECORDS, _picked(records, job, question))

    rows = result.source.packed(result.job, pick).select("kind", "blob").toArrow()
    collected = list(_contents(rows))
    firsts = [first for _, first, _, _ in collected if first is not None]
    lasts = [last for _, _, last, _ in collected if last is not None]
    parts = [unpacked_records(each) for content, _, _, _ in collected for each in content]
    dated = any(is_dated for _, _, _, is_dated in collected)
    records = _together(parts)
    records.sources, records.dated = result.source.places, dated and not chosen.epoch
    tick = result.job.tick
    start = chosen.start if chosen.start is not None else min(firsts, default=tick) - tick
    end = chosen.end if chosen.end is not None else max(lasts, default=start)
    limits = RunLimits(chosen.window, chosen.step, start, end, chosen.tick, chosen.ties)
    if time is not None and not isinstance(time, str):
        time = call_time(time, plan.checked.definitions.settings.time)
    return explain(plan, records, text, time, limits, result.times.text)


def _picked(records: Records, job: Job, question: Question) -> Collected:
    """Of the records that a task has read, those that a question can reach."""
    near = reachable(job.loaded.plan, records, question)
    parts = [packed_records(part) for part in near.relations.values()]
    return parts, records.first, records.last(job.tick), records.dated


def _contents(rows: pa.Table) -> Iterator[Collected]:
    for kind, blob in zip(
        rows.column("kind").to_pylist(), rows.column("blob").to_pylist(), strict=True
    ):
        if kind == Kind.RECORDS:
            yield loads(blob)


def _together(parts: Iterable[RecordColumns]) -> Records:
    """Records from many tasks, without those that were taken back."""
    by_form: dict[RecordForm, list[RecordColumns]] = {}
    for part in parts:
        by_form.setdefault(part.form, []).append(part)
    relations: dict[RecordForm, RecordColumns] = {}
    for form, own in by_form.items():
        part, _ = resolve(one_below_the_other(own))
        if part.retracts is not None:
            kept = ~part.retracts
            kept &= True if part.gone is None else part.gone == INFINITE
            part = replace(part.take(kept), retracts=None, gone=None)
        relations[form] = part.take(np.argsort(part.places, kind="stable"))
    return Records(relations, count=sum(map(len, relations.values())))
