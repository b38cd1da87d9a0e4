"""Evaluates all strata at one query over uncertain records; certain strata as usual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from cernis.check.model import FluentKind, Pair, Relation
from cernis.evaluate.columns.strata import evaluate_definition, evaluate_stratum, refuse_unsupported
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, Pairs, beside
from cernis.evaluate.probabilities.credible.credible_tables import CredibleTable, maximal_table
from cernis.evaluate.probabilities.proofs import Uncertainty
from cernis.evaluate.probabilities.uncertain_cycles import evaluate_cycle
from cernis.evaluate.probabilities.uncertain_events import evaluate_event
from cernis.evaluate.probabilities.uncertain_fluents import evaluate_fluent
from cernis.evaluate.probabilities.uncertain_records import add_events, add_fluent, add_predicates
from cernis.evaluate.probabilities.uncertain_statics import evaluate_static_chances
from cernis.evaluate.query_loop import WindowRecords
from cernis.evaluate.windows import Window
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.intervals.gap_edges import clip_input
from cernis.plan.builder import Plan
from cernis.plan.logical import Definition, Stratum, parts_of
from cernis.plan.properties.uncertain_relations import (
    is_by_chance,
    made_of_intervals,
    related_values,
)

CredibleIntervals: TypeAlias = Callable[[Relation, Courses], CredibleTable]
"""Gives the credible intervals of an uncertain fluent, from its courses as of a query."""


class UncertainQuery:
    """Evaluates the strata of a plan at a query.

    `courses` are the probabilities over time of uncertain fluents: at first those of earlier
    stages, and later also those of the strata. `held` are the pairs that held right after the edge
    of the window; None at the first query.
    """

    def __init__(
        self, plan: Plan, context: Context, circuits: Circuits, courses: dict[Relation, Courses],
        credible: CredibleIntervals, held: Mapping[Relation, Pairs] | None = None,
        carried: dict[Relation, Carried] | None = None,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._context = context
        self._circuits = circuits
        self._credible = credible
        self._carried = {} if carried is None else carried
        self._uncertainty = Uncertainty(
            watched=set(plan.roles.watched),
            memo=context.background.memo,
            held=held,
            exclusive=context.background.memo.once("exclusive", plan, lambda: related_values(plan)),
        )
        self._by_intervals = context.background.memo.once(
            "by intervals", plan, lambda: made_of_intervals(plan)
        )
        self.courses = courses
        self.thresholded: set[Relation] = set()
        """Fluents that are made of credible intervals."""

    def run(self, memory: WindowRecords, uncertain: Iterable[Relation], window: Window) -> int:
        """Evaluate all strata; gives the number of conflicts between values."""
        for relation, courses in self.courses.items():
            self._uncertainty.enter_courses(relation, courses)
        add_predicates(self._context.background, self._uncertainty)
        for relation in sorted(uncertain):
            self._enter_records(relation, memory, window)
        strata = [stratum for stage in self._plan.stages for stratum in stage.strata]
        return sum(map(self._stratum, strata))

    def _enter_records(self, relation: Relation, memory: WindowRecords, window: Window) -> None:
        context, uncertainty = self._context, self._uncertainty
        if relation in self._plan.checked.catalogue.events:
            events = memory.uncertain_events(relation, window)
            once = relation in self._plan.roles.counted
            add_events(relation, events, context.relations, uncertainty, once=once)
        else:
            fluent = memory.uncertain_fluent(relation, window)
            self.courses[relation] = add_fluent(relation, fluent, uncertainty)

    def _stratum(self, stratum: Stratum) -> int:
        context, uncertainty = self._context, self._uncertainty
        if not any(map(self._is_uncertain, stratum.definitions)):
            return evaluate_stratum(stratum, context, self._carried)
        refuse_unsupported(stratum, uncertain=True)
        if stratum.immediate:
            self.courses |= evaluate_cycle(stratum, context, uncertainty, self._circuits)
            return 0
        for definition in stratum.definitions:
            if definition.kind == "event":
                evaluate_event(definition, context, uncertainty)
            elif definition.kind == FluentKind.SIMPLE:
                self.courses[definition.relation] = evaluate_fluent(
                    definition, context, uncertainty, self._circuits
                )
            elif definition.relation in self._by_intervals:
                self._static(definition)
            else:
                self._static_chances(definition)
        return 0

    def _is_uncertain(self, definition: Definition) -> bool:
        return any(self._uncertainty.is_about(r) or is_by_chance(r) for r in definition.rules)

    def _static_chances(self, definition: Definition) -> None:
        """Evaluate a static fluent from the probabilities of its parts at each point."""
        relation = definition.relation
        courses = evaluate_static_chances(
            definition, self._context, self._uncertainty, self._circuits
        )
        if relation in self.courses:
            courses = beside(self.courses[relation], courses)
        self.courses[relation] = courses
        self._uncertainty.enter_courses(relation, courses)

    def _static(self, definition: Definition) -> None:
        """Evaluate a static fluent from the credible intervals of its parts; it is certain."""
        catalogue = self._plan.checked.catalogue
        for part in parts_of(definition.rules):
            if isinstance(part, Pair) and part.relation in self._uncertainty.fluents:
                table, _ = self._credible(part.relation, self.courses[part.relation])
                self._context.relations.fluents[part.relation] = maximal_table(table)
                self._context.relations.open_at_query.pop(part.relation, None)
                if catalogue.fluents[part.relation].kind is FluentKind.INPUT:
                    clip_input(part.relation, self._context)
        self.thresholded.add(definition.relation)
        evaluate_definition(definition, self._context, self._carried)
