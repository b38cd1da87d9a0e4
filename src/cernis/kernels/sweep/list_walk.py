"""Programs over the lists of intervals of a key: what is not decided from point to point.

A program has numbered lists. The first are given: the intervals of pairs of the key itself, or of a
key that it is linked to. Each row makes one list of others. Lists are sorted and maximal: intervals
neither overlap nor touch. An open interval ends at `NEVER`.

Over the edge of a window: intervals that ended before it are forgotten, and with them what may have
cut a list there. So for each list of each key it is known since when it has held at the edge, if it
does. All lists are cut there first; a result that holds at the first point after the edge, and held
at the edge, goes on since then.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Bytes, Integers, Matrix
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

UNION, INTERSECT, SUBTRACT, COMPLEMENT, LONGER, SHORTER = range(6)
REQUIRE, REQUIRE_EMPTY, CONDITION = range(6, 9)
"""What a row does."""

OP, TO, SOURCE, OTHER, PARAMETER = range(5)
"""The columns of a row."""

NO_EDGE = int(np.iinfo(np.int64).min) // 2
"""The edge before the first window: nothing has been forgotten."""
NOT_HELD = int(NEVER)
"""Since when a list has held that does not hold."""


# -- two lists -------------------------------------------------------------------------------


@part
def _add(to: Matrix, count: Word, start: Time, end: Time) -> Word:
    """Add an interval to a list; one that touches the last is united with it."""
    if count > ZERO and to[count - ONE, ONE] >= start:
        to[count - ONE, ONE] = max(to[count - ONE, ONE], end)
        return count
    to[count, ZERO] = start
    to[count, ONE] = end
    return count + ONE


@part
def _unite(left: Matrix, left_count: Word, right: Matrix, right_count: Word, to: Matrix) -> Word:
    one, two, count = ZERO, ZERO, ZERO
    while one < left_count or two < right_count:
        if two == right_count or (one < left_count and left[one, ZERO] <= right[two, ZERO]):
            count = _add(to, count, left[one, ZERO], left[one, ONE])
            one += ONE
        else:
            count = _add(to, count, right[two, ZERO], right[two, ONE])
            two += ONE
    return count


@part
def _intersect(
    left: Matrix, left_count: Word, right: Matrix, right_count: Word, to: Matrix
) -> Word:
    one, two, count = ZERO, ZERO, ZERO
    while one < left_count and two < right_count:
        start = max(left[one, ZERO], right[two, ZERO])
        end = min(left[one, ONE], right[two, ONE])
        if start < end:
            count = _add(to, count, start, end)
        if left[one, ONE] < right[two, ONE]:
            one += ONE
        else:
            two += ONE
    return count


@part
def _subtract(left: Matrix, left_count: Word, right: Matrix, right_count: Word, to: Matrix) -> Word:
    two, count = ZERO, ZERO
    for one in range(left_count):
        start, end = left[one, ZERO], left[one, ONE]
        while two < right_count and right[two, ONE] <= start:
            two += ONE
        cut = two
        while cut < right_count and right[cut, ZERO] < end:
            if start < right[cut, ZERO]:
                count = _add(to, count, start, right[cut, ZERO])
            start = max(start, right[cut, ONE])
            cut += ONE
        if start < end:
            count = _add(to, count, start, end)
    return count


@part
def _complement(left: Matrix, left_count: Word, first: Time, to: Matrix) -> Word:
    start, count = first, ZERO
    for one in range(left_count):
        if start < left[one, ZERO]:
            count = _add(to, count, start, left[one, ZERO])
        start = max(start, left[one, ONE])
    if start < NEVER:
        count = _add(to, count, start, NEVER)
    return count


@part
def _by_duration(
    left: Matrix, left_count: Word, limit: Time, query: Time, is_longer: bool, to: Matrix
) -> Word:
    """Those strictly longer than the limit, or those that are closed and strictly shorter.

    An open one is measured to the query.
    """
    count = ZERO
    for one in range(left_count):
        start, end = left[one, ZERO], left[one, ONE]
        if is_longer:
            is_kept = (query if end == NEVER else end) - start > limit
        else:
            is_kept = end != NEVER and end - start < limit
        if is_kept:
            count = _add(to, count, start, end)
    return count


# -- the edge --------------------------------------------------------------------------------


@part
def _cut(to: Matrix, count: Word, edge: Time, tick: Time) -> Word:
    """What is after the edge."""
    kept = ZERO
    for place in range(count):
        if to[place, ONE] > edge + tick:
            to[kept, ZERO] = max(to[place, ZERO], edge + tick)
            to[kept, ONE] = to[place, ONE]
            kept += ONE
    return kept


@part
def _with_start(to: Matrix, count: Word, edge: Time, tick: Time, since: Time) -> None:
    """Let what holds from the first point after the edge on go on since then, if it held before."""
    if count > ZERO and to[ZERO, ZERO] == edge + tick and since != NOT_HELD:
        to[ZERO, ZERO] = since


@part
def since_edge(to: Matrix, count: Word, edge: Time) -> Time:
    """Since when a list has held at an edge."""
    for place in range(count):
        if to[place, ZERO] <= edge < to[place, ONE]:
            return to[place, ZERO]
    return np.int64(NOT_HELD)


# -- a program -------------------------------------------------------------------------------


@part
def _run_row(
    program: Matrix, row: Word, left: Matrix, left_count: Word, right: Matrix, right_count: Word,
    conditions: Bytes, key: Word, first: Time, query: Time, to: Matrix,
) -> Word:  # fmt: skip
    """What a row makes of two lists; gives how many intervals there are."""
    op, limit = program[row, np.uint64(OP)], program[row, np.uint64(PARAMETER)]
    if op == UNION:
        return _unite(left, left_count, right, right_count, to)
    if op == INTERSECT:
        return _intersect(left, left_count, right, right_count, to)
    if op == SUBTRACT:
        return _subtract(left, left_count, right, right_count, to)
    if op == COMPLEMENT:
        return _complement(left, left_count, first, to)
    if op in (LONGER, SHORTER):
        return _by_duration(left, left_count, limit, query, op == LONGER, to)
    if op == REQUIRE:
        is_kept = right_count > ZERO
    elif op == REQUIRE_EMPTY:
        is_kept = right_count == ZERO
    else:
        is_kept = conditions[np.uint64(limit), key] != 0
    return _unite(left, left_count if is_kept else ZERO, left, ZERO, to)


@part
def _load(begin: Time, stop: Time, starts: Integers, ends: Integers, to: Matrix) -> Word:
    """Copy the intervals of a source."""
    count = ZERO
    for place in range(begin, stop):
        count = _add(to, count, starts[place], ends[place])
    return count


@part
def _is_set_operation(op: Time) -> bool:
    """Is it one whose result at a point depends on its operands at that point alone?"""
    return bool(op <= COMPLEMENT)


@part
def _copied(source: Matrix, count: Word, to: Matrix) -> Word:
    for place in range(count):
        to[place, ZERO], to[place, ONE] = source[place, ZERO], source[place, ONE]
    return count


@part
def run_program(
    program: Matrix, conditions: Bytes, key: Word, edge: Time, since: Matrix, first: Time,
    query: Time, tick: Time, lists: Matrix, sizes: Integers,
) -> None:  # fmt: skip
    """Make all lists of a key from those that are given; the last three are for work."""
    slots = np.uint64(since.shape[1])
    left, right, result = lists[slots], lists[slots + ONE], lists[slots + ONE + ONE]
    for row in range(np.uint64(len(program))):
        to = np.uint64(program[row, np.uint64(TO)])
        one = np.uint64(program[row, np.uint64(SOURCE)])
        two = np.uint64(program[row, np.uint64(OTHER)])
        left_count = _copied(lists[one], np.uint64(sizes[one]), left)
        right_count = _copied(lists[two], np.uint64(sizes[two]), right)
        is_cut = edge != NO_EDGE and _is_set_operation(program[row, np.uint64(OP)])
        from_then = first
        if is_cut:
            left_count = _cut(left, left_count, edge, tick)
            right_count = _cut(right, right_count, edge, tick)
            from_then = max(first, edge + tick)
        count = _run_row(
            program, row, left, left_count, right, right_count, conditions, key, from_then, query,
            result,
        )  # fmt: skip
        if is_cut:
            _with_start(result, count, edge, tick, since[key, to])
        sizes[to] = np.int64(_copied(result, count, lists[to]))


@kernel(
    "matrix integers matrix matrix integers integers byte-matrix integers matrix integers "
    "writable-matrix integer integer integer writable-cube writable-integers writable-matrix "
    "writable-integers",
    "boolean",
    counted=(2, 4),
)
def _run_lists(
    program: Matrix, outputs: Integers, begins: Matrix, stops: Matrix, starts: Integers,
    ends: Integers, conditions: Bytes, edges: Integers, since: Matrix, next_edges: Integers,
    since_after: Matrix, first: int, query: int, tick: int, lists: Matrix, sizes: Integers,
    output: Matrix, progress: Integers,
) -> bool:  # fmt: skip
    slots = np.uint64(since.shape[1])
    for key in range(np.uint64(progress[0]), np.uint64(begins.shape[1])):
        written, edge = np.uint64(progress[1]), edges[key]
        if written + np.uint64(lists.shape[1] * len(outputs)) > np.uint64(len(output)):
            return False
        for slot in range(slots):
            sizes[slot] = 0
        for slot in range(np.uint64(begins.shape[0])):
            sizes[slot] = np.int64(
                _load(begins[slot, key], stops[slot, key], starts, ends, lists[slot])
            )
        run_program(program, conditions, key, edge, since, first, query, tick, lists, sizes)
        for slot in range(slots):
            since_after[key, slot] = since_edge(
                lists[slot], np.uint64(sizes[slot]), next_edges[key]
            )
        for number in range(np.uint64(len(outputs))):
            result_slot = np.uint64(outputs[number])
            for place in range(np.uint64(sizes[result_slot])):
                output[written, np.uint64(0)] = np.int64(number)
                output[written, np.uint64(1)] = np.int64(key)
                output[written, np.uint64(2)] = lists[result_slot, place, ZERO]
                output[written, np.uint64(3)] = lists[result_slot, place, ONE]
                written += ONE
        progress[0], progress[1] = np.int64(key) + 1, np.int64(written)
    return True


class ListInput(NamedTuple):
    """The lists that a program begins with, for as many keys as there are columns.

    List number s of key k has the intervals of `starts` and `ends` from `begins[s, k]` up to
    `stops[s, k]`, in order; lists of other keys that it is linked to are given so, too.
    `conditions` has a row for each condition of the program: 1 for keys that meet it.
    """

    begins: Matrix
    stops: Matrix
    starts: Integers
    ends: Integers
    conditions: Bytes


class ListEdges(NamedTuple):
    """For each key the edge of its lists (or `NO_EDGE`), and since when each list has held there.

    A list that does not hold at the edge is `NOT_HELD`.
    """

    edges: Integers
    since: Matrix


class ListResults(NamedTuple):
    """Intervals by output, key and start; and what is known of all lists at the next edges."""

    outputs: Integers
    keys: Integers
    starts: Integers
    ends: Integers
    since: Matrix


def run_lists(
    program: Matrix, slots: int, outputs: Integers, given_lists: ListInput, edges: ListEdges,
    next_edges: Integers, start: int, query: int, tick: int,
) -> ListResults:  # fmt: skip
    """Run a program for some keys.

    `start` is the start of the run: complements begin a tick after it. Where lists have an edge,
    results before it are those that reach it, with their true starts.
    """
    keys = given_lists.begins.shape[1]
    total = (given_lists.stops - given_lists.begins).sum(axis=0)
    longest = int(total.max(initial=0)) + len(program) + 2
    lists = np.empty((slots + 3, longest, 2), np.int64)
    since_after = np.empty((keys, slots), np.int64)
    output = np.empty((int(total.sum()) + 2 * longest * max(len(outputs), 1), 4), np.int64)
    progress = np.zeros(2, np.int64)
    while not _run_lists(
        program, outputs, *given_lists, edges.edges, edges.since, next_edges, since_after,
        start + tick, query, tick, lists, np.zeros(slots, np.int64), output, progress,
    ):  # fmt: skip
        larger = np.empty((2 * len(output), 4), np.int64)
        larger[: progress[1]] = output[: progress[1]]
        output = larger
    rows = output[: progress[1]]
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    numbers, own_keys, starts, ends = (np.ascontiguousarray(column) for column in rows.T)
    return ListResults(numbers, own_keys, starts, ends, since_after)


# -- the plain twin --------------------------------------------------------------------------


def plain_lists(
    program: Matrix, slots: int, given_lists: list[list[tuple[int, int]]], conditions: list[bool],
    start: int, query: int, tick: int,
) -> list[list[tuple[int, int]]]:  # fmt: skip
    """All lists of one key by the points that they hold at, without windows.

    Set operations look at each stretch between two ends of any list.
    """
    lists = [*given_lists, *([] for _ in range(slots - len(given_lists)))]
    for op, to, source, other, parameter in program.tolist():
        one, two = lists[source], lists[other]
        if op == COMPLEMENT:
            two, one = one, [(start + tick, int(NEVER))]
        if op == UNION:
            lists[to] = _plain_stretches(one, two, lambda left, right: left or right)
        elif op == INTERSECT:
            lists[to] = _plain_stretches(one, two, lambda left, right: left and right)
        elif op in (SUBTRACT, COMPLEMENT):
            lists[to] = _plain_stretches(one, two, lambda left, right: left and not right)
        elif op == LONGER:
            lists[to] = [
                (s, e) for s, e in one if min(e, query if e == NEVER else e) - s > parameter
            ]
        elif op == SHORTER:
            lists[to] = [(s, e) for s, e in one if e != NEVER and e - s < parameter]
        else:
            kept = {REQUIRE: bool(two), REQUIRE_EMPTY: not two}.get(op)
            lists[to] = list(one) if (conditions[parameter] if kept is None else kept) else []
    return lists


def _plain_stretches(
    one: list[tuple[int, int]], two: list[tuple[int, int]], holds: Callable[[bool, bool], bool]
) -> list[tuple[int, int]]:
    bounds = sorted({bound for interval in (*one, *two) for bound in interval})
    united: list[tuple[int, int]] = []
    for start, end in pairwise(bounds):
        inside = (any(s <= start < e for s, e in intervals) for intervals in (one, two))
        if holds(*inside):
            if united and united[-1][1] == start:
                start = united.pop()[0]
            united.append((start, end))
    return united
