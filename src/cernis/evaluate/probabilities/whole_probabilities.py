"""Evaluates uncertain records in one query; intervals are those of whole courses."""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.composites.pattern_proofs import (
    literal_chances,
    occurrence_relation,
)
from cernis.evaluate.probabilities.courses import Courses, certain_course
from cernis.evaluate.probabilities.credible.credible_tables import (
    CredibleTable,
    credible,
    credible_table,
)
from cernis.evaluate.probabilities.proofs import with_literals
from cernis.evaluate.probabilities.uncertain_query import UncertainQuery
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import QueryInput, WindowRecords
from cernis.plan.builder import Plan
from cernis.plan.logical import Definition
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable


def definitions_of(plan: Plan) -> dict[Relation, Definition]:
    """The definitions of all strata of a plan."""
    strata = [stratum for stage in plan.stages for stratum in stage.strata]
    return {
        definition.relation: definition for stratum in strata for definition in stratum.definitions
    }


class WholeProbabilities(FromScratch):
    """Evaluates a plan over uncertain records, all of it in one query.

    `uncertain` are the relations of the input whose records may be uncertain.
    """

    def __init__(
        self, plan: Plan, memory: WindowRecords, domains: Domains, tick: int,
        settings: UncertainSettings, uncertain: frozenset[Relation],
        links: StageLinks | None = None,
    ) -> None:  # fmt: skip
        super().__init__(plan, memory, domains, tick, links)
        self._settings = settings
        self._uncertain = uncertain
        self._credible: dict[Relation, CredibleTable] = {}
        self._query: UncertainQuery
        self._query_input: QueryInput
        self._circuits: Circuits

    def _certain_relations(self, relations: Iterable[Relation]) -> Iterable[Relation]:
        return [relation for relation in relations if relation not in self._uncertain]

    def _evaluate(self, query_input: QueryInput, courses: dict[Relation, Courses]) -> int:
        context, plan = query_input.context, self._plan
        # Circuits that are compiled for a plan serve its next run, too.
        self._circuits = context.background.memo.once(
            ("circuits", context.window.ties), plan, lambda: Circuits(context.window.ties)
        )
        self._query_input, self._credible = query_input, {}
        self._query = UncertainQuery(plan, context, self._circuits, courses, self._intervals)
        return self._query.run(self._memory, self._uncertain, query_input.window)

    def _intervals(self, relation: Relation, courses: Courses) -> CredibleTable:
        if relation not in self._credible:
            window, tick = self._query_input.window, self._query_input.context.window.tick
            intervals = credible(relation, courses, window.edge, window.query, tick, self._settings)
            table = credible_table(courses.pairs, intervals, window.query + 2 * tick)
            self._credible[relation] = table
        return self._credible[relation]

    def settle(self, query_input: QueryInput) -> None:
        """Do nothing: there is no query after this one."""

    def whole_answer(self) -> Answer:
        """The answer of the query, with the intervals of uncertain fluents."""
        answer, hidden = Answer(circuits=len(self._circuits)), self._plan.checked.definitions
        for relation, definition in definitions_of(self._plan).items():
            if relation not in hidden.auxiliary:
                self._enter_answer(relation, definition, answer)
        return answer

    def _enter_answer(self, relation: Relation, definition: Definition, answer: Answer) -> None:
        context, courses = self._query_input.context, self._query.courses.get(relation)
        if courses is not None:
            answer.courses[relation] = courses
            answer.fluents[relation], answer.means[relation] = self._intervals(relation, courses)
        elif definition.kind != "event" and relation in context.relations.fluents:
            enter_certain(
                relation, context.relations.fluents[relation], self._query.thresholded, answer
            )
        elif relation in context.relations.events:
            answer.events[relation] = context.relations.events[relation]
        elif occurrence_relation(relation) in context.relations.events:
            self._enter_occurrences(relation, answer)
        elif with_literals(relation) in context.relations.events:
            table = context.relations.events[with_literals(relation)]
            answer.possible[relation] = EventTable(
                table.arguments[:-1], table.domains[:-1], table.times
            )

    def _enter_occurrences(self, relation: Relation, answer: Answer) -> None:
        """Enter the occurrences of an uncertain pattern, each with its probability."""
        table = self._query_input.context.relations.events[occurrence_relation(relation)]
        *arguments, literals = table.arguments
        answer.possible[relation] = EventTable(
            arguments, table.domains[:-1], table.times, table.starts
        )
        answer.occurrence_chances[relation] = literal_chances(
            literals, self._query.uncertainty.facts, self._circuits, str(relation)
        )


def enter_certain(
    relation: Relation, table: FluentTable, thresholded: Container[Relation], answer: Answer
) -> None:
    """Enter a certain fluent into an answer: its probability is 1 while it holds.

    A fluent that is made of credible intervals has no probability.
    """
    answer.fluents[relation] = table
    if relation not in thresholded:
        answer.courses[relation] = certain_course(table)
        answer.means[relation] = np.ones(len(table.starts))
