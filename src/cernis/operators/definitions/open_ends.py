"""Terminations of heads that leave arguments open: those that can end something."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers


def first_ends(
    groups: Integers, begun_groups: Integers, times: Integers, begun_times: Integers
) -> tuple[Integers, Integers]:
    """Initiations, each with the termination of its group at its point and the first after it.

    Both come as rows, in any order, and a pair may come twice.
    """
    count, groups = len(times), np.concatenate([groups, begun_groups])
    times = np.concatenate([times, begun_times])
    at_or_after = _next_rows(groups, times, count, also_at=True)
    after = _next_rows(groups, times, count, also_at=False)
    begun, ended = (np.concatenate(both) for both in zip(at_or_after, after, strict=True))
    return begun, ended


def _next_rows(
    groups: Integers, times: Integers, count: int, also_at: bool
) -> tuple[Integers, Integers]:
    """The points after the first `count` rows, each with the next row of its group.

    Next is the first one later than the point, or, if `also_at`, not earlier. Points without such
    a row are left out.
    """
    is_point = np.arange(len(groups)) >= count
    order = np.lexsort((is_point != also_at, times, groups))
    is_row = order < count
    rows = order[is_row]
    places = np.flatnonzero(~is_row)
    # How many rows come before a point is the place of the next one among rows.
    before = np.cumsum(is_row)[places]
    has_next = before < len(rows)
    points, following = order[places[has_next]], rows[before[has_next]]
    same = groups[points] == groups[following]
    return points[same] - count, following[same]
