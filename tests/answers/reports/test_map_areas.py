"""Areas of maps: from GeoJSON, from facts that are boxes, and from texts of polygons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cernis
from cernis.answers.reports.map_areas import fact_areas, geojson_areas
from cernis.errors import DataError

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 0]]


def test_polygons_of_geojson_have_names_and_kinds(tmp_path: Path) -> None:
    features = [
        {"geometry": {"type": "Polygon", "coordinates": [SQUARE]},
         "properties": {"name": "quay", "type": "port"}},
        {"geometry": {"type": "MultiPolygon", "coordinates": [[SQUARE], [SQUARE]]}},
        {"geometry": {"type": "Point", "coordinates": [1, 2]}},
        {"geometry": None},
    ]  # fmt: skip
    file = tmp_path / "areas.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    quay, other = geojson_areas(file)
    assert (quay["name"], quay["kind"], quay["rings"]) == ("quay", "port", [SQUARE])
    assert (other["name"], len(other["rings"])) == ("2", 2)


@pytest.mark.parametrize("text", ["{", "[]", '{"features": 1}'])
def test_what_is_no_geojson_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "areas.geojson"
    file.write_text(text)
    with pytest.raises(DataError, match="GeoJSON"):
        geojson_areas(file)


def test_facts_that_are_boxes_or_polygons() -> None:
    checked = cernis.load("""
        initiatedAt(inside(V)=A, T) :-
            happensAt(seen(V, Lat, Lon), T), box(A, S, W, N, E), inBox(Lat, Lon, S, W, N, E).
        initiatedAt(known(V)=A, T) :- happensAt(named(V, A), T), shape(A, _).
        box(harbour, 40, -10, 41, -9).
        box(dateline, 0, 170, 1, -170).
        shape(bay, "POLYGON ((0 0, 1 0, 1 1, 0 0))").
        shape(word, "polygon (of words)").
    """).checked
    areas = {area["name"]: area["rings"] for area in fact_areas(checked)}
    assert areas["harbour"] == [[[-10, 40], [-9, 40], [-9, 41], [-10, 41], [-10, 40]]]
    assert areas["dateline"][0][1] == [190, 0]
    assert areas["bay"] == [SQUARE]
    assert "word" not in areas
