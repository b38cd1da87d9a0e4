"""Cases on Spark: some in batches, few as streams. `python -m tests.matrix --spark` runs all.

The steps of a batch and of a stream run on every case without Spark, in `tests/spark/batch` and in
the matrix, so a part is enough here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.matrix import CASES, answered, spark_batches, spark_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::cernis.InputWarning"),
    pytest.mark.filterwarnings("ignore:.*C070"),
    pytest.mark.filterwarnings("ignore:stage .*one component"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EVERY = 6
"""One case in so many is run in a batch: some of every large family."""

STREAMS = ("window_cycle_late", "window_join", "window_retraction", "window_delays_postponed")


def test_batches_say_what_runs_say(spark: SparkSession, tmp_path: Path) -> None:
    every = [answered(name, False) for name in [*CASES][::EVERY]]
    cases = [case for case in every if case is not None]
    differing = {
        case.case.name: told for case, told in spark_batches(cases, spark, tmp_path) if told
    }
    assert differing == {}
    assert len(cases) > 30


@pytest.mark.parametrize("name", STREAMS)
def test_streams_add_up_to_the_answers_of_runs(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    case = answered(name, "window" not in CASES[name].settings)
    assert case is not None
    assert spark_stream(case, spark, tmp_path) == ""
