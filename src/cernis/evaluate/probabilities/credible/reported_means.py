"""The means of intervals as reported: a mean that has moved little is not reported again."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.columns.differences import hashed
from cernis.evaluate.stores import StoredRows
from cernis.kernels.array_types import Array
from cernis.kernels.hashing import RowTable


def with_reported_means(
    rows: StoredRows, reported: StoredRows | None, mean_change: float
) -> StoredRows:
    """The rows, with the means reported before of equal intervals that differ by no more.

    The mean is the last column. So an open interval whose mean moves a little at each query is
    reported again only when its mean has moved by more than `mean_change` since the last report.
    """
    if reported is None or not len(reported) or not len(rows) or mean_change <= 0:
        return rows
    *intervals, means = _columns(rows)
    *known, known_means = _columns(reported)
    places = RowTable(hashed(known)).find(hashed(intervals))
    matched = np.flatnonzero(places >= 0)
    places = places[matched]
    is_same = np.abs(means[matched] - known_means[places]) <= mean_change
    for column, other in zip(intervals, known, strict=True):
        is_same &= column[matched] == other[places]
    kept = means.copy()
    kept[matched[is_same]] = known_means[places[is_same]]
    return StoredRows(rows.arguments, [*rows.columns[:-1], kept])


def _columns(rows: StoredRows) -> list[Array]:
    return [np.ascontiguousarray(column) for column in (*rows.arguments, *rows.columns)]
