"""What the literals of a rule are about, and which of them it cannot do without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cernis.check.catalogue import pattern_head, pattern_parts, pattern_uses
from cernis.check.model import (
    Boundary,
    ChangeRule,
    Event,
    EventRule,
    Happens,
    HoldsFor,
    IntervalOperation,
    NotEmpty,
    Pair,
    Relation,
    Rule,
    StaticRule,
    Temporal,
    temporal,
)
from cernis.syntax.tree import Absence, Binary, EventAtom, Pattern, PatternRule, Term

Use = tuple[Relation, tuple[Term, ...]]
"""A relation and the arguments it has in a literal."""


def uses_of(rule: Rule | PatternRule) -> Iterator[Use]:
    """What the literals of a rule are about."""
    if isinstance(rule, PatternRule):
        yield from map(about, pattern_uses(rule.pattern))
        return
    if isinstance(rule, StaticRule):
        for literal in rule.body:
            if isinstance(literal, HoldsFor):
                yield literal.pair.relation, literal.pair.args
        return
    for each in temporal(rule.body):
        yield about(each)


def about(literal: Temporal | Event | Pair) -> Use:
    """What a literal over time, or an atom of a pattern, is about."""
    if isinstance(literal, Event | Pair):
        return literal.relation, literal.args
    entity = literal.event if isinstance(literal, Happens) else literal.pair
    return entity.relation, entity.args


def head_of(rule: Rule | PatternRule) -> Use:
    """What a rule defines."""
    if isinstance(rule, PatternRule):
        return about(pattern_head(rule))
    return about(rule.event if isinstance(rule, EventRule) else rule.pair)


def indispensable(rule: Rule | PatternRule) -> Iterator[Use]:
    """The literals without which a rule gives nothing."""
    if isinstance(rule, PatternRule):
        yield from map(about, _needed_atoms(rule.pattern))
        return
    if isinstance(rule, ChangeRule | EventRule):
        for literal in rule.body:
            if isinstance(literal, Temporal) and not literal.negated:
                yield about(literal)
        return
    needed = _needed_lists(rule)
    for each in rule.body:
        if isinstance(each, HoldsFor) and each.intervals in needed:
            yield each.pair.relation, each.pair.args


def _needed_atoms(pattern: Pattern) -> Iterator[Event | Pair | Boundary]:
    """What must occur for a pattern to occur: neither what may be either, nor what is absent."""
    if isinstance(pattern, EventAtom):
        yield from pattern_uses(pattern)
    elif isinstance(pattern, Absence):
        yield from (*_needed_atoms(pattern.first), *_needed_atoms(pattern.last))
    elif not isinstance(pattern, Binary) or pattern.operator != "or":
        for part in pattern_parts(pattern):
            yield from _needed_atoms(part)


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
    needed = needs.get(rule.output, frozenset())
    for step in rule.body:
        if isinstance(step, NotEmpty) and not step.negated:
            needed |= needs[step.intervals]
    return needed


def _needs(operator: str, inputs: list[frozenset[str]]) -> frozenset[str]:
    if not inputs or operator == "complement_all":
        return frozenset()
    if operator == "union_all":
        return frozenset.intersection(*inputs)
    if operator in ("relative_complement_all", "intDurGreater", "intDurLess", "findall"):
        return inputs[0]
    return frozenset(_all(inputs))


def _all(parts: Iterable[frozenset[str]]) -> Iterator[str]:
    for part in parts:
        yield from part
