"""Stretches of time on which something has changed, against their points."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.tables.interval_tables import INFINITY

Points = set[tuple[int, int]]


def drawn(random: Random) -> tuple[Dirt, Points]:
    """Stretches in any order, overlapping or not, and the points in them."""
    some = [(random.randrange(3), random.randrange(20)) for _ in range(random.randrange(7))]
    rows = [(group, start, start + random.randint(1, 6)) for group, start in some]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    points = {(group, t) for group, start, end in rows for t in range(start, end)}
    return Dirt.of(*columns), points


def points_of(dirt: Dirt) -> Points:
    """The points, and that stretches are sorted, apart, and do not touch."""
    rows = list(zip(dirt.groups.tolist(), dirt.starts.tolist(), dirt.ends.tolist(), strict=True))
    for (group, _, end), (other, start, _) in pairwise(rows):
        assert (group, end) < (other, start)
    return {(group, t) for group, start, end in rows for t in range(start, end)}


@pytest.mark.parametrize("seed", range(30))
def test_stretches_are_their_points(seed: int) -> None:
    random = Random(seed)
    one, points = drawn(random)
    assert points_of(one) == points
    assert bool(one) == bool(points)
    assert one.keys().tolist() == sorted({group for group, _ in points})
    longer = {(group, t + more) for group, t in points for more in range(4)}
    assert points_of(one.longer(3)) == longer
    parts = [drawn(random) for _ in range(3)]
    every = set[tuple[int, int]]().union(points, *(more for _, more in parts))
    assert points_of(joined([one, *(dirt for dirt, _ in parts), one])) == every


def test_everything_swallows_the_rest() -> None:
    some = Dirt.of(*(np.array([value]) for value in (1, 2, 3)))
    assert joined([some, Dirt.all()]).everything
    assert Dirt.all()
    assert not Dirt.nothing()
    assert not joined([])


def test_whole_groups_have_no_end_and_cannot_grow_over_it() -> None:
    whole = Dirt.whole(np.array([4, 2, 4]), 10)
    assert whole.keys().tolist() == [2, 4]
    assert whole.longer(5).ends.tolist() == [INFINITY, INFINITY]
