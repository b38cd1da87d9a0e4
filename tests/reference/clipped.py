"""Edges of intervals that are none of the fluent, but of the window (section 5 of the semantics).

Where steps are longer than windows, the points up to w = q - ω are evaluated without records, and
from w+τ on input fluents are seen again. An input fluent whose interval begins at w+τ has not
started at w: it may have held before. A statically determined fluent starts or ends at w only if it
does so, too, where such fluents held at w as they do at w+τ.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cernis.syntax.tree import Term

from .intervals import Intervals, maximal
from .state import State


@dataclass(slots=True)
class Clipped:
    """What is not to be taken for an edge; nothing if `forgotten`, the point w, is None.

    `static` are the statically determined fluents by what holds at w+τ held at w already.
    """

    forgotten: int | None = None
    tick: int = 1
    static: dict[Term, Intervals] = field(default_factory=dict)
    _is_moved: bool = False

    @contextmanager
    def moved(self) -> Iterator[None]:
        """Let intervals be seen as if what holds at w+τ had held at w."""
        self._is_moved = True
        yield
        self._is_moved = False

    def intervals(self, pair: Term, state: State) -> Intervals:
        """The intervals of a pair, as they are or as if what holds at w+τ had held at w."""
        intervals = state.intervals(pair)
        if not self._is_moved or not self.is_clipped(pair, self.forgotten, state):
            return intervals
        assert self.forgotten is not None
        before = {self.forgotten + self.tick: self.forgotten}
        moved = [(before.get(start, start), before.get(end, end)) for start, end in intervals]
        return maximal([(start, end) for start, end in moved if start < end])

    def is_clipped(self, pair: Term, point: int | None, state: State) -> bool:
        """Is an edge of the pair at the point one of the window alone?"""
        if self.forgotten is None or point != self.forgotten or pair in state.simple:
            return False
        seen = point + self.tick
        if pair not in state.static:
            return seen in [start for start, _ in state.intervals(pair)]
        edges = [edge for interval in state.static[pair] for edge in interval]
        moved = [edge for interval in self.static.get(pair, []) for edge in interval]
        return seen in edges and seen not in moved
