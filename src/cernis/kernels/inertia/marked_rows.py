"""From points to intervals where the points are marks on the rows of one sorted table.

Many rules of a fluent look at the same events. Where they fire is kept as marks on the rows of
these events: bit j of a row says that action j takes place there. So nothing has to be merged or
copied. To repeat an action changes nothing, so a row that has the same marks as the row before it
costs next to nothing, and most rows have. Points from other sources come as a second, sorted list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Bytes, Integers, Place
from cernis.kernels.compile import kernel, part, shortened
from cernis.kernels.inertia.plain_inertia import Held

MOST_ACTIONS = 8
"""Actions that a row has bits for."""

ZERO, ONE, TWO, THREE, SEVEN, EIGHT = (np.uint64(number) for number in (0, 1, 2, 3, 7, 8))
INFINITY = int(np.iinfo(np.int64).max)
NOTHING = -3
"""Kept where no value holds; a value that holds is kept as the action that would initiate it."""
ALL = -2
"""The termination of whatever value."""


@kernel("writable-bytes integers integer", "nothing")
def mark(marks: Bytes, rows: Integers, bit: int) -> None:
    """Set a bit at some rows, in place."""
    flag = np.uint8(1 << bit)
    for at in range(len(rows)):
        marks[rows[at]] |= flag


def mark_plain(marks: Bytes, rows: Integers, bit: int) -> None:
    """The twin of `mark`."""
    np.bitwise_or.at(marks, rows, np.uint8(1 << bit))


# -- what marks mean -------------------------------------------------------------------------


@part
def _last_initiation(
    marks: Place, codes: Integers, row: Place, stop: Place, actions: Integers
) -> tuple[int, bool]:
    """An initiation of a point, marked or of the second list; and whether values clash."""
    initiated, many = NOTHING, False
    for bit in range(len(codes)):
        if (np.int64(marks) >> bit) & codes[bit] & 1:
            many |= (initiated != NOTHING) & (initiated != codes[bit])
            initiated = codes[bit]
    while row < stop:
        if actions[row] & 1:
            many |= (initiated != NOTHING) & (initiated != actions[row])
            initiated = actions[row]
        row += ONE
    return initiated, many


@part
def _enders(held: int, codes: Integers) -> int:
    """The marks that end a value, if there is one."""
    enders = 0
    for bit in range(len(codes)):
        enders |= ((codes[bit] == held - 1) | (codes[bit] == ALL)) << bit
    return enders


@part
def _after(
    held: int, marks: Place, codes: Integers, row: Place, stop: Place, actions: Integers
) -> tuple[int, bool]:
    """What holds after the actions of a point, marked or of the second list; and any clash."""
    initiated, many = _last_initiation(marks, codes, row, stop, actions)
    after = initiated if initiated != NOTHING else held
    ended = many | ((np.int64(marks) & _enders(after, codes)) != 0)
    while row < stop:
        ended |= (actions[row] == after - 1) | (actions[row] == ALL)
        row += ONE
    return NOTHING if ended else after, many


@part
def _after_one(action: int, held: int) -> int:
    """What holds after an action that is alone at its point."""
    ends = ((action | 1) == held) | (action == ALL)
    left = NOTHING if ends else held
    return action if action & 1 else left


@part
def _tabulate(codes: Integers, meanings: Integers) -> None:
    """What each combination of marks means, as four numbers.

    If all it does is to end named values, or nothing: -1, 0, 0, 0. Otherwise 0, what holds
    afterwards, the marks that would end that, and 1 if values clash.
    """
    for marks in range(1 << len(codes)):
        after, many = _after(NOTHING, Place(marks), codes, ZERO, ZERO, codes)
        initiated, _ = _last_initiation(Place(marks), codes, ZERO, ZERO, codes)
        ends_all = (marks & _enders(NOTHING, codes)) != 0
        meanings[4 * marks : 4 * marks + 4] = 0
        if initiated == NOTHING and not ends_all:
            meanings[4 * marks] = -1
        else:
            meanings[4 * marks + 1] = after
            meanings[4 * marks + 2] = _enders(after, codes)
            meanings[4 * marks + 3] = many


# -- rows by group ---------------------------------------------------------------------------


class Stretches(NamedTuple):
    """Where the rows of each group lie in a table sorted by group and time."""

    groups: Integers
    first: Integers
    """The first row of each group, and the number of rows."""
    tied: Bytes
    """Which rows share their group and time with another; empty if none does."""


def stretches(groups: Integers, times: Integers) -> Stretches | None:
    """The stretches of rows, if they are sorted by group and time."""
    first = np.zeros(len(groups) + 1, np.int64)
    tied = np.zeros(len(groups), np.uint8)
    count, ties = _stretches(groups, times, first, tied)
    if count < 0:
        return None
    first = shortened(first, int(count) + 1)
    return Stretches(groups[first[:-1]], first, tied if ties else tied[:0])


@kernel("integers integers writable-integers writable-bytes", "integer integer")
def _stretches(groups: Integers, times: Integers, first: Integers, tied: Bytes) -> tuple[int, int]:
    """Gives the number of stretches, or -1 if rows are not in order, and of ties."""
    count, ties = min(len(groups), 1), 0
    for row in range(ONE, Place(len(groups))):
        if groups[row] != groups[row - ONE]:
            if groups[row] < groups[row - ONE]:
                return -1, 0
            first[count] = row
            count += 1
        elif times[row] <= times[row - ONE]:
            if times[row] < times[row - ONE]:
                return -1, 0
            tied[row - ONE] = tied[row] = 1
            ties += 1
    first[count] = len(groups)
    return count, ties


def stretches_plain(groups: Integers, times: Integers) -> Stretches | None:
    """The twin of `stretches`."""
    codes, first = np.unique(groups, return_index=True)
    points = list(zip(groups.tolist(), times.tolist(), strict=True))
    if points != sorted(points):
        return None
    tied = np.array([points.count(point) > 1 for point in points], np.uint8)
    return Stretches(codes, np.append(first, len(groups)), tied if tied.any() else tied[:0])


# -- intervals -------------------------------------------------------------------------------

EVERY = np.uint64(0x0101010101010101)
"""Times a row's marks: eight rows with these marks."""
UNLIKE = np.uint64(256)
"""Marks that no row has."""


@part
def _alike(row: Place, stop: Place, marks: Place, eights: Integers, tied: Integers) -> Place:
    """Where rows, eight at a time, no longer have these marks, each alone at its time."""
    word = np.int64(marks * EVERY)
    while row + EIGHT <= stop and eights[row >> THREE] == word:
        if len(tied) and tied[row >> THREE]:
            break
        row += EIGHT
    return row


@part
def _first_not_before(point: int, low: Place, high: Place, times: Integers) -> Place:
    """The first of some rows that is not before a point, by bisection."""
    while low < high:
        middle = (low + high) >> ONE
        if times[middle] < point:
            low = middle + ONE
        else:
            high = middle
    return low


@part
def _marks_at(
    row: Place, stop: Place, time: int, times: Integers, marks: Bytes
) -> tuple[Place, Place]:
    """The marks of a point, those of all its rows, and the row after it."""
    flags = ZERO
    while row < stop and times[row] == time:
        flags |= Place(marks[row])
        row += ONE
    return row, flags


@part
def _emit(
    group: int, held: int, start: int, end: int, count: Place,
    groups: Integers, values: Integers, starts: Integers, ends: Integers,
) -> None:  # fmt: skip
    """Write what may be an interval; it is one if the count moves on."""
    groups[count] = group
    values[count] = held >> 1
    starts[count] = start
    ends[count] = end


@part
def _group(row: Place, groups: Integers) -> int:
    """The group of a row, or one after all."""
    group: int = groups[row] if row < Place(len(groups)) else INFINITY
    return group


@kernel(
    "integers integers bytes integers integers bytes integers integers integers integers integers "
    "integers integers integers integer writable-integers "
    "writable-integers writable-integers writable-integers writable-integers",
    "integer integer",
)
def _hold_rows(
    groups: Integers, first: Integers, tied: Bytes, tied_eights: Integers,
    times: Integers, marks: Bytes, eights: Integers, codes: Integers,
    more_groups: Integers, more_times: Integers, more_actions: Integers,
    carried_groups: Integers, carried_values: Integers, carried_starts: Integers, tick: int,
    meanings: Integers,
    found_groups: Integers, found_values: Integers, found_starts: Integers, found_ends: Integers,
) -> tuple[np.int64, int]:  # fmt: skip
    """Rows up to the next point of the second list are passed while their marks stay the same."""
    _tabulate(codes, meanings)
    stretch, extra, carried, count, conflicts = ZERO, ZERO, ZERO, ZERO, 0
    while True:
        group = min(_group(stretch, groups), _group(extra, more_groups),
                    _group(carried, carried_groups))  # fmt: skip
        if group == INFINITY:
            return np.int64(count), conflicts
        row, stop = ZERO, ZERO
        if _group(stretch, groups) == group:
            row, stop = Place(first[stretch]), Place(first[stretch + ONE])
            stretch += ONE
        held, start, ending = NOTHING, 0, 0
        if _group(carried, carried_groups) == group:
            held, start = carried_values[carried] << 1 | 1, carried_starts[carried]
            ending = _enders(held, codes)
            carried += ONE
        while True:
            waiting = more_times[extra] if _group(extra, more_groups) == group else INFINITY
            limit = stop if waiting == INFINITY else _first_not_before(waiting, row, stop, times)
            last = UNLIKE
            while row < limit:
                if Place(marks[row]) == last and (len(tied) == 0 or tied[row] == 0):
                    before = row
                    row += ONE
                    if row & SEVEN == ZERO:
                        row = _alike(row, limit, last, eights, tied_eights)
                    conflicts += np.int64(row - before) * meanings[(last << TWO) + THREE]
                    continue
                time = times[row]
                if len(tied) and tied[row]:
                    row, flags = _marks_at(row, limit, time, times, marks)
                else:
                    flags = Place(marks[row])
                    row += ONE
                last = flags
                left = NOTHING if ending & np.int64(flags) else held
                # What the marks lead to, or what is left: one of the two is 0.
                meaning = flags << TWO
                after = (left & meanings[meaning]) | meanings[meaning + ONE]
                ending = (ending & meanings[meaning]) | meanings[meaning + TWO]
                conflicts += meanings[meaning + THREE]
                if after != held:
                    _emit(group, held, start, time + tick, count,
                          found_groups, found_values, found_starts, found_ends)  # fmt: skip
                    count += Place(held != NOTHING)
                    held, start = after, time + tick
            if waiting == INFINITY:
                break
            row, flags = _marks_at(row, stop, waiting, times, marks)
            begin = extra
            while _group(extra, more_groups) == group and more_times[extra] == waiting:
                extra += ONE
            if flags == ZERO and extra - begin == ONE:
                after = _after_one(more_actions[begin], held)
            else:
                after, many = _after(held, flags, codes, begin, extra, more_actions)
                conflicts += many
            if after != held:
                _emit(group, held, start, waiting + tick, count,
                      found_groups, found_values, found_starts, found_ends)  # fmt: skip
                count += Place(held != NOTHING)
                held, start, ending = after, waiting + tick, _enders(after, codes)
        _emit(group, held, start, INFINITY, count,
              found_groups, found_values, found_starts, found_ends)  # fmt: skip
        count += Place(held != NOTHING)


def _in_eights(flags: Bytes) -> Integers:
    """Eight rows as one number, as far as there are eight."""
    eights: Integers = flags[: len(flags) & -8].view(np.int64)
    return eights if eights.flags.aligned else eights.copy()


def hold_rows(
    rows: Stretches,
    times: Integers,
    marks: Bytes,
    actions: Integers,
    more_groups: Integers,
    more_times: Integers,
    more_actions: Integers,
    carried_groups: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> Held:
    """Intervals under the tie rule `break`; as `hold`, for marked rows and a second list.

    Actions are as in `hold`; action j is that of bit j. Both lists are sorted by group and time.
    """
    # One more than there can be, as one may be written that is none.
    most = len(times) + len(more_groups) + len(carried_groups) + 1
    meanings = np.empty(4 << len(actions), np.int64)
    columns = [np.empty(most, np.int64) for _ in range(4)]
    count, conflicts = _hold_rows(
        *rows, _in_eights(rows.tied), times, marks, _in_eights(marks), actions,
        more_groups, more_times, more_actions, carried_groups, carried_values, carried_starts,
        tick, meanings, *columns,
    )  # fmt: skip
    own_groups, values, starts, ends = (shortened(column, count) for column in columns)
    return own_groups, values, starts, ends, conflicts


def hold_rows_plain(
    rows: Stretches,
    times: Integers,
    marks: Bytes,
    actions: Integers,
    more_groups: Integers,
    more_times: Integers,
    more_actions: Integers,
    carried_groups: Integers,
    carried_values: Integers,
    carried_starts: Integers,
    tick: int,
) -> Held:
    """The twin of `hold_rows`: writes every mark out as an action and holds those."""
    from cernis.kernels.inertia.plain_inertia import hold_plain

    groups = np.repeat(rows.groups, np.diff(rows.first))
    parts = [(more_groups, more_times, more_actions)]
    for bit, action in enumerate(actions.tolist()):
        chosen = np.flatnonzero((marks >> bit) & 1)
        parts.append((groups[chosen], times[chosen], np.full(len(chosen), action)))
    own_groups = np.concatenate([part[0] for part in parts])
    own_times = np.concatenate([part[1] for part in parts])
    own_actions = np.concatenate([part[2] for part in parts])
    order = np.lexsort((own_times, own_groups))
    return hold_plain(
        own_groups[order], own_times[order], own_actions[order], carried_groups, carried_values,
        carried_starts, tick,
    )  # fmt: skip
