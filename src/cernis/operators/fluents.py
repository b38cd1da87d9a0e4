"""What holds at points: look-ups of fluents."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Pair
from cernis.kernels.stab import stab
from cernis.operators.context import Context, constant_column, recoded
from cernis.operators.expressions import shared
from cernis.plan.logical import AntiStab, Stab
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Array, Column, Rows
from cernis.tables.fluents import FluentTable


def stab_exec(step: Stab, rows: Rows, context: Context) -> Rows:
    """Rows at whose time the pair holds; open variables take every value that it holds with."""
    fluent = context.fluents.get(step.pair.relation)
    if fluent is None or not len(fluent):
        return _bind_nothing(step.pair, rows, context)
    chosen, groups, is_whole, holds = _holding(step.pair, rows, fluent, context)
    if is_whole and not step.binds:
        return rows.where(holds)
    kept = np.flatnonzero(holds)
    return bind_groups(step.pair, rows.take(chosen[kept]), fluent, groups[kept])


def anti_stab_exec(step: AntiStab, rows: Rows, context: Context) -> Rows:
    """Rows at whose time the pair does not hold; open variables stand for anything."""
    fluent = context.fluents.get(step.pair.relation)
    if fluent is None or not len(fluent):
        return rows
    chosen, _, is_whole, holds = _holding(step.pair, rows, fluent, context)
    if is_whole:
        return rows.where(~holds)
    mask = np.ones(rows.length, np.bool_)
    mask[chosen[holds]] = False
    return rows.where(mask)


def _holding(
    pair: Pair, rows: Rows, fluent: FluentTable, context: Context
) -> tuple[Array, Array, bool, Array]:
    """As `candidates`, and whether each holds at the time of its row."""

    def find() -> tuple[Array, Array, bool, Array]:
        chosen, groups, is_whole = candidates(pair, rows, fluent)
        times = rows.at if is_whole else rows.at[chosen]
        holds = stab(groups, times, fluent.offsets, fluent.starts, fluent.ends)
        return chosen, groups, is_whole, holds

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
    what = ("holds", pair.relation, *roles)
    return shared(what, columns, [fluent], rows, context.computed, find)


def candidates(pair: Pair, rows: Rows, fluent: FluentTable) -> tuple[Array, Array, bool]:
    """For each row the groups that match its known values; whole if there is exactly one each."""
    args: list[Term] = [*pair.args, pair.value]
    positions = tuple(
        at
        for at, arg in enumerate(args)
        if not isinstance(arg, Variable) or arg.name in rows.columns
    )
    columns = fluent.columns()
    wanted = []
    for at in positions:
        arg, domain = args[at], columns[at][1]
        column = (
            rows.columns[arg.name] if isinstance(arg, Variable) else constant_column(arg, domain)
        )
        wanted.append(recoded(column, domain, rows.length))
    finder = fluent.finder(positions)
    if len(positions) == len(args):
        return np.empty(0, np.int64), finder.one(wanted, rows.length), True
    return (*finder.all(wanted, rows.length), False)


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


def _bind_nothing(pair: Pair, rows: Rows, context: Context) -> Rows:
    none = rows.take(np.empty(0, np.int64))
    slots: list[int | str] = [*range(pair.relation.arity), "value"]
    more = {
        arg.name: Column(np.empty(0, np.int64), context.domain("fluent", pair.relation, slot))
        for slot, arg in zip(slots, [*pair.args, pair.value], strict=True)
        if isinstance(arg, Variable) and arg.name not in rows.columns
    }
    return none.with_columns(more)
