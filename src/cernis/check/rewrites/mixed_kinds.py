"""Fluents whose values are of both kinds: some simple, some statically determined.

A statically determined value neither breaks the others nor is broken by them. So the simple values
are those of a fluent of its own, `f by events`, which is no part of the results; of f itself all
values are statically determined, the simple ones by a rule each: `holdsFor(f(X)=yes, I) :-
holdsFor('f by events'(X)=yes, I)`. Rules that speak of a simple value, and of changes, speak of
that other fluent, so that they may depend on one another as those of any simple fluent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cernis.check.model import (
    ANY_VALUE,
    Definitions,
    HoldsFor,
    Pair,
    Relation,
    StaticRule,
)
from cernis.check.reporter import Report
from cernis.check.rewrites.renaming import rename_pairs
from cernis.errors import Note
from cernis.syntax.tree import Variable


def split_kinds(definitions: Definitions, report: Report) -> None:
    """Give the simple values of fluents with values of both kinds a fluent of their own.

    A pair that is of both kinds is reported, and its fluent left as it is.
    """
    for relation in _both_ways(definitions):
        if not _clash(relation, definitions, report):
            _split(relation, definitions)


def _both_ways(definitions: Definitions) -> list[Relation]:
    determined = {rule.pair.relation for rule in definitions.statics}
    simple = dict.fromkeys(pair.relation for pair in _simple(definitions))
    return [relation for relation in simple if relation in determined]


def _simple(definitions: Definitions) -> list[Pair]:
    """The pairs that events change, in the order of their definitions."""
    effects = [effect.target or effect.source for effect in definitions.effects]
    changes = [rule.pair for rule in definitions.changes]
    return [*changes, *(rule.pair for rule in definitions.initials), *effects]


def _clash(relation: Relation, definitions: Definitions, report: Report) -> bool:
    # Where some values end no other, an open value may also be one that is determined and named.
    may_be_both = relation in definitions.ending_values
    ends = {id(rule.pair) for rule in definitions.changes if not rule.initiates}
    simple = [
        pair for pair in _simple(definitions)
        if pair.relation == relation and not (pair.value_name == ANY_VALUE and id(pair) in ends)
    ]  # fmt: skip
    for rule in definitions.statics:
        value = rule.pair.value_name
        for pair in simple if rule.pair.relation == relation else ():
            is_open = pair.value_name == ANY_VALUE and not may_be_both
            if is_open or value in (ANY_VALUE, pair.value_name):
                _report(rule.pair, pair, report)
                return True
    return False


def _report(determined: Pair, simple: Pair, report: Report) -> None:
    report.error(
        "C040",
        f"{determined} is defined both by events and by intervals",
        determined.span,
        Note("it is a simple fluent here", simple.span),
        help="define each value either by initiatedAt/terminatedAt or by holdsFor; give one of "
        "the two another name",
    )


def _split(relation: Relation, definitions: Definitions) -> None:
    by_events = Relation(f"{relation.name} by events", relation.arity)
    determined = {r.pair.value_name for r in definitions.statics if r.pair.relation == relation}
    values = {
        pair.value_name: pair for pair in _simple(definitions)
        if pair.relation == relation and pair.value_name != ANY_VALUE
    }  # fmt: skip

    def renamed(pair: Pair, of_changes: bool) -> Pair:
        if pair.relation != relation or pair.value_name in determined:
            return pair
        is_simple = of_changes or pair.value_name != ANY_VALUE
        return replace(pair, relation=by_events) if is_simple else pair

    rename_pairs(definitions, renamed)
    definitions.auxiliary.add(by_events)
    definitions.keep_ending_values(relation, by_events)
    definitions.groundings += [
        replace(rule, entity=replace(rule.entity, relation=by_events))
        for rule in definitions.groundings
        if isinstance(rule.entity, Pair) and rule.entity.relation == relation
    ]
    if relation in definitions.ending_values:
        by_event = [pair for pair in _simple(definitions) if pair.relation == by_events]
        for pair in by_event[:1]:
            value = Variable("Value", pair.span)
            values[ANY_VALUE] = replace(pair, relation=relation, value=value)
    definitions.statics += [copied_pair(pair, by_events) for pair in values.values()]


def copied_pair(pair: Pair, source: Relation, kept: Collection[int] = ()) -> StaticRule:
    """The rule that a pair holds whenever that of another fluent, the source, does.

    It is about all instances, but for the arguments at the places that are kept.
    """
    args = tuple(
        arg if position in kept else Variable(f"A{position}", pair.span)
        for position, arg in enumerate(pair.args)
    )
    whole = replace(pair, args=args)
    part = HoldsFor(replace(whole, relation=source), "I", pair.span)
    return StaticRule(whole, (part,), "I", pair.span)
