"""Which records can have to do with a pair or an event: those its rules can reach.

A demand is a relation and, for each argument, the wanted values, or None for all. From the
demand of the question, those of the literals in its rules follow: a variable that the head binds
has the head's values, every other one has all. Values of one fluent break each other, so a demand
is about all values of a fluent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from cernis.check.catalogue import pattern_head, pattern_parts, pattern_uses
from cernis.check.checker import Checked
from cernis.check.model import (
    Condition,
    Definitions,
    Event,
    Happens,
    HoldsFor,
    Literal,
    Pair,
    Relation,
    Temporal,
    temporal,
)
from cernis.check.pattern_checks import consumption_of
from cernis.check.rewrites.sliding_conditions import is_sliding
from cernis.explain.questions import Question
from cernis.kernels.array_types import Booleans
from cernis.knowledge.ground_values import Value, is_ground, value
from cernis.plan.builder import Plan
from cernis.plan.properties.growing_predicates import domain_goals
from cernis.records.record_columns import Coded, Column, RecordColumns, RecordKind, Records
from cernis.syntax.tree import Pattern, PatternRule, Term, Variable, Where

Wanted: TypeAlias = tuple[frozenset[Value] | None, ...]
"""For each argument the values that are wanted, or None for all."""

Rule: TypeAlias = tuple[Event | Pair, tuple[Event | Pair, ...], bool]
"""A head, what its literals are about, and whether it asks for members of a growing domain."""


def demands(plan: Plan, question: Question) -> tuple[dict[Relation, Wanted], bool]:
    """What the rules of a question can reach, and whether they ask for members of domains."""
    rules = _rules_by_head(plan)
    reached: dict[Relation, Wanted] = {}
    first: Wanted = tuple(frozenset((value(arg),)) for arg in question.args)
    waiting = [(question.relation, first)]
    grows = False
    while waiting:
        relation, wanted = waiting.pop()
        joined = _joined(reached.get(relation), wanted)
        if joined == reached.get(relation):
            continue
        reached[relation] = joined
        for head, uses, is_growing in rules.get(relation, ()):
            bound = _bound(head, joined)
            if bound is not None:
                grows |= is_growing
                waiting += [(use.relation, _wanted(use, bound)) for use in uses]
    open_ones = any(None in wanted for relation, wanted in reached.items() if relation in rules)
    valued = reached.keys() & _grounded_values(plan) - {question.relation}
    return reached, grows or open_ones or bool(valued)


def pattern_relations(plan: Plan, question: Question) -> set[Relation]:
    """The events that patterns define and that a question can reach."""
    heads = {pattern_head(rule).relation for rule in plan.checked.definitions.patterns}
    return heads & demands(plan, question)[0].keys() if heads else set()


def reachable(plan: Plan, records: Records, question: Question) -> Records:
    """The records that can have to do with a question."""
    reached, grows = demands(plan, question)
    named = _domain_positions(plan.checked)
    members = {v for wanted in reached.values() for part in wanted for v in part or ()}
    if question.value is not None:
        members.add(value(question.value))
    chosen = {}
    for form, part in records.relations.items():
        keep = np.zeros(len(part), np.bool_)
        skip = form.kind is not RecordKind.EVENT
        if form.relation in reached:
            keep |= _mask(part, reached[form.relation], skip)
        for position in named.get(form.relation, ()):
            keep |= True if grows else is_any_of(part.columns[position], members)
        if keep.any():
            chosen[form] = part if keep.all() else part.take(keep)
    count = sum(map(len, chosen.values()))
    return Records(chosen, count=count, sources=records.sources, dated=records.dated)


def _rules_by_head(plan: Plan) -> dict[Relation, list[Rule]]:
    by_head: dict[Relation, list[Rule]] = {}
    for rule in _rules(plan.checked.definitions, plan):
        by_head.setdefault(rule[0].relation, []).append(rule)
    return by_head


def _rules(definitions: Definitions, plan: Plan) -> Iterator[Rule]:
    grows = plan.knowledge.grows
    for change in definitions.changes:
        yield change.pair, _uses(change.body), _asks_members(change.body, plan)
    for event in definitions.events:
        yield event.event, _uses(event.body), _asks_members(event.body, plan)
    for static in definitions.statics:
        pairs = tuple(part.pair for part in static.body if isinstance(part, HoldsFor))
        goals = [part.goal for part in static.body if isinstance(part, Condition)]
        yield static.pair, pairs, any(map(grows, goals))
    for effect in definitions.effects:
        yield effect.source, (), any(map(grows, effect.goals))
    for pattern in definitions.patterns:
        uses = tuple(map(_entity, pattern_uses(pattern.pattern)))
        if not _is_free(pattern, definitions):
            # Policies and sliding windows select among all matches, whoever they are about.
            uses = tuple(Event(use.relation, (Variable("_"),) * use.relation.arity) for use in uses)
        yield pattern_head(pattern), uses, False


def _is_free(rule: PatternRule, definitions: Definitions) -> bool:
    """Does each match of a pattern depend on its own rows only?"""
    is_policy_free = consumption_of(rule, definitions).policy == "unrestricted"
    return is_policy_free and not _has_aggregate(rule.pattern)


def _has_aggregate(pattern: Pattern) -> bool:
    is_one = isinstance(pattern, Where) and any(map(is_sliding, pattern.conditions))
    return is_one or any(map(_has_aggregate, pattern_parts(pattern)))


def _asks_members(body: tuple[Literal, ...], plan: Plan) -> bool:
    return any(isinstance(part, Condition) and plan.knowledge.grows(part.goal) for part in body)


def _uses(body: tuple[Literal, ...]) -> tuple[Event | Pair, ...]:
    return tuple(map(_entity, temporal(body)))


def _entity(literal: Temporal | Event | Pair) -> Event | Pair:
    if isinstance(literal, (Event, Pair)):
        return literal
    return literal.event if isinstance(literal, Happens) else literal.pair


def _joined(before: Wanted | None, wanted: Wanted) -> Wanted:
    if before is None:
        return wanted
    return tuple(
        None if old is None or new is None else old | new
        for old, new in zip(before, wanted, strict=True)
    )


def _bound(head: Event | Pair, wanted: Wanted) -> dict[str, frozenset[Value]] | None:
    """The values of the variables of a head; None if a constant of it is not wanted."""
    bound: dict[str, frozenset[Value]] = {}
    for arg, values in zip(head.args, wanted, strict=True):
        if values is None:
            continue
        if isinstance(arg, Variable):
            if arg.name != "_":
                bound[arg.name] = values
        elif is_ground(arg) and value(arg) not in values:
            return None
    return bound


def _wanted(use: Event | Pair, bound: dict[str, frozenset[Value]]) -> Wanted:
    return tuple(_values(arg, bound) for arg in use.args)


def _values(arg: Term, bound: dict[str, frozenset[Value]]) -> frozenset[Value] | None:
    if isinstance(arg, Variable):
        return bound.get(arg.name)
    return frozenset((value(arg),)) if is_ground(arg) else None


def _grounded_values(plan: Plan) -> set[Relation]:
    """The fluents whose values are members of domains that grow with the input."""
    return {
        grounding.entity.relation
        for grounding in plan.checked.definitions.groundings
        if isinstance(grounding.entity, Pair) and isinstance(grounding.entity.value, Variable)
        if any(map(plan.knowledge.grows, grounding.goals))
    }


def _domain_positions(checked: Checked) -> dict[Relation, list[int]]:
    """For each input relation that names members of a growing domain: the columns that do.

    The first column of a fluent has its values.
    """
    definitions = checked.definitions
    keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
    positions: dict[Relation, list[int]] = {}
    for grounding in definitions.groundings if keys else ():
        entity = grounding.entity
        terms = entity.args if isinstance(entity, Event) else (entity.value, *entity.args)
        for goal in domain_goals(grounding, keys):
            names = {arg.name for arg in goal.args if isinstance(arg, Variable)}
            for number, arg in enumerate(terms):
                if isinstance(arg, Variable) and arg.name in names:
                    positions.setdefault(entity.relation, []).append(number)
    return positions


def _mask(part: RecordColumns, wanted: Wanted, skip: bool) -> Booleans:
    keep = np.ones(len(part), np.bool_)
    for column, values in zip(part.columns[skip:], wanted, strict=True):
        if values is not None:
            keep &= is_any_of(column, values)
    return keep


def is_any_of(column: Column, values: Iterable[Value]) -> Booleans:
    """Which rows have one of some values? Numbers count by their size, whatever their form."""
    if isinstance(column, Coded):
        wanted = set(values)
        codes = [code for code, each in enumerate(column.values) if each in wanted]
        return _is_in(column.codes, codes)
    return _is_in(column, [each for each in values if isinstance(each, int | float)])


def _is_in(column: np.ndarray, values: Sequence[float]) -> Booleans:
    keep = np.zeros(len(column), np.bool_)
    if len(values) > 8:
        return np.isin(column, np.array(values))
    for each in values:
        keep |= column == each
    return keep
