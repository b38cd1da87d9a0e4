"""From points to intervals where the points are marks on the rows of one sorted table.

Many rules of a fluent look at the same events. What they say is kept as marks on the rows of
these events (bit j of a row: action j takes place there), so that nothing has to be merged or
copied, and rows without a mark cost next to nothing. Points from elsewhere come as a second,
sorted list.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


MOST_ACTIONS = 8
"""Actions that a row has bits for."""


@kernel("writable-bytes integers integer", "nothing")
def mark(marks: Bytes, rows: Integers, bit: int) -> None:
    """Set a bit at some rows, in place."""
    flag = np.uint8(1 << bit)
    for at in range(len(rows)):
        marks[rows[at]] |= flag


def mark_plain(marks: Bytes, rows: Integers, bit: int) -> None:
    """The twin of `mark`."""
    np.bitwise_or.at(marks, rows, np.uint8(1 << bit))


@kernel(
    "integers integers bytes integers integers integers integers integers integers integers "
    "integer",
    "integers integers integers integers integer",
)
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
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """Intervals under the tie rule `break`; as `hold`, for marked rows and a second list.

    Actions are as in `hold`; action j is that of bit j. Both lists are sorted by group and time.
    """
    rows = len(groups)
    more = len(more_groups)
    carried = len(carried_groups)
    rules = len(actions)
    # What each combination of marks means, worked out once: the value that begins (-2 for none),
    # whether it counts, whether whatever holds is broken, and whether some named value is ended.
    begins = np.full(1 << rules, -2, np.int64)
    counts = np.zeros(1 << rules, np.bool_)
    breaks = np.zeros(1 << rules, np.bool_)
    ends = np.zeros(1 << rules, np.bool_)
    clash = np.zeros(1 << rules, np.bool_)
    for mark in range(1 << rules):
        for bit in range(rules):
            if (mark >> bit) & 1:
                about = actions[bit] >> 1
                if actions[bit] & 1:
                    if begins[mark] == -2:
                        begins[mark] = about
                    elif begins[mark] != about:
                        clash[mark] = True
                elif about == -1:
                    breaks[mark] = True
                else:
                    ends[mark] = True
        counts[mark] = begins[mark] != -2 and not clash[mark] and not breaks[mark]
        for bit in range(rules):
            if (mark >> bit) & 1 and actions[bit] == begins[mark] << 1:
                counts[mark] = False
        breaks[mark] = breaks[mark] or clash[mark]
    # Room for the most there can be; pages that are never written cost nothing.
    most = rows + more + carried
    found_groups = np.empty(most, np.int64)
    found_values = np.empty(most, np.int64)
    found_starts = np.empty(most, np.int64)
    found_ends = np.empty(most, np.int64)
    count = 0
    conflicts = 0
    row = 0
    extra = 0
    kept = 0
    largest = np.int64(9223372036854775807)
    while True:
        while row < rows and marks[row] == 0:
            row += 1
        if row >= rows and extra >= more and kept >= carried:
            break
        group = largest
        if row < rows:
            group = groups[row]
        if extra < more and more_groups[extra] < group:
            group = more_groups[extra]
        if kept < carried and carried_groups[kept] < group:
            group = carried_groups[kept]
        value = np.int64(-2)
        start = np.int64(0)
        if kept < carried and carried_groups[kept] == group:
            value = carried_values[kept]
            start = carried_starts[kept]
            kept += 1
        while True:
            waiting = largest
            if extra < more and more_groups[extra] == group:
                waiting = more_times[extra]
            # Rows alone at their time, with nothing of the second list before them.
            ended = np.int64(-1)
            while row < rows and groups[row] == group:
                flags = np.int64(marks[row])
                if flags == 0:
                    row += 1
                    continue
                time = times[row]
                if time >= waiting or (
                    row + 1 < rows and times[row + 1] == time and groups[row + 1] == group
                ):
                    break
                begun = begins[flags]
                row += 1
                if value == -2:
                    if counts[flags]:
                        value = begun
                        start = time + tick
                    conflicts += clash[flags]
                    continue
                broken = breaks[flags] or (begun != -2 and begun != value)
                if ends[flags] and not broken:
                    for bit in range(rules):
                        if (flags >> bit) & 1 and actions[bit] == value << 1:
                            broken = True
                conflicts += clash[flags]
                if broken:
                    ended = time
                    found_groups[count] = group
                    found_values[count] = value
                    found_starts[count] = start
                    found_ends[count] = ended + tick
                    count += 1
                    value = np.int64(-2)
                    if counts[flags]:
                        value = begun
                        start = time + tick
            here = row < rows and groups[row] == group
            there = extra < more and more_groups[extra] == group
            if not here and not there:
                break
            if not there or (here and times[row] < more_times[extra]):
                time = times[row]
            else:
                time = more_times[extra]
            first_extra = extra
            together = np.int64(0)
            begun = np.int64(-2)
            many = False
            all_end = False
            value_ends = False
            while row < rows and groups[row] == group and times[row] == time:
                together |= np.int64(marks[row])
                row += 1
            for bit in range(rules):
                if (together >> bit) & 1:
                    about = actions[bit] >> 1
                    if actions[bit] & 1:
                        if begun == -2:
                            begun = about
                        elif begun != about:
                            many = True
                    elif about == -1:
                        all_end = True
                    elif about == value:
                        value_ends = True
            while extra < more and more_groups[extra] == group and more_times[extra] == time:
                about = more_actions[extra] >> 1
                if more_actions[extra] & 1:
                    if begun == -2:
                        begun = about
                    elif begun != about:
                        many = True
                elif about == -1:
                    all_end = True
                elif about == value:
                    value_ends = True
                extra += 1
            conflicts += many
            if value != -2 and (all_end or value_ends or many or (begun != -2 and begun != value)):
                found_groups[count] = group
                found_values[count] = value
                found_starts[count] = start
                found_ends[count] = time + tick
                count += 1
                value = np.int64(-2)
            if value == -2 and begun != -2 and not many and not all_end:
                holds = True
                for bit in range(rules):
                    if (together >> bit) & 1 and actions[bit] == begun << 1:
                        holds = False
                for at in range(first_extra, extra):
                    if more_actions[at] == begun << 1:
                        holds = False
                if holds:
                    value = begun
                    start = time + tick
        if value != -2:
            found_groups[count] = group
            found_values[count] = value
            found_starts[count] = start
            found_ends[count] = largest
            count += 1
    return (
        found_groups[:count].copy(),
        found_values[:count].copy(),
        found_starts[:count].copy(),
        found_ends[:count].copy(),
        conflicts,
    )


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
) -> tuple[Integers, Integers, Integers, Integers, int]:
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
