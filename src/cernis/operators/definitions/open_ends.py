"""Terminations of heads that leave arguments open: those that can end something."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.kernels.order import order_by

_MOST = 1 << 62
"""Groups and times are one number as long as it lies below this one."""


def first_ends(
    groups: Integers, begun_groups: Integers, times: Integers, begun_times: Integers
) -> tuple[Integers, Integers]:
    """Initiations, each with the termination of its group at its point and the first after it.

    Both come as rows, in any order. Of several terminations at one point one is given. Groups are
    numbers from 0 on.
    """
    if not len(times) or not len(begun_times):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    times, begun_times = _comparable(times, begun_times)
    order = order_by(groups, times)
    span = int(times.max()) + 2
    if (int(max(groups.max(), begun_groups.max())) + 1) * span >= _MOST:
        times, begun_times = _ranked(times, begun_times)
        span = int(times.max()) + 2
    ends, begun = groups[order] * span + times[order], begun_groups * span + begun_times
    at_or_after = np.searchsorted(ends, begun, side="left")
    after = np.searchsorted(ends, begun, side="right")
    tied, later = np.flatnonzero(at_or_after < after), np.flatnonzero(after < len(ends))
    later = later[groups[order[after[later]]] == begun_groups[later]]
    rows = np.concatenate([at_or_after[tied], after[later]])
    return np.concatenate([tied, later]), order[rows]


def _comparable(times: Integers, begun_times: Integers) -> tuple[Integers, Integers]:
    """Times from 1 on. An initiation before or after all terminations comes next to them."""
    low, high = int(times.min()), int(times.max())
    return times - low + 1, np.clip(begun_times, low - 1, high + 1) - low + 1


def _ranked(times: Integers, begun_times: Integers) -> tuple[Integers, Integers]:
    """Small numbers that compare as times of terminations and initiations do."""
    distinct = np.unique(times)
    places = np.searchsorted(distinct, begun_times)
    is_known = distinct[np.minimum(places, len(distinct) - 1)] == begun_times
    return 2 * np.searchsorted(distinct, times) + 1, 2 * places + is_known
