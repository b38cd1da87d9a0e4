"""What the rules over intervals need: which lists, and which variables, for a result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cernis.check.goal_checks import named
from cernis.check.model import Relation
from cernis.plan.logical import (
    Branches,
    Combine,
    Compute,
    Exclude,
    Fetch,
    Filter,
    IntervalOperator,
    IntervalRule,
    Lookup,
    Require,
    Resolve,
    names_in,
    parts_of,
)
from cernis.plan.rule_plans import entity_names
from cernis.syntax.printer import show


@dataclass(frozen=True, slots=True)
class FetchedList:
    """A list of intervals that a rule fetches, and the variables of its pair."""

    step: Fetch
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class BoundCondition:
    """A condition of a rule over intervals, and the variables that it must find bound."""

    step: IntervalOperator
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class IntervalNeeds:
    """What a rule over intervals needs to give a result."""

    fetches: tuple[FetchedList, ...]
    """The lists it fetches, in their order."""
    conditions: tuple[BoundCondition, ...]
    """Its other conditions, in their order."""
    alternatives: tuple[frozenset[str], ...]
    """Sets of fetched lists; an instance with a result has all lists of one set."""
    together: frozenset[str]
    """The fetched lists that hold at every point of the result."""
    variables: frozenset[str]
    """The variables an instance needs: of the head, of conditions and of several lists."""
    may_repeat: bool
    """May a binding be found several times?"""
    relates_intervals: bool
    """Does it relate whole intervals, so that it may have to look back before the window?"""
    relations: frozenset[Relation]
    """The fluents whose lists it fetches."""
    head_names: frozenset[str]
    """The variables of its head."""


def interval_needs(rule: IntervalRule) -> IntervalNeeds:
    """What a rule over intervals needs."""
    lists = [step for step in rule.steps if isinstance(step, Fetch)]
    conditions = [s for s in rule.steps if not isinstance(s, (Fetch, Combine, Require))]
    return IntervalNeeds(
        tuple(FetchedList(step, frozenset(entity_names(step.pair))) for step in lists),
        tuple(BoundCondition(step, frozenset(needs_of(step))) for step in conditions),
        tuple(_alternatives(rule)), _together(rule), frozenset(_important(rule)),
        _may_repeat(rule), _relates_intervals(rule),
        frozenset(step.pair.relation for step in lists), frozenset(entity_names(rule.head)),
    )  # fmt: skip


def _relates_intervals(rule: IntervalRule) -> bool:
    return any(isinstance(step, Combine) and step.operator == "allen" for step in rule.steps)


def _may_repeat(rule: IntervalRule) -> bool:
    """May a binding be found several times?

    By values that nobody names, by a fact that is there twice, or by two ways to prove a goal.
    """
    several = any(isinstance(part, Lookup | Branches) for part in parts_of(rule.steps))
    return several or "_" in names_in(rule.steps)


def _alternatives(rule: IntervalRule) -> list[frozenset[str]]:
    """Sets of fetched lists that must not be empty for the result to be anything.

    A union needs one of its operands, an intersection all, a relative complement its first; a
    complement needs nothing. So an instance with a result has all lists of one set.
    """
    needs: dict[str, set[frozenset[str]]] = {}
    required: list[str] = []
    for step in rule.steps:
        if isinstance(step, Fetch):
            needs[step.output] = {frozenset([step.output])}
        elif isinstance(step, Combine):
            needs[step.output] = _needs(step, [needs[name] for name in step.inputs])
        elif isinstance(step, Require) and not step.negated:
            required.append(step.intervals)
    result = needs[rule.output]
    for name in required:
        result = {one | other for one in result for other in needs[name]}
    return sorted((one for one in result if not any(other < one for other in result)), key=sorted)


def is_local(rule: IntervalRule, has_groundings: bool) -> bool:
    """Do the lists that a result cannot do without bind all the variables that matter?

    If so, what the rule derives at a point depends on nothing but what holds there.
    """
    return not bound_elsewhere(rule, has_groundings)


def bound_elsewhere(rule: IntervalRule, has_groundings: bool) -> frozenset[str]:
    """The variables that matter and that some result takes from lists that need not hold with it.

    There is such a result only if one of these lists is not empty, wherever in the window it is.
    """
    conditions = [s for s in rule.steps if not isinstance(s, (Fetch, Combine, Require))]
    lookups = [s for s in conditions if isinstance(s, (Lookup, Resolve)) and not _denies(s)]
    known = set(names_in(tuple(s for s in lookups if isinstance(s, Lookup))))
    known |= {name for s in lookups if isinstance(s, Resolve) for name in s.binds}
    if has_groundings:
        known |= entity_names(rule.head)
    lists = {s.output: entity_names(s.pair) for s in rule.steps if isinstance(s, Fetch)}
    asked = set(names_in(tuple(s for s in conditions if s not in lookups)))
    wanted = rule.needs.variables | asked & set[str]().union(*lists.values())
    computes = [s for s in conditions if isinstance(s, Compute)]
    return frozenset[str]().union(*(
        wanted - _computed(known.union(*(lists[name] for name in needed)), computes)
        for needed in rule.needs.alternatives
    ))  # fmt: skip


def _denies(step: Lookup | Resolve) -> bool:
    return isinstance(step, Resolve) and step.negated


def _computed(known: set[str], computes: list[Compute]) -> set[str]:
    """What is known once all has been computed that can be."""
    for step in computes:
        if set(names_in(step.expression)) <= known:
            known = known | {step.variable}
    return known


def _needs(step: Combine, inputs: list[set[frozenset[str]]]) -> set[frozenset[str]]:
    if step.operator == "union_all":
        return set[frozenset[str]]().union(*inputs)
    if step.operator == "intersect_all":
        product = {frozenset[str]()}
        for own in inputs:
            product = {one | other for one in product for other in own}
        return product
    if step.operator == "complement_all":
        return {frozenset()}
    if step.operator in ("relative_complement_all", "intDurGreater", "intDurLess", "findall"):
        return inputs[0]
    # Only intervals that stand in a relation come out, and it takes two for one.
    return {one | other for one in inputs[0] for other in inputs[1]}


def _important(rule: IntervalRule) -> set[str]:
    """The variables an instance needs: those of the head, of conditions and of several lists."""
    lists = [entity_names(step.pair) for step in rule.steps if isinstance(step, Fetch)]
    counts = Counter(name for names in lists for name in names)
    shared = {name for name, count in counts.items() if count > 1}
    parameters = [s.parameters for s in rule.steps if isinstance(s, Combine)]
    return entity_names(rule.head) | shared | named(t for own in parameters for t in own)


def needs_of(step: object) -> set[str]:
    """The variables a condition must find bound."""
    if isinstance(step, Filter):
        return named([step.condition])
    if isinstance(step, Compute):
        return named([step.expression])
    if isinstance(step, Exclude):
        return {name for name in named([step.goal]) if not name.startswith("_")}
    if isinstance(step, Resolve):
        return named([step.goal]) - set(step.binds)
    bodies = step.branches if isinstance(step, Branches) else (getattr(step, "body", ()),)
    needs: set[str] = set()
    for body in bodies:
        bound: set[str] = set()
        for inner in body:
            if isinstance(inner, Lookup):
                # A look-up can give a variable its values; under a negation it must not.
                needs |= set() if isinstance(step, Branches) else set(inner.on) - bound
                bound |= {*inner.on, *inner.binds}
            else:
                needs |= needs_of(inner) - bound
                bound |= {inner.variable} if isinstance(inner, Compute) else set()
    return needs


def _together(rule: IntervalRule) -> frozenset[str]:
    """The fetched lists that hold at every point of the result.

    An intersection lies in all its operands, a relative complement in its first; a union lies for
    certain only in what all its operands lie in.
    """
    inside: dict[str, frozenset[str]] = {}
    for step in rule.steps:
        if isinstance(step, Fetch):
            inside[step.output] = frozenset([step.output])
        elif isinstance(step, Combine):
            parts = [inside[name] for name in step.inputs]
            if step.operator == "intersect_all":
                inside[step.output] = frozenset[str]().union(*parts)
            elif step.operator == "union_all" and parts:
                inside[step.output] = frozenset.intersection(*parts)
            elif step.operator == "complement_all" or not parts:
                inside[step.output] = frozenset()
            elif step.operator == "allen":
                inside[step.output] = _related_inside(show(step.parameters[1]), *parts)
            else:
                inside[step.output] = parts[0]
    return inside[rule.output]


def _related_inside(mode: str, source: frozenset[str], target: frozenset[str]) -> frozenset[str]:
    """What the intervals that a relation gives lie in, by its mode of output."""
    if mode == "intersect":
        return source | target
    if mode in ("source", "complement"):
        return source
    return target if mode in ("target", "complement_inv") else source & target
