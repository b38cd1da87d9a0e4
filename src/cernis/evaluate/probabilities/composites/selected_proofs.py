"""Which pairs of uncertain matches a policy of consumption selects: a literal for each pair.

In each possible world the policy selects among the matches of that world. Under `recent`, a match
is combined with another if no better one that fits is there: that is one literal for each pair.
Under `chronological`, what is used up depends on all that came before. Only matches that may be
combined with one another, directly or by way of others, can take something from one another. For
each such set of matches the worlds are gone through, as far as the selection depends on them. If
they are too many, worlds in which the same matches are left are carried on as one state. That gives
the probability of each pair, and no formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.uncertain_facts import (
    FALSE,
    TRUE,
    Conjunctions,
    Facts,
    conjunctions,
)
from cernis.kernels import queues
from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.components import components
from cernis.kernels.order import stable_order

NEGLIGIBLE: Final = 1e-12
"""A candidate is left out if it is less likely than this that all better ones are absent."""

MOST_WORLDS: Final = 4096
"""Matches that compete under `chronological` may have this many worlds."""


@dataclass(frozen=True, slots=True)
class FittingPairs:
    """Pairs of matches that fit in some world, in the order in which a policy tries them.

    The trigger of a pair is the one that came last. Both are numbered over the matches of both
    sides. `fitting` is the literal that the two fit, if both are there.
    """

    triggers: Integers
    others: Integers
    trigger_literals: Integers
    other_literals: Integers
    fitting: Integers

    def __len__(self) -> int:
        return len(self.triggers)

    def take(self, rows: Integers) -> FittingPairs:
        """Some of the pairs, in this order."""
        return FittingPairs(
            self.triggers[rows], self.others[rows], self.trigger_literals[rows],
            self.other_literals[rows], self.fitting[rows],
        )  # fmt: skip


def all_of(literals: list[Integers], facts: Facts) -> Integers:
    """The literal of each row that all of some literals are true."""
    count = len(literals[0])
    false = np.logical_or.reduce([column == FALSE for column in literals])
    result = facts.any_of(np.arange(count), conjunctions(literals, count), count)
    result[false] = FALSE
    return result


# -- recent ----------------------------------------------------------------------------------


def selected_recent(pairs: FittingPairs, facts: Facts) -> Integers:
    """The literal of each pair that both are there, and no better one for the same trigger.

    All pairs of a trigger follow one another, the best first.
    """
    count, triggers = len(pairs), pairs.triggers
    first = np.flatnonzero(np.r_[True, triggers[1:] != triggers[:-1]][:count])
    run = np.repeat(first, np.diff(np.r_[first, count]))
    possible = _logs_of_none_better(pairs, run, facts) > math.log(NEGLIGIBLE)
    better = np.where(possible, np.arange(count) - run, 0)
    # Better than a pair are those before it in its run.
    groups = np.repeat(np.arange(count), better)
    places = np.arange(len(groups)) - np.repeat(np.cumsum(better) - better, better) + run[groups]
    candidates = conjunctions([pairs.other_literals, pairs.fitting], count)
    some_better = facts.any_of(groups, candidates.take(places), count)
    literals = all_of([pairs.trigger_literals, pairs.other_literals, some_better ^ 1], facts)
    literals[~possible] = FALSE
    return literals


def _logs_of_none_better(pairs: FittingPairs, run: Integers, facts: Facts) -> Floats:
    """The logarithm of a bound of the probability that none of the better ones is there.

    The bound is that of the candidates that are one fact each, and fit in any case.
    """
    others = pairs.other_literals
    chances = facts.chances[others >> 1]
    chances = np.where(others & 1, 1 - chances, chances)
    is_plain = (pairs.fitting == TRUE) & ~np.isnan(chances)
    # A fact counts once for a trigger, even if several candidates depend on it.
    first = np.zeros(len(pairs), np.bool_)
    first[np.unique(run * facts.count + (others >> 1), return_index=True)[1]] = True
    absent = np.where(is_plain & first | (others == TRUE) & is_plain, 1 - chances, 1.0)
    logs = np.log(np.maximum(absent, NEGLIGIBLE * NEGLIGIBLE))
    before = np.cumsum(logs) - logs
    return np.asarray(before - before[run])


# -- chronological ---------------------------------------------------------------------------


def selected_chronologically(pairs: FittingPairs, facts: Facts) -> Integers:
    """The literal of each pair that it is selected: both are there, and neither is used up.

    Triggers are in the order in which they come, and the best pair of each is the first.
    """
    size = int(max(pairs.triggers.max(initial=-1), pairs.others.max(initial=-1))) + 1
    members, count = components(size, [(pairs.triggers, pairs.others)])
    component = members[pairs.triggers]
    columns = (pairs.trigger_literals, pairs.other_literals, pairs.fitting)
    doubtful = np.logical_or.reduce([column != TRUE for column in columns])
    is_doubtful = np.bincount(component, doubtful, count)[component] > 0
    literals = np.full(len(pairs), FALSE, np.int64)
    sure = np.flatnonzero(~is_doubtful)
    chosen = queues.choose(pairs.triggers[sure], pairs.others[sure], size, size)
    literals[sure[chosen]] = TRUE
    rest = np.flatnonzero(is_doubtful)
    rest = rest[stable_order(component[rest], count)]
    paths = _Paths()
    for rows in np.split(rest, np.flatnonzero(np.diff(component[rest])) + 1):
        if not _go_through_worlds(rows, pairs, paths):
            literals[rows] = _by_states(pairs.take(rows), facts)
    chosen_rows, proofs = paths.of_pairs()
    first = np.flatnonzero(np.r_[True, chosen_rows[1:] != chosen_rows[:-1]][: len(chosen_rows)])
    groups = np.cumsum(np.r_[False, chosen_rows[1:] != chosen_rows[:-1]][: len(chosen_rows)])
    literals[chosen_rows[first]] = facts.any_of(groups.astype(np.int64), proofs, len(first))
    return literals


@dataclass(slots=True)
class _Paths:
    """For pairs the conjunctions of literals under which they are selected."""

    rows: list[int] = field(default_factory=list)
    literals: list[tuple[int, ...]] = field(default_factory=list)

    def of_pairs(self) -> tuple[Integers, Conjunctions]:
        """The pairs, each as often as it has conjunctions, sorted; and the conjunctions."""
        rows = np.array(self.rows, np.int64)
        order = np.argsort(rows, kind="stable")
        lengths = [len(self.literals[place]) for place in order.tolist()]
        flat = [literal for place in order.tolist() for literal in self.literals[place]]
        offsets = np.cumsum([0, *lengths]).astype(np.int64)
        return rows[order], Conjunctions(offsets, np.array(flat, np.int64))


@dataclass(frozen=True, slots=True)
class _World:
    """What is known so far: the literals that are true, and which matches are used up."""

    path: tuple[int, ...] = ()
    known: frozenset[int] = frozenset()
    used: frozenset[int] = frozenset()

    def truth(self, literal: int) -> bool | None:
        """Is a literal true? None if it is not known."""
        if literal in self.known or literal == TRUE:
            return True
        return False if literal ^ 1 in self.known or literal == FALSE else None

    def where(self, literal: int) -> _World:
        """The world if a literal is true."""
        return _World((*self.path, literal), self.known | {literal}, self.used)

    def using(self, *matches: int) -> _World:
        """The world if matches are used up."""
        return _World(self.path, self.known, self.used.union(matches))


def _go_through_worlds(rows: Integers, pairs: FittingPairs, paths: _Paths) -> bool:
    """Note the worlds in which pairs that compete are selected; False if there are too many."""
    worlds = [_World()]
    some, before = pairs.take(rows), len(paths.rows)
    columns = (some.triggers, some.others, some.trigger_literals, some.other_literals, some.fitting)
    for row, trigger, other, *literals in zip(
        rows.tolist(), *(column.tolist() for column in columns), strict=True
    ):
        following: list[_World] = []
        for world in worlds:
            if trigger in world.used or other in world.used:
                following.append(world)
                continue
            selecting = _where_all(literals, world, following)
            if selecting is not None:
                paths.rows.append(row)
                paths.literals.append(selecting.path)
                following.append(selecting.using(trigger, other))
        worlds = following
        if len(worlds) > MOST_WORLDS:
            del paths.rows[before:], paths.literals[before:]
            return False
    return True


def _where_all(literals: list[int], world: _World, others: list[_World]) -> _World | None:
    """The part of a world in which all literals are true, if there is one.

    Its other parts are added to `others`.
    """
    for literal in literals:
        truth = world.truth(literal)
        if truth is None:
            others.append(world.where(literal ^ 1))
            world = world.where(literal)
        elif not truth:
            others.append(world)
            return None
    return world


# -- states ----------------------------------------------------------------------------------


_State: TypeAlias = tuple[frozenset[int], frozenset[int]]
"""The matches that are used up or absent, and those that are known to be there and are left."""


def _by_states(pairs: FittingPairs, facts: Facts) -> Integers:
    """The literals of pairs that compete, from their probabilities; for each trigger exclusive."""
    chance_of = _chances_of_matches(pairs, facts)
    others, triggers = pairs.others.tolist(), pairs.triggers.tolist()
    last = dict(zip([*triggers, *others], [*range(len(pairs)), *range(len(pairs))], strict=True))
    for match, place in zip(triggers, range(len(pairs)), strict=True):
        last[match] = max(last[match], place)
    chances = np.zeros(len(pairs))
    literals = np.empty(len(pairs), np.int64)
    states: dict[_State, float] = {(frozenset(), frozenset()): 1.0}
    for rows in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(pairs.triggers)) + 1):
        trigger, first, end = triggers[rows[0]], int(rows[0]), int(rows[-1])
        following: dict[_State, float] = {}
        for (gone, there), weight in states.items():
            for state, part, row in _outcomes(
                trigger, others[first : end + 1], gone, there, chance_of
            ):  # fmt: skip
                if row >= 0:
                    chances[first + row] += weight * part
                kept = tuple(frozenset(m for m in each if last[m] > end) for each in state)
                key = (kept[0], kept[1])
                following[key] = following.get(key, 0.0) + weight * part
        states = following
        if len(states) > MOST_WORLDS:
            raise _too_many(pairs)
        outcomes = chances[rows] / chance_of[trigger] if chance_of[trigger] > 0 else chances[rows]
        literals[rows] = exclusive_literals(outcomes, int(pairs.trigger_literals[first]), facts)
    return literals


def _outcomes(
    trigger: int, others: list[int], gone: frozenset[int], there: frozenset[int],
    chance_of: Mapping[int, float],
) -> Iterator[tuple[_State, float, int]]:  # fmt: skip
    """The states after a trigger, their probabilities, and which of the others it takes, or -1."""
    if trigger in gone:
        yield (gone, there), 1.0, -1
        return
    weight = 1.0
    if trigger not in there:
        weight = chance_of[trigger]
        yield (gone | {trigger}, there), 1 - weight, -1
    for place, other in enumerate(others):
        if other in gone:
            continue
        chance = 1.0 if other in there else chance_of[other]
        if chance > 0:
            yield (gone | {trigger, other}, there - {trigger, other}), weight * chance, place
        gone, weight = gone | {other}, weight * (1 - chance)
        if weight <= 0:
            return
    yield (gone, there | {trigger}), weight, -1


def _chances_of_matches(pairs: FittingPairs, facts: Facts) -> dict[int, float]:
    """The probability of each match, if all are single facts and fit in any case."""
    matches = np.concatenate([pairs.triggers, pairs.others])
    literals = np.concatenate([pairs.trigger_literals, pairs.other_literals])
    first = np.unique(matches, return_index=True)[1]
    matches, literals = matches[first], literals[first]
    chances = facts.chances[literals >> 1]
    chances = np.where(literals & 1, 1 - chances, chances)
    nodes = literals[literals != TRUE] >> 1
    is_plain = not np.isnan(chances).any() and len(np.unique(nodes)) == len(nodes)
    if not is_plain or (pairs.fitting != TRUE).any():
        raise _too_many(pairs)
    return dict(zip(matches.tolist(), chances.tolist(), strict=True))


def exclusive_literals(outcomes: Floats, literal: int, facts: Facts) -> Integers:
    """Literals of outcomes that exclude each other and need a literal to be true.

    Their probabilities are those if it is true, and add up to at most 1. Facts are added for them.
    """
    count = len(outcomes)
    left = 1.0 - np.append(0.0, np.cumsum(outcomes)[:-1])
    choices = facts.add(np.minimum(outcomes / np.maximum(left, NEGLIGIBLE), 1.0))
    # Outcome k is that the first choice which is true is choice k.
    table = np.where(np.tri(count, k=-1, dtype=np.bool_), choices ^ 1, TRUE)
    table[np.arange(count), np.arange(count)] = choices
    return all_of([np.full(count, literal), *table.T], facts)


def _too_many(pairs: FittingPairs) -> UnsupportedError:
    others, triggers = len(set(pairs.others.tolist())), len(set(pairs.triggers.tolist()))
    return UnsupportedError(
        f"under the policy `chronological`, {others} uncertain occurrences compete for {triggers} "
        f"others, in more than {MOST_WORLDS:,} possible worlds; a shorter `within` lets fewer of "
        "them compete, and the policy `recent` has no such limit"
    )
