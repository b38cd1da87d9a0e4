"""Make records for the trading application: prices that wander, and orders.

python -m examples.trading.generate --events 100000 --entities 50 --output DIR
"""

from __future__ import annotations

import numpy as np

from examples.records import Relations, lags, names, relation, run
from examples.schedule import horizon

PACE = 20
"""Mean seconds between two records of a share."""

ORDERS = 0.06
"""The share of records that are orders; most of them are filled or cancelled."""


def generate(events: int, entities: int, seed: int, *, late: float = 0.0) -> Relations:
    """Records of `events` events of `entities` shares, whose prices go up and down.

    The same arguments give the same records. A share `late` of them arrives with a lag.
    """
    rng = np.random.default_rng(seed)
    end = horizon(events, entities, PACE)
    orders = int(events * ORDERS)
    done = int(orders * 0.9)
    prices = events - orders - done
    share = rng.integers(0, entities, prices)
    time = np.sort(rng.integers(1, end + 1, prices))
    price = np.maximum(1.0, np.round(50 + _walks(rng, share, entities), 1))
    placed = np.sort(rng.integers(1, end + 1, orders))
    filled = rng.random(done) < 0.7
    later = placed[:done] + rng.integers(1, 300, done)
    shares, numbers = _shares(entities), [f"order{at}" for at in range(1, orders + 1)]
    of_order = np.arange(orders)
    return {
        "price": relation({
            "arrival": time + lags(rng, prices, late, PACE), "occurrence": time,
            "share": names(share, shares), "price": price,
        }),
        "order": relation({
            "arrival": placed + lags(rng, orders, late, PACE), "occurrence": placed,
            "order": names(of_order, numbers),
            "share": names(rng.integers(0, entities, orders), shares),
        }),
        **{
            name: relation({
                "arrival": later[own] + lags(rng, int(own.sum()), late, PACE),
                "occurrence": later[own], "order": names(of_order[:done][own], numbers),
            })
            for name, own in (("fill", filled), ("cancel", ~filled))
        },
    }  # fmt: skip


def _walks(rng: np.random.Generator, share: np.ndarray, entities: int) -> np.ndarray:
    """A wandering value of each share, row by row."""
    order = np.argsort(share, kind="stable")
    steps = rng.normal(0, 1.5, len(share))
    walked = np.cumsum(steps)
    first = np.searchsorted(share[order], np.arange(entities))
    before = np.concatenate([[0.0], walked])[first]
    found = np.empty(len(share))
    found[order] = walked - before[share[order]]
    return 25 * np.sin(found / 25)


def facts(entities: int = 50) -> str:
    """The shares there are; no rule needs more of the background."""
    head = "% The shares there are."
    return "\n".join([head, "", *(f"share({name})." for name in _shares(entities))]) + "\n"


def _shares(entities: int) -> list[str]:
    return [f"share{number}" for number in range(1, entities + 1)]


if __name__ == "__main__":
    run("Make records for the trading application.", generate, facts, entities=50)
