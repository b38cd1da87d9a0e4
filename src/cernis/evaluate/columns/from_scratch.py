"""Evaluates every query from scratch: from all records of the window, whatever has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.differences import only_in_one
from cernis.evaluate.columns.pattern_history import PatternHistory, occurrence_rows
from cernis.evaluate.columns.state import CarriedState
from cernis.evaluate.columns.strata import evaluate
from cernis.evaluate.columns.window_carry import reaching
from cernis.evaluate.query_loop import (
    AnswerChanges,
    Handover,
    QueryInput,
    RelationChange,
    WindowRecords,
    attempts_of,
    rows_of_attempts,
)
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.windows import Window
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.distinct import distinct
from cernis.operators.intervals.gap_edges import clip_input
from cernis.plan.builder import Plan
from cernis.plan.sweep.lanes import is_hidden
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_pieces import pieces, united, united_rows
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses


class StageLinks(Protocol):
    """Hands the tables of earlier stages to a stage, and its tables to later stages.

    The courses of uncertain fluents are handed on, too.
    """

    @property
    def passed_on(self) -> frozenset[Relation]:
        """The relations of the stage that later stages read."""

    @property
    def earlier(self) -> Collection[Relation]:
        """The relations that the stage reads of earlier stages."""

    @property
    def are_whole(self) -> bool:
        """Do the tables of earlier stages say when intervals begin and end?"""

    def enter(self, context: Context, courses: dict[Relation, Courses]) -> None:
        """Put the tables of earlier stages into the context, before a query is evaluated."""

    def take(self, context: Context, courses: dict[Relation, Courses]) -> None:
        """Take out of the context what later stages need, after a query has been evaluated.

        What is taken out here is not carried over to the next query.
        """


class FromScratch:
    """Evaluates all strata of a plan at each query, from everything that the window holds."""

    is_incremental = False

    def __init__(
        self, plan: Plan, memory: WindowRecords, domains: Domains, tick: int,
        links: StageLinks | None = None, swept: frozenset[Relation] = frozenset(),
    ) -> None:  # fmt: skip
        self.strata = plan.without(swept)
        """The plan whose strata are evaluated: without what a sweep has found before."""
        self._plan = plan
        self._swept = swept
        self._memory = memory
        self._links = links
        self.state = CarriedState(plan, domains, tick, swept)
        self._reported_intervals: dict[Relation, StoredRows] = {}
        self._reported_events: dict[Relation, StoredRows] = {}
        self._defined = [r for r in plan.roles.defined if r not in swept]
        self.history = PatternHistory(plan)

    @property
    def key_count(self) -> int:
        """How many combinations of values it has numbers for, beside those of tables."""
        return 0

    # -- one query --------------------------------------------------------------------------

    def pass_edge(self, window: Window) -> None:
        """Keep those of the records that are about to be forgotten which patterns may need."""
        passed = {
            r: self._memory.happenings_up_to(r, window.edge)
            for r in self._certain_relations(self.history.input_events_needed)
        }
        self.history.advance(
            window.edge, {r: table for r, table in passed.items() if table is not None}
        )

    def can_read(self, query_input: QueryInput) -> bool:
        """Can it evaluate the records that have come? Columns can read all."""
        return True

    def update(self, query_input: QueryInput) -> int:
        """Evaluate all strata; gives the number of conflicts between values."""
        context = query_input.context
        courses: dict[Relation, Courses] = {}
        window = query_input.window
        self.state.advance(window.edge, window.forgotten, query_input.context.window.start)
        self._fill_context(window, context)
        self.history.enter(context)
        if self._links is not None:
            self._links.enter(context, courses)
        conflicts = self._evaluate(query_input, courses)
        self.history.settle(context)
        if self._links is not None:
            self._links.take(context, courses)
        return conflicts

    def _evaluate(self, query_input: QueryInput, courses: dict[Relation, Courses]) -> int:
        return evaluate(self.strata, query_input.context, self.state.carried)

    def settle(self, query_input: QueryInput) -> None:
        """Keep what the next query begins from."""
        self.state.settle(query_input.context)

    # -- input ------------------------------------------------------------------------------

    def _fill_context(self, window: Window, context: Context) -> None:
        """Give the context the records of the window, and what was derived before its edge."""
        context.relations.remembered = self.state.remembered
        for relation in self._certain_relations(self._memory.events):
            if self._swept and relation not in self.strata.reads:
                continue
            table = self._memory.happenings(relation, window)
            is_counted = relation in self._plan.roles.counted
            context.relations.events[relation] = distinct_happenings(table) if is_counted else table
        for relation in self._certain_relations(self._memory.fluents):
            if not self._swept or relation in self.strata.reads:
                self._fill_fluent(relation, window, context)
        for relation in self._defined:
            before = self.state.reaching_edge.get(relation, [])
            if before:
                context.relations.fluents[relation] = united(
                    before, context.encoding.fluents[relation]
                )

    def _certain_relations(self, relations: Iterable[Relation]) -> Iterable[Relation]:
        """The relations of the input whose records count as certain."""
        return relations

    def _fill_fluent(self, relation: Relation, window: Window, context: Context) -> None:
        before = self.state.reaching_edge.get(relation, [])
        table = united(
            [*before, self._memory.intervals(relation, window)], context.encoding.fluents[relation]
        )
        table = reaching(table, relation, context) if before else table
        context.relations.fluents[relation] = table
        clip_input(relation, context)
        last = self._memory.open_at_query(relation, window)
        if last is not None and len(last[-1]):
            context.relations.leave_open(relation, last)

    # -- what has changed -------------------------------------------------------------------

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""
        changes: AnswerChanges = {}
        for relation in self._defined:
            self._compare(
                relation,
                self._standing_and_new(relation, query_input.context),
                self._reported_intervals,
                changes,
            )
        self._compare_events(query_input, changes)
        self.state.forget_archive()
        return changes

    def _compare_events(self, query_input: QueryInput, changes: AnswerChanges) -> None:
        for relation, table in query_input.context.relations.events.items():
            if relation not in self._plan.roles.inputs and relation not in self._swept:
                # Happenings up to the edge stand, and are not compared again.
                reported = self._reported_events.get(relation)
                if reported is not None:
                    self._reported_events[relation] = reported.take(
                        reported.columns[0] > query_input.window.edge
                    )
                self._compare(relation, occurrence_rows(table), self._reported_events, changes)

    def _standing_and_new(self, relation: Relation, context: Context) -> StoredRows:
        """The intervals of a fluent: as reported before up to the edge, as derived after it.

        Those whose length is decided now may begin before the edge.
        """
        bound = context.window.edge + context.window.tick
        oldest = context.window.earliest_start(self._plan.roles.reach.get(relation, 0))
        parts = []
        reported = self._reported_intervals.get(relation)
        if reported is not None:
            starts, ends, values = reported.columns
            standing = reported.take((ends >= oldest) & (starts < bound))
            cut = np.minimum(standing.columns[1], bound)
            self._reported_intervals[relation] = reported.take(ends >= oldest)
            parts.append((standing.arguments, standing.columns[2], standing.columns[0], cut))
        for arguments, values, starts, ends in self.state.live_pieces(relation):
            is_new = ends > bound if reported is not None else np.ones(len(ends), np.bool_)
            low = np.maximum(starts, oldest) if reported is not None else starts
            parts.append(([c[is_new] for c in arguments], values[is_new], low[is_new],
                          ends[is_new]))  # fmt: skip
        arguments, values, starts, ends = united_rows(parts, context.encoding.fluents[relation])
        return StoredRows(arguments, [starts, ends, values])

    def _compare(
        self,
        relation: Relation,
        now: StoredRows,
        reported: dict[Relation, StoredRows],
        changes: AnswerChanges,
    ) -> None:
        """Note how a relation differs from what was reported of it."""
        before = reported.get(relation, now.take(np.empty(0, np.int64)))
        is_removed, is_added = only_in_one(before, now)
        if is_removed.any() or is_added.any():
            changes[relation] = RelationChange(before.take(is_removed), now.take(is_added))
        reported[relation] = now

    # -- what is known ----------------------------------------------------------------------

    def answer(self) -> Answer:
        """All that is recognised within the window."""
        return Answer(self.state.fluents())

    def whole_answer(self) -> Answer:
        """The joined answer of all queries so far, where their answers are kept."""
        return Answer(self.state.fluents(), self.state.events())

    @property
    def reported(self) -> dict[Relation, StoredRows]:
        """The sum of all changes of intervals that were reported."""
        return self._reported_intervals

    @property
    def kept_occurrences(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""
        return len(self.history)

    @property
    def dropped_occurrences(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""
        return self.history.dropped

    # -- from one to another ----------------------------------------------------------------

    def hand_over(self, query: int) -> Handover:
        """The state after the last query, from which another evaluator can go on."""
        # What was reported of a defined fluent is its state; the tables of others are.
        reported = self._reported_intervals
        live = {r: table for r, table in self.state.live.items() if r not in reported}
        fluents, remembered, seen = (
            {relation: _rows_of(table) for relation, table in tables.items()}
            for tables in (live, self.state.remembered, self.state.seen)
        )
        origins = self.state.effect_origins
        attempt_rows = {r: rows_of_attempts(attempts) for r, attempts in origins.items()}
        return Handover(
            query, fluents | reported, dict(self._reported_events), attempt_rows,
            remembered, seen, self.history.past_occurrences(),
        )  # fmt: skip

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped.

        Each query is handed what earlier stages have found.
        """
        if self._links is not None:
            earlier = self._links.earlier
            own = {r: rows for r, rows in handover.fluents.items() if r not in earlier}
            handover = replace(handover, fluents=own)
        live, remembered, seen = (
            {
                relation: _table_of(rows, relation, context.encoding)
                for relation, rows in row_sets.items()
                if not is_hidden(relation)
            }
            for row_sets in (handover.fluents, handover.remembered, handover.seen)
        )
        effect_origins = {
            relation: attempts_of(rows) for relation, rows in handover.effect_origins.items()
        }
        self.state.resume(live, effect_origins, remembered, seen, context)
        if handover.history is not None:
            self.history.resume(handover.history, context)
        defined = set(self._defined)
        self._reported_intervals = {r: rows for r, rows in handover.fluents.items() if r in defined}
        self._reported_events = dict(handover.events)

    def assume_reported(self, handover: Handover) -> None:
        """Take the rows of some relations as reported; nothing is carried over of them."""
        self._reported_intervals |= handover.fluents
        self._reported_events |= handover.events


def distinct_happenings(table: EventTable) -> EventTable:
    """The happenings of a table, each once, for rules that count them."""
    first, _ = distinct([*table.arguments, table.times], [*table.domains, None])
    return table if len(first) == len(table) else table.take(np.sort(first))


def _rows_of(table: FluentTable) -> StoredRows:
    """The intervals of a table, one in each row."""
    ((arguments, values, starts, ends),) = pieces(table)
    return StoredRows(arguments, [starts, ends, values])


def _table_of(rows: StoredRows, relation: Relation, encoding: ValueEncoding) -> FluentTable:
    starts, ends, values = rows.columns
    return united([(rows.arguments, values, starts, ends)], encoding.fluents[relation])
