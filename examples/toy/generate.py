"""Make records for the toy application: people who move about, win and lose.

python -m examples.toy.generate --events 1000 --entities 5 --output DIR
"""

from __future__ import annotations

import numpy as np

from examples.records import Column, Integers, Relations, lags, names, relation, run
from examples.schedule import horizon

PLACES = ["home", "pub", "work"]
KINDS = {"go_to": 0.8, "win_lottery": 0.1, "lose_wallet": 0.1}
"""The share of each kind of event."""

PACE = 10
"""Mean time between two events of one person."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` events of `entities` people, at random times and of random kinds.

    The same arguments give the same records. A share `late` of them arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    occurrence = np.sort(rng.integers(1, horizon(events, entities, PACE) + 1, events))
    person = rng.integers(0, entities, events)
    kind = rng.choice(len(KINDS), events, p=list(KINDS.values()))
    arrival = occurrence + lags(rng, events, late, PACE)
    people = _people(entities)

    def columns(number: int) -> dict[str, Column]:
        of_kind = kind == number
        return {
            "arrival": arrival[of_kind],
            "occurrence": occurrence[of_kind],
            "person": names(person[of_kind], people),
        }

    places = names(_places(rng, int((kind == 0).sum())), PLACES)
    return {
        "go_to": relation({**columns(0), "place": places}),
        "win_lottery": relation(columns(1)),
        "lose_wallet": relation(columns(2)),
    }


def facts(entities: int = 1) -> str:
    """The background facts for that many people; the first of them is chris."""
    people = [f"person({person})." for person in _people(entities)]
    places = [f"place({place})." for place in PLACES]
    head = "% Who there is, and where one can go."
    return "\n".join([head, "", *people, "", *places]) + "\n"


def _people(entities: int) -> list[str]:
    return ["chris", *(f"person{number}" for number in range(1, entities))][:entities]


def _places(rng: np.random.Generator, rows: int) -> Integers:
    return rng.integers(0, len(PLACES), rows)


if __name__ == "__main__":
    run("Make records for the toy application.", generate, facts, entities=10)
