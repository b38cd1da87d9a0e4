"""Fluents of two entities, walked and by columns: the status of motions in committees.

    python benchmarks/pairs.py [--events 100000 1000000]

The rules are those of voting about committee and motion alone; then also the votes of members and
sanctions of those who vote at another time, which have other keys. For each number of events: one
window, 24 windows that overlap, and the last queries of a session whose window holds four fifths of
them, the least of three: one that gives keys new numbers takes longer, once for four times as many
keys. Processor time of one core; both ways are measured in one run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402
from benchmarks.delays import best  # noqa: E402
from cernis.evaluate.run import Run  # noqa: E402
from cernis.plan import Plan  # noqa: E402
from cernis.session.session import Session  # noqa: E402
from examples.voting import generate as voting  # noqa: E402

ENTITIES = 2000
QUERIES, MEASURED = 20, 3
POWERS = """
pow(second(K, M))=true iff status(K, M)=proposed.
pow(vote(K, M))=true iff status(K, M)=voting.
may_close(K, M)=true iff status(K, M)=voting for at least R, deadline(earliest_close, R).
"""
OTHER_KEYS = """
initiatedAt(voted(A, K, M)=Vote, T) :-
    happensAt(vote(A, K, M, Vote), T), seat(K, A), holdsAt(status(K, M)=voting, T).
initiatedAt(sanctioned(A)=true, T) :-
    happensAt(vote(A, K, M, _Vote), T), seat(K, A), \\+ holdsAt(status(K, M)=voting, T).
sanctioned(_A)=true expires after R unless renewed :- deadline(sanction, R).
"""
GUARD = ",\n    \\+ holdsAt(proposer(K, M)=A, T)"
"""Asks for a value that may be any; runs over one window leave that to columns."""


class WalkedRun(Run):
    """Walks whatever can be."""

    may_walk = True  # type: ignore[assignment]


class ColumnsRun(Run):
    """Walks nothing."""

    may_walk = False  # type: ignore[assignment]


def plan_of_pairs(more: str = "") -> Plan:
    """The rules of voting about status, and what follows from it."""
    text = (ROOT / "examples/voting/rules.cer").read_text("utf-8")
    status = text[: text.index("initiatedAt(proposer")].replace(GUARD, "")
    return cernis.load(status + POWERS + more + voting.facts(ENTITIES)).plan


def last_of(tables: dict[str, pa.Table]) -> int:
    """The time of the last event."""
    return max(int(table.column("occurrence").to_numpy().max()) for table in tables.values())


def runs(plan: Plan, tables: dict[str, pa.Table]) -> None:
    """Print what runs cost."""
    last = last_of(tables)
    for title, window, step in (
        ("one window", None, None),
        ("24 windows", last // 6, last // 24),
    ):
        costs = [_run_cost(kind(plan), tables, window, step) for kind in (WalkedRun, ColumnsRun)]
        _tell(title, *costs)


def _run_cost(run: Run, tables: dict[str, pa.Table], window: int | None, step: int | None) -> float:
    first = {name: table.slice(0, 1000) for name, table in tables.items()}
    type(run)(run.plan).over(first)  # compiles what has not been
    return best(lambda: type(run)(run.plan).over(tables, window=window, step=step), 3)[0]


def session(plan: Plan, tables: dict[str, pa.Table]) -> None:
    """Print what a query of a session costs, by the better of two ways of columns."""
    step = -(-last_of(tables) // QUERIES)
    walked, changes, scratch = (
        _query_cost(Session(plan, 16 * step, step, 0, incremental=each), tables, step)
        for each in (None, True, False)
    )
    _tell("session, a query", walked, min(changes, scratch))


def _query_cost(asked: Session, tables: dict[str, pa.Table], step: int) -> float:
    costs = []
    for query in range(step, QUERIES * step + 1, step):
        batch = {}
        for name, table in tables.items():
            arrivals = table.column("arrival").to_numpy()
            batch[name] = table.filter(pa.array((arrivals > query - step) & (arrivals <= query)))
        begun = time.process_time()
        asked.insert(batch)
        asked.query(query).table()
        costs.append(time.process_time() - begun)
    return min(costs[-MEASURED:])


def _tell(title: str, walked: float, columns: float) -> None:
    print(
        f"{title}: walked {walked * 1e3:.1f} ms, by columns {columns * 1e3:.1f} ms, "
        f"{columns / walked:.1f} x"
    )


def main() -> None:
    """Measure for each number of events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="*", default=[100_000, 1_000_000])
    events_asked = parser.parse_args().events
    for title, more in (("one key", ""), ("with other keys", OTHER_KEYS)):
        plan = plan_of_pairs(more)
        for events in events_asked:
            tables = voting.generate(events, ENTITIES, 7)
            print(f"{title}, {events:,} events")
            runs(plan, tables)
            session(plan, tables)


if __name__ == "__main__":
    main()
