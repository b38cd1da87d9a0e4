"""Evaluates every query from scratch: all that the window holds, whatever has changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.changes.differences import told_apart
from cernis.evaluate.changes.stores import Rows
from cernis.evaluate.columns.pattern_history import History, as_rows
from cernis.evaluate.columns.state import State
from cernis.evaluate.columns.strata import evaluate
from cernis.evaluate.query_loop import (
    Change,
    Changed,
    Handover,
    News,
    WindowRecords,
    attempts_of,
    rows_of_attempts,
)
from cernis.evaluate.windows import Window
from cernis.operators.distinct import distinct
from cernis.operators.intervals.gap_edges import clip_input
from cernis.operators.intervals.pieces import pieces, reaching, united
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable


class StageLinks(Protocol):
    """What an evaluation of one stage gets from earlier stages, and gives to later ones."""

    def enter(self, context: Context) -> None:
        """Put in what earlier stages found as of a query, before it is evaluated."""

    def take(self, context: Context) -> None:
        """Take out what later stages need of a query, when it has been evaluated.

        What is taken out of the context here is not carried over to the next query.
        """


class FromScratch:
    """Evaluates all strata of a plan at each query, from everything that the window holds."""

    is_incremental = False

    def __init__(
        self, plan: Plan, memory: WindowRecords, domains: Domains, tick: int,
        links: StageLinks | None = None,
    ) -> None:  # fmt: skip
        self.strata = plan
        """The plan whose strata are evaluated."""
        self._plan = plan
        self._memory = memory
        self._links = links
        self.state = State(plan.checked, domains, tick, plan.roles.looked_back_at)
        self._rows: dict[Relation, Rows] = {}
        self._happened: dict[Relation, Rows] = {}
        vertices = plan.checked.dependencies.vertices
        self._defined = list(dict.fromkeys(v.relation for v in vertices if v.value is not None))
        events = plan.checked.catalogue.events
        self.history = History(plan, frozenset(r for r, event in events.items() if event.is_input))

    # -- one query --------------------------------------------------------------------------

    def pass_edge(self, window: Window) -> None:
        """Keep what patterns may need of the records that are about to be forgotten."""
        passed = {r: self._memory.passed(r, window.edge) for r in self.history.wanted}
        self.history.advance(window.edge, {r: own for r, own in passed.items() if own is not None})

    def update(self, news: News) -> int:
        """Evaluate all strata, whatever came and went; gives the conflicts between values."""
        context = news.context
        self.state.advance(news.window.edge, news.window.forgotten)
        self._fill(news.window, context)
        self.history.enter(context)
        if self._links is not None:
            self._links.enter(context)
        conflicts = self._evaluate(news)
        self.history.settle(context)
        if self._links is not None:
            self._links.take(context)
        return conflicts

    def _evaluate(self, news: News) -> int:
        return evaluate(self.strata, news.context, self.state.carried())

    def settle(self, news: News) -> None:
        """Let the next query begin from what this one has found."""
        self.state.settle(news.context)

    # -- input ------------------------------------------------------------------------------

    def _fill(self, window: Window, context: Context) -> None:
        """Give the context all that the window holds, and what was derived before it."""
        context.watched = self._plan.roles.watched
        context.remembered = self.state.remembered()
        for relation in self._certain(self._memory.events):
            table = self._memory.happenings(relation, window)
            counted = relation in self._plan.roles.counted
            context.events[relation] = once(table) if counted else table
        for relation in self._certain(self._memory.fluents):
            self._fill_fluent(relation, window, context)
        for relation in self._defined:
            if self.state.before(relation):
                context.fluents[relation] = united(self.state.before(relation), relation, context)

    def _certain(self, relations: Iterable[Relation]) -> Iterable[Relation]:
        """The relations of the input whose records count as certain."""
        return relations

    def _fill_fluent(self, relation: Relation, window: Window, context: Context) -> None:
        before = self.state.before(relation)
        table = united([*before, self._memory.intervals(relation, window)], relation, context)
        context.fluents[relation] = reaching(table, relation, context) if before else table
        clip_input(relation, context)
        last = self._memory.open_at_query(relation, window)
        if last is not None and len(last[-1]):
            context.leave_open(relation, last)

    # -- what has changed -------------------------------------------------------------------

    def changes(self, news: News) -> Changed:
        """How the answer differs from the one of the query before."""
        changes: Changed = {}
        for relation in self._defined:
            self._compare(relation, self._joined(relation, news.context), self._rows, changes)
        self._compare_events(news, changes)
        self.state.forget_archive()
        return changes

    def _compare_events(self, news: News, changes: Changed) -> None:
        for relation, table in news.context.events.items():
            if not self._plan.checked.catalogue.events[relation].is_input:
                # Happenings up to the edge stand, and are not said again.
                known = self._happened.get(relation)
                if known is not None:
                    self._happened[relation] = known.take(known.columns[0] > news.window.edge)
                self._compare(relation, as_rows(table), self._happened, changes)

    def _joined(self, relation: Relation, context: Context) -> Rows:
        """The intervals of a fluent: up to the edge as reported before, after it the new ones."""
        bound = context.edge + context.tick
        parts = []
        before = self._rows.get(relation)
        if before is not None:
            starts, ends, values = before.columns
            own = before.take((ends >= bound) & (starts < bound))
            cut = np.minimum(own.columns[1], bound)
            self._rows[relation] = before.take(ends >= bound)
            parts.append((own.arguments, own.columns[2], own.columns[0], cut))
        for arguments, values, starts, ends in self.state.live(relation):
            behind = ends > bound if before is not None else np.ones(len(ends), np.bool_)
            low = np.maximum(starts, bound) if before is not None else starts
            parts.append(([c[behind] for c in arguments], values[behind], low[behind],
                          ends[behind]))  # fmt: skip
        ((arguments, values, starts, ends),) = pieces(united(parts, relation, context))
        return Rows(arguments, [starts, ends, values])

    def _compare(
        self, relation: Relation, now: Rows, known: dict[Relation, Rows], changes: Changed
    ) -> None:
        """Note how a relation differs from what it was."""
        before = known.get(relation, now.take(np.empty(0, np.int64)))
        gone, come = told_apart(before, now)
        if gone.any() or come.any():
            changes[relation] = Change(before.take(gone), now.take(come))
        known[relation] = now

    # -- what is known ----------------------------------------------------------------------

    def answer(self) -> Answer:
        """What the window knows of."""
        return Answer(self.state.fluents())

    def whole_answer(self) -> Answer:
        """What all queries so far have found, where their answers are kept."""
        return Answer(self.state.fluents(), self.state.events())

    @property
    def reported(self) -> dict[Relation, Rows]:
        """The intervals that changes add up to."""
        return self._rows

    @property
    def kept(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""
        return len(self.history)

    @property
    def dropped(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""
        return self.history.dropped

    # -- from one to another ----------------------------------------------------------------

    def handed_over(self, query: int) -> Handover:
        """What the last query has left."""
        live, begun = self.state.left()
        fluents = {relation: _rows_of(table) for relation, table in live.items()}
        points = {r: rows_of_attempts(own) for r, own in begun.items()}
        remembered, seen = ({r: _rows_of(table) for r, table in own.items()}
                            for own in self.state.looked_back_at())  # fmt: skip
        return Handover(
            query, fluents | self._rows, dict(self._happened), points, remembered, seen,
            self.history.left(),
        )  # fmt: skip

    def take_over(self, left: Handover, context: Context) -> None:
        """Go on from where another has stopped."""
        live, remembered, seen = (
            {relation: _table_of(rows, relation, context) for relation, rows in own.items()}
            for own in (left.fluents, left.remembered, left.seen)
        )
        begun = {relation: attempts_of(rows) for relation, rows in left.begun.items()}
        self.state.resume(live, begun, remembered, seen, context)
        if left.history is not None:
            self.history.resume(left.history, context)
        defined = set(self._defined)
        self._rows = {r: rows for r, rows in left.fluents.items() if r in defined}
        self._happened = dict(left.events)

    def assume_reported(self, left: Handover) -> None:
        """Take as reported what was reported of some relations; nothing is carried over of them."""
        self._rows |= left.fluents
        self._happened |= left.events


def once(table: EventTable) -> EventTable:
    """Equal happenings as one, for those that count them."""
    first, _ = distinct([*table.arguments, table.times], [*table.domains, None])
    return table if len(first) == len(table) else table.take(np.sort(first))


def _rows_of(table: FluentTable) -> Rows:
    """The intervals of a table, one in each row."""
    ((arguments, values, starts, ends),) = pieces(table)
    return Rows(arguments, [starts, ends, values])


def _table_of(rows: Rows, relation: Relation, context: Context) -> FluentTable:
    starts, ends, values = rows.columns
    return united([(rows.arguments, values, starts, ends)], relation, context)
