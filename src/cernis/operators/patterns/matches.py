"""Matches of patterns as rows: their order, and the groups in which they can be combined.

A match is a row with its end as the row's time and its start as a further column, `START`. Matches
of a pattern mostly are one table of rows; where an `or` gives variables values on one side only,
they are several, each with columns of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cernis.check.rewrites.validity import START
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.kernels.match import latest_starts
from cernis.kernels.order import (
    in_order,
    in_threefold_order,
    mark_ties,
    order_by,
    sorted_runs,
)
from cernis.operators.context.coded_columns import recoded
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.definitions.instance_keys import InstanceKeys
from cernis.plan.pattern_steps import StepUse
from cernis.tables.columns import Column, Rows
from cernis.tables.event_tables import first_rows

_FEW = 1000
_LAST = np.iinfo(np.int64).max


def starts_of(rows: Rows) -> Integers:
    """The starts of matches."""
    return rows.columns[START].expanded(rows.length)


def are_points(rows: Rows) -> bool:
    """Is every match known to be a point? Then its start and its end are one column."""
    start, end = rows.columns[START], rows.times
    return end is not None and start.data is end.data and start.index is end.index


def called(part: StepUse, matches: Sequence[Rows]) -> list[Rows]:
    """The matches of a step under the names that its variables have where it is used."""
    names = dict(zip(part.step.names, part.names, strict=True))
    return [
        Rows(
            rows.length,
            {names.get(own, own): c for own, c in rows.columns.items() if own in names}
            | {START: rows.columns[START]},
            rows.times,
        )
        for rows in matches
    ]


# -- groups ----------------------------------------------------------------------------------


def shared_groups(
    left: Rows, right: Rows, names: Sequence[str], caches: QueryCaches
) -> tuple[Integers, Integers, int]:
    """A number for the values of some variables, the same on both sides; and how many there are."""
    if not names:
        return np.zeros(left.length, np.int64), np.zeros(right.length, np.int64), 1
    domains, arguments, right_arguments = [], [], []
    for name in names:
        one, other = left.columns[name], right.columns[name]
        domain = one.domain if one.domain is not None else other.domain
        domains.append(domain)
        arguments.append(recoded(one, domain, left.length))
        right_arguments.append(recoded(other, domain, right.length))
    keys = InstanceKeys(domains, [arguments, right_arguments], caches)
    groups = keys.of(arguments, left.length)
    right_groups = keys.of(right_arguments, right.length)
    return groups, right_groups, keys.size


def folded(
    groups: Integers, times: Integers, right_groups: Integers, right_times: Integers
) -> tuple[Integers, Integers, int]:
    """Groups parted by a time that the two sides must have in common."""
    both = np.concatenate([times, right_times])
    low = int(both.min(initial=0))
    span = int(both.max(initial=0)) - low + 1
    numbering = Numbering()
    own = numbering.of(groups * span + (times - low))
    right = numbering.of(right_groups * span + (right_times - low))
    return own, right, len(numbering)


# -- order -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Ordered:
    """Matches group by group, in the order in which they come: by end, then start.

    `order` are their rows; None if the rows are in this order themselves.
    """

    order: Integers | None
    groups: Integers
    starts: Integers
    ends: Integers
    offsets: Integers
    _tops: Integers | None = None

    @property
    def tops(self) -> Integers:
        """The latest start up to each match, in its group."""
        if self._tops is None:
            self._tops = latest_starts(self.offsets, self.starts)
        return self._tops

    def rows(self, places: Integers) -> Integers:
        """The rows at some places."""
        return places if self.order is None else self.order[places]


def ordered(rows: Rows, groups: Integers, size: int) -> Ordered:
    """Matches in the order of groups, ends and starts; equal ones in any order."""
    starts, ends = starts_of(rows), rows.points
    ends = np.ascontiguousarray(ends)
    points = are_points(rows)
    starts = ends if points else np.ascontiguousarray(starts)
    if points and in_order(groups, ends):
        order = None
    elif points:
        order = order_by(groups, ends)
    elif in_threefold_order(groups, ends, starts):
        order = None
    else:
        order = np.lexsort((starts, ends, groups))
    return _in(order, groups, starts, ends, size)


def _in(
    order: Integers | None, groups: Integers, starts: Integers, ends: Integers, size: int
) -> Ordered:
    offsets = np.zeros(size + 1, np.int64)
    if size == 1:
        offsets[1] = len(ends)
    else:
        np.cumsum(np.bincount(groups, minlength=size), out=offsets[1:])
        groups = groups if order is None else groups[order]
    if order is not None:
        points = starts is ends
        ends = ends[order]
        starts = ends if points else starts[order]
    return Ordered(order, np.ascontiguousarray(groups), starts, ends, offsets)


def mirrored(rows: Rows) -> Rows:
    """When matches are if time runs backwards."""
    starts = Column(-rows.points)
    ends = starts if are_points(rows) else Column(-starts_of(rows))
    return Rows(rows.length, {START: starts}, ends)


def reversed_order(matches: Ordered) -> Ordered:
    """Points in order if time runs backwards, and the last group is the first."""
    count, size = len(matches.ends), len(matches.offsets) - 1
    order = np.arange(count) if matches.order is None else matches.order
    times = -np.ascontiguousarray(matches.ends[::-1])
    groups = size - 1 - np.ascontiguousarray(matches.groups[::-1])
    offsets = count - np.ascontiguousarray(matches.offsets[::-1])
    return Ordered(np.ascontiguousarray(order[::-1]), groups, times, times, offsets)


def arriving(
    rows: Rows, groups: Integers, size: int, names: Iterable[str], unique: bool = False
) -> Ordered:
    """As `ordered`, and equal ones by the standard order of their values, first name first.

    Variables that matches of one group share need not be among the names. If so asked, matches of
    the same values on the same interval are there once.
    """
    in_time = ordered(rows, groups, size)
    names = [name for name in names if name in rows.columns]
    if not names and not unique:
        return in_time
    same = np.zeros(rows.length, np.bool_)
    if not mark_ties(in_time.groups, in_time.ends, in_time.starts, same):
        return in_time
    tied = same.copy()
    tied[:-1] |= same[1:]
    places = np.flatnonzero(tied)
    tied_rows = in_time.rows(places)
    ranks = np.empty((len(names), len(tied_rows)), np.int64)
    for position, name in enumerate(names):
        ranks[position] = as_integers(values_ranked(rows.columns[name], tied_rows))
    # Each run of equal ones begins with one that is not as the one before it.
    sorting = sorted_runs(same[places], ranks)
    order = np.arange(rows.length) if in_time.order is None else in_time.order.copy()
    if names:
        order[places] = tied_rows[sorting]
    # To sort what is equal leaves groups and times as they are.
    in_time = Ordered(order, in_time.groups, in_time.starts, in_time.ends, in_time.offsets)
    if not unique:
        return in_time
    again = same[places]
    for rank in ranks:
        again &= np.r_[False, np.diff(rank[sorting]) == 0]
    return _left_out(in_time, places[again])


def _left_out(matches: Ordered, places: Integers) -> Ordered:
    """The matches without those at some places."""
    if not len(places):
        return matches
    assert matches.order is not None
    offsets = matches.offsets - np.searchsorted(places, matches.offsets)
    columns = (matches.order, matches.groups, matches.ends)
    order, groups, ends = (_cut_out(column, places) for column in columns)
    starts = ends if matches.starts is matches.ends else _cut_out(matches.starts, places)
    return Ordered(order, groups, starts, ends, offsets)


def _cut_out(column: Integers, places: Integers) -> Integers:
    """A column without what is at some places: where these are few, its stretches in one piece."""
    if len(places) > _FEW:
        return np.delete(column, places)
    bounds = zip([0, *(places + 1).tolist()], [*places.tolist(), len(column)], strict=True)
    return np.concatenate([column[low:high] for low, high in bounds])


def values_ranked(column: Column, rows: Integers) -> Array:
    """Numbers that compare as the values of some rows do in the standard order."""
    if column.constant:
        return np.zeros(len(rows), np.int64)
    codes = column.values[rows]
    if column.domain is None:
        return codes
    used = np.unique(codes)
    values = column.domain.decode(used)
    order = sorted(range(len(values)), key=lambda at: (isinstance(values[at], str), values[at]))
    ranks = np.empty(len(column.domain), np.int64)
    ranks[used[order]] = np.arange(len(used))
    return ranks[codes]


def as_integers(values: Array) -> Integers:
    """Integers that compare as numbers do."""
    if values.dtype.kind != "f":
        return np.ascontiguousarray(values, dtype=np.int64)
    # The bits of a float compare as it does; those of negative ones the other way round.
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def arrival_ranks(matches: Sequence[Rows], names: Sequence[str]) -> Integers:
    """The rank of each match, over all tables, in the order in which they come.

    By end, start, and values; a variable without a value comes after all values.
    """
    keys: list[Array] = []
    for name in reversed(names):
        known = [rows for rows in matches if name in rows.columns]
        ranks = _ranked_together([rows.columns[name] for rows in known], [r.length for r in known])
        each = iter(ranks)
        keys.append(np.concatenate([
            next(each) if name in rows.columns else np.full(rows.length, _LAST)
            for rows in matches
        ]))  # fmt: skip
    starts = np.concatenate([starts_of(rows) for rows in matches])
    ends = np.concatenate([rows.points for rows in matches])
    order = np.lexsort((*keys, starts, ends))
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


def value_ranks(matches: Sequence[Rows], name: str) -> Integers:
    """The rank of the value of a variable in each match, over all tables; -1 without a value."""
    known = [rows for rows in matches if name in rows.columns]
    each = iter(_ranked_together([rows.columns[name] for rows in known], [r.length for r in known]))
    return np.concatenate([
        next(each) if name in rows.columns else np.full(rows.length, -1) for rows in matches
    ])  # fmt: skip


def _ranked_together(columns: list[Column], lengths: list[int]) -> list[Integers]:
    """Ranks of the values of several columns of one variable."""
    if not columns:
        return []
    domain = next((c.domain for c in columns if c.domain is not None), None)
    arrays = [recoded(c, domain, n) for c, n in zip(columns, lengths, strict=True)]
    stacked = np.concatenate(arrays)
    ranks = values_ranked(Column(stacked, domain), np.arange(len(stacked)))
    _, ranks = np.unique(ranks, return_inverse=True)
    return np.split(ranks.ravel().astype(np.int64), np.cumsum(lengths)[:-1])


# -- each but once ---------------------------------------------------------------------------


def once(rows: Rows, names: Iterable[str]) -> Rows:
    """Matches of the same values on the same interval as one."""
    columns = [rows.columns[n].expanded(rows.length) for n in names if n in rows.columns]
    first = first_rows([*columns, starts_of(rows), rows.points])
    return rows if len(first) == rows.length else rows.take(first)
