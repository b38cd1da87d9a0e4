"""Make records for the voting application: committees that vote on motions.

    python -m examples.voting.generate --events 100000 --entities 200 --output DIR

A committee has a chair and eight other members, and deals with one motion after the other, some of
them at the same time. Motions lapse, ballots are closed too soon or not at all, and chairs declare
what is not so or forget to. With a thousand records, and ten committees, every fluent comes about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from examples.records import Booleans, Column, Integers, Relations, lags, names, relation, run
from examples.schedule import horizon

PACE = 4
"""Mean time between two records of one committee."""

LAST_MOTIONS = 40
"""How long before the end of a stream the last motions are proposed."""

MEMBERS = 9
"""Members of a committee; the first is its chair."""

DEADLINES = {"second": 6, "ballot": 20, "earliest_close": 8, "declare": 5, "sanction": 30}
"""How long what may last."""

EVENTS = {
    "propose": ("agent", "committee", "motion"),
    "second": ("agent", "committee", "motion"),
    "vote": ("agent", "committee", "motion", "vote"),
    "close_ballot": ("agent", "committee", "motion"),
    "declare": ("agent", "committee", "motion", "outcome"),
}
PROPOSE, SECOND, VOTE, CLOSE, DECLARE = range(5)


@dataclass(frozen=True, slots=True)
class Acts:
    """What is done: one row a record, its kind, its motion, who of the committee, and when.

    `word` says which vote is cast, or what is declared.
    """

    kind: Integers
    motion: Integers
    member: Integers
    word: Integers
    time: Integers


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` acts in `entities` committees, as one table a relation.

    The same arguments give the same records. The stream lasts `PACE` for each record of a
    committee. A share `late` of the records arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    until = horizon(events, entities, PACE)
    # A motion has eleven records on average: more than enough for any stream.
    motions = events // 6 + 10
    acts = _first(_acts(rng, motions, until), events)
    committee = rng.integers(0, entities, motions)[acts.motion]
    arrival = acts.time + lags(rng, events, late, PACE)
    agents = _agents(entities)

    def table(kind: int, name: str) -> pa.Table:
        own = acts.kind == kind
        parts: dict[str, Column] = {
            "agent": names((committee * MEMBERS + acts.member)[own], agents),
            "committee": names(committee[own], _committees(entities)),
            "motion": acts.motion[own],
            "vote": names(acts.word[own], ["nay", "aye"]),
            "outcome": names(acts.word[own], ["not_carried", "carried"]),
        }
        times: dict[str, Column] = {"arrival": arrival[own], "occurrence": acts.time[own]}
        return relation(times | {column: parts[column] for column in EVENTS[name]})

    return {name: table(kind, name) for kind, name in enumerate(EVENTS)}


def _acts(rng: np.random.Generator, motions: int, until: int) -> Acts:
    """All acts about so many motions, at least two each, by motion."""
    width = 2 + MEMBERS + 3
    done = np.ones((motions, width), dtype=np.bool_)
    member = rng.integers(0, MEMBERS, (motions, width))
    time = np.zeros((motions, width), dtype=np.int64)
    time[:, 0] = rng.integers(1, max(2, until - LAST_MOTIONS + 1), motions)
    time[:, 1] = time[:, 0] + rng.integers(1, 8, motions)
    # A member who seconds the own motion does so in vain; a few do.
    own = rng.random(motions) < 0.05
    member[:, 1] = np.where(own, member[:, 0], (member[:, 0] + 1 + member[:, 1] % 8) % MEMBERS)
    member[:, 2 : 2 + MEMBERS] = np.arange(MEMBERS)
    time[:, 2 : 2 + MEMBERS] = time[:, 1:2] + rng.integers(1, 22, (motions, MEMBERS))
    done[:, 2 : 2 + MEMBERS] = rng.random((motions, MEMBERS)) < 0.85
    _chairs(rng, done, member, time)
    word = (rng.random((motions, width)) < rng.random((motions, 1))).astype(np.int64)
    kind = np.array([PROPOSE, SECOND, *([VOTE] * (MEMBERS + 1)), CLOSE, DECLARE])
    motion, step = np.nonzero(done)
    flat = (motion, step)
    return Acts(kind[step], motion, member[flat], word[flat], np.minimum(time[flat], until))


def _chairs(rng: np.random.Generator, done: Booleans, member: Integers, time: Integers) -> None:
    """Fill in the last three acts: one vote more, the closing of the ballot, the declaration."""
    motions = len(done)
    time[:, -3] = time[:, 1] + rng.integers(1, 30, motions)
    done[:, -3] = rng.random(motions) < 0.2
    time[:, -2] = time[:, 1] + rng.integers(5, 20, motions)
    done[:, -2] = rng.random(motions) < 0.8
    closed = np.where(done[:, -2], time[:, -2], time[:, 1] + DEADLINES["ballot"])
    time[:, -1] = closed + rng.integers(1, 7, motions)
    done[:, -1] = rng.random(motions) < 0.9
    member[:, -2:] = 0


def _first(acts: Acts, events: int) -> Acts:
    """So many records: those about the first motions, in the order of time."""
    order = np.argsort(acts.time[:events], kind="stable")
    return Acts(*(getattr(acts, name)[order] for name in acts.__slots__))


def _committees(entities: int) -> list[str]:
    return [f"k{number}" for number in range(entities)]


def _agents(entities: int) -> list[str]:
    return [f"{name}_{member}" for name in _committees(entities) for member in range(MEMBERS)]


def facts(entities: int = 12) -> str:
    """The background facts for that many committees: deadlines, chairs and members."""
    lines = ["% How long what may last, and who sits in which committee.", ""]
    lines += [f"deadline({name}, {length})." for name, length in DEADLINES.items()]
    for name in _committees(entities):
        agents = [f"{name}_{member}" for member in range(MEMBERS)]
        lines += ["", f"chair({name}, {agents[0]}).", *(f"seat({name}, {a})." for a in agents)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run("Make records for the voting application.", generate, facts, entities=20)
