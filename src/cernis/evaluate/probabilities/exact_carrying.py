"""Exact probabilities of pairs that rules relate: their joint distribution, point by point.

Pairs are related if a rule of one asks for the other, directly or by way of others. Related pairs
are carried together: how likely each combination of them is. So the records that they share count
once, however long ago they were. Facts that last, those of input fluents on intervals, are carried
in the same way, as pairs that nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.proof_groups import AwaitedFacts, ProofGroups
from cernis.evaluate.probabilities.uncertain_facts import Facts
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.components import components
from cernis.kernels.joint_values import (
    MOST_CHOICES,
    MOST_PAIRS,
    BlockRoom,
    CircuitTests,
    GroupFacts,
    JointSteps,
    StateRoom,
    carry_jointly,
    fill_states,
)


@dataclass(slots=True)
class RelatedPairs:
    """What is carried together: pairs, their probabilities at first, and their instances.

    Pairs of one instance exclude each other at first; an instance of -1 is by itself. `of_fact`
    says which pair each fact is about, or -1.
    """

    initial: Floats
    instances: Integers
    of_fact: Integers

    def with_lasting(self, nodes: Integers, chances: Floats) -> RelatedPairs:
        """With facts that last as further pairs."""
        of_fact = self.of_fact.copy()
        of_fact[nodes] = len(self.initial) + np.arange(len(nodes))
        return RelatedPairs(
            np.concatenate([self.initial, chances[nodes]]),
            np.concatenate([self.instances, np.full(len(nodes), -1)]), of_fact,
        )  # fmt: skip


def exact_probabilities_after(
    groups: ProofGroups, initial: Floats, instances: Integers, facts: Facts, circuits: Circuits,
    awaited: AwaitedFacts, may_last: Booleans, name: str,
) -> Floats:  # fmt: skip
    """The probability of each group's pair after it, by the joint distribution of related pairs.

    `may_last` says which facts are of records on intervals. The name is for errors.
    """
    of_fact = np.full(facts.count, -1, np.int64)
    of_fact[awaited.nodes] = awaited.pairs
    pairs = RelatedPairs(initial, instances, of_fact)
    used = groups.facts[: groups.fact_offsets[-1]]
    pairs = pairs.with_lasting(_lasting(groups, used, may_last), facts.chances)
    owners = np.repeat(groups.pairs, np.diff(groups.fact_offsets))
    related, count = components(len(pairs.initial), [(owners, pairs.of_fact[used])])
    sizes = np.bincount(related, minlength=count).astype(np.int64)
    if int(sizes.max(initial=0)) > MOST_PAIRS:
        raise _too_many(name, f"{int(sizes.max())} pairs are related at once", MOST_PAIRS)
    members = np.argsort(related, kind="stable")
    member_offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    bits = np.empty(len(members), np.int64)
    bits[members] = np.arange(len(members)) - np.repeat(member_offsets[:-1], sizes)
    state_offsets = np.append(0, np.cumsum(np.left_shift(1, sizes))).astype(np.int64)
    states = np.zeros(int(state_offsets[-1]))
    fill_states(
        sizes, state_offsets, member_offsets, members, pairs.initial, pairs.instances, states
    )
    blocks = _blocks(groups, used, pairs.of_fact)
    order = np.lexsort((blocks, groups.times, related[groups.pairs]))
    step_components, steps, block_firsts = _steps(
        related[groups.pairs][order], groups.times[order], blocks[order]
    )
    after, width = np.empty(len(groups.pairs)), 1 << int(sizes.max(initial=0))
    each = MOST_PAIRS * MOST_PAIRS
    joint = JointSteps(
        steps, block_firsts, order, step_components, sizes, state_offsets, groups.pairs, bits
    )
    room = BlockRoom(
        facts.chances.copy(), np.empty(circuits.largest + 2), np.empty(4 << MOST_CHOICES),
        np.empty(each, np.int64), np.empty(MOST_CHOICES, np.int64), np.empty(each, np.int64),
        np.empty(2 * MOST_PAIRS, np.int64), np.full(facts.count, -1),
        np.empty(MOST_PAIRS, np.int64),
    )  # fmt: skip
    large = carry_jointly(
        joint,
        GroupFacts(
            groups.shape, groups.fact_offsets, groups.facts, facts.chances, pairs.of_fact
        ),
        CircuitTests(*circuits.arrays), room,
        StateRoom(states, np.empty(width), np.empty(width), np.empty(width, np.int64)), after,
    )  # fmt: skip
    if large >= 0:
        time = int(groups.times[order[block_firsts[steps[large]]]])
        raise _too_many(name, f"at {time} too many facts are shared", MOST_CHOICES)
    return after


def _lasting(groups: ProofGroups, used: Integers, may_last: Booleans) -> Integers:
    """The facts of records on intervals that are asked for at several points."""
    times = np.repeat(groups.times, np.diff(groups.fact_offsets))
    rows = np.flatnonzero(may_last[used])
    nodes, times = used[rows], times[rows]
    order = np.lexsort((times, nodes))
    nodes, times = nodes[order], times[order]
    again = np.flatnonzero((nodes[1:] == nodes[:-1]) & (times[1:] != times[:-1]))
    return np.unique(nodes[again])


def _blocks(groups: ProofGroups, used: Integers, of_fact: Integers) -> Integers:
    """The block of each group: those that share facts of records at a point are one block."""
    owners = np.repeat(np.arange(len(groups.pairs)), np.diff(groups.fact_offsets))
    rows = np.flatnonzero(of_fact[used] < 0)
    nodes, owners = used[rows], owners[rows]
    times = groups.times[owners]
    order = np.lexsort((times, nodes))
    nodes, times, owners = nodes[order], times[order], owners[order]
    same = np.flatnonzero((nodes[1:] == nodes[:-1]) & (times[1:] == times[:-1]))
    return components(len(groups.pairs), [(owners[same], owners[same + 1])])[0]


def _steps(
    related: Integers, times: Integers, blocks: Integers
) -> tuple[Integers, Integers, Integers]:
    """The component of each step, where its blocks begin, and where the groups of blocks do."""
    new = np.ones(len(times), np.bool_)
    new[1:] = (related[1:] != related[:-1]) | (times[1:] != times[:-1])
    new_block = new.copy()
    new_block[1:] |= blocks[1:] != blocks[:-1]
    block_firsts = np.flatnonzero(new_block)
    first_blocks = np.searchsorted(block_firsts, np.flatnonzero(new))
    return (
        related[np.flatnonzero(new)],
        np.append(first_blocks, len(block_firsts)).astype(np.int64),
        np.append(block_firsts, len(times)).astype(np.int64),
    )


def _too_many(name: str, trouble: str, most: int) -> UnsupportedError:
    return UnsupportedError(
        f"{name}: {trouble}, and exact probabilities are computed for {most} at most; leave out "
        "`:- exact(...).`, or relate fewer pairs"
    )
