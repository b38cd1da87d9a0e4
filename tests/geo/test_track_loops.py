"""The compiled loops equal their twins in plain Python."""

import numpy as np
import pytest

from cernis.geo import track_loops as loops
from cernis.geo.nearby import list_near, list_near_plain
from cernis.geo.sphere import METRES_A_DEGREE

SEEDS = range(40)


def drawn(seed: int) -> tuple[np.random.Generator, int, np.ndarray]:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 60))
    first = rng.random(count) < 0.15
    first[:1] = True
    return rng, count, first


def places(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes about the date line, and latitudes, of a random walk of about a hundred metres."""
    walk = rng.normal(0, 100 / METRES_A_DEGREE, (2, count)).cumsum(axis=1)
    return (walk[0] + 180.0 + 180.0) % 360.0 - 180.0, walk[1] + 50.0


@pytest.mark.parametrize("seed", SEEDS)
def test_stops(seed: int) -> None:
    rng, count, first = drawn(seed)
    lon, lat = places(rng, count)
    speed = rng.choice([0.0, 0.3, 0.5, 2.0, 5.0, 9.0], count, p=[0.3, 0.2, 0.1, 0.2, 0.1, 0.1])
    found, plain = np.zeros((2, count), np.bool_)
    for mark, function in ((found, loops.stops), (plain, loops.stops_plain)):
        function(first, speed, lon, lat, 0.5, 5.0, 200.0, 3, mark)
    assert found.tolist() == plain.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_speed_changes(seed: int) -> None:
    rng, count, first = drawn(seed)
    speed = np.abs(rng.normal(5, 3, count)).round(1)
    speed[rng.random(count) < 0.1] = np.nan
    found, plain = np.zeros((2, count), np.bool_)
    for mark, function in ((found, loops.speed_changes), (plain, loops.speed_changes_plain)):
        function(first, speed, 0.5, 0.25, 4, mark)
    assert found.tolist() == plain.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_turns(seed: int) -> None:
    rng, count, first = drawn(seed)
    course = rng.normal(0, 8, count).cumsum() % 360
    idle = rng.random(count) < 0.2
    found, plain = np.zeros((2, count), np.bool_)
    for mark, function in ((found, loops.turns), (plain, loops.turns_plain)):
        function(first, idle, course, 15.0, mark)
    assert found.tolist() == plain.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_thinned(seed: int) -> None:
    rng, count, first = drawn(seed)
    time = rng.integers(1, 50, count).cumsum()
    critical = rng.random(count) < 0.1
    found, plain = np.zeros((2, count), np.bool_)
    for mark, function in ((found, loops.thinned), (plain, loops.thinned_plain)):
        function(first, time, critical, 100, mark)
    assert found.tolist() == plain.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_jumps(seed: int) -> None:
    rng, count, first = drawn(seed)
    lon, lat = places(rng, count)
    lat = np.where(rng.random(count) < 0.1, lat + 0.2, lat)
    time = rng.integers(1, 50, count).cumsum()
    found, plain = np.zeros((2, count), np.bool_)
    for mark, function in ((found, loops.jumps), (plain, loops.jumps_plain)):
        function(np.cumsum(first), time, lon, lat, 30.0, mark)
    assert found.tolist() == plain.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_near(seed: int) -> None:
    rng, count, _ = drawn(seed)
    columns, distance = 9, 1000.0
    side = distance / METRES_A_DEGREE
    lon, lat = rng.uniform(side, 6 * side, count), rng.uniform(0, 5 * side, count)
    time = rng.integers(0, 2, count)
    cell = (time * 8 + np.floor(lat / side)) * columns + np.floor(lon / side)
    order = np.argsort(cell)
    given = cell[order].astype(np.int64), lon[order], lat[order], columns, distance
    one, other = np.empty(count * count, np.int64), np.empty(count * count, np.int64)
    total = list_near(*given, one, other)
    found = list(zip(one[:total].tolist(), other[:total].tolist(), strict=True))
    assert len(set(found)) == len(found)
    assert set(found) == list_near_plain(*given)
    short = np.empty(0, np.int64)
    assert list_near(*given, short, short.copy()) == total
