"""Evaluates all strata at one query over uncertain records; certain strata as usual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from cernis.check.model import Boundary, FluentKind, Pair, Relation
from cernis.errors import DataError, UnsupportedError
from cernis.evaluate.columns.strata import evaluate_definition, evaluate_stratum
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.composites.delayed_courses import (
    DelayedRun,
    InstanceStates,
    evaluate_delayed,
)
from cernis.evaluate.probabilities.composites.pattern_proofs import (
    PatternProver,
    evaluate_patterns,
    has_patterns,
    refuse_patterns,
    related_fluents,
)
from cernis.evaluate.probabilities.composites.recursive_proofs import evaluate_recursion
from cernis.evaluate.probabilities.courses import Courses, Pairs, beside
from cernis.evaluate.probabilities.credible.credible_tables import CredibleTable, maximal_table
from cernis.evaluate.probabilities.proofs import Uncertainty
from cernis.evaluate.probabilities.uncertain_cycles import evaluate_cycle
from cernis.evaluate.probabilities.uncertain_edges import bounded_fluents, put_input_edges
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
from cernis.plan.properties.spoken_relations import SpokenRelations
from cernis.plan.properties.uncertain_relations import (
    is_by_chance,
    made_of_intervals,
    related_values,
)


def _depends(stratum: Stratum, others: list[Stratum]) -> bool:
    """Does a stratum speak of what others define?"""
    defined = {relation for other in others for relation in other.relations}
    spoken = SpokenRelations.of(tuple(d.rules for d in stratum.definitions))
    return bool(defined & (spoken.events | spoken.fluents))


def _asks_for_edges(stratum: Stratum, others: list[Stratum]) -> bool:
    """Do the rules of a stratum ask for starts or ends of fluents that others define?"""
    defined = {relation for other in others for relation in other.relations}
    parts = parts_of(tuple(definition.rules for definition in stratum.definitions))
    return any(isinstance(part, Boundary) and part.pair.relation in defined for part in parts)


def _stands_alone(definition: Definition) -> bool:
    """Is a definition evaluated by itself, though probabilities are exact?"""
    return (
        definition.kind == FluentKind.STATIC or has_patterns(definition) or bool(definition.delays)
    )


def _refuse_delays(stratum: Stratum) -> None:
    """Raise an error for delayed effects of fluents whose rules ask for one another."""
    for definition in stratum.definitions:
        if definition.delays:
            raise UnsupportedError(
                f"{definition.relation}: it has delayed effects, and its rules ask for itself, or "
                "for fluents that ask for it; that is not defined over uncertain records"
            )


CredibleIntervals: TypeAlias = Callable[[Relation, Courses], CredibleTable]
"""Gives the credible intervals of an uncertain fluent, from its courses as of a query."""


class UncertainQuery:
    """Evaluates the strata of a plan at a query.

    `courses` are the probabilities over time of uncertain fluents: at first those of earlier
    stages, and later also those of the strata. `held` are the pairs that held right after the edge
    of the window; None at the first query. `states` are those of fluents with delayed effects then.
    """

    def __init__(
        self, plan: Plan, context: Context, circuits: Circuits, courses: dict[Relation, Courses],
        credible: CredibleIntervals, held: Mapping[Relation, Pairs] | None = None,
        carried: dict[Relation, Carried] | None = None,
        states: Mapping[Relation, InstanceStates] | None = None,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._context = context
        self._circuits = circuits
        self._credible = credible
        self._carried = {} if carried is None else carried
        self.uncertainty = Uncertainty(
            watched=set(plan.roles.watched),
            memo=context.background.memo,
            held=held,
            bounded=context.background.memo.once("bounded", plan, lambda: bounded_fluents(plan)),
            exclusive=context.background.memo.once("exclusive", plan, lambda: related_values(plan)),
        )
        self._patterns = PatternProver(self.uncertainty, context)
        self._by_intervals = context.background.memo.once(
            "by intervals", plan, lambda: made_of_intervals(plan)
        )
        self.courses = courses
        self._states = states or {}
        self.delayed_runs: dict[Relation, DelayedRun] = {}
        """What was computed of fluents with delayed effects."""
        self.thresholded: set[Relation] = set()
        """Fluents that are made of credible intervals."""

    def run(self, memory: WindowRecords, uncertain: Iterable[Relation], window: Window) -> int:
        """Evaluate all strata; gives the number of conflicts between values."""
        for relation, courses in self.courses.items():
            self.uncertainty.enter_courses(relation, courses)
        points = self._plan.checked.definitions.settings.exact
        self.uncertainty.is_exact = points is not None
        add_predicates(self._context.background, self.uncertainty)
        for relation in sorted(uncertain):
            self._enter_records(relation, memory, window)
        strata = [stratum for stage in self._plan.stages for stratum in stage.strata]
        if points is None:
            return sum(map(self._stratum, strata))
        self._check_reach(points, window)
        return self._related_strata(strata)

    def _check_reach(self, points: int, window: Window) -> None:
        """Refuse a window that is too short for exact probabilities over so many points."""
        tick = self._context.window.tick
        if self.uncertainty.held is not None and window.query - window.edge < points * tick:
            raise DataError(
                f"probabilities are to be exact over {points} points, and the window has "
                f"{(window.query - window.edge) // tick}: choose a longer window, or "
                "`:- exact(window).`"
            )

    def _related_strata(self, strata: Iterable[Stratum]) -> int:
        """Evaluate all strata: uncertain simple fluents and events together.

        Statically determined fluents and patterns are evaluated by themselves, after all that
        stand before them; so is what asks for the starts and ends of these.
        """
        conflicts, together = 0, list[Stratum]()
        for stratum in strata:
            is_uncertain = any(map(self._is_uncertain, stratum.definitions))
            if not is_uncertain and not _depends(stratum, together):
                conflicts += self._stratum(stratum)
            elif any(map(_stands_alone, stratum.definitions)):
                conflicts += self._together(together) + self._stratum(stratum)
                together = []
            elif _asks_for_edges(stratum, together):
                conflicts, together = conflicts + self._together(together), [stratum]
            else:
                together.append(stratum)
        return conflicts + self._together(together)

    def _together(self, strata: list[Stratum]) -> int:
        """Evaluate strata as one cycle, so that their pairs are carried together."""
        kinds = [definition.kind for stratum in strata for definition in stratum.definitions]
        # What several points depend on is carried along even of one fluent by itself.
        is_related = len(kinds) > 1 or bool(self.uncertainty.lasting)
        if FluentKind.SIMPLE not in kinds or not is_related:
            return sum(map(self._stratum, strata))
        definitions = tuple(d for stratum in strata for d in stratum.definitions)
        joined = replace(strata[0], definitions=definitions, immediate=True)
        self.courses |= evaluate_cycle(joined, self._context, self.uncertainty, self._circuits)
        return 0

    def _enter_records(self, relation: Relation, memory: WindowRecords, window: Window) -> None:
        context, uncertainty = self._context, self.uncertainty
        if relation in self._plan.checked.catalogue.events:
            events = memory.uncertain_events(relation, window)
            once = relation in self._plan.roles.counted
            add_events(
                relation, events, context.relations, uncertainty, once=once,
                lasts=("event", relation) in self._plan.pattern_needs.keys,
            )  # fmt: skip
        else:
            fluent = memory.uncertain_fluent(relation, window)
            self.courses[relation] = add_fluent(relation, fluent, uncertainty)
            if relation in uncertainty.bounded:
                put_input_edges(
                    relation, memory.open_at_query(relation, window), context, uncertainty
                )

    def _stratum(self, stratum: Stratum) -> int:
        context, uncertainty = self._context, self.uncertainty
        if not any(map(self._is_uncertain, stratum.definitions)):
            return evaluate_stratum(stratum, context, self._carried)
        refuse_patterns(stratum)
        if stratum.immediate and any(map(has_patterns, stratum.definitions)):
            for definition in stratum.definitions:
                self._enter_credible(related_fluents(definition))
            evaluate_recursion(stratum, context, uncertainty, self._patterns, self._circuits)
            return 0
        if stratum.immediate:
            _refuse_delays(stratum)
            self.courses |= evaluate_cycle(stratum, context, uncertainty, self._circuits)
            return 0
        for definition in stratum.definitions:
            if has_patterns(definition):
                self._enter_credible(related_fluents(definition))
                evaluate_patterns(definition, context, uncertainty, self._patterns)
            elif definition.kind == "event":
                evaluate_event(definition, context, uncertainty)
            elif definition.delays:
                self._delayed(definition)
            elif definition.kind == FluentKind.SIMPLE:
                self.courses[definition.relation] = evaluate_fluent(
                    definition, context, uncertainty, self._circuits
                )
            elif definition.relation in self._by_intervals:
                self._static(definition)
            else:
                self._static_chances(definition)
        return 0

    def _delayed(self, definition: Definition) -> None:
        """Evaluate a fluent with delayed effects from the states at the edge of the window."""
        relation = definition.relation
        self.courses[relation], self.delayed_runs[relation] = evaluate_delayed(
            definition, self._context, self.uncertainty, self._circuits,
            None if self.uncertainty.held is None else self._states.get(relation),
        )  # fmt: skip

    def _is_uncertain(self, definition: Definition) -> bool:
        return any(self.uncertainty.is_about(r) or is_by_chance(r) for r in definition.rules)

    def _static_chances(self, definition: Definition) -> None:
        """Evaluate a static fluent from the probabilities of its parts at each point."""
        relation = definition.relation
        courses = evaluate_static_chances(
            definition, self._context, self.uncertainty, self._circuits
        )
        if relation in self.courses:
            courses = beside(self.courses[relation], courses)
        self.courses[relation] = courses
        self.uncertainty.enter_courses(relation, courses)

    def _static(self, definition: Definition) -> None:
        """Evaluate a static fluent from the credible intervals of its parts; it is certain."""
        parts = parts_of(definition.rules)
        self._enter_credible(part.relation for part in parts if isinstance(part, Pair))
        self.thresholded.add(definition.relation)
        evaluate_definition(definition, self._context, self._carried)

    def _enter_credible(self, relations: Iterable[Relation]) -> None:
        """Put the credible intervals of those fluents that are uncertain into the context."""
        catalogue = self._plan.checked.catalogue
        for relation in self.uncertainty.fluents.keys() & set(relations):
            table, _ = self._credible(relation, self.courses[relation])
            self._context.relations.fluents[relation] = maximal_table(table)
            self._context.relations.open_at_query.pop(relation, None)
            if catalogue.fluents[relation].kind is FluentKind.INPUT:
                clip_input(relation, self._context)
