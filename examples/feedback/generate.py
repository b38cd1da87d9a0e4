"""Make records for the feedback application: organisms that meet antigens, phages, drugs and rays.

    python -m examples.feedback.generate --events 100000 --entities 2000 --output DIR

One half of the organisms are animals with an immune response, the other half are cells that phages
infect. What happens to them comes at random times, and the loops do the rest. With four hundred
records, and twenty organisms, every fluent comes about.
"""

from __future__ import annotations

import numpy as np

from examples.records import Column, Integers, Relations, lags, names, relation, run
from examples.schedule import horizon

PACE = 30
"""Mean time between two records of one organism."""

EVENTS = ("inoculate", "medicate", "infect", "irradiate")
SHARES = (0.75, 0.25)
"""How often each of the two events of a kind of organism happens."""

DELAYS = {
    "antigen": (1, 6), "helper": (4, 5), "suppressor": (9, 8), "antibody": (5, 25),
    "n": (1, 3), "ci": (5, 9), "cro": (7, 8), "lysis": (10, 1),
}  # fmt: skip
"""How long after a call a level is high, and how long after repression it no longer is."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` events of `entities` organisms, as one table a relation.

    The same arguments give the same records. The stream lasts `PACE` for each record of an
    organism. A share `late` of the records arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    occurrence = np.sort(rng.integers(1, horizon(events, entities, PACE) + 1, events))
    organism = rng.integers(0, entities, events)
    kind = 2 * (organism % 2) + rng.choice(2, events, p=SHARES)
    arrival = occurrence + lags(rng, events, late, PACE)
    organisms = _organisms(entities)

    def columns(own: Integers) -> dict[str, Column]:
        return {
            "arrival": arrival[own],
            "occurrence": occurrence[own],
            "organism": names(organism[own], organisms),
        }

    return {
        name: relation(columns(np.flatnonzero(kind == number)))
        for number, name in enumerate(EVENTS)
    }


def facts(entities: int = 1) -> str:
    """The background facts: the delays, which are the same for any number of organisms."""
    lines = ["% How long after a call a level is high, and after repression no longer is.", ""]
    for name, (up, down) in DELAYS.items():
        lines += [f"delay({name}, up, {up}).", f"delay({name}, down, {down})."]
    return "\n".join(lines) + "\n"


def _organisms(entities: int) -> list[str]:
    return [f"{('animal', 'cell')[number % 2]}{number}" for number in range(entities)]


if __name__ == "__main__":
    run("Make records for the feedback application.", generate, facts, entities=100)
