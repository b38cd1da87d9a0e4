"""Explains what a run on Spark gave: only the records that a question can reach are collected.

Workers read the input and keep the records of the entities concerned, as rules lead to them from
the question. These come to the driver, where they are evaluated again, within the bounds of the
whole input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cernis.explain.explaining import RunLimits, explain
from cernis.explain.explanation_tree import Explanation
from cernis.explain.questions import read_question
from cernis.explain.reachable_records import reachable
from cernis.records.record_columns import Records
from cernis.records.times import call_time
from cernis.spark.batch.driver_records import collect_records
from cernis.spark.exchange.batch_job import Job

if TYPE_CHECKING:
    from cernis.spark.batch.spark_results import CertainComputation


def explain_on_spark(result: CertainComputation, text: str, time: Any) -> Explanation:
    """Why a pair held in a run on Spark, or why not; or an event."""
    plan, chosen = result.plan, result.job.settings
    question = read_question(text, plan.checked)

    def near(records: Records, job: Job) -> Records:
        return reachable(job.loaded.plan, records, question)

    collected = collect_records(result.source, result.job, near)
    start, end = collected.bounds(result.job)
    limits = RunLimits(chosen.window, chosen.step, start, end, chosen.tick, chosen.ties)
    if time is not None and not isinstance(time, str):
        time = call_time(time, plan.checked.definitions.settings.time)
    return explain(plan, collected.records, text, time, limits, result.times.text)
