"""The parts that kernels share which go through actions point by point."""

import numpy as np

from cernis.kernels.array_types import Place
from cernis.kernels.inertia.points import emit, is_shared
from cernis.kernels.inertia.structures import IntervalColumns


def test_a_point_is_shared_with_the_next_action_of_the_same_instance_and_time() -> None:
    instances, times = np.array([1, 1, 2, 2]), np.array([5, 5, 5, 6])
    shared = [bool(is_shared(Place(row), instances, times)) for row in range(4)]
    assert shared == [True, False, False, False]


def test_an_interval_is_written_with_the_value_of_the_action() -> None:
    columns = IntervalColumns(*(np.zeros(2, np.int64) for _ in range(4)))
    emit(columns, Place(1), 7, 3 << 1 | 1, 10, 20)
    assert [column.tolist() for column in columns] == [[0, 7], [0, 3], [0, 10], [0, 20]]
