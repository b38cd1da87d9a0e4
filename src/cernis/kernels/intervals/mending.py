"""Intervals mended where points have changed, in the places where rows of many groups are kept.

A group has at most one value at a time, and its rows lie as `kernels.shelf_rows` keeps them: the
rows of one event with marks on them, other points with their actions, and the intervals that were
found before. From the first point that has changed on, what holds is computed again. Once it holds
as before, and nothing else has changed, all after is as it was. So it costs what has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Bytes, Integers, Matrix, Place
from cernis.kernels.compile import kernel, part
from cernis.kernels.inertia.marked_rows import INFINITY, NOTHING, _after, _enders, _tabulate
from cernis.kernels.shelf_rows import _first_late

UNLIKE = -1
"""Marks that no row has."""
GONE, COME, DIRT, CLASHES = 0, 1, 2, 3
"""What is counted."""


class WrittenChanges(NamedTuple):
    """Room for what changes, and how much of it is written.

    `gone` has places and groups of intervals, `come` groups, starts, ends and values, and `dirt`
    groups, starts and ends of stretches on which intervals differ.
    """

    counts: Integers
    gone: Matrix
    come: Matrix
    dirt: Matrix


class MarkedEvents(NamedTuple):
    """Events with marks on them: the pool, the row of it that has them, and from which bit on."""

    pool: Matrix
    mark_row: int
    shift: int


@kernel(
    "writable-matrix integer integer integers integers bytes integer integers "
    "writable-integers writable-integers",
    "integer",
)
def write_marks(
    pool: Matrix, row: int, shift: int, places: Integers, groups: Integers, flags: Bytes,
    before: int, times: Integers, changed_groups: Integers, changed_times: Integers,
) -> int:  # fmt: skip
    """Write the marks of a definition, eight bits of a row of the pool, where they differ.

    Gives how many such points there are, and writes them: after the last query, of several one
    after the other only the first of each group.
    """
    count = 0
    clear = ~(np.int64(255) << shift)
    for index in range(len(places)):
        old = (pool[row, places[index]] >> shift) & 255
        if old != flags[index]:
            new = np.int64(flags[index]) << shift
            pool[row, places[index]] = (pool[row, places[index]] & clear) | new
            follows = count > 0 and changed_groups[count - 1] == groups[index]
            if not follows or not before < changed_times[count - 1] <= times[index]:
                changed_groups[count] = groups[index]
                changed_times[count] = times[index]
                count += 1
    return count


@part
def _stain(group: int, start: int, end: int, changes: WrittenChanges) -> None:
    """Note a stretch on which intervals differ; stretches come in the order of their starts."""
    last = changes.counts[DIRT] - 1
    if last >= 0 and changes.dirt[0, last] == group and start <= changes.dirt[2, last]:
        changes.dirt[2, last] = max(changes.dirt[2, last], end)
    elif start < end:
        changes.dirt[0, last + 1] = group
        changes.dirt[1, last + 1] = start
        changes.dirt[2, last + 1] = end
        changes.counts[DIRT] += 1


@part
def _drop(group: int, old: int, lists: Matrix, changes: WrittenChanges) -> None:
    """Note that an interval is no longer there."""
    changes.gone[0, changes.counts[GONE]] = old
    changes.gone[1, changes.counts[GONE]] = group
    changes.counts[GONE] += 1
    _stain(group, lists[0, old], lists[1, old], changes)


@part
def _add_interval(
    group: int, held: int, start: int, end: int, old: int, stop: int, lists: Matrix,
    changes: WrittenChanges,
) -> int:  # fmt: skip
    """Note an interval, and what was there before it; gives the first old one not looked at."""
    while old < stop and lists[0, old] < start:
        _drop(group, old, lists, changes)
        old += 1
    value = held >> 1
    low = start
    high = end
    if old < stop and lists[0, old] == start:
        if lists[2, old] == value:
            if lists[1, old] == end:
                return old + 1
            changes.gone[0, changes.counts[GONE]] = old
            changes.gone[1, changes.counts[GONE]] = group
            changes.counts[GONE] += 1
            low = min(lists[1, old], end)
            high = max(lists[1, old], end)
        else:
            _drop(group, old, lists, changes)
        old += 1
    place = changes.counts[COME]
    changes.come[0, place] = group
    changes.come[1, place] = start
    changes.come[2, place] = end
    changes.come[3, place] = value
    changes.counts[COME] += 1
    _stain(group, low, high, changes)
    return old


@part
def _begin(group: int, firsts: Integers, sizes: Integers) -> tuple[int, int]:
    """Where the rows of a group begin and end."""
    if group >= len(sizes):
        return 0, 0
    return firsts[group], firsts[group] + sizes[group]


@part
def _settle(
    group: int, held: int, start: int, end: int, until: int, old: int, stop: int, lists: Matrix,
    changes: WrittenChanges,
) -> int:  # fmt: skip
    """Note an interval, if one is held, and that old ones before a point are no longer there."""
    if held != NOTHING:
        old = _add_interval(group, held, start, end, old, stop, lists, changes)
    while old < stop and lists[0, old] < until:
        _drop(group, old, lists, changes)
        old += 1
    return old


@part
def _next_row(
    row: int, stop: int, until: int, last: int, events: MarkedEvents,
    meanings: Integers, counts: Integers,
) -> int:  # fmt: skip
    """The first row, before a point, that may do anything: what was done last changes nothing."""
    while row < stop and events.pool[0, row] < until:
        flags = (events.pool[events.mark_row, row] >> events.shift) & 255
        if flags != 0:
            if flags != last or (row + 1 < stop and events.pool[0, row + 1] == events.pool[0, row]):
                break
            counts[CLASHES] += meanings[4 * flags + 3]
        row += 1
    return row


@part
def _marks_at(time: int, row: int, stop: int, events: MarkedEvents) -> tuple[int, int]:
    """The marks of all rows of a time, and the row after them."""
    flags = 0
    while row < stop and events.pool[0, row] == time:
        flags |= (events.pool[events.mark_row, row] >> events.shift) & 255
        row += 1
    return flags, row


@kernel(
    "integers integers integer integer "
    "writable-matrix integers integers integer integer integers writable-integers "
    "writable-matrix integers integers writable-matrix integers integers "
    "writable-integers writable-matrix writable-matrix writable-matrix",
    "boolean",
)
def _mend(
    groups: Integers, times: Integers, before: int, tick: int,
    events: Matrix, event_firsts: Integers, event_sizes: Integers, mark_row: int, shift: int,
    codes: Integers, meanings: Integers,
    points: Matrix, point_firsts: Integers, point_sizes: Integers,
    lists: Matrix, list_firsts: Integers, list_sizes: Integers,
    counts: Integers, gone: Matrix, come: Matrix, dirt: Matrix,
) -> bool:  # fmt: skip
    """Gives whether there was room to write all down."""
    changes = WrittenChanges(counts, gone, come, dirt)
    marked = MarkedEvents(events, mark_row, shift)
    _tabulate(codes, meanings)
    change = 0
    while change < len(groups):
        group = groups[change]
        last_of_group = change
        while last_of_group < len(groups) and groups[last_of_group] == group:
            last_of_group += 1
        # Of changes after the last query some may not be given.
        goes_on = times[last_of_group - 1] > before
        event_first, event_stop = _begin(group, event_firsts, event_sizes)
        point_first, point_stop = _begin(group, point_firsts, point_sizes)
        list_first, list_stop = _begin(group, list_firsts, list_sizes)
        while change < last_of_group:
            # Two intervals may be written before there is another look at the room left.
            if counts[COME] + 2 > come.shape[1]:
                return False
            since = times[change]
            old = _first_late(lists, 1, list_first, list_stop, since + 1)
            held, start = NOTHING, 0
            if old < list_stop and lists[0, old] <= since:
                held, start = lists[2, old] << 1 | 1, lists[0, old]
            ending = _enders(held, codes)
            later = old
            row = _first_late(events, 0, event_first, event_stop, since)
            extra = _first_late(points, 0, point_first, point_stop, since)
            last = UNLIKE
            while True:
                waiting = points[0, extra] if extra < point_stop else INFINITY
                row = _next_row(row, event_stop, waiting, last, marked, meanings,
                                counts)  # fmt: skip
                if row < event_stop and events[0, row] < waiting:
                    time = events[0, row]
                    flags, row = _marks_at(time, row, event_stop, marked)
                    last = flags
                    left = NOTHING if ending & flags else held
                    # What the marks lead to, or what is left: one of the two is 0.
                    after = (left & meanings[4 * flags]) | meanings[4 * flags + 1]
                    ending = (ending & meanings[4 * flags]) | meanings[4 * flags + 2]
                    counts[CLASHES] += meanings[4 * flags + 3]
                elif waiting < INFINITY:
                    time, begin = waiting, extra
                    flags, row = _marks_at(time, row, event_stop, marked)
                    while extra < point_stop and points[0, extra] == time:
                        extra += 1
                    after, many = _after(
                        held, Place(flags), codes, Place(begin), Place(extra), points[1]
                    )
                    counts[CLASHES] += many
                    ending, last = _enders(after, codes), UNLIKE
                else:
                    _settle(group, held, start, INFINITY, INFINITY, old, list_stop, lists,
                            changes)  # fmt: skip
                    change = last_of_group
                    break
                now = time + tick
                if after != held:
                    if held != NOTHING:
                        old = _add_interval(group, held, start, now, old, list_stop, lists,
                                   changes)  # fmt: skip
                    held, start = after, now
                    if counts[COME] + 2 > come.shape[1]:
                        return False
                while change < last_of_group and times[change] <= time:
                    change += 1
                if goes_on and time > before:
                    continue
                while later < list_stop and lists[1, later] <= now:
                    later += 1
                is_held = later < list_stop and lists[0, later] <= now
                if held != (lists[2, later] << 1 | 1 if is_held else NOTHING):
                    continue
                following = times[change] if change < last_of_group else INFINITY
                if following < now:
                    continue
                if is_held and following < lists[1, later]:
                    # What is held goes on up to the next change.
                    row = _first_late(events, 0, event_first, event_stop, following)
                    extra = _first_late(points, 0, point_first, point_stop, following)
                    last = UNLIKE
                    continue
                # All after is as it was, up to the next change.
                end = lists[1, later] if is_held else now
                _settle(group, held, start, end, end, old, list_stop, lists,
                        changes)  # fmt: skip
                break
    return True


Pool = tuple[Matrix, Integers, Integers]
"""A pool, and where the rows of each group begin in it, and how many there are."""


def rows_of(groups: Integers, pool: Pool) -> int:
    """How many rows a pool has of groups, which are sorted, and may be named several times."""
    known = groups[groups < len(pool[2])]
    new = np.ones(len(known), np.bool_)
    new[1:] = known[1:] != known[:-1]
    return int(pool[2][known[new]].sum())


def mend(
    groups: Integers, times: Integers, before: int, tick: int,
    events: Pool, mark_row: int, shift: int, codes: Integers, points: Pool, lists: Pool,
) -> tuple[Matrix, Matrix, Matrix, int]:  # fmt: skip
    """How intervals change under the tie rule `break`, where points have.

    Points that have changed are given by group and time, sorted. After the point `before`, only
    the first of a group has to be. Bit j of the marks, which begin `shift` bits from the right of a
    row of the events' pool, stands for action j. Gives the places and groups of intervals that are
    gone; groups, starts, ends and values of those that come; groups, starts and ends of stretches
    on which they differ, disjoint and sorted; and how many points had a clash of values.
    """
    meanings = np.empty(4 << len(codes), np.int64)
    there = rows_of(groups, lists)
    room = 4 * len(groups) + 1024
    while True:
        counts = np.zeros(4, np.int64)
        gone, come, dirt = (
            np.empty((width, size), np.int64)
            for width, size in ((2, there), (4, room), (3, there + room))
        )
        if _mend(
            groups, times, before, tick, *events, mark_row, shift, codes, meanings, *points,
            *lists, counts, gone, come, dirt,
        ):  # fmt: skip
            break
        room *= 4
    return (
        gone[:, : counts[GONE]], come[:, : counts[COME]], dirt[:, : counts[DIRT]],
        int(counts[CLASHES]),
    )  # fmt: skip


def mend_plain(
    groups: Integers, times: Integers, before: int, tick: int,
    events: Pool, mark_row: int, shift: int, codes: Integers, points: Pool, lists: Pool,
) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:  # fmt: skip
    """The twin of `mend`: groups, starts, ends and values of what is gone, and of what comes.

    All intervals of a group after its first changed point are computed again.
    """
    from cernis.kernels.inertia.plain_inertia import hold_plain

    gone, come = set[tuple[int, ...]](), set[tuple[int, ...]]()
    for group in np.unique(groups).tolist():
        since = int(times[groups == group].min())
        old = [(group, s, e, v) for s, e, v in _rows(lists, group, 3)]
        held = [row for row in old if row[1] <= since < row[2]]
        acted = [(t, a) for t, a in _rows(points, group, 2)]
        for row in _rows(events, group, mark_row + 1):
            flags = (row[mark_row] >> shift) & 255
            acted += [(row[0], a) for bit, a in enumerate(codes.tolist()) if flags >> bit & 1]
        acted = sorted(row for row in acted if row[0] >= since)
        acted_points = np.array(acted, np.int64).reshape(-1, 2)
        carried = np.array([row[1:] for row in held], np.int64).reshape(-1, 3)
        held_intervals = hold_plain(
            np.full(len(acted_points), group), acted_points[:, 0], acted_points[:, 1],
            np.full(len(carried), group), carried[:, 2], carried[:, 0], tick,
        )  # fmt: skip
        columns = [np.asarray(held_intervals[at]).tolist() for at in (0, 2, 3, 1)]
        new: set[tuple[int, ...]] = set(zip(*columns, strict=True))
        reaching: set[tuple[int, ...]] = {row for row in old if row[2] > since}
        gone |= reaching - new
        come |= new - reaching
    return gone, come


def _rows(pool: Pool, group: int, width: int) -> list[tuple[int, ...]]:
    matrix, firsts, sizes = pool
    if group >= len(sizes):
        return []
    columns = matrix[:width, firsts[group] : firsts[group] + sizes[group]]
    return [tuple(row) for row in columns.T.tolist()]
