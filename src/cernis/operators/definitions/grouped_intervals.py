"""Intervals of instances as lists by instance and value."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.kernels.order import placed, ranks, stable_order


def grouped(
    instances: Integers, values: Integers, starts: Integers, ends: Integers, size: int,
    is_sorted: bool = True,
) -> tuple[Integers, Integers, Integers, Integers, Integers]:  # fmt: skip
    """Intervals sorted by instance and start, as one list for each instance and value.

    If they are not sorted by instance, those of each one still come by start. Instances lie below
    `size`. Gives the instance and the value of each list, where lists begin and the last ends, and
    the starts and ends of all, list by list.
    """
    if len(values) and (not is_sorted or values.min() != values.max()):
        columns = instances, values, starts, ends
        instances, values, starts, ends = _by_value(columns, size)
    new = np.ones(len(instances), np.bool_)
    new[1:] = (instances[1:] != instances[:-1]) | (values[1:] != values[:-1])
    first = np.flatnonzero(new)
    offsets = np.append(first, len(instances)).astype(np.int64)
    return instances[first], values[first], offsets, starts, ends


def _by_value(
    columns: tuple[Integers, Integers, Integers, Integers], size: int
) -> tuple[Integers, ...]:
    """Intervals sorted by instance, of which there are so many, then by value; as they are else."""
    instances, values = columns[:2]
    width = int(values.max()) + 1
    if size * width <= 4 * len(instances) + 65_536:
        rank, _ = ranks(instances * width + values, size * width)
        return tuple(placed(column, rank) for column in columns)
    order = stable_order(instances * width + values, size * width)
    return tuple(column[order] for column in columns)
