"""The vessels of the maritime example: their types, their roles, and the phases of these.

A vessel's type and role depend on its number alone, so that the facts about the first vessels are
the same however many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from examples.records import Integers

FIRST_VESSEL = 227_000_000
"""The number of the first vessel, in the manner of the identities that vessels transmit."""

AREAS = {"nearPorts": 10, "nearCoast": 10, "anchorage": 5, "fishing": 5}
"""How many areas there are of each type."""

NO_AREA, PORT, COAST, ANCHORAGE, FISHING = range(5)

TYPE_SPEEDS = {
    "cargo": (9, 15, 12),
    "tanker": (8, 14, 11),
    "tug": (5, 12, 9),
    "pilotVessel": (8, 22, 14),
    "fishing": (5, 11, 8),
    "sar": (12, 30, 18),
    "pleasureCraft": (5, 14, 8),
    "passenger": (12, 25, 18),
}
"""Least, most and average service speed of each type of vessel, in knots."""

TYPES = list(TYPE_SPEEDS)


class Phase(NamedTuple):
    """Something a vessel does for a while. Times are in minutes, speeds in knots."""

    shortest: int
    longest: int
    slowest: float
    fastest: float
    area: int = NO_AREA
    relative: bool = False
    """Speeds are in units of the average speed of the vessel's type."""
    stopped: bool = False
    slow: bool = False
    silent: bool = False
    together: bool = False
    turning: bool = False
    changing: bool = False
    adrift: bool = False


PHASES = {
    "moored": Phase(30, 60, 0.0, 0.3, PORT, stopped=True),
    "harbour": Phase(8, 15, 2.0, 4.0, PORT, slow=True),
    "coastal": Phase(15, 25, 0.5, 0.75, COAST, relative=True),
    "coastalFast": Phase(15, 25, 18.0, 24.0, COAST),
    "cruise": Phase(30, 60, 0.85, 1.1, relative=True),
    "cruiseSlow": Phase(20, 40, 0.4, 0.55, relative=True),
    "cruiseFast": Phase(20, 40, 1.7, 1.9, relative=True),
    "anchored": Phase(40, 90, 0.0, 0.4, ANCHORAGE, stopped=True),
    "stoppedAtSea": Phase(35, 60, 0.0, 0.4, stopped=True),
    "slowAtSea": Phase(35, 60, 1.0, 3.0, slow=True),
    "meetingStopped": Phase(20, 40, 0.0, 0.4, stopped=True, together=True),
    "meetingSlow": Phase(20, 40, 1.0, 3.0, slow=True, together=True),
    "towing": Phase(40, 60, 3.0, 6.0, together=True),
    "boarding": Phase(15, 25, 1.0, 3.0, slow=True, together=True),
    "trawling": Phase(60, 100, 2.5, 5.0, FISHING, turning=True),
    "hauling": Phase(15, 25, 1.0, 2.0, FISHING, slow=True),
    "searching": Phase(40, 70, 8.0, 16.0, turning=True, changing=True),
    "adrift": Phase(30, 50, 1.5, 3.0, adrift=True),
    "silent": Phase(20, 60, 0.0, 0.0, silent=True),
}

ROLES = (
    ("moored", "harbour", "coastal", "cruise", "cruiseFast", "cruise", "cruiseSlow", "coastal"),
    ("cruise", "anchored", "cruise", "coastal", "moored", "coastal"),
    ("moored", "harbour", "towing", "cruise", "coastal"),
    ("cruise", "meetingSlow", "meetingStopped", "cruiseFast"),
    ("coastal", "cruise", "boarding", "cruise"),
    ("moored", "coastal", "cruise", "trawling", "hauling", "cruise", "coastal"),
    ("moored", "cruise", "searching", "cruise"),
    ("cruise", "stoppedAtSea", "slowAtSea", "cruise"),
    ("cruise", "adrift", "cruise", "coastal"),
    ("moored", "coastalFast", "cruise", "coastalFast"),
    ("cruise", "silent", "coastal", "moored", "silent", "moored", "coastal"),
)

BERTHS = (
    ("cargo", 0, 0), ("tanker", 1, 0), ("tug", 2, 0), ("cargo", 2, 1),
    ("cargo", 3, 0), ("tanker", 3, 1), ("pilotVessel", 4, 0), ("cargo", 4, 1),
    ("fishing", 5, 0), ("sar", 6, 0), ("pleasureCraft", 7, 0), ("tanker", 8, 0),
    ("passenger", 9, 0), ("cargo", 10, 0), ("fishing", 5, 0), ("cargo", 0, 0),
    ("tanker", 0, 0), ("passenger", 0, 0), ("cargo", 1, 0), ("tanker", 10, 0),
)  # fmt: skip
"""Type, role, and distance to the leader of the pair, of each vessel of twenty in turn."""


def berths(entities: int) -> tuple[Integers, Integers, Integers]:
    """Type, role and leader of the first vessels; a vessel without a pair leads itself."""
    number = np.arange(entities)
    table = np.array([(TYPES.index(kind), role, back) for kind, role, back in BERTHS])
    types, roles, back = table[number % len(BERTHS)].T
    return types, roles, number - back


def area_names() -> tuple[list[str], Integers]:
    """The names of all areas, and where those of each of the types `PORT`... begin.

    The entry of `NO_AREA` has no meaning.
    """
    labels = [f"{kind}{number}" for kind, count in AREAS.items() for number in range(count)]
    counts = np.array([0, *AREAS.values()])
    return labels, np.concatenate(([0], np.cumsum(counts)[:-1]))


THRESHOLDS = {
    "movingMin": 0.5,
    "nearCoastMax": 16.0,
    "adriftAngle": 45,
    "anchoredOrMooredTime": 1200,
    "tuggingMin": 1.2,
    "tuggingMax": 8.0,
    "tuggingTime": 1200,
    "rendezVousTime": 600,
    "loiteringTime": 1800,
    "trawlSpeedMin": 1.0,
    "trawlSpeedMax": 6.0,
    "trawlingTurn": 600,
    "trawlingTime": 1800,
    "sarMinSpeed": 2.7,
    "sarTurn": 600,
    "sarTime": 1200,
}


def facts(entities: int = 100) -> str:
    """The background facts: thresholds, speeds and areas, and the first vessels."""
    types, _, _ = berths(entities)
    vessels = [FIRST_VESSEL + number for number in range(entities)]
    sections = {
        "Speeds in knots, angles in degrees, times in seconds.": [
            f"thresholds({name}, {value})." for name, value in THRESHOLDS.items()
        ],
        "typeSpeed(Type, Min, Max, Average)": [
            f"typeSpeed({kind}, {least}, {most}, {average})."
            for kind, (least, most, average) in TYPE_SPEEDS.items()
        ],
        "areaType(Area, Type)": [
            f"areaType({kind}{number}, {kind})."
            for kind, count in AREAS.items()
            for number in range(count)
        ],
        "The vessels": [f"vessel({vessel})." for vessel in vessels],
        "vesselType(Vessel, Type)": [
            f"vesselType({vessel}, {TYPES[kind]})."
            for vessel, kind in zip(vessels, types.tolist(), strict=True)
        ],
    }
    return (
        "\n\n".join("\n".join([f"% {title}", *clauses]) for title, clauses in sections.items())
        + "\n"
    )
