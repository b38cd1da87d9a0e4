"""Replays records in a session, as they arrived, and measures what each query costs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.query_loop import AnswerChanges
from cernis.evaluate.windows import windows
from cernis.operators.context.measuring import Timing
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.records.record_sources import Events, read_events, read_unresolved
from cernis.session.recognise import bounds
from cernis.session.session import RecordNumbers, Session
from cernis.session.settings import Settings


@dataclass(frozen=True, slots=True)
class MeasuredQuery:
    """One query: the records that it met, how many rows it changed, how long it took."""

    query: int
    records: RecordNumbers
    is_incremental: bool
    changes: int
    seconds: float


@dataclass(slots=True)
class Analysis:
    """The cost of a session, query by query and stratum by stratum."""

    queries: list[MeasuredQuery] = field(default_factory=list)
    timing: Timing = field(default_factory=Timing)
    changes: Counter[Relation] = field(default_factory=Counter)
    """How many rows were added or removed, for each relation that rules define."""
    rows_at_end: Mapping[Relation, int] = field(default_factory=dict)
    """How many rows each relation has within the window at the end."""

    @property
    def seconds(self) -> float:
        """How long all queries took."""
        return sum(query.seconds for query in self.queries)

    def count_changes(self, changed: AnswerChanges) -> int:
        """Count the rows that a query has changed."""
        for relation, change in changed.items():
            self.changes[relation] += len(change)
        return sum(map(len, changed.values()))


def analyze(
    plan: Plan, events: Events, chosen: Settings,
    mapping: str | Path | Mapping[str, Any] | None = None,
) -> Analysis:  # fmt: skip
    """Let a session recognise over records as they arrived, and measure its cost.

    Its queries are those of a run with the same settings. Kernels that have never been compiled
    are compiled in the first query, which takes longer then.
    """
    records = read_events(events, plan.checked, mapping)
    tick = chosen.tick or plan.checked.definitions.settings.tick
    start, end = bounds(records, chosen, tick)
    session = Session(plan, chosen.window, chosen.step, start, chosen.tick, chosen.ties)
    queries = [window.query for window in windows(start, end, chosen.window, chosen.step)]
    arrivals = records_by_query(read_unresolved(events, plan.checked, mapping), queries)
    analysis = Analysis()
    session.timing = analysis.timing
    # Costs are told by definition, and lanes evaluate all their definitions together.
    session.stop_walking()
    for query, arrived in zip(queries, arrivals, strict=True):
        session.insert(arrived)
        began = time.perf_counter()
        feed = session.query(query)
        took = time.perf_counter() - began
        changes = analysis.count_changes(feed.fluents) + analysis.count_changes(feed.events)
        measured = MeasuredQuery(query, session.records_met, session.is_incremental, changes, took)
        analysis.queries.append(measured)
    if session.last is not None:
        handover = session.hand_over()
        rows = {**handover.fluents, **handover.events}
        analysis.rows_at_end = {relation: len(rows[relation]) for relation in rows}
    return analysis


def records_by_query(records: Records, queries: Sequence[int]) -> Iterator[Records]:
    """For each query, the records that arrived since the query before."""
    orders = {form: np.argsort(part.times[0], kind="stable")
              for form, part in records.relations.items()}  # fmt: skip
    last = dict.fromkeys(orders, 0)
    for query in queries:
        arrived = Records()
        for form, order in orders.items():
            part = records.relations[form]
            until = int(np.searchsorted(part.times[0], query, "right", sorter=order))
            arrived.relations[form] = part.take(order[last[form] : until])
            arrived.count += until - last[form]
            last[form] = until
        yield arrived
