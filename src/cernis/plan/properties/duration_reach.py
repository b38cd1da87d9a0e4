"""How far before a window's edge durations reach.

Whether an interval is longer than some duration may be decided only when it has begun before the
edge. So a fluent with durations may still begin before the edge by as much, and rules with them see
the intervals that they are made of for as long before the edge: then what they say does not depend
on windows. Durations of fluents that are made of others add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

from cernis.check.model import Relation
from cernis.knowledge import Knowledge
from cernis.plan.logical import Combine, Fetch, IntervalRule, Require, Stage
from cernis.plan.properties.relation_roles import EVERYTHING, DurationReach
from cernis.plan.sweep.delay_plans import in_units
from cernis.plan.sweep.fact_values import KnownFacts
from cernis.plan.sweep.unfit import NotSweptError
from cernis.syntax.tree import Compound, Number, Term, Variable


def duration_reach(stages: tuple[Stage, ...], knowledge: Knowledge) -> DurationReach:
    """How far the durations of a program reach."""
    facts = KnownFacts(knowledge)
    results: dict[Relation, int] = {}
    operands: dict[Relation, int] = {}
    for relation, rule in _rules(stages):
        reach = _reach_of(rule, results, facts)
        if reach:
            results[relation] = max(results.get(relation, 0), reach)
    for relation, rule in _rules(stages):
        for operand in sorted(rule.needs.relations) if relation in results else ():
            operands[operand] = max(operands.get(operand, 0), results[relation])
    return DurationReach(results, operands)


def _rules(stages: tuple[Stage, ...]) -> Iterator[tuple[Relation, IntervalRule]]:
    for definition in (d for stage in stages for s in stage.strata for d in s.definitions):
        for rule in definition.rules:
            if isinstance(rule, IntervalRule):
                yield definition.relation, rule


def _reach_of(rule: IntervalRule, known: Mapping[Relation, int], facts: KnownFacts) -> int:
    """The longest sum of durations, one upon another, on the way to a rule's result."""
    reaches: dict[str, int] = {}
    for step in rule.steps:
        if isinstance(step, Fetch):
            reaches[step.output] = known.get(step.pair.relation, 0)
        elif isinstance(step, Combine):
            below = max((reaches.get(name, 0) for name in step.inputs), default=0)
            is_measured = step.operator.startswith("intDur")
            # At least 1: also what is longer than 0 only becomes so at the query after.
            length = max(_longest(step.parameters[0], rule, facts), 1) if is_measured else 0
            reaches[step.output] = min(below + length, EVERYTHING)
    return reaches[rule.output]


def _longest(term: Term, rule: IntervalRule, facts: KnownFacts) -> int:
    """The longest that a duration can be, as far as facts show."""
    values = [in_units(term)]
    if isinstance(term, Variable):
        conditions = [s for s in rule.steps if not isinstance(s, Fetch | Combine | Require)]
        values = [in_units(value) for value in facts.values(term.name, conditions) or ()]
    lengths = [_number(value, facts) for value in values]
    return max(lengths, default=EVERYTHING)


def _number(term: Term, facts: KnownFacts) -> int:
    if isinstance(term, Compound):
        result = Variable("<length>")
        try:
            answers = facts.solutions([Compound("is", (result, term))])
        except NotSweptError:
            return EVERYTHING
        terms = [answer[result.name] for answer in answers]
        term = terms[0] if len(terms) == 1 else term
    return min(ceil(term.value), EVERYTHING) if isinstance(term, Number) else EVERYTHING
