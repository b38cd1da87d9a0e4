"""A session over uncertain records: queries report how the likely intervals have changed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from cernis.answers.answer_tables import texts_of
from cernis.answers.result import Summary
from cernis.answers.uncertain_result import UncertainResult
from cernis.check.model import Relation
from cernis.evaluate.changes.differences import told_apart
from cernis.evaluate.changes.stores import Rows
from cernis.evaluate.probabilities.courses import Courses, certain_course
from cernis.evaluate.probabilities.tracked_probabilities import NO_PROBABILITY, TrackedProbabilities
from cernis.evaluate.probabilities.uncertain_run import UncertainAnswer, uncertain_relations
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import Change, Changed, Handover
from cernis.evaluate.working_memory import Memory
from cernis.plan.builder import Plan
from cernis.records.arrow_arrays import as_arrow
from cernis.records.record_columns import Records
from cernis.records.record_sources import Events, read_unresolved
from cernis.records.seen_forms import see_records
from cernis.session.feed import FEED, Feed, Policy
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_state import Incoming, Outgoing
from cernis.session.session import Session
from cernis.tables.interval_tables import FluentTable

UNCERTAIN_FEED: Final = FEED.append(pa.field("probability", pa.float64()))
"""Changes of intervals, with the mean probability of each; null where a fluent has none."""

NOT_NAMED: Final = (
    "the record is uncertain, and its relation is not among those whose records may be uncertain"
)


@dataclass(slots=True)
class UncertainFeed(Feed):
    """What one query has changed, with the probability of each interval."""

    schema: ClassVar[pa.Schema] = UNCERTAIN_FEED
    settled: dict[Relation, Rows] = field(default_factory=dict)
    """Where pairs had which probability, up to the window's edge: it can no longer change."""

    def probabilities(self) -> pa.Table:
        """What the query has settled, in the columns of changes; `change` is `probability`.

        The probability is the same at all points from start up to, not including, end. Each point
        is reported once, when the edge of the window passes it; where it is 0 there is no row.
        """
        parts = [self.schema.empty_table()]
        for relation, rows in sorted(self.settled.items()):
            domains, value_domain = self.encoding(relation)
            starts, ends, values, _ = rows.columns
            columns = [
                *self._head("probability", relation, domains, rows),
                texts_of(values, value_domain), as_arrow(starts), as_arrow(ends),
                *self._tail(rows), *self._more(rows),
            ]  # fmt: skip
            parts.append(pa.table(columns, self.schema))
        return pa.concat_tables(parts)

    def _more(self, rows: Rows) -> list[pa.Array]:
        chances = rows.columns[3]
        return [as_arrow(chances, chances == NO_PROBABILITY)]


class UncertainSession(Session):
    """Recognises in process from uncertain records, query by query.

    As `Session`, with these differences. A record may have a probability if its relation is one
    that may be `uncertain`: all relations of the input, unless some are named. Each change of the
    feed has the probability of its interval. The intervals as of a query are the most credible of
    all courses so far: up to the window's edge as they stood when it passed them, after it as the
    window says. So one that ended before the edge may be taken back for a longer one.
    """

    evaluator: TrackedProbabilities

    def __init__(
        self, plan: Plan, chosen: UncertainSettings, window: int | None = None,
        step: int | None = None, start: int | None = None, tick: int | None = None,
        ties: str | None = None, policy: str = "early",
    ) -> None:  # fmt: skip
        self.chosen = chosen
        self.uncertain = uncertain_relations(plan, chosen.uncertain)
        said = plan.checked.definitions.settings
        ties = ties or (said.ties if said.ties_said else "initiation")
        super().__init__(plan, window, step, start, tick, ties, policy, incremental=False)
        self.policy = _UncertainPolicy(policy, self.tick, scratch=self.evaluator)

    def _working_memory(self) -> Memory:
        return self.spaces.memory(has_chances=True)

    def _from_scratch(self) -> TrackedProbabilities:
        return TrackedProbabilities(
            self.plan, self.memory, self._domains, self.tick, self.ties, self.chosen, self.uncertain
        )

    def go_on(self, left: Handover | None, is_incremental: bool) -> None:
        """Evaluate from what the last query has left."""
        super().go_on(left, is_incremental)
        assert isinstance(self.policy, _UncertainPolicy)
        self.policy.scratch = self.evaluator

    def more_left(self, out: Outgoing) -> Tree:
        """Courses and tracks."""
        from cernis.session.saved.saved_courses import plain_uncertain

        return plain_uncertain(self.evaluator, out)

    def more_resumed(self, tree: Tree, given: Incoming) -> None:
        """Go on from courses and tracks."""
        from cernis.session.saved.saved_courses import fill_uncertain

        fill_uncertain(self.evaluator, tree, given)

    def _feed(self, time: int, fluents: Changed, events: Changed, conflicts: int) -> Feed:
        settled = {r: rows for r, rows in self._settled_rows().items() if len(rows)}
        return UncertainFeed(
            time, self.version, fluents, events, self.spaces.encoding, conflicts, settled=settled
        )

    def _settled_rows(self) -> dict[Relation, Rows]:
        """Stretches of equal probability that the last query has settled."""
        assert self.last is not None
        bound = self.edge(self.last) + self.tick
        hidden = self.plan.checked.definitions.auxiliary
        found = {}
        for relation, courses in self.settled.items():
            if relation not in hidden:
                owner, starts, ends, chances = courses.stretches(bound)
                arguments = [column[owner] for column in courses.pairs.arguments]
                values = courses.pairs.values[owner]
                found[relation] = Rows(arguments, [starts, ends, values, chances])
        return found

    def _read(self, events: Events, mapping: str | Path | Mapping[str, Any] | None) -> Records:
        records = read_unresolved(events, self.plan.checked, mapping, uncertain=True)
        for form, part in records.relations.items():
            if part.chances is not None and form.relation not in self.uncertain:
                doubtful = part.chances < 1
                for row in np.flatnonzero(doubtful).tolist():
                    aside = records.aside(int(part.places[row]), NOT_NAMED, part.text(row))
                    records.set_aside.append(aside)
                records.relations[form] = part.take(~doubtful)
        return records

    def keep_all(self, records: Records) -> None:
        """Keep what certain fluents said before the window, for an answer over all queries.

        Codes of values stay as they are then; so all records must be known.
        """
        see_records(self.forms, records.relations.values())
        self._begin()
        self.evaluator.keeps = True
        self._enough = sys.maxsize

    @property
    def let_go(self) -> dict[Relation, Rows]:
        """The intervals of uncertain fluents that the last query has found to be final."""
        return self.evaluator.let_go

    @property
    def settled(self) -> dict[Relation, Courses]:
        """What the last query has settled of the courses of uncertain fluents."""
        return self.evaluator.settled

    def likely(self) -> dict[Relation, Rows]:
        """The intervals of uncertain fluents as of the last query, but for those let go before."""
        return self.evaluator.likely()

    # -- what is known ----------------------------------------------------------------------

    def intervals(self) -> pa.Table:
        """What may still change: `fluent, args, value, start, end, open, probability`.

        Of certain fluents, what the window knows of. All else is in the feed of earlier queries.
        """
        return self._result().intervals

    def probabilities(self) -> pa.Table:
        """The probability of each pair in the window, as of the last query.

        `fluent, args, value, start, end, probability`: it is the same from start up to, not
        including, end. Where it is 0 there is no row.
        """
        return self._result().probabilities

    def _result(self) -> UncertainResult:
        answer = self.answer()
        return UncertainResult(answer, self.plan.checked.catalogue, Summary(0, 0))

    def answer(self) -> UncertainAnswer:
        """What the last query knows of, as tables."""
        found = UncertainAnswer()
        if self.last is None:
            return found
        for relation, rows in self.evaluator.likely().items():
            table, means = fluent_table(rows, *self.spaces.encoding(relation))
            found.fluents[relation], found.means[relation] = table, means
        found.courses = self.evaluator.courses()
        for relation, table in self.evaluator.certain().items():
            found.fluents[relation] = table
            if relation not in self.evaluator.thresholded:
                found.means[relation] = np.ones(len(table.starts))
                found.courses[relation] = certain_course(table)
        return found


@dataclass(slots=True)
class _UncertainPolicy(Policy):
    """When intervals are reported.

    Those of uncertain fluents are final when no later point can change them, which needs a memory
    that forgets old starts; `partial` ones begin up to where the next window does.
    """

    scratch: TrackedProbabilities | None = None

    def filtered(self, changes: Changed, next_edge: int) -> Changed:
        if self.name == "early":
            return changes
        assert self.scratch is not None
        likely = self.scratch.likely()
        certain = {r: change for r, change in changes.items() if r not in likely}
        found = Policy.filtered(self, certain, next_edge)
        for relation, rows in likely.items():
            change = self._likely(relation, rows, next_edge + self.tick)
            if len(change):
                found[relation] = change
        return found

    def _likely(self, relation: Relation, rows: Rows, bound: int) -> Change:
        assert self.scratch is not None
        none = rows.take(np.empty(0, np.int64))
        passed = self.scratch.let_go.get(relation, none)
        if self.name == "final":
            return Change(none, passed)
        eligible = rows.take(rows.columns[0] <= bound)
        before = self.reported.get(relation, none)
        gone, come = told_apart(before, eligible)
        stays, _ = told_apart(eligible, passed)
        self.reported[relation] = eligible.take(stays)
        return Change(before.take(gone), eligible.take(come))


def fluent_table(
    rows: Rows, domains: list[Any], value_domain: Any
) -> tuple[FluentTable, np.ndarray[Any, np.dtype[np.float64]]]:
    """Rows of start, end, value and mean as a table, and the means in its order."""
    starts, ends, values, means = rows.columns
    order = np.lexsort((starts, values, *reversed(rows.arguments)))
    rows = rows.take(order)
    starts, ends, values, means = rows.columns
    new = np.ones(len(starts), np.bool_)
    new[1:] = False
    for column in (*rows.arguments, values):
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    table = FluentTable(
        [column[first] for column in rows.arguments], values[first], domains, value_domain,
        np.append(first, len(starts)).astype(np.int64), np.ascontiguousarray(starts),
        np.ascontiguousarray(ends),
    )  # fmt: skip
    return table, means
