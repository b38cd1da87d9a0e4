"""A million elements, against numpy."""

import numpy as np
import pytest

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia.marked_rows import hold_rows, stretches
from cernis.kernels.inertia.plain_inertia import INFINITY, hold, hold_each
from cernis.kernels.intervals.list_operations import Lists, cover, maximal, subtract
from cernis.kernels.intervals.stab import stab
from cernis.kernels.merge import merge, merge_plain
from cernis.kernels.order import in_order, ranks, ranks_plain

SIZE = 1_000_000
FAR = 2**62 - 10**9


def lists(rng: np.random.Generator, size: int, number: int) -> Lists:
    """Intervals of so many lists, far out."""
    owners = np.sort(rng.integers(0, number, size))
    offsets = np.searchsorted(owners, np.arange(number + 1))
    edges = FAR + np.cumsum(rng.integers(1, 100, 2 * size))
    return offsets.astype(np.int64), edges[0::2].copy(), edges[1::2].copy()


def owners(offsets: Integers) -> Integers:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("number", [1, 5000, 400_000])
def test_stab(rng: np.random.Generator, number: int) -> None:
    offsets, starts, ends = lists(rng, SIZE // 2, number)
    points = np.sort(rng.integers(starts[0] - 5, ends[-1] + 5, SIZE // 2))
    at = np.searchsorted(ends, points, "right")
    groups = owners(offsets)[np.minimum(at, len(ends) - 1)]
    expected = starts[np.minimum(at, len(ends) - 1)] <= points
    expected &= at < len(ends)
    assert np.array_equal(stab(groups, points, offsets, starts, ends), expected)


@pytest.mark.parametrize("number", [1, 5000, 400_000])
def test_sweeps_add_up(rng: np.random.Generator, number: int) -> None:
    first, second = lists(rng, SIZE // 2, number), lists(rng, SIZE // 2, number)
    groups = np.arange(2 * number).reshape(2, number)
    both = (
        np.concatenate([first[0], second[0][1:] + first[0][-1]]),
        np.concatenate([first[1], second[1]]),
        np.concatenate([first[2], second[2]]),
    )
    union, shared = cover(groups, *both, 1), cover(groups, *both, 2)
    left, right = subtract(*first, *second), subtract(*second, *first)

    def measure(found: Lists) -> int:
        return int((found[2] - found[1]).sum())

    assert measure(union) == measure(left) + measure(right) + measure(shared)
    assert measure(first) == measure(left) + measure(shared)
    of = np.concatenate([owners(first[0]), owners(second[0])])
    order = np.lexsort((both[1], of))
    expected = maximal(of[order], both[1][order], both[2][order])
    assert np.array_equal(owners(union[0]), expected[0])
    assert np.array_equal(union[1], expected[1])
    assert np.array_equal(union[2], expected[2])


def test_hold(rng: np.random.Generator) -> None:
    """One action a point, of one value: it holds from an initiation to a termination."""
    instances = np.sort(rng.integers(0, 5000, SIZE))
    times = FAR + np.arange(SIZE)
    actions = rng.integers(0, 2, SIZE)
    none = np.empty(0, np.int64)
    new = np.append(True, instances[1:] != instances[:-1])
    before = np.append(0, actions[:-1]) * ~new
    begins = np.flatnonzero((actions == 1) & (before == 0))
    last = np.append(new[1:], True)
    ends = np.flatnonzero(((actions == 0) & (before == 1)) | ((actions == 1) & last))
    expected = np.where(actions[ends] == 0, times[ends] + 1, INFINITY)
    marks = (1 << (1 - actions)).astype(np.uint8)
    for found in (
        hold(instances, times, actions, none, none, none, 1),
        hold_each(instances, times, actions, none, none, none, 1),
        hold_rows(
            stretches(instances, times),
            times,
            marks,
            np.array([1, 0]),
            none,
            none,
            none,
            none,
            none,
            none,
            1,
        ),
    ):
        assert np.array_equal(found[0], instances[begins])
        assert np.array_equal(found[2], times[begins] + 1)
        assert np.array_equal(found[3], expected)
        assert not found[4]


def test_merge_and_order(rng: np.random.Generator) -> None:
    groups, times = np.sort(rng.integers(0, 5000, SIZE)), rng.integers(0, 10**6, SIZE)
    order = np.lexsort((times, groups))
    groups, times, actions = groups[order], times[order], rng.integers(-2, 9, SIZE)
    first = rng.random(SIZE) < 0.3
    parts = [column[own].copy() for own in (first, ~first) for column in (groups, times, actions)]
    found = merge(*parts)
    assert all(map(np.array_equal, found, merge_plain(*parts)))
    assert in_order(found[0], found[1])
    codes = rng.integers(0, 5000, SIZE)
    assert all(map(np.array_equal, ranks(codes, 5000), ranks_plain(codes, 5000)))
