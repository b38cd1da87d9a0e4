"""Which rows a bucket is responsible for.

Rows that every bucket receives, and initial facts, let several buckets derive the same row. So each
row has one owner: the bucket to which its key is hashed, or in which its linked entities are
evaluated. Only the owner reports the row and counts what is conspicuous about it; the other buckets
drop it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.plan.routes import Way
from cernis.records.record_columns import Column, RecordColumns
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import decoded
from cernis.spark.exchange.buckets import CodeHashes, Spread, mixed_hashes
from cernis.spark.exchange.stage_output import Found
from cernis.tables.domains import Domain


@dataclass(frozen=True, slots=True)
class Owner:
    """A bucket of a stage, which knows the rows that it owns."""

    job: Job
    step: int
    bucket: int
    spread: Spread
    _hashes: CodeHashes = field(default_factory=CodeHashes)

    def owns(self, part: RecordColumns) -> Booleans:
        """Which records this bucket counts: all, or a share of those that every bucket receives."""
        if self.job.loaded.routes.home(part.form.relation).way is not Way.EVERYWHERE:
            return np.ones(len(part), np.bool_)
        where = self.spread.of(part.columns, len(part))
        return np.asarray(where == self.bucket)

    def records(self, part: RecordColumns) -> RecordColumns:
        """The records that this bucket counts."""
        own = self.owns(part)
        return part if own.all() else part.take(own)

    def answer(self, answer: Answer) -> Answer:
        """The answer without the rows that other buckets own."""
        found = Answer()
        for relation in self.job.loaded.routes.owned[self.step]:
            fluent, event = answer.fluents.get(relation), answer.events.get(relation)
            if fluent is not None:
                mine = self._coded(relation, fluent.arguments, fluent.domains, len(fluent))
                found.fluents[relation] = fluent if mine is None else fluent.take(mine)
            if event is not None:
                mine = self._coded(relation, event.arguments, event.domains, len(event))
                found.events[relation] = event if mine is None else event.take(mine)
        return found

    def found(self, found: Found) -> Found:
        """A table of a stage's output without the rows that other buckets own."""
        key = self.job.loaded.routes.owned[self.step][found.relation]
        columns: list[Column] = [found.columns[at] for at in key or ()]
        if key is None or self.spread.buckets == 1:
            return found
        kinds = self.job.loaded.routes.kinds(self.step, found.relation, key)
        where = self.spread.of(columns, len(found))
        if kinds:
            where = self.job.placed(self.step, columns, len(found), kinds)
        own = where == self.bucket
        return found if own.all() else found.take(np.flatnonzero(own))

    @property
    def asks(self) -> bool:
        """May this stage derive rows that other buckets own, so that it has to select its own?"""
        routes = self.job.loaded.routes
        ways = [routes.homes[r].way for r in routes.reads[self.step] if r in routes.homes]
        for relation in routes.reads[self.step]:
            ways += [own.way for own in routes.onward.get(relation, ()) if own.step == self.step]
        initials = self.job.loaded.plan.checked.definitions.initials
        facts = any(initial.pair.relation in routes.owned[self.step] for initial in initials)
        return self.spread.buckets > 1 and (facts or Way.EVERYWHERE in ways)

    def heads(
        self, relation: Relation, columns: list[Array], domains: list[Domain | None]
    ) -> Integers | None:
        """The derived rows that this bucket owns; None for all."""
        owned = self.job.loaded.routes.owned[self.step]
        if not columns or relation not in owned:
            return None
        return self._coded(relation, columns, domains, len(columns[0]))

    def _coded(
        self, relation: Relation, columns: list[Array], domains: list[Domain | None], length: int
    ) -> Integers | None:
        """The rows whose key belongs to this bucket; None for all. Columns are encoded."""
        routes = self.job.loaded.routes
        key = routes.owned[self.step][relation]
        if key is None or self.spread.buckets == 1:
            return None
        kinds = routes.kinds(self.step, relation, key)
        if kinds:
            own = [decoded(columns[at], domains[at]) for at in key]
            where = self.job.placed(self.step, own, length, kinds)
        elif key:
            hashes = [self._hashes.of(columns[at], domains[at]) for at in key]
            where = self.spread.of_hashes(mixed_hashes(hashes, length))
        else:
            where = np.zeros(length, np.int64)
        mine = where == self.bucket
        return None if mine.all() else np.flatnonzero(mine)
