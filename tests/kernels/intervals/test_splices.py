"""Lists of intervals said anew on some stretches, against their points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from cernis.kernels.intervals.splices import splice, splice_plain
from cernis.kernels.intervals.stretches import are_apart, unite, unite_plain
from cernis.tables.shelves import GroupedRows

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def _apart(rng: np.random.Generator, most: int) -> Columns:
    """Stretches of some groups, sorted by group and start, that do not touch."""
    rows = []
    for group in range(5):
        edges = np.unique(rng.integers(0, 40, 2 * int(rng.integers(0, most))))
        edges = edges[: len(edges) // 2 * 2].reshape(-1, 2)
        rows += [(group, int(low), int(high)) for low, high in edges]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return columns[0].copy(), columns[1].copy(), columns[2].copy()


@pytest.mark.parametrize("seed", range(200))
def test_spliced_is_said_point_by_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, starts, ends = _apart(rng, 6)
    lists = GroupedRows(3, True)
    lists.exchange(lists.everything(), groups, [starts, ends, np.full(len(groups), 7)])
    given = *_apart(rng, 4), *_apart(rng, 6), 7, lists.raw
    gone, come, dirt = splice(*given)
    left = set(zip(gone[1].tolist(), *lists.raw[0][:3, gone[0]].tolist(), strict=True))
    found = set(zip(*come.tolist(), strict=True))
    assert (left, found) == splice_plain(*given)
    assert len(found) == come.shape[1]
    assert len(left) == gone.shape[1]
    stained = {(g, t) for g, s, e in dirt.T.tolist() for t in range(s, e)}
    points = [{(g, t) for g, s, e, _ in rows for t in range(s, e)} for rows in (left, found)]
    assert points[0] ^ points[1] <= stained <= points[0] | points[1]
    assert all(a[0] < b[0] or a[2] < b[1] for a, b in zip(dirt.T, dirt.T[1:], strict=False))


def test_nothing_is_there() -> None:
    none = np.empty(0, np.int64)
    stretch = np.array([3]), np.array([5]), np.array([9])
    found = splice(*stretch, none, none, none, 1, GroupedRows(3, True).raw)
    assert [own.shape[1] for own in found] == [0, 0, 0]
    found = splice(
        *stretch, np.array([3]), np.array([0]), np.array([20]), 1, GroupedRows(3, True).raw
    )
    assert found[1].tolist() == [[3], [5], [9], [1]]


def test_a_stretch_without_end() -> None:
    lists = GroupedRows(3, True)
    forever = np.iinfo(np.int64).max
    lists.exchange(lists.everything(), np.zeros(1, np.int64),
                   [np.array([2]), np.array([forever]), np.array([1])])  # fmt: skip
    none = np.empty(0, np.int64)
    stretch = np.array([0]), np.array([5]), np.array([forever])
    _, come, dirt = splice(*stretch, none, none, none, 1, lists.raw)
    assert come.tolist() == [[0], [2], [5], [1]]
    assert dirt.tolist() == [[0], [5], [forever]]


@pytest.mark.parametrize("seed", range(60))
def test_united_is_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = _apart(rng, 6), _apart(rng, 6)
    found = unite(*one, *two)
    assert [own.tolist() for own in found] == [own.tolist() for own in unite_plain(*one, *two)]
    assert are_apart(*found)
    both = [np.concatenate(pair) for pair in zip(one, two, strict=True)]
    rows = list(zip(*(column.tolist() for column in both), strict=True))
    apart = rows == sorted(rows) and all(a[0] < b[0] or a[2] < b[1] for a, b in pairwise(rows))
    assert are_apart(*both) == apart
