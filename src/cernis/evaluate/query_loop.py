"""A query, written once: forget, admit, bring the strata up to date, settle, tell.

A run is a session whose records are known from the beginning and whose answers are kept. A bucket
of a Spark job is such a run; a bucket of a stream is a session that is saved and restored. All of
them answer queries here, and nothing else calls evaluators.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.changes.stores import Rows, stacked
from cernis.evaluate.columns.pattern_history import Past
from cernis.evaluate.fault_places import told_where
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.operators.intervals.pieces import Piece
from cernis.operators.query_context import Attempts, Context
from cernis.plan.builder import Plan
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable

Predicate: TypeAlias = tuple[str, int]
Encoding: TypeAlias = tuple[list[Domain | None], Domain | None]
"""How the arguments of a relation are encoded, and its value."""


# -- what a query is about -------------------------------------------------------------------


@dataclass(slots=True)
class Admitted:
    """The records of one relation that came and went since the query before."""

    come: Rows
    gone: Rows
    groups: Integers
    """The keys of what came."""
    fresh: Integers
    """The keys that came up for the first time."""


@dataclass(slots=True)
class News:
    """A query: its window, and what came and went since the one before."""

    window: Window
    context: Context
    admitted: Mapping[Relation, Admitted]
    members: Mapping[Predicate, list[list[Array]]]
    """Who joined or left the domains that grow with the input."""


@dataclass(slots=True)
class Change:
    """Rows of a relation that are no longer there, and rows that are new.

    The columns of a fluent are start, end and value, those of an event its time, and its start if
    it is a pattern's.
    """

    gone: Rows
    come: Rows

    def __len__(self) -> int:
        return len(self.gone) + len(self.come)


Changed: TypeAlias = dict[Relation, Change]


@dataclass(slots=True)
class Outcome:
    """What a query has changed in the answer, and what it counted on its way."""

    changes: Changed = field(default_factory=dict)
    conflicts: int = 0

    def add(self, relation: Relation, change: Change) -> None:
        """Note what has changed of a relation, in addition to what is known by now."""
        known = self.changes.get(relation)
        if known is not None:
            change = Change(stacked(known.gone, change.gone), stacked(known.come, change.come))
        self.changes[relation] = change


@dataclass(slots=True)
class Handover:
    """What one evaluator leaves, so that another can go on from its last query."""

    query: int
    fluents: dict[Relation, Rows]
    """The intervals of all fluents, of the input, too: start, end, value."""
    events: dict[Relation, Rows]
    """The happenings of derived events in the window."""
    begun: dict[Relation, Rows]
    """The initiations that delayed effects are counted from: time, coded value and end."""
    remembered: dict[Relation, Rows] = field(default_factory=dict)
    """Intervals before the window's edge that rules look back at."""
    seen: dict[Relation, Rows] = field(default_factory=dict)
    """What the query saw of the fluents that later ones look back at."""
    history: Past | None = None
    """What patterns may need of occurrences before the edge."""


def rows_of_attempts(attempts: Attempts) -> Rows:
    """Attempts as they are kept."""
    return Rows(attempts.arguments, [attempts.times, attempts.values, attempts.ends])


def attempts_of(rows: Rows) -> Attempts:
    """Attempts from rows of them."""
    times, values, ends = rows.columns
    return Attempts(rows.arguments, values, times, ends)


# -- who takes part --------------------------------------------------------------------------


class WindowRecords(Protocol):
    """Records, of which each query sees those of its window."""

    def forget(self, window: Window) -> None:
        """Forget what lies before the window."""

    def admit(self, window: Window, start: int) -> Mapping[Relation, Admitted]:
        """Let the query see what has arrived; gives what came and what went, by relation."""

    def encoding(self, relation: Relation) -> Encoding:
        """How the arguments of a relation are encoded, and its value."""

    @property
    def events(self) -> Iterable[Relation]:
        """The events that there may be records of."""

    @property
    def fluents(self) -> Iterable[Relation]:
        """The input fluents that there may be records of."""

    def happenings(self, relation: Relation, window: Window) -> EventTable:
        """What a query sees of an event."""

    def passed(self, relation: Relation, edge: int) -> EventTable | None:
        """The happenings up to an edge that the last query has seen."""

    def intervals(self, relation: Relation, window: Window) -> Piece:
        """What a query sees of an input fluent, cut at what is forgotten."""

    def open_at_query(self, relation: Relation, window: Window) -> list[Array] | None:
        """Arguments and values that a record is about at the query: they may go on after it."""


class Evaluator(Protocol):
    """Brings the strata of a plan up to date: one way of evaluating."""

    is_incremental: bool
    """Does it evaluate from what has changed, and not from scratch?"""

    def pass_edge(self, window: Window) -> None:
        """Keep what is needed of the records that are about to be forgotten."""

    def update(self, news: News) -> int:
        """Bring all strata up to a query; gives the conflicts between values."""

    def settle(self, news: News) -> None:
        """Let the next query begin from what this one has found."""

    def changes(self, news: News) -> Changed:
        """How the answer differs from the one of the query before."""

    def answer(self) -> Answer:
        """What the window knows of."""

    def handed_over(self, query: int) -> Handover:
        """What the last query has left, for another to go on from."""

    def take_over(self, left: Handover, context: Context) -> None:
        """Go on from where another has stopped."""

    def assume_reported(self, left: Handover) -> None:
        """Take as reported what was reported of some relations, which are derived again."""

    @property
    def kept(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""

    @property
    def dropped(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""


class Membership(Protocol):
    """Who is in the domains that grow with the input."""

    def update(
        self, admitted: Mapping[Relation, Admitted], memory: WindowRecords, context: Context
    ) -> Mapping[Predicate, list[list[Array]]]:
        """Take note of records; gives who joined or left each domain, and fills the context."""


# -- the loop --------------------------------------------------------------------------------


class QueryLoop:
    """Answers queries, one after the other."""

    plan: Plan
    start: int | None
    memory: WindowRecords
    population: Membership
    evaluator: Evaluator

    def answer_query(self, window: Window) -> Outcome:
        """Forget, admit, bring the strata up to date, settle, tell."""
        assert self.start is not None
        with undisturbed(), told_where(self.plan):
            context = self.context(window)
            self.evaluator.pass_edge(window)
            self.memory.forget(window)
            admitted = self.memory.admit(window, self.start)
            members = self.population.update(admitted, self.memory, context)
            news = News(window, context, admitted, members)
            self.choose_evaluator(news)
            conflicts = self.evaluator.update(news)
            self.evaluator.settle(news)
            return Outcome(self.tell(news), conflicts)

    def context(self, window: Window) -> Context:
        """What operators can ask for during a query, without any tables yet."""
        raise NotImplementedError

    def choose_evaluator(self, news: News) -> None:
        """Change to another way of evaluating, where that is likely to cost less."""

    def tell(self, news: News) -> Changed:
        """What is reported of a query: how its answer differs from the one before."""
        return self.evaluator.changes(news)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let the collector of unreachable objects wait: a query leaves few.

    With many facts loaded, it would look at all of them in the middle of a query.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
