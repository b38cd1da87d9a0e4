"""Behaviours for the simulator: what vessels do, and what of it is to be recognised.

Each behaviour makes the voyages of its vessels, in a patch of sea of their own, and notes the
truth: which fluents hold for whom, from when to when. The fluents are those of `rules.cer`, and
what they mean is what the rules say: a trawler that drags its net at four knots loiters as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from examples.maritime.vessels import THRESHOLDS
from examples.maritime.voyages import Place, Voyage

QUAY: Place = (0.0, -14_000.0)
COAST = -8_000.0


@dataclass
class Scene:
    """A patch of sea while it is filled: its voyages, and what is true of them."""

    rng: np.random.Generator
    next_vessel: int
    begun: int
    voyages: list[Voyage] = field(default_factory=list)
    truth: list[tuple[str, str, int, int | None, int, int | None]] = field(default_factory=list)

    def vessel(self, kind: str, place: Place) -> Voyage:
        """A new vessel that is heard of first at a place, about when the scene begins."""
        number = self.next_vessel + len(self.voyages)
        voyage = Voyage(number, kind, place, self.begun + int(self.rng.integers(0, 60)))
        self.voyages.append(voyage)
        return voyage

    def holds(
        self, fluent: str, start: int, end: int | None, *vessels: Voyage, value: str = "true"
    ) -> None:
        """Note that a fluent of one or two vessels holds from a time to another, or ever after."""
        first, *second = sorted(vessel.vessel for vessel in vessels)
        self.truth.append((fluent, value, first, second[0] if second else None, start, end))

    def around(self, low: float, high: float) -> float:
        """Some number between two."""
        return float(self.rng.uniform(low, high))

    def minutes(self, low: int, high: int) -> int:
        """Some number of seconds between two numbers of minutes."""
        return int(self.rng.integers(60 * low, 60 * high + 1))


def ferry(scene: Scene) -> None:
    """Moored at the port, fast out to sea, back and moored again."""
    boat = scene.vessel("passenger", QUAY)
    begun = boat.time
    left = boat.stay(scene.minutes(30, 50))
    scene.holds("anchoredOrMoored", begun, left, boat)
    speed = scene.around(18.0, 22.0)
    away = boat.sail((0.0, COAST), speed)
    scene.holds("highSpeedNearCoast", left, away, boat)
    boat.sail((4_000.0, 14_000.0), speed)
    back = boat.sail((0.0, COAST), speed)
    slowed = boat.sail((0.0, -12_500.0), speed)
    scene.holds("highSpeedNearCoast", back, slowed, boat)
    moored = boat.sail(QUAY, 3.0)
    boat.stay(scene.minutes(40, 60))
    scene.holds("anchoredOrMoored", moored, None, boat)


def trawler(scene: Scene) -> None:
    """Drags its net to and fro across the fishing ground, at a speed that is slow as well."""
    boat = scene.vessel("fishing", (3_000.0, 2_000.0))
    begun = boat.sail((-6_500.0, 3_000.0), 9.0)
    speed, north = scene.around(3.2, 4.2), 1.0
    for turn in range(int(scene.rng.integers(16, 22))):
        boat.steer(270.0 + north * 50.0, speed, scene.minutes(4, 5))
        north = -north if turn % 2 else north
        boat.steer(90.0 + north * 50.0, speed, scene.minutes(3, 4))
    ended = boat.time
    boat.sail((3_000.0, boat.place[1] + 2_000.0), 9.0)
    scene.holds("trawling", begun, ended, boat)
    scene.holds("loitering", begun, ended, boat)


def tug_and_tow(scene: Scene) -> None:
    """A tug meets a vessel at sea and tows it for most of an hour."""
    tug, tow = scene.vessel("tug", (2_000.0, -4_000.0)), scene.vessel("cargo", (2_080.0, 12_000.0))
    meeting = scene.begun + 2_400
    arrive(tug, (2_000.0, 4_000.0), meeting)
    arrive(tow, (2_080.0, 4_000.0), meeting)
    seconds, speed = scene.minutes(35, 50), scene.around(5.6, 6.4)
    for boat in (tug, tow):
        boat.steer(80.0, speed, seconds)
    scene.holds("tugging", meeting, tug.time, tug, tow)
    tug.steer(180.0, 10.0, 1_200)
    tow.steer(20.0, 12.0, 1_200)


def rendez_vous(scene: Scene) -> None:
    """Two vessels come together in the open sea, lie side by side, and part."""
    boats = scene.vessel("tanker", (-3_000.0, 15_000.0)), scene.vessel("cargo", (9_000.0, 3_000.0))
    meeting, seconds = scene.begun + 3_000, scene.minutes(40, 60)
    for boat, course in zip(boats, (330.0, 110.0), strict=True):
        arrive(boat, (2_000.0 + course / 4, 8_000.0), meeting)
        boat.stay(seconds)
        scene.holds("loitering", meeting, boat.time, boat)
        boat.steer(course, 11.0, 1_500)
    scene.holds("rendezVous", meeting, meeting + seconds, *boats)


def pilot_boarding(scene: Scene) -> None:
    """A pilot boat goes alongside a vessel that has slowed down, off the coast, and goes home."""
    pilot, ship = scene.vessel("pilotVessel", QUAY), scene.vessel("cargo", (4_000.0, 14_000.0))
    meeting, seconds = scene.begun + 2_700, scene.minutes(10, 20)
    pilot.sail((0.0, COAST), 14.0)
    arrive(pilot, (3_000.0, 1_000.0), meeting)
    arrive(ship, (3_060.0, 1_000.0), meeting)
    for boat in (pilot, ship):
        boat.steer(180.0, 3.0, seconds)
    scene.holds("pilotOps", meeting, meeting + seconds, pilot, ship)
    pilot.sail(QUAY, 14.0)
    ship.steer(90.0, 12.0, 1_500)


def anchored(scene: Scene) -> None:
    """A vessel comes from the sea, lies in the anchorage, and leaves again."""
    boat = scene.vessel("tanker", (8_000.0, 9_000.0))
    begun = boat.sail((8_000.0, -4_000.0), 11.0)
    ended = boat.stay(scene.minutes(90, 120))
    boat.sail((8_000.0, 9_000.0), 11.0)
    scene.holds("anchoredOrMoored", begun, ended, boat)


def silent(scene: Scene) -> None:
    """A vessel stops sending at sea, another while it is moored."""
    boat = scene.vessel("cargo", (12_000.0, -6_000.0))
    begun = boat.steer(0.0, 12.0, scene.minutes(15, 25))
    ended = boat.sail((12_000.0, boat.place[1] + 15_000.0), 10.0, silent=True)
    boat.steer(0.0, 12.0, 1_200)
    scene.holds("gap", begun, ended, boat, value="farFromPorts")
    moored = scene.vessel("cargo", QUAY)
    start = moored.time
    begun = moored.stay(scene.minutes(30, 40))
    ended = moored.stay(scene.minutes(45, 60), silent=True)
    scene.holds("gap", begun, ended, moored, value="nearPorts")
    scene.holds("anchoredOrMoored", start, begun, moored)
    moored.stay(scene.minutes(30, 40))
    scene.holds("anchoredOrMoored", ended, None, moored)


def search_and_rescue(scene: Scene) -> None:
    """A rescue vessel searches in squares that grow, turning every few minutes."""
    boat = scene.vessel("sar", (6_000.0, 0.0))
    begun = boat.steer(0.0, 14.0, scene.minutes(20, 25))
    turned, course = begun, 90.0
    for turn in range(int(scene.rng.integers(10, 14))):
        turned = boat.time
        boat.steer(course, 10.0, 120 + 20 * turn)
        course += 90.0
    boat.steer(course - 90.0, 10.0, 2_400)
    # The search is over when no turn has followed the last one for some time.
    scene.holds("inSAR", begun, turned + int(THRESHOLDS["sarTurn"]), boat)


def adrift(scene: Scene) -> None:
    """A vessel without its engine, carried sideways by wind and current."""
    boat = scene.vessel("tanker", (4_000.0, -2_000.0))
    begun = boat.steer(10.0, 11.0, scene.minutes(20, 25))
    ended = boat.steer(30.0, scene.around(1.8, 2.5), scene.minutes(35, 50), off=80.0)
    boat.steer(10.0, 11.0, 1_500)
    scene.holds("drifting", begun, ended, boat)
    scene.holds("loitering", begun, ended, boat)


def decoys(scene: Scene) -> None:
    """What looks like something and is nothing: no fluent of the truth but where it is noted."""
    north, south = (
        scene.vessel("cargo", (10_000.0, 0.0)),
        scene.vessel("tanker", (10_120.0, 12_000.0)),
    )
    north.steer(0.0, 12.0, 2_000)
    south.steer(180.0, 12.0, 1_500)
    through = scene.vessel("fishing", (-4_000.0, 9_000.0))
    through.steer(270.0, 9.0, 3_000)
    yacht = scene.vessel("pleasureCraft", (-6_000.0, 2_000.0))
    for turn in range(16):
        yacht.steer(330.0 if turn % 2 else 290.0, 7.0, 180)
    alone = scene.vessel("tug", (6_000.0, 2_000.0))
    alone.steer(90.0, 6.0, 3_600)
    coaster = scene.vessel("cargo", (-15_000.0, -10_000.0))
    coaster.steer(90.0, 4.0, 3_600)
    for place in ((300.0, -13_000.0), (380.0, -13_000.0)):
        boat = scene.vessel("cargo", place)
        scene.holds("anchoredOrMoored", boat.time, None, boat)
        boat.stay(7_200)


def arrive(boat: Voyage, place: Place, time: int) -> None:
    """Sail to a place so that it is reached at a time."""
    way = float(np.hypot(place[0] - boat.place[0], place[1] - boat.place[1]))
    speed = way / (time - boat.time) * 3600 / 1852
    boat.sail(place, speed)
    boat.time = time


BEHAVIOURS: tuple[Callable[[Scene], None], ...] = (
    ferry, trawler, tug_and_tow, rendez_vous, pilot_boarding, anchored, silent, search_and_rescue,
    adrift, decoys,
)  # fmt: skip
