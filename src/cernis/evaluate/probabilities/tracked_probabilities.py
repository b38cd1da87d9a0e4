"""Evaluates uncertain records query by query, with the probabilities of earlier queries.

At a query, the probability of each pair right after the edge of the window is the one that the
query before has computed for that point. From there on it follows from the records of the window.
Intervals are those of the whole course so far: the course that stands up to the edge, and the one
that the window gives after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.columns.pattern_history import PatternHistory
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.composites.delayed_courses import DelayedRun, InstanceStates
from cernis.evaluate.probabilities.composites.occurrence_history import (
    ReportedOccurrences,
    UncertainHistory,
)
from cernis.evaluate.probabilities.courses import Courses, Pairs
from cernis.evaluate.probabilities.credible.course_tracks import Tracks, joined_courses
from cernis.evaluate.probabilities.credible.credible_tables import table_of_rows
from cernis.evaluate.probabilities.credible.credible_tracks import CredibleTracks
from cernis.evaluate.probabilities.credible.reported_means import with_reported_means
from cernis.evaluate.probabilities.uncertain_query import UncertainQuery
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.probabilities.whole_probabilities import definitions_of, enter_certain
from cernis.evaluate.query_loop import (
    AnswerChanges,
    Handover,
    QueryInput,
    RelationChange,
    WindowRecords,
)
from cernis.evaluate.stores import StoredRows, stacked
from cernis.evaluate.windows import Window
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.builder import Plan
from cernis.plan.properties.uncertain_relations import needs_of_certain_patterns
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable

NO_PROBABILITY: Final = -1.0
"""The column has this where a fluent is made of credible intervals and has no probability."""


class TrackedProbabilities(FromScratch):
    """Evaluates a plan over uncertain records again at each query.

    `uncertain` are the relations of the input whose records may be uncertain. The rows of a fluent
    have the mean probability as their last column. If it `keeps_all`, the answers of all queries
    are kept, as a run needs them; a session reports what has changed instead.
    """

    def __init__(
        self, plan: Plan, memory: WindowRecords, domains: Domains, tick: int, ties: str,
        settings: UncertainSettings, uncertain: frozenset[Relation],
        links: StageLinks | None = None, keeps_all: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(plan, memory, domains, tick, links)
        self._uncertain = uncertain
        self.history = PatternHistory(plan, needs_of_certain_patterns(plan, uncertain))
        self._circuits = Circuits(ties)
        self._tick = tick
        self._keeps_all = keeps_all
        self._mean_change = settings.mean_change
        self._hidden = plan.checked.definitions.auxiliary
        self._derived = frozenset(definitions_of(plan))
        self.credible = CredibleTracks(settings, tick, self._hidden)
        """The intervals of uncertain fluents."""
        self._courses: dict[Relation, Courses] = {}
        self._is_first = True
        self.thresholded: frozenset[Relation] = frozenset()
        """Fluents that are made of credible intervals."""
        self.settled: dict[Relation, Courses] = {}
        """The parts of courses that the last query has settled, up to its edge."""
        self.occurred = UncertainHistory(plan)
        """The uncertain occurrences before the edge that patterns may need."""
        self._occurrences = ReportedOccurrences(keeps_all)
        self.delayed_runs: dict[Relation, DelayedRun] = {}
        """What the last query knew of fluents with delayed effects."""
        self._query: UncertainQuery
        self._encoding: ValueEncoding
        self._kept_intervals: dict[Relation, list[StoredRows]] = {}
        self._kept_courses: dict[Relation, list[Courses]] = {}

    @property
    def final_intervals(self) -> dict[Relation, StoredRows]:
        """The intervals of uncertain fluents that no later query can change any more."""
        return self.credible.final_intervals

    # -- one query --------------------------------------------------------------------------

    def pass_edge(self, window: Window) -> None:
        """Keep what patterns may need of what the edge passes."""
        super().pass_edge(window)
        self.occurred.advance(window.edge)

    def _evaluate(self, query_input: QueryInput, courses: dict[Relation, Courses]) -> int:
        window, context, credible = query_input.window, query_input.context, self.credible
        self._encoding = context.encoding
        credible.begin(window, context.window.start)
        held = self._settle_before(window.edge + self._tick)
        self._query = UncertainQuery(
            self._plan, context, self._circuits, courses, credible.intervals, held,
            self.state.carried, self._states_at(window.edge),
        )  # fmt: skip
        uncertainty = self._query.uncertainty
        self.occurred.enter(uncertainty, context.encoding)
        conflicts = self._query.run(self._memory, self._uncertain, window)
        self.occurred.settle(uncertainty, context, self._circuits)
        shown = [relation for relation in self._derived if relation not in self._hidden]
        self._occurrences.settle(shown, window.edge, uncertainty, context, self._circuits)
        for relation in self._reported_fluents():
            credible.rows(relation, courses[relation])
        # Rules may look back at certain fluents of earlier stages, too.
        tables = context.relations.fluents.items()
        context.relations.seen = {r: table for r, table in tables if r not in courses}
        return conflicts

    def _states_at(self, edge: int) -> dict[Relation, InstanceStates]:
        """The states of fluents with delayed effects right after the edge."""
        runs = self.delayed_runs.items()
        return {relation: run.carried(edge, str(relation))[2] for relation, run in runs}

    def _settle_before(self, bound: int) -> dict[Relation, Pairs] | None:
        """Settle all points before the bound; gives what held at it, None at the first query."""
        self.settled = {}
        if self._is_first:
            return None
        held = {}
        for relation, courses in self._courses.items():
            self.settled[relation] = courses.up_to(bound)
            held[relation] = courses.pairs.likely(courses.probabilities_at(bound))
        return held

    def _certain_relations(self, relations: Iterable[Relation]) -> Iterable[Relation]:
        return [relation for relation in relations if relation not in self._uncertain]

    def _reported_fluents(self) -> list[Relation]:
        """The uncertain fluents that the strata define, without hidden ones."""
        return [r for r in self._query.courses if r in self._derived and r not in self._hidden]

    def settle(self, query_input: QueryInput) -> None:
        """Let the next query begin from what this one has found."""
        window, query = query_input.window, self._query
        self._is_first = False
        self.delayed_runs = query.delayed_runs
        self.thresholded = frozenset(query.thresholded)
        self._courses = self._carried_on(query.courses)
        if window.forgotten > window.edge:
            self._settle_between(window.forgotten + self._tick)
        if self._keeps_all:
            self._keep_answers()
        self._settle_certain(query_input.context)

    def _carried_on(self, courses: Mapping[Relation, Courses]) -> dict[Relation, Courses]:
        """The courses that the next query goes on from: those of fluents of the strata."""
        known = self._plan.checked.catalogue.fluents
        return {
            relation: course
            for relation, course in courses.items()
            if relation in self._derived and known[relation].kind is not FluentKind.INPUT
        }

    def _settle_between(self, bound: int) -> None:
        """Settle the points between two windows, which no record will change."""
        for relation, courses in self._courses.items():
            parts = [self.settled[relation]] if relation in self.settled else []
            self.settled[relation] = joined_courses([*parts, courses.up_to(bound)])
            self._courses[relation] = courses.since(bound)

    def _keep_answers(self) -> None:
        """Keep what the query has settled, for the answer over all queries."""
        for relation, rows in self.final_intervals.items():
            self._kept_intervals.setdefault(relation, []).append(rows)
        for relation, courses in self.settled.items():
            self._kept_courses.setdefault(relation, []).append(courses)

    def _settle_certain(self, context: Context) -> None:
        """Let the state carry over the certain relations only."""
        relations, catalogue = context.relations, self._plan.checked.catalogue.events
        for relation in self._query.courses:
            relations.fluents.pop(relation, None)
        relations.events = {r: table for r, table in relations.events.items() if r in catalogue}
        self.state.settle(context)

    # -- what has changed -------------------------------------------------------------------

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""
        changes = self._certain_changes(query_input)
        self._compare_occurrences(query_input.window.edge, changes)
        for relation in self._reported_fluents():
            self._compare_uncertain(relation, changes)
        self.state.forget_archive()
        return changes

    def _certain_changes(self, query_input: QueryInput) -> AnswerChanges:
        plain: AnswerChanges = {}
        for relation in self._defined:
            if relation not in self._query.courses:
                self._compare(
                    relation,
                    self._standing_and_new(relation, query_input.context),
                    self._reported_intervals,
                    plain,
                )
        changes: AnswerChanges = {}
        for relation, change in plain.items():
            chance = NO_PROBABILITY if relation in self.thresholded else 1.0
            changes[relation] = RelationChange(
                _with_chance(change.removed, chance), _with_chance(change.added, chance)
            )
        self._compare_events(query_input, changes)
        return changes

    def _compare_occurrences(self, edge: int, changes: AnswerChanges) -> None:
        """Note how occurrences of uncertain patterns after the edge differ; earlier ones stand."""
        for relation, rows in self._occurrences.rows.items():
            reported = self._reported_events.get(relation)
            if reported is not None:
                reported = reported.take(reported.columns[0] > edge)
                self._reported_events[relation] = reported
            rows = rows.take(rows.columns[0] > edge)
            rows = with_reported_means(rows, reported, self._mean_change)
            self._compare(relation, rows, self._reported_events, changes)

    def _compare_uncertain(self, relation: Relation, changes: AnswerChanges) -> None:
        reported = self._reported_intervals.get(relation)
        now = self.credible.rows(relation, self._query.courses[relation])
        now = whole = with_reported_means(now, reported, self._mean_change)
        if relation in self.final_intervals:
            passed = with_reported_means(
                self.final_intervals[relation], reported, self._mean_change
            )
            self.final_intervals[relation] = passed
            whole = stacked(passed, now)
        self._compare(relation, whole, self._reported_intervals, changes)
        self._reported_intervals[relation] = now

    # -- what is known ----------------------------------------------------------------------

    def answer(self) -> Answer:
        """The answer of the last query."""
        answer = Answer(courses=self.courses(), circuits=len(self._circuits))
        for relation, rows in self.likely().items():
            self._enter_rows(relation, rows, answer)
        self._enter_certain(answer)
        self._enter_occurrences(answer)
        return answer

    def whole_answer(self) -> Answer:
        """The joined answer of all queries so far, where their answers are kept."""
        answer = Answer(events=self.state.events(), circuits=len(self._circuits))
        for relation, courses in self.courses().items():
            past = self._kept_courses.get(relation)
            answer.courses[relation] = joined_courses([*past, courses]) if past else courses
        for relation in self._reported_fluents():
            rows = self.credible.rows(relation, self._query.courses[relation])
            passed = self._kept_intervals.get(relation, [])
            self._enter_rows(relation, stacked(*passed, rows) if passed else rows, answer)
        self._enter_certain(answer)
        self._enter_occurrences(answer)
        return answer

    def _enter_rows(self, relation: Relation, rows: StoredRows, answer: Answer) -> None:
        pairs = self.credible.tracks[relation].pairs
        assert pairs is not None
        table, means = table_of_rows(rows, pairs.domains, pairs.value_domain)
        answer.fluents[relation], answer.means[relation] = table, means

    def _enter_occurrences(self, answer: Answer) -> None:
        for relation, rows in self._occurrences.rows.items():
            domains = self._encoding.events[relation]
            times, starts, chances = rows.columns
            answer.possible[relation] = EventTable(rows.arguments, domains, times, starts)
            answer.occurrence_chances[relation] = chances

    def _enter_certain(self, answer: Answer) -> None:
        for relation, table in self.state.fluents().items():
            if relation not in self._courses:
                enter_certain(relation, table, self.thresholded, answer)

    def likely(self) -> dict[Relation, StoredRows]:
        """The intervals of uncertain fluents, including those that the last query made final."""
        return {
            relation: stacked(self.final_intervals[relation], self._reported_intervals[relation])
            if relation in self.final_intervals
            else self._reported_intervals[relation]
            for relation in self.credible.tracks
            if relation in self._derived and relation not in self._hidden
        }

    def courses(self) -> dict[Relation, Courses]:
        """The courses of uncertain fluents as of the last query, from its edge on."""
        return {r: courses for r, courses in self._courses.items() if r not in self._hidden}

    # -- from one to another ------------------------------------------------------------------

    @property
    def carried_courses(self) -> Mapping[Relation, Courses]:
        """The courses of fluents that rules define, including hidden ones."""
        return self._courses

    def go_on_from(
        self, courses: dict[Relation, Courses], thresholded: frozenset[Relation],
        tracks: dict[Relation, Tracks], final_intervals: dict[Relation, StoredRows],
    ) -> None:  # fmt: skip
        """Go on from the courses and tracks of another evaluator."""
        self._courses, self.thresholded = courses, thresholded
        self.credible.tracks, self.credible.final_intervals = tracks, final_intervals
        self._is_first = False

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped; uncertain fluents have means."""
        certain = {r: rows for r, rows in handover.fluents.items() if len(rows.columns) == 3}
        super().take_over(replace(handover, fluents=certain), context)
        self._reported_intervals |= {
            r: rows for r, rows in handover.fluents.items() if r not in certain
        }


def _with_chance(rows: StoredRows, chance: float) -> StoredRows:
    return StoredRows(rows.arguments, [*rows.columns, np.full(len(rows), chance)])
