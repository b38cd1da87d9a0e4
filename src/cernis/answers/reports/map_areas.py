"""Areas for the map of a report: from GeoJSON, and from facts that are boxes or polygons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from cernis.answers.reports.thresholds import conditions_of, fact_rows
from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.syntax.tree import Compound, Variable

Area: TypeAlias = dict[str, Any]
"""`name`, `kind`, and `rings`: lists of longitude and latitude."""

_POLYGON: Final = re.compile(r"(?i)^\s*(?:multi)?polygon\s*\(")
_RING: Final = re.compile(r"\(([^()]+)\)")
_BOX: Final = ("inBox", 6)


def geojson_areas(source: str | Path | Mapping[str, Any]) -> list[Area]:
    """The polygons of GeoJSON, a file or what it contains; other shapes are left out."""
    content: Any = source
    if not isinstance(source, Mapping):
        try:
            content = json.loads(Path(source).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{source} cannot be read as GeoJSON: {error}") from None
    if not isinstance(content, Mapping) or not isinstance(content.get("features"), list):
        raise DataError(f"{source} is no GeoJSON: it has no list `features`")
    return [area for number, feature in enumerate(content["features"], 1)
            for area in _feature(feature, number)]  # fmt: skip


def _feature(feature: Mapping[str, Any], number: int) -> Iterator[Area]:
    shape, words = feature.get("geometry") or {}, feature.get("properties") or {}
    name = str(words.get("name", number))
    parts = shape.get("coordinates", [])
    polygons = {"Polygon": [parts], "MultiPolygon": parts}.get(shape.get("type", ""))
    if polygons is None:
        return
    rings = [
        [[float(point[0]), float(point[1])] for point in ring]
        for polygon in polygons for ring in polygon
    ]  # fmt: skip
    yield {"name": name, "kind": str(words.get("type", "")), "rings": rings}


def fact_areas(checked: Checked) -> list[Area]:
    """The areas among the facts: boxes that rules use in `inBox`, and texts `POLYGON((...))`."""
    boxes = {(relation, places) for body in _bodies(checked) for relation, places in _boxes(body)}
    areas = [
        area for relation, places in sorted(boxes, key=str)
        for row in fact_rows(relation, checked) if (area := _box(row, places))
    ]  # fmt: skip
    for relation in {*checked.tables, *checked.clauses}:
        areas += [area for row in fact_rows(relation, checked) for area in _polygons(row)]
    return areas


def _bodies(checked: Checked) -> Iterator[list[Compound]]:
    definitions = checked.definitions
    bodies = [rule.body for rule in definitions.changes]
    bodies += [rule.body for rule in definitions.events]
    for body in bodies:
        yield [goal for goal in conditions_of(body) if isinstance(goal, Compound)]


def _boxes(goals: list[Compound]) -> Iterator[tuple[Relation, tuple[int, ...]]]:
    """The facts that have the edges of boxes, and the positions of these."""
    for box in goals:
        edges = box.args[2:]
        if (box.functor, len(box.args)) != _BOX or not all(
            isinstance(edge, Variable) for edge in edges
        ):
            continue
        for goal in goals:
            if goal is not box and all(edge in goal.args for edge in edges):
                places = tuple(goal.args.index(edge) for edge in edges)
                yield Relation(goal.functor, len(goal.args)), places


def _box(row: Any, places: tuple[int, ...]) -> Area | None:
    edges = [row[place] for place in places]
    if not all(isinstance(edge, int | float) for edge in edges):
        return None
    south, west, north, east = map(float, edges)
    east = east if east >= west else east + 360
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"name": _name(row, places), "kind": "", "rings": [ring]}


def _name(row: Any, without: tuple[int, ...]) -> str:
    return ", ".join(str(each) for place, each in enumerate(row) if place not in without)


def _polygons(row: Any) -> Iterator[Area]:
    for place, text in enumerate(row):
        if isinstance(text, str) and _POLYGON.match(text):
            try:
                rings = [
                    [[float(number) for number in point.split()[:2]] for point in ring.split(",")]
                    for ring in _RING.findall(text)
                ]
            except ValueError:
                continue
            yield {"name": _name(row, (place,)), "kind": "", "rings": rings}
