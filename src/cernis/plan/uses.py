"""What the literals of a rule are about, and which of them it cannot do without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cernis.check.model import (
    ChangeRule,
    EventRule,
    Happens,
    HoldsFor,
    IntervalOperation,
    NotEmpty,
    Relation,
    Rule,
    StaticRule,
    Temporal,
    temporal,
)
from cernis.syntax.tree import Term

Use = tuple[Relation, tuple[Term, ...]]
"""A relation and the arguments it has in a literal."""


def uses_of(rule: Rule) -> Iterator[Use]:
    """What the literals of a rule are about."""
    if isinstance(rule, StaticRule):
        for literal in rule.body:
            if isinstance(literal, HoldsFor):
                yield literal.pair.relation, literal.pair.args
        return
    for each in temporal(rule.body):
        yield about(each)


def about(literal: Temporal) -> Use:
    """What a literal over time is about."""
    entity = literal.event if isinstance(literal, Happens) else literal.pair
    return entity.relation, entity.args


def head_of(rule: Rule) -> Use:
    """What a rule defines."""
    head = rule.event if isinstance(rule, EventRule) else rule.pair
    return head.relation, head.args


def indispensable(rule: Rule) -> Iterator[Use]:
    """The literals without which a rule gives nothing."""
    if isinstance(rule, ChangeRule | EventRule):
        for literal in rule.body:
            if isinstance(literal, Temporal) and not literal.negated:
                yield about(literal)
        return
    needed = _needed_lists(rule)
    for each in rule.body:
        if isinstance(each, HoldsFor) and each.intervals in needed:
            yield each.pair.relation, each.pair.args


def _needed_lists(rule: StaticRule) -> frozenset[str]:
    """The lists that must not be empty for the result to be anything.

    A union needs what all of its operands need, an intersection and a relation of Allen's what any
    does, a relative complement and a duration what their first operand does.
    """
    needs: dict[str, frozenset[str]] = {}
    for step in rule.body:
        if isinstance(step, HoldsFor):
            needs[step.intervals] = frozenset([step.intervals])
        elif isinstance(step, IntervalOperation):
            needs[step.output] = _needs(step.operator, [needs[name] for name in step.inputs])
    found = needs.get(rule.output, frozenset())
    for step in rule.body:
        if isinstance(step, NotEmpty):
            found |= needs[step.intervals]
    return found


def _needs(operator: str, inputs: list[frozenset[str]]) -> frozenset[str]:
    if not inputs or operator == "complement_all":
        return frozenset()
    if operator == "union_all":
        return frozenset.intersection(*inputs)
    if operator in ("relative_complement_all", "intDurGreater", "intDurLess"):
        return inputs[0]
    return frozenset(_all(inputs))


def _all(parts: Iterable[frozenset[str]]) -> Iterator[str]:
    for part in parts:
        yield from part
