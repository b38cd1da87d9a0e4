"""The plan that is sent to Spark's workers: its naive times are in a zone."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pyarrow as pa

from cernis.session.settings import Settings
from cernis.spark import recognise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

import cernis
from cernis.spark.exchange.batch_job import job_of, plan_in_zone

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


def test_a_plan_is_packed_once_unless_it_has_functions() -> None:
    plan = cernis.load(RULES).plan
    assert job_of(plan, Settings(), 2).plan is job_of(plan, Settings(window=5), 3).plan
    rules = "initiatedAt(on(X)=true, T) :- happensAt(start(X, N), T), far(N) > 3."

    def far(n: float) -> float:
        return 2 * n

    with_function = cernis.load(rules, functions={"far": far}).plan
    packed = [job_of(with_function, Settings(), 2).plan for _ in range(2)]
    assert packed[0] is not packed[1]


def test_a_job_travels_with_its_packed_plan_alone() -> None:
    job = job_of(cernis.load(RULES).plan, Settings(), 2)
    assert job.loaded is job.here
    there = pickle.loads(pickle.dumps(job))
    assert there.here is None
    assert there.plan == job.plan
    assert there.loaded is there.loaded
    assert there.loaded.plan.fingerprint == job.loaded.plan.fingerprint


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
