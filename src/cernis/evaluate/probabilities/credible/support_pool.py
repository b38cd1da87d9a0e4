"""The support sets of all pairs of a fluent, which grow in place from query to query.

In unbounded memory possible starts are only ever added, and a series of further points needs those
starts only whose score it can reach again. So a query costs what its points cost, and not as much
as the stream has been long.
"""

from __future__ import annotations

import numpy as np

from cernis.evaluate.probabilities.credible.credible_intervals import SupportSets
from cernis.kernels.array_types import Integers
from cernis.tables.interval_tables import expanded


class SupportPool:
    """Support sets of entities, each in a stretch of common arrays with room to grow.

    The possible starts of entity k are `sizes[k]` rows from `begins[k]` on. The other columns are
    those of `SupportSets`.
    """

    def __init__(self, memory: SupportSets) -> None:
        self._points, self._scores = memory.points.copy(), memory.scores.copy()
        self._begins = memory.offsets[:-1].astype(np.int64)
        self._sizes = np.diff(memory.offsets)
        self._rooms = self._sizes.copy()
        self._used = len(self._points)
        self.seen, self.score = memory.seen.copy(), memory.score.copy()
        self._lowest, self._states = memory.lowest.copy(), memory.states.copy()

    def __len__(self) -> int:
        """The number of entities."""
        return len(self.seen)

    def add(self, more: SupportSets) -> None:
        """Add further entities, which have seen no point."""
        none = np.zeros(len(more), np.int64)
        self._begins, self._sizes, self._rooms = (
            np.concatenate([column, none]) for column in (self._begins, self._sizes, self._rooms)
        )
        self.seen = np.concatenate([self.seen, more.seen])
        self.score = np.concatenate([self.score, more.score])
        self._lowest = np.concatenate([self._lowest, more.lowest])
        self._states = np.concatenate([self._states, more.states])

    def whole(self) -> SupportSets:
        """All support sets."""
        return self._taken(np.arange(len(self)), np.zeros(len(self), np.int64))

    def taken(self, entities: Integers, gains: Integers | None) -> tuple[SupportSets, Integers]:
        """The support sets of some entities, and how many of their first starts are left out.

        Those are left out whose score is above what the entity's score can come to, if it gains so
        much at most: no interval of these points begins with them. Without gains, none is.
        """
        skips = np.zeros(len(entities), np.int64)
        if gains is not None:
            skips = self._first_within(entities, self.score[entities] + gains)
        return self._taken(entities, skips), skips

    def _first_within(self, entities: Integers, highest: Integers) -> Integers:
        """The first start of each entity whose score is not above a highest; at least the last.

        Scores descend, so it is found by bisection, for all entities at once.
        """
        begins = self._begins[entities]
        low, high = np.zeros(len(entities), np.int64), np.maximum(self._sizes[entities] - 1, 0)
        while True:
            open_rows = np.flatnonzero(low < high)
            if not len(open_rows):
                return low
            middle = (low[open_rows] + high[open_rows]) >> 1
            fits = self._scores[begins[open_rows] + middle] <= highest[open_rows]
            high[open_rows] = np.where(fits, middle, high[open_rows])
            low[open_rows] = np.where(fits, low[open_rows], middle + 1)

    def _taken(self, entities: Integers, skips: Integers) -> SupportSets:
        lengths = self._sizes[entities] - skips
        rows = expanded(self._begins[entities] + skips, lengths)
        return SupportSets(
            np.append(0, np.cumsum(lengths)).astype(np.int64), self._points[rows],
            self._scores[rows], self.seen[entities], self.score[entities],
            self._lowest[entities], self._states[entities],
        )  # fmt: skip

    def put(self, entities: Integers, skips: Integers, memory: SupportSets) -> None:
        """Replace the support sets of entities, but for so many first starts of each."""
        lengths = np.diff(memory.offsets)
        sizes = skips + lengths
        self._make_room(entities, sizes, skips)
        rows = expanded(self._begins[entities] + skips, lengths)
        self._points[rows], self._scores[rows] = memory.points, memory.scores
        self._sizes[entities] = sizes
        self.seen[entities], self.score[entities] = memory.seen, memory.score
        self._lowest[entities], self._states[entities] = memory.lowest, memory.states

    def _make_room(self, entities: Integers, sizes: Integers, kept: Integers) -> None:
        """Move those to a free stretch that outgrow theirs, with so many starts that stay."""
        moving = np.flatnonzero(sizes > self._rooms[entities])
        if not len(moving):
            return
        chosen, rooms = entities[moving], 2 * sizes[moving]
        needed = int(rooms.sum())
        if self._used + needed > len(self._points):
            self._sweep(needed)
        begins = self._used + np.cumsum(rooms) - rooms
        old = expanded(self._begins[chosen], kept[moving])
        new = expanded(begins, kept[moving])
        self._points[new], self._scores[new] = self._points[old], self._scores[old]
        self._begins[chosen], self._rooms[chosen] = begins, rooms
        self._used += needed

    def _sweep(self, needed: int) -> None:
        """Leave out what nobody uses any more, and make room for more than is needed."""
        begins = np.cumsum(self._rooms) - self._rooms
        old, new = expanded(self._begins, self._sizes), expanded(begins, self._sizes)
        self._used = int(self._rooms.sum())
        length = self._used + self._used // 2 + needed
        points, scores = np.empty(length, np.int64), np.empty(length, np.int64)
        points[new], scores[new] = self._points[old], self._scores[old]
        self._points, self._scores, self._begins = points, scores, begins

    def last_scores(self) -> tuple[Integers, Integers]:
        """The entities that have possible starts, and the score of the last one, the lowest."""
        some = np.flatnonzero(self._sizes)
        return some, self._scores[self._begins[some] + self._sizes[some] - 1]

    def oldest(self) -> Integers:
        """The point of the first possible start of each entity; where there is none, the next."""
        oldest = self.seen + 1
        some = np.flatnonzero(self._sizes)
        oldest[some] = self._points[self._begins[some]]
        return oldest
