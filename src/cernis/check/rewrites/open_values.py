"""Values that no rule names: how the dialect `rtec` reads `initiatedAt(temp(X)=V, T) :- ...`.

There a value that no head of an initiation or termination, no `initially`, no grounding and no
declaration `simpleFluent` names as a constant ends no other: several of them may hold at once,
until one that is named is initiated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from cernis.check.model import Definitions, Pair, Relation
from cernis.syntax.tree import Term, variables


def note_ending_values(definitions: Definitions) -> None:
    """Say which values of fluents end others, where some initiations leave the value open.

    Where delayed effects leave it open, too, all values end one another.
    """
    effects = chain.from_iterable((e.source, e.target) for e in definitions.effects)
    of_effects = [pair for pair in effects if pair is not None]
    initiated = [rule.pair for rule in definitions.changes if rule.initiates]
    initiated += [rule.pair for rule in definitions.initials]
    every = {pair.relation for pair in of_effects if not _is_named(pair)}
    heads = [*of_effects, *_heads(definitions)]
    definitions.ending_values |= {
        pair.relation: _named(pair.relation, heads) for pair in initiated
        if not _is_named(pair) and pair.relation not in every
    }  # fmt: skip


def _is_named(pair: Pair) -> bool:
    """Is the value of a pair a constant?"""
    return not any(True for _ in variables(pair.value))


def _heads(definitions: Definitions) -> Iterator[Pair]:
    """The pairs whose values, if they are constants, are named."""
    yield from (rule.entity for rule in definitions.groundings if isinstance(rule.entity, Pair))
    yield from (rule.pair for rule in definitions.changes)
    yield from (rule.pair for rule in definitions.initials)
    yield from definitions.declared_values


def _named(relation: Relation, heads: Iterable[Pair]) -> tuple[Term, ...]:
    named = {
        pair.value_name: pair.value for pair in heads
        if pair.relation == relation and _is_named(pair)
    }  # fmt: skip
    return tuple(named.values())
