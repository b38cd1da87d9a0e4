"""The vehicles of the fleet example: their models, their roles, and the phases of these.

A vehicle's model and role depend on its number alone, so that the facts about the first vehicles
are the same however many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from examples.records import Integers


class Model(NamedTuple):
    """Tank in litres, highest wanted speed in km/h, highest wanted engine speed."""

    tank: int
    speed: int
    revolutions: int


MODELS = (Model(70, 100, 3500), Model(400, 85, 2000), Model(250, 95, 2400))


class Phase(NamedTuple):
    """Something a vehicle does for a while. Times are in minutes."""

    shortest: int
    longest: int
    slowest: float
    fastest: float
    """Speeds are in units of the highest wanted speed of the model."""
    burn: float = 0.0
    """Share of the tank used in an hour."""
    engine: bool = True
    abrupt: bool = False
    revving: bool = False
    siphoned: bool = False


PHASES = {
    "parked": Phase(20, 50, 0.0, 0.0, engine=False),
    "city": Phase(15, 30, 0.2, 0.5, 0.06),
    "highway": Phase(20, 50, 0.8, 0.95, 0.08),
    "speeding": Phase(15, 30, 1.1, 1.3, 0.15),
    "idling": Phase(12, 25, 0.0, 0.0, 0.02),
    "revving": Phase(10, 20, 0.4, 0.6, 0.12, revving=True),
    "rough": Phase(15, 30, 0.3, 0.6, 0.1, abrupt=True),
    "reckless": Phase(15, 30, 1.15, 1.4, 0.15, abrupt=True),
    "towed": Phase(15, 30, 0.2, 0.4, engine=False),
    "siphoned": Phase(20, 40, 0.0, 0.0, engine=False, siphoned=True),
}

ROLES = (
    ("parked", "city", "highway", "city", "idling", "city"),
    ("parked", "city", "highway", "speeding", "highway", "city"),
    ("parked", "rough", "reckless", "highway"),
    ("parked", "revving", "idling", "city"),
    ("parked", "siphoned", "city", "highway"),
    ("parked", "towed", "parked", "city"),
)

CONDITIONS = {"dry": 0.6, "rain": 0.25, "snow": 0.1, "ice": 0.05}
"""How often each kind of weather is met."""

THRESHOLDS = {"calmTime": 300, "idlingTime": 600, "fuelLoss": 5, "towingSpeed": 5}


def models(entities: int) -> Integers:
    """The model of each of the first vehicles, as an index of `MODELS`."""
    return np.arange(entities) // len(ROLES) % len(MODELS)


def roles(entities: int) -> Integers:
    """The role of each of the first vehicles, as an index of `ROLES`."""
    return np.arange(entities) % len(ROLES)


def labels(entities: int) -> list[str]:
    """The names of the first vehicles."""
    return [f"vehicle{number}" for number in range(entities)]


def facts(entities: int = 60) -> str:
    """The background facts: thresholds for all vehicles, and for each of the first ones."""
    limits = [
        f"threshold({label}, {quantity}, {limit})."
        for label, model in zip(labels(entities), models(entities).tolist(), strict=True)
        for quantity, limit in zip(("fuel", "speed", "revolutions"), MODELS[model], strict=True)
    ]
    common = [f"thresholds({name}, {value})." for name, value in THRESHOLDS.items()]
    head = "% Times in seconds, fuel in litres, speeds in km/h."
    title = "% threshold(Vehicle, Quantity, Limit): the tank, and what the owner wants at most"
    return "\n".join([head, *common, "", title, *limits]) + "\n"
