"""A session of one stage in one bucket: earlier stages give to it, later ones take from it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.model import Relation
from cernis.evaluate.changes.stores import Rows
from cernis.evaluate.columns.from_scratch import FromScratch
from cernis.evaluate.query_loop import Change, Changed
from cernis.evaluate.working_memory import Counts, Memory
from cernis.kernels.array_types import Booleans
from cernis.plan.routes import Positions
from cernis.records.record_columns import Column
from cernis.records.seen_forms import see_found
from cernis.session.feed import Feed
from cernis.session.session import Session
from cernis.session.uncertain_session import UncertainFeed, UncertainSession
from cernis.spark.exchange.batch_job import Loaded
from cernis.spark.exchange.blobs import decoded
from cernis.spark.exchange.buckets import bucket_of
from cernis.spark.exchange.stage_links import BucketLinks
from cernis.spark.exchange.stage_output import Found
from cernis.tables.interval_tables import INFINITY


class Owned(Session):
    """A session in a bucket: of what rules derive, it reports what the bucket owns by its key."""

    def belong(self, keys: dict[Relation, Positions | None] | None, at: int, buckets: int) -> None:
        """Say which bucket it is in, and the keys of what it derives; None if all is its own."""
        self._keys, self._bucket, self._buckets = keys, at, buckets

    def _working_memory(self) -> Memory:
        memory = super()._working_memory()
        # A record that several buckets have is counted once, so each says which it is.
        memory.lists_all = True
        return memory

    def answered(self, time: int) -> Feed:
        """Answer the next query of a micro-batch: what has changed of the bucket's own."""
        feed = self.query(time)
        feed.fluents, feed.events = self._own(feed.fluents), self._own(feed.events)
        return feed

    def counted(self) -> Counts:
        """What became of records since it was asked last."""
        counts, self.memory.counts = self.memory.counts, Counts()
        return counts

    def _own(self, changes: Changed) -> Changed:
        """The changes of the bucket's own."""
        keys = self._keys
        if keys is None:
            return changes
        found = {}
        for relation, change in changes.items():
            key = keys.get(relation, ())
            if relation in keys and key is not None and self._buckets > 1:
                change = Change(*(self._of_bucket(relation, rows, key)
                                  for rows in (change.gone, change.come)))  # fmt: skip
            if relation in keys and len(change):
                found[relation] = change
        return found

    def _of_bucket(self, relation: Relation, rows: Rows, key: Positions) -> Rows:
        domains, _ = self.spaces.encoding(relation)
        columns = [decoded(rows.arguments[at], domains[at]) for at in key]
        return rows.take(self._is_mine(columns, len(rows)))

    def _is_mine(self, columns: list[Column], length: int) -> Booleans:
        return np.asarray(bucket_of(columns, length, self._buckets) == self._bucket)


class StageSession(Owned):
    """Recognises the relations of one stage, or of all."""

    evaluator: FromScratch
    _earlier: tuple[Relation, ...] = ()
    _later: frozenset[Relation] = frozenset()

    def serve(self, loaded: Loaded, step: int | None, bucket: int, buckets: int) -> None:
        """Say of which stage and bucket it is; without a step, of all stages."""
        routes = loaded.stream_routes
        keys: dict[Relation, Positions | None] | None = None
        earlier: tuple[Relation, ...] = ()
        later: frozenset[Relation] = frozenset()
        if step is not None:
            keys = routes.owned[step]
            owned = {relation for own in routes.owned.values() for relation in own}
            earlier = tuple(sorted(routes.reads[step] & owned))
            later = frozenset(keys) & frozenset(routes.onward)
        self.belong(keys, bucket, buckets)
        self.is_anchored = loaded.is_anchored
        self._earlier, self._later = earlier, later
        self.evaluator = self._from_scratch()

    def _from_scratch(self) -> FromScratch:
        self._links = BucketLinks(self._earlier, self._later)
        return FromScratch(self.plan, self.memory, self._domains, self.tick, self._links)

    def put_in(self, found: Iterable[Found]) -> None:
        """Take what earlier stages found, as of each query of a micro-batch."""
        given = list(found)
        for each in given:
            see_found(self.forms, each.relation, each.columns)
        self._links.begin(given)

    def _recode(self) -> None:
        before = self._links
        super()._recode()
        self._links.go_on_within(before)

    def taken_out(self) -> list[Found]:
        """What later stages have to know of the queries of a micro-batch, which is over."""
        found = list(self._links.harvest.taken())
        self._links.begin(())
        return [self._mine(each) for each in found]

    def _mine(self, found: Found) -> Found:
        key = None if self._keys is None else self._keys[found.relation]
        if key is None or self._buckets == 1:
            return found
        columns = [found.columns[at] for at in key]
        return found.take(np.flatnonzero(self._is_mine(columns, len(found))))

    @property
    def open_intervals(self) -> int:
        """How many intervals are open, as the last query has it."""
        ends = [rows.columns[1] for rows in self.evaluator.reported.values()]
        return sum(int(np.count_nonzero(own == INFINITY)) for own in ends)


class UncertainStageSession(Owned, UncertainSession):
    """Recognises from uncertain records. Its rules all fall apart by one key, or are in one bucket.

    So no stage is ahead of another, and none lags.
    """

    def answered(self, time: int) -> Feed:
        """As any session in a bucket; with what is settled of probabilities, if that is asked."""
        feed = super().answered(time)
        assert isinstance(feed, UncertainFeed)
        settled = feed.settled if self.chosen.probabilities else {}
        nothing = {r: Change(rows.take(np.empty(0, np.int64)), rows) for r, rows in settled.items()}
        feed.settled = {r: change.come for r, change in self._own(nothing).items()}
        return feed

    def put_in(self, found: Iterable[Found]) -> None:
        """Nobody gives to it."""
        assert not list(found)

    def taken_out(self) -> list[Found]:
        """Nobody takes from it."""
        return []

    @property
    def open_intervals(self) -> int:
        """How many intervals of uncertain fluents are open, as the last query has it."""
        ends = [rows.columns[1] for rows in self.likely().values()] if self.last else []
        return sum(int(np.count_nonzero(own == INFINITY)) for own in ends)


def table_of(feed: Feed) -> pa.Table:
    """All changes of a query as one table.

    A happening has no value, and no end; an occurrence of a pattern has its last point as its end.
    """
    happened = feed.happenings()
    has_start = pc.is_valid(happened["start"])
    columns = [
        happened["change"], happened["event"], happened["args"],
        pa.nulls(len(happened), pa.string()),
        pc.if_else(has_start, happened["start"], happened["occurrence"]),
        pc.if_else(has_start, happened["occurrence"], None), happened["query_time"],
        happened["rule_version"],
    ]  # fmt: skip
    columns += [pa.nulls(len(happened), own.type) for own in list(feed.schema)[len(columns) :]]
    settled = [feed.probabilities()] if isinstance(feed, UncertainFeed) else []
    return pa.concat_tables([feed.table(), pa.table(columns, feed.schema), *settled])
