"""From points to intervals where the points are marks on the rows of one sorted table.

Many rules of a fluent look at the same events. What they say is kept as marks on the rows of
these events (bit j of a row: action j takes place there), so that nothing has to be merged or
copied, and rows without a mark cost next to nothing. Points from elsewhere come as a second,
sorted list.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel, part, shortened
from cernis.kernels.inertia import Held

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Place = np.uint64

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
def _begun(
    marks: Place, codes: Integers, row: Place, stop: Place, actions: Integers
) -> tuple[int, bool]:
    """An initiation of a point, marked or of the second list; and whether values clash."""
    begun, many = NOTHING, False
    for bit in range(len(codes)):
        if (np.int64(marks) >> bit) & codes[bit] & 1:
            many |= (begun != NOTHING) & (begun != codes[bit])
            begun = codes[bit]
    while row < stop:
        if actions[row] & 1:
            many |= (begun != NOTHING) & (begun != actions[row])
            begun = actions[row]
        row += ONE
    return begun, many


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
    begun, many = _begun(marks, codes, row, stop, actions)
    after = begun if begun != NOTHING else held
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
        begun, _ = _begun(Place(marks), codes, ZERO, ZERO, codes)
        ends_all = (marks & _enders(NOTHING, codes)) != 0
        meanings[4 * marks : 4 * marks + 4] = 0
        if begun == NOTHING and not ends_all:
            meanings[4 * marks] = -1
        else:
            meanings[4 * marks + 1] = after
            meanings[4 * marks + 2] = _enders(after, codes)
            meanings[4 * marks + 3] = many


# -- intervals -------------------------------------------------------------------------------


@part
def _is_blank(row: Place, eights: Integers) -> bool:
    """Is this the first of eight rows without a mark?"""
    eight = row >> THREE
    return bool(row & SEVEN == ZERO and eight < Place(len(eights)) and eights[eight] == 0)


@part
def _marks_at(
    row: Place, group: int, time: int, groups: Integers, times: Integers, marks: Bytes
) -> tuple[Place, Place]:
    """The marks of a point, those of all its rows, and the row behind it."""
    flags = ZERO
    while row < Place(len(times)) and times[row] == time and groups[row] == group:
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
def _group(at: Place, groups: Integers) -> int:
    """The group of a row, or one behind all."""
    group: int = groups[at] if at < Place(len(groups)) else INFINITY
    return group


@kernel(
    "integers integers bytes integers integers integers integers integers integers integers "
    "integers integer writable-integers "
    "writable-integers writable-integers writable-integers writable-integers",
    "integer integer",
)
def _hold_rows(
    groups: Integers, times: Integers, marks: Bytes, eights: Integers, codes: Integers,
    more_groups: Integers, more_times: Integers, more_actions: Integers,
    carried_groups: Integers, carried_values: Integers, carried_starts: Integers, tick: int,
    meanings: Integers,
    found_groups: Integers, found_values: Integers, found_starts: Integers, found_ends: Integers,
) -> tuple[np.int64, int]:  # fmt: skip
    """Rows up to the next point of the second list have no branch that depends on their marks.

    At each of them the interval that may end there is written, and counted if it does.
    """
    _tabulate(codes, meanings)
    row, extra, carried, count, conflicts = ZERO, ZERO, ZERO, ZERO, 0
    while True:
        group = min(_group(row, groups), _group(extra, more_groups),
                    _group(carried, carried_groups))  # fmt: skip
        if group == INFINITY:
            return np.int64(count), conflicts
        held, start, ending = NOTHING, 0, 0
        if _group(carried, carried_groups) == group:
            held, start = carried_values[carried] << 1 | 1, carried_starts[carried]
            ending = _enders(held, codes)
            carried += ONE
        while True:
            waiting = more_times[extra] if _group(extra, more_groups) == group else INFINITY
            while row < Place(len(times)) and groups[row] == group and times[row] < waiting:
                if _is_blank(row, eights):
                    row += EIGHT
                    continue
                end = times[row] + tick
                row, flags = _marks_at(row, group, times[row], groups, times, marks)
                left = NOTHING if ending & np.int64(flags) else held
                # What the marks lead to, or what is left: one of the two is 0.
                at = flags << TWO
                after = (left & meanings[at]) | meanings[at + ONE]
                ending = (ending & meanings[at]) | meanings[at + TWO]
                conflicts += meanings[at + THREE]
                _emit(group, held, start, end, count,
                      found_groups, found_values, found_starts, found_ends)  # fmt: skip
                count += Place((after != held) & (held != NOTHING))
                start = end if after != held else start
                held = after
            if waiting == INFINITY:
                break
            row, flags = _marks_at(row, group, waiting, groups, times, marks)
            first = extra
            while _group(extra, more_groups) == group and more_times[extra] == waiting:
                extra += ONE
            if flags == ZERO and extra - first == ONE:
                after = _after_one(more_actions[first], held)
            else:
                after, many = _after(held, flags, codes, first, extra, more_actions)
                conflicts += many
            _emit(group, held, start, waiting + tick, count,
                  found_groups, found_values, found_starts, found_ends)  # fmt: skip
            count += Place((after != held) & (held != NOTHING))
            start = waiting + tick if after != held else start
            if after != held:
                held, ending = after, _enders(after, codes)
        _emit(group, held, start, INFINITY, count,
              found_groups, found_values, found_starts, found_ends)  # fmt: skip
        count += Place(held != NOTHING)


def hold_rows(
    groups: Integers,
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
    most = len(groups) + len(more_groups) + len(carried_groups) + 1
    meanings = np.empty(4 << len(actions), np.int64)
    found = [np.empty(most, np.int64) for _ in range(4)]
    # Eight rows without a mark are passed over at once.
    eights = marks[: len(marks) & -8].view(np.int64)
    eights = eights if eights.flags.aligned else eights.copy()
    count, conflicts = _hold_rows(
        groups, times, marks, eights, actions, more_groups, more_times, more_actions,
        carried_groups, carried_values, carried_starts, tick, meanings, *found,
    )  # fmt: skip
    own_groups, values, starts, ends = (shortened(column, count) for column in found)
    return own_groups, values, starts, ends, conflicts


def hold_rows_plain(
    groups: Integers,
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
    from cernis.kernels.inertia import hold_plain

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
