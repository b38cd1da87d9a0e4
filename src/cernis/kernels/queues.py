"""Matching in the order of time, each occurrence used once: chronological consumption.

A trigger takes the first of the others that came before it and fit; both are used up. The others
of a group are in the order in which they are taken: by start, then end. Triggers come in the order
of their end, so what is too far back for one is so for all that follow.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.compile import kernel, part
from cernis.kernels.match import (
    BEFORE,
    FAR,
    INSIDE,
    STARTS_BEFORE,
    fits,
    fits_plain,
)


@part
def _last_start(relation: int, c: int, d: int) -> int:
    """After which start no other can fit."""
    if relation in (BEFORE, STARTS_BEFORE):
        return c - 1
    if relation == INSIDE:
        return d - 1
    return FAR


@part
def _enqueue(begin: int, stop: int, following: Integers) -> None:
    for place in range(begin, stop):
        following[place] = place + 1


@kernel("integer integers integers integers integers integers writable-integers", "nothing")
def _first_point(
    limit: int, groups: Integers, starts: Integers, ends: Integers, offsets: Integers,
    points: Integers, partners: Integers,
) -> None:  # fmt: skip
    """As `_first` for BEFORE and points: if the first in the queue is too late, so are all."""
    group, stop, head = -1, 0, 0
    for row in range(len(groups)):
        if groups[row] != group:
            group = groups[row]
            head, stop = offsets[group], offsets[group + 1]
        while limit >= 0 and head < stop and points[head] < ends[row] - limit:
            head += 1
        fitting = head < stop and points[head] < starts[row]
        partners[row] = head if fitting else -1
        head += fitting


@kernel(
    "integer integer integers integers integers integers integers integers integers "
    "writable-integers writable-integers",
    "nothing",
)
def _first(
    relation: int, limit: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
    following: Integers, partners: Integers,
) -> None:  # fmt: skip
    group, stop, head = -1, 0, 0
    for row in range(len(groups)):
        if groups[row] != group:
            group = groups[row]
            head, stop = offsets[group], offsets[group + 1]
            _enqueue(head, stop, following)
        c, d = starts[row], ends[row]
        while limit >= 0 and head < stop and other_starts[head] < d - limit:
            head = following[head]
        bound = least[row] if len(least) else -FAR
        last = _last_start(relation, c, d)
        before, place = -1, head
        partners[row] = -1
        while place < stop and other_starts[place] <= last:
            a, b = other_starts[place], other_ends[place]
            if b >= bound and fits(relation, limit, a, b, c, d):
                partners[row] = place
                if before < 0:
                    head = following[place]
                else:
                    following[before] = following[place]
                break
            before, place = place, following[place]


def first(
    relation: int, limit: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
) -> Integers:  # fmt: skip
    """For each trigger the first of the others that fit and are not used up; -1 if none is.

    For relations in which the other always comes before the trigger. `least`, where it is given,
    is for each trigger the least end that an other may have. What a trigger cannot take is passed
    over; what is out of the limit's reach is dropped. Others that are points are given by one array
    for their starts and ends.
    """
    partners = np.empty(len(groups), np.int64)
    if relation == BEFORE and other_starts is other_ends and not len(least):
        _first_point(limit, groups, starts, ends, offsets, other_starts, partners)
        return partners
    following = np.empty(len(other_starts), np.int64)
    _first(
        relation, limit, groups, starts, ends, least, offsets, other_starts, other_ends, following,
        partners,
    )  # fmt: skip
    return partners


def first_plain(
    relation: int, limit: int, groups: Integers, starts: Integers, ends: Integers,
    least: Integers, offsets: Integers, other_starts: Integers, other_ends: Integers,
) -> Integers:  # fmt: skip
    """The twin of `first`."""
    partners = np.full(len(groups), -1, np.int64)
    used: set[int] = set()
    for row, group in enumerate(groups.tolist()):
        for place in range(offsets[group], offsets[group + 1]):
            a, b = other_starts[place], other_ends[place]
            enough = not len(least) or b >= least[row]
            near = enough and fits_plain(relation, limit, a, b, starts[row], ends[row])
            if near and place not in used:
                used.add(place)
                partners[row] = place
                break
    return partners


# -- either side may come first --------------------------------------------------------------


@kernel(
    "integer integer integers integers integers integers integers integers integers "
    "writable-integers writable-integers",
    "nothing",
)
def _first_of_both(
    relation: int, limit: int, groups: Integers, places: Integers, offsets: Integers,
    sides: Integers, starts: Integers, ends: Integers, ranks: Integers, following: Integers,
    partners: Integers,
) -> None:  # fmt: skip
    group, stop, head = -1, 0, 0
    for now in range(len(places)):
        if groups[now] != group:
            group = groups[now]
            head, stop = offsets[group], offsets[group + 1]
            _enqueue(head, stop, following)
        trigger = places[now]
        c, d = starts[trigger], ends[trigger]
        while head < stop and (partners[head] >= 0 or (limit >= 0 and starts[head] < d - limit)):
            head = following[head]
        before, place = -1, head
        while place < stop:
            if partners[place] >= 0:
                # Used up from the other side: nobody will want it, so it leaves the queue.
                following[before] = following[place]
                place = following[place]
                continue
            came = sides[place] != sides[trigger] and ranks[place] < now
            if came and fits(relation, limit, starts[place], ends[place], c, d):
                partners[place], partners[trigger] = trigger, place
                break
            before, place = place, following[place]


def first_of_both(
    relation: int, limit: int, groups: Integers, places: Integers, offsets: Integers,
    sides: Integers, starts: Integers, ends: Integers,
) -> Integers:  # fmt: skip
    """Both sides in one queue a group, by start, then end; gives each one's partner, or -1.

    `places` are the places of all in the order in which they come, group by group, and `groups`
    their groups. The relation is BOTH or OVERLAP, which are the same from either side.
    """
    partners = np.full(len(places), -1, np.int64)
    ranks = np.empty(len(places), np.int64)
    ranks[places] = np.arange(len(places))
    following = np.empty(len(places), np.int64)
    _first_of_both(
        relation, limit, groups, places, offsets, sides, starts, ends, ranks, following, partners
    )
    return partners


def first_of_both_plain(
    relation: int, limit: int, groups: Integers, places: Integers, offsets: Integers,
    sides: Integers, starts: Integers, ends: Integers,
) -> Integers:  # fmt: skip
    """The twin of `first_of_both`."""
    partners = np.full(len(places), -1, np.int64)
    came: set[int] = set()
    for trigger, group in zip(places.tolist(), groups.tolist(), strict=True):
        for place in range(offsets[group], offsets[group + 1]):
            free = place in came and partners[place] < 0 and sides[place] != sides[trigger]
            if free and fits_plain(
                relation, limit, starts[place], ends[place], starts[trigger], ends[trigger]
            ):
                partners[trigger], partners[place] = place, trigger
                break
        came.add(trigger)
    return partners


# -- from pairs that are known to fit --------------------------------------------------------


@kernel("integers integers writable-booleans writable-booleans writable-booleans", "nothing")
def _choose(
    lefts: Integers, rights: Integers, used: Booleans, right_used: Booleans, chosen: Booleans
) -> None:
    for row in range(len(lefts)):
        left, right = lefts[row], rights[row]
        chosen[row] = not (used[left] or right_used[right])
        if chosen[row]:
            used[left] = right_used[right] = True


def choose(lefts: Integers, rights: Integers, left_count: int, right_count: int) -> Booleans:
    """Of pairs in the order in which they are tried: those whose two are both unused by then."""
    chosen = np.empty(len(lefts), np.bool_)
    used, right_used = np.zeros(left_count, np.bool_), np.zeros(right_count, np.bool_)
    _choose(lefts, rights, used, right_used, chosen)
    return chosen


def choose_plain(lefts: Integers, rights: Integers, left_count: int, right_count: int) -> Booleans:
    """The twin of `choose`; the counts bound the numbers that stand for occurrences."""
    used: set[tuple[str, int]] = set()
    chosen = []
    for left, right in zip(lefts.tolist(), rights.tolist(), strict=True):
        assert left < left_count
        assert right < right_count
        both = {("left", left), ("right", right)}
        chosen.append(not both & used)
        used |= both if chosen[-1] else set()
    return np.array(chosen, np.bool_)
