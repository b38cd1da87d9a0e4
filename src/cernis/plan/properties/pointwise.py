"""Long histories: which strata can be evaluated slice by slice, and a run that does so.

The records of a bucket come in the order of time, and are evaluated when there are enough of them:
a *slice*. What a query carries over to the next is all that a rule needs of the past if it can
be decided from what holds and happens at one point, for instances that are known there. Strata with
such rules only, over input and each other, are evaluated slice by slice. The others of the stage
need whole intervals: they are evaluated once, at the end, over what the first ones found. So a
bucket holds a slice of its records, and intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cernis.check.model import (
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Definitions,
    Either,
    EventRule,
    HoldsFor,
    IntervalOperation,
    Literal,
    NotEmpty,
    Relation,
    Rule,
    StaticRule,
    Temporal,
    Unless,
    temporal,
)
from cernis.plan.builder import Plan
from cernis.plan.logical import Stratum, names_in
from cernis.plan.properties.growing_predicates import functors_in, growing

_POINTWISE = frozenset({"union_all", "intersect_all", "relative_complement_all"})


@dataclass(frozen=True, slots=True)
class Sliced:
    """A stage in two parts."""

    first: Plan
    """The strata that are evaluated slice by slice."""
    rest: Plan
    """The strata that are evaluated at the end."""
    relations: frozenset[Relation]
    """What the first part defines."""
    kept: frozenset[Relation]
    """What rules of the rest read: of input among it, all records are kept to the end."""
    is_walked: bool = False
    """Are both parts walked, so that each slice goes on from what the one before has left?"""


def sliced(plan: Plan, stage: Plan) -> Sliced | None:
    """A stage of a plan in its two parts; None if nothing can be evaluated slice by slice."""
    if plan.checked.definitions.patterns:
        return None
    search = _Search(plan)
    pointwise = search.pointwise_strata([s for each in stage.stages for s in each.strata])
    if not pointwise:
        return None
    relations = frozenset(r for stratum in pointwise for r in stratum.relations)
    here = {r for each in stage.stages for stratum in each.strata for r in stratum.relations}
    rules = [rule for rule in _rules(plan) if _head(rule) in here - relations]
    kept = frozenset(relation for rule in rules for relation in _reads(rule))
    if any(map(search.grows, here - relations)):
        kept |= search.filling
    return Sliced(
        _part(stage, lambda own: own in pointwise), _part(stage, lambda own: own not in pointwise),
        relations, kept, search.is_walked(stage),
    )  # fmt: skip


def _part(stage: Plan, keep: Callable[[Stratum], bool]) -> Plan:
    stages = tuple(
        replace(each, strata=tuple(stratum for stratum in each.strata if keep(stratum)))
        for each in stage.stages
    )
    return replace(stage, stages=stages)


class _Search:
    """Finds the strata that look no further than a point, and depend on nothing that does."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rules: dict[Relation, list[Rule]] = {}
        for rule in _rules(plan):
            self._rules.setdefault(_head(rule), []).append(rule)
        self._strata = [stratum for stage in plan.stages for stratum in stage.strata]
        self._defined = frozenset(r for stratum in self._strata for r in stratum.relations)
        self._growing = growing(plan)
        self._known_late = self._start_unannounced()

    def _start_unannounced(self) -> frozenset[Relation]:
        """The fluents that are defined and may start at the very point of a record.

        `start` of such an interval happens a tick before that record, perhaps in a slice that is
        evaluated already, and so does `end` of one that the record goes on.
        """
        late: set[Relation] = set()
        statics = self._plan.checked.definitions.statics
        for stratum in self._strata:
            below = {
                r for rule in statics if _head(rule) in stratum.relations for r in _reads(rule)
            }
            if below & late or below - self._defined:
                late |= set(stratum.relations)
        return frozenset(late)

    def _has_late_boundary(self, rule: Rule) -> bool:
        """Does a rule ask for the start or end of intervals that records bring?"""
        if isinstance(rule, StaticRule):
            return False
        bounded = {each.pair.relation for each in temporal(rule.body) if isinstance(each, Boundary)}
        return bool(bounded & self._known_late or bounded - self._defined)

    def pointwise_strata(self, strata: Iterable[Stratum]) -> list[Stratum]:
        """Those of some strata. Each that has to go may take others with it."""
        kept = [stratum for stratum in strata if self._is_pointwise(stratum)]
        while True:
            relations = frozenset(r for stratum in kept for r in stratum.relations)
            relations -= self._parted(kept) | self._seen_otherwise(relations)
            left = [stratum for stratum in kept if self._stands(stratum, relations)]
            if len(left) == len(kept):
                return left
            kept = left

    def _is_pointwise(self, stratum: Stratum) -> bool:
        rules = [rule for r in stratum.relations for rule in self._rules.get(r, ())]
        return (
            all(map(looks_no_further, rules))
            and not any(map(self._has_late_boundary, rules))
            and not any(map(self.grows, stratum.relations))
        )

    def is_walked(self, stage: Plan) -> bool:
        """Can a stage be walked slice by slice?

        Lists keep what durations need of the past, so rules over intervals need not be decided
        from single points. What is short so far may be a part of something longer, if the input
        goes on there with another record. Registers are not walked where each record is seen once.
        """
        strata = [stratum for each in stage.stages for stratum in each.strata]
        here = frozenset(r for stratum in strata for r in stratum.relations)
        measures_input = bool(stage.listed_input) and bool(here & self._plan.roles.reach.keys())
        return (
            stage.is_swept
            and not stage.has_registers
            and not measures_input
            and not self._seen_otherwise(here)
            and all(map(self._can_be_walked, strata))
        )

    def _can_be_walked(self, stratum: Stratum) -> bool:
        rules = [rule for r in stratum.relations for rule in self._rules.get(r, ())]
        return (
            all(isinstance(rule, StaticRule) or looks_no_further(rule) for rule in rules)
            and not any(map(self._has_late_boundary, rules))
            and not any(map(self.grows, stratum.relations))
        )

    def grows(self, relation: Relation) -> bool:
        """May the members of a domain that grows with the input matter to a relation?"""
        goals = _about(relation, self._plan.checked.definitions)
        rules = [rule.body for rule in self._rules.get(relation, ())]
        return not self._growing.isdisjoint(functors_in((*goals, *rules)))

    @property
    def filling(self) -> frozenset[Relation]:
        """The input that such domains are filled from."""
        return frozenset(
            grounding.entity.relation
            for grounding in self._plan.checked.definitions.groundings
            if not self._growing.isdisjoint(functors_in(grounding.goals))
        )

    def _stands(self, stratum: Stratum, pointwise_relations: frozenset[Relation]) -> bool:
        relations = stratum.relations
        reads = {
            r for head in relations for rule in self._rules.get(head, ()) for r in _reads(rule)
        }
        return pointwise_relations.issuperset(relations) and pointwise_relations.issuperset(
            reads & self._defined
        )

    def _parted(self, kept: list[Stratum]) -> frozenset[Relation]:
        """The relations of which other strata define some values."""
        others = [stratum for stratum in self._strata if stratum not in kept]
        return frozenset(r for stratum in others for r in stratum.relations)

    def _seen_otherwise(self, pointwise_relations: frozenset[Relation]) -> frozenset[Relation]:
        """Relations of which other rules read points, or that are not in any answer."""
        others = [
            rule
            for head, rules in self._rules.items()
            if head not in pointwise_relations
            for rule in rules
        ]
        points = {
            literal.pair.relation
            for rule in others if not isinstance(rule, StaticRule)
            for literal in temporal(rule.body) if isinstance(literal, Changes)
        }  # fmt: skip
        read = {relation for rule in others for relation in _reads(rule)}
        return frozenset(points | (read & self._plan.checked.definitions.auxiliary))


def _about(relation: Relation, definitions: Definitions) -> Iterator[object]:
    """What else defines a relation, beside its rules: initial facts, effects, groundings."""
    for initial in definitions.initials:
        if initial.pair.relation == relation:
            yield initial.goals
    for effect in definitions.effects:
        if relation in (effect.source.relation, effect.target and effect.target.relation):
            yield effect.goals
    for postponable in definitions.postponables:
        if postponable.pair.relation == relation:
            yield postponable.goals
    for grounding in definitions.groundings:
        if grounding.entity.relation == relation:
            yield grounding.goals


def _rules(plan: Plan) -> list[Rule]:
    definitions = plan.checked.definitions
    return [*definitions.changes, *definitions.events, *definitions.statics]


def _head(rule: Rule) -> Relation:
    return rule.event.relation if isinstance(rule, EventRule) else rule.pair.relation


def _reads(rule: Rule) -> Iterator[Relation]:
    if isinstance(rule, StaticRule):
        yield from (own.pair.relation for own in rule.body if isinstance(own, HoldsFor))
        return
    for literal in temporal(rule.body):
        yield literal.pair.relation if hasattr(literal, "pair") else literal.event.relation


# -- rules -------------------------------------------------------------------------------------


def looks_no_further(rule: Rule) -> bool:
    """Can a rule be decided from what holds and happens at one point?

    Not so with aggregates, durations, complements and relations between intervals; nor where an
    instance may be known from other points only, as with an initiation that leaves an argument open
    and with intervals of fluents that do not have all variables of the rule.
    """
    if isinstance(rule, StaticRule):
        return _is_about_one_instance(rule)
    if any(_collects(rule.body)):
        return False
    if not isinstance(rule, ChangeRule) or not rule.initiates:
        return True
    bound = set(names_in(tuple(_terms(rule.body)))) - {"_"}
    return bound.issuperset(names_in((*rule.pair.args, rule.pair.value)))


def _is_about_one_instance(rule: StaticRule) -> bool:
    for literal in rule.body:
        if isinstance(literal, NotEmpty):
            return False
        if isinstance(literal, IntervalOperation) and not (
            literal.operator in _POINTWISE and literal.inputs
        ):
            return False
    pairs = [each.pair for each in rule.body if isinstance(each, HoldsFor)]
    names = [set(names_in((*pair.args, pair.value))) for pair in (rule.pair, *pairs)]
    goals = tuple(each.goal for each in rule.body if isinstance(each, Condition))
    every = set(names_in(goals)).union(*names)
    return bool(pairs) and "_" not in every and all(each == every for each in names[1:])


def _collects(body: tuple[Literal, ...]) -> Iterator[bool]:
    for literal in body:
        yield isinstance(literal, Collect)
        if isinstance(literal, Unless):
            yield from _collects(literal.body)
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from _collects(branch)


def _terms(body: tuple[Literal, ...]) -> Iterator[object]:
    """What the literals that are not negated speak of, which binds variables.

    Of alternatives, it is taken that all bind the same.
    """
    for literal in body:
        if isinstance(literal, Either):
            for branch in literal.branches:
                yield tuple(_terms(branch))
        elif isinstance(literal, Condition) and not literal.negated:
            yield literal.goal
        elif isinstance(literal, Temporal) and not literal.negated:
            entity = literal.pair if hasattr(literal, "pair") else literal.event
            yield entity.args
            yield entity.value if hasattr(entity, "value") else ()
