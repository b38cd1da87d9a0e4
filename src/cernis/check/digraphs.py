"""Graphs: strongly connected components, weak components, orders. Small and without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

V = TypeVar("V", bound=Hashable)


def strong_components(vertices: Iterable[V], follow: Mapping[V, Iterable[V]]) -> list[list[V]]:
    """The maximal strongly connected components, those that point at others last.

    Tarjan's algorithm with its stack made explicit. A component comes after every component it
    has an edge to, so with edges from a definition to what it needs, the list is in the order
    of evaluation. Vertices of a component are in the order they were given.

    >>> strong_components("abc", {"a": "b", "b": "ac"})
    [['c'], ['a', 'b']]
    """
    order = {vertex: at for at, vertex in enumerate(vertices)}
    index: dict[V, int] = {}
    low: dict[V, int] = {}
    on_stack: set[V] = set()
    stack: list[V] = []
    components: list[list[V]] = []
    for root in order:
        if root in index:
            continue
        work = [(root, iter(list(follow.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            vertex, edges = work[-1]
            for target in edges:
                if target not in order:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(list(follow.get(target, ())))))
                    break
                if target in on_stack:
                    low[vertex] = min(low[vertex], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[vertex])
                if low[vertex] == index[vertex]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == vertex:
                            break
                    components.append(sorted(component, key=order.__getitem__))
    return components


def weak_components(vertices: Iterable[V], edges: Iterable[tuple[V, V]]) -> dict[V, V]:
    """For each vertex a representative, the same for all that edges connect, either way.

    >>> weak_components("abc", [("c", "a")])
    {'a': 'a', 'b': 'b', 'c': 'a'}
    """
    leader = {vertex: vertex for vertex in vertices}
    order = {vertex: at for at, vertex in enumerate(leader)}

    def find(vertex: V) -> V:
        while leader[vertex] != vertex:
            leader[vertex] = leader[leader[vertex]]
            vertex = leader[vertex]
        return vertex

    for left, right in edges:
        first, second = sorted((find(left), find(right)), key=order.__getitem__)
        leader[second] = first
    return {vertex: find(vertex) for vertex in leader}


def topological(vertices: Iterable[V], needs: Mapping[V, Iterable[V]]) -> list[V]:
    """The vertices such that each comes after those it needs; among equals, as given.

    There must be no cycle.
    """
    return [vertex for component in strong_components(vertices, needs) for vertex in component]
