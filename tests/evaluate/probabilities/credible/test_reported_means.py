"""Means as they were reported."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.probabilities.credible.reported_means import with_reported_means
from cernis.evaluate.stores import StoredRows


def rows(*each: tuple[int, int, int, float]) -> StoredRows:
    """One row for each entity, start, end and mean; all of one value."""
    entities, starts, ends, means = (list(column) for column in zip(*each, strict=True))
    columns = [np.array(starts), np.array(ends), np.zeros(len(each), np.int64), np.array(means)]
    return StoredRows([np.array(entities)], columns)


def test_small_moves_of_a_mean_are_not_taken_over() -> None:
    known = rows((1, 0, 9, 0.5), (2, 0, 9, 0.5), (3, 0, 9, 0.5))
    now = rows((1, 0, 9, 0.54), (2, 0, 9, 0.56), (3, 1, 9, 0.5001), (4, 0, 9, 0.5))
    assert with_reported_means(now, known, 0.05).columns[-1].tolist() == [0.5, 0.56, 0.5001, 0.5]
    assert with_reported_means(now, known, 0).columns[-1].tolist() == [0.54, 0.56, 0.5001, 0.5]
    assert with_reported_means(now, None, 0.05) is now
