"""What can be sent to Spark's workers."""

from __future__ import annotations

import pytest

import cernis
from cernis.errors import UnsupportedError
from cernis.session.settings import settings
from cernis.spark.exchange.batch_job import job_of

RULES = "initiatedAt(on(X)=true, T) :- happensAt(start(X), T).\n"


def test_a_program_that_counts_in_milliseconds_is_refused_with_the_way_out() -> None:
    """Lengths such as `2h` would be taken for seconds there."""
    program = cernis.load(":- time(unit(ms)).\n" + RULES)
    with pytest.raises(UnsupportedError, match="counts in ms: run it in this process"):
        job_of(program.plan, settings("2h"), 1)


def test_a_program_that_counts_in_seconds_is_sent() -> None:
    program = cernis.load(":- time(unit(s)).\n" + RULES)
    assert job_of(program.plan, settings("2h"), 3).buckets == 3
