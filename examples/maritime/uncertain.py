"""Uncertain events of simulated vessels: what is heard from afar is less sure.

    tables = uncertain_events(simulate(40, 7), c=10_000)

A station stands in every patch of sea, where vessels meet. The confidence in what is heard of a
vessel at the distance x from it is `1 - x/(x+c)`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cernis.answers.noise import distance_confidences
from cernis.geo.events import positions_to_events
from cernis.geo.sphere import distances
from examples.maritime.recognised import areas_of
from examples.maritime.simulate import Simulation
from examples.maritime.voyages import METRES_A_DEGREE
from examples.records import Floats, Integers

TICK = 60
STATION = (0.0, 20_000.0)
"""Metres to the east and north of the middle of a port: where most vessels meet."""

USED = ("entersArea", "leavesArea", "gap_start", "velocity")


def uncertain_events(simulation: Simulation, c: float) -> dict[str, pa.Table]:
    """A table a relation, times by the minute, each record with its probability."""
    found = positions_to_events(simulation.positions, None, areas_of(simulation)).relations
    sure = _Confidence(simulation, c)
    tables = {}
    for name in USED:
        table = found[name]
        times = table["occurrence"].to_numpy()
        chances = sure.of(table["vessel"].to_numpy(), times)
        columns = {t: table[t] for t in table.column_names if t not in ("arrival", "occurrence")}
        tables[name] = pa.table({"occurrence": _minutes(times), **columns, "probability": chances})
    near = found["proximity"]
    first, second = near["vessel1"].to_numpy(), near["vessel2"].to_numpy()
    starts, ends = near["start"].to_numpy(), near["end"].fill_null(0).to_numpy()
    ends = np.where(ends == 0, starts + TICK, ends)
    counts = np.maximum((ends - starts) // TICK, 1)
    rows = np.repeat(np.arange(len(starts)), counts)
    steps = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    told = starts[rows] + TICK * steps
    tables["proximity_start"] = _pairs(sure, first[rows], second[rows], told)
    tables["proximity_end"] = _pairs(sure, first, second, ends)
    return tables


def _pairs(sure: _Confidence, first: Integers, second: Integers, times: Integers) -> pa.Table:
    chances = sure.of(first, times)
    return pa.table(
        {"occurrence": _minutes(times), "a": first, "b": second, "probability": chances}
    )


def _minutes(times: Integers) -> Integers:
    return -(-times // TICK) * TICK


class _Confidence:
    """How sure what is heard of a vessel is, by where it was heard of last."""

    def __init__(self, simulation: Simulation, c: float) -> None:
        table = simulation.positions
        vessel, time = table["vessel"].to_numpy(), table["t"].to_numpy()
        lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
        order = np.lexsort((time, vessel))
        ports = [box for kind, box in simulation.areas.values() if kind == "nearPorts"]
        boxes = np.array(ports)
        north = (boxes[:, 1] + boxes[:, 3]) / 2 + STATION[1] / METRES_A_DEGREE
        east = (boxes[:, 0] + boxes[:, 2]) / 2 + STATION[0] / METRES_A_DEGREE
        nearest: Floats = np.min(
            [distances(lon, lat, np.full(len(lon), x), np.full(len(lat), y))
             for x, y in zip(east, north, strict=True)], axis=0,
        )  # fmt: skip
        self._vessel, self._time = vessel[order], time[order]
        self._chances = distance_confidences(nearest[order], c)

    def of(self, vessels: Integers, times: Integers) -> Floats:
        keys = self._vessel.astype(np.int64) << 32 | self._time.astype(np.int64)
        asked = vessels.astype(np.int64) << 32 | np.maximum(times, 0).astype(np.int64)
        at = np.clip(np.searchsorted(keys, asked, "right") - 1, 0, len(keys) - 1)
        return np.asarray(self._chances[at])


def days_in_turn(
    simulations: list[Simulation], c: float, pause: int = 3_600
) -> dict[str, pa.Table]:
    """The events of several simulations of the same vessels, one behind the other."""
    parts: dict[str, list[pa.Table]] = {}
    begin = 0
    for simulation in simulations:
        tables = uncertain_events(simulation, c)
        for name, table in tables.items():
            times = table["occurrence"].to_numpy() + begin
            parts.setdefault(name, []).append(table.set_column(0, "occurrence", pa.array(times)))
        latest = max(int(own["occurrence"].to_numpy().max(initial=0)) for own in tables.values())
        begin += int(_minutes(np.array([latest + pause]))[0])
    return {name: pa.concat_tables(own) for name, own in parts.items()}
