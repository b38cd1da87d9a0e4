"""Values of one instance, which exclude each other at each point.

A value holds if its fact is true and those of the values before it are not; the facts are
independent. The probability of a fact is that of its value, if none of the values before it holds.
Where the values of an instance add up to more than 1, they count as independent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cernis.evaluate.probabilities.courses import Courses, Pairs, with_facts
from cernis.evaluate.probabilities.proofs import Awaited, known_keys
from cernis.evaluate.probabilities.uncertain_facts import TRUE, Conjunctions, Facts, stacked
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.kernels.circuit_values import LEAST_LEFT, MOST_TOGETHER
from cernis.kernels.hashing import Numbering
from cernis.operators.distinct import distinct
from cernis.tables.interval_tables import FluentTable, expanded

_HALF = 31


def facts_of_values(courses: Courses, facts: Facts) -> tuple[FluentTable, Integers]:
    """The segments of courses, each with a literal; those of one instance exclude each other."""
    table, chances = courses.segments()
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    instances = _instances(courses.pairs)[owner]
    shared = _overlapping(instances, owner, table.starts, table.ends)
    if not shared.any():
        return with_facts(courses, facts)
    pieces = _pieces(instances, table, owner, chances, shared)
    order = np.lexsort((pieces.owner, pieces.starts, pieces.instances))
    pieces = pieces.take(order)
    possible, literals = _exclusive_literals(pieces, facts)
    pieces, literals = pieces.take(possible), literals[possible]
    order = np.lexsort((pieces.starts, pieces.owner))
    pieces, literals = pieces.take(order), literals[order]
    offsets = np.searchsorted(pieces.owner, np.arange(len(table) + 1)).astype(np.int64)
    cut = FluentTable(
        table.arguments, table.values, table.domains, table.value_domain, offsets,
        np.ascontiguousarray(pieces.starts), np.ascontiguousarray(pieces.ends),
    )  # fmt: skip
    return cut, literals


@dataclass(slots=True)
class _Pieces:
    """Pieces of segments: those of one instance that overlap have the same start and end."""

    owner: Integers
    instances: Integers
    starts: Integers
    ends: Integers
    chances: Floats

    def take(self, rows: Array) -> _Pieces:
        return _Pieces(
            self.owner[rows], self.instances[rows], self.starts[rows], self.ends[rows],
            self.chances[rows],
        )  # fmt: skip


def _instances(pairs: Pairs) -> Integers:
    """The number of the instance of each pair."""
    if not pairs.arguments or not len(pairs):
        return np.zeros(len(pairs), np.int64)
    return distinct(pairs.arguments, pairs.domains)[1].astype(np.int64)


def _overlapping(
    instances: Integers, owner: Integers, starts: Integers, ends: Integers
) -> Booleans:
    """The segments of instances of which two values may hold at one point."""
    order = np.lexsort((starts, instances))
    by_instance, furthest = instances[order], ends[order]
    overlaps = (by_instance[1:] == by_instance[:-1]) & (starts[order][1:] < furthest[:-1])
    is_shared = np.zeros(int(instances.max(initial=-1)) + 1, np.bool_)
    is_shared[by_instance[1:][overlaps]] = True
    return is_shared[instances]


def _pieces(
    instances: Integers, table: FluentTable, owner: Integers, chances: Floats, shared: Booleans
) -> _Pieces:
    """The segments, cut where another value of the instance begins or ends."""
    cut_instances = np.tile(instances[shared], 2)
    cut_times = np.concatenate([table.starts[shared], table.ends[shared]])
    order = np.lexsort((cut_times, cut_instances))
    cut_instances, cut_times = cut_instances[order], cut_times[order]
    new = np.append(
        True, (cut_instances[1:] != cut_instances[:-1]) | (cut_times[1:] != cut_times[:-1])
    )
    cut_instances, cut_times = cut_instances[new], cut_times[new]
    low, high = (
        _places(cut_instances, cut_times, instances[shared], times[shared])
        for times in (table.starts, table.ends)
    )
    places = expanded(low, high - low)
    rows = np.repeat(np.flatnonzero(shared), high - low)
    alone = np.flatnonzero(~shared)
    every = np.concatenate([alone, rows])
    return _Pieces(
        owner[every], instances[every],
        np.concatenate([table.starts[alone], cut_times[places]]),
        np.concatenate([table.ends[alone], cut_times[places + 1]]), chances[every],
    )  # fmt: skip


def _places(
    cut_instances: Integers, cut_times: Integers, instances: Integers, times: Integers
) -> Integers:
    """The place of each time of an instance among sorted cuts, where it is one."""
    ranked = np.unique(cut_times)
    keys = cut_instances * len(ranked) + np.searchsorted(ranked, cut_times)
    wanted = instances * len(ranked) + np.searchsorted(ranked, times)
    return np.searchsorted(keys, wanted).astype(np.int64)


def _exclusive_literals(pieces: _Pieces, facts: Facts) -> tuple[Integers, Integers]:
    """Which pieces can be true, and the literals of all; they are sorted by instance and start."""
    count = len(pieces.owner)
    new = np.ones(count, np.bool_)
    new[1:] = (pieces.instances[1:] != pieces.instances[:-1]) | (
        pieces.starts[1:] != pieces.starts[:-1]
    )
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    rank = np.arange(count) - first[group]
    totals = np.add.reduceat(pieces.chances, first)[group]
    sums = np.cumsum(pieces.chances) - pieces.chances
    left = 1 - (sums - sums[first][group])
    exclusive = (totals <= MOST_TOGETHER) & (rank > 0)
    is_possible = ~exclusive | (left > LEAST_LEFT)
    shares = np.minimum(1.0, pieces.chances / np.where(exclusive & is_possible, left, 1.0))
    literals = facts.add(np.where(is_possible, shares, 0.0))
    later = np.flatnonzero(exclusive & is_possible)
    flat = literals[expanded(first[group[later]], rank[later] + 1)]
    flat = _negated_but_last(flat, rank[later] + 1)
    offsets = np.append(0, np.cumsum(rank[later] + 1)).astype(np.int64)
    is_said = flat != TRUE
    proofs = Conjunctions(np.append(0, np.cumsum(is_said))[offsets], flat[is_said])
    literals[later] = facts.any_of(np.arange(len(later)), proofs, len(later))
    return np.flatnonzero(is_possible), literals


def _negated_but_last(literals: Integers, counts: Integers) -> Integers:
    """The literals of rows, so many in each, negated but for the last of each row."""
    negated = literals ^ 1
    last = np.cumsum(counts) - 1
    negated[last] = literals[last]
    return negated


@dataclass(slots=True)
class AwaitedValues(Awaited):
    """Awaited facts of pairs of which those of one instance exclude each other.

    The facts of the class below are those of values if none before them holds. `firsts` and `lasts`
    say for each pair which pairs are those of its instance.
    """

    firsts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    lasts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    together: Awaited = field(default_factory=Awaited)
    """The facts that the values of an instance, named by its first pair, add up to more than 1."""
    _numbers: Numbering = field(default_factory=Numbering)
    _instants: Numbering = field(default_factory=Numbering)
    _literals: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @staticmethod
    def of(pairs: Pairs) -> AwaitedValues:
        """None is awaited yet; pairs of one instance are next to each other."""
        new = np.zeros(len(pairs), np.bool_)
        new[:1] = True
        for column in pairs.arguments:
            new[1:] |= column[1:] != column[:-1]
        first = np.flatnonzero(new)
        counts = np.diff(np.append(first, len(pairs)))
        return AwaitedValues(
            firsts=np.repeat(first, counts), lasts=np.repeat(first + counts, counts)
        )

    def literals(self, pairs: Integers, times: Integers, facts: Facts) -> Integers:
        """The literals that pairs hold at times."""
        numbers = self._numbers.of((pairs << _HALF) | self._instants.of(times))
        known = len(self._literals)
        if len(self._numbers) > known:
            keys = self._numbers.keys[known:]
            instants: Integers = keys & ((1 << _HALF) - 1)
            more = self._new(keys >> _HALF, self._instants.keys[instants], facts)
            self._literals = np.concatenate([self._literals, more])
        return self._literals[numbers]

    def _new(self, pairs: Integers, times: Integers, facts: Facts) -> Integers:
        counts = pairs - self.firsts[pairs] + 1
        flat = Awaited.literals(
            self, expanded(self.firsts[pairs], counts), np.repeat(times, counts), facts
        )
        ends = np.cumsum(counts)
        literals: Integers = flat[ends - 1]
        later = np.flatnonzero(counts > 1)
        if not len(later):
            return literals
        together = self.together.literals(self.firsts[pairs[later]], times[later], facts)
        apart = Conjunctions(np.append(0, ends).astype(np.int64), _negated_but_last(flat, counts))
        both = Conjunctions(
            2 * np.arange(len(later) + 1), np.stack([literals[later], together], axis=1).ravel()
        )
        rows = np.arange(2 * len(later)).reshape(2, -1).T.ravel()
        proofs = stacked([apart.take(later), both]).take(rows)
        groups = np.repeat(np.arange(len(later)), 2)
        literals[later] = facts.any_of(groups, proofs, len(later))
        return literals

    def is_asked(self, pairs: Integers, times: Integers) -> Booleans:
        """For which pairs and times is some value of the instance awaited?"""
        keys = self._numbers.keys
        asked_keys = (self.firsts[keys >> _HALF] << _HALF) | (keys & ((1 << _HALF) - 1))
        return known_keys(self._instants, asked_keys, self.firsts[pairs], times)


@dataclass(slots=True)
class CarriedFacts:
    """The facts that rules of a cycle have asked for, with the probabilities of its courses."""

    awaited: Awaited
    courses: Courses

    def put(self, literals: Integers, pairs: Integers, times: Integers, facts: Facts) -> None:
        """Write the literals of those pairs and times that the cycle has asked for.

        Of an instance whose values exclude each other, all values count if one of them does.
        """
        known = np.flatnonzero(self.awaited.is_asked(pairs, times))
        if len(known):
            literals[known] = self.awaited.literals(pairs[known], times[known], facts)
            self.fill(facts)

    def fill(self, facts: Facts) -> None:
        """Give facts that are still without a probability the one of their pair."""
        awaited = self.awaited
        new = np.flatnonzero(np.isnan(facts.chances[awaited.nodes]))
        pairs, times, nodes = awaited.pairs[new], awaited.times[new], awaited.nodes[new]
        chances = self.courses.probabilities_of(pairs, times)
        if isinstance(awaited, AwaitedValues):
            before, total = self._sums(awaited, pairs, times)
            left = 1 - before
            shares = np.minimum(1.0, chances / np.where(left > LEAST_LEFT, left, 1.0))
            shares = np.where(left > LEAST_LEFT, shares, 0.0)
            chances = np.where(total > MOST_TOGETHER, chances, shares)
            self._fill_together(awaited, facts)
        facts.chances[nodes] = chances

    def _fill_together(self, awaited: AwaitedValues, facts: Facts) -> None:
        together = awaited.together
        new = np.flatnonzero(np.isnan(facts.chances[together.nodes]))
        _, total = self._sums(awaited, together.pairs[new], together.times[new])
        facts.chances[together.nodes[new]] = total > MOST_TOGETHER

    def _sums(
        self, awaited: AwaitedValues, pairs: Integers, times: Integers
    ) -> tuple[Floats, Floats]:
        """What the values before each pair, and all values, of its instance add up to."""
        counts = awaited.lasts[pairs] - awaited.firsts[pairs]
        values = expanded(awaited.firsts[pairs], counts)
        owners = np.repeat(np.arange(len(pairs)), counts)
        chances = self.courses.probabilities_of(values, np.repeat(times, counts))
        weights = (np.where(values < pairs[owners], chances, 0.0), chances)
        before, total = (
            np.bincount(owners, each, minlength=len(pairs)).astype(np.float64) for each in weights
        )
        return before, total
