"""Input for kernels, drawn at random: sorted lists of intervals, and sorted rows.

Times lie together, so that many are equal, around a base that may be far out.
"""

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia.plain_inertia import INFINITY
from cernis.kernels.intervals.list_operations import Lists, pack

Pairs: TypeAlias = list[tuple[int, int]]

BASES = (0, -25, 2**62 - 200, -(2**62))


def integers(values: list[int]) -> Integers:
    return np.array(values, np.int64)


def bases() -> st.SearchStrategy[int]:
    return st.sampled_from(BASES)


@st.composite
def sized(draw: st.DrawFn, element: st.SearchStrategy[Any], most: int) -> list[Any]:
    """A list of any length up to the most; left to itself hypothesis prefers short ones."""
    size = draw(st.integers(0, most))
    return draw(st.lists(element, min_size=size, max_size=size))


@st.composite
def intervals(draw: st.DrawFn, base: int, most: int = 12) -> Pairs:
    """Sorted, disjoint, not adjacent; the last one open at times."""
    steps = draw(sized(st.integers(1, 4), 2 * most))
    edges = (base + np.cumsum([0, *steps])).tolist()
    pairs = list(zip(edges[0:-1:2], edges[1::2], strict=False))
    is_open: bool = draw(st.booleans())
    if pairs and is_open:
        pairs[-1] = (pairs[-1][0], INFINITY)
    return pairs


@st.composite
def collections(draw: st.DrawFn, base: int, least: int = 0, most: int = 12) -> Lists:
    """Some lists behind one another."""
    return pack(draw(st.lists(intervals(base, most), min_size=least, max_size=6)))


def groups(size: int, lists: int, least: int = -1) -> st.SearchStrategy[Integers]:
    """So many names of lists; -1 is none."""
    one = st.integers(least, lists - 1)
    return st.lists(one, min_size=size, max_size=size).map(integers)


@st.composite
def rows(
    draw: st.DrawFn, base: int, action: st.SearchStrategy[int], most: int = 40, instances: int = 4
) -> tuple[Integers, Integers, Integers]:
    """Rows of instance, time and action, sorted by the first two."""
    row = st.tuples(st.integers(0, instances - 1), st.integers(0, 12), action)
    found = sorted(draw(sized(row, most)), key=lambda own: own[:2])
    columns = integers([number for own in found for number in own]).reshape(-1, 3).T
    return columns[0].copy(), columns[1] + base, columns[2].copy()


def actions(values: int) -> st.SearchStrategy[int]:
    """Initiations and terminations of some values, or a termination of whatever value."""
    return st.integers(0, 2 * values - 1) | st.just(-2)


@st.composite
def carried(
    draw: st.DrawFn, base: int, values: int, one_each: bool
) -> tuple[Integers, Integers, Integers]:
    """What holds already: sorted by instance, values distinct; started before the base."""
    one = st.tuples(st.integers(-1, 5), st.integers(0, values - 1))
    unique = (lambda own: own[0]) if one_each else (lambda own: own)
    found = sorted(draw(st.lists(one, max_size=4, unique_by=unique)))
    starts = draw(st.lists(st.integers(1, 9), min_size=len(found), max_size=len(found)))
    return (
        integers([own[0] for own in found]),
        integers([own[1] for own in found]),
        base - integers(starts),
    )


def unpacked(lists: Lists) -> list[Pairs]:
    """Offsets, starts and ends as lists of pairs."""
    offsets, starts, ends = (column.tolist() for column in lists)
    pairs = list(zip(starts, ends, strict=True))
    return [pairs[low:high] for low, high in pairwise(offsets)]


def is_maximal(pairs: Pairs) -> bool:
    """Are they intervals, sorted, disjoint and not adjacent?"""
    edges = [edge for pair in pairs for edge in pair]
    return all(low < high for low, high in pairwise(edges))
