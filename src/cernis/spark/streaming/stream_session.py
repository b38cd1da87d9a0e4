"""A session of one stage in one bucket, which reads the output of earlier stages."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cernis.check.model import Relation
from cernis.evaluate.columns.from_scratch import FromScratch
from cernis.evaluate.probabilities.tracked_probabilities import TrackedProbabilities
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import AnswerChanges, QueryInput, RelationChange
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.working_memory import Counts, WorkingMemory
from cernis.kernels.array_types import Booleans
from cernis.plan.builder import Plan
from cernis.plan.properties.routes import Positions
from cernis.plan.properties.uncertain_relations import uncertain_relations
from cernis.records.record_columns import Column
from cernis.records.seen_forms import see_found
from cernis.session.caused_session import SessionWithCauses
from cernis.session.feed import Feed
from cernis.session.session import Session
from cernis.session.uncertain_session import UncertainFeed, UncertainSession
from cernis.spark.exchange.blobs import decoded
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.stage_links import BucketLinks
from cernis.spark.exchange.stage_output import StageOutput
from cernis.spark.streaming.stream_job import StreamJob
from cernis.tables.interval_tables import INFINITY


class StageSession(Session):
    """Recognises the relations of one stage, or of all, in one bucket.

    It reports only the derived rows that the bucket owns.
    """

    evaluator: FromScratch
    _links: BucketLinks | None = None
    _uncertain_fluents: frozenset[Relation] = frozenset()
    open_intervals = 0
    """How many intervals of all fluents were open at the last query."""

    def __init__(self, plan: Plan, job: StreamJob, step: int | None, bucket: int) -> None:
        """The session of a stage and a bucket; without a step, of all stages."""
        self._place(job, step, bucket)
        settings = job.job.settings
        super().__init__(plan, job.window, job.step, None, settings.tick, settings.ties, job.policy)

    def _place(self, job: StreamJob, step: int | None, bucket: int) -> None:
        """Set the stage and the bucket, and the relations that link it to other stages."""
        routes = job.routes
        keys = None if step is None else routes.owned[step]
        self._earlier: tuple[Relation, ...] = ()
        if step is not None:
            owned = {relation for relations in routes.owned.values() for relation in relations}
            self._earlier = tuple(sorted(routes.reads[step] & owned))
        self._later = frozenset(keys or ()) & frozenset(routes.onward)
        self._keys, self._bucket, self._buckets = keys, bucket, job.job.buckets
        self.is_anchored = job.job.loaded.plan.may_forget_members

    def _working_memory(self) -> WorkingMemory:
        memory = super()._working_memory()
        # A record that several buckets have is counted once, so each bucket lists its records.
        memory.lists_all = True
        return memory

    def answered(self, time: int) -> Feed:
        """The changes of the next query of a micro-batch, of rows that the bucket owns."""
        feed = self.query(time)
        feed.fluents, feed.events = self._owned(feed.fluents), self._owned(feed.events)
        return feed

    def counted(self) -> Counts:
        """The counts of records since the last call."""
        counts, self.memory.counts = self.memory.counts, Counts()
        return counts

    def _owned(self, changes: AnswerChanges) -> AnswerChanges:
        """The changes of rows that the bucket owns."""
        keys = self._keys
        if keys is None:
            return changes
        owned = {}
        for relation, change in changes.items():
            key = keys.get(relation, ())
            if relation in keys and key is not None and self._buckets > 1:
                change = RelationChange(*(self._of_bucket(relation, rows, key)
                                  for rows in (change.removed, change.added)))  # fmt: skip
            if relation in keys and len(change):
                owned[relation] = change
        return owned

    def _of_bucket(self, relation: Relation, rows: StoredRows, key: Positions) -> StoredRows:
        count = len(rows)
        if not count:
            return rows
        domains, _ = self.layout.context.encoding.relations[relation]
        columns = [decoded(rows.arguments[position], domains[position]) for position in key]
        return rows.take(self._is_mine(columns, count))

    def _is_mine(self, columns: list[Column], length: int) -> Booleans:
        return np.asarray(Spread(self._buckets).of(columns, length) == self._bucket)

    def _can_walk(self) -> bool:
        """Can all definitions be walked? What earlier stages derive may lie between ticks."""
        return (self.tick == 1 or not self._earlier) and super()._can_walk()

    @property
    def can_be_replayed(self) -> bool:
        """Can queries be answered again from the records alone?

        What earlier stages have derived would have to come again, too.
        """
        return self.may_walk and not self._earlier

    def _can_confine_news(self) -> bool:
        """No: what is evaluated by columns is evaluated from scratch."""
        return False

    @property
    def links(self) -> BucketLinks:
        """The links with other stages, as the evaluator uses them."""
        assert self._links is not None
        return self._links

    def stage_links(self) -> BucketLinks:
        """The links with other stages, which are used at each query.

        Another evaluator goes on with the output and the count of queries of the one before.
        """
        links = BucketLinks(self._earlier, self._later, self._uncertain_fluents)
        if self._links is not None:
            links.go_on_within(self._links)
        self._links = links
        return links

    def put_in(self, outputs: Iterable[StageOutput]) -> None:
        """Take the output of earlier stages for each query of a micro-batch."""
        received = list(outputs)
        for output in received:
            see_found(self.forms, output.relation, output.columns)
        self.links.begin(received)

    def taken_out(self) -> list[StageOutput]:
        """The output for later stages, of all queries of a micro-batch."""
        outputs = list(self.links.harvest.taken())
        self.links.begin(())
        return [self._mine(output) for output in outputs]

    def _mine(self, output: StageOutput) -> StageOutput:
        key = None if self._keys is None else self._keys[output.relation]
        if key is None or self._buckets == 1:
            return output
        columns = [output.columns[position] for position in key]
        return output.take(np.flatnonzero(self._is_mine(columns, len(output))))

    def changes_to_report(self, query_input: QueryInput) -> AnswerChanges:
        """The changes of all rows; counts the intervals that are open."""
        changes = super().changes_to_report(query_input)
        for relation, change in changes.items():
            if relation in self.plan.roles.defined:
                self.open_intervals += _open(change.added) - _open(change.removed)
        return changes

    def answer_again(self, queries: int) -> None:
        """Answer some queries again, as they were answered when they were due."""
        for _ in range(queries):
            assert self.last is not None
            self.query(self.last + (self.step or 0))
        self.taken_out()
        self.counted()


class UncertainStageSession(StageSession, UncertainSession):
    """Recognises the relations of one stage, or of all, from uncertain records."""

    evaluator: TrackedProbabilities

    def __init__(
        self, plan: Plan, job: StreamJob, step: int | None, bucket: int, likely: UncertainSettings
    ) -> None:
        """The session of a stage and a bucket, which gets courses from earlier stages."""
        self._place(job, step, bucket)
        settings, program = job.job.settings, job.job.loaded.plan
        uncertain = uncertain_relations(program, likely.uncertain)
        self._uncertain_fluents = program.uncertainties.of(uncertain).fluents
        UncertainSession.__init__(
            self, plan, likely, job.window, job.step, None, settings.tick, settings.ties, job.policy
        )

    def answered(self, time: int) -> Feed:
        """The changes of the next query, and the settled probabilities if they are wanted."""
        feed = super().answered(time)
        assert isinstance(feed, UncertainFeed)
        settled = feed.settled if self.chosen.probabilities else {}
        nothing = {
            r: RelationChange(rows.take(np.empty(0, np.int64)), rows) for r, rows in settled.items()
        }
        feed.settled = {r: change.added for r, change in self._owned(nothing).items()}
        return feed


class CausedStageSession(StageSession, SessionWithCauses):
    """Recognises all relations in one bucket, by a traced program, and names causes."""

    evaluator: FromScratch

    def __init__(self, plan: Plan, job: StreamJob, step: int | None, bucket: int) -> None:
        """The session of all stages; the plan is that of the traced program."""
        assert job.traced is not None
        self.traced = job.traced
        super().__init__(plan, job, step, bucket)


def _open(rows: StoredRows) -> int:
    """How many of some intervals are open."""
    return int(np.count_nonzero(rows.columns[1] == INFINITY))


def table_of(feed: Feed) -> pa.Table:
    """All changes of a query as one table, with the probabilities that it has settled."""
    settled = [feed.probabilities()] if isinstance(feed, UncertainFeed) else []
    return pa.concat_tables([feed.changes(), *settled])
