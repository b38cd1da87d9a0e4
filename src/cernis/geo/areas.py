"""Areas: polygons with a name and a type, and a grid that finds where a position is.

A cell of the grid that lies wholly inside an area, or wholly outside, needs no geometry: only
positions in cells that a border runs through are tested against the polygon.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from cernis.errors import DataError
from cernis.geo.motion import runs
from cernis.kernels.array_types import Booleans, Floats, Integers

FINEST_CELL = 0.02
"""Degrees: the side of a cell, unless areas are so large that there would be too many."""

MOST_CELLS = 1 << 20

COARSENESS = 32
"""Cells a side of the blocks that an area is cut into first."""


@dataclass(frozen=True)
class Areas:
    """Polygons by name, each with a type. Borders belong to areas. Areas may overlap.

    A polygon may have holes and several parts. One that crosses the date line has to be split
    there. Raises DataError for what is no polygon, or one that is not valid.
    """

    polygons: Mapping[str, Any]
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no polygon."""
        for name, polygon in self.polygons.items():
            if shapely.get_type_id(polygon) not in (3, 6):
                raise DataError(f"area {name} is no polygon")
            if not shapely.is_valid(polygon):
                raise DataError(f"area {name}: {shapely.is_valid_reason(polygon)}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in the order given."""
        return tuple(self.polygons)

    @cached_property
    def index(self) -> AreaIndex:
        """The grid of these areas, made once."""
        return make_index(list(self.polygons.values()))

    def type_of(self, name: str) -> str:
        """The type of an area; its name if it has none."""
        return self.types.get(name, name)

    def by_type(self) -> Areas:
        """One area for each type, called like it: what any area of that type covers.

        Whoever goes from one area of a type into another has then not left.
        """
        groups: dict[str, list[Any]] = {}
        for name, polygon in self.polygons.items():
            groups.setdefault(self.type_of(name), []).append(polygon)
        return Areas({kind: shapely.union_all(parts) for kind, parts in groups.items()})

    def facts(self) -> str:
        """The facts `areaType(Area, Type)`, as text of the language."""
        pairs = ((_quoted(name), _quoted(self.type_of(name))) for name in self.names)
        return "".join(f"areaType({name}, {kind}).\n" for name, kind in pairs)


def read_areas(path: str | Path, name: str = "name", kind: str = "type") -> Areas:
    """Areas from a GeoJSON file: features whose properties say their name and type.

    A feature without a name is called after its type and its number. Raises DataError if the file
    is no collection of features, or has two of a name.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        features = content["features"]
        shapes = [shapely.from_geojson(json.dumps(each["geometry"])) for each in features]
    except (ValueError, KeyError, TypeError, shapely.GEOSException) as error:
        raise DataError(f"{path}: no GeoJSON with features: {error}") from error
    kinds = [str(each.get("properties", {}).get(kind, "area")) for each in features]
    names = [
        str(each.get("properties", {}).get(name, f"{own}{number}"))
        for number, (each, own) in enumerate(zip(features, kinds, strict=True))
    ]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: two areas of one name")
    return Areas(dict(zip(names, shapes, strict=True)), dict(zip(names, kinds, strict=True)))


def _quoted(name: str) -> str:
    plain = name.isascii() and name.replace("_", "a").isalnum() and name[:1].islower()
    return name if plain else "'" + name.replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class AreaIndex:
    """The cells that areas meet: entry i says that area `area[i]` covers or cuts `cell[i]`.

    Entries are ordered by cell. A cell is numbered by its row from the south pole and its column
    from the date line, with as many columns as go round.
    """

    side: float
    cell: Integers
    area: Integers
    covers: Booleans
    polygons: list[Any]

    def stays(self, lon: Floats, lat: Floats, first: Booleans) -> Stays:
        """The stays in areas of positions in the order of their tracks."""
        begins, ends, cells = self._visits(lon, lat, first)
        low, high = np.searchsorted(self.cell, cells), np.searchsorted(self.cell, cells, "right")
        counts = high - low
        visit = np.repeat(np.arange(len(cells)), counts)
        entry = _ranges(low, counts)
        covered = self.covers[entry]
        inside = (self.area[entry][covered], begins[visit][covered], ends[visit][covered])
        cut = visit[~covered]
        tested = self._tested(self.area[entry][~covered], begins[cut], ends[cut], lon, lat)
        area, start, stop = (
            np.concatenate(columns) for columns in zip(inside, tested, strict=True)
        )
        return _joined(area, start, stop, first)

    def _visits(
        self, lon: Floats, lat: Floats, first: Booleans
    ) -> tuple[Integers, Integers, Integers]:
        """Stretches of rows of one track in one cell."""
        column = np.floor((lon + 180.0) / self.side)
        row = np.floor((lat + 90.0) / self.side)
        cell = (row * _columns(self.side) + column).astype(np.int64)
        changed = first.copy()
        changed[1:] |= cell[1:] != cell[:-1]
        begins = np.flatnonzero(changed)
        return begins, np.append(begins[1:], len(lon)), cell[begins]

    def _tested(
        self, area: Integers, begins: Integers, ends: Integers, lon: Floats, lat: Floats
    ) -> tuple[Integers, Integers, Integers]:
        """The rows in cut cells that are inside: area, row and the row after."""
        counts = ends - begins
        rows, areas = _ranges(begins, counts), np.repeat(area, counts)
        inside = np.zeros(len(rows), np.bool_)
        order = np.argsort(areas, kind="stable")
        bounds = np.searchsorted(areas[order], np.arange(len(self.polygons) + 1))
        for number in np.unique(areas).tolist():
            in_area = order[bounds[number] : bounds[number + 1]]
            positions = rows[in_area]
            shapely.prepare(self.polygons[number])
            inside[in_area] = shapely.intersects_xy(
                self.polygons[number], lon[positions], lat[positions]
            )
        return areas[inside], rows[inside], rows[inside] + 1


@dataclass(frozen=True, slots=True)
class Stays:
    """Maximal stretches `[start, stop)` of rows of one track inside an area, by area and row."""

    area: Integers
    start: Integers
    stop: Integers

    def rows(self, areas: Booleans, length: int) -> Booleans:
        """Which of so many rows are in any of the areas marked."""
        chosen = areas[self.area]
        edges = np.zeros(length + 1, np.int64)
        np.add.at(edges, self.start[chosen], 1)
        np.add.at(edges, self.stop[chosen], -1)
        covered: Booleans = np.cumsum(edges[:-1]) > 0
        return covered


def _joined(area: Integers, start: Integers, stop: Integers, first: Booleans) -> Stays:
    order = np.lexsort((start, area))
    area, start, stop = area[order], start[order], stop[order]
    follows = np.zeros(len(area), np.bool_)
    follows[1:] = (area[1:] == area[:-1]) & (start[1:] == stop[:-1]) & ~first[start[1:]]
    begins, ends = runs(np.ones(len(area), np.bool_), ~follows)
    return Stays(area[begins], start[begins], stop[ends - 1])


def _ranges(start: Integers, counts: Integers) -> Integers:
    """The whole numbers of ranges, one after another, given where each starts and how many."""
    ends = np.cumsum(counts)
    shift: Integers = np.repeat(start - (ends - counts), counts)
    return np.arange(len(shift)) + shift


def _columns(side: float) -> int:
    # One more than goes round, for the longitude of exactly 180.
    return int(np.ceil(360.0 / side)) + 1


def make_index(polygons: list[Any], side: float | None = None) -> AreaIndex:
    """The grid for some polygons.

    Without a side, cells are of `FINEST_CELL`, or twice that, four times and so on until the boxes
    around the polygons have no more than `MOST_CELLS`.
    """
    if side is None:
        side = _side(np.array([shapely.bounds(own) for own in polygons]).reshape(-1, 4))
    parts = [_cells(polygon, side) for polygon in polygons]
    area = np.repeat(np.arange(len(parts)), [len(cell) for cell, _ in parts])
    cell = np.concatenate([np.empty(0, np.int64), *(cell for cell, _ in parts)])
    covers = np.concatenate([np.empty(0, np.bool_), *(covers for _, covers in parts)])
    order = np.argsort(cell, kind="stable")
    return AreaIndex(side, cell[order], area[order].astype(np.int64), covers[order], polygons)


def _side(bounds: Floats) -> float:
    side = FINEST_CELL
    while np.prod((bounds[:, 2:] - bounds[:, :2]) / side + 1, axis=1).sum() > MOST_CELLS:
        side *= 2
    return side


def _cells(polygon: Any, side: float) -> tuple[Integers, Booleans]:
    """The cells a polygon meets, and whether it covers each: blocks first, then their cells."""
    west, south, east, north = shapely.bounds(polygon)
    if np.isnan(west):
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    low = np.floor((np.array([west + 180.0, south + 90.0])) / side).astype(np.int64)
    high = np.floor((np.array([east + 180.0, north + 90.0])) / side).astype(np.int64)
    shapely.prepare(polygon)
    columns, rows = (_grid(low, high + 1, COARSENESS)).T
    size, sure = COARSENESS, np.zeros(len(columns), np.bool_)
    while True:
        met, covers = _classified(polygon, columns, rows, side, size, sure)
        columns, rows, sure = columns[met], rows[met], covers[met]
        if size == 1:
            return rows * _columns(side) + columns, sure
        size //= 2
        columns, rows, sure = _quartered(columns, rows, sure, size)


def _grid(low: Integers, high: Integers, step: int) -> Integers:
    columns, rows = (np.arange(low[axis], high[axis], step) for axis in (0, 1))
    return np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)


def _classified(
    polygon: Any, columns: Integers, rows: Integers, side: float, size: int, sure: Booleans
) -> tuple[Booleans, Booleans]:
    """Which blocks of cells a polygon meets, and which it covers; parts of covered ones it does."""
    covers = sure.copy()
    unsure = np.flatnonzero(~sure)
    # A little more than the block, so that rounding never puts a position into the wrong cell.
    slack = side * 1e-6
    west, south = columns[unsure] * side - 180.0, rows[unsure] * side - 90.0
    boxes = shapely.box(
        west - slack, south - slack, west + size * side + slack, south + size * side + slack
    )
    met = sure.copy()
    met[unsure] = shapely.intersects(polygon, boxes)
    covers[unsure] = shapely.contains_properly(polygon, boxes)
    return met, covers


def _quartered(
    columns: Integers, rows: Integers, sure: Booleans, size: int
) -> tuple[Integers, Integers, Booleans]:
    right, up = np.array([0, size, 0, size]), np.array([0, 0, size, size])
    return (
        (columns[:, None] + right).ravel(),
        (rows[:, None] + up).ravel(),
        np.repeat(sure, 4),
    )


def names_of(areas: Areas, numbers: Integers) -> pa.Array:
    """The names of areas given by their numbers."""
    return pa.array(areas.names, pa.string()).take(pa.array(numbers))
