"""Pairs of matches: which two of them an operator joins, under each policy of consumption.

Everything is asked of all groups at once, a group being the matches that agree in the variables
that both sides have. Where a time must be the same on both sides (`meets`, `starts`, `finishes`,
`equals`), it is part of the group.

- unrestricted: all pairs that fit;
- recent: each match with the last that came before it and fits; of those that end together, the
  last to start, or the one that is preferred;
- chronological: each with the first that came before it, fits and is not used up; of those that
  start together, the first to end, or the one that is preferred.

Conditions around a step belong to fitting. Then, where absence depends on the very two that are
combined, and where something else than the shorter one is preferred, all pairs that fit otherwise
are made and the policy selects among those that are left. Without such conditions the selection is
one pass over both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from cernis.check.model import Preference
from cernis.check.rewrites.validity import START
from cernis.errors import TooManyMatches
from cernis.kernels import match, queues
from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.bounds import TooManyPairs
from cernis.operators.collections import ROW
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_context import Context
from cernis.operators.expressions import identity
from cernis.operators.patterns.matches import (
    Ordered,
    are_points,
    arrival_ranks,
    arriving,
    folded,
    mirrored,
    once,
    ordered,
    reversed_order,
    shared_groups,
    starts_of,
    value_ranks,
)
from cernis.plan.pattern_steps import Absent, Around, Join
from cernis.tables.columns import Column, Rows

Refining: TypeAlias = Callable[[Around, Rows, Context], Rows]

_NONE = np.empty(0, np.int64)

_FEW = 8
"""How many times fewer matches than the other side has are few."""


@dataclass(frozen=True, slots=True)
class Relating:
    """How an operator is asked for: the relation, which times must agree, and who comes last.

    `same` are edges of the left and of the right that must be equal, 0 for starts and 1 for ends.
    The trigger, which comes last, is the right side, the left or either.
    """

    relation: int
    same: tuple[tuple[int, int], ...] = ()
    trigger: str = "right"


_OPERATORS = {
    "seq": Relating(match.BEFORE),
    "meets": Relating(match.ANY, ((1, 0),)),
    "equals": Relating(match.ANY, ((0, 0), (1, 1))),
    "during": Relating(match.INSIDE),
    "starts": Relating(match.ENDS_BEFORE, ((0, 0),)),
    "finishes": Relating(match.STARTS_BEFORE, ((1, 1),), "left"),
    "and": Relating(match.BOTH, (), "either"),
    "par": Relating(match.OVERLAP, (), "either"),
}


def joined(
    step: Join, left: list[Rows], right: list[Rows], absent: list[Rows], context: Context,
    refine: Refining,
) -> list[Rows]:  # fmt: skip
    """The matches of a step with two inputs."""
    try:
        return _joined(step, left, right, absent, context, refine)
    except TooManyPairs as error:
        raise TooManyMatches(str(error), step.span) from None


def _joined(
    step: Join, left: list[Rows], right: list[Rows], absent: list[Rows], context: Context,
    refine: Refining,
) -> list[Rows]:  # fmt: skip
    plain = not step.around and (step.absent is None or _is_bound(step.absent, right))
    plain = plain and _is_usual(step.preference, [*left, *right])
    if step.consumption == "unrestricted":
        parts = [
            _candidates(step, one, other, absent, context, refine)
            for one in left
            for other in right
        ]
    elif plain and len(left) == len(right) == 1:
        parts = [_selected(step, left[0], right[0], absent, context.caches)]
    else:
        parts = _selected_of_all(step, left, right, absent, context, refine)
    return _alike(parts)


def _is_usual(preference: Preference | None, matches: list[Rows]) -> bool:
    """Does a preference choose what is chosen without it?"""
    if preference is None or preference.kind == "shorter":
        return True
    return preference.kind == "longer" and all(map(are_points, matches))


def _alike(parts: list[Rows]) -> list[Rows]:
    """Tables that are not empty, or one that is."""
    some = [rows for rows in parts if rows.length]
    return some or parts[:1]


# -- one table with one ----------------------------------------------------------------------


class Sides:
    """Two tables of matches in groups, and what is asked of them."""

    def __init__(self, step: Join, left: Rows, right: Rows, caches: QueryCaches) -> None:
        self.how = _OPERATORS[step.operator]
        self._caches = caches
        self.limit = step.limit
        self.left, self.right = left, right
        shared = [n for n in step.left.names if n in left.columns and n in right.columns]
        self._names = [n for n in step.left.names if n not in shared]
        self._right_names = [n for n in step.right.names if n not in shared]
        self._shared = shared
        groups = shared_groups(left, right, shared, caches)
        for edge, right_edge in self.how.same:
            times, right_times = _edge(left, edge), _edge(right, right_edge)
            groups = folded(groups[0], times, groups[1], right_times)
        self.groups, self.right_groups, self.size = groups

    def pairs(self, least: Integers) -> tuple[Integers, Integers]:
        """Rows of the left and of the right that fit."""
        relation = self.how.relation
        if self.how.trigger == "left":
            others = self._ordered(self.right, self.right_groups)
            right, left = self._pairs(relation, self.left, self.groups, others, least)
            return left, right
        others = self._ordered(self.left, self.groups)
        return self._pairs(relation, self.right, self.right_groups, others, least)

    def pairs_of_few(self, most: Integers) -> tuple[Integers, Integers]:
        """As `pairs` of a sequence, found from the left: it costs no pass over the right.

        `most`, where it is given, is for each row of the left the latest start of a right. Where
        time runs backwards, the left is what follows.
        """
        others = self._ordered(self.right, self.right_groups, backwards=True)
        rows, groups = mirrored(self.left), self.size - 1 - self.groups
        right, left = self._pairs(match.BEFORE, rows, groups, others, -most)
        return left, right

    @property
    def has_few(self) -> bool:
        """Is it a sequence, and are there so few on the left that to begin there is least work?"""
        return self.how.relation == match.BEFORE and _FEW * self.left.length < self.right.length

    def _ordered(self, rows: Rows, groups: Integers, backwards: bool = False) -> Ordered:
        if self.how.same:
            return ordered(rows, groups, self.size)
        return _in_order(rows, groups, self.size, self._shared, self._caches, backwards)

    def _pairs(
        self, relation: int, rows: Rows, groups: Integers, others: Ordered, least: Integers
    ) -> tuple[Integers, Integers]:
        places, triggers = match.pairs(
            relation, self.limit, groups, _contiguous(starts_of(rows)),
            _contiguous(rows.points), least, others.offsets, others.starts, others.ends,
        )  # fmt: skip
        return others.rows(places), triggers

    def latest(self, least: Integers) -> tuple[Integers, Integers]:
        """Each match with the last that came before it and fits."""
        pairs = []
        if self.how.trigger != "left":
            others = arriving(self.left, self.groups, self.size, self._names)
            pairs.append(self._latest(self.right, self.right_groups, others, least, 0))
        if self.how.trigger != "right":
            others = arriving(self.right, self.right_groups, self.size, self._right_names)
            pairs.append(self._latest(self.left, self.groups, others, least, 1)[::-1])
        return np.concatenate([f[0] for f in pairs]), np.concatenate([f[1] for f in pairs])

    def _latest(
        self, rows: Rows, groups: Integers, others: Ordered, least: Integers, strict: int
    ) -> tuple[Integers, Integers]:
        places = match.latest(
            self.how.relation, self.limit, strict, groups, _contiguous(starts_of(rows)),
            _contiguous(rows.points), least, others.offsets, others.starts, others.ends,
        )  # fmt: skip
        triggers = np.flatnonzero(places >= 0)
        return others.rows(places[triggers]), triggers

    def first(self, least: Integers) -> tuple[Integers, Integers]:
        """Each match with the first that came before it, fits and is not used up."""
        left = arriving(self.left, self.groups, self.size, self._names, unique=True)
        right = arriving(self.right, self.right_groups, self.size, self._right_names, unique=True)
        if self.how.trigger == "either":
            return self._first_of_both(left, right)
        if self.how.trigger == "left":
            others, triggers = self._first(right, left, least)
            return triggers, others
        return self._first(left, right, least)

    def _first(
        self, others: Ordered, triggers: Ordered, least: Integers
    ) -> tuple[Integers, Integers]:
        order, by_start = _by_start(others)
        own_least = least[triggers.order] if len(least) and triggers.order is not None else least
        places = queues.first(
            self.how.relation, self.limit, triggers.groups, triggers.starts, triggers.ends,
            own_least, others.offsets, by_start.starts, by_start.ends,
        )  # fmt: skip
        chosen = np.flatnonzero(places >= 0)
        return others.rows(order[places[chosen]]), triggers.rows(chosen)

    def _first_of_both(self, left: Ordered, right: Ordered) -> tuple[Integers, Integers]:
        count = len(left.groups)
        sides = np.repeat([0, 1], [count, len(right.groups)])
        groups, starts, ends = (
            np.concatenate(both)
            for both in zip(
                (left.groups, left.starts, left.ends), (right.groups, right.starts, right.ends),
                strict=True,
            )
        )  # fmt: skip
        # Both sides come in order, so a stable sort keeps the order of equal ones.
        coming = np.lexsort((sides, starts, ends, groups))
        rank = np.empty(len(coming), np.int64)
        rank[coming] = np.arange(len(coming))
        queue = np.lexsort((rank, ends, starts, groups))
        place = np.empty(len(queue), np.int64)
        place[queue] = np.arange(len(queue))
        offsets = left.offsets + right.offsets
        partners = queues.first_of_both(
            self.how.relation, self.limit, groups[coming], place[coming], offsets, sides[queue],
            starts[queue], ends[queue],
        )  # fmt: skip
        lefts = np.flatnonzero((partners >= 0) & (sides[queue] == 0))
        found, right_found = queue[lefts], queue[partners[lefts]] - count
        return left.rows(found), right.rows(right_found)


def _by_start(others: Ordered) -> tuple[Integers, Ordered]:
    """Others in the order in which they are taken: by start, then end, then as they came."""
    if others.starts is others.ends:
        return np.arange(len(others.starts)), others
    order = np.lexsort((others.ends, others.starts, others.groups))
    starts, ends = others.starts[order], others.ends[order]
    return order, Ordered(order, others.groups, starts, ends, others.offsets)


def _edge(rows: Rows, edge: int) -> Integers:
    return rows.points if edge else starts_of(rows)


def _contiguous(values: Integers) -> Integers:
    return np.ascontiguousarray(values)


def _selected(step: Join, left: Rows, right: Rows, absent: list[Rows], caches: QueryCaches) -> Rows:
    sides = Sides(step, left, right, caches)
    least = _least(step, right, absent, caches)
    found = sides.latest(least) if step.consumption == "recent" else sides.first(least)
    return combined_rows(step, left, right, *found)


def combined_rows(step: Join, left: Rows, right: Rows, lefts: Integers, rights: Integers) -> Rows:
    """Rows of both sides beside one another, with the interval that the operator gives."""
    one, other = left.take(lefts), right.take(rights)
    columns = {**other.columns, **one.columns}
    if step.operator in ("and", "par"):
        starts = Column(np.minimum(starts_of(one), starts_of(other)))
        return Rows(
            one.length, {**columns, START: starts}, Column(np.maximum(one.points, other.points))
        )
    if step.operator in ("during", "finishes"):
        return Rows(one.length, {**columns, START: other.columns[START]}, other.times)
    return Rows(one.length, {**columns, START: one.columns[START]}, other.times)


# -- candidates ------------------------------------------------------------------------------


def _candidates(
    step: Join, left: Rows, right: Rows, absent: list[Rows], context: Context, refine: Refining,
    pairs: list[tuple[Integers, Integers]] | None = None,
) -> Rows:  # fmt: skip
    """All pairs that fit in every way; in `pairs` their rows are left, by the column ROW."""
    sides = Sides(step, left, right, context.caches)
    few = sides.has_few and (step.absent is None or _is_bound(step.absent, [left]))
    bound = step.absent is not None and (few or _is_bound(step.absent, [right]))
    if few:
        lefts, rights = sides.pairs_of_few(_most(step, left, absent, context.caches))
    else:
        lefts, rights = sides.pairs(_least(step, right, absent, context.caches) if bound else _NONE)
    if step.absent is not None and not bound:
        kept = without_absent(step, left, right, lefts, rights, absent, context, refine)
        lefts, rights = lefts[kept], rights[kept]
    rows = combined_rows(step, left, right, lefts, rights)
    if pairs is not None:
        pairs.append((lefts, rights))
        rows = rows.with_columns({ROW: Column(np.arange(rows.length))})
    for around in step.around:
        rows = refine(around, rows, context)
    return rows


def _selected_of_all(
    step: Join, left: list[Rows], right: list[Rows], absent: list[Rows], context: Context,
    refine: Refining,
) -> list[Rows]:  # fmt: skip
    """The pairs that a policy selects among all that fit."""
    if step.consumption == "chronological":
        left = [once(rows, step.left.names) for rows in left]
        right = [once(rows, step.right.names) for rows in right]
    pairs: list[tuple[Integers, Integers]] = []
    parts = [
        _candidates(step, one, other, absent, context, refine, pairs)
        for one in left
        for other in right
    ]
    first, right_first = _begins(left), _begins(right)
    which = [np.unique(rows.columns[ROW].expanded(rows.length)) for rows in parts]
    lefts, rights = [], []
    for number, chosen_pairs in enumerate(which):
        lefts.append(pairs[number][0][chosen_pairs] + first[number // len(right)])
        rights.append(pairs[number][1][chosen_pairs] + right_first[number % len(right)])
    chosen = _choice(step, left, right, np.concatenate(lefts), np.concatenate(rights))
    kept = np.split(chosen, np.cumsum([len(chosen_pairs) for chosen_pairs in which])[:-1])
    return [
        _of_pairs(rows, chosen_pairs[mask])
        for rows, chosen_pairs, mask in zip(parts, which, kept, strict=True)
    ]


def _of_pairs(rows: Rows, chosen: Integers) -> Rows:
    mask = np.isin(rows.columns[ROW].expanded(rows.length), chosen)
    rows = rows.take(np.flatnonzero(mask))
    return Rows(rows.length, {n: c for n, c in rows.columns.items() if n != ROW}, rows.times)


def _begins(matches: Sequence[Rows]) -> list[int]:
    """Which number the first match of each table has, counted over all."""
    return [0, *accumulate(rows.length for rows in matches)][:-1]


def _choice(
    step: Join, left: list[Rows], right: list[Rows], lefts: Integers, rights: Integers
) -> Booleans:
    """Which pairs are selected; matches are counted over all tables of their side."""
    order, triggers = selection_order(step, left, right, lefts, rights)
    chosen = np.zeros(len(lefts), np.bool_)
    if step.consumption == "recent":
        triggers = triggers[order]
        is_first = np.r_[True, triggers[1:] != triggers[:-1]][: len(order)]
        chosen[order[is_first]] = True
        return chosen
    counts = (sum(rows.length for rows in side) for side in (left, right))
    chosen[order] = queues.choose(lefts[order], rights[order], *counts)
    return chosen


def selection_order(
    step: Join, left: list[Rows], right: list[Rows], lefts: Integers, rights: Integers
) -> tuple[Integers, Integers]:
    """The order in which a policy tries pairs that fit, and the trigger of each pair.

    The trigger is the one that comes last, and looks for the other: a number for each match of
    either side. All pairs of a trigger follow one another, and the best is the first of them.
    Under `chronological`, triggers are in the order in which they come.
    """
    ranks = arrival_ranks(left, step.left.names)
    right_ranks = arrival_ranks(right, step.right.names)
    ends, starts, later = _arrivals(left, right, lefts, rights)
    trigger = np.where(later, rights + len(ranks), lefts)
    if not len(lefts):
        return np.empty(0, np.int64), trigger
    rank = np.where(later, ranks[lefts], right_ranks[rights])
    other_start, other_end = (np.where(later, edge[0], edge[1]) for edge in (starts, ends))
    preferred: Integers = np.zeros(len(lefts), np.int64)
    if step.preference is not None and step.preference.variable:
        preferred = np.where(later, *_preferred(step.preference, left, right, lefts, rights))
    elif step.preference is not None and step.preference.kind == "longer":
        preferred = other_end - other_start
    if step.consumption == "recent":
        return np.lexsort((-rank, -preferred, -other_end, trigger)), trigger
    own_rank = np.where(later, right_ranks[rights], ranks[lefts])
    own_start, own_end = (np.where(later, edge[1], edge[0]) for edge in (starts, ends))
    order = np.lexsort(
        (rank, other_end, -preferred, other_start, own_rank, later, own_start, own_end)
    )
    return order, trigger


def _preferred(
    preference: Preference, left: list[Rows], right: list[Rows], lefts: Integers, rights: Integers
) -> tuple[Integers, Integers]:
    """By how much the left and the right of each pair is preferred by the value of a variable.

    A match without the variable is preferred least.
    """
    preferred = []
    for rows, chosen in ((left, lefts), (right, rights)):
        ranks = value_ranks(rows, preference.variable)
        if preference.kind == "least":
            ranks = np.where(ranks < 0, ranks, ranks.max(initial=0) - ranks)
        preferred.append(ranks[chosen])
    return preferred[0], preferred[1]


def _arrivals(
    left: list[Rows], right: list[Rows], lefts: Integers, rights: Integers
) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers], Booleans]:
    """Ends and starts of both, and whether the right one comes later; ties: left before right."""
    ends = (_all_ends(left)[lefts], _all_ends(right)[rights])
    starts = (_all_starts(left)[lefts], _all_starts(right)[rights])
    later = (ends[1] > ends[0]) | ((ends[1] == ends[0]) & (starts[1] >= starts[0]))
    return ends, starts, later


def _all_ends(matches: list[Rows]) -> Integers:
    return np.concatenate([rows.points for rows in matches])


def _all_starts(matches: list[Rows]) -> Integers:
    return np.concatenate([starts_of(rows) for rows in matches])


# -- absence ---------------------------------------------------------------------------------


def _is_bound(absent: Absent, side: Sequence[Rows]) -> bool:
    """Does one side alone say what must be absent?"""
    names = _outer(absent)
    return not absent.around and all(names <= rows.columns.keys() for rows in side)


def _outer(absent: Absent) -> set[str]:
    """The variables that what is absent shares with what is around it."""
    return {name for name in absent.part.names if not name.startswith("A")}


def _least(step: Join, right: Rows, absent: list[Rows], caches: QueryCaches) -> Integers:
    """For each row of the right, the smallest end of a left that still has nothing in between.

    The rounds of a recursion ask for the same again.
    """
    if step.absent is None:
        return _NONE
    names = sorted(_outer(step.absent))
    columns = [_columns(rows, names) for rows in (right, *absent)]
    present = [tuple(name in rows.columns for name in names) for rows in (right, *absent)]
    name = (
        "least",
        *present,
        *(identity(column) for columns_of_part in columns for column in columns_of_part),
    )
    if name not in caches.computed:
        bounds = [
            _latest_start(step.absent, right, starts_of(right), rows, caches) for rows in absent
        ]
        caches.computed[name] = (np.maximum.reduce(bounds), columns)
    least: Integers = caches.computed[name][0]
    return least


def _most(step: Join, left: Rows, absent: list[Rows], caches: QueryCaches) -> Integers:
    """For each row of the left, the largest start of a right that still has nothing in between.

    Of what is absent and starts after the left, the first to end decides. That is the least end
    where time runs backwards.
    """
    if step.absent is None:
        return _NONE
    points = -_contiguous(left.points)
    bounds = [_latest_start(step.absent, left, points, own, caches, True) for own in absent]
    most: Integers = -np.maximum.reduce(bounds)
    return most


def _latest_start(
    absent: Absent, rows: Rows, points: Integers, others: Rows, caches: QueryCaches,
    backwards: bool = False,
) -> Integers:  # fmt: skip
    shared = sorted(_outer(absent) & others.columns.keys() & rows.columns.keys())
    other_groups, groups, size = shared_groups(others, rows, shared, caches)
    groups = size - 1 - groups if backwards else groups
    own = _in_order(others, other_groups, size, shared, caches, backwards)
    return match.latest_start_before(
        _contiguous(groups), _contiguous(points), own.offsets, own.ends, own.tops
    )


def _in_order(
    rows: Rows, groups: Integers, size: int, names: Sequence[str], caches: QueryCaches,
    backwards: bool = False,
) -> Ordered:  # fmt: skip
    """Matches in order, grouped by the values of some variables.

    Several rules may ask for it, and the rounds of a recursion do.
    """
    columns = _columns(rows, names)
    name = ("in order", size, backwards, *map(identity, columns))
    if name not in caches.computed:
        if not backwards:
            in_time = ordered(rows, groups, size)
        elif are_points(rows):
            in_time = reversed_order(_in_order(rows, groups, size, names, caches))
        else:
            in_time = ordered(mirrored(rows), size - 1 - groups, size)
        caches.computed[name] = (in_time, columns)
    known: Ordered = caches.computed[name][0]
    return known


def _columns(rows: Rows, names: Sequence[str]) -> list[Column]:
    """The columns that say when matches are, and some others as far as they have them."""
    assert rows.times is not None
    some = (rows.columns[name] for name in names if name in rows.columns)
    return [rows.columns[START], rows.times, *some]


def without_absent(
    step: Join, left: Rows, right: Rows, lefts: Integers, rights: Integers, absent: list[Rows],
    context: Context, refine: Refining,
) -> Integers:  # fmt: skip
    """The pairs with nothing absent in between, where that depends on both of the two."""
    assert step.absent is not None
    rows = combined_rows(step, left, right, lefts, rights)
    gap_starts, gap_ends = left.points[lefts], starts_of(right)[rights]
    blocked = np.zeros(rows.length, np.bool_)
    for others in absent:
        if step.absent.around:
            blocking = blocking_rows(
                step.absent, rows, gap_starts, gap_ends, others, context, refine
            )
            blocked[blocking.columns[ROW].expanded(blocking.length)] = True
        else:
            latest = _latest_start(step.absent, rows, gap_ends, others, context.caches)
            blocked |= latest > gap_starts
    return np.flatnonzero(~blocked)


def blocking_rows(
    absent: Absent, rows: Rows, gap_starts: Integers, gap_ends: Integers, others: Rows,
    context: Context, refine: Refining,
) -> Rows:  # fmt: skip
    """What lies in the gap of a row and satisfies the conditions on what is absent.

    The column ROW names the row. Columns of both come beside one another.
    """
    shared = sorted(_outer(absent) & others.columns.keys() & rows.columns.keys())
    other_groups, groups, size = shared_groups(others, rows, shared, context.caches)
    in_time = ordered(others, other_groups, size)
    places, gaps = match.pairs(
        match.INSIDE, match.UNLIMITED, groups, _contiguous(gap_starts), _contiguous(gap_ends),
        _NONE, in_time.offsets, in_time.starts, in_time.ends,
    )  # fmt: skip
    inside, around = others.take(in_time.rows(places)), rows.take(gaps)
    columns = {**inside.columns, **around.columns, START: inside.columns[START]}
    blocking = Rows(inside.length, {**columns, ROW: Column(gaps)}, inside.times)
    for each in absent.around:
        blocking = refine(each, blocking, context)
    return blocking
