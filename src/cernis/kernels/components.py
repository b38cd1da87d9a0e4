"""Connected components: which nodes are linked by pairs, one after the other."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.kernels.compile import kernel, part


@part
def _root(parents: Integers, node: int) -> int:
    """The node that stands for a component. The way to it is halved as it is walked."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@kernel("integers integers integer", "integers")
def components(lefts: Integers, rights: Integers, count: int) -> Integers:
    """The least node of each node's component. Nodes are numbered from 0 up to `count`.

    Of two components the one with the lesser root takes the other in, so roots only fall, and the
    root of a component is its least node. A parent is never above its child: one pass flattens.
    """
    parents = np.arange(count)
    for at in range(len(lefts)):
        left, right = _root(parents, lefts[at]), _root(parents, rights[at])
        if left < right:
            parents[right] = left
        else:
            parents[left] = right
    for node in range(count):
        parents[node] = parents[parents[node]]
    return parents


def components_plain(lefts: Integers, rights: Integers, count: int) -> Integers:
    """The twin of `components`: the least label spreads until nothing changes."""
    labels = np.arange(count)
    while True:
        before = labels.copy()
        least = np.minimum(labels[lefts], labels[rights])
        np.minimum.at(labels, lefts, least)
        np.minimum.at(labels, rights, least)
        if np.array_equal(labels, before):
            return labels
