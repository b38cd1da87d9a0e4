"""Voyages for the simulator: a vessel's way in straight legs, and the positions reported on it.

Places are metres to the east and north of the middle of a patch of sea. Every patch is alike, and
so far from the others that vessels of two of them never meet:

    y =  20000  ------------------------------
                  fishing        (meetings)
                  ground
    y =      0                 anchorage
    y =  -8000  ------ border of the coast ---
                        port
    y = -20000  ------------------------------
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from examples.records import Floats, Integers

KNOT = 1852 / 3600
METRES_A_DEGREE = 111_194.93
PATCH = 60_000.0
"""Metres from the middle of one patch to that of the next."""

PATCHES_A_ROW = 40
CORNER = (-10.0, 40.0)
"""Longitude and latitude of the first patch."""

BOXES = {
    "nearPorts": (-2_000.0, -16_000.0, 2_000.0, -12_000.0),
    "nearCoast": (-20_000.0, -20_000.0, 20_000.0, -8_000.0),
    "anchorage": (6_000.0, -6_000.0, 10_000.0, -2_000.0),
    "fishing": (-17_000.0, 0.0, -5_000.0, 12_000.0),
}
"""The areas of a patch by their types: west, south, east and north."""

MOVING, STOPPED = 20, 180
"""Seconds between two positions of a vessel that moves, and of one that does not."""

Place = tuple[float, float]


@dataclass
class Voyage:
    """What a vessel does, leg by leg. Each call adds a leg that begins where the last one ended."""

    vessel: int
    kind: str
    place: Place
    time: int
    legs: list[tuple[float, ...]] = field(default_factory=list)

    def sail(self, to: Place, speed: float, *, silent: bool = False) -> int:
        """Straight to a place, at a speed in knots; the time of arrival."""
        east, north = to[0] - self.place[0], to[1] - self.place[1]
        seconds = max(1, round(float(np.hypot(east, north)) / (speed * KNOT)))
        course = float(np.degrees(np.arctan2(east, north))) % 360
        self._leg(seconds, speed, course, 0.0, silent)
        self.place = to
        return self.time

    def steer(self, course: float, speed: float, seconds: int, *, off: float = 0.0) -> int:
        """On a course for some time, the bow so many degrees off it; the time at the end."""
        way = speed * KNOT * seconds
        self._leg(seconds, speed, course % 360, off, False)
        angle = np.radians(course)
        self.place = (self.place[0] + way * np.sin(angle), self.place[1] + way * np.cos(angle))
        return self.time

    def stay(self, seconds: int, *, silent: bool = False) -> int:
        """Where it is; the time at the end."""
        self._leg(seconds, 0.0, 0.0, 0.0, silent)
        return self.time

    def _leg(self, seconds: int, speed: float, course: float, off: float, silent: bool) -> None:
        start = (float(self.vessel), float(self.time), float(seconds), *self.place)
        self.legs.append((*start, speed, course, off, float(silent)))
        self.time += seconds


def patch_middles(count: int) -> tuple[Floats, Floats]:
    """Longitudes and latitudes of the middles of the first patches."""
    number = np.arange(count)
    lat = CORNER[1] + (number // PATCHES_A_ROW) * PATCH / METRES_A_DEGREE
    lon = CORNER[0] + (number % PATCHES_A_ROW) * PATCH / (METRES_A_DEGREE * np.cos(np.radians(lat)))
    return lon, lat


def reports(
    rng: np.random.Generator, voyages: list[Voyage], patch: Integers, lost: float
) -> dict[str, Floats | Integers]:
    """The positions that vessels report, with errors of measurement; a share of them is lost.

    `patch` is that of each voyage. Columns are those of a table of positions.
    """
    legs = np.array([leg for voyage in voyages for leg in voyage.legs])
    patch = np.repeat(patch, [len(voyage.legs) for voyage in voyages])
    leg, after = _times(rng, legs, lost)
    vessel, begun, _, x, y, speed, course, off, _ = legs[leg].T
    way = speed * KNOT * after
    east = x + way * np.sin(np.radians(course)) + rng.normal(0.0, 4.0, len(leg))
    north = y + way * np.cos(np.radians(course)) + rng.normal(0.0, 4.0, len(leg))
    lon, lat = _degrees(east, north, patch[leg])
    moving = speed > 0
    shown = np.maximum(0.0, speed + rng.normal(0.0, 0.08, len(leg)))
    swing = np.where(moving, rng.normal(0.0, 1.5, len(leg)), rng.uniform(0, 360, len(leg)))
    return {
        "vessel": vessel.astype(np.int64),
        "t": (begun + after).astype(np.int64),
        "lon": np.round(lon, 6),
        "lat": np.round(lat, 6),
        "speed": np.round(shown, 1),
        "course": np.round(course + swing, 1) % 360,
        "heading": np.rint(course + off + rng.normal(0.0, 1.5, len(leg))) % 360,
    }


def _times(rng: np.random.Generator, legs: Floats, lost: float) -> tuple[Integers, Floats]:
    """The leg each position is on, and the whole seconds since it began."""
    every = np.where(legs[:, 5] > 0, MOVING, STOPPED)
    counts = np.where(legs[:, 8] > 0, 0, np.maximum(1, legs[:, 2] // every)).astype(np.int64)
    leg = np.repeat(np.arange(len(legs)), counts)
    turn = np.arange(len(leg)) - np.repeat(np.cumsum(counts) - counts, counts)
    step = legs[leg, 2] / counts[leg]
    after = np.floor((turn + rng.uniform(0.0, 0.4, len(leg))) * step)
    # The first position of each leg is heard, so that what begins there begins on time.
    heard = (turn == 0) | (rng.random(len(leg)) >= lost)
    after[turn == 0] = 0
    return leg[heard], after[heard]


def _degrees(east: Floats, north: Floats, patch: Integers) -> tuple[Floats, Floats]:
    lon, lat = (middle[patch] for middle in patch_middles(int(patch.max()) + 1))
    up = lat + north / METRES_A_DEGREE
    return lon + east / (METRES_A_DEGREE * np.cos(np.radians(lat))), up


def boxes(count: int) -> dict[str, tuple[str, Floats]]:
    """The areas of the first patches: name, type, and the degrees of the corners."""
    found = {}
    for number in range(count):
        for kind, (west, south, east, north) in BOXES.items():
            sides = np.array([west, east]), np.array([south, north])
            lon, lat = _degrees(*sides, np.array([number, number]))
            found[f"{kind}{number}"] = (kind, np.array([lon[0], lat[0], lon[1], lat[1]]))
    return found


def spoiled(
    rng: np.random.Generator, positions: dict[str, Floats | Integers], share: float
) -> tuple[pa.Table, dict[str, int]]:
    """Positions in a random order, with bad ones among them; and how many of each kind."""
    table = pa.table(positions)
    picked = rng.permutation(len(table))[: 3 * round(share * len(table))].reshape(3, -1)
    repeated = table.take(pa.array(picked[0]))
    away = _with(table.take(pa.array(picked[1])), "lat", np.full(picked.shape[1], 91.0), 1)
    lat = table["lat"].to_numpy()[picked[2]]
    jumped = _with(table.take(pa.array(picked[2])), "lat", lat + 0.5, 1)
    jumped = jumped.filter(_inner(table, picked[2]))
    whole = pa.concat_tables([table, repeated, away, jumped])
    counts = {"repeated": len(repeated), "off the map": len(away), "jump": len(jumped)}
    return whole.take(pa.array(rng.permutation(len(whole)))), counts


def _with(table: pa.Table, name: str, column: Floats, later: int) -> pa.Table:
    table = table.set_column(table.column_names.index(name), name, pa.array(column))
    at = table.column_names.index("t")
    return table.set_column(at, "t", pa.array(table["t"].to_numpy() + later))


def _inner(table: pa.Table, rows: Integers) -> pa.Array:
    """Which of some positions have their vessel's next one neither far off nor a second later."""
    vessel, time = table["vessel"].to_numpy(), table["t"].to_numpy()
    following = np.minimum(rows + 1, len(table) - 1)
    after = time[following] - time[rows]
    return pa.array((vessel[following] == vessel[rows]) & (after > 1) & (after < 600))
