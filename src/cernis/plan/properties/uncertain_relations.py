"""Which relations of a program are uncertain, by those of its input whose records may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cernis.check.model import Boundary, Changes, FluentKind, Pair, Relation
from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.plan.logical import (
    AntiStab,
    Combine,
    Fetch,
    InitialPoints,
    Require,
    Stab,
    Stratum,
    parts_of,
)
from cernis.plan.measured_combinations import POINTWISE
from cernis.plan.pattern_steps import Occurrences, Step
from cernis.plan.properties.pattern_needs import PatternNeeds, pattern_needs
from cernis.plan.properties.routes import Routes
from cernis.plan.properties.spoken_relations import SpokenRelations
from cernis.syntax.tree import Variable


def is_by_chance(rule: object) -> bool:
    """Does a rule say that something holds initially with a probability?"""
    return isinstance(rule, InitialPoints) and rule.probability is not None


def uncertain_relations(plan: Plan, named: Iterable[str] | None) -> frozenset[Relation]:
    """The relations of the input whose records may be uncertain: those named, else all.

    A name may have the number of arguments after it, `walking/1`. One that is no input is a
    DataError.
    """
    catalogue = plan.checked.catalogue
    known = [relation for relation, event in catalogue.events.items() if event.is_input]
    known += [r for r, fluent in catalogue.fluents.items() if fluent.kind is FluentKind.INPUT]
    if named is None:
        return frozenset(known)
    relations: set[Relation] = set()
    for name in named:
        matching = {relation for relation in known if name in (relation.name, str(relation))}
        if not matching:
            there = ", ".join(sorted(map(str, known))) or "none"
            raise DataError(f"{name} is no relation of the input; there are {there}")
        relations |= matching
    return frozenset(relations)


@dataclass(frozen=True, slots=True)
class UncertainRelations:
    """The relations of a program that are uncertain, those of its input among them."""

    events: frozenset[Relation]
    fluents: frozenset[Relation]


class Uncertainties:
    """Which relations of a program are uncertain, for each choice of uncertain input."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[frozenset[Relation], UncertainRelations] = {}

    def of(self, uncertain: Iterable[Relation]) -> UncertainRelations:
        """All that rests on uncertain input; what is made of whole intervals is certain again."""
        key = frozenset(uncertain)
        if key not in self._known:
            self._known[key] = _derived_uncertainty(self._plan, key)
        return self._known[key]


def _derived_uncertainty(plan: Plan, uncertain: frozenset[Relation]) -> UncertainRelations:
    catalogue = plan.checked.catalogue
    events = {relation for relation in uncertain if relation in catalogue.events}
    fluents = set(uncertain) - events
    by_intervals = made_of_intervals(plan)
    known = {key for key, own in plan.knowledge.predicates.items() if own.chances is not None}
    for stratum in (stratum for stage in plan.stages for stratum in stage.strata):
        rules = [rule for definition in stratum.definitions for rule in definition.rules]
        is_uncertain = any(map(is_by_chance, rules)) or any(
            each.events & events or each.fluents & fluents or each.predicates & known
            for each in map(SpokenRelations.of, rules)
        )
        if is_uncertain:
            events |= _relations(stratum, "event")
            fluents |= _relations(stratum, FluentKind.SIMPLE)
            fluents |= _relations(stratum, FluentKind.STATIC) - by_intervals
    return UncertainRelations(frozenset(events), frozenset(fluents))


def needs_of_certain_patterns(plan: Plan, uncertain: Iterable[Relation]) -> PatternNeeds:
    """What patterns need of certain occurrences before the edge of a window.

    A step over uncertain relations needs all of them: no match uses them up in every world.
    """
    relations = plan.uncertainties.of(uncertain)
    known = {key for key, own in plan.knowledge.predicates.items() if own.chances is not None}

    def is_uncertain(step: Step) -> bool:
        spoken = SpokenRelations.of(step)
        return bool(
            spoken.events & relations.events
            or spoken.fluents & relations.fluents
            or spoken.predicates & known
        )

    return pattern_needs(plan.stages, plan.roles.inputs, is_uncertain)


def made_of_intervals(plan: Plan) -> frozenset[Relation]:
    """The statically determined fluents that are made of whole intervals of their parts.

    Their rules measure intervals, relate them or ask whether there are any; or rules ask for their
    starts and ends. All others can be decided point by point.
    """
    strata = [stratum for stage in plan.stages for stratum in stage.strata]
    by_chance = {key for key, own in plan.knowledge.predicates.items() if own.chances is not None}
    fluents: set[Relation] = set()
    for definition in (definition for stratum in strata for definition in stratum.definitions):
        parts = list(parts_of(definition.rules))
        fluents |= {part.pair.relation for part in parts if isinstance(part, Boundary)}
        if definition.kind == FluentKind.STATIC and (
            not all(map(_is_pointwise, parts))
            or SpokenRelations.of(definition.rules).predicates & by_chance
        ):
            fluents.add(definition.relation)
    return frozenset(fluents)


def _is_pointwise(part: object) -> bool:
    if isinstance(part, Combine):
        return part.operator in POINTWISE
    return not isinstance(part, Require)


def related_values(plan: Plan) -> frozenset[Relation]:
    """The simple fluents of which rules ask for several values, or for one in their own rules.

    To ask for the start or end of a value is to ask whether it holds. Where at most one value is
    asked for, it does not matter that values exclude each other. In the dialect rtec values may
    hold together.
    """
    if plan.checked.definitions.settings.dialect == "rtec":
        return frozenset()
    asked_values: dict[Relation, set[object]] = {}
    for stratum in (stratum for stage in plan.stages for stratum in stage.strata):
        for part in parts_of(tuple(own.rules for own in stratum.definitions)):
            if isinstance(part, Stab | AntiStab | Fetch | Boundary):
                pair = part.pair
                is_open = isinstance(pair.value, Variable) or pair.relation in stratum.relations
                values = asked_values.setdefault(pair.relation, set())
                values |= {None, pair.value} if is_open else {pair.value}
    return frozenset(r for r in plan.roles.simple if len(asked_values.get(r, ())) > 1)


def needs_formulas(plan: Plan, routes: Routes, uncertain: UncertainRelations) -> bool:
    """Does a stage ask for formulas over facts of an earlier one, which cannot be exchanged?

    They are what uncertain events are true by, and initiations, terminations, starts and ends of
    uncertain fluents. Where a rule asks whether such a fluent holds, its probability counts as that
    of an independent fact: courses are all that it has to know. Exact probabilities need more.
    """
    is_exact = plan.checked.definitions.settings.exact is not None
    derived = {relation for owned in routes.owned.values() for relation in owned}
    for stage in plan.stages:
        earlier = routes.reads[stage.number] & derived
        parts = (part for stratum in stage.strata for part in parts_of(stratum))
        asked_for = {part.pair.relation for part in parts if isinstance(part, Changes | Boundary)}
        fluents = uncertain.fluents if is_exact else asked_for & uncertain.fluents
        if earlier & (uncertain.events | fluents):
            return True
    return False


def needs_histories(plan: Plan, routes: Routes, uncertain: UncertainRelations) -> bool:
    """Does a stage read credible intervals of fluents of which it gets rows only on demand?

    The credible intervals of a pair follow from its whole course. A stage of a stream that demands
    a pair gets its course from the window on, as of when it is demanded.
    """
    by_intervals = made_of_intervals(plan)
    for stage in plan.stages:
        demanded = {
            relation for relation, deliveries in routes.onward.items()
            if any(each.step == stage.number and each.demands for each in deliveries)
        }  # fmt: skip
        for definition in (own for stratum in stage.strata for own in stratum.definitions):
            rules = definition.rules
            atoms = [part.atom for part in parts_of(rules) if isinstance(part, Occurrences)]
            parts = {atom.relation for atom in atoms if isinstance(atom, Pair)}
            if definition.relation in by_intervals:
                parts |= SpokenRelations.of(rules).fluents
            if parts & demanded & uncertain.fluents:
                return True
    return False


def _relations(stratum: Stratum, kind: str) -> set[Relation]:
    return {own.relation for own in stratum.definitions if own.kind == kind}
