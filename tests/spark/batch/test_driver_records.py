"""Records that came to the driver: between which points the run over all of them lies."""

from __future__ import annotations

from typing import Any

import pytest

import cernis
from cernis.records.record_columns import Records
from cernis.session.settings import settings
from cernis.spark.batch.driver_records import DriverRecords
from cernis.spark.exchange.batch_job import job_of


@pytest.mark.parametrize(
    ("first", "last", "chosen", "bounds"),
    [
        (3, 9, {}, (2, 9)),
        (3, 9, {"start": 5, "end": 7}, (5, 7)),
        (None, None, {}, (0, 0)),
        (None, None, {"start": 4}, (4, 4)),
    ],
)
def test_the_bounds_are_those_of_the_whole_input(
    first: int | None, last: int | None, chosen: dict[str, Any], bounds: tuple[int, int]
) -> None:
    plan = cernis.load("initiatedAt(on(X)=true, T) :- happensAt(up(X), T).").plan
    job = job_of(plan, settings(**chosen), 1)
    assert DriverRecords(Records(), first, last).bounds(job) == bounds
