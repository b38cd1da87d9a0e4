"""Graphs: strongly connected components, weak components, orders. Small and without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


def strong_components(vertices: Iterable[V], follow: Mapping[V, Iterable[V]]) -> list[list[V]]:
    """The maximal strongly connected components, those that point at others last.

    Tarjan's algorithm with its stack made explicit. A component comes after every component it
    has an edge to, so with edges from a definition to what it needs, the list is in the order
    of evaluation. Vertices of a component are in the order they were given.

    >>> strong_components("abc", {"a": "b", "b": "ac"})
    [['c'], ['a', 'b']]
    """
    order = {vertex: place for place, vertex in enumerate(vertices)}
    index: dict[V, int] = {}
    low: dict[V, int] = {}
    stack: dict[V, None] = {}
    work: list[tuple[V, Iterator[V]]] = []
    components: list[list[V]] = []

    def enter(vertex: V) -> None:
        index[vertex] = low[vertex] = len(index)
        stack[vertex] = None
        work.append((vertex, (each for each in follow.get(vertex, ()) if each in order)))

    for root in order:
        if root not in index:
            enter(root)
        while work:
            vertex, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[vertex])
                if low[vertex] == index[vertex]:
                    components.append(sorted(_popped(stack, vertex), key=order.__getitem__))
            elif target not in index:
                enter(target)
            elif target in stack:
                low[vertex] = min(low[vertex], index[target])
    return components


def _popped(stack: dict[V, None], vertex: V) -> list[V]:
    """The last vertices of a stack, as far as one of them; they are taken off."""
    members = [stack.popitem()[0]]
    while members[-1] != vertex:
        members.append(stack.popitem()[0])
    return members


class DisjointSets(Generic[V]):
    """Sets that are joined one by one, each known by one of its members, its leader."""

    def __init__(self, members: Iterable[V] = ()) -> None:
        self._leaders = {member: member for member in members}

    def __iter__(self) -> Iterator[V]:
        """All members of all sets, in the order in which they came up."""
        return iter(self._leaders)

    def find(self, member: V) -> V:
        """The leader of a member's set; a member that is new is a set by itself."""
        leader = self._leaders.setdefault(member, member)
        while leader != self._leaders[leader]:
            self._leaders[leader] = self._leaders[self._leaders[leader]]
            leader = self._leaders[leader]
        return leader

    def follow(self, follower: V, leader: V) -> None:
        """Join the sets of two leaders; the second leads both."""
        self._leaders[follower] = leader


def weak_components(vertices: Iterable[V], edges: Iterable[tuple[V, V]]) -> dict[V, V]:
    """For each vertex a representative, the same for all that edges connect, either way.

    It is the first of them, in the order in which the vertices were given.

    >>> weak_components("abc", [("c", "a")])
    {'a': 'a', 'b': 'b', 'c': 'a'}
    """
    sets = DisjointSets(vertices)
    order = {vertex: place for place, vertex in enumerate(sets)}
    for left, right in edges:
        first, second = sorted((sets.find(left), sets.find(right)), key=order.__getitem__)
        sets.follow(second, first)
    return {vertex: sets.find(vertex) for vertex in order}


def topological(vertices: Iterable[V], needs: Mapping[V, Iterable[V]]) -> list[V]:
    """The vertices such that each comes after those it needs; among equals, as given.

    There must be no cycle.
    """
    return [vertex for component in strong_components(vertices, needs) for vertex in component]
