"""The loop that answers queries: forget, admit, bring the strata up to date, settle, report.

A run is a session whose records are known from the beginning and whose answers are kept. A bucket
of a Spark job is such a run; a bucket of a stream is a session that is saved and restored. All of
them answer queries with the loop of this module, and nothing else calls evaluators.
"""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.pattern_history import PastOccurrences
from cernis.evaluate.fault_places import naming_the_rule_at_fault
from cernis.evaluate.stores import StoredRows, stacked
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.fluent_points import Attempts
from cernis.operators.context.query_context import Context
from cernis.plan.builder import Plan
from cernis.records.encoded_input import InputEvents, InputFluent
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import Piece

Predicate: TypeAlias = tuple[str, int]
Encoding: TypeAlias = tuple[list[Domain | None], Domain | None]
"""The domains that the arguments of a relation are encoded by, and the domain of its value."""


# -- what a query is about -------------------------------------------------------------------


@dataclass(slots=True)
class Admitted:
    """The records of one relation that were added and removed since the query before."""

    added: StoredRows
    removed: StoredRows
    added_keys: Integers
    """The number of the key of each added row."""
    new_keys: Integers
    """The numbers of the keys that no row had before."""


@dataclass(slots=True)
class QueryInput:
    """What one query starts from: its window, and what has changed in the input since the last."""

    window: Window
    context: Context
    admitted: Mapping[Relation, Admitted]
    member_changes: Mapping[Predicate, list[list[Array]]]
    """For each domain that grows with the input, the members that joined or left it."""


@dataclass(slots=True)
class RelationChange:
    """The rows of a relation that a query has removed from the answer, and those it has added.

    The columns of a fluent are start, end and value, those of an event its time, and its start if
    it is a pattern's.
    """

    removed: StoredRows
    added: StoredRows

    def __len__(self) -> int:
        return len(self.removed) + len(self.added)


AnswerChanges: TypeAlias = dict[Relation, RelationChange]


@dataclass(slots=True)
class QueryOutcome:
    """What a query has changed in the answer, and how many conflicts between values it met."""

    changes: AnswerChanges = field(default_factory=dict)
    conflicts: int = 0

    def add(self, relation: Relation, change: RelationChange) -> None:
        """Note a change of a relation, in addition to the changes of it that are noted already."""
        earlier = self.changes.get(relation)
        if earlier is not None:
            change = RelationChange(
                stacked(earlier.removed, change.removed), stacked(earlier.added, change.added)
            )
        self.changes[relation] = change


@dataclass(slots=True)
class Handover:
    """The state that one evaluator hands over, so that another can go on from its last query."""

    query: int
    fluents: dict[Relation, StoredRows]
    """The intervals of all fluents, including those of the input: start, end, value."""
    events: dict[Relation, StoredRows]
    """The happenings of derived events in the window."""
    effect_origins: dict[Relation, StoredRows]
    """The initiations from which the time of delayed effects counts: time, coded value and end."""
    remembered: dict[Relation, StoredRows] = field(default_factory=dict)
    """Intervals that ended before the window's edge, of fluents that rules look back at."""
    seen: dict[Relation, StoredRows] = field(default_factory=dict)
    """The intervals that the last query saw of the fluents that later queries look back at."""
    history: PastOccurrences | None = None
    """The occurrences before the edge that patterns may still need."""


def rows_of_attempts(attempts: Attempts) -> StoredRows:
    """Attempts as rows with the columns time, value and end."""
    return StoredRows(attempts.arguments, [attempts.times, attempts.values, attempts.ends])


def attempts_of(rows: StoredRows) -> Attempts:
    """Attempts from rows with the columns time, value and end."""
    times, values, ends = rows.columns
    return Attempts(rows.arguments, values, times, ends)


# -- who takes part --------------------------------------------------------------------------


class WindowRecords(Protocol):
    """Records, of which each query sees those that lie in its window and have arrived by then."""

    def forget(self, window: Window) -> None:
        """Forget the records that lie before the window."""

    def admit(self, window: Window, start: int) -> Mapping[Relation, Admitted]:
        """Let the query see the records that have arrived; gives the changes of each relation."""

    def encoding(self, relation: Relation) -> Encoding:
        """The domains of a relation's arguments and of its value."""

    @property
    def events(self) -> Iterable[Relation]:
        """The events that there may be records of."""

    @property
    def fluents(self) -> Iterable[Relation]:
        """The input fluents that there may be records of."""

    def happenings(self, relation: Relation, window: Window) -> EventTable:
        """The happenings of an event that a query sees."""

    def happenings_up_to(self, relation: Relation, edge: int) -> EventTable | None:
        """The happenings up to an edge that the last query has seen."""

    def intervals(self, relation: Relation, window: Window) -> Piece:
        """The intervals of an input fluent that a query sees, without their forgotten parts."""

    def fluent_records(self, relation: Relation, window: Window) -> StoredRows:
        """The records of an input fluent that a query sees, as they are: start, end, value."""

    def open_at_query(self, relation: Relation, window: Window) -> list[Array] | None:
        """The arguments and values of which a record says that they hold at the query itself.

        They may go on after the query. None says that no record is about a single point.
        """

    def uncertain_events(self, relation: Relation, window: Window) -> InputEvents:
        """The records of an event that a query sees, in the order of time, with probabilities."""

    def uncertain_fluent(self, relation: Relation, window: Window) -> InputFluent:
        """The records of an input fluent that a query sees, cut at what is forgotten."""


class Evaluator(Protocol):
    """One way to bring the strata of a plan up to date."""

    is_incremental: bool
    """Does it evaluate from what has changed, and not from scratch?"""

    @property
    def key_count(self) -> int:
        """How many combinations of values it has numbers for, beside those of tables."""

    def pass_edge(self, window: Window) -> None:
        """Keep what later queries need of the records that are about to be forgotten."""

    def can_read(self, query_input: QueryInput) -> bool:
        """Can it evaluate the records that have come?"""

    def update(self, query_input: QueryInput) -> int:
        """Bring all strata up to a query; gives the number of conflicts between values."""

    def settle(self, query_input: QueryInput) -> None:
        """Keep what the next query begins from."""

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""

    def answer(self) -> Answer:
        """All that is recognised within the window."""

    def hand_over(self, query: int) -> Handover:
        """The state after the last query, from which another evaluator can go on."""

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped."""

    def assume_reported(self, handover: Handover) -> None:
        """Take the rows of some relations as reported; the next query derives them again."""

    @property
    def kept_occurrences(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""

    @property
    def dropped_occurrences(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""


class Membership(Protocol):
    """The members of the domains that grow with the input."""

    def update(
        self, admitted: Mapping[Relation, Admitted], memory: WindowRecords, context: Context
    ) -> Mapping[Predicate, list[list[Array]]]:
        """Count the members that records name, and tell the context; gives who joined or left."""


# -- the loop --------------------------------------------------------------------------------


class QueryLoop(ABC):
    """Answers queries, one after the other, with an evaluator over a memory of records."""

    plan: Plan
    start: int | None
    memory: WindowRecords
    population: Membership
    evaluator: Evaluator

    def answer_query(self, window: Window) -> QueryOutcome:
        """Forget, admit, bring the strata up to date, settle, report."""
        assert self.start is not None
        with garbage_collection_paused(), naming_the_rule_at_fault(self.plan):
            context = self.context(window)
            self.evaluator.pass_edge(window)
            self.memory.forget(window)
            admitted = self.memory.admit(window, self.start)
            member_changes = self.population.update(admitted, self.memory, context)
            query_input = QueryInput(window, context, admitted, member_changes)
            self.choose_evaluator(query_input)
            conflicts = self.evaluator.update(query_input)
            self.evaluator.settle(query_input)
            return QueryOutcome(self.changes_to_report(query_input), conflicts)

    @abstractmethod
    def context(self, window: Window) -> Context:
        """The context of a query for operators, still without tables."""

    @abstractmethod
    def choose_evaluator(self, query_input: QueryInput) -> None:
        """Change to another evaluator, where that is likely to cost less."""

    def changes_to_report(self, query_input: QueryInput) -> AnswerChanges:
        """The changes that a query reports: how its answer differs from the one before."""
        return self.evaluator.changes(query_input)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause Python's garbage collector: a query leaves few unreachable objects.

    With many facts loaded, the collector would visit all of them in the middle of a query.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
