"""The possible worlds of rows: in each, some of the row's uncertain proofs are true."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cernis.evaluate.probabilities.uncertain_facts import TRUE, Facts
from cernis.kernels.array_types import Booleans, Integers


class Worlds:
    """Every row, repeated once for each of its worlds: a row with k uncertain proofs has 2**k.

    Bit r of a world says whether proof r of the row is true. `rows` are the rows repeated.
    """

    def __init__(self, counts: Integers) -> None:
        self._counts = counts
        self._sizes = np.left_shift(1, counts)
        self._begin = np.cumsum(self._sizes) - self._sizes
        self.first = np.cumsum(counts) - counts
        self.rows = np.repeat(np.arange(len(counts)), self._sizes)
        self._world = np.arange(len(self.rows)) - self._begin[self.rows]

    def members(self, row_numbers: Integers, ranks: Integers) -> tuple[Integers, Integers]:
        """The proofs that are true in each world: proofs, and the repeated rows they are true in.

        `row_numbers` has the row of each proof, and `ranks` its bit, or -1 if it is certain.
        """
        sizes = self._sizes[row_numbers]
        proofs = np.repeat(np.arange(len(row_numbers)), sizes)
        world = np.arange(len(proofs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rank = ranks[proofs]
        is_true = (rank < 0) | ((world >> np.maximum(rank, 0)) & 1 == 1)
        places = self._begin[row_numbers[proofs]] + world
        return proofs[is_true], places[is_true]

    def are_related(self, literals: Integers, facts: Facts) -> Booleans:
        """For each row: are its uncertain proofs anything but facts, each of its own?

        It is given the literals of the uncertain proofs, row by row.
        """
        nodes, owners = literals >> 1, np.repeat(np.arange(len(self._counts)), self._counts)
        related = np.zeros(len(self._counts), np.bool_)
        related[owners[facts.structure[0][nodes] >= 0]] = True
        order = np.lexsort((nodes, owners))
        nodes, owners = nodes[order], owners[order]
        same = (nodes[1:] == nodes[:-1]) & (owners[1:] == owners[:-1])
        related[owners[1:][same]] = True
        return related

    def literals(self, literals: Integers) -> Iterator[Integers]:
        """Columns of literals that single out each world.

        It is given the literals of the uncertain proofs, row by row.
        """
        for rank in range(int(self._counts.max(initial=0))):
            has = rank < self._counts[self.rows]
            bit_literals = literals[np.where(has, self.first[self.rows] + rank, 0)]
            signed = bit_literals ^ (1 - ((self._world >> rank) & 1))
            yield np.where(has, signed, TRUE)
