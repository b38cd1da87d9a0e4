"""Simulate a day off a harbour: a marina, traffic, meetings at sea, and what only looks like one.

Places are metres to the east and north of a point off the harbour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from examples.maritime.voyages import Place, Voyage, reports

FIRST_VESSEL = 205_000_000
MARINA = (0.0, -16_000.0)
PIERS, BERTHS = 4, 12
HOUR = 3_600


@dataclass
class Day:
    """What is simulated: the voyages, and the pairs of vessels that meet, with when."""

    rng: np.random.Generator
    start: int
    voyages: list[Voyage] = field(default_factory=list)
    meetings: list[tuple[int, int, int, int]] = field(default_factory=list)

    def vessel(self, place: Place, time: int) -> Voyage:
        """Another vessel, at a place from a time on."""
        number = FIRST_VESSEL + len(self.voyages)
        self.voyages.append(Voyage(number, "vessel", place, self.start + time))
        return self.voyages[-1]

    def somewhere(self, west: float, east: float, south: float, north: float) -> Place:
        """A place at random."""
        return float(self.rng.uniform(west, east)), float(self.rng.uniform(south, north))


@dataclass(frozen=True)
class Simulation:
    """The positions that are reported, and the true meetings: `vessel1, vessel2, start, end`."""

    positions: pa.Table
    meetings: pa.Table


def simulate(seed: int, meetings: int = 6, start: int = 1_780_272_000) -> Simulation:
    """A day with so many meetings at sea; the same seed gives the same day."""
    day = Day(np.random.default_rng(seed), start)
    marina(day)
    traffic(day, 40)
    for _ in range(meetings):
        meet(day)
    for _ in range(meetings):
        pass_by(day)
        fish_side_by_side(day)
    rows = reports(day.rng, day.voyages, np.zeros(len(day.voyages), np.int64), lost=0.03)
    names = ["vessel1", "vessel2", "start", "end"]
    columns = zip(*sorted(day.meetings, key=lambda row: row[2]), strict=True)
    return Simulation(pa.table(rows), pa.table([list(c) for c in columns] or [[]] * 4, names))


def marina(day: Day) -> None:
    """Boats moored side by side all day; some go out in the morning and come home."""
    for number in range(PIERS * BERTHS):
        berth = (MARINA[0] + number % PIERS * 60.0, MARINA[1] + number // PIERS * 15.0)
        boat = day.vessel(berth, int(day.rng.integers(0, 600)))
        if number % 4 == 0:
            boat.stay(int(day.rng.uniform(2, 6) * HOUR))
            boat.sail(day.somewhere(-9_000, 9_000, -9_000, 6_000), 7.0)
            boat.sail(berth, 6.0)
        boat.stay(day.start + 20 * HOUR - boat.time)


def traffic(day: Day, count: int) -> None:
    """Ships that pass from west to east and back."""
    for _ in range(count):
        west, east = (
            day.somewhere(-28_000, -26_000, -8_000, 25_000),
            day.somewhere(26_000, 28_000, -8_000, 25_000),
        )
        ends = (west, east) if day.rng.random() < 0.5 else (east, west)
        ship = day.vessel(ends[0], int(day.rng.uniform(0, 16) * HOUR))
        ship.sail(ends[1], float(day.rng.uniform(9, 16)))


def meet(day: Day) -> None:
    """Two vessels come from two sides, lie side by side for half an hour or more, and part."""
    place = day.somewhere(-18_000, 18_000, 4_000, 22_000)
    time = int(day.rng.uniform(4, 14) * HOUR)
    pair = [_comes_to(day, (place[0] + aside, place[1]), time) for aside in (0.0, 60.0)]
    together = max(voyage.time for voyage in pair)
    until = together + int(day.rng.uniform(0.6, 2.0) * HOUR)
    for voyage in pair:
        voyage.stay(until - voyage.time)
        voyage.sail(day.somewhere(-25_000, 25_000, -6_000, 25_000), 10.0)
    one, other = sorted(voyage.vessel for voyage in pair)
    day.meetings.append((one, other, together, until))


def _comes_to(day: Day, place: Place, time: int) -> Voyage:
    """A vessel that arrives at a place some minutes after a time."""
    voyage = day.vessel(day.somewhere(-25_000, 25_000, -6_000, 25_000), 0)
    speed = float(day.rng.uniform(8, 12))
    distance = float(np.hypot(place[0] - voyage.place[0], place[1] - voyage.place[1]))
    voyage.time += time - round(distance / (speed * 1852 / HOUR)) + int(day.rng.integers(0, 600))
    voyage.sail(place, speed)
    return voyage


def pass_by(day: Day) -> None:
    """Two vessels pass each other near, and neither stops."""
    place = day.somewhere(-18_000, 18_000, 4_000, 22_000)
    time = int(day.rng.uniform(4, 14) * HOUR)
    for aside in (0.0, 100.0):
        voyage = _comes_to(day, (place[0] + aside, place[1]), time)
        voyage.sail(day.somewhere(-25_000, 25_000, -6_000, 25_000), 9.0)


def fish_side_by_side(day: Day) -> None:
    """Two trawlers drag a net between them: near each other for hours, but under way."""
    place = day.somewhere(-18_000, 0, 4_000, 22_000)
    time = int(day.rng.uniform(4, 12) * HOUR)
    for aside in (0.0, 150.0):
        voyage = day.vessel((place[0], place[1] + aside), time)
        voyage.sail((place[0] + 18_000, place[1] + aside), 3.5)
