"""Areas: the grid tells the same as geometry alone, and vessels enter and leave on time."""

import json
from pathlib import Path

import numpy as np
import pytest
import shapely

import cernis
from cernis.errors import DataError
from cernis.geo.areas import Areas, make_index, read_areas
from tests.geo.tables import events, table, track

BOX = shapely.box(-1.0, 0.005, 1.0, 0.011)


def polygons(rng: np.random.Generator, count: int) -> list[object]:
    """Stars, some with a hole, some of two parts, some empty."""
    found = []
    for _ in range(count):
        x, y = rng.uniform(-1, 1, 2)
        angles = np.sort(rng.uniform(0, 2 * np.pi, 9))
        rays = rng.uniform(0.02, 0.5, 9)
        star = shapely.Polygon(np.c_[x + rays * np.cos(angles), y + rays * np.sin(angles)])
        star = shapely.make_valid(star).buffer(0)
        choice = rng.integers(0, 4)
        if choice == 1:
            star = star.difference(shapely.Point(x, y).buffer(0.1))
        elif choice == 2:
            star = star.union(shapely.box(x + 1, y, x + 1.1, y + 0.2))
        found.append(star)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_grid_tells_the_same_as_geometry(seed: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    shapes = polygons(rng, 6)
    count = 3_000
    lon, lat = rng.normal(0, 0.05, (2, count)).cumsum(axis=1) % 2.4 - 1.2
    first = rng.random(count) < 0.01
    first[0] = True
    index = make_index(shapes, float(rng.choice([0.02, 0.1, 0.7])))
    stays = index.stays(lon, lat, first)
    for number, shape in enumerate(shapes):
        inside = np.zeros(count, np.bool_)
        own = stays.area == number
        for start, stop in zip(stays.start[own], stays.stop[own], strict=True):
            inside[start:stop] = True
            assert not first[start + 1 : stop].any()
        assert inside.tolist() == shapely.intersects_xy(shape, lon, lat).tolist()
        starts, stops = stays.start[own], stays.stop[own]
        touching = starts[1:] == stops[:-1]
        assert first[starts[1:][touching]].all()


def test_most_cells_of_a_large_area_need_no_geometry() -> None:
    index = make_index([shapely.Point(0, 0).buffer(2.0)], 0.02)
    assert index.covers.sum() > 0.9 * len(index.cell)
    assert not index.covers.all()


def test_cells_grow_with_the_areas() -> None:
    assert make_index([shapely.box(0, 0, 1, 1)]).side == 0.02
    assert make_index([shapely.box(-180, -90, 180, 90)]).side > 0.1


def test_a_vessel_is_within_from_the_first_position_inside_to_the_first_outside() -> None:
    """Positions are at 60 s, some 300 m apart; the area reaches over a few of them."""
    found = events(track([10.0] * 8), Areas({"a": BOX}))
    latitudes = track([10.0] * 8)["lat"].to_numpy()
    inside = 60 * np.flatnonzero((latitudes >= 0.005) & (latitudes <= 0.011))
    assert 2 <= len(inside) <= 4
    assert found["entersArea"] == [(inside[0] - 1, 1, "a")]
    assert found["leavesArea"] == [(inside[-1] + 60 - 1, 1, "a")]


def test_the_first_position_enters_and_a_gap_does_not_leave() -> None:
    rows = [(1, time, 0.0, 0.006, 0.0, 0.0, 511) for time in (10, 70, 130, 9_000, 9_060)]
    found = events(table(rows), Areas({"a": BOX}))
    assert found["entersArea"] == [(9, 1, "a"), (8_999, 1, "a")]
    assert "leavesArea" not in found


def test_a_border_belongs_to_its_area() -> None:
    rows = [(1, 10, 1.0, 0.011), (1, 70, 1.0, 0.0115)]
    assert events(table(rows), Areas({"a": BOX}))["entersArea"] == [(9, 1, "a")]


def test_a_stop_at_the_first_position_inside_is_one_inside() -> None:
    """What rules ask at a position is answered for that position."""
    rows = [(1, 0, 0.0, 0.0, 9.0, 0.0, 0)]
    rows += [(1, 60 * at, 0.0, 0.006, 0.0, 0.0, 0) for at in range(1, 6)]
    positions = table([*rows, (1, 360, 0.0, 0.02, 0.1, 0.0, 0)])
    found = cernis.load(
        "initiatedAt(in(V)=A, T) :- happensAt(entersArea(V, A), T).\n"
        "terminatedAt(in(V)=A, T) :- happensAt(leavesArea(V, A), T).\n"
        "happensAt(stopIn(V, A), T) :- happensAt(stop_start(V), T), holdsAt(in(V)=A, T).\n"
    )
    from cernis.geo.events import positions_to_events

    tables = positions_to_events(positions, areas=Areas({"a": BOX})).relations
    result = found.run({name: tables[name] for name in ("entersArea", "leavesArea", "stop_start")})
    assert result.event("stopIn").to_pylist() == [{"v": 1, "a": "a", "occurrence": 60}]
    assert result.fluent("in").to_pylist()[0]["start"] == 60
    assert result.fluent("in").to_pylist()[0]["end"] == 360


def test_areas_that_touch_are_one_by_type() -> None:
    both = Areas({"a": shapely.box(0, 0, 1, 1), "b": shapely.box(1, 0, 2, 1)}, {"a": "x", "b": "x"})
    rows = [(1, 60 * at, 0.9 + 0.01 * at, 0.5) for at in range(20)]
    assert len(events(table(rows), both)["entersArea"]) == 2
    assert events(table(rows), both.by_type())["entersArea"] == [(-1, 1, "x")]


def test_facts_are_text_of_the_language() -> None:
    areas = Areas({"a1": BOX, "Rade d'ici": BOX}, {"a1": "nearPorts"})
    assert areas.facts() == "areaType(a1, nearPorts).\nareaType('Rade d''ici', 'Rade d''ici').\n"
    cernis.load(areas.facts() + "happensAt(e(X), T) :- happensAt(f(X), T), areaType(X, _).")


def test_areas_from_geojson(tmp_path: Path) -> None:
    features = [
        {"type": "Feature", "properties": {"name": "a", "type": "port"},
         "geometry": json.loads(shapely.to_geojson(BOX))},
        {"type": "Feature", "properties": {"type": "port"},
         "geometry": json.loads(shapely.to_geojson(BOX))},
    ]  # fmt: skip
    file = tmp_path / "areas.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    found = read_areas(file)
    assert found.names == ("a", "port1")
    assert found.type_of("port1") == "port"
    assert shapely.equals(found.polygons["a"], BOX)
    file.write_text(json.dumps({"features": features[:1] * 2}))
    with pytest.raises(DataError, match="two areas of one name"):
        read_areas(file)
    for text in ("[]", "{}", "no", '{"features": [{"geometry": {"type": "Heap"}}]}'):
        file.write_text(text)
        with pytest.raises(DataError, match="no GeoJSON"):
            read_areas(file)


def test_what_is_no_polygon_is_refused() -> None:
    with pytest.raises(DataError, match="area a is no polygon"):
        Areas({"a": shapely.Point(0, 0)})
    with pytest.raises(DataError, match="area a: Self-intersection"):
        Areas({"a": shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])})


def test_areas_survive_pickling_with_their_grid() -> None:
    import pickle

    areas = Areas({"a": BOX})
    count = len(areas.index.cell)
    again = pickle.loads(pickle.dumps(areas))
    assert len(again.index.cell) == count
    assert events(track([10.0] * 8), again) == events(track([10.0] * 8), areas)


def test_no_areas_and_no_positions() -> None:
    index = make_index([])
    none = np.empty(0)
    assert len(index.stays(none, none, np.empty(0, np.bool_)).area) == 0
    assert len(index.stays(np.zeros(1), np.zeros(1), np.ones(1, np.bool_)).area) == 0
