"""Lists of half-open intervals `[s, e)`, and what can be done with them.

Every set operation cuts the time-line at all bounds of its operands, asks of each elementary
segment which operands hold there, and joins the segments it keeps. `e` is infinite while open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from cernis.syntax.tree import Atom, Compound, Number, Term

from .terms import listing, members

Interval = tuple[int, float]
Intervals = list[Interval]

INF = math.inf


def holds_at(intervals: Iterable[Interval], point: float) -> bool:
    """Is the point in one of the intervals?"""
    return any(start <= point < end for start, end in intervals)


def combine(lists: Sequence[Iterable[Interval]], keep: Callable[[list[bool]], bool]) -> Intervals:
    """The maximal intervals of the points where `keep` is true of who holds there, list by list."""
    operands = [list(intervals) for intervals in lists]
    cuts = sorted({bound for intervals in operands for interval in intervals for bound in interval})
    result: Intervals = []
    for start, end in pairwise(cuts):
        if not keep([holds_at(intervals, start) for intervals in operands]):
            continue
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], end)
        else:
            result.append((int(start), end))
    return result


def maximal(intervals: Iterable[Interval]) -> Intervals:
    """Sorted, disjoint, not adjacent."""
    return combine([intervals], any)


def union_all(lists: Sequence[Iterable[Interval]]) -> Intervals:
    """Where at least one holds; nowhere if there are none."""
    return combine(lists, any)


def intersect_all(lists: Sequence[Iterable[Interval]]) -> Intervals:
    """Where all hold; nowhere if there are none."""
    return combine(lists, all)


def relative_complement_all(
    first: Iterable[Interval], others: Sequence[Iterable[Interval]]
) -> Intervals:
    """Where the first holds and none of the others."""
    return combine([first, *others], lambda holding: holding[0] and not any(holding[1:]))


def before(intervals: Iterable[Interval], bound: float) -> Intervals:
    """The parts at points less than the bound."""
    return maximal((start, min(end, bound)) for start, end in intervals if start < bound)


def from_on(intervals: Iterable[Interval], bound: int) -> Intervals:
    """The parts at the bound and later."""
    return maximal((max(start, bound), end) for start, end in intervals if end > bound)


def longer_than(intervals: Iterable[Interval], duration: float, query: int) -> Intervals:
    """Those strictly longer than the duration; an open one is measured to the query time."""
    return [
        (start, end)
        for start, end in intervals
        if (query if end == INF else end) - start > duration
    ]


def shorter_than(intervals: Iterable[Interval], duration: float) -> Intervals:
    """Those that are closed and strictly shorter than the duration."""
    return [(start, end) for start, end in intervals if end != INF and end - start < duration]


RELATIONS: Mapping[str, Callable[[Interval, Interval], bool]] = {
    "before": lambda s, t: s[1] < t[0],
    "meets": lambda s, t: s[1] == t[0],
    "starts": lambda s, t: s[0] == t[0] and s[1] < t[1],
    "finishes": lambda s, t: s[1] == t[1] and s[0] > t[0],
    "during": lambda s, t: t[0] < s[0] and s[1] < t[1],
    "overlaps": lambda s, t: s[0] < t[0] < s[1] < t[1],
    "equal": lambda s, t: s == t,
}
"""The relations of Allen's, inverses left out. An open end is later than all others, and equal
to another open end."""

MODES = ("source", "target", "union", "intersect", "complement", "complement_inv")

OTHER_NAMES = {
    "lhs": "source",
    "rhs": "target",
    "intersection": "intersect",
    "relative_complement": "complement",
    "relative_complement_inverse": "complement_inv",
}
"""Further words for modes."""


def related(relation: str, source: Interval, target: Interval, closed_by: int | None) -> bool:
    """Are the intervals in the relation?

    With `closed_by`, the clock tick, it is one of the closed intervals of their points, as the
    dialect rtec has it; there a source of one point meets nothing.
    """
    if closed_by is None:
        return RELATIONS[relation](source, target)
    first, last = source[0], source[1] - closed_by
    if relation == "meets" and first == last:
        return False
    return RELATIONS[relation]((first, last), (target[0], target[1] - closed_by))


def allen(
    relation: str,
    sources: Sequence[Interval],
    targets: Sequence[Interval],
    mode: str,
    closed_by: int | None = None,
) -> Intervals:
    """What the mode makes of the sources and targets that are in some pair of the relation.

    `source` and `target` are the one or the other; the rest are set operations on the two
    selections: `complement` is source minus target, `complement_inv` target minus source.
    """
    mode = OTHER_NAMES.get(mode, mode)
    chosen = [s for s in sources if any(related(relation, s, t, closed_by) for t in targets)]
    matched = [t for t in targets if any(related(relation, s, t, closed_by) for s in sources)]
    if mode == "source":
        return maximal(chosen)
    if mode == "target":
        return maximal(matched)
    if mode == "union":
        return union_all([chosen, matched])
    if mode == "intersect":
        return intersect_all([chosen, matched])
    if mode == "complement":
        return relative_complement_all(chosen, [matched])
    return relative_complement_all(matched, [chosen])


def to_term(intervals: Iterable[Interval]) -> Term:
    """The list `[(s,e), ...]`, with `inf` for an open end."""
    return listing(
        Compound(",", (Number(start), Atom("inf") if end == INF else Number(int(end))))
        for start, end in intervals
    )


def from_term(term: Term) -> Intervals | None:
    """Intervals from their list; None for a term that is no list of intervals."""
    items = members(term)
    if items is None:
        return None
    result = []
    for item in items:
        if not (isinstance(item, Compound) and item.functor == "," and len(item.args) == 2):
            return None
        start, end = item.args
        if not isinstance(start, Number):
            return None
        # A float would not do: the last digits of large times would be lost.
        result.append((int(start.value), int(end.value) if isinstance(end, Number) else INF))
    return result
