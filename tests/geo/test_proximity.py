"""Proximity: the buckets lose no pair, and invent none."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
import shapely

from cernis.errors import DataError
from cernis.geo.areas import Areas
from cernis.geo.parameters import Parameters
from cernis.geo.proximity import NearbyPairs, joined
from cernis.geo.sphere import METRES_A_DEGREE
from tests.geo.tables import events, table, wandering

Interval = tuple[int, int, str, object, object]


def by_looking_at_all(positions: pa.Table, distance: float, step: int) -> list[Interval]:
    """Each pair at each slot, by interpolation, without any of the code of the engine."""
    spots: dict[int, dict[int, tuple[float, float]]] = {}
    rows = sorted(
        {(row["vessel"], row["t"], row["lon"], row["lat"]) for row in positions.to_pylist()}
    )
    for before, after in itertools.pairwise([*rows, (-1, 0, 0.0, 0.0)]):
        linked = before[0] == after[0] and after[1] - before[1] <= 1800
        end = after[1] if linked else before[1] + 1
        for time in range(-(-before[1] // step) * step, end, step):
            share = (time - before[1]) / (after[1] - before[1]) if linked else 0.0
            lon, lat = (before[at] + share * (after[at] - before[at]) for at in (2, 3))
            spots.setdefault(time, {})[before[0]] = lon, lat
    near: dict[tuple[int, int], list[int]] = {}
    for time, places in sorted(spots.items()):
        for one, other in itertools.combinations(sorted(places), 2):
            (lon1, lat1), (lon2, lat2) = places[one], places[other]
            east = (lon2 - lon1) * np.cos(np.radians((lat1 + lat2) / 2))
            if np.hypot(east, lat2 - lat1) * METRES_A_DEGREE <= distance:
                near.setdefault((one, other), []).append(time)
    found = []
    for pair, times in near.items():
        starts = [time for time in times if time - step not in times]
        ends = [time + step for time in times if time + step not in times]
        found += [(*own, "true", *pair) for own in zip(starts, ends, strict=True)]
    return sorted(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_buckets_find_what_looking_at_all_finds(seed: int) -> None:
    print(f"seed {seed}")
    positions = wandering(seed, 25, 40)
    found = events(positions, proximity_distance=1500.0, proximity_step=45, jump_speed=1e9)
    expected = by_looking_at_all(positions, 1500.0, 45)
    assert len(expected) > 50
    assert sorted(found["proximity"]) == expected


def moored(vessel: object, lon: float, lat: float, times: range = range(0, 601, 60)) -> list:
    return [(vessel, time, lon, lat, 0.0, 0.0, 511) for time in times]


def test_two_that_lie_near_each_other() -> None:
    near = 200 / METRES_A_DEGREE
    found = events(table(moored(7, 0.0, 0.0) + moored(3, 0.0, near)))
    assert found["proximity"] == [(0, 660, "true", 3, 7)]
    assert "proximity" not in events(table(moored(7, 0.0, 0.0) + moored(3, 0.0, 1.3 * near)))


def test_a_small_distance_over_the_whole_earth() -> None:
    """Far apart in space and time, cells have large numbers."""
    far = [
        (v, t, lon, lat) for v, lon, lat in ((1, -179.0, -80.0), (2, 179.0, 80.0)) for t in (0, 9)
    ]
    late = [(v, 10**9 + t, 0.0, 0.0) for v in (3, 4) for t in (0, 9)]
    found = events(table(far + late), proximity_distance=1.0, proximity_step=10)
    assert found["proximity"] == [(10**9, 10**9 + 10, "true", 3, 4)]


def test_pairs_of_names_are_in_the_order_of_text() -> None:
    found = events(table(moored("b", 0.0, 0.0) + moored("a10", 0.0, 0.0) + moored("a9", 0.0, 0.0)))
    assert [row[3:] for row in found["proximity"]] == [("a10", "a9"), ("a10", "b"), ("a9", "b")]


@pytest.mark.parametrize("latitude", [0.0, 70.0, -88.0])
def test_across_the_date_line_and_far_north(latitude: float) -> None:
    width = 100 / METRES_A_DEGREE / np.cos(np.radians(latitude))
    pair = moored(1, 180.0 - width, latitude) + moored(2, -180.0 + width, latitude)
    third = moored(3, -180.0 + 1.3 * width, latitude)
    found = events(table(pair + third))
    assert [row[3:] for row in found["proximity"]] == [(1, 2), (1, 3), (2, 3)]
    assert {row[:2] for row in found["proximity"]} == {(0, 660)}


def test_a_track_is_sampled_from_its_first_position_to_its_last() -> None:
    both = moored(1, 0.0, 0.0, range(30, 200, 40)) + moored(2, 0.0, 0.0, range(0, 900, 40))
    assert events(table(both))["proximity"] == [(60, 240, "true", 1, 2)]


def test_nothing_is_sampled_in_a_gap() -> None:
    times = [*range(0, 300, 60), *range(9_000, 9_300, 60)]
    rows = [(v, t, 0.0, 0.0, 0.0, 0.0, 511) for v in (1, 2) for t in times]
    assert [row[:2] for row in events(table(rows))["proximity"]] == [(0, 300), (9_000, 9_300)]


def test_short_breaks_are_bridged() -> None:
    apart = [0.0] * 4 + [0.01] * 2 + [0.0] * 5
    moving = [(2, 60 * at, lon, 0.0, 0.0, 0.0, 511) for at, lon in enumerate(apart)]
    rows = table(moored(1, 0.0, 0.0) + moving)
    assert [row[:2] for row in events(rows)["proximity"]] == [(0, 240), (360, 660)]
    assert [row[:2] for row in events(rows, proximity_bridge=120)["proximity"]] == [(0, 660)]
    assert len(events(rows, proximity_bridge=119)["proximity"]) == 2


def test_no_proximity_in_excepted_areas() -> None:
    rows = table(moored(1, 0.0, 0.0) + moored(2, 0.0, 0.001))
    ports = Areas({"port": shapely.box(-0.01, -0.01, 0.01, 0.01), "sea": shapely.box(1, 1, 2, 2)})
    assert "proximity" in events(rows, ports, proximity_except=("sea",))
    assert "proximity" not in events(rows, ports, proximity_except=("port",))
    with pytest.raises(DataError, match="not there: harbour; there are port, sea"):
        events(rows, ports, proximity_except=("harbour",))


@pytest.mark.parametrize("seed", range(10))
def test_joined_intervals_are_maximal(seed: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    count, bridge = 40, int(rng.integers(0, 4))
    vessel1, vessel2 = rng.integers(0, 2, count), rng.integers(2, 4, count)
    start = rng.integers(-50, 50, count)
    pairs = NearbyPairs(vessel1, vessel2, start, start + rng.integers(1, 6, count))
    found = joined(pairs, Parameters(proximity_bridge=bridge))
    for one, other in itertools.product((0, 1), (2, 3)):
        points: set[int] = set()
        for row in np.flatnonzero((vessel1 == one) & (vessel2 == other)).tolist():
            points |= set(range(pairs.start[row], pairs.end[row]))
        for point in sorted(points):
            following = [own for own in range(point + 1, point + bridge + 2) if own in points]
            points |= set(range(point, min(following, default=point)))
        rows = np.flatnonzero((found.vessel1 == one) & (found.vessel2 == other))
        covered = [set(range(found.start[row], found.end[row])) for row in rows.tolist()]
        assert set().union(*covered) == points
        assert sum(map(len, covered)) == len(points)
        assert (found.start[rows][1:] > found.end[rows][:-1] + bridge).all()
