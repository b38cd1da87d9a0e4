"""A session over records that are there already, asked as they arrive, and what each query cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import Changed
from cernis.evaluate.windows import windows
from cernis.operators.measuring import Timing
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.records.record_sources import Events, read_events, read_unresolved
from cernis.session.recognise import bounds
from cernis.session.session import Choice, Session
from cernis.session.settings import Settings


@dataclass(frozen=True, slots=True)
class Asked:
    """One query: what its way was chosen by, which it was, what it changed and how long it took."""

    query: int
    choice: Choice
    is_incremental: bool
    changes: int
    seconds: float


@dataclass(slots=True)
class Analysis:
    """What a session has cost, query by query and stratum by stratum."""

    queries: list[Asked] = field(default_factory=list)
    timing: Timing = field(default_factory=Timing)
    changes: Counter[Relation] = field(default_factory=Counter)
    """Rows that came or went, of each relation that rules define."""
    held: Mapping[Relation, int] = field(default_factory=dict)
    """Rows of each at the end, as far as the window reaches."""
    may_be_incremental: bool = True

    @property
    def seconds(self) -> float:
        """How long all queries took."""
        return sum(asked.seconds for asked in self.queries)

    def count(self, changed: Changed) -> int:
        """Count the rows that a query has changed."""
        for relation, change in changed.items():
            self.changes[relation] += len(change)
        return sum(map(len, changed.values()))


def analyze(
    plan: Plan, events: Events, chosen: Settings,
    mapping: str | Path | Mapping[str, Any] | None = None,
) -> Analysis:  # fmt: skip
    """Let a session recognise over records as they arrive, and measure what it costs.

    Queries are those of a run with the same settings. What kernels take to be compiled for the
    first time is part of the first query, unless it was done before.
    """
    records = read_events(events, plan.checked, mapping)
    tick = chosen.tick or plan.checked.definitions.settings.tick
    start, end = bounds(records, chosen, tick)
    session = Session(plan, chosen.window, chosen.step, start, chosen.tick, chosen.ties)
    queries = [window.query for window in windows(start, end, chosen.window, chosen.step)]
    given = by_arrival(read_unresolved(events, plan.checked, mapping), queries)
    found = Analysis(may_be_incremental=session.may_be_incremental)
    session.timing = found.timing
    for query, arrived in zip(queries, given, strict=True):
        session.insert(arrived)
        began = time.perf_counter()
        feed = session.query(query)
        took = time.perf_counter() - began
        changes = found.count(feed.fluents) + found.count(feed.events)
        asked = Asked(query, session.choice, session.is_incremental, changes, took)
        found.queries.append(asked)
    if session.last is not None:
        standing = session.handed_over()
        rows = {**standing.fluents, **standing.events}
        found.held = {relation: len(rows[relation]) for relation in rows}
    return found


def by_arrival(records: Records, queries: Sequence[int]) -> Iterator[Records]:
    """Records in the order of queries: with each, those that arrive by then and not before."""
    orders = {form: np.argsort(own.times[0], kind="stable")
              for form, own in records.relations.items()}  # fmt: skip
    last = dict.fromkeys(orders, 0)
    for query in queries:
        found = Records()
        for form, order in orders.items():
            own = records.relations[form]
            until = int(np.searchsorted(own.times[0], query, "right", sorter=order))
            found.relations[form] = own.take(order[last[form] : until])
            found.count += until - last[form]
            last[form] = until
        yield found
