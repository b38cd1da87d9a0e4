"""Uncertain facts, and formulas over them, for all rows at once.

A literal is `2 * node`, or one more if it is negated; node 0 is true, so `TRUE` is 0 and `FALSE`
is 1. A node is a fact, which has a probability and is independent of all others, or composite: a
disjunction of conjunctions of literals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cernis.kernels.array_types import Array, Floats, Integers
from cernis.kernels.circuit_values import picked, saying

TRUE: Final = 0
FALSE: Final = 1


@dataclass(slots=True)
class Conjunctions:
    """Conjunctions of literals: those of row r are `literals[offsets[r]:offsets[r+1]]`."""

    offsets: Integers
    literals: Integers

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Integers:
        """How many literals each has."""
        return np.diff(self.offsets)

    def take(self, rows: Integers) -> Conjunctions:
        """Those of some rows, in this order."""
        return Conjunctions(*picked(self.offsets, self.literals, rows))


def conjunctions(columns: list[Integers], length: int) -> Conjunctions:
    """The literals of each row, from columns; literals that are `TRUE` are left out."""
    if not columns:
        return Conjunctions(np.zeros(length + 1, np.int64), np.empty(0, np.int64))
    return Conjunctions(*saying(np.ascontiguousarray(np.stack(columns, axis=1))))


def stacked(parts: list[Conjunctions]) -> Conjunctions:
    """The conjunctions of several parts, one part after the other."""
    lengths = [part.lengths for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]) if parts else np.zeros(1)
    literals = [part.literals for part in parts]
    return Conjunctions(
        offsets.astype(np.int64), np.concatenate(literals) if parts else np.empty(0, np.int64)
    )


@dataclass(slots=True)
class _Column:
    """A column that is extended in pieces and read as one array."""

    pieces: list[Array]

    def whole(self) -> Array:
        if len(self.pieces) > 1:
            self.pieces = [np.concatenate(self.pieces)]
        return self.pieces[0]


def _integers(*first: int) -> _Column:
    return _Column([np.array(first, np.int64)])


@dataclass(slots=True)
class Facts:
    """All nodes. Nodes are only added, and are numbered in the order in which they are added."""

    count: int = 1
    _chances: _Column = field(default_factory=lambda: _Column([np.ones(1)]))
    _composite: _Column = field(default_factory=lambda: _integers(-1))
    _sizes: _Column = field(default_factory=lambda: _integers(0))
    _alternatives: _Column = field(default_factory=lambda: _integers(0))
    _conjunctions: _Column = field(default_factory=lambda: _integers(0))
    _definitions: _Column = field(default_factory=_integers)
    _composites: int = 0
    _alternatives_so_far: int = 0
    _definitions_so_far: int = 0

    @property
    def chances(self) -> Floats:
        """The probability of each fact; for a composite it has no meaning."""
        return self._chances.whole()

    @property
    def sizes(self) -> Integers:
        """How many tokens a literal of each node takes at most in a formula."""
        return self._sizes.whole()

    @property
    def structure(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Composites, alternatives, conjunctions and definitions, as arrays for the kernel."""
        parts = (self._composite, self._alternatives, self._conjunctions, self._definitions)
        return tuple(part.whole() for part in parts)  # type: ignore[return-value]

    def add(self, chances: Floats) -> Integers:
        """Add facts with these probabilities; gives their literals. A certain one is no fact."""
        uncertain = np.flatnonzero((chances > 0) & (chances < 1))
        literals = np.where(chances > 0, TRUE, FALSE).astype(np.int64)
        literals[uncertain] = 2 * self.await_(len(uncertain))
        self._chances.pieces[-1] = chances[uncertain]
        return literals

    def await_(self, count: int) -> Integers:
        """Add facts whose probabilities become known later; gives their nodes."""
        nodes = np.arange(self.count, self.count + count)
        self._chances.pieces.append(np.full(count, np.nan))
        self._composite.pieces.append(np.full(count, -1))
        self._sizes.pieces.append(np.ones(count, np.int64))
        self.count += count
        return nodes

    def any_of(self, groups: Integers, rows: Conjunctions, count: int) -> Integers:
        """For each of so many groups, the literal that at least one of its rows is true.

        `groups` has the group of each row, ascending. A group without rows is false, and one that
        has a row without literals is true.
        """
        literals = np.full(count, FALSE, np.int64)
        sizes = np.bincount(groups, minlength=count)
        lengths = rows.lengths
        alone = (sizes[groups] == 1) & (lengths == 1)
        literals[groups[alone]] = rows.literals[rows.offsets[:-1][alone]]
        if not alone.all():
            self._compose(groups, rows, np.flatnonzero(~alone), literals)
        certain = groups[lengths == 0]
        literals[certain] = TRUE
        return literals

    def _compose(
        self, groups: Integers, rows: Conjunctions, chosen: Integers, literals: Integers
    ) -> None:
        """Make composites of the chosen rows, and let `literals` name them."""
        certain = np.zeros(len(literals), np.bool_)
        certain[groups[rows.lengths == 0]] = True
        chosen = chosen[~certain[groups[chosen]]]
        if not len(chosen):
            return
        chosen_groups = groups[chosen]
        first = np.flatnonzero(np.append(True, chosen_groups[1:] != chosen_groups[:-1]))
        rows = rows.take(chosen)
        literals[chosen_groups[first]] = 2 * np.arange(self.count, self.count + len(first))
        literal_sizes = np.append(0, np.cumsum(self.sizes[rows.literals >> 1]))
        row_sizes = np.diff(literal_sizes[rows.offsets]) + 1
        sizes = np.add.reduceat(row_sizes, first) + 1
        self._sizes.pieces.append(sizes)
        self._composite.pieces.append(np.arange(self._composites, self._composites + len(first)))
        self._chances.pieces.append(np.full(len(first), np.nan))
        ends = np.append(first[1:], len(chosen))
        self._alternatives.pieces.append(self._alternatives_so_far + ends)
        self._conjunctions.pieces.append(self._definitions_so_far + rows.offsets[1:])
        self._definitions.pieces.append(rows.literals)
        self.count += len(first)
        self._composites += len(first)
        self._alternatives_so_far += len(chosen)
        self._definitions_so_far += len(rows.literals)
