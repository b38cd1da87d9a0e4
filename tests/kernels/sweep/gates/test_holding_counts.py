"""Bits that chained keys hold right before points, by the intervals that the lane lists."""

import numpy as np
import pytest

from cernis.kernels.sweep.gates.holding_counts import POINTS
from cernis.kernels.sweep.lane_arrays import KeyLog, LaneMachine
from tests.evaluate.sweep.test_lane_state import OFF, ON, change, lane


@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_intervals(seed: int) -> None:
    random = np.random.default_rng(seed)
    keys, state = 12, lane(12, delay=9)
    for _ in range(40):
        record = (int(random.integers(keys)), int(random.integers(1, 60)))
        change(state, (*record, ON if random.random() < 0.7 else OFF))
    if seed % 2:
        state._widen()
    state.update(0, 30)
    state.update(10, 70)
    held = np.column_stack(state.intervals()[1:])
    group_of = random.integers(0, 3, keys)
    heads, nexts = np.full(3, -1), np.full(keys, -1)
    for key, group in enumerate(group_of.tolist()):
        nexts[key], heads[group] = heads[group], key
    groups, times = random.integers(0, 3, 50), random.integers(12, 71, 50)
    masks = np.array([1, 0], np.uint64)
    counts = state.holding_counts(groups, times, (heads, nexts), masks)
    expected = [
        sum(start <= time < end and group_of[key] == group for key, start, end in held.tolist())
        for group, time in zip(groups.tolist(), times.tolist(), strict=True)
    ]
    assert counts[:, 0].tolist() == expected, f"seed {seed}"
    assert not counts[:, 1].any()


def test_only_points_count_as_rows() -> None:
    assert (len(LaneMachine._fields) + len(KeyLog._fields) + 1,) == POINTS
