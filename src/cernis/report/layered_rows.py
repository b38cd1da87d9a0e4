"""Rows for a layered drawing: what is joined lies near, and no edge is hidden by a vertex.

Vertices stand in columns, by level. An edge over several levels passes the columns between in
lanes of their own, and all edges of a vertex share its lane, so they part as late as they can.
Everything is deterministic: among equals, the order given decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Generic, TypeAlias, TypeVar

V = TypeVar("V", bound=Hashable)

ROW, LANE, PADDING = 38, 14, 8
_ORDERINGS, _SETTLINGS = 24, 12


@dataclass(frozen=True, slots=True)
class EdgeLane(Generic[V]):
    """Where the edges of a vertex pass a level between its own and that of their targets."""

    source: V
    level: int


Spot: TypeAlias = V | EdgeLane[V]


@dataclass(slots=True, eq=False)
class _Unit(Generic[V]):
    """Spots that stay together, one below the other, and the middle of the first."""

    spots: list[Spot[V]]
    top: float = 0.0

    def height(self) -> int:
        padding = 2 * PADDING if len(self.spots) > 1 else 0
        return sum(map(_height, self.spots)) + padding

    def middles(self) -> Iterable[tuple[Spot[V], float]]:
        """The spots with their places, measured down the column."""
        top = self.top + (PADDING if len(self.spots) > 1 else 0)
        for spot in self.spots:
            yield spot, top + _height(spot) / 2
            top += _height(spot)


def _height(spot: object) -> int:
    return LANE if isinstance(spot, EdgeLane) else ROW


def chain(source: V, target: V, levels: Mapping[V, int]) -> list[Spot[V]]:
    """The spots an edge passes, from its source to its target, both included.

    >>> [str(spot) for spot in chain("a", "b", {"a": 0, "b": 2})]
    ['a', "EdgeLane(source='a', level=1)", 'b']
    """
    between = range(levels[source] + 1, levels[target])
    return [source, *(EdgeLane(source, level) for level in between), target]


def rows(
    levels: Mapping[V, int], edges: Iterable[tuple[V, V]], groups: Iterable[Iterable[V]]
) -> dict[Spot[V], int]:
    """The middle of each vertex and lane, measured down from the top of the drawing.

    Vertices of a group, which must be of one level, stand next to each other.

    >>> rows({"a": 0, "b": 1, "c": 1}, [("a", "b"), ("a", "c")], [])
    {'a': 38, 'b': 19, 'c': 57}
    """
    layout = _Layout(_columns(levels, edges := list(edges), groups))
    layout.join(edges, levels)
    layout.order()
    layout.settle()
    return layout.result()


def _columns(
    levels: Mapping[V, int], edges: Iterable[tuple[V, V]], groups: Iterable[Iterable[V]]
) -> dict[int, list[_Unit[V]]]:
    columns: dict[int, list[_Unit[V]]] = defaultdict(list)
    grouped: dict[V, _Unit[V]] = {}
    for group in groups:
        unit: _Unit[V] = _Unit(list(group))
        grouped.update(dict.fromkeys(group, unit))
    for vertex, level in levels.items():
        unit = grouped.setdefault(vertex, _Unit([vertex]))
        if unit not in columns[level]:
            columns[level].append(unit)
    lanes = [spot for s, t in edges for spot in chain(s, t, levels) if isinstance(spot, EdgeLane)]
    for lane in dict.fromkeys(lanes):
        columns[lane.level].append(_Unit([lane]))
    return dict(sorted(columns.items()))


@dataclass(slots=True)
class _Layout(Generic[V]):
    """Columns of units, and what each spot is joined to on its left and on its right."""

    columns: dict[int, list[_Unit[V]]]
    left: dict[Spot[V], list[Spot[V]]] = field(default_factory=lambda: defaultdict(list))
    right: dict[Spot[V], list[Spot[V]]] = field(default_factory=lambda: defaultdict(list))
    middle: dict[Spot[V], float] = field(default_factory=dict)

    def join(self, edges: Iterable[tuple[V, V]], levels: Mapping[V, int]) -> None:
        """Enter the pieces of all edges, each once; edges inside a column have none."""
        long = ((s, t) for s, t in edges if levels[s] < levels[t])
        pieces = dict.fromkeys(
            piece for source, target in long for piece in pairwise(chain(source, target, levels))
        )
        for source, target in pieces:
            self.right[source].append(target)
            self.left[target].append(source)

    def order(self) -> None:
        """Sort columns by the means of their neighbours, back and forth; keep the best found."""
        self._stack()
        best, shortest = self._orders(), self._length()
        for sweep in range(_ORDERINGS):
            forward = sweep % 2 == 0
            for level in sorted(self.columns, reverse=not forward):
                self._sort(self.columns[level], self.left if forward else self.right)
            length = self._length()
            if length < shortest:
                best, shortest = self._orders(), length
        for level, column in best.items():
            self.columns[level] = [unit for unit, _ in column]
            for unit, spots in column:
                unit.spots = spots
        self._stack()

    def settle(self) -> None:
        """Move units towards their neighbours, in their order and without touching."""
        for sweep in range(_SETTLINGS):
            for level in sorted(self.columns, reverse=sweep % 2 == 1):
                column = self.columns[level]
                wanted = [unit.top + self._pull(unit) for unit in column]
                for unit, top in zip(column, _apart(wanted, column), strict=True):
                    unit.top = top
                    self.middle.update(unit.middles())

    def result(self) -> dict[Spot[V], int]:
        """All places, the highest unit at the top."""
        highest = min((unit.top for column in self.columns.values() for unit in column), default=0)
        return {spot: round(middle - highest) for spot, middle in self.middle.items()}

    def _stack(self) -> None:
        for column in self.columns.values():
            self._stack_column(column)

    def _stack_column(self, column: list[_Unit[V]]) -> None:
        """Put units one below the other, around the middle."""
        heights = [unit.height() for unit in column]
        tops = accumulate(heights, initial=-sum(heights) // 2)
        for unit, top in zip(column, tops, strict=False):
            unit.top = top
            self.middle.update(unit.middles())

    def _sort(self, column: list[_Unit[V]], near: Mapping[Spot[V], list[Spot[V]]]) -> None:
        means = {spot: self._mean(spot, near) for unit in column for spot in unit.spots}
        for unit in column:
            unit.spots.sort(key=means.__getitem__)
        column.sort(key=lambda unit: sum(map(means.__getitem__, unit.spots)) / len(unit.spots))
        self._stack_column(column)

    def _mean(self, spot: Spot[V], near: Mapping[Spot[V], list[Spot[V]]]) -> float:
        neighbours = near.get(spot)
        if not neighbours:
            return self.middle[spot]
        return sum(map(self.middle.__getitem__, neighbours)) / len(neighbours)

    def _pull(self, unit: _Unit[V]) -> float:
        """How far the neighbours of a unit are from it, in the mean."""
        pulls = [
            self.middle[other] - self.middle[spot]
            for spot in unit.spots
            for near in (self.left, self.right)
            for other in near.get(spot, ())
        ]
        return sum(pulls) / len(pulls) if pulls else 0.0

    def _orders(self) -> dict[int, list[tuple[_Unit[V], list[Spot[V]]]]]:
        return {
            level: [(unit, list(unit.spots)) for unit in column]
            for level, column in self.columns.items()
        }

    def _length(self) -> float:
        """How far edges climb or fall altogether."""
        return sum(
            abs(self.middle[source] - self.middle[target])
            for source, targets in self.right.items()
            for target in targets
        )


def _apart(wanted: list[float], column: list[_Unit[V]]) -> list[float]:
    """Tops as near as can be to those wanted, in order, no unit over the next.

    Without the heights of the units before it, each top must be at least the one before: the
    nearest such sequence, by least squares, comes from pooling neighbours that are out of order.
    """
    offsets = list(accumulate((unit.height() for unit in column), initial=0))[:-1]
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, members = pools.pop()
            total, count = total + before, count + members
        pools.append((total, count))
    level = [total / count for total, count in pools for _ in range(count)]
    return [base + offset for base, offset in zip(level, offsets, strict=True)]
