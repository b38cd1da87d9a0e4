"""Other pairs, events and variables in place of those that the rules of a program speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from cernis.check.model import (
    Boundary,
    Changes,
    Collect,
    Condition,
    Definitions,
    Either,
    Event,
    Happens,
    Holds,
    HoldsFor,
    Literal,
    Pair,
    StaticLiteral,
    Unless,
)
from cernis.check.rewrites.rewriting import renamed
from cernis.syntax.tree import Term, Variable

PairRenaming: TypeAlias = Callable[[Pair, bool], Pair]
"""From a pair, and whether it is about changes of the pair, to the pair that is meant."""
EventRenaming: TypeAlias = Callable[[Event], Event]


def rename_pairs(definitions: Definitions, other: PairRenaming) -> None:
    """Put other pairs in place of those that rules over time and delayed effects speak of."""
    _rename(definitions, lambda literal: _with_pair(literal, other))
    definitions.changes = [
        replace(rule, pair=other(rule.pair, True)) for rule in definitions.changes
    ]
    definitions.statics = [
        replace(rule, body=tuple(_static(literal, other) for literal in rule.body))
        for rule in definitions.statics
    ]
    definitions.initials = [
        replace(rule, pair=other(rule.pair, True)) for rule in definitions.initials
    ]
    definitions.effects = [
        replace(
            effect, source=other(effect.source, True),
            target=None if effect.target is None else other(effect.target, True),
        )
        for effect in definitions.effects
    ]  # fmt: skip
    definitions.postponables = [
        replace(each, pair=other(each.pair, True)) for each in definitions.postponables
    ]


def rename_events(definitions: Definitions, other: EventRenaming) -> None:
    """Put other events in place of those that rules over time define and speak of."""
    _rename(definitions, lambda literal: _with_event(literal, other))
    definitions.events = [replace(rule, event=other(rule.event)) for rule in definitions.events]


_Change: TypeAlias = Callable[[Literal], Literal]


def _rename(definitions: Definitions, change: _Change) -> None:
    definitions.changes = [
        replace(rule, body=_body(rule.body, change)) for rule in definitions.changes
    ]
    definitions.events = [
        replace(rule, body=_body(rule.body, change)) for rule in definitions.events
    ]


def _body(body: tuple[Literal, ...], change: _Change) -> tuple[Literal, ...]:
    return tuple(_literal(literal, change) for literal in body)


def _literal(literal: Literal, change: _Change) -> Literal:
    if isinstance(literal, Either):
        return replace(literal, branches=tuple(_body(each, change) for each in literal.branches))
    if isinstance(literal, (Unless, Collect)):
        return replace(literal, body=_body(literal.body, change))
    return change(literal)


def _with_pair(literal: Literal, other: PairRenaming) -> Literal:
    if isinstance(literal, (Boundary, Holds, Changes)):
        return replace(literal, pair=other(literal.pair, isinstance(literal, Changes)))
    return literal


def _with_event(literal: Literal, other: EventRenaming) -> Literal:
    if isinstance(literal, Happens):
        return replace(literal, event=other(literal.event))
    return literal


def _static(literal: StaticLiteral, other: PairRenaming) -> StaticLiteral:
    if isinstance(literal, HoldsFor):
        return replace(literal, pair=other(literal.pair, False))
    return literal


# -- variables -------------------------------------------------------------------------------

VariableRenaming: TypeAlias = Callable[[Variable], Term]


def rename_in_pair(pair: Pair, rename: VariableRenaming) -> Pair:
    """The pair with other terms in place of its variables."""
    args = tuple(renamed(arg, rename) for arg in pair.args)
    return replace(
        pair, args=args, value=renamed(pair.value, rename), term=renamed(pair.term, rename)
    )


def rename_in_event(event: Event, rename: VariableRenaming) -> Event:
    """The event with other terms in place of its variables."""
    args = tuple(renamed(arg, rename) for arg in event.args)
    return replace(event, args=args, term=renamed(event.term, rename))


def rename_in_body(body: tuple[Literal, ...], rename: VariableRenaming) -> tuple[Literal, ...]:
    """The literals with other terms in place of their variables, at any depth."""
    return tuple(rename_in_literal(literal, rename) for literal in body)


def rename_in_literal(literal: Literal, rename: VariableRenaming) -> Literal:
    """The literal with other terms in place of its variables, at any depth."""
    if isinstance(literal, Happens):
        return replace(literal, event=rename_in_event(literal.event, rename))
    if isinstance(literal, (Boundary, Holds, Changes)):
        return replace(literal, pair=rename_in_pair(literal.pair, rename))
    if isinstance(literal, Condition):
        return replace(literal, goal=renamed(literal.goal, rename))
    if isinstance(literal, Either):
        branches = tuple(rename_in_body(each, rename) for each in literal.branches)
        return replace(literal, branches=branches)
    body = rename_in_body(literal.body, rename)
    if isinstance(literal, Unless):
        return replace(literal, body=body)
    template, result = renamed(literal.template, rename), renamed(literal.result, rename)
    others = (renamed(Variable(name), rename) for name in literal.by)
    by = tuple(other.name for other in others if isinstance(other, Variable))
    return replace(literal, body=body, template=template, result=result, by=by)


def terms_of(literal: Literal) -> Iterator[Term]:
    """The terms that stand in a literal, at any depth."""
    if isinstance(literal, Happens):
        yield literal.event.term
    elif isinstance(literal, (Boundary, Holds, Changes)):
        yield literal.pair.term
    elif isinstance(literal, Condition):
        yield literal.goal
    elif isinstance(literal, Either):
        for branch in literal.branches:
            yield from terms_in(branch)
    else:
        yield from terms_in(literal.body)
        if isinstance(literal, Collect):
            yield from (literal.template, literal.result)


def terms_in(body: Iterable[Literal]) -> Iterator[Term]:
    """The terms that stand in a body, at any depth."""
    return chain.from_iterable(map(terms_of, body))
