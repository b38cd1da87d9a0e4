"""Rows are paired with open intervals, and those that have ended are dropped."""

import numpy as np
import pytest

from cernis.kernels.intervals.open_intervals import pair_with_open


@pytest.mark.parametrize("writing", [False, True])
def test_intervals_that_have_ended_are_dropped(writing: bool) -> None:
    ends = np.array([4, 9, 5, 7])
    open_places = np.array([0, 1, 2, 3])
    rows, places = np.zeros(9, np.int64), np.zeros(9, np.int64)
    # An interval that ends at the point does not hold there.
    kept, count = pair_with_open(6, 5, ends, open_places, 4, 2, writing, rows, places)
    assert (kept, count) == (2, 4)
    assert open_places[:kept].tolist() == [1, 3]
    assert rows[2:4].tolist() == ([6, 6] if writing else [0, 0])
    assert places[2:4].tolist() == ([1, 3] if writing else [0, 0])


def test_without_open_intervals_there_are_no_pairs() -> None:
    none = np.empty(0, np.int64)
    assert pair_with_open(0, 5, none, none, 0, 3, True, none, none) == (0, 3)
