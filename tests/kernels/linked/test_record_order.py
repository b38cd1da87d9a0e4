"""Records in the order of time: as the twin has them, whether times are near or far apart."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels.linked.record_order import by_time, by_time_plain


@pytest.mark.parametrize("span", [1, 30, 10**12])
@pytest.mark.parametrize("count", [1, 2, 500, 50_000])
def test_rows_of_one_time_stay_in_their_order(span: int, count: int) -> None:
    random = np.random.default_rng(count)
    times = random.integers(-span, span + 1, count)
    rows = (times, np.arange(count), np.arange(count).astype(np.uint64))
    expected = by_time_plain(*rows)
    for column, wanted in zip(by_time(*rows), expected, strict=True):
        assert column.tolist() == wanted.tolist()
