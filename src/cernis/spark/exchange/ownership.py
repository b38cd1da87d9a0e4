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
from cernis.plan.properties.routes import Way
from cernis.records.record_columns import Column, RecordColumns
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import decoded
from cernis.spark.exchange.buckets import CodeHashes, Spread, mixed_hashes
from cernis.spark.exchange.stage_output import StageOutput
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import expanded


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
        if self.job.loaded.plan.routes.home(part.form.relation).way is not Way.EVERYWHERE:
            return np.ones(len(part), np.bool_)
        where = self.spread.of(part.columns, len(part))
        return np.asarray(where == self.bucket)

    def records(self, part: RecordColumns) -> RecordColumns:
        """The records that this bucket counts."""
        mine = self.owns(part)
        return part if mine.all() else part.take(mine)

    def answer(self, answer: Answer) -> Answer:
        """The answer without the rows that other buckets own."""
        mine = Answer(circuits=answer.circuits)
        for relation in self.job.loaded.plan.routes.owned[self.step]:
            if relation in answer.fluents:
                self._enter_fluent(relation, answer, mine)
            event, courses = answer.events.get(relation), answer.courses.get(relation)
            if event is not None:
                rows = self._coded(relation, event.arguments, event.domains, len(event))
                mine.events[relation] = event if rows is None else event.take(rows)
            if relation in answer.occurrence_chances:
                self._enter_occurrences(relation, answer, mine)
            if courses is not None:
                pairs = courses.pairs
                rows = self._coded(relation, pairs.arguments, pairs.domains, len(pairs))
                mine.courses[relation] = courses if rows is None else courses.take(rows)
        return mine

    def _enter_occurrences(self, relation: Relation, answer: Answer, mine: Answer) -> None:
        """Enter the occurrences of an uncertain pattern that this bucket owns."""
        table, chances = answer.possible[relation], answer.occurrence_chances[relation]
        rows = self._coded(relation, table.arguments, table.domains, len(table))
        mine.possible[relation] = table if rows is None else table.take(rows)
        mine.occurrence_chances[relation] = chances if rows is None else chances[rows]

    def _enter_fluent(self, relation: Relation, answer: Answer, mine: Answer) -> None:
        """Enter the intervals of the pairs that this bucket owns, with their means if any."""
        table, means = answer.fluents[relation], answer.means.get(relation)
        rows = self._coded(relation, table.arguments, table.domains, len(table))
        mine.fluents[relation] = table if rows is None else table.take(rows)
        if means is not None and rows is not None:
            means = means[expanded(table.offsets[rows], np.diff(table.offsets)[rows])]
        if means is not None:
            mine.means[relation] = means

    def stage_output(self, output: StageOutput) -> StageOutput:
        """The output of this stage for one relation without the rows that other buckets own."""
        key = self.job.loaded.plan.routes.owned[self.step][output.relation]
        columns: list[Column] = [output.columns[position] for position in key or ()]
        if key is None or self.spread.buckets == 1:
            return output
        kinds = self.job.loaded.plan.routes.kinds(self.step, output.relation, key)
        where = self.spread.of(columns, len(output))
        if kinds:
            where = self.job.placed(self.step, columns, len(output), kinds)
        mine = where == self.bucket
        return output if mine.all() else output.take(np.flatnonzero(mine))

    @property
    def asks(self) -> bool:
        """May this stage derive rows that other buckets own? Then it has to leave them out."""
        routes = self.job.loaded.plan.routes
        ways = [routes.homes[r].way for r in routes.reads[self.step] if r in routes.homes]
        for relation in routes.reads[self.step]:
            ways += [
                delivery.way
                for delivery in routes.onward.get(relation, ())
                if delivery.step == self.step
            ]
        initials = self.job.loaded.plan.checked.definitions.initials
        facts = any(initial.pair.relation in routes.owned[self.step] for initial in initials)
        return self.spread.buckets > 1 and (facts or Way.EVERYWHERE in ways)

    def heads(
        self, relation: Relation, columns: list[Array], domains: list[Domain | None]
    ) -> Integers | None:
        """The derived rows that this bucket owns; None for all."""
        owned = self.job.loaded.plan.routes.owned[self.step]
        if not columns or relation not in owned:
            return None
        return self._coded(relation, columns, domains, len(columns[0]))

    def _coded(
        self, relation: Relation, columns: list[Array], domains: list[Domain | None], length: int
    ) -> Integers | None:
        """The rows whose key belongs to this bucket; None for all. Columns are encoded."""
        routes = self.job.loaded.plan.routes
        key = routes.owned[self.step][relation]
        if key is None or self.spread.buckets == 1:
            return None
        kinds = routes.kinds(self.step, relation, key)
        if kinds:
            key_columns = [decoded(columns[position], domains[position]) for position in key]
            where = self.job.placed(self.step, key_columns, length, kinds)
        elif key:
            hashes = [self._hashes.of(columns[position], domains[position]) for position in key]
            where = self.spread.of_hashes(mixed_hashes(hashes, length))
        else:
            where = np.zeros(length, np.int64)
        mine = where == self.bucket
        return None if mine.all() else np.flatnonzero(mine)
