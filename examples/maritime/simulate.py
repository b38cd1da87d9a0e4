"""Simulate vessels whose behaviour is known: positions, areas, facts, and the truth.

    python -m examples.maritime.simulate --patches 50 --seed 7 --output DIR

writes `positions.parquet`, `areas.geojson`, `facts.cer` and `truth.csv`. What the rules recognise
in the events that the positions give can be scored against the truth:

    python -m examples.maritime.simulate --patches 50 --score
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from examples.maritime.behaviours import BEHAVIOURS, Scene
from examples.maritime.vessels import FIRST_VESSEL, THRESHOLDS, TYPE_SPEEDS
from examples.maritime.voyages import boxes, reports, spoiled

SCORED = (
    "anchoredOrMoored", "drifting", "gap", "highSpeedNearCoast", "inSAR", "loitering", "pilotOps",
    "rendezVous", "trawling", "tugging",
)  # fmt: skip
"""The fluents that the truth is about: all their intervals are in it."""

SPREAD = 3_600
"""Patches come to life within so many seconds."""


@dataclass(frozen=True)
class Simulation:
    """What is reported, where the areas are, what is known of the vessels, and what is true.

    `truth` has the columns `fluent, value, vessel1, vessel2, start, end`; vessel2 is null for
    fluents of one vessel, the end for what holds when the vessel is heard of last. `bad` says how
    many positions of each kind are to be set aside.
    """

    positions: pa.Table
    areas: dict[str, tuple[str, np.ndarray]]
    facts: str
    truth: pa.Table
    bad: dict[str, int]

    def geojson(self) -> str:
        """The areas as GeoJSON."""
        features = [
            {
                "type": "Feature",
                "properties": {"name": name, "type": kind},
                "geometry": {"type": "Polygon", "coordinates": [_ring(*corners.tolist())]},
            }
            for name, (kind, corners) in self.areas.items()
        ]
        return json.dumps({"type": "FeatureCollection", "features": features})


def simulate(patches: int, seed: int, *, lost: float = 0.05, bad: float = 0.0) -> Simulation:
    """Simulate patches of sea, the behaviours of `BEHAVIOURS` in turn.

    A share `lost` of the positions is never received. With a share of `bad` ones the positions
    come in no order, and among them are repeated ones, ones off the map, and jumps.
    """
    rng = np.random.default_rng(seed)
    scenes: list[Scene] = []
    vessel = FIRST_VESSEL
    for number in range(patches):
        scene = Scene(rng, vessel, int(rng.integers(600, 600 + SPREAD)))
        BEHAVIOURS[number % len(BEHAVIOURS)](scene)
        scenes.append(scene)
        vessel += len(scene.voyages)
    voyages = [voyage for scene in scenes for voyage in scene.voyages]
    patch = np.repeat(np.arange(patches), [len(scene.voyages) for scene in scenes])
    columns = reports(rng, voyages, patch, lost)
    table, counts = spoiled(rng, columns, bad) if bad else (pa.table(columns), {})
    areas = boxes(patches)
    truth = [row for scene in scenes for row in scene.truth]
    kinds = {voyage.vessel: voyage.kind for voyage in voyages}
    return Simulation(table, areas, _facts(kinds, areas), _truth(truth), counts)


def _facts(kinds: dict[int, str], areas: dict[str, tuple[str, np.ndarray]]) -> str:
    lines = [f"thresholds({name}, {limit})." for name, limit in THRESHOLDS.items()]
    for kind, speeds in TYPE_SPEEDS.items():
        lines.append(f"typeSpeed({kind}, {', '.join(map(str, speeds))}).")
    lines += [f"areaType({name}, {kind})." for name, (kind, _) in areas.items()]
    lines += [f"vessel({vessel})." for vessel in kinds]
    lines += [f"vesselType({vessel}, {kind})." for vessel, kind in kinds.items()]
    return "\n".join(lines) + "\n"


def _truth(rows: list[tuple[str, str, int, int | None, int, int | None]]) -> pa.Table:
    schema = pa.schema({
        "fluent": pa.string(), "value": pa.string(), "vessel1": pa.int64(),
        "vessel2": pa.int64(), "start": pa.int64(), "end": pa.int64(),
    })  # fmt: skip
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([list(column) for column in columns], schema=schema)


def _ring(west: float, south: float, east: float, north: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


Interval = tuple[int, float]


@dataclass(frozen=True)
class Score:
    """How the intervals of one fluent compare with the truth.

    An interval is found if one recognised for the same vessels and value starts and ends within a
    tolerance of it; recognised ones that are not that of any are wrong. The truths missed and the
    wrong ones are listed as (vessels, value, interval).
    """

    planted: int
    missed: list[tuple[str, Interval]]
    wrong: list[tuple[str, Interval]]

    @property
    def recall(self) -> float:
        """The share of the truth that was found; 1 if there was none."""
        return 1 - len(self.missed) / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """The share of what was recognised that is true; 1 if nothing was."""
        found = self.planted - len(self.missed)
        return found / (found + len(self.wrong)) if found or self.wrong else 1.0


def score(intervals: pa.Table, truth: pa.Table, tolerance: int) -> dict[str, Score]:
    """Compare recognised intervals (`fluent, args, value, start, end`) with the truth."""
    recognised, planted = _grouped(_recognised(intervals)), _grouped(_planted(truth))
    return {name: _score(recognised, planted, name, tolerance) for name in SCORED}


Row = tuple[str, str, int, float]


def _recognised(intervals: pa.Table) -> Iterable[Row]:
    for row in intervals.to_pylist():
        if row["fluent"] in SCORED:
            key = f"({', '.join(map(str, row['args']))})={row['value']}"
            yield row["fluent"], key, row["start"], _end(row["end"])


def _planted(truth: pa.Table) -> Iterable[Row]:
    for row in truth.to_pylist():
        vessels = [row["vessel1"]] + ([] if row["vessel2"] is None else [row["vessel2"]])
        key = f"({', '.join(map(str, vessels))})={row['value']}"
        yield row["fluent"], key, row["start"], _end(row["end"])


def _end(end: int | None) -> float:
    return float("inf") if end is None else end


def _grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Interval]]:
    found: dict[tuple[str, str], list[Interval]] = {}
    for fluent, key, start, end in rows:
        found.setdefault((fluent, key), []).append((start, end))
    return found


def _score(
    recognised: dict[tuple[str, str], list[Interval]],
    planted: dict[tuple[str, str], list[Interval]],
    fluent: str,
    tolerance: int,
) -> Score:
    def close(one: Interval, other: Interval) -> bool:
        ends = one[1] == other[1] or abs(one[1] - other[1]) <= tolerance
        return ends and abs(one[0] - other[0]) <= tolerance

    def lacking(
        these: dict[tuple[str, str], list[Interval]], those: dict[tuple[str, str], list[Interval]]
    ) -> list[tuple[str, Interval]]:
        return [
            (key[1], own)
            for key, intervals in these.items()
            for own in intervals
            if key[0] == fluent and not any(close(own, other) for other in those.get(key, ()))
        ]

    count = sum(len(own) for key, own in planted.items() if key[0] == fluent)
    return Score(count, lacking(planted, recognised), lacking(recognised, planted))


def write(simulation: Simulation, folder: Path) -> None:
    """Write all of a simulation into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(simulation.positions, folder / "positions.parquet")
    (folder / "areas.geojson").write_text(simulation.geojson(), "utf-8")
    (folder / "facts.cer").write_text(simulation.facts, "utf-8")
    pyarrow.csv.write_csv(simulation.truth, folder / "truth.csv")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Simulate vessels whose behaviour is known.")
    parser.add_argument("--patches", type=int, default=50, help="patches of sea")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same data")
    parser.add_argument("--bad", type=float, default=0.0, help="share of bad positions")
    parser.add_argument("--output", type=Path, help="directory to write to")
    parser.add_argument(
        "--score", action="store_true", help="recognise, and compare with the truth"
    )
    parser.add_argument("--tolerance", type=int, default=240, help="seconds, for --score")
    options = parser.parse_args()
    simulation = simulate(options.patches, options.seed, bad=options.bad)
    if options.output:
        write(simulation, options.output)
    if options.score:
        _print_scores(simulation, options.tolerance)


def _print_scores(simulation: Simulation, tolerance: int) -> None:
    from examples.maritime.recognised import recognised

    found = recognised(simulation)
    print(f"{'fluent':20} planted  missed  wrong")
    for name, own in score(found.intervals, simulation.truth, tolerance).items():
        print(f"{name:20} {own.planted:7} {len(own.missed):7} {len(own.wrong):6}")


if __name__ == "__main__":
    main()
