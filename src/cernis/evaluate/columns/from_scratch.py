"""Evaluates every query from scratch: all that the window holds, whatever has changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.stores import Rows, Store, event_table
from cernis.evaluate.columns.pattern_history import History, as_rows
from cernis.evaluate.columns.state import State
from cernis.evaluate.columns.strata import Outcome as Counted
from cernis.evaluate.columns.strata import evaluate
from cernis.evaluate.population import Predicate
from cernis.evaluate.relation_layout import (
    Change,
    Outcome,
    Standing,
    attempts_of,
    rows_of_attempts,
    told_apart,
)
from cernis.evaluate.windowed_run import Answer, Window, counted_events, once, watched_fluents
from cernis.evaluate.working_memory import Admitted, Memory
from cernis.kernels.array_types import Array
from cernis.operators.intervals.gap_edges import clip_input
from cernis.operators.intervals.pieces import Piece, pieces, reaching, united
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.tables.interval_tables import FluentTable


class Scratch:
    """Evaluates a plan anew at each query, and tells what differs from the query before."""

    def __init__(self, plan: Plan, memory: Memory, context: Context) -> None:
        self._plan = plan
        self._memory = memory
        self._state = State(plan.checked, context.domains, context.tick)
        self._rows: dict[Relation, Rows] = {}
        self._happened: dict[Relation, Rows] = {}
        self._counted = counted_events(plan)
        self._watched = watched_fluents(plan)
        events = frozenset(r for r, store in memory.stores.items() if store.width == 1)
        self.history = History(plan, events)

    def pass_edge(self, edge: int) -> None:
        """Keep what patterns may need of the records that are about to be forgotten."""
        passed = {}
        for relation in self.history.wanted:
            table = event_table(
                self._memory.stores[relation], self._memory.stores[relation].shelf.everything()
            )
            passed[relation] = table.take(np.flatnonzero(table.times <= edge))
        self.history.advance(edge, passed)

    def query(
        self, window: Window, context: Context, admitted: Mapping[Relation, Admitted],
        members: Mapping[Predicate, list[list[Array]]],
    ) -> Outcome:  # fmt: skip
        """Bring the answer up to a query, whatever came and went."""
        state = self._state
        state.advance(window.edge, window.forgotten)
        self._fill(window, context)
        found = self._evaluated(context)
        state.settle(context)
        outcome = Outcome(conflicts=found.conflicts)
        for relation in self._fluents():
            self._compare(relation, self._joined(relation, context), self._rows, outcome)
        self._compare_events(window, context, outcome)
        state.forget_archive()
        return outcome

    def _compare_events(self, window: Window, context: Context, outcome: Outcome) -> None:
        for relation, table in context.events.items():
            if not self._plan.checked.catalogue.events[relation].is_input:
                # Happenings up to the edge stand, and are not said again.
                known = self._happened.get(relation)
                if known is not None:
                    self._happened[relation] = known.take(known.columns[0] > window.edge)
                self._compare(relation, as_rows(table), self._happened, outcome)

    def _evaluated(self, context: Context) -> Counted:
        """Evaluate all strata."""
        self.history.enter(context)
        found = evaluate(self._plan, context, self._state.carried())
        self.history.settle(context)
        return found

    def standing(self, query: int) -> Standing:
        """What the last query has left."""
        live, begun = self._state.left()
        fluents = {relation: _rows_of(table) for relation, table in live.items()}
        points = {r: rows_of_attempts(own) for r, own in begun.items()}
        remembered, seen = ({r: _rows_of(table) for r, table in own.items()}
                            for own in self._state.looked_back_at())  # fmt: skip
        return Standing(
            query, fluents | self._rows, dict(self._happened), points, remembered, seen,
            self.history.left(),
        )  # fmt: skip

    def take_over(self, standing: Standing, context: Context) -> None:
        """Go on from where another has stopped."""
        live, remembered, seen = (
            {relation: _table_of(rows, relation, context) for relation, rows in own.items()}
            for own in (standing.fluents, standing.remembered, standing.seen)
        )
        begun = {relation: attempts_of(rows) for relation, rows in standing.begun.items()}
        self._state.resume(live, begun, remembered, seen, context)
        if standing.history is not None:
            self.history.resume(standing.history, context)
        defined = set(self._fluents())
        self._rows = {r: rows for r, rows in standing.fluents.items() if r in defined}
        self._happened = dict(standing.events)

    def tell(self, standing: Standing) -> None:
        """Say what was told of some relations; nothing is carried over of them."""
        self._rows |= standing.fluents
        self._happened |= standing.events

    def answer(self) -> Answer:
        """What the window knows of."""
        return Answer(self._state.fluents())

    def _fluents(self) -> list[Relation]:
        vertices = self._plan.checked.dependencies.vertices
        return list(dict.fromkeys(v.relation for v in vertices if v.value is not None))

    def _joined(self, relation: Relation, context: Context) -> Rows:
        """What is known of a fluent: up to the edge what was said before, after it what is now."""
        bound = context.edge + context.tick
        parts = []
        before = self._rows.get(relation)
        if before is not None:
            starts, ends, values = before.columns
            own = before.take((ends >= bound) & (starts < bound))
            cut = np.minimum(own.columns[1], bound)
            self._rows[relation] = before.take(ends >= bound)
            parts.append((own.arguments, own.columns[2], own.columns[0], cut))
        for arguments, values, starts, ends in self._state.live(relation):
            behind = ends > bound if before is not None else np.ones(len(ends), np.bool_)
            low = np.maximum(starts, bound) if before is not None else starts
            parts.append(([c[behind] for c in arguments], values[behind], low[behind],
                          ends[behind]))  # fmt: skip
        ((arguments, values, starts, ends),) = pieces(united(parts, relation, context))
        return Rows(arguments, [starts, ends, values])

    def _compare(
        self, relation: Relation, now: Rows, known: dict[Relation, Rows], outcome: Outcome
    ) -> None:
        """Note how a relation differs from what it was."""
        before = known.get(relation, now.take(np.empty(0, np.int64)))
        gone, come = told_apart(before, now)
        if gone.any() or come.any():
            outcome.changes[relation] = Change(before.take(gone), now.take(come))
        known[relation] = now

    def _fill(self, window: Window, context: Context) -> None:
        """Give the context all that the window holds, and what was said before it."""
        context.watched = self._watched
        context.remembered = self._state.remembered()
        for relation, store in self._looked_at().items():
            if not store.has_intervals:
                table = event_table(store, store.shelf.everything())
                context.events[relation] = once(table) if relation in self._counted else table
            else:
                context.fluents[relation] = self._input(relation, store, window, context)
        for relation in self._fluents():
            if self._state.before(relation):
                context.fluents[relation] = united(self._state.before(relation), relation, context)

    def _looked_at(self) -> dict[Relation, Store]:
        """The input that is made into tables."""
        return self._memory.stores

    def _input(
        self, relation: Relation, store: Store, window: Window, context: Context
    ) -> FluentTable:
        rows = store.rows(store.shelf.everything())
        starts, ends, values, is_point = rows.columns[:4]
        bound = window.forgotten + context.tick
        seen = ends > bound
        piece: Piece = (
            [column[seen] for column in rows.arguments], values[seen],
            np.maximum(starts[seen], bound), ends[seen],
        )  # fmt: skip
        before = self._state.before(relation)
        table = united([*before, piece], relation, context)
        if before:
            table = reaching(table, relation, context)
        context.fluents[relation] = table
        clip_input(relation, context)
        last = np.flatnonzero((is_point == 1) & (starts == window.query))
        if len(last):
            context.leave_open(relation, [c[last] for c in (*rows.arguments, values)])
        return context.fluents[relation]


def _rows_of(table: FluentTable) -> Rows:
    """The intervals of a table, one a row."""
    ((arguments, values, starts, ends),) = pieces(table)
    return Rows(arguments, [starts, ends, values])


def _table_of(rows: Rows, relation: Relation, context: Context) -> FluentTable:
    starts, ends, values = rows.columns
    return united([(rows.arguments, values, starts, ends)], relation, context)
