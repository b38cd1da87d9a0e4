"""Probabilities query by query: what the window says, and what stands before it.

At a query the probability of each pair right after the edge of the window is what the query before
said of that point; from there on it follows from the records of the window. Intervals are those of
the whole course so far: of what stands up to the edge, and what the window says after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.changes.stores import Rows, stacked
from cernis.evaluate.columns.from_scratch import FromScratch
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.course_tracks import Tracks, joined_courses
from cernis.evaluate.probabilities.courses import Courses, Credible, Pairs
from cernis.evaluate.probabilities.uncertain_run import Evaluation, PairSeeds, credible_table
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import Change, Changed, Handover, News
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import Memory
from cernis.kernels.array_types import Floats
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.records.encoded_input import EncodedInput, InputEvents, InputFluent
from cernis.tables.domains import Domains
from cernis.tables.interval_tables import INFINITY, FluentTable

NO_PROBABILITY: Final = -1.0
"""Stands where a fluent is made of credible intervals, and has no probability of its own."""


class TrackedProbabilities(FromScratch):
    """Evaluates a plan over uncertain records anew at each query.

    `uncertain` are the relations of the input whose records may be uncertain. The rows of a fluent
    have the mean probability as their last column.
    """

    def __init__(
        self, plan: Plan, memory: Memory, domains: Domains, tick: int, ties: str,
        chosen: UncertainSettings, uncertain: frozenset[Relation],
    ) -> None:  # fmt: skip
        super().__init__(plan, memory, domains, tick)
        self._stores = memory.stores
        self._chosen = chosen
        self._uncertain = uncertain
        self._hidden = plan.checked.definitions.auxiliary
        self._circuits = Circuits(ties)
        self._tick = tick
        self._courses: dict[Relation, Courses] = {}
        self.keeps = False
        """Is what certain fluents said before the window kept, too?"""
        self._asked = False
        self.thresholded: frozenset[Relation] = frozenset()
        """Fluents that are made of credible intervals."""
        self.tracks: dict[Relation, Tracks] = {}
        self.let_go: dict[Relation, Rows] = {}
        """The intervals of uncertain fluents that no later query can change any more."""
        self._evaluation: _WindowEvaluation
        self.settled: dict[Relation, Courses] = {}
        """What the last query has settled of the courses, up to its edge."""

    def _evaluate(self, news: News) -> int:
        held = self._settle_before(news.window.edge + self._tick)
        self._evaluation = _WindowEvaluation(self, news.window, news.context, held)
        self._evaluation.run(self._input_of(news.context))
        return self._evaluation.conflicts

    def settle(self, news: News) -> None:
        """Let the next query begin from what this one has found."""
        window, evaluation = news.window, self._evaluation
        self._asked = True
        self.thresholded = frozenset(evaluation.thresholded)
        self._courses = self._simple(evaluation.courses)
        if window.forgotten > window.edge:
            self._settle_between(window.forgotten + self._tick)
        self._leave(news.context)

    def changes(self, news: News) -> Changed:
        """How the answer differs from the one of the query before."""
        changes = self._certain_changes(news)
        for relation in self._shown_tracks():
            self._compare_uncertain(relation, changes)
        if not self.keeps:
            self.state.forget_archive()
        return changes

    # -- before the window ------------------------------------------------------------------

    def _settle_before(self, bound: int) -> dict[Relation, Pairs] | None:
        """Settle all before the bound; gives what held there, None at the first query."""
        self.let_go, self.settled = {}, {}
        if not self._asked:
            return None
        for relation, tracks in self.tracks.items():
            assert tracks.pairs is not None
            found = tracks.settle(bound)
            if relation not in self._hidden:
                self.let_go[relation] = _rows(tracks.pairs, found, INFINITY)
        held = {}
        for relation, courses in self._courses.items():
            self.settled[relation] = courses.up_to(bound)
            held[relation] = courses.pairs.likely(courses.at(bound))
        return held

    def let_go_between(self, relation: Relation, bound: int) -> None:
        """Settle the tracks of a fluent between two windows."""
        tracks = self.tracks[relation]
        found = tracks.settle(bound)
        assert tracks.pairs is not None
        if relation not in self._hidden:
            rows = _rows(tracks.pairs, found, INFINITY)
            before = self.let_go.get(relation)
            self.let_go[relation] = rows if before is None else stacked(before, rows)

    def _settle_between(self, bound: int) -> None:
        """Settle what lies between two windows: no record will change it."""
        for relation, courses in self._courses.items():
            parts = [self.settled[relation]] if relation in self.settled else []
            self.settled[relation] = joined_courses([*parts, courses.up_to(bound)])
            self._courses[relation] = courses.since(bound)

    def _simple(self, courses: Mapping[Relation, Courses]) -> dict[Relation, Courses]:
        """The courses of fluents that rules define: they are carried on."""
        known = self._plan.checked.catalogue.fluents
        return {r: own for r, own in courses.items() if known[r].kind is FluentKind.SIMPLE}

    # -- the window -------------------------------------------------------------------------

    def _input_of(self, context: Context) -> EncodedInput:
        """The records of the window that may be uncertain."""
        found = EncodedInput({}, {}, {}, context.tick)
        for relation in sorted(self._uncertain):
            store = self._stores[relation]
            rows = store.rows(store.shelf.everything())
            rows = rows.take(np.argsort(rows.columns[0], kind="stable"))
            times, chances = rows.columns[0], rows.columns[-1].astype(np.float64)
            if store.has_intervals:
                found.fluents[relation] = InputFluent(
                    rows.arguments, rows.columns[2], store.domains, store.value_domain, times,
                    rows.columns[1], times, False, chances=chances,
                )  # fmt: skip
            else:
                found.events[relation] = InputEvents(
                    rows.arguments, store.domains, times, times, chances=chances
                )
        return found

    def _certain(self, relations: Iterable[Relation]) -> Iterable[Relation]:
        return [relation for relation in relations if relation not in self._uncertain]

    def _leave(self, context: Context) -> None:
        """Let the state carry over what is certain, and nothing else."""
        for relation in self._evaluation.courses:
            context.fluents.pop(relation, None)
        catalogue = self._plan.checked.catalogue.events
        context.events = {r: own for r, own in context.events.items() if r in catalogue}
        context.seen = dict(context.fluents)
        self.state.settle(context)

    # -- the answer -------------------------------------------------------------------------

    def _shown_tracks(self) -> list[Relation]:
        defined = set(self._defined)
        return [r for r in self.tracks if r in defined and r not in self._hidden]

    def _certain_changes(self, news: News) -> Changed:
        plain: Changed = {}
        for relation in self._defined:
            if relation not in self._evaluation.courses:
                self._compare(relation, self._joined(relation, news.context), self._rows, plain)
        changes: Changed = {}
        for relation, change in plain.items():
            chance = NO_PROBABILITY if relation in self.thresholded else 1.0
            changes[relation] = Change(_with(change.gone, chance), _with(change.come, chance))
        self._compare_events(news, changes)
        return changes

    def _compare_uncertain(self, relation: Relation, changes: Changed) -> None:
        now = self._evaluation.rows(relation)
        passed = self.let_go.get(relation)
        whole = now if passed is None else stacked(passed, now)
        self._compare(relation, whole, self._rows, changes)
        self._rows[relation] = now

    # -- from one to another ------------------------------------------------------------------

    @property
    def carried_courses(self) -> Mapping[Relation, Courses]:
        """The courses of fluents that rules define, hidden ones among them."""
        return self._courses

    def go_on_from(
        self, courses: dict[Relation, Courses], thresholded: frozenset[Relation],
        tracks: dict[Relation, Tracks], let_go: dict[Relation, Rows],
    ) -> None:  # fmt: skip
        """Know what another has left of uncertain fluents."""
        self._courses, self.thresholded, self.tracks, self.let_go = (
            courses, thresholded, tracks, let_go
        )  # fmt: skip
        self._asked = True

    def take_over(self, left: Handover, context: Context) -> None:
        """Go on from where another has stopped; rows of uncertain fluents have means."""
        certain = {r: own for r, own in left.fluents.items() if len(own.columns) == 3}
        super().take_over(replace(left, fluents=certain), context)
        self._rows |= {r: own for r, own in left.fluents.items() if r not in certain}

    def new_tracks(self, relation: Relation, first: int) -> Tracks:
        """The tracks of a fluent with nothing in them."""
        how = self._chosen.of(relation)
        seeds = None if how.durations is None else PairSeeds(relation, how.seed)
        return Tracks(first, self._tick, how, seeds)

    def likely(self) -> dict[Relation, Rows]:
        """The intervals of uncertain fluents, those let go by the last query among them."""
        return {
            relation: stacked(self.let_go[relation], self._rows[relation])
            if relation in self.let_go
            else self._rows[relation]
            for relation in self._shown_tracks()
        }

    def certain(self) -> dict[Relation, FluentTable]:
        """The intervals of all other fluents, as far as the window reaches."""
        return {r: own for r, own in self.state.fluents().items() if r not in self._courses}

    def courses(self) -> dict[Relation, Courses]:
        """The courses of uncertain fluents as of the last query, from its edge on."""
        return {r: own for r, own in self._courses.items() if r not in self._hidden}


@dataclass(slots=True)
class _Tracked:
    """The intervals of a fluent as of a query: as rows, and as a table with means."""

    rows: Rows
    table: tuple[FluentTable, Floats] = field()


class _WindowEvaluation(Evaluation):
    """One query of a session."""

    def __init__(
        self, tracked: TrackedProbabilities, window: Window, context: Context,
        held: Mapping[Relation, Pairs] | None,
    ) -> None:  # fmt: skip
        super().__init__(tracked._plan, tracked._chosen, context, window, tracked._circuits)
        self._tracking = tracked
        self._uncertainty.held = held
        self._carried = tracked.state.carried()
        self._tracked: dict[Relation, _Tracked] = {}

    def run(self, given: EncodedInput) -> None:
        """All strata, and the intervals of all fluents that are shown."""
        super().run(given)
        hidden = self._plan.checked.definitions.auxiliary
        for relation in self.defined:
            if relation in self.courses and relation not in hidden:
                self._track(relation)

    def rows(self, relation: Relation) -> Rows:
        """The intervals of a fluent; what reaches the last point is open."""
        return self._track(relation).rows

    def _intervals(self, relation: Relation) -> tuple[FluentTable, Floats]:
        return self._track(relation).table

    def _track(self, relation: Relation) -> _Tracked:
        if relation not in self._tracked:
            self._tracked[relation] = self._answered(relation)
        return self._tracked[relation]

    def _answered(self, relation: Relation) -> _Tracked:
        context, tracks = self._context, self._tracks(relation)
        tracks.put(self.courses[relation])
        assert tracks.pairs is not None
        if self._window.forgotten > self._window.edge:
            self._tracking.let_go_between(relation, self._window.forgotten + context.tick)
        found = tracks.answer(self._window.query + context.tick)
        last = tracks.first + context.tick * tracks.points(self._window.query + context.tick)
        rows = _rows(tracks.pairs, found, last)
        if context.edge > context.start:
            # What ended before the edge is nothing that the window knows of.
            behind = found.ends > context.edge + context.tick
            found = Credible(
                found.owner[behind], found.starts[behind], found.ends[behind], found.means[behind]
            )
        return _Tracked(rows, credible_table(tracks.pairs, found, last))

    def _tracks(self, relation: Relation) -> Tracks:
        known = self._tracking.tracks
        if relation not in known:
            first = self._context.start + self._context.tick
            known[relation] = self._tracking.new_tracks(relation, first)
        return known[relation]


def _rows(pairs: Pairs, found: Credible, last: int) -> Rows:
    """Intervals as rows: start, end, value, mean; what ends at the last is open."""
    ends = np.where(found.ends == last, INFINITY, found.ends)
    arguments = [column[found.owner] for column in pairs.arguments]
    return Rows(arguments, [found.starts, ends, pairs.values[found.owner], found.means])


def _with(rows: Rows, chance: float) -> Rows:
    return Rows(rows.arguments, [*rows.columns, np.full(len(rows), chance)])
