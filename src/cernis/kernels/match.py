"""Which occurrences stand in a relation: window joins, as-of joins, and what lies in a gap.

Occurrences are closed intervals. Each of the *triggers* `[c, d]` is compared with the *others*
`[a, b]` of its group. Others lie group by group, `offsets[g]:offsets[g+1]` being those of group g,
by their end and then their start. Triggers may come in any order; where those of a group follow one
another by their end, places are walked along and not searched.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels import bounds
from cernis.kernels.array_types import Integers
from cernis.kernels.compile import FEW_ROWS, kernel, part

BEFORE = 0
"""The other ends before the trigger starts: b < c."""
INSIDE = 1
"""The other lies strictly inside of the trigger: c < a, b < d."""
ENDS_BEFORE = 2
"""b < d."""
STARTS_BEFORE = 3
"""a < c; the others of a group end together."""
ANY = 4
"""Whatever is in the group."""
BOTH = 5
"""Whatever is in the group, and either may come first."""
OVERLAP = 6
"""They share more than a point: max(a, c) < min(b, d), and either may come first."""

UNLIMITED = -1
"""The limit of what may be of any length."""

FAR = 1 << 62
"""After all times."""
_WALK = 16


@part
def fits(relation: int, limit: int, a: int, b: int, c: int, d: int) -> bool:
    """Does the other stand in the relation to the trigger, and are they near enough together?"""
    first, last = min(a, c), max(b, d)
    if limit >= 0 and last - first > limit:
        return False
    if relation == BEFORE:
        return b < c
    if relation == INSIDE:
        return c < a and b < d
    if relation == ENDS_BEFORE:
        return b < d
    if relation == STARTS_BEFORE:
        return a < c
    if relation == OVERLAP:
        return max(a, c) < min(b, d)
    return True


@part
def _seek(values: Integers, near: int, begin: int, stop: int, wanted: int) -> int:
    """The first place of a stretch whose value is not below the wanted one, begun nearby."""
    low, high = near, stop
    if near > begin and values[near - 1] >= wanted:
        low, high = begin, near
    else:
        steps = 0
        while low < high and values[low] < wanted and steps < _WALK:
            low += 1
            steps += 1
        if low < high and values[low] >= wanted:
            return low
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _reach(relation: int, limit: int, least: int, c: int, d: int) -> tuple[int, int]:
    """Between which ends the others that may fit lie, both included."""
    low, high = -FAR, FAR
    if limit >= 0:
        low, high = d - limit, c + limit
    if relation == BEFORE:
        high = c - 1
    elif relation == INSIDE:
        low, high = max(low, c + 1), d - 1
    elif relation == ENDS_BEFORE:
        high = d - 1
    elif relation == OVERLAP:
        low = max(low, c + 1)
    return max(low, least), high


@kernel(
    "integer integer integer integers integers integers integers integers integers integers "
    "writable-integers writable-integers",
    "integer",
    rows=FEW_ROWS,
)
def _count(
    most: int, relation: int, limit: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
    lows: Integers, counts: Integers,
) -> int:  # fmt: skip
    group, begin, stop, near, total = -1, 0, 0, 0, 0
    for row in range(len(groups)):
        if groups[row] != group:
            group = groups[row]
            begin, stop = offsets[group], offsets[group + 1]
            near = begin
        bound = least[row] if len(least) else -FAR
        low, high = _reach(relation, limit, bound, starts[row], ends[row])
        near = _seek(other_ends, near, begin, stop, low)
        lows[row] = near
        place, count = near, 0
        while place < stop and other_ends[place] <= high:
            count += fits(relation, limit, other_starts[place], other_ends[place],
                          starts[row], ends[row])  # fmt: skip
            place += 1
        counts[row] = count
        total += count
        if total > most:
            break
    return total


@kernel(
    "integer integer integers integers integers integers integers integers "
    "writable-integers writable-integers",
    "nothing",
    rows=FEW_ROWS,
)
def _fill(
    relation: int, limit: int, starts: Integers, ends: Integers, lows: Integers,
    counts: Integers, other_starts: Integers, other_ends: Integers, others: Integers,
    triggers: Integers,
) -> None:  # fmt: skip
    written = 0
    for row in range(len(starts)):
        place, left = lows[row], counts[row]
        while left > 0:
            if fits(relation, limit, other_starts[place], other_ends[place],
                    starts[row], ends[row]):  # fmt: skip
                others[written] = place
                triggers[written] = row
                written += 1
                left -= 1
            place += 1


def pairs(
    relation: int, limit: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
) -> tuple[Integers, Integers]:  # fmt: skip
    """All pairs that fit: places of others and of triggers, in the order of triggers.

    `limit` is the greatest length of a pair together, or UNLIMITED. `least`, where it is given,
    is for each trigger the least end that an other may have.
    """
    lows, counts = np.empty(len(groups), np.int64), np.empty(len(groups), np.int64)
    total = _count(
        bounds.MOST_PAIRS, relation, limit, groups, starts, ends, least, offsets, other_starts,
        other_ends, lows, counts,
    )  # fmt: skip
    bounds.bounded(total)
    others, triggers = np.empty(total, np.int64), np.empty(total, np.int64)
    _fill(relation, limit, starts, ends, lows, counts, other_starts, other_ends, others, triggers)
    return others, triggers


def pairs_plain(
    relation: int, limit: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
) -> tuple[Integers, Integers]:  # fmt: skip
    """The twin of `pairs`: every other of the group, one trigger after the other."""
    fitting = []
    for row, group in enumerate(groups.tolist()):
        for place in range(offsets[group], offsets[group + 1]):
            a, b = other_starts[place], other_ends[place]
            enough = not len(least) or b >= least[row]
            if enough and fits_plain(relation, limit, a, b, starts[row], ends[row]):
                fitting.append((place, row))
    both = np.array(fitting, np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def fits_plain(relation: int, limit: int, a: int, b: int, c: int, d: int) -> bool:
    """The twin of `fits`."""
    near = limit < 0 or max(b, d) - min(a, c) <= limit
    holds = {
        BEFORE: b < c, INSIDE: c < a and b < d, ENDS_BEFORE: b < d, STARTS_BEFORE: a < c,
        ANY: True, BOTH: True, OVERLAP: max(a, c) < min(b, d),
    }  # fmt: skip
    return bool(near and holds[relation])


# -- the most recent one ---------------------------------------------------------------------


@part
def _stop_before(
    relation: int, strict: int, near: int, begin: int, stop: int, c: int, d: int,
    other_starts: Integers, other_ends: Integers,
) -> int:  # fmt: skip
    """The place after the last other that comes before the trigger and may fit."""
    if relation == ANY:
        return stop
    if relation == STARTS_BEFORE:
        return _seek(other_starts, near, begin, stop, c)
    place = _seek(other_ends, near, begin, stop, c if relation == BEFORE else d)
    if relation >= BOTH:
        while place < stop and other_ends[place] == d and other_starts[place] + strict <= c:
            place += 1
    return place


@kernel(
    "integer integers integers integers integers integers integers integers writable-integers",
    "nothing",
    rows=FEW_ROWS,
)
def _latest_before(
    limit: int, groups: Integers, starts: Integers, ends: Integers, least: Integers,
    offsets: Integers, other_starts: Integers, other_ends: Integers, partners: Integers,
) -> None:  # fmt: skip
    """As `_latest` for BEFORE, which is what most patterns are made of."""
    group, begin, stop, near = -1, 0, 0, 0
    for row in range(len(groups)):
        if groups[row] != group:
            group = groups[row]
            begin, stop = offsets[group], offsets[group + 1]
            near = begin
        c = starts[row]
        if near > begin and other_ends[near - 1] >= c:
            near = _seek(other_ends, near, begin, stop, c)
        while near < stop and other_ends[near] < c:
            near += 1
        low = ends[row] - limit if limit >= 0 else -FAR
        floor = max(low, least[row]) if len(least) else low
        place = near - 1
        while place >= begin and other_ends[place] >= floor and other_starts[place] < low:
            place -= 1
        partners[row] = place if place >= begin and other_ends[place] >= floor else -1


@kernel(
    "integer integer integer integers integers integers integers integers integers integers "
    "writable-integers",
    "nothing",
    rows=FEW_ROWS,
)
def _latest(
    relation: int, limit: int, strict: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
    partners: Integers,
) -> None:  # fmt: skip
    group, begin, stop, near = -1, 0, 0, 0
    for row in range(len(groups)):
        if groups[row] != group:
            group = groups[row]
            begin, stop = offsets[group], offsets[group + 1]
            near = begin
        c, d = starts[row], ends[row]
        bound = least[row] if len(least) else -FAR
        low, _ = _reach(relation, limit, bound, c, d)
        near = _stop_before(relation, strict, near, begin, stop, c, d, other_starts, other_ends)
        place = near - 1
        partners[row] = -1
        while place >= begin and other_ends[place] >= low:
            if fits(relation, limit, other_starts[place], other_ends[place], c, d):
                partners[row] = place
                break
            place -= 1


def latest(
    relation: int, limit: int, strict: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
) -> Integers:  # fmt: skip
    """For each trigger the last of the others that came before it and fit; -1 if there is none.

    What ends earlier came before; of what ends together, what starts earlier. An other with the
    very interval of the trigger came before it, unless `strict` is 1.
    """
    partners = np.empty(len(groups), np.int64)
    if relation == BEFORE:
        _latest_before(
            limit, groups, starts, ends, least, offsets, other_starts, other_ends, partners
        )
        return partners
    _latest(
        relation, limit, strict, groups, starts, ends, least, offsets, other_starts, other_ends,
        partners,
    )  # fmt: skip
    return partners


def latest_plain(
    relation: int, limit: int, strict: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
) -> Integers:  # fmt: skip
    """The twin of `latest`: the last of all that fit."""
    partners = np.full(len(groups), -1, np.int64)
    others, triggers = pairs_plain(
        relation, limit, groups, starts, ends, least, offsets, other_starts, other_ends
    )
    for place, row in zip(others.tolist(), triggers.tolist(), strict=True):
        before = (other_ends[place], other_starts[place] + strict) <= (ends[row], starts[row])
        if relation < BOTH or before:
            partners[row] = max(partners[row], place)
    return partners


# -- absence ---------------------------------------------------------------------------------


@kernel("integers integers writable-integers", "nothing")
def _running(offsets: Integers, starts: Integers, tops: Integers) -> None:
    for group in range(len(offsets) - 1):
        top = -FAR
        for place in range(offsets[group], offsets[group + 1]):
            top = max(top, starts[place])
            tops[place] = top


@kernel("integers integers integers integers integers writable-integers", "nothing")
def _bound(
    groups: Integers, points: Integers, offsets: Integers, ends: Integers, tops: Integers,
    bounds: Integers,
) -> None:  # fmt: skip
    group, begin, stop, near = -1, 0, 0, 0
    for row in range(len(groups)):
        if groups[row] != group:
            group = groups[row]
            begin, stop = offsets[group], offsets[group + 1]
            near = begin
        near = _seek(ends, near, begin, stop, points[row])
        bounds[row] = tops[near - 1] if near > begin else -FAR


def latest_starts(offsets: Integers, starts: Integers) -> Integers:
    """For each interval the latest start of its group up to it."""
    tops = np.empty(len(starts), np.int64)
    _running(offsets, starts, tops)
    return tops


def latest_start_before(
    groups: Integers, points: Integers, offsets: Integers, ends: Integers, tops: Integers
) -> Integers:
    """For each point the latest start of the intervals of its group that end before it.

    `tops` are the `latest_starts`. Something lies wholly between b and the point if and only if
    this start is after b. So nothing lies between them if b is at least this start: one number
    for each point decides. Where nothing ends before a point, the result is far below all times.
    """
    found = np.empty(len(points), np.int64)
    _bound(groups, points, offsets, ends, tops, found)
    return found


def latest_starts_plain(offsets: Integers, starts: Integers) -> Integers:
    """The twin of `latest_starts`."""
    groups = np.split(starts, offsets[1:-1])
    return np.concatenate([np.maximum.accumulate(own) for own in groups])


def latest_start_before_plain(
    groups: Integers, points: Integers, offsets: Integers, ends: Integers, tops: Integers
) -> Integers:
    """The twin of `latest_start_before`."""
    bounds = np.full(len(points), -FAR, np.int64)
    for row, (group, point) in enumerate(zip(groups.tolist(), points.tolist(), strict=True)):
        own = slice(offsets[group], offsets[group + 1])
        bounds[row] = tops[own][ends[own] < point].max(initial=-FAR)
    return bounds
