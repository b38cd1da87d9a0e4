"""Which strata are evaluated together for the keys that have news, and where there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cernis.check.model import Boundary, FluentKind, Relation
from cernis.plan.logical import (
    Combine,
    Definition,
    Fetch,
    IntervalRule,
    Require,
    Stage,
    Stratum,
    parts_of,
)
from cernis.plan.properties.domain_uses import DomainUse, domain_uses
from cernis.plan.properties.interval_needs import is_local
from cernis.plan.properties.open_heads import ends_any_value, leaves_open
from cernis.plan.properties.rule_reads import is_anchored, watched_by

if TYPE_CHECKING:
    from cernis.plan.builder import Plan

LOOK_BACK = frozenset({"allen", "complement_all", "findall"})
"""Operators whose results change when the window forgets an interval."""

_POINT_BY_POINT = frozenset({"union_all", "intersect_all", "relative_complement_all"})


@dataclass(frozen=True)
class StrataPlan:
    """Strata of one stage that are evaluated together, for the keys that have news."""

    stage: int
    """The place of the stage among the stages of the plan."""
    strata: tuple[Stratum, ...]
    looks_back: bool
    """May what is forgotten change the result, so that all keys are evaluated each time?"""
    is_anchored: bool
    """Does every rule have a literal with the whole key that must be true for it to fire?"""
    domain_uses: tuple[DomainUse, ...]
    """How it uses the members of domains that grow with the input."""

    @property
    def definitions(self) -> dict[Relation, Definition]:
        """What the strata define."""
        return {d.relation: d for stratum in self.strata for d in stratum.definitions}


def keyed_strata(plan: Plan) -> tuple[tuple[StrataPlan, ...], ...]:
    """The strata of each stage, as they are evaluated together."""
    return tuple(
        tuple(_strata_plan(plan, place, strata) for strata in _united(stage))
        for place, stage in enumerate(plan.stages)
    )


def confines_news(plan: Plan) -> bool:
    """Can news be confined to keys, as far as the rules of a program say?

    Intervals before the window's edge that rules look back at are not kept by key, nor are
    occurrences that patterns need. A relation must be defined in one place, and changes of fluents
    must be read in the stage that defines them.
    """
    if plan.roles.looked_back_at or plan.checked.definitions.patterns:
        return False
    known: set[Relation] = set()
    for stage in plan.stages:
        if known & {r for stratum in stage.strata for r in watched_by(stratum)}:
            return False
        defined = [r for stratum in stage.strata for r in stratum.relations]
        if len(set(defined)) < len(defined) or known & set(defined):
            return False
        known |= set(defined)
    return True


def first_points(stages: tuple[Stage, ...]) -> frozenset[Relation]:
    """The fluents of which rules ask for the first points of intervals."""
    return frozenset(
        part.pair.relation
        for part in parts_of(stages)
        if isinstance(part, Boundary) and part.edge == "startI"
    )


def _united(stage: Stage) -> Iterator[tuple[Stratum, ...]]:
    """The strata of a stage, those together that are evaluated together.

    A stratum whose rules read initiations or terminations of another goes with it.
    """
    strata, first = stage.strata, 0
    while first < len(strata):
        last = first
        for later in range(first + 1, len(strata)):
            named = {r for s in strata[first : last + 1] for r in s.relations}
            if any(named & watched_by(strata[k]) for k in range(last + 1, later + 1)):
                last = later
        yield strata[first : last + 1]
        first = last + 1


def _strata_plan(plan: Plan, stage: int, strata: tuple[Stratum, ...]) -> StrataPlan:
    definitions = {d.relation: d for stratum in strata for d in stratum.definitions}
    anchored = all(
        is_anchored(rule, plan.homes[relation].positions)
        for relation, definition in definitions.items()
        for rule in definition.rules
    )
    looks_back = not _is_point_by_point(strata) and _looks_back(plan, definitions)
    return StrataPlan(stage, strata, looks_back, anchored, domain_uses(definitions.values(), plan))


def _is_point_by_point(strata: tuple[Stratum, ...]) -> bool:
    """Is it one statically determined fluent, decided at each point by what holds there?"""
    definitions = [d for stratum in strata for d in stratum.definitions]
    if len(definitions) > 1 or definitions[0].kind in ("event", FluentKind.SIMPLE):
        return False
    return can_be_cut(definitions[0])


def _looks_back(plan: Plan, definitions: Mapping[Relation, Definition]) -> bool:
    """May the result change with what the window forgets?

    A head that leaves arguments open is about all known instances, and which are known changes
    with what the window forgets.
    """
    rules = tuple(rule for definition in definitions.values() for rule in definition.rules)
    simple = [d for d in definitions.values() if d.kind == FluentKind.SIMPLE]
    if any(leaves_open(d)["initiation"] or _reports_open_ends(d, plan) for d in simple):
        return True
    parts = list(parts_of(rules))
    operators = {part.operator for part in parts if isinstance(part, Combine)}
    requires = any(isinstance(part, Require) for part in parts)
    return requires or bool(LOOK_BACK & operators) or not all(map(_is_local, definitions.values()))


def _reports_open_ends(definition: Definition, plan: Plan) -> bool:
    """Do rules read terminations that are about all instances initiated before?"""
    ends = leaves_open(definition)["termination"] or ends_any_value(definition)
    return ends and definition.relation in plan.roles.watched


def _is_local(definition: Definition) -> bool:
    return all(
        is_local(rule, bool(definition.groundings))
        for rule in definition.rules
        if isinstance(rule, IntervalRule)
    )


def can_be_cut(definition: Definition) -> bool:
    """Does what the rules derive at a point depend only on what holds at it and around it?"""
    return all(
        _is_plain(rule) and is_local(rule, bool(definition.groundings))
        for rule in definition.rules
        if isinstance(rule, IntervalRule)
    )


def _is_plain(rule: IntervalRule) -> bool:
    steps = [step for step in rule.steps if isinstance(step, Combine)]
    known = all(step.operator in _POINT_BY_POINT and step.inputs for step in steps)
    requires = [step for step in rule.steps if isinstance(step, Require)]
    required = {step.intervals for step in requires}
    return (
        known
        and not any(s.negated for s in requires)
        and required <= {rule.output} | _holding(rule)
    )


def _holding(rule: IntervalRule) -> set[str]:
    """The lists that hold wherever the result does; so none is empty unless the result is."""
    holding: dict[str, set[str]] = {}
    for step in rule.steps:
        if isinstance(step, Fetch):
            holding[step.output] = {step.output}
        elif isinstance(step, Combine):
            inputs = [holding[name] for name in step.inputs]
            if step.operator == "union_all":
                lists = set.intersection(*inputs)
            elif step.operator == "intersect_all":
                lists = set().union(*inputs)
            else:
                lists = inputs[0]
            holding[step.output] = {*lists, step.output}
    return holding[rule.output]
