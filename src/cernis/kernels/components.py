"""Connected components: which elements are linked, directly or by way of others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cernis.kernels.array_types import Booleans, Integers, Place
from cernis.kernels.compile import kernel, part


@part
def _root(element: int, parents: Integers) -> int:
    """The element that stands for a component; paths get shorter on the way."""
    while parents[Place(element)] != element:
        parents[Place(element)] = parents[Place(parents[Place(element)])]
        element = parents[Place(element)]
    return element


@kernel("integers integers writable-integers", "nothing")
def _link(lefts: Integers, rights: Integers, parents: Integers) -> None:
    """Link elements pair by pair; the smaller stands for both. One below 0 is none."""
    for row in range(Place(len(lefts))):
        if lefts[row] == rights[row] or rights[row] < 0 or lefts[row] < 0:
            continue
        left, right = _root(lefts[row], parents), _root(rights[row], parents)
        if left < right:
            parents[Place(right)] = left
        else:
            parents[Place(left)] = right


@kernel("writable-integers", "integer")
def _label(parents: Integers) -> int:
    """Number components in the order of their first elements; gives how many there are.

    The parent of an element is never above it, so that its number is known by then.
    """
    count = 0
    for element in range(Place(len(parents))):
        if parents[element] == np.int64(element):
            parents[element] = count
            count += 1
        else:
            parents[element] = parents[Place(parents[element])]
    return count


def components(count: int, links: Iterable[tuple[Integers, Integers]]) -> tuple[Integers, int]:
    """The component of each of `count` elements, and how many components there are.

    Elements are numbered from 0 on, components in the order of their first elements. Each link is
    a pair of arrays of the same length; a pair with an element below 0 links nothing.
    """
    parents = np.arange(count)
    for lefts, rights in links:
        _link(np.ascontiguousarray(lefts), np.ascontiguousarray(rights), parents)
    return parents, int(_label(parents))


def components_plain(
    count: int, links: Iterable[tuple[Integers, Integers]]
) -> tuple[Integers, int]:
    """The twin of `components`: labels are passed on until nothing changes."""
    pairs = [pair for arrays in links for pair in zip(*map(np.ndarray.tolist, arrays), strict=True)]
    labels, before = list(range(count)), None
    while labels != before:
        before = list(labels)
        for left, right in pairs:
            if left >= 0 and right >= 0:
                labels[left] = labels[right] = min(labels[left], labels[right])
    numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
    return np.array([numbers[label] for label in labels], np.int64), len(numbers)


@kernel("writable-integers", "nothing")
def _shorten(parents: Integers) -> None:
    """Let the parent of each element be the one that stands for its component."""
    for element in range(Place(len(parents))):
        parents[element] = parents[Place(parents[element])]


class GrowingComponents:
    """Connected components of elements, to which elements and links are added."""

    def __init__(self) -> None:
        self._parents = np.empty(0, np.int64)

    def link(self, count: int, links: Iterable[tuple[Integers, Integers]]) -> None:
        """Let there be so many elements, with further links; see `components`."""
        known = len(self._parents)
        self._parents = np.concatenate([self._parents, np.arange(known, count)])
        for lefts, rights in links:
            _link(np.ascontiguousarray(lefts), np.ascontiguousarray(rights), self._parents)

    def linked_to(self, elements: Integers) -> Booleans:
        """For each element: is it in the component of one of these?"""
        _shorten(self._parents)
        chosen = np.zeros(len(self._parents), np.bool_)
        chosen[self._parents[elements]] = True
        is_linked: Booleans = chosen[self._parents]
        return is_linked
