"""Make records for the maritime application: vessels that go about their business.

    python -m examples.maritime.generate --events 100000 --entities 500 --output DIR

Every vessel goes round the phases of its role. Where phases meet, the critical points of its
trajectory and the areas it enters and leaves are reported; during a phase, its velocity. With at
least two hundred records a vessel, and twenty vessels, every fluent of the rules comes about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from examples.maritime.vessels import (
    AREAS,
    FIRST_VESSEL,
    NO_AREA,
    PHASES,
    ROLES,
    TYPE_SPEEDS,
    area_names,
    berths,
    facts,
)
from examples.records import (
    Booleans,
    Column,
    Floats,
    Integers,
    Relations,
    constant,
    lags,
    names,
    relation,
    run,
)
from examples.schedule import Schedule, horizon, samples, schedule, spread

PACE = 100
"""Mean number of seconds between two records of one vessel."""

LAG = 600.0
"""Scale of the lag of late records, in seconds: they are 20 minutes late on average."""

TURN_EVERY = 240
"""Seconds between two turns of a vessel that trawls or searches."""

UNKNOWN_HEADING = 511


@dataclass(frozen=True, slots=True)
class Points:
    """Events of one relation: which phase each belongs to, and when it occurs."""

    row: Integers
    time: Integers


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `entities` vessels, `events` in all, as one table a relation.

    The same arguments give the same records. The stream lasts `PACE` seconds for each record of a
    vessel; as many records as the critical points leave are velocities. A share `late` of the
    records arrives with a lag; all others arrive at once, intervals at their end.
    """
    rng = np.random.default_rng(seed)
    types, roles, leader = berths(entities)
    plan = _plan(rng, roles, leader, horizon(events, entities, PACE))
    critical = _critical(rng, plan)
    proximity = _proximity(rng, plan, roles, leader)
    budget = max(0, events - len(proximity["start"]))
    critical = _first(critical, budget)
    rest = budget - sum(len(points.time) for points in critical.values())
    velocity = _velocity(rng, plan, types, rest)
    relations = {
        name: relation(_columns(rng, plan, points, late, name)) for name, points in critical.items()
    }
    relations["velocity"] = relation(_arriving(rng, velocity, late))
    relations["proximity"] = _intervals(rng, proximity, late, min(events, len(proximity["start"])))
    return relations


def _plan(rng: np.random.Generator, roles: Integers, leader: Integers, until: int) -> Schedule:
    labels = list(PHASES)
    cycles = [[labels.index(label) for label in role] for role in ROLES]
    durations = np.array([(phase.shortest, phase.longest) for phase in PHASES.values()]) * 60
    return schedule(rng, cycles, roles, leader, durations, until)


def _trait(plan: Schedule, name: str) -> Integers:
    return np.array([int(getattr(phase, name)) for phase in PHASES.values()])[plan.kind]


def _critical(rng: np.random.Generator, plan: Schedule) -> dict[str, Points]:
    """The critical points. What begins a phase comes in the order area, gap, stop or slow motion,
    so that a stop at a port is a stop near it."""
    silent = _trait(plan, "silent") == 1
    area, stopped, slow = (_trait(plan, name) for name in ("area", "stopped", "slow"))
    moving = ~silent & (stopped == 0)
    turns, changes = _repeated(rng, plan, "turning"), _repeated(rng, plan, "changing")
    ended = _after(rng, plan, ~silent & moving, 90, 180)

    def begin(state: Integers, low: int, high: int) -> Points:
        return _after(rng, plan, plan.begins(state, silent), low, high)

    def end(state: Integers) -> Points:
        return _at_end(rng, plan, plan.ends(state, silent), 6, 15)

    return {
        "entersArea": begin(area, 1, 5),
        "leavesArea": end(area),
        "gap_start": _after(rng, plan, silent, 10, 19),
        "gap_end": _at_end(rng, plan, silent, -5, -1),
        "stop_start": begin(stopped, 20, 60),
        "stop_end": end(stopped),
        "slow_motion_start": begin(slow, 20, 60),
        "slow_motion_end": end(slow),
        "change_in_speed_start": _joined(_after(rng, plan, moving, 20, 60), changes),
        "change_in_speed_end": _joined(ended, _moved(plan, changes, 60)),
        "change_in_heading": _joined(_after(rng, plan, moving, 61, 89), turns),
    }


def _after(rng: np.random.Generator, plan: Schedule, mask: Booleans, low: int, high: int) -> Points:
    rows = np.flatnonzero(mask)
    return _within(plan, rows, plan.start[rows] + rng.integers(low, high + 1, len(rows)))


def _at_end(
    rng: np.random.Generator, plan: Schedule, mask: Booleans, low: int, high: int
) -> Points:
    rows = np.flatnonzero(mask)
    return _within(plan, rows, plan.end[rows] + rng.integers(low, high + 1, len(rows)))


def _repeated(rng: np.random.Generator, plan: Schedule, trait: str) -> Points:
    """Events again and again during the phases of a trait, clear of the edges of the phase."""
    start, end = plan.start + 200, plan.end - 200
    counts = np.where(_trait(plan, trait) == 1, (end - start) // TURN_EVERY, 0)
    rows, times = samples(rng, start, end, counts)
    return _within(plan, rows, times)


def _within(plan: Schedule, rows: Integers, times: Integers) -> Points:
    kept = times <= plan.until
    return Points(rows[kept], times[kept])


def _moved(plan: Schedule, points: Points, seconds: int) -> Points:
    return _within(plan, points.row, points.time + seconds)


def _joined(first: Points, second: Points) -> Points:
    return Points(
        np.concatenate((first.row, second.row)), np.concatenate((first.time, second.time))
    )


def _first(critical: dict[str, Points], budget: int) -> dict[str, Points]:
    """The critical points that a short stream has room for, the earliest."""
    times = np.sort(np.concatenate([points.time for points in critical.values()]))
    if len(times) <= budget:
        return critical
    room, limit = budget, times[budget]
    chosen = {}
    for name, points in critical.items():
        rows = np.flatnonzero(points.time <= limit)[:room]
        chosen[name] = Points(points.row[rows], points.time[rows])
        room -= len(rows)
    return chosen


def _columns(
    rng: np.random.Generator, plan: Schedule, points: Points, late: float, name: str
) -> dict[str, Column]:
    vessel = plan.entity[points.row]
    columns: dict[str, Column] = {"occurrence": points.time, "vessel": FIRST_VESSEL + vessel}
    if name in ("entersArea", "leavesArea"):
        columns["area"] = _areas(vessel, _trait(plan, "area")[points.row])
    return _arriving(rng, columns, late)


def _areas(vessel: Integers, kind: Integers) -> pa.Array:
    """The area of a kind that a vessel keeps to; pairs of vessels keep to the same ones."""
    labels, offsets = area_names()
    counts = np.array([1, *AREAS.values()])
    return names(offsets[kind] + vessel // 2 % counts[kind], labels)


def _arriving(
    rng: np.random.Generator, columns: dict[str, Column], late: float
) -> dict[str, Column]:
    occurrence = np.asarray(columns["occurrence"])
    return {"arrival": occurrence + lags(rng, len(occurrence), late, LAG), **columns}


def _velocity(
    rng: np.random.Generator, plan: Schedule, types: Integers, total: int
) -> dict[str, Column]:
    """Velocities spread over the phases that are not silent, by their length."""
    end = np.minimum(plan.end, plan.until)
    lengths = np.where(_trait(plan, "silent") == 1, 0, end - plan.start)
    row, time = samples(rng, plan.start + 1, end + 1, spread(lengths, total))
    speed = np.round(_speed(rng, plan, types, row), 1)
    course = _course(rng, plan, row)
    return {
        "occurrence": time,
        "vessel": FIRST_VESSEL + plan.entity[row],
        "speed": speed,
        "course": course,
        "heading": _heading(rng, plan, row, course),
    }


def _speed(rng: np.random.Generator, plan: Schedule, types: Integers, row: Integers) -> Floats:
    """A speed for the whole phase, within the bounds of its kind, and some sway around it."""
    phases = np.array([(phase.slowest, phase.fastest) for phase in PHASES.values()])
    average = np.array([speeds[2] for speeds in TYPE_SPEEDS.values()], dtype=np.float64)
    least, most = phases[plan.kind].T
    unit = np.where(_trait(plan, "relative") == 1, average[types[plan.entity]], 1.0)
    steady = (least + rng.random(len(plan)) * (most - least)) * unit
    speed: Floats = steady[row] * (1.0 + 0.04 * rng.standard_normal(len(row)))
    return np.maximum(0.0, speed)


def _course(rng: np.random.Generator, plan: Schedule, row: Integers) -> Floats:
    """A course for the whole phase; one that turns goes to and fro."""
    steady = rng.uniform(0.0, 360.0, len(plan))[row]
    sway = np.where(_trait(plan, "turning")[row] == 1, 60.0, 4.0)
    tenths = np.rint((steady + sway * rng.standard_normal(len(row))) * 10)
    return np.mod(tenths, 3600) / 10


def _heading(rng: np.random.Generator, plan: Schedule, row: Integers, course: Floats) -> Integers:
    """The course, some degrees off; far off for a vessel adrift; sometimes unknown."""
    adrift = _trait(plan, "adrift")[row] == 1
    off = np.where(adrift, 75.0, 0.0) + 5.0 * rng.standard_normal(len(row))
    heading = np.mod(np.rint(course + off), 360).astype(np.int64)
    return np.where(rng.random(len(row)) < 0.02, UNKNOWN_HEADING, heading)


def _proximity(
    rng: np.random.Generator, plan: Schedule, roles: Integers, leader: Integers
) -> dict[str, Integers]:
    """Intervals of pairs that work together, and of vessels that meet by chance on the way."""
    entities = len(roles)
    ours = (leader[plan.entity] == plan.entity) & (plan.entity + 1 < entities)
    together = np.where(ours, _trait(plan, "together"), 0)
    never = np.zeros(len(plan), dtype=np.bool_)
    first = np.flatnonzero(plan.begins(together, never))
    last = np.flatnonzero(_closes(plan, together))
    chance = np.flatnonzero(_chances(rng, plan, entities))
    other = (plan.entity[chance] + rng.integers(2, max(3, entities - 1), len(chance))) % entities
    begun = plan.start[chance] + 120
    return _disjoint(
        np.concatenate((plan.entity[first], plan.entity[chance])),
        np.concatenate((plan.entity[first] + 1, other)),
        np.concatenate((plan.start[first] + 60, begun)),
        np.concatenate((plan.end[last] - 60, begun + rng.integers(60, 600, len(chance)))),
        plan.until,
    )


def _closes(plan: Schedule, together: Integers) -> Booleans:
    """The last phase of each run of phases spent together, the last one of all included."""
    following = np.concatenate((together[1:], [0]))
    same = np.concatenate((plan.entity[1:] == plan.entity[:-1], [False]))
    closes: Booleans = (together == 1) & ~(same & (following == 1))
    return closes


def _chances(rng: np.random.Generator, plan: Schedule, entities: int) -> Booleans:
    """One open-sea phase in ten; none when there are too few vessels to meet a stranger."""
    area = _trait(plan, "area")
    at_sea = (area == NO_AREA) & (_trait(plan, "silent") == 0)
    chances: Booleans = at_sea & (entities > 3) & (rng.random(len(plan)) < 0.1)
    return chances


def _disjoint(
    vessel: Integers, other: Integers, start: Integers, end: Integers, until: int
) -> dict[str, Integers]:
    """Cut at the end of the stream, order the vessels of chance pairs, and drop what overlaps."""
    low, high = np.minimum(vessel, other), np.maximum(vessel, other)
    end = np.minimum(end, until)
    kept = (start < end) & (low != high)
    order = np.lexsort((start[kept], high[kept], low[kept]))
    low, high, start, end = (column[kept][order] for column in (low, high, start, end))
    pair = np.cumsum(np.concatenate(([0], (low[1:] != low[:-1]) | (high[1:] != high[:-1]))))[
        : len(low)
    ]
    # Far apart in time, the pairs do not touch, so one running maximum serves all of them.
    far = pair * (until + 1)
    reached = np.concatenate(([-1], np.maximum.accumulate(end + far)[:-1]))[: len(low)]
    free = start + far > reached
    return {
        "start": start[free],
        "end": end[free],
        "vessel1": FIRST_VESSEL + low[free],
        "vessel2": FIRST_VESSEL + high[free],
    }


def _intervals(
    rng: np.random.Generator, columns: dict[str, Integers], late: float, rows: int
) -> pa.Table:
    cut = {name: column[:rows] for name, column in columns.items()}
    return relation(
        {
            "arrival": cut["end"] + lags(rng, rows, late, LAG),
            "start": cut["start"],
            "end": cut["end"],
            "value": constant("true", rows),
            "vessel1": cut["vessel1"],
            "vessel2": cut["vessel2"],
        }
    )


if __name__ == "__main__":
    run("Make records for the maritime application.", generate, facts, entities=100)
