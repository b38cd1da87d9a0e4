"""Connected components: which elements hang together by links."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import kernel, part


@part
def _root(element: int, parents: Integers) -> int:
    """The element that stands for a component; paths get shorter on the way."""
    while parents[Place(element)] != element:
        parents[Place(element)] = parents[Place(parents[Place(element)])]
        element = parents[Place(element)]
    return element


@kernel("integers integers writable-integers", "nothing")
def _link(one: Integers, other: Integers, parents: Integers) -> None:
    """Link elements pair by pair; the smaller stands for both. One below 0 is none."""
    for row in range(Place(len(one))):
        if one[row] == other[row] or other[row] < 0 or one[row] < 0:
            continue
        first, second = _root(one[row], parents), _root(other[row], parents)
        if first < second:
            parents[Place(second)] = first
        else:
            parents[Place(first)] = second


@kernel("writable-integers", "integer")
def _label(parents: Integers) -> int:
    """Number components in the order of their first elements; gives how many there are.

    An element stands before all that it stands for, so its number is known when theirs is asked.
    """
    count = 0
    for element in range(Place(len(parents))):
        if parents[element] == np.int64(element):
            parents[element] = count
            count += 1
        else:
            parents[element] = parents[Place(parents[element])]
    return count


def linked(count: int, links: Iterable[tuple[Integers, Integers]]) -> tuple[Integers, int]:
    """The component of each of `count` elements, and how many components there are.

    Components are numbered in the order of their first elements. A link with an element below 0
    links nothing.
    """
    parents = np.arange(count)
    for one, other in links:
        _link(np.ascontiguousarray(one), np.ascontiguousarray(other), parents)
    return parents, int(_label(parents))


def linked_plain(count: int, links: Iterable[tuple[Integers, Integers]]) -> tuple[Integers, int]:
    """The twin of `linked`: labels are passed on until nothing changes."""
    pairs = [(a, b) for own in links for a, b in zip(*map(np.ndarray.tolist, own), strict=True)]
    labels, before = list(range(count)), None
    while labels != before:
        before = list(labels)
        for one, other in pairs:
            if one >= 0 and other >= 0:
                labels[one] = labels[other] = min(labels[one], labels[other])
    numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
    return np.array([numbers[label] for label in labels], np.int64), len(numbers)
