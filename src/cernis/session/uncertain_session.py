"""A session over uncertain records: queries report how the likely intervals have changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from cernis.answers.result import Summary
from cernis.answers.uncertain_result import UncertainResult
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.differences import only_in_one
from cernis.evaluate.evaluator_choice import UncertainInput, ties_of
from cernis.evaluate.probabilities.courses import Courses
from cernis.evaluate.probabilities.tracked_probabilities import NO_PROBABILITY, TrackedProbabilities
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import AnswerChanges, Handover, RelationChange
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.working_memory import WorkingMemory
from cernis.plan.builder import Plan
from cernis.plan.properties.uncertain_relations import uncertain_relations
from cernis.records.arrow_arrays import as_arrow
from cernis.records.record_columns import Records
from cernis.records.record_sources import Events, read_unresolved
from cernis.session.feed import FEED, HAPPENED, Feed, Policy
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_state import ColumnReader, ColumnWriter
from cernis.session.session import Session

_PROBABILITY: Final = pa.field("probability", pa.float64())

UNCERTAIN_FEED: Final = FEED.append(_PROBABILITY)
"""Changes of intervals, with the mean probability of each; null where a fluent has none."""

NOT_NAMED: Final = (
    "the record is uncertain, and its relation is not among those whose records may be uncertain"
)


@dataclass(slots=True)
class UncertainFeed(Feed):
    """What one query has changed, with the probability of each interval and occurrence."""

    schema: ClassVar[pa.Schema] = UNCERTAIN_FEED
    happened: ClassVar[pa.Schema] = HAPPENED.append(_PROBABILITY)
    settled: dict[Relation, StoredRows] = field(default_factory=dict)
    """The probabilities of pairs up to the window's edge, which can no longer change."""

    def probabilities(self) -> pa.Table:
        """The probabilities that the query has settled, as rows whose `change` is `probability`.

        The probability is the same at all points from start up to, not including, end. Each point
        is reported once, when the edge of the window passes it; where it is 0 there is no row.
        """
        parts = [
            self._intervals(relation, pa.repeat(pa.scalar("probability"), len(rows)), rows)
            for relation, rows in sorted(self.settled.items())
        ]
        return self.times.table(pa.concat_tables([self.schema.empty_table(), *parts]))

    def _more(self, relation: Relation, rows: StoredRows) -> list[pa.Array]:
        if len(rows.columns) < 4:
            # What a certain fluent was, which the rules no longer have.
            return [pa.nulls(len(rows), pa.float64())]
        chances = rows.columns[3]
        return [as_arrow(chances, chances == NO_PROBABILITY)]

    def _more_of_event(self, relation: Relation, rows: StoredRows) -> list[pa.Array]:
        """The probability of each occurrence; happenings that are certain have no column for it."""
        certain = np.ones(len(rows))
        return [as_arrow(rows.columns[2] if len(rows.columns) > 2 else certain)]


class UncertainSession(Session):
    """Recognises in process from uncertain records, query by query.

    As `Session`, with these differences. A record may have a probability if its relation is one
    that may be `uncertain`: all relations of the input, unless some are named. Each change of the
    feed has the probability of its interval. The intervals as of a query are the most credible ones
    of the whole courses so far: up to the window's edge the courses are as they stood when the edge
    passed, and after it they are computed again. So an interval that ended before the edge may be
    taken back for a longer one.
    """

    evaluator: TrackedProbabilities

    def __init__(
        self, plan: Plan, chosen: UncertainSettings, window: int | None = None,
        step: int | None = None, start: int | None = None, tick: int | None = None,
        ties: str | None = None, policy: str = "early", epoch: bool = False,
        ids: str | None = None, future: int | None = None,
    ) -> None:  # fmt: skip
        self.chosen = chosen
        self._written_plan = plan
        plan = plan.over_uncertain
        self.uncertain = uncertain_relations(plan, chosen.uncertain)
        ties = ties_of(plan, ties, is_uncertain=True)
        super().__init__(
            plan, window, step, start, tick, ties, policy, incremental=False, ids=ids,
            future=future, epoch=epoch,
        )  # fmt: skip
        self.policy = _UncertainPolicy(policy, self.tick, evaluator=self.evaluator)

    def _working_memory(self) -> WorkingMemory:
        return self.layout.working_memory(has_chances=True)

    @property
    def written_plan(self) -> Plan:
        """The plan of the rules as they are written; lists inside of them are no fluents."""
        return self._written_plan

    @property
    def uncertain_input(self) -> UncertainInput:
        """Which records may be uncertain, and how intervals are recognised."""
        chosen = self.chosen
        if self.policy.name == "final":
            # What is final is reported once, as it is.
            chosen = replace(chosen, mean_change=0.0)
        return UncertainInput(chosen, self.uncertain)

    def go_on(self, handover: Handover | None, is_incremental: bool) -> None:
        """Go on from the state after the last query."""
        super().go_on(handover, is_incremental)
        assert isinstance(self.policy, _UncertainPolicy)
        self.policy.evaluator = self.evaluator

    def extra_state(self, writer: ColumnWriter) -> Tree:
        """The courses and tracks of uncertain fluents."""
        from cernis.session.saved.saved_courses import plain_uncertain

        return plain_uncertain(self.evaluator, writer)

    def resume_extra_state(
        self, tree: Tree, reader: ColumnReader, kept: Collection[Relation] | None = None
    ) -> None:
        """Go on from saved courses and tracks, of all fluents or of those that are kept."""
        from cernis.session.saved.saved_courses import fill_uncertain

        fill_uncertain(self.evaluator, tree, reader, kept)

    def _feed(
        self, time: int, fluents: AnswerChanges, events: AnswerChanges, conflicts: int
    ) -> Feed:
        settled = {r: rows for r, rows in self._settled_rows().items() if len(rows)}
        encoding = self.layout.context.encoding.relations
        return UncertainFeed(
            time, self.version, fluents, events, encoding, conflicts, self.times, settled=settled
        )

    def _settled_rows(self) -> dict[Relation, StoredRows]:
        """Stretches of equal probability that the last query has settled."""
        assert self.last is not None
        bound = self.edge(self.last) + self.tick
        hidden = self.plan.checked.definitions.auxiliary
        rows_by_relation = {}
        for relation, courses in self.settled.items():
            if relation not in hidden:
                owner, starts, ends, chances = courses.stretches(bound)
                arguments = [column[owner] for column in courses.pairs.arguments]
                values = courses.pairs.values[owner]
                rows_by_relation[relation] = StoredRows(arguments, [starts, ends, values, chances])
        return rows_by_relation

    def _read(self, events: Events, mapping: str | Path | Mapping[str, Any] | None) -> Records:
        records = read_unresolved(
            events, self.plan.checked, mapping, self.ids, uncertain=True, shapes=self.record_shapes
        )
        for form, part in records.relations.items():
            if part.chances is not None and form.relation not in self.uncertain:
                doubtful = part.chances < 1
                for row in np.flatnonzero(doubtful).tolist():
                    aside = records.aside(int(part.places[row]), NOT_NAMED, part.text(row))
                    records.set_aside.append(aside)
                records.relations[form] = part.take(~doubtful)
        return records

    @property
    def final_intervals(self) -> dict[Relation, StoredRows]:
        """The intervals of uncertain fluents that have become final at the last query."""
        return self.evaluator.final_intervals

    @property
    def settled(self) -> dict[Relation, Courses]:
        """The parts of the courses of uncertain fluents that the last query has settled."""
        return self.evaluator.settled

    def likely(self) -> dict[Relation, StoredRows]:
        """The intervals of uncertain fluents as of the last query, without those final before."""
        return self.evaluator.likely()

    # -- what is known ----------------------------------------------------------------------

    def intervals(self) -> pa.Table:
        """The intervals that may change: `fluent, args, value, start, end, open, probability`.

        For certain fluents these are the intervals within the window. All others are in the feed
        of earlier queries.
        """
        return self._result().intervals

    def probabilities(self) -> pa.Table:
        """The probability of each pair in the window, as of the last query.

        `fluent, args, value, start, end, probability`: it is the same from start up to, not
        including, end. Where it is 0 there is no row.
        """
        return self._result().probabilities

    def occurrences(self) -> pa.Table:
        """What uncertain patterns found within the window, as of the last query.

        `event, args, start, occurrence, probability`, as of a run.
        """
        return self._result().occurrences

    def _result(self) -> UncertainResult:
        answer = self.answer()
        return UncertainResult(answer, self.plan.checked.catalogue, Summary(0, 0), self.times)

    def answer(self) -> Answer:
        """The answer of the last query, as tables."""
        return Answer() if self.last is None else self.evaluator.answer()


@dataclass(slots=True)
class _UncertainPolicy(Policy):
    """When intervals are reported.

    An interval of an uncertain fluent is final once no later point can change it. That happens only
    if the memory of possible starts is limited, so that old ones are forgotten. An interval is
    partial if it starts at the edge of the next window or before.
    """

    evaluator: TrackedProbabilities | None = None

    def filtered(self, changes: AnswerChanges, next_edge: int) -> AnswerChanges:
        if self.name == "early":
            return changes
        assert self.evaluator is not None
        likely = self.evaluator.likely()
        certain = {r: change for r, change in changes.items() if r not in likely}
        reported_changes = Policy.filtered(self, certain, next_edge)
        for relation, rows in likely.items():
            change = self._likely_change(relation, rows, next_edge + self.tick)
            if len(change):
                reported_changes[relation] = change
        return reported_changes

    def _likely_change(self, relation: Relation, rows: StoredRows, bound: int) -> RelationChange:
        assert self.evaluator is not None
        none = rows.take(np.empty(0, np.int64))
        final = self.evaluator.final_intervals.get(relation, none)
        if self.name == "final":
            return RelationChange(none, final)
        eligible = rows.take(rows.columns[0] <= bound)
        reported = self.reported.get(relation, none)
        is_removed, is_added = only_in_one(reported, eligible)
        may_change, _ = only_in_one(eligible, final)
        self.reported[relation] = eligible.take(may_change)
        return RelationChange(reported.take(is_removed), eligible.take(is_added))
