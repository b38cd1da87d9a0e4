"""Make records for the jetstream application: aeroplanes, turbulence, and a stream of places.

python -m examples.jetstream.generate --events 100000 --entities 200 --output DIR
"""

from __future__ import annotations

import numpy as np

from examples.records import Relations, lags, names, relation, run
from examples.schedule import horizon

PACE = 60
"""Mean seconds between two records of an aeroplane."""

PLACES = 40
KINDS = {"airplane": 0.9, "turbulence": 0.02, "leaves": 0.08}
"""The share of each kind of event."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` events of `entities` aeroplanes, at random times and places.

    The same arguments give the same records. A share `late` of them arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(1, horizon(events, entities, PACE) + 1, events))
    kind = rng.choice(len(KINDS), events, p=list(KINDS.values()))
    arrival = time + lags(rng, events, late, PACE)
    plane = names(rng.integers(0, entities, events), [f"plane{at}" for at in range(entities)])
    place = names(rng.integers(0, PLACES, events), _places())
    arguments = {
        "airplane": {"plane": plane, "place": place}, "turbulence": {"place": place},
        "leaves": {"plane": plane},
    }  # fmt: skip
    found = {}
    for at, (name, own) in enumerate(arguments.items()):
        rows = np.flatnonzero(kind == at)
        columns = {title: column.take(rows) for title, column in own.items()}
        times = {"arrival": arrival[rows], "occurrence": time[rows]}
        found[name] = relation({**times, **columns})
    return found


def facts(entities: int = 0) -> str:
    """The links of the jet stream: two branches that meet. They are the same for all aeroplanes."""
    links = [(at, at + 1) for at in range(1, PLACES // 2)]
    links += [(at, at + 1) for at in range(PLACES // 2 + 1, PLACES)]
    links.append((PLACES, PLACES // 4))
    head = "% Which place the jet stream leads to from each."
    lines = [f"linked(place{one}, place{other})." for one, other in links]
    return "\n".join([head, "", *lines]) + "\n"


def _places() -> list[str]:
    return [f"place{number}" for number in range(1, PLACES + 1)]


if __name__ == "__main__":
    run("Make records for the jetstream application.", generate, facts, entities=200)
