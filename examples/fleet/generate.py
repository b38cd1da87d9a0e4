"""Make records for the fleet application: vehicles on their tours.

    python -m examples.fleet.generate --events 100000 --entities 300 --output DIR

Every vehicle goes round the phases of its role, and reports its speed, the speed of its engine
and the fuel in its tank in turn. With at least two hundred records a vehicle, and twenty
vehicles, every fluent of the rules comes about.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from examples.fleet.vehicles import CONDITIONS, MODELS, PHASES, ROLES, facts, labels, models, roles
from examples.records import (
    Booleans,
    Column,
    Floats,
    Integers,
    Relations,
    lags,
    names,
    relation,
    run,
)
from examples.schedule import Schedule, horizon, samples, schedule, spread

PACE = 60
"""Mean number of seconds between two records of one vehicle."""

LAG = 600.0
"""Scale of the lag of late records, in seconds: they are 20 minutes late on average."""

MANOEUVRE_EVERY = 150
"""Seconds between two abrupt manoeuvres of a rough driver."""

SPEED, ENGINE_SPEED, FUEL_LEVEL, CLOSE_TO_GAS = range(4)
TURNS = (SPEED, FUEL_LEVEL, CLOSE_TO_GAS, ENGINE_SPEED, SPEED, ENGINE_SPEED, SPEED, SPEED)
"""What a vehicle reports, in turn."""

RESERVE = 0.15
"""The tank is filled up when this share is left."""

SIPHONED = 0.15
"""Share of the tank that thieves take."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `entities` vehicles, `events` in all, as one table a relation.

    The same arguments give the same records. The stream lasts `PACE` seconds for each record of a
    vehicle. A share `late` of the records arrives with a lag; all others arrive at once.
    """
    rng = np.random.default_rng(seed)
    until = horizon(events, entities, PACE)
    plan = _plan(rng, entities, until)
    reports = _first(_occasional(rng, plan), events)
    rest = events - sum(len(columns["vehicle"]) for columns in reports.values())
    reports |= _regular(rng, plan, models(entities), rest)
    vehicles = labels(entities)
    return {name: _records(rng, columns, vehicles, late) for name, columns in reports.items()}


def _plan(rng: np.random.Generator, entities: int, until: int) -> Schedule:
    kinds = list(PHASES)
    cycles = [[kinds.index(kind) for kind in role] for role in ROLES]
    durations = np.array([(phase.shortest, phase.longest) for phase in PHASES.values()]) * 60
    return schedule(rng, cycles, roles(entities), np.arange(entities), durations, until)


def _trait(plan: Schedule, name: str) -> Floats:
    return np.array([float(getattr(phase, name)) for phase in PHASES.values()])[plan.kind]


def _occasional(rng: np.random.Generator, plan: Schedule) -> dict[str, dict[str, Integers]]:
    """Engine starts and stops, changes of weather, abrupt manoeuvres."""
    on = _trait(plan, "engine") == 1
    never = np.zeros(len(plan), dtype=np.bool_)
    changed = plan.begins(np.where(on, 1, 2), never)
    weather = _beginning(rng, plan, rng.random(len(plan)) < 1 / 3)
    shares = list(CONDITIONS.values())
    weather["condition"] = rng.choice(len(shares), len(weather["vehicle"]), p=shares)
    abrupt = _manoeuvres(rng, plan)
    kind = rng.integers(0, 3, len(abrupt["vehicle"]))
    return {
        "engineStarts": _beginning(rng, plan, changed & on),
        "engineStops": _beginning(rng, plan, changed & ~on),
        "weather": weather,
        "abruptAcceleration": _chosen(abrupt, kind == 0),
        "abruptBraking": _chosen(abrupt, kind == 1),
        "abruptCornering": _chosen(abrupt, kind == 2),
    }


def _beginning(rng: np.random.Generator, plan: Schedule, mask: Booleans) -> dict[str, Integers]:
    rows = np.flatnonzero(mask)
    times = plan.start[rows] + rng.integers(1, 6, len(rows))
    return _chosen({"occurrence": times, "vehicle": plan.entity[rows]}, times <= plan.until)


def _manoeuvres(rng: np.random.Generator, plan: Schedule) -> dict[str, Integers]:
    start = plan.start + 120
    counts = np.where(_trait(plan, "abrupt") == 1, (plan.end - start) // MANOEUVRE_EVERY, 0)
    rows, times = samples(rng, start, plan.end, counts)
    return _chosen({"occurrence": times, "vehicle": plan.entity[rows]}, times <= plan.until)


def _chosen(columns: dict[str, Integers], mask: Booleans) -> dict[str, Integers]:
    return {name: column[mask] for name, column in columns.items()}


def _first(reports: dict[str, dict[str, Integers]], budget: int) -> dict[str, dict[str, Integers]]:
    """The reports that a short stream has room for, relation by relation."""
    chosen = {}
    for name, columns in reports.items():
        chosen[name] = {column: values[:budget] for column, values in columns.items()}
        budget -= len(chosen[name]["vehicle"])
    return chosen


def _regular(
    rng: np.random.Generator, plan: Schedule, model: Integers, total: int
) -> dict[str, dict[str, Integers]]:
    """Speed, engine speed and fuel level in turn, and stations that are passed."""
    end = np.minimum(plan.end, plan.until)
    counts = spread(end - plan.start, total)
    # Clear of the first seconds of a phase, in which the engine is reported.
    row, time = samples(rng, np.minimum(plan.start + 5, end - 1), end, counts)
    time += 1
    turn = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    kind = _kinds(rng, plan, row, np.array(TURNS)[turn % len(TURNS)])
    # A station is met where the fuel level has just been reported: the same time for both.
    time = np.where(kind == CLOSE_TO_GAS, np.concatenate(([0], time[:-1]))[: len(time)], time)
    reports = {"occurrence": time, "vehicle": plan.entity[row]}
    level = _fuel(rng, plan, model, row, time)
    return {
        "speed": _measured(reports, kind == SPEED, "speed", _speed(rng, plan, model, row)),
        "engineSpeed": _measured(
            reports, kind == ENGINE_SPEED, "revolutions", _revolutions(rng, plan, model, row)
        ),
        "fuelLevel": _measured(reports, kind == FUEL_LEVEL, "level", level),
        "closeToGas": _chosen(reports, kind == CLOSE_TO_GAS),
    }


def _kinds(rng: np.random.Generator, plan: Schedule, row: Integers, turn: Integers) -> Integers:
    """What is reported: no engine speed while it is off, and few stations, none at rest."""
    on = _trait(plan, "engine")[row] == 1
    moving = _trait(plan, "fastest")[row] > 0
    station = on & moving & (rng.random(len(row)) < 0.3)
    silent = (turn == ENGINE_SPEED) & ~on | (turn == CLOSE_TO_GAS) & ~station
    return np.where(silent, SPEED, turn)


def _measured(
    reports: dict[str, Integers], mask: Booleans, name: str, values: Integers
) -> dict[str, Integers]:
    return {**_chosen(reports, mask), name: values[mask]}


def _speed(rng: np.random.Generator, plan: Schedule, model: Integers, row: Integers) -> Integers:
    limit = np.array([entry.speed for entry in MODELS])[model[plan.entity]]
    least, most = _trait(plan, "slowest"), _trait(plan, "fastest")
    steady = (least + rng.random(len(plan)) * (most - least)) * limit
    speed: Floats = steady[row] * (1 + 0.03 * rng.standard_normal(len(row)))
    return np.rint(speed).astype(np.int64)


def _revolutions(
    rng: np.random.Generator, plan: Schedule, model: Integers, row: Integers
) -> Integers:
    limit = np.array([entry.revolutions for entry in MODELS])[model[plan.entity]]
    least = np.where(_trait(plan, "revving") == 1, 1.05, 0.35)
    share = least[row] + 0.3 * rng.random(len(row))
    revolutions: Floats = share * limit[row]
    return np.rint(revolutions).astype(np.int64)


def _fuel(
    rng: np.random.Generator, plan: Schedule, model: Integers, row: Integers, time: Integers
) -> Integers:
    """What is left of the tank: it empties as the phases burn, and is filled at the reserve."""
    tank = np.array([entry.tank for entry in MODELS])[model[plan.entity]]
    taken = np.where(_trait(plan, "siphoned") == 1, SIPHONED, 0.0)
    hourly = _trait(plan, "burn")
    used = np.cumsum(hourly * (plan.end - plan.start) / 3600 + taken)
    before = np.concatenate(([0.0], used[:-1]))[: len(used)]
    within = hourly[row] * (time - plan.start[row]) / 3600
    stolen = taken[row] * (2 * time > (plan.start + plan.end)[row])
    # The sum runs on from vehicle to vehicle: it serves as the random fill that each starts with.
    gone = np.mod(before[row] + rng.random() + within + stolen, 1.0 - RESERVE)
    left: Floats = (1.0 - gone) * tank[row]
    return np.floor(left).astype(np.int64)


def _records(
    rng: np.random.Generator, columns: dict[str, Integers], vehicles: list[str], late: float
) -> pa.Table:
    occurrence = columns["occurrence"]
    record: dict[str, Column] = {
        "arrival": occurrence + lags(rng, len(occurrence), late, LAG),
        **columns,
        "vehicle": names(columns["vehicle"], vehicles),
    }
    if "condition" in columns:
        record["condition"] = names(columns["condition"], list(CONDITIONS))
    return relation(record)


if __name__ == "__main__":
    run("Make records for the fleet application.", generate, facts, entities=60)
