"""Intervals of instances as lists by instance and value."""

from __future__ import annotations

from itertools import groupby
from random import Random

import numpy as np
import pytest

from cernis.operators.definitions.grouped_intervals import grouped


@pytest.mark.parametrize("size", [4, 1_000_000], ids=["few instances", "many instances"])
@pytest.mark.parametrize("seed", range(12))
def test_lists_are_those_of_each_instance_and_value(seed: int, size: int) -> None:
    random = Random(seed)
    rows = sorted(
        (random.randrange(4), start, start + 1, random.randrange(3))
        for start in random.sample(range(100), random.randint(0, 20))
    )
    if seed % 2:
        # By start alone: instances come in any order.
        rows.sort(key=lambda row: row[1])
    instances, starts, ends, values = np.array(rows, np.int64).reshape(-1, 4).T.copy()
    found = grouped(instances, values, starts, ends, size, is_sorted=not seed % 2)
    owners, of_values, offsets, list_starts, list_ends = (column.tolist() for column in found)
    lists = {
        (owner, value): list(zip(list_starts[low:high], list_ends[low:high], strict=True))
        for owner, value, low, high in zip(owners, of_values, offsets, offsets[1:], strict=False)
    }
    by_list = sorted(rows, key=lambda row: (row[0], row[3], row[1]))
    assert lists == {
        key: [(row[1], row[2]) for row in part]
        for key, part in groupby(by_list, key=lambda row: (row[0], row[3]))
    }
    assert list(lists) == sorted(lists)
