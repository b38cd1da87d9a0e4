"""Possible worlds of rows: which of the uncertain proofs of each are true."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cernis.evaluate.probabilities.uncertain_facts import TRUE
from cernis.kernels.array_types import Integers


class Worlds:
    """Every row once for each of its worlds: a row with k uncertain proofs has 2**k.

    Bit r of a world says whether proof r of the row is true. `rows` are the rows repeated.
    """

    def __init__(self, counts: Integers) -> None:
        self._counts = counts
        self._sizes = np.left_shift(1, counts)
        self._begin = np.cumsum(self._sizes) - self._sizes
        self.first = np.cumsum(counts) - counts
        self.rows = np.repeat(np.arange(len(counts)), self._sizes)
        self._world = np.arange(len(self.rows)) - self._begin[self.rows]

    def members(self, own: Integers, ranks: Integers) -> tuple[Integers, Integers]:
        """Which proofs are true where: proofs, and the repeated row that each is true in.

        `own` is the row of each proof, `ranks` its bit, or -1 for one that is certain.
        """
        sizes = self._sizes[own]
        proofs = np.repeat(np.arange(len(own)), sizes)
        world = np.arange(len(proofs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rank = ranks[proofs]
        is_true = (rank < 0) | ((world >> np.maximum(rank, 0)) & 1 == 1)
        places = self._begin[own[proofs]] + world
        return proofs[is_true], places[is_true]

    def literals(self, literals: Integers) -> Iterator[Integers]:
        """Columns of literals that single out each world.

        Given are the literals of the uncertain proofs, row by row.
        """
        for rank in range(int(self._counts.max(initial=0))):
            has = rank < self._counts[self.rows]
            own = literals[np.where(has, self.first[self.rows] + rank, 0)]
            signed = own ^ (1 - ((self._world >> rank) & 1))
            yield np.where(has, signed, TRUE)
