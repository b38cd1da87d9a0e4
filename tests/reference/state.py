"""What has been recognised so far, point by point, and how it is cut back before a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cernis.syntax.tree import Term, functor

from .intervals import INF, Intervals, before
from .program import fluent_of
from .terms import unify

Points = dict[int, set[Term]]


@dataclass(slots=True)
class State:
    """Everything derived, and the input fluents, as of the last query.

    `initiated` and `terminated` say what rules and delayed effects did at each point; a
    termination may have variables left, which stand for all instances. `happened` are the
    derived events. `simple`, `static` and `given` are the intervals of simple fluents, of
    statically determined ones, and of input. `refused` are initiations of pairs that grounding did
    not allow when the window saw them last: later members of domains do not change that.
    """

    initiated: Points = field(default_factory=dict)
    terminated: Points = field(default_factory=dict)
    happened: Points = field(default_factory=dict)
    simple: dict[Term, Intervals] = field(default_factory=dict)
    static: dict[Term, Intervals] = field(default_factory=dict)
    given: dict[Term, Intervals] = field(default_factory=dict)
    refused: set[tuple[int, Term]] = field(default_factory=set)

    def intervals(self, pair: Term) -> Intervals:
        """The maximal intervals of a ground pair, of whatever kind; empty if it never holds."""
        for kind in (self.simple, self.static, self.given):
            if pair in kind:
                return kind[pair]
        return []

    def pairs(self) -> Iterator[Term]:
        """All ground pairs there are."""
        yield from self.simple
        yield from self.static
        yield from self.given

    def instances(self, asked: Term) -> list[Term]:
        """The ground pairs there are that a pair with variables stands for."""
        relation = functor(fluent_of(asked))
        return [
            pair
            for pair in self.pairs()
            if relation in (functor(fluent_of(pair)), ("", 0))
            and unify(asked, pair, {}) is not None
        ]

    def cut_back(self, edge: int, tick: int) -> None:
        """Keep what is settled: what happened up to the edge, and what follows from that alone.

        A simple fluent that was broken only behind the edge is open again; other fluents are
        kept at the points up to the edge.
        """
        for points in (self.initiated, self.terminated, self.happened):
            for point in [point for point in points if point > edge]:
                del points[point]
        self.simple = {pair: _reopened(old, edge + tick) for pair, old in self.simple.items()}
        self.static = {pair: before(old, edge + tick) for pair, old in self.static.items()}
        self.given = {pair: before(old, edge + tick) for pair, old in self.given.items()}


def _reopened(intervals: Intervals, bound: int) -> Intervals:
    return [(start, end if end <= bound else INF) for start, end in intervals if start <= bound]
