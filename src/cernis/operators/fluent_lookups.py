"""What holds at points: look-ups of fluents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from cernis.check.model import Pair
from cernis.kernels.array_types import Array
from cernis.kernels.intervals.stab import stab
from cernis.kernels.order import order_by
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.expressions import shared
from cernis.plan.logical import AntiStab, Stab
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.interval_tables import Finder, FluentTable, expanded, in_ranges

T = TypeVar("T")


def stab_exec(step: Stab, rows: Rows, context: Context) -> Rows:
    """Rows at whose time the pair holds; open variables take every value that it holds with."""
    fluent = context.relations.fluents.get(step.pair.relation)
    if fluent is None or not len(fluent):
        return _bind_nothing(step.pair, rows, context.encoding)
    if _is_whole(step.pair, rows):
        return rows.where(_holds(step.pair, rows, fluent, context.caches))
    chosen, groups = _holding(step.pair, rows, fluent, context.caches)
    return bind_groups(step.pair, rows.take(chosen), fluent, groups)


def anti_stab_exec(step: AntiStab, rows: Rows, context: Context) -> Rows:
    """Rows at whose time the pair does not hold; open variables stand for anything."""
    fluent = context.relations.fluents.get(step.pair.relation)
    if fluent is None or not len(fluent):
        return rows
    return rows.where(~_holds(step.pair, rows, fluent, context.caches))


def _is_whole(pair: Pair, rows: Rows) -> bool:
    """Do the rows have a value for every argument of a pair, and for its value?"""
    args = (*pair.args, pair.value)
    return all(not isinstance(arg, Variable) or arg.name in rows.columns for arg in args)


def _holds(pair: Pair, rows: Rows, fluent: FluentTable, caches: QueryCaches) -> Array:
    """For each row: does the pair hold at its time, with some value of open variables?"""

    def find() -> Array:
        chosen, groups, is_whole = _few_candidates(pair, rows, fluent)
        if groups is None:
            return Timelines(pair, rows, fluent).covered()
        times = rows.points if is_whole else rows.points[chosen]
        holds = stab(groups, times, fluent.offsets, fluent.starts, fluent.ends)
        if is_whole:
            return holds
        mask = np.zeros(rows.length, np.bool_)
        mask[chosen[holds]] = True
        return mask

    return _shared("holds", pair, rows, fluent, caches, find)


def _holding(
    pair: Pair, rows: Rows, fluent: FluentTable, caches: QueryCaches
) -> tuple[Array, Array]:
    """Rows, and groups that match their known values and hold at their time, row by row."""

    def find() -> tuple[Array, Array]:
        chosen, groups, _ = _few_candidates(pair, rows, fluent)
        if groups is None:
            return Timelines(pair, rows, fluent).covering()
        holds = stab(groups, rows.points[chosen], fluent.offsets, fluent.starts, fluent.ends)
        return chosen[holds], groups[holds]

    return _shared("holding", pair, rows, fluent, caches, find)


def _shared(
    question: str, pair: Pair, rows: Rows, fluent: FluentTable, caches: QueryCaches,
    find: Callable[[], T],
) -> T:  # fmt: skip
    """The answer to a question about a pair; rules that ask the same of the same rows share it."""
    args = (*pair.args, pair.value)
    columns = [
        rows.columns[arg.name]
        for arg in args
        if isinstance(arg, Variable) and arg.name in rows.columns
    ]
    roles = (
        None if isinstance(arg, Variable) and arg.name in rows.columns
        else "free" if isinstance(arg, Variable) else arg
        for arg in args
    )  # fmt: skip
    what = (question, pair.relation, *roles)
    return shared(what, columns, [fluent], rows, caches.computed, find)


_FEW = 8
"""Up to so many candidates for each row and each group are looked at one by one."""


def candidates(pair: Pair, rows: Rows, fluent: FluentTable) -> tuple[Array, Array, bool]:
    """For each row the groups that match its known values; whole if there is exactly one each."""
    finder, wanted = _wanted(pair, rows, fluent)
    if _is_whole(pair, rows):
        return np.empty(0, np.int64), finder.one(wanted, rows.length), True
    return (*finder.all(wanted, rows.length), False)


def _few_candidates(
    pair: Pair, rows: Rows, fluent: FluentTable
) -> tuple[Array, Array | None, bool]:
    """As `candidates`, but without groups where there are many more than rows and groups."""
    finder, wanted = _wanted(pair, rows, fluent)
    if _is_whole(pair, rows):
        return np.empty(0, np.int64), finder.one(wanted, rows.length), True
    ranges = finder.ranges(wanted, rows.length)
    if int(ranges[1].sum()) > _FEW * (rows.length + len(fluent)):
        return np.empty(0, np.int64), None, False
    return (*in_ranges(*ranges), False)


def _wanted(pair: Pair, rows: Rows, fluent: FluentTable) -> tuple[Finder, list[Array]]:
    """The finder of the groups that match what rows know of a pair, and what they know."""
    args: list[Term] = [*pair.args, pair.value]
    positions = tuple(
        position
        for position, arg in enumerate(args)
        if not isinstance(arg, Variable) or arg.name in rows.columns
    )
    columns = fluent.columns()
    wanted = []
    for position in positions:
        arg, domain = args[position], columns[position][1]
        column = (
            rows.columns[arg.name] if isinstance(arg, Variable) else constant_column(arg, domain)
        )
        wanted.append(recoded(column, domain, rows.length))
    return fluent.finder(positions), wanted


class Timelines:
    """For each key that rows ask for, the intervals of all its groups in the order of starts.

    A key is what rows know of a pair. Where one has many groups, of which few hold at a time (a
    fluent with a value for each event, say), to go through time with those that hold costs far
    less than to ask each of them.
    """

    def __init__(self, pair: Pair, rows: Rows, fluent: FluentTable) -> None:
        finder, wanted = _wanted(pair, rows, fluent)
        first, counts, order = finder.ranges(wanted, rows.length)
        asking = np.flatnonzero(counts)
        begins, first_rows, keys = np.unique(first[asking], return_index=True, return_inverse=True)
        groups = order[expanded(begins, counts[asking][first_rows])]
        lengths = fluent.offsets[groups + 1] - fluent.offsets[groups]
        places = expanded(fluent.offsets[groups], lengths)
        timelines = np.repeat(
            np.repeat(np.arange(len(begins)), counts[asking][first_rows]), lengths
        )
        starts = fluent.starts[places]
        by_start = order_by(timelines, starts)
        self._length = rows.length
        self._groups = np.repeat(groups, lengths)[by_start]
        offsets = np.zeros(len(begins) + 1, np.int64)
        np.cumsum(np.bincount(timelines, minlength=len(begins)), out=offsets[1:])
        times = rows.points[asking]
        by_time = order_by(keys, times)
        self._rows = asking[by_time]
        self._question = (
            keys[by_time], times[by_time], offsets, starts[by_start], fluent.ends[places][by_start]
        )  # fmt: skip

    def covering(self) -> tuple[Array, Array]:
        """Rows, and the groups that hold at their time, by row and then by group."""
        from cernis.kernels.intervals.covering import covering

        asking, places = covering(*self._question)
        rows, groups = self._rows[asking], self._groups[places]
        order = np.lexsort((groups, rows))
        return rows[order], groups[order]

    def covered(self) -> Array:
        """For each row: does any group hold at its time?"""
        from cernis.kernels.intervals.covering import covered

        found = np.zeros(self._length, np.bool_)
        found[self._rows] = covered(*self._question)
        return found


def bind_groups(pair: Pair, rows: Rows, fluent: FluentTable, groups: Array) -> Rows:
    """Rows with the variables of a pair that have no value yet, as the group of each row says."""
    args: list[Term] = [*pair.args, pair.value]
    more: dict[str, Column] = {}
    keep = np.ones(rows.length, np.bool_)
    for arg, (data, domain) in zip(args, fluent.columns(), strict=True):
        if isinstance(arg, Variable) and arg.name != "_" and arg.name not in rows.columns:
            column = Column(data, domain, groups)
            if arg.name in more:
                keep &= more[arg.name].values == column.values
            else:
                more[arg.name] = column
    rows = rows.with_columns(more)
    return rows if keep.all() else rows.where(keep)


def _bind_nothing(pair: Pair, rows: Rows, encoding: ValueEncoding) -> Rows:
    none = rows.take(np.empty(0, np.int64))
    slots: list[int | str] = [*range(pair.relation.arity), "value"]
    more = {
        arg.name: Column(np.empty(0, np.int64), encoding.domain("fluent", pair.relation, slot))
        for slot, arg in zip(slots, [*pair.args, pair.value], strict=True)
        if isinstance(arg, Variable) and arg.name not in rows.columns
    }
    return none.with_columns(more)
