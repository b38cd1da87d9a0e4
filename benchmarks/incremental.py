"""Sessions over the stream of an application: from what has changed, and from scratch.

    python benchmarks/incremental.py [--events 2000000] [--entities 5000] [--application fleet]
                                     [--grid] [--late-event] [--one-key] [--small]

Windows of 1 to 16 steps, of which the longest holds that many events; 0 to 80 % of the events are
late by a gamma-distributed time (shape 2, scale 2 steps). Prints, for each cell, processor time of
a query (records taken in, evaluated, changes reported) from scratch by columns and as a session
does it, and how many times faster that is: it walks what fits lanes (maritime, fleet), and
evaluates other programs for the keys that have news (surveillance, voting). With --late-event: one
late event into windows of a tenth, once and ten times the size, and queries of about 1,000 events
into a window of 16,000, the median of many. With --one-key: queries before which one record is
taken back, and none. With --small: only queries of about 1,000 events into a window of 16,000, and
into one that is as long as a step.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402
from benchmarks.maritime import sort_time  # noqa: E402
from cernis.plan import Plan  # noqa: E402
from cernis.session.session import Session  # noqa: E402
from examples.fleet import generate as fleet  # noqa: E402
from examples.maritime import generate as maritime  # noqa: E402
from examples.maritime.vessels import FIRST_VESSEL  # noqa: E402
from examples.surveillance import generate as surveillance  # noqa: E402
from examples.voting import generate as voting  # noqa: E402

APPLICATIONS = {
    "maritime": maritime, "fleet": fleet, "surveillance": surveillance, "voting": voting,
}  # fmt: skip

MEASURED = 3
"""Queries that are measured; the last ones of a stream."""
SMALL = 120
"""The same of queries with few events, of which the generator has the more at the beginning."""


@dataclass(frozen=True)
class Stream:
    """Batches of records, one a query."""

    step: int
    queries: list[int]
    batches: list[dict[str, pa.Table]]


def stream(
    application: str, events: int, entities: int, steps: int, late: float, measured: int = MEASURED
) -> Stream:  # fmt: skip
    """A stream whose window of so many steps holds that many events."""
    count = steps + measured
    tables = APPLICATIONS[application].generate(events * count // steps, entities, 7)
    last = max(int(_times(table).max()) for table in tables.values() if len(table))
    step = -(-last // count)
    rng = np.random.default_rng(5)
    arrivals = {name: _arrivals(table, late, step, rng) for name, table in tables.items()}
    queries = [step * (number + 1) for number in range(count)]
    batches, before = [], -1
    for query in queries:
        masks = {name: (own > before) & (own <= query) for name, own in arrivals.items()}
        batches.append({
            name: tables[name].filter(pa.array(mask)).drop_columns(["arrival"])
            for name, mask in masks.items()
            if mask.any()
        })  # fmt: skip
        before = query
    return Stream(step, queries, batches)


def _times(table: pa.Table) -> npt.NDArray[np.int64]:
    return table["occurrence" if "occurrence" in table.column_names else "start"].to_numpy()


def _arrivals(
    table: pa.Table, late: float, step: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    times = _times(table)
    is_late = rng.random(len(times)) < late
    return times + np.where(is_late, rng.gamma(2.0, 2.0 * step, len(times)), 0).astype(np.int64)


def plan_of(application: str, entities: int) -> Plan:
    """The rules of an application, with facts about so many entities."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "facts.cer")
        path.write_text(APPLICATIONS[application].facts(entities), "utf-8")
        return cernis.load(ROOT / "examples" / application / "rules.cer", [path]).plan


def query_time(
    plan: Plan, given: Stream, steps: int, incremental: bool | None
) -> tuple[float, int]:
    """Processor time of a query, the least of the last ones, and the events in the window."""
    session = Session(plan, given.step * steps, given.step, 0, incremental=incremental)
    taken = []
    for query, batch in zip(given.queries, given.batches, strict=True):
        begun = time.process_time()
        session.insert(batch)
        session.query(query)
        taken.append(time.process_time() - begun)
    return min(taken[-MEASURED:]), len(session)


def grid(
    application: str, events: int, entities: int, lates: list[float], all_steps: list[int]
) -> None:
    """All cells, a line each."""
    plan = plan_of(application, entities)
    print(f"{application}, ms of processor time a query")
    print("steps  late  events in window  scratch  session  times")
    for late in lates:
        given = stream(application, events, entities, 16, late)
        for steps in all_steps:
            scratch, size = query_time(plan, given, steps, False)
            session, _ = query_time(plan, given, steps, None)
            print(
                f"{steps:5}  {late:4.0%}  {size:16,}  {scratch * 1e3:7.1f}  {session * 1e3:7.1f}  "
                f"{scratch / session:5.2f}",
                flush=True,
            )


def late_event(events: int, vessels: int) -> None:
    """One late event into windows of several sizes, against a query without any event."""
    plan = plan_of("maritime", vessels)
    for size in (events // 10, events, events * 10):
        given = stream("maritime", size, vessels, 16, 0.0)
        session = Session(plan, given.step * 16, given.step, 0)
        for query, batch in zip(given.queries, given.batches, strict=True):
            session.insert(batch)
            session.query(query)
        query = given.queries[-1]
        taken: dict[str, list[float]] = {"without": [], "with": []}
        for number in range(9):
            begun = time.process_time()
            session.query(query)
            taken["without"].append(time.process_time() - begun)
            when = query - given.step * 8 - number
            session.insert({"velocity": [(query, when, FIRST_VESSEL, 30.0, 90.0, 90.0)]})
            begun = time.process_time()
            session.query(query)
            taken["with"].append(time.process_time() - begun)
        without, one = (float(np.median(own)) * 1e3 for own in taken.values())
        print(
            f"one late event, {len(session):,} in the window: {one:.2f} ms, {without:.2f} without"
        )
    small_queries(vessels, [("from scratch", False, 16), ("session", None, 16)])


def small_queries(vessels: int, ways: list[tuple[str, bool | None, int]]) -> None:
    """Queries of about 1,000 events each: ways to evaluate, into windows of so many steps."""
    plan = plan_of("maritime", vessels)
    given = stream("maritime", 16_000, vessels, 16, 0.0, 2 * SMALL)
    new = sum(len(table) for batch in given.batches[-SMALL:] for table in batch.values())
    for way, incremental, steps in ways:
        session = Session(plan, given.step * steps, given.step, 0, incremental=incremental)
        taken, admitting = [], []
        for query, batch in zip(given.queries, given.batches, strict=True):
            begun = time.process_time()
            session.insert(batch)
            admitting.append(time.process_time() - begun)
            session.query(query)
            taken.append(time.process_time() - begun)
        median, inserted = (float(np.median(own[-SMALL:])) * 1e3 for own in (taken, admitting))
        print(
            f"{new // SMALL} new, {len(session):,} in the window, {way}: {median:.2f} ms a query "
            f"with its feed, {inserted:.2f} of it to insert"
        )


def one_key(application: str, events: int, entities: int) -> None:
    """Queries after one record was taken back, and without any record, each way."""
    plan = plan_of(application, entities)
    given = stream(application, events, entities, 16, 0.0)
    for way, incremental in (("from scratch", False), ("session", None)):
        session = Session(plan, given.step * 16, given.step, 0, incremental=incremental)
        for query, batch in zip(given.queries, given.batches, strict=True):
            session.insert(batch)
            session.query(query)
        name, table = max(given.batches[-4].items(), key=lambda each: len(each[1]))
        taken: dict[str, list[float]] = {"without": [], "with": []}
        for number in range(7):
            for kind, times in taken.items():
                begun = time.process_time()
                if kind == "with":
                    session.retract({name: table.slice(len(table) // 8 * (number + 1), 1)})
                session.query(given.queries[-1])
                times.append(time.process_time() - begun)
        without, one = (float(np.median(times)) * 1e3 for times in taken.values())
        print(
            f"one {name} of {len(session):,} taken back, {way}: {one:.2f}, without: {without:.2f}"
        )


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=2_000_000)
    arguments.add_argument("--entities", type=int, default=5_000)
    arguments.add_argument("--application", choices=APPLICATIONS, default="maritime")
    arguments.add_argument("--grid", action="store_true")
    arguments.add_argument("--late-event", action="store_true")
    arguments.add_argument("--one-key", action="store_true")
    arguments.add_argument("--small", action="store_true")
    given = arguments.parse_args()
    cernis.keep_freed_memory()
    if given.small:
        small_queries(given.entities, [("session", None, 16), ("session", None, 1)])
        return
    print(f"a sort of {given.events:,} keys takes {sort_time(given.events) * 1e3:.1f} ms")
    lates, steps = [0.0, 0.05, 0.4], [16]
    if given.grid:
        lates, steps = [0.05, 0.1, 0.2, 0.4, 0.8], [1, 2, 4, 8, 16]
    grid(given.application, given.events, given.entities, lates, steps)
    if given.one_key:
        one_key(given.application, given.events, given.entities)
    if given.late_event:
        late_event(given.events // 2, given.entities)


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
