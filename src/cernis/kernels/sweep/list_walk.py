"""Programs over the lists of intervals of a key: what is not decided from point to point.

A program has numbered lists. Some are sources: the intervals of pairs of the key itself, or of a
key that it is linked to. Each row makes one list of others. Lists are sorted and maximal: intervals
neither overlap nor touch. An open interval ends at `NEVER`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from cernis.kernels.array_types import Bytes, Matrix
from cernis.kernels.compile import part
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.word_bits import ONE, ZERO, Time, Word

UNION, INTERSECT, SUBTRACT, COMPLEMENT, LONGER, SHORTER, CONDITION, OUTPUT = range(8)
"""What a row does."""

OP, TO, SOURCE, OTHER, PARAMETER = range(5)
"""The columns of a row."""


# -- two lists -------------------------------------------------------------------------------


@part
def add_interval(to: Matrix, count: Word, start: Time, end: Time) -> Word:
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
            count = add_interval(to, count, left[one, ZERO], left[one, ONE])
            one += ONE
        else:
            count = add_interval(to, count, right[two, ZERO], right[two, ONE])
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
            count = add_interval(to, count, start, end)
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
                count = add_interval(to, count, start, right[cut, ZERO])
            start = max(start, right[cut, ONE])
            cut += ONE
        if start < end:
            count = add_interval(to, count, start, end)
    return count


@part
def _complement(left: Matrix, left_count: Word, first: Time, to: Matrix) -> Word:
    start, count = first, ZERO
    for one in range(left_count):
        if start < left[one, ZERO]:
            count = add_interval(to, count, start, left[one, ZERO])
        start = max(start, left[one, ONE])
    if start < NEVER:
        count = add_interval(to, count, start, NEVER)
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
            count = add_interval(to, count, start, end)
    return count


@part
def run_row(
    program: Matrix, row: Word, left: Matrix, left_count: Word, right: Matrix, right_count: Word,
    conditions: Bytes, key: Word, first: Time, query: Time, to: Matrix,
) -> Word:  # fmt: skip
    """What a row makes of two lists; gives how many intervals there are.

    An output is made elsewhere: it rests on what was derived before, too.
    """
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
    is_met = conditions[np.uint64(limit), key] != 0
    return _unite(left, left_count if is_met else ZERO, left, ZERO, to)


# -- the plain twin --------------------------------------------------------------------------


PlainList = list[tuple[int, int]]


def plain_lists(
    program: Matrix, slots: int, sources: list[PlainList], conditions: list[bool], start: int,
    query: int, tick: int, reported: Sequence[PlainList] = (), bound: int | None = None,
    reaches: Sequence[int] = (),
) -> list[PlainList]:  # fmt: skip
    """All lists of one key by the points that they hold at.

    Set operations look at each stretch between two ends of any list. Up to the bound, outputs are
    what was reported before, but for what goes on after it: that may begin earlier by its reach.
    """
    lists = [*sources, *([] for _ in range(slots - len(sources)))]
    bound = start + tick if bound is None else bound
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
            lists[to] = [(s, e) for s, e in one if (query if e == NEVER else e) - s > parameter]
        elif op == SHORTER:
            lists[to] = [(s, e) for s, e in one if e != NEVER and e - s < parameter]
        elif op == OUTPUT:
            before = reported[parameter] if reported else []
            oldest = bound - (reaches[parameter] if len(reaches) else 0)
            cut = [(s, min(e, bound)) for s, e in before if s < bound and e >= oldest]
            new = [(max(s, oldest), e) for s, e in one if e > bound]
            lists[to] = _plain_stretches(cut, new, lambda left, right: left or right)
        else:
            lists[to] = list(one) if conditions[parameter] else []
    return lists


def _plain_stretches(
    one: PlainList, two: PlainList, holds: Callable[[bool, bool], bool]
) -> PlainList:
    bounds = sorted({bound for interval in (*one, *two) for bound in interval})
    united: PlainList = []
    for start, end in pairwise(bounds):
        inside = (any(s <= start < e for s, e in intervals) for intervals in (one, two))
        if holds(*inside):
            if united and united[-1][1] == start:
                start = united.pop()[0]
            united.append((start, end))
    return united
