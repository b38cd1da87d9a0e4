"""Make records for the weather application: stations, spells of bad weather, and fires.

python -m examples.weather.generate --events 100000 --entities 15 --output DIR
"""

from __future__ import annotations

import numpy as np

from examples.records import Integers, Relations, lags, names, relation, run
from examples.schedule import horizon

PACE = 1800
"""Seconds between two reports of a station."""

KINDS = ["grassFire", "forestFire", "houseFire"]
FIRES = 0.02
"""The share of records that are about fires."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` events at `entities` stations; spells of bad weather last some hours.

    The same arguments give the same records. A share `late` of them arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    end = horizon(events, entities, PACE)
    fires = int(events * FIRES)
    reports = events - 2 * fires
    station = np.arange(reports) % entities
    time = np.arange(reports) // entities * PACE + 1 + rng.integers(0, 600, entities)[station]
    bad = _spells(rng, reports, entities)
    hour = time / 3600 % 24
    temperature = 18 + 9 * np.sin((hour - 9) / 24 * 2 * np.pi) + rng.normal(0, 3, reports)
    temperature = np.where(bad, temperature - 25, temperature + 12 * (rng.random(reports) < 0.05))
    wind = np.where(bad, rng.integers(14, 60, reports), rng.gamma(2.0, 4.0, reports))
    sight = np.where(bad, rng.random(reports) / 2, 1 + 15 * rng.random(reports))
    burning, out = _fires(rng, fires, end)
    place = rng.integers(0, entities, fires)
    stations = _stations(entities)
    arrival = time + lags(rng, reports, late, PACE)
    return {
        "sensor": relation({
            "arrival": arrival, "occurrence": time, "station": names(station, stations),
            "time": time, "temperature": np.round(temperature, 1), "wind": np.round(wind, 1),
            "sight": np.round(sight, 1),
        }),
        "reported": relation({
            "arrival": burning + lags(rng, fires, late, PACE), "occurrence": burning,
            "place": names(place, stations), "kind": names(rng.integers(0, 3, fires), KINDS),
        }),
        "localized": relation({
            "arrival": out + lags(rng, fires, late, PACE), "occurrence": out,
            "place": names(place, stations),
        }),
    }  # fmt: skip


def _spells(rng: np.random.Generator, reports: int, entities: int) -> np.ndarray:
    """Which reports are of bad weather, which comes to all stations at about the same time."""
    rounds = reports // entities + 1
    begins = rng.random(rounds) < 1 / 60
    since = np.maximum.accumulate(np.where(begins, np.arange(rounds), -(10**6)))
    lasts = rng.integers(4, 16, entities)
    lag = rng.integers(0, 4, entities)
    when = np.arange(rounds)[:, None] - since[:, None] - lag[None, :]
    bad = ((when >= 0) & (when < lasts)) & (rng.random((rounds, entities)) < 0.85)
    return bad.ravel()[:reports]


def _fires(rng: np.random.Generator, fires: int, end: int) -> tuple[Integers, Integers]:
    begun = rng.integers(1, end + 1, fires)
    return begun, begun + rng.integers(600, 40 * 3600, fires)


def facts(entities: int = 15) -> str:
    """Where that many stations are, and what the kinds of fires are called in the ontology."""
    rng = np.random.default_rng(entities)
    places = [
        f"place({name}, {37 + 4 * rng.random():.3f}, {-122 + 4 * rng.random():.3f})."
        for name in _stations(entities)
    ]
    classes = [f"class({kind}, 'wt:{kind[0].upper()}{kind[1:]}')." for kind in KINDS]
    head = "% Where stations are, by latitude and longitude, and the classes of fires."
    return "\n".join([head, "", *places, "", *classes]) + "\n"


def _stations(entities: int) -> list[str]:
    return [f"station{number}" for number in range(1, entities + 1)]


if __name__ == "__main__":
    run("Make records for the weather application.", generate, facts, entities=15)
