"""Sessions whose feed names causes: with each change the records that began or ended the interval.

The session recognises with the traced program, in which an event beside each rule has what its
variables stood for. From a changed interval joins lead over these events to the records of the
window. So rules are evaluated once, and only those who ask for causes pay for the traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch
from cernis.evaluate.query_loop import AnswerChanges, RelationChange
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.working_memory import WorkingMemory, row_numbers
from cernis.explain.traces.fact_joins import CauseRows, Coding, facts_wanted
from cernis.explain.traces.provenance import NO_RECORD, Provenance
from cernis.explain.traces.traced_rules import TracedProgram, traced
from cernis.knowledge.ground_values import Value
from cernis.operators.context.value_encoding import RelationDomains
from cernis.plan.builder import Plan, make_plan
from cernis.records.record_columns import Records, shown
from cernis.session.feed import FEED, HAPPENED, Feed
from cernis.session.session import Session
from cernis.session.session_explanations import window_records
from cernis.tables.interval_tables import INFINITY

_CAUSES: Final = pa.field("causes", pa.list_(pa.string()))

CAUSED_FEED: Final = FEED.append(_CAUSES)
"""All changes, each with the records that began the interval, and those that ended it.

A record is named by its id, if it has one, and else by its text. A deletion has none.
"""


@dataclass(slots=True, repr=False)
class CausedFeed(Feed):
    """What one query has changed, with the records that caused it."""

    schema: ClassVar[pa.Schema] = CAUSED_FEED
    happened: ClassVar[pa.Schema] = HAPPENED.append(_CAUSES)
    causes: dict[Relation, list[list[str]]] = field(default_factory=dict)
    """By relation, the records that caused each of the rows that were added."""

    def _more(self, relation: Relation, rows: StoredRows) -> list[pa.Array]:
        added = self.causes.get(relation, [])
        none: list[list[str]] = [[]] * (len(rows) - len(added))
        return [pa.array([*none, *added], _CAUSES.type)]


class SessionWithCauses(Session):
    """A session over a traced program, whose feed names the records that caused each change."""

    evaluator: FromScratch
    traced: TracedProgram

    def _can_walk(self) -> bool:
        """No: traces are evaluated by columns."""
        return False

    def _reported_changes(self, changes: AnswerChanges) -> tuple[AnswerChanges, AnswerChanges]:
        fluents, events = super()._reported_changes(changes)
        return (
            {r: change for r, change in fluents.items() if r not in self.traced.hidden},
            {r: change for r, change in events.items() if r not in self.traced.hidden},
        )

    def _feed(
        self, time: int, fluents: AnswerChanges, events: AnswerChanges, conflicts: int
    ) -> CausedFeed:
        encoding = self.layout.context.encoding.relations
        return CausedFeed(
            time, self.version, fluents, events, encoding, conflicts, self.times,
            causes=self._causes(fluents, events),
        )  # fmt: skip

    # -- causes -----------------------------------------------------------------------------

    def _causes(
        self, fluents: AnswerChanges, events: AnswerChanges
    ) -> dict[Relation, list[list[str]]]:
        records = window_records(self.memory)
        state = self.evaluator.state
        live = {r: table for r, table in state.live.items() if r in self.plan.roles.defined}
        assert self.start is not None
        tracer = Provenance(
            self.traced, Answer(live, dict(state.live_events)), records, self.plan.knowledge,
            self.start, self.tick,
        )  # fmt: skip
        numbers = {
            **{r: self._of_intervals(tracer, r, change) for r, change in fluents.items()},
            **{r: self._of_happenings(tracer, r, change) for r, change in events.items()},
        }
        names = self._names(records, {n for rows in numbers.values() for row in rows for n in row})
        return {r: [[names[n] for n in row] for row in rows] for r, rows in numbers.items()}

    def _of_intervals(
        self, tracer: Provenance, relation: Relation, change: RelationChange
    ) -> list[list[int]]:
        rows = change.added
        starts, ends, values = rows.columns[:3]
        columns = [*self._columns(relation, rows), (values, self._domains_of(relation)[1])]
        began = tracer.of("start", relation, facts_wanted(columns, starts - self.tick))
        closed = np.flatnonzero(ends != INFINITY)
        over = facts_wanted(columns, ends - self.tick).take(closed)
        return _by_owner(len(rows), (began, tracer.of("end", relation, over)))

    def _of_happenings(
        self, tracer: Provenance, relation: Relation, change: RelationChange
    ) -> list[list[int]]:
        rows = change.added
        times, *starts = rows.columns
        facts = facts_wanted(self._columns(relation, rows), times, starts[0] if starts else None)
        return _by_owner(len(rows), (tracer.of("happens", relation, facts),))

    def _columns(self, relation: Relation, rows: StoredRows) -> list[Coding]:
        return list(zip(rows.arguments, self._domains_of(relation)[0], strict=True))

    def _domains_of(self, relation: Relation) -> RelationDomains:
        return self.layout.context.encoding.relations[relation]

    def _names(self, records: Records, numbers: Iterable[int]) -> dict[int, str]:
        """How records are named, by number: by their ids, or as lines of text."""
        wanted = np.array(sorted(numbers), np.int64)
        names: dict[int, str] = {}
        for part in records.relations.values():
            for row in np.flatnonzero(np.isin(part.places, wanted)).tolist():
                names[int(part.places[row])] = part.text(row)
        if len(wanted):
            names.update((n, shown(each)) for n, each in record_ids(self.memory) if n in names)
        return names


class CausedSession(SessionWithCauses):
    """A session in process whose feed names the records that caused each change."""

    def __init__(
        self, plan: Plan, window: int | None = None, step: int | None = None,
        start: int | None = None, tick: int | None = None, ties: str | None = None,
        policy: str = "early", ids: str | None = None, future: int | None = None,
        epoch: bool = False,
    ) -> None:  # fmt: skip
        check_policy(policy)
        self.traced = traced(plan.checked)
        super().__init__(
            make_plan(self.traced.checked), window, step, start, tick, ties, policy,
            incremental=False, ids=ids, future=future, epoch=epoch,
        )  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Refuse: a file of a session says nothing of traces."""
        raise DataError("a session with causes cannot be saved: save one without them")


def check_policy(policy: str) -> None:
    """Raise a DataError if changes are reported later than their causes may be forgotten."""
    if policy != "early":
        raise DataError(
            f"causes are those of changes that are reported early, not by the policy {policy}"
        )


def record_ids(memory: WorkingMemory) -> Iterator[tuple[int, Value]]:
    """The ids of the records of a window, each with the number it has in `window_records`."""
    count = 0
    for relation, store in memory.stores.items():
        rows = store.rows(store.shelf.everything())
        if relation in memory.by_id:
            ids, known = memory.by_id[relation].present()
            numbers = row_numbers(
                [np.concatenate(each) for each in zip(
                    [*known.arguments, *known.columns], [*rows.arguments, *rows.columns],
                    strict=True,
                )]
            )  # fmt: skip
            by_row = dict(zip(numbers[: len(known)].tolist(), ids, strict=True))
            for place, number in enumerate(numbers[len(known) :].tolist()):
                if number in by_row:
                    yield count + place + 1, by_row[number]
        count += len(rows)


def _by_owner(count: int, several: Iterable[CauseRows]) -> list[list[int]]:
    """The numbers of the records that each row rests on, each once, those that began it first."""
    rows: list[dict[int, None]] = [{} for _ in range(count)]
    for causes in several:
        for owner, record in zip(causes.owners.tolist(), causes.records.tolist(), strict=True):
            if record != NO_RECORD:
                rows[owner][record] = None
    return [list(row) for row in rows]
