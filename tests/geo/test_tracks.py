"""Positions become tracks: cleaned, ordered, cut; and what cannot be used is set aside."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from cernis.errors import DataError
from cernis.geo.events import positions_to_events
from cernis.geo.parameters import Parameters
from cernis.geo.tracks import make_tracks
from tests.geo.tables import events, listed, table, track, wandering

DEFAULTS = Parameters()


def aside(positions: pa.Table) -> list[tuple[object, ...]]:
    found = make_tracks(positions, DEFAULTS)[1]
    return [tuple(row.values()) for row in found.to_pylist()]


def test_rows_are_ordered_by_vessel_and_time() -> None:
    tracks, _ = make_tracks(table([(9, 5, 1.0, 1.0), (3, 7, 1.0, 1.0), (9, 2, 1.0, 1.0)]), DEFAULTS)
    assert tracks.names(np.arange(3)).to_pylist() == [3, 9, 9]
    assert tracks.time.tolist() == [7, 2, 5]
    assert tracks.first.tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_positions_does_not_matter(seed: int) -> None:
    print(f"seed {seed}")
    positions = wandering(seed, 12, 80)
    twice = pa.concat_tables([positions, positions.slice(0, 50)])
    order = np.random.default_rng(seed).permutation(len(twice))
    first, second = (positions_to_events(own) for own in (twice, twice.take(pa.array(order))))
    assert listed(first) == listed(second)
    assert first.set_aside.equals(second.set_aside)
    assert {"repeated"} <= set(first.set_aside["reason"].to_pylist())


def test_what_is_incomplete_or_off_the_map_is_set_aside() -> None:
    rows = [(1, 1, 0.0, 0.0), (1, None, 0.0, 0.0), (None, 2, 0.0, 0.0), (1, 3, None, 0.0)]
    rows += [(1, 4, 0.0, float("nan")), (1, 5, 181.0, 0.0), (1, 6, 0.0, -90.5)]
    assert aside(table(rows)) == [
        (1, None, "incomplete"), (None, 2, "incomplete"), (1, 3, "incomplete"),
        (1, 4, "incomplete"), (1, 5, "off the map"), (1, 6, "off the map"),
    ]  # fmt: skip


def test_of_two_positions_at_one_time_the_western_one_is_kept() -> None:
    rows = [(1, 1, 2.0, 0.0), (1, 1, 1.0, 0.5), (1, 2, 1.0, 0.5)]
    for given in (rows, rows[::-1]):
        tracks, left = make_tracks(table(given), Parameters(jump_speed=1e9))
        assert tracks.lon.tolist() == [1.0, 1.0]
        assert left["reason"].to_pylist() == ["repeated"]


def test_a_jump_is_set_aside_and_a_move_is_not() -> None:
    way = [0.0, 0.001, 0.8, 0.003, 0.004]
    rows = [(1, 60 * at, lon, 0.0) for at, lon in enumerate(way)]
    assert aside(table(rows)) == [(1, 120, "jump")]
    moved = [(1, 60 * at, lon, 0.0) for at, lon in enumerate([0.0, 0.001, 0.8, 0.801])]
    assert aside(table(moved)) == []
    others = [(at, 60 * at, lon, 0.0) for at, lon in enumerate(way)]
    assert aside(table(others)) == []


def test_silence_longer_than_the_gap_period_cuts() -> None:
    rows = [(1, time, 0.0, 0.0) for time in (0, 1800, 3601)]
    assert make_tracks(table(rows), DEFAULTS)[0].first.tolist() == [True, False, True]


def test_speed_and_course_are_derived_where_they_are_not_given() -> None:
    given = track([12.0] * 4, course=90.0)
    bare = given.select(["vessel", "t", "lon", "lat"])
    tracks, _ = make_tracks(bare, DEFAULTS)
    assert np.allclose(tracks.speed, 12.0, atol=1e-3)
    assert np.allclose(tracks.course, 90.0)
    assert tracks.heading.tolist() == [511] * 4
    one, _ = make_tracks(bare.slice(0, 1), DEFAULTS)
    assert np.isnan(one.speed).all()
    assert np.isnan(one.course).all()
    assert "velocity" not in events(bare.slice(0, 1))


def test_what_ais_says_when_it_does_not_know_is_not_known() -> None:
    rows = [(1, 60 * at, 0.0, 0.002 * at, 102.3, 360.0, 511) for at in range(3)]
    tracks, _ = make_tracks(table(rows), DEFAULTS)
    assert np.allclose(tracks.speed, 7.2, atol=0.1)
    assert tracks.course.tolist() == [0.0] * 3
    whole, _ = make_tracks(table([(1, 1, 0.0, 0.0, 1.0, 1.0, 359.6)]), DEFAULTS)
    assert whole.heading.tolist() == [0]


def test_vessels_may_be_text_and_times_dates() -> None:
    at = dt.datetime(1970, 1, 1, 0, 1, 0, 900_000)
    for times in (pa.array([at]), pa.array([at], pa.timestamp("us", "UTC"))):
        positions = pa.table({"vessel": ["b"], "t": times, "lon": [0.0], "lat": [0.0]})
        tracks, _ = make_tracks(positions, DEFAULTS)
        assert tracks.time.tolist() == [60]
        assert tracks.names(np.array([0])).to_pylist() == ["b"]
    coded = pa.table({"vessel": pa.array(["b"]).dictionary_encode(), "t": [1], "lon": [0.0],
                      "lat": [0.0]})  # fmt: skip
    assert make_tracks(coded, DEFAULTS)[0].vessels.to_pylist() == ["b"]


def test_no_positions_give_empty_tables() -> None:
    empty = track([1.0]).slice(0, 0)
    found = positions_to_events(empty, Parameters(until=10, velocity_every=60))
    assert len(found.relations) == 13
    assert {len(own) for own in found.relations.values()} == {0}
    assert found.relations["velocity"].column_names == [
        "occurrence", "vessel", "speed", "course", "heading",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (pa.table({"vessel": [1], "time": [1], "lon": [0.0]}), "no column t, lat; the columns are"),
        (pa.table({"vessel": [1.5], "t": [1], "lon": [0.0], "lat": [0.0]}), "vessels must be"),
        (pa.table({"vessel": [1], "t": [0.5], "lon": [0.0], "lat": [0.0]}), "times must be"),
    ],
)
def test_a_table_that_is_none_of_positions(positions: pa.Table, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_tracks(positions, DEFAULTS)


@pytest.mark.parametrize(
    ("name", "setting"),
    [("gap_period", 0), ("stop_speed", -1.0), ("proximity_step", 0), ("slow_speed", 0.1),
     ("turn_angle", float("nan"))],
)  # fmt: skip
def test_a_setting_that_means_nothing(name: str, setting: float) -> None:
    with pytest.raises(DataError, match=name):
        Parameters(**{name: setting})
