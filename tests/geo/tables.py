"""Small tables of positions, and what comes of them, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cernis.geo.areas import Areas
from cernis.geo.events import PositionEvents, positions_to_events
from cernis.geo.parameters import Parameters
from cernis.geo.sphere import KNOT, METRES_A_DEGREE

COLUMNS = ("vessel", "t", "lon", "lat", "speed", "course", "heading")


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Positions from tuples in the order of `COLUMNS`; those at the end may be left out."""
    width = max((len(row) for row in rows), default=7)
    columns = {
        name: [row[at] if at < len(row) else None for row in rows]
        for at, name in enumerate(COLUMNS[:width])
    }
    return pa.table(columns)


def track(speeds: list[float], every: int = 60, course: float = 0.0, vessel: int = 1) -> pa.Table:
    """A vessel on a straight way from (0, 0) at given speeds, each until its next position."""
    way = np.append(0.0, np.cumsum(np.array(speeds[:-1]) * KNOT * every)) / METRES_A_DEGREE
    angle = np.radians(course)
    return pa.table({
        "vessel": np.full(len(speeds), vessel), "t": np.arange(len(speeds)) * every,
        "lon": way * np.sin(angle), "lat": way * np.cos(angle), "speed": np.array(speeds),
        "course": np.full(len(speeds), course), "heading": np.full(len(speeds), 511),
    })  # fmt: skip


def events(
    positions: pa.Table, areas: Areas | None = None, **parameters: Any
) -> dict[str, list[tuple[Any, ...]]]:
    """What positions give: for each relation that has any, its rows."""
    return listed(positions_to_events(positions, Parameters(**parameters), areas))


def listed(found: PositionEvents) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each relation that has any."""
    return {
        name: [tuple(row.values()) for row in own.to_pylist()]
        for name, own in found.relations.items()
        if len(own)
    }


def wandering(seed: int, vessels: int, positions: int, box: float = 0.2) -> pa.Table:
    """Vessels that wander at random within a box of so many degrees, in no order."""
    rng = np.random.default_rng(seed)
    vessel = np.repeat(np.arange(vessels) + 100, positions)
    time = rng.integers(1, 200, (vessels, positions)).cumsum(axis=1).ravel()
    time[rng.random(len(time)) < 0.02] += 5_000
    lon = rng.normal(0, box / 50, (vessels, positions)).cumsum(axis=1)
    lat = rng.normal(0, box / 50, (vessels, positions)).cumsum(axis=1)
    start = rng.uniform(0, box, (2, vessels, 1))
    lon, lat = (np.mod(own, box).ravel() for own in (lon + start[0], lat + start[1]))
    speed = np.abs(rng.normal(3, 4, (vessels, positions)).cumsum(axis=1) / 8).ravel().round(1)
    course = rng.normal(0, 8, (vessels, positions)).cumsum(axis=1).ravel() % 360
    heading = rng.integers(0, 700, len(vessel))
    whole = pa.table([vessel, time, lon, lat, speed, course, heading], names=list(COLUMNS))
    return whole.take(pa.array(rng.permutation(len(whole))))
