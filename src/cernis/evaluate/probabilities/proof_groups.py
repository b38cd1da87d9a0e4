"""Groups of proofs: all initiations and breaks of a pair at a point, and their probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits, TooLarge, too_large
from cernis.evaluate.probabilities.uncertain_facts import Conjunctions, Facts
from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.circuit_values import (
    DEEPEST,
    carry,
    carry_together,
    evaluate,
    first_unlike,
    shapes,
)
from cernis.kernels.hashing import Numbering
from cernis.kernels.order import in_order, stable_order

HoldingFacts: TypeAlias = Callable[[Integers, Integers], Integers]

_MOST_TOKENS: Final = 1 << 20
"""A formula at one point that has more tokens than this is refused."""


HOLDING: Final = 2
"""The kind of a row that says when the pair itself holds."""


@dataclass(slots=True)
class AwaitedFacts:
    """Facts that pairs hold at times: the pairs are -1 for facts about all values of an instance.

    `firsts` and `lasts` say which pairs are the values of the instance, where these exclude each
    other; else they are -1.
    """

    pairs: Integers
    times: Integers
    nodes: Integers
    firsts: Integers
    lasts: Integers

    def take(self, rows: Integers) -> AwaitedFacts:
        """Some of the facts."""
        columns = (self.pairs, self.times, self.nodes, self.firsts, self.lasts)
        return AwaitedFacts(*(column[rows] for column in columns))


@dataclass(slots=True)
class Actions:
    """Initiations and breaks of pairs, in any order: pair, time, kind, and the proof's literals.

    The kind `HOLDING` is for a row that says when the pair itself holds.
    """

    pairs: Integers
    times: Integers
    breaks: Integers
    proofs: Conjunctions


@dataclass(slots=True)
class ProofGroups:
    """The actions of each pair at each point, sorted by pair and time.

    Group g is of `pairs[g]` at `times[g]`. Its shape is one of the circuits'; its facts are
    `facts[fact_offsets[g]:fact_offsets[g+1]]`.
    """

    pairs: Integers
    times: Integers
    shape: Integers
    fact_offsets: Integers
    facts: Integers


def group_actions(
    actions: Actions,
    facts: Facts,
    circuits: Circuits,
    name: str,
    holding_facts: HoldingFacts | None = None,
) -> ProofGroups:
    """The groups of actions; circuits of shapes that are new are compiled.

    `holding_facts` gives for pairs and times the facts that the pairs themselves hold then, or -1;
    without it, no rule asks for that. `name` is for errors.
    """
    order, first = _order(actions)
    pairs, times = actions.pairs[order[first]], actions.times[order[first]]
    bounds = np.append(first, len(order)).astype(np.int64)
    proofs = actions.proofs
    sizes = np.append(0, np.cumsum(facts.sizes[proofs.literals >> 1]))
    row_sizes = 1 + np.diff(sizes[proofs.offsets])
    room = int(row_sizes.sum())
    group_sizes = np.add.reduceat(row_sizes[order], first) if len(first) else row_sizes
    if int(group_sizes.max(initial=0)) > _MOST_TOKENS:
        raise too_large(name, int(group_sizes.max()))
    holds = (
        np.full(len(pairs), -1, np.int64) if holding_facts is None else holding_facts(pairs, times)
    )
    written = [
        np.empty(len(pairs), np.int64), np.zeros(len(pairs) + 1, np.int64),
        np.empty(room, np.int64), np.zeros(len(pairs) + 1, np.int64), np.empty(room, np.int64),
    ]  # fmt: skip
    deep = shapes(
        bounds, order, actions.breaks, proofs.offsets, proofs.literals, holds, *facts.structure,
        np.full(facts.count, -1), np.empty(facts.count, np.int64), np.empty(4 * DEEPEST, np.int64),
        *written,
    )  # fmt: skip
    if deep >= 0:
        raise UnsupportedError(f"{name}: derived events are nested more than {DEEPEST} deep")
    keys, token_offsets, tokens, fact_offsets, group_facts = written
    shape = _compiled(keys, token_offsets, tokens, fact_offsets, circuits, name)
    return ProofGroups(pairs, times, shape, fact_offsets, group_facts)


def _order(actions: Actions) -> tuple[Integers, Integers]:
    """Rows sorted by pair and time, and where each group begins among them."""
    pairs, times = np.ascontiguousarray(actions.pairs), np.ascontiguousarray(actions.times)
    if not len(pairs):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.arange(len(pairs))
    if not in_order(pairs, times):
        least, span = int(times.min()), int(times.max()) - int(times.min()) + 1
        size = (int(pairs.max()) + 1) * span
        if size < 1 << 62:
            order = stable_order(pairs * span + (times - least), size)
        else:
            order = np.lexsort((times, pairs))
        pairs, times = pairs[order], times[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (pairs[1:] != pairs[:-1]) | (times[1:] != times[:-1])
    return order, np.flatnonzero(new)


def _compiled(
    keys: Integers, token_offsets: Integers, tokens: Integers, fact_offsets: Integers,
    circuits: Circuits, name: str,
) -> Integers:  # fmt: skip
    """The number of the circuit of each group."""
    numbering = Numbering()
    which = numbering.of(keys)
    samples = np.empty(len(numbering), np.int64)
    samples[which[::-1]] = np.arange(len(which))[::-1]
    if first_unlike(which, samples, token_offsets, tokens) >= 0:
        # Two different shapes have the same key, so each group is compared by its tokens.
        samples = which = np.arange(len(keys))
    numbers = np.empty(len(samples), np.int64)
    for number, sample in enumerate(samples.tolist()):
        shape_tokens = tokens[token_offsets[sample] : token_offsets[sample + 1]]
        count = int(fact_offsets[sample + 1] - fact_offsets[sample])
        try:
            numbers[number] = circuits.number(shape_tokens, count)
        except TooLarge as error:
            raise too_large(name, count, circuits.most) from error
    return numbers[which]


def probabilities_after(
    groups: ProofGroups, initial: Floats, facts: Facts, circuits: Circuits
) -> Floats:
    """The probability of the pair after each of its groups, from the initial probabilities."""
    if_held, if_not_held = np.empty(len(groups.pairs)), np.empty(len(groups.pairs))
    evaluate(
        groups.shape, groups.fact_offsets, groups.facts, facts.chances, *circuits.arrays,
        np.empty(circuits.largest + 2), if_held, if_not_held,
    )  # fmt: skip
    offsets = np.searchsorted(groups.pairs, np.arange(len(initial) + 1)).astype(np.int64)
    after = np.empty(len(groups.pairs))
    carry(offsets, initial, if_held, if_not_held, after)
    return after


def probabilities_now(groups: ProofGroups, facts: Facts, circuits: Circuits) -> Floats:
    """The probability that some proof of each group is true; no group has breaks."""
    unused, chances = np.empty(len(groups.pairs)), np.empty(len(groups.pairs))
    evaluate(
        groups.shape, groups.fact_offsets, groups.facts, facts.chances, *circuits.arrays,
        np.empty(circuits.largest + 2), unused, chances,
    )  # fmt: skip
    return chances


def joint_probabilities_after(
    groups: ProofGroups, initial: Floats, facts: Facts, circuits: Circuits,
    awaited: AwaitedFacts,
) -> Floats:  # fmt: skip
    """As `probabilities_after`, for pairs that depend on one another."""
    order = np.argsort(groups.times, kind="stable")
    awaited = awaited.take(np.argsort(awaited.times, kind="stable"))
    after = np.empty(len(groups.pairs))
    carry_together(
        order, groups.times, groups.pairs, groups.shape, groups.fact_offsets, groups.facts,
        facts.chances, *circuits.arrays, awaited.times, awaited.nodes, awaited.pairs,
        awaited.firsts, awaited.lasts,
        np.empty(circuits.largest + 2), initial.copy(), np.empty(len(after)), after,
    )  # fmt: skip
    return after
