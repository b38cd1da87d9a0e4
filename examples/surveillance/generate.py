"""Make records for the surveillance application: short scenes before one camera, one by one.

    python -m examples.surveillance.generate --events 100000 --entities 10 --output DIR

Each frame gives four records for each entity that is tracked: what it does, where it is, where it
faces, and how it appears. Identifiers are given to the actors of the scenes in turn, so that one
names different actors at different times. With 40000 records every fluent of the rules comes
about.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from examples.records import (
    Booleans,
    Column,
    Integers,
    Relations,
    constant,
    lags,
    names,
    relation,
    run,
)
from examples.schedule import horizon
from examples.surveillance.scenes import ACTIVITIES, SCENES, Actor

TICK = 40
"""Milliseconds between two frames."""

SHORTEST, LONGEST = 300, 700
"""Bounds of the number of frames of a scene."""

PAUSE = 25
"""Frames between two scenes in which nobody is tracked."""

LAG = 400.0
"""Scale of the lag of late records, in milliseconds: they are 0.8 seconds late on average."""

OCCLUDED = 0.002
"""Share of frames in which a tracked entity is hidden."""


@dataclass(frozen=True, slots=True)
class Staged:
    """The scenes that are played: what, from which frame on, for how many, and by whom."""

    scene: Integers
    start: Integers
    frames: Integers
    first: Integers
    """How many actors there were before."""
    shift: Integers
    """How far to the right, and down, the whole scene is moved: two rows."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of scenes played by `entities` identifiers, `events` in all, a table a relation.

    The same arguments give the same records. Times are multiples of `TICK`, from the first on. The
    last scene breaks off when there are enough records. A share `late` of the records arrives with
    a lag; all others arrive at once. With one or two entities, only scenes for so many are played.
    """
    horizon(events, entities, 1)
    rng = np.random.default_rng(seed)
    wanted = -(-events // 4)
    seen = _seen(rng, _staged(rng, wanted, entities), wanted)
    surplus = 4 * wanted - events
    return _relations(rng, seen, entities, surplus, late)


def _staged(rng: np.random.Generator, wanted: int, entities: int) -> Staged:
    """Scenes enough for the wanted number of frames of entities: each has 150 at the least."""
    playable = np.array([at for at, actors in enumerate(SCENES) if len(actors) <= entities])
    count = wanted // (SHORTEST // 2) + 1
    scene = playable[rng.integers(0, len(playable), count)]
    # The repertoire comes first, so that short streams have something of everything.
    scene[: len(playable)] = playable[:count]
    frames = rng.integers(SHORTEST, LONGEST + 1, count)
    start = np.cumsum(frames + PAUSE) - (frames + PAUSE) + 1
    actors = np.array([len(actors) for actors in SCENES])[scene]
    shift = rng.integers(-10, 11, (2, count))
    return Staged(scene, start, frames, np.cumsum(actors) - actors, shift)


def _seen(rng: np.random.Generator, staged: Staged, wanted: int) -> dict[str, Integers]:
    """One row for each entity in each frame: the first `wanted` of them, by scene and actor."""
    lengths = staged.frames * np.array([_presence(actors) for actors in SCENES])[staged.scene]
    kept = int(np.searchsorted(np.cumsum(lengths), wanted)) + 2
    parts = []
    for number, actors in enumerate(SCENES):
        played = np.flatnonzero(staged.scene[:kept] == number)
        for place, actor in enumerate(actors):
            parts.append(_track(rng, staged, played, place, actor))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["frame"], columns["actor"]))[:wanted]
    return {name: column[order] for name, column in columns.items()}


def _presence(actors: tuple[Actor, ...]) -> float:
    """How many actors of a scene are seen on average."""
    return sum(actor.times[-1] - actor.times[0] for actor in actors)


def _track(
    rng: np.random.Generator, staged: Staged, played: Integers, place: int, actor: Actor
) -> dict[str, Integers]:
    """All frames of one actor, in all scenes of one kind."""
    frames = staged.frames[played]
    first = np.ceil(actor.times[0] * frames).astype(np.int64)
    counts = np.floor(actor.times[-1] * frames).astype(np.int64) - first
    row = np.repeat(np.arange(len(played)), counts)
    at = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    time = (first[row] + at) / frames[row]
    stretch = np.clip(np.searchsorted(actor.times, time, side="right") - 1, 0, None)
    shift = staged.shift[:, played][:, row]
    wobble = rng.integers(-1, 2, (3, len(row)))
    across = np.interp(time, actor.times, actor.across)
    down = np.interp(time, actor.times, actor.down)
    return {
        "frame": staged.start[played][row] + first[row] + at,
        "actor": staged.first[played][row] + place,
        "x": np.rint(across).astype(np.int64) + shift[0] + wobble[0],
        "y": np.rint(down).astype(np.int64) + shift[1] + wobble[1],
        "angle": (np.array(actor.orientations())[stretch] + 4 * wobble[2]) % 360,
        "activity": np.array(actor.activities)[stretch],
        "edge": (at == 0) * 1 + (at == counts[row] - 1) * 2,
    }


def _relations(
    rng: np.random.Generator, seen: dict[str, Integers], entities: int, surplus: int, late: float
) -> Relations:
    """The records of all rows; of the last row, `surplus` records are left out."""
    rows = len(seen["frame"])
    last = np.arange(rows) == rows - 1
    edge = np.where(last & (surplus > 0), 4, seen["edge"])
    labels = [f"id{number}" for number in range(entities)]
    hidden = (rng.random(rows) < OCCLUDED).astype(np.int64)

    def part(mask: Booleans, value: Column | None, **more: Integers) -> pa.Table:
        occurrence = TICK * seen["frame"][mask]
        columns: dict[str, Column] = {
            "arrival": occurrence + lags(rng, len(occurrence), late, LAG),
            "occurrence": occurrence,
        }
        if value is not None:
            columns["value"] = value
        columns["id"] = names(seen["actor"][mask] % entities, labels)
        return relation(columns | {name: column[mask] for name, column in more.items()})

    placed, faced = ~(last & (surplus > 2)), ~(last & (surplus > 1))
    tables = {"appear": part(edge == 1, None), "disappear": part(edge == 2, None)}
    for code, activity in enumerate(ACTIVITIES):
        mask = seen["activity"] == code
        tables[activity] = part(mask, constant("true", int(mask.sum())))
    true = constant("true", int(placed.sum()))
    tables["coord"] = part(placed, true, x=seen["x"], y=seen["y"])
    tables["orientation"] = part(faced, seen["angle"][faced])
    visible = names(hidden[edge == 0], ["visible", "occluded"])
    tables["appearance"] = part(edge == 0, visible)
    return tables


def facts(entities: int = 10) -> str:
    """The background facts: distances and angles, the same for any number of entities."""
    del entities
    return (Path(__file__).parent / "facts.cer").read_text(encoding="utf-8")


if __name__ == "__main__":
    run("Make records for the surveillance application.", generate, facts, entities=10)
