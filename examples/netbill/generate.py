"""Make records for the NetBill application: merchants and consumers who deal with one another.

    python -m examples.netbill.generate --events 100000 --entities 2000 --output DIR

Agents live in markets of 40, half of them merchants, and deal within their market only. A deal is
a quote and what comes of it: some are asked for, prolonged, accepted, paid, delivered; some of that
comes too late or not at all. With two hundred records, and forty agents, every fluent comes about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from examples.records import Booleans, Column, Integers, Relations, lags, names, relation, run
from examples.schedule import horizon

PACE = 10
"""Mean time between two records of one agent."""

MARKET = 40
"""Agents of a market."""

GOODS = 12
LAST_DEALS = 20
"""How long before the end of a stream the last deals begin."""

TERMS = {
    "quoteStands": 6, "quoteExpires": 3, "unsolicited": 10, "contract": 12, "suspension": 25,
}  # fmt: skip
"""How long what lasts."""

EVENTS = {
    "request_quote": ("consumer", "merchant", "good"),
    "present_quote": ("merchant", "consumer", "good", "price"),
    "accept_quote": ("consumer", "merchant", "good"),
    "send_EPO": ("consumer", "merchant", "good"),
    "send_goods": ("merchant", "consumer", "good"),
}
REQUEST, PRESENT, ACCEPT, PAY, DELIVER = range(5)


@dataclass(frozen=True, slots=True)
class Moves:
    """What is done in deals: one row a record, its kind, its deal and its time."""

    kind: Integers
    deal: Integers
    time: Integers


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` events among `entities` agents, as one table a relation.

    The same arguments give the same records. The stream lasts `PACE` for each record of an agent.
    A share `late` of the records arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    until = horizon(events, entities, PACE)
    deals = events // 2 + 2
    moves = _first(_moves(rng, deals, until), events)
    merchant, consumer = _pairs(rng, deals, entities)
    good = rng.integers(0, GOODS, deals)
    arrival = moves.time + lags(rng, events, late, PACE)
    agents = _agents(entities)

    def table(kind: int, name: str) -> pa.Table:
        of_kind = moves.kind == kind
        deal = moves.deal[of_kind]
        parts: dict[str, Column] = {
            "merchant": names(merchant[deal], agents),
            "consumer": names(consumer[deal], agents),
            "good": names(good[deal], _goods()),
            "price": 5 + (deal * 7 + good[deal]) % 90,
        }
        times: dict[str, Column] = {
            "arrival": arrival[of_kind],
            "occurrence": moves.time[of_kind],
        }
        return relation(times | {column: parts[column] for column in EVENTS[name]})

    return {name: table(kind, name) for kind, name in enumerate(EVENTS)}


def _moves(rng: np.random.Generator, deals: int, until: int) -> Moves:
    """All that happens in so many deals, at least two records each, by deal and time."""
    start = rng.integers(1, max(2, until - LAST_DEALS + 1), deals)
    asked, again, accepted = (rng.random(deals) < share for share in (0.7, 0.3, 0.65))
    again |= ~asked & ~accepted
    asked_again = again & (rng.random(deals) < 0.5)
    presented = start + np.where(asked, rng.integers(1, 4, deals), 0)
    prolonged = presented + rng.integers(2, 7, deals)
    stands = np.where(again, prolonged, presented)
    agreed = stands + rng.integers(1, 11, deals)
    paid = agreed + rng.integers(1, 15, deals)
    delivered = agreed + rng.integers(1, 15, deals)
    steps: list[tuple[int, Integers, Booleans]] = [
        (REQUEST, start, asked),
        (PRESENT, presented, np.ones(deals, dtype=np.bool_)),
        (REQUEST, prolonged - 1, asked_again),
        (PRESENT, prolonged, again),
        (ACCEPT, agreed, accepted),
        (PAY, paid, accepted & (rng.random(deals) < 0.9)),
        (DELIVER, delivered, accepted & (rng.random(deals) < 0.9)),
    ]
    done = np.stack([happens for _, _, happens in steps], axis=1)
    deal, step = np.nonzero(done)
    times = np.stack([time for _, time, _ in steps], axis=1)[deal, step]
    kinds = np.array([kind for kind, _, _ in steps])[step]
    return Moves(kinds, deal, np.minimum(times, until))


def _first(moves: Moves, events: int) -> Moves:
    """So many records: those of the first deals, in the order of time."""
    order = np.argsort(moves.time[:events], kind="stable")
    return Moves(moves.kind[order], moves.deal[order], moves.time[order])


def _pairs(rng: np.random.Generator, deals: int, entities: int) -> tuple[Integers, Integers]:
    """A merchant and a consumer of one market for each deal; agents are numbered by market."""
    agents = max(2, entities)
    one = rng.integers(0, agents, deals)
    market = one // MARKET * MARKET
    size = np.minimum(MARKET, agents - market)
    # A last market of one agent would have nobody to deal with: it joins the one before.
    market = np.where(size < 2, market - MARKET, market)
    size = np.minimum(MARKET, agents - market)
    merchant = market + 2 * rng.integers(0, (size + 1) // 2)
    consumer = market + 1 + 2 * rng.integers(0, size // 2)
    return merchant, consumer


def _agents(entities: int) -> list[str]:
    return [f"{'mc'[number % 2]}{number}" for number in range(max(2, entities))]


def _goods() -> list[str]:
    return [f"g{number}" for number in range(GOODS)]


def facts(entities: int = 80) -> str:
    """The background facts for that many agents: their roles, and how long what lasts."""
    terms = [f"terms({name}, {length})." for name, length in TERMS.items()]
    roles = [
        f"role({agent}, {'merchant' if agent[0] == 'm' else 'consumer'})."
        for agent in _agents(entities)
    ]
    return "\n".join(["% How long what lasts, and who is what.", "", *terms, "", *roles]) + "\n"


if __name__ == "__main__":
    run("Make records for the NetBill application.", generate, facts, entities=200)
