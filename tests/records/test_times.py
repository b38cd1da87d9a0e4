"""Times of every kind become time-points, and come out as times."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from random import Random

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


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("unit", ["s", "ms"])
def test_times_in_text_are_the_same_in_lines_in_tables_and_one_by_one(seed: int, unit: str) -> None:
    """Usual forms are read together, others one by one; each field by itself is read alike."""
    print("seed", seed)
    random, scale = Random(seed), TimeScale(unit, "Europe/Berlin", rounds=True)
    clocks = [
        f"2026-{random.choice(['03-29', '10-25'])}T{hour:02}:{random.randrange(60):02}:07.5"
        for hour in range(5)
    ]
    more = ["7", " -7 ", "2026-03-29", "2026-W13-7", "20260329T0230", "2026-03-29T02:30+0100",
            "soon", "2026-03-29 02:30:00,25", "99999999999999999999", "2026-13-01", ""]  # fmt: skip
    texts = random.choices([*clocks, *more], k=40)
    together = time_points(pa.chunked_array([texts[:9], texts[9:]]), "t", scale=scale)
    singly = [time_points(pa.chunked_array([[text]]), "t", scale=scale) for text in texts]
    assert together.known.tolist() == [each.known[0] for each in singly]
    points = [int(each.times[0]) for each in singly if each.known[0]]
    assert together.times[together.known].tolist() == points
    large = pa.chunked_array([pa.array(texts, pa.large_string()).dictionary_encode()])
    assert time_points(large, "t", scale=scale).times[together.known].tolist() == points
    program = cernis.load(RULES, time_unit=unit, timezone="Europe/Berlin", round_times=True)
    lines = "".join(f"go|{text}|{text}|{number}\n" for number, text in enumerate(texts))
    table = pa.table({"X": range(len(texts)), "occurrence": texts})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cernis.InputWarning)
        read, expected = program.run(lines), program.run({"go": table})
    assert read.text() == expected.text()
    assert len(read.summary.set_aside) == len(expected.summary.set_aside)


def test_lines_of_text_with_times_too_fine_are_an_error_that_names_the_line() -> None:
    program = cernis.load(RULES)
    lines = "go|2026-03-29T03:00|2026-03-29T03:00|a\ngo|1|2026-03-29T03:00:00.5|b\n"
    with pytest.raises(DataError, match="line:2: .*03:00:00.5 has a fraction of a second"):
        program.run(lines)


def test_numbers_with_fractions_are_too_fine_or_rounded_down() -> None:
    """In a column of floats or decimals, in text and in single records alike."""
    columns = [[-1.5, 3.0], [Decimal("-1.5"), Decimal("3.0")], ["-1.5", "3.0"]]
    program, rounding = cernis.load(RULES), cernis.load(RULES, round_times=True)
    for column in columns:
        table = {"go": pa.table({"X": ["a", "b"], "occurrence": column})}
        rows = [("go", 9, time, name) for time, name in zip(column, "ab", strict=True)]
        for events in (table, rows):
            with pytest.raises(DataError, match=r"-1\.5 is no whole number, .* round_times=True"):
                program.run(events)
        assert rounding.run(table).fluent("on")["start"].to_pylist() == [-1, 4]


def test_times_that_clocks_skip_or_show_twice_are_told() -> None:
    texts = ["2026-03-29T02:30", "2026-10-25T02:30", "2026-10-25T02:45", "2026-10-25T05:00"]
    said: list[str] = []
    read = time_points(pa.chunked_array([texts]), "t", scale=BERLIN, warn=said.append)
    assert read.times.tolist() == [1774747800, 1792888200, 1792889100, 1792900800]
    assert [text[:48] for text in said] == [
        "column t: clocks in Europe/Berlin skip 1 of the ",
        "column t: clocks in Europe/Berlin show 2 of the ",
    ]


def test_times_with_and_without_a_zone_in_one_column_are_told() -> None:
    column, said = pa.chunked_array([["2026-03-29T02:30", "2026-03-29T02:30Z"]]), list[str]()
    time_points(column, "t", warn=said.append)
    assert "1 have none, such as 2026-03-29T02:30: these are taken to be in UTC" in said[0]
    time_points(column, "t", scale=TimeScale(is_zone_said=True), warn=said.append)
    assert len(said) == 1
