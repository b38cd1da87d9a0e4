"""The plan that is sent to Spark's workers: its naive times are in a zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from cernis.spark import recognise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

import cernis
from cernis.spark.exchange.batch_job import plan_in_zone

RULES = "initiatedAt(on(X)=true, T) :- happensAt(start(X), T).\n"


def test_a_session_says_the_zone_of_a_program_that_says_none() -> None:
    plan = cernis.load(RULES).plan
    zoned = plan_in_zone(plan, "Europe/Athens")
    assert zoned.checked.definitions.settings.time.zone == "Europe/Athens"
    assert zoned.fingerprint != plan.fingerprint
    assert plan_in_zone(plan, "UTC") is plan


def test_a_program_and_its_caller_know_their_zone_better() -> None:
    for program in (
        cernis.load(":- time(zone('UTC')).\n" + RULES), cernis.load(RULES, timezone="UTC")
    ):  # fmt: skip
        assert plan_in_zone(program.plan, "Europe/Athens") is program.plan


def test_functions_of_a_caller_travel_to_the_workers(spark: SparkSession) -> None:
    factor = 2.0

    def risk(pulse: float, oxygen: float) -> float:
        return factor * pulse / oxygen

    rules = "initiatedAt(ill(B)=true, T) :- happensAt(vital(B, P, O), T), risk(P, O) > 3."
    program = cernis.load(rules, functions={"risk": risk})
    columns = {"occurrence": [1, 2], "B": ["a", "b"], "P": [120.0, 170.0], "O": [85.0] * 2}
    frame = spark.createDataFrame(pa.table(columns).to_pandas())
    found = recognise(program, {"vital": frame}).intervals.collect()
    assert [row.args for row in found] == [["b"]]
