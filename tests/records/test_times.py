"""Times of every kind become time-points, and come out as times."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import cernis
from cernis.answers.time_output import TimeOutput
from cernis.check.rewrites.time_literals import ChosenTime
from cernis.errors import DataError
from cernis.records.time_columns import time_points
from cernis.records.times import call_time, time_point
from cernis.syntax.time_scale import TimeScale

RULES = "initiatedAt(on(X)=true, T) :- happensAt(go(X), T).\n"
BERLIN = TimeScale(zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2026-03-29T02:30", 1774747800), ("2026-10-25T02:30", 1792888200),
     ("2024-02-29T00:00", 1709161200), ("1969-12-31T23:00", -7200),
     ("2026-03-29T02:30Z", 1774751400)],
)  # fmt: skip
def test_skipped_doubled_leap_and_negative_times_are_read_alike(text: str, seconds: int) -> None:
    assert time_point(text, BERLIN) == seconds
    assert time_points(pa.chunked_array([[text]]), "t", scale=BERLIN).times.tolist() == [seconds]
    if not text.endswith("Z"):
        column = pa.chunked_array([pa.array([datetime.datetime.fromisoformat(text)])])
        assert time_points(column, "t", scale=BERLIN).times.tolist() == [seconds]


def test_what_a_unit_cannot_hold_is_far_away_or_an_error() -> None:
    column = pa.chunked_array([pa.array([2**50, None], pa.timestamp("s"))])
    far = time_points(column, "t", scale=TimeScale("ns"))
    assert far.times[0] > 1 << 62
    assert far.known.tolist() == [True, False]
    fine = pa.chunked_array([pa.array([-1], pa.timestamp("ms"))])
    with pytest.raises(DataError, match="fraction of a second"):
        time_points(fine, "t")
    assert time_points(fine, "t", scale=TimeScale(rounds=True)).times.tolist() == [-1]
    with pytest.raises(DataError, match="epoch=True"):
        TimeOutput(dated=True).texts(np.array([1 << 61]))


def test_timestamps_come_out_as_timestamps_and_numbers_as_numbers() -> None:
    program = cernis.load(":- time(unit(ms)).\n" + RULES)
    events = [("go", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.5Z", "a")]
    result = program.run(events)
    assert result.intervals.schema.field("start").type == pa.timestamp("us", "UTC")
    assert result.text() == "holdsFor(on(a)=true, [(2026-01-01T00:00:00.501Z,inf)]).\n"
    assert len(result.holds_at(np.datetime64("2026-01-02"))) == 1
    assert (
        program.run(events, epoch=True).text() == "holdsFor(on(a)=true, [(1767225600501,inf)]).\n"
    )
    assert program.run([("go", 1, 1, "a")]).intervals["start"].to_pylist() == [2]
    session = program.session(window="1h")
    session.insert(events)
    changes = session.query(datetime.datetime(2026, 1, 1, 0, 0, 1))
    assert changes.table().schema.field("query_time").type == pa.timestamp("us", "UTC")


def test_durations_count_in_the_unit() -> None:
    rules = RULES + "fi(on(X)=true, on(X)=false, 2s).\n"
    program = cernis.load(rules, time_unit="ms")
    assert "(1,2001)" in program.run([("go", 0, 0, "a")], end=3000, start=-1).text()


def test_bad_zones_units_and_times_are_named() -> None:
    with pytest.raises(DataError, match="no time zone 'Mars'"):
        ChosenTime(zone="Mars").over(TimeScale())
    with pytest.raises(DataError, match="s, ms, us or ns"):
        cernis.load(RULES, time_unit="min")
    with pytest.raises(cernis.ProgramError):
        cernis.load(":- time(unit(min)).\n" + RULES)
    with pytest.raises(DataError, match="whole number, or a time"):
        call_time("soon", TimeScale())
