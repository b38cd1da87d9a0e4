"""Rows of output by their codes."""

import numpy as np

from cernis.kernels.sweep.lane_edges import by_code, plain_by_code


def test_rows_of_a_code_stay_in_order() -> None:
    r = np.random.default_rng(3)
    output = np.column_stack([r.integers(0, 256, 500), r.integers(0, 9, (500, 3))])
    for count in (0, 1, 500):
        stops, columns = by_code(output, count)
        plain_stops, plain_columns = plain_by_code(output, count)
        assert stops.tolist() == plain_stops.tolist()
        for column, plain in zip(columns, plain_columns, strict=True):
            assert column.tolist() == plain.tolist()
