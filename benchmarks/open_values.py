"""Fluents that take any value: walked in lanes with registers, and by columns.

    python benchmarks/open_values.py [--events 1000000] [--keys 500] [--values 20000]

People go to places, of which rules name one; whether someone has moved is a guard. Times are
processor times, the best of several; both ways are checked to give the same intervals.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sorts import pin_sort

if __name__ == "__main__":
    pin_sort()

import numpy as np
import pyarrow as pa

import cernis
from cernis.evaluate.answer import Answer
from cernis.evaluate.run import Run
from cernis.evaluate.sweep.lane_state import LaneChanges, LaneState

SEED = 1
SHARES = {"go_to": 0.66, "win_lottery": 0.14, "lose_wallet": 0.14, "lost": 0.06}
RULES = """
:- event([go_to(person:text, place:text), win_lottery(person:text), lose_wallet(person:text),
          lost(person:text)]).
initiatedAt(location(P)=Place, T) :- happensAt(go_to(P, Place), T).
terminatedAt(location(P)=_, T) :- happensAt(lost(P), T).
initiatedAt(rich(P)=true, T) :- happensAt(win_lottery(P), T).
terminatedAt(rich(P)=true, T) :- happensAt(lose_wallet(P), T).
holdsFor(happy(P)=true, I) :-
    holdsFor(rich(P)=true, Rich), holdsFor(location(P)=place0, There), union_all([Rich, There], I).
initiatedAt(moved(P)=true, T) :-
    happensAt(go_to(P, Place), T), holdsAt(location(P)=Before, T), Before \\= Place.
terminatedAt(moved(P)=true, T) :- happensAt(lose_wallet(P), T).
"""


class WalkedRun(Run):
    """A run that walks lanes, as sessions do, although it has one window."""

    @property
    def may_walk(self) -> bool:
        return True


class ColumnsRun(Run):
    """A run that walks no lanes."""

    @property
    def may_walk(self) -> bool:
        return False


def named(codes: np.ndarray, word: str, count: int) -> pa.DictionaryArray:
    names = pa.array([f"{word}{number}" for number in range(count)])
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)


def records(events: int, keys: int, values: int) -> dict[str, pa.Table]:
    r = np.random.default_rng(SEED)
    kinds = r.choice(len(SHARES), events, p=list(SHARES.values()))
    times = np.sort(r.integers(1, 8 * events // keys, events))
    persons = r.integers(0, keys, events)
    places = np.where(r.random(events) < 0.2, 0, r.integers(0, values, events))
    tables = {}
    for number, name in enumerate(SHARES):
        rows = np.flatnonzero(kinds == number)
        columns = {"arrival": times[rows], "occurrence": times[rows]}
        columns["person"] = named(persons[rows], "person", keys)
        if name == "go_to":
            columns["place"] = named(places[rows], "place", values)
        tables[name] = pa.table(columns)
    return tables


def best(work: Callable[[], object], times: int = 5) -> float:
    spent = []
    for _ in range(times):
        begins = time.process_time()
        work()
        spent.append(time.process_time() - begins)
    return min(spent)


def walking_alone(work: Callable[[], object]) -> float:
    """What the walk takes of a run: placing, walking, telling changes."""
    spent, update = [], LaneState.update

    def timed(state: LaneState, edge: int, query: int) -> LaneChanges:
        begins = time.process_time()
        changes = update(state, edge, query)
        spent.append(time.process_time() - begins)
        return changes

    LaneState.update = timed  # type: ignore[method-assign]
    for _ in range(5):
        work()
    LaneState.update = update  # type: ignore[method-assign]
    return min(spent)


def counts(answer: Answer) -> dict[str, tuple[int, int]]:
    """The number of intervals of each fluent, and the sum of their starts."""
    return {
        str(relation): (len(table.starts), int(table.starts.sum()))
        for relation, table in answer.fluents.items()
    }


def main(events: int, keys: int, values: int) -> None:
    cernis.keep_freed_memory()
    plan, tables = cernis.load(RULES).plan, records(events, keys, values)
    assert plan.is_swept
    numbers = np.random.default_rng(SEED).integers(0, 2**62, events)
    sort = best(lambda: np.sort(numbers))
    assert counts(WalkedRun(plan).over(tables)) == counts(ColumnsRun(plan).over(tables))
    whole = best(lambda: WalkedRun(plan).over(tables))
    walk = walking_alone(lambda: WalkedRun(plan).over(tables))
    columns = best(lambda: ColumnsRun(plan).over(tables), 2)
    print(
        f"open values: {events:,} events of {keys:,} keys, {values:,} values: "
        f"{whole * 1e3:.0f} ms, {walk * 1e3:.0f} of them walking, {whole / sort:.1f} sorts; "
        f"columns {columns * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=500)
    parser.add_argument("--values", type=int, default=20_000)
    settings = parser.parse_args()
    main(settings.events, settings.keys, settings.values)
