"""Conditions without time: filters, computed columns, look-ups, exclusions."""

from __future__ import annotations

import numpy as np

from cernis.errors import UnsupportedError
from cernis.operators.context import Background, Context, constant_column, recoded
from cernis.operators.expressions import COMPARISONS, compare, computed
from cernis.plan.logical import Compute, Exclude, Filter, Lookup
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Compound, Number, Term, Text, Variable
from cernis.tables.columns import Array, Column, Rows
from cernis.tables.fluents import Finder


def filter_exec(step: Filter, rows: Rows, context: Context) -> Rows:
    """The rows for which a comparison is true."""
    goal = step.condition
    if not isinstance(goal, Compound) or goal.functor not in COMPARISONS:
        raise UnsupportedError(f"{show(goal)} cannot be decided column by column")
    mask = compare(goal, rows)
    if step.negated:
        mask = ~mask
    if len(mask) == 1 and rows.length != 1:
        return rows if mask[0] else rows.take(np.empty(0, np.int64))
    return rows.where(mask)


def compute_exec(step: Compute, rows: Rows, context: Context) -> Rows:
    """The rows with a further column; rows whose expression has no value are left out."""
    source = step.expression
    if isinstance(source, Variable):
        column = rows.columns[source.name]
    elif isinstance(source, (Atom, Text)) and show(source) not in ("pi", "e", "inf"):
        column = constant_column(source, context.domains.of("computed"))
    elif isinstance(source, Number):
        column = Column(np.array([source.value]), None, constant=True)
    else:
        column = computed(source, rows)
        if column.data.dtype.kind == "f":
            valid = ~np.isnan(column.expanded(rows.length))
            if not valid.all():
                rows = rows.with_columns({step.variable: column})
                if column.constant:
                    return rows.take(np.empty(0, np.int64))
                return rows.where(valid)
    return rows.with_columns({step.variable: column})


def lookup_exec(step: Lookup, rows: Rows, context: Context) -> Rows:
    """The rows joined with a table; a row with several matches becomes several."""
    table = _table(step.goal, context)
    args = step.goal.args if isinstance(step.goal, Compound) else ()
    bound = _bound(args, rows)
    if not bound:
        matches = np.arange(table.length)
        return _joined(step.goal, args, rows, table, *_crossed(rows.length, matches))
    if all(not isinstance(args[at], Variable) for at in bound):
        matches = _constant_matches(args, bound, table)
        if len(matches) == 1:
            return _with_constants(args, rows, table, int(matches[0]))
        return _joined(step.goal, args, rows, table, *_crossed(rows.length, matches))
    finder = _finder(table, bound)
    wanted = [_wanted(args[at], table, at, rows) for at in bound]
    if finder.unique:
        found = finder.one(wanted, rows.length)
        chosen = np.flatnonzero(found >= 0)
        return _joined(step.goal, args, rows, table, chosen, found[chosen])
    return _joined(step.goal, args, rows, table, *finder.all(wanted, rows.length))


def exclude_exec(step: Exclude, rows: Rows, context: Context) -> Rows:
    """The rows without a match in a table; variables without a value stand for anything."""
    table = _table(step.goal, context)
    args = step.goal.args if isinstance(step.goal, Compound) else ()
    bound = _bound(args, rows)
    if not bound or not table.length:
        return rows if not table.length else rows.take(np.empty(0, np.int64))
    wanted = [_wanted(args[at], table, at, rows) for at in bound]
    return rows.where(_finder(table, bound).one(wanted, rows.length) < 0)


# -- parts -----------------------------------------------------------------------------------


def _table(goal: Term, context: Context) -> Background:
    name, arity = (goal.functor, len(goal.args)) if isinstance(goal, Compound) else (show(goal), 0)
    return context.background(name, arity)


def _bound(args: tuple[Term, ...], rows: Rows) -> tuple[int, ...]:
    """The positions whose values are known."""
    return tuple(
        at
        for at, arg in enumerate(args)
        if not isinstance(arg, Variable) or arg.name in rows.columns
    )


def _finder(table: Background, positions: tuple[int, ...]) -> Finder:
    found = table.finders.get(positions)
    if found is None:
        columns = [(table.columns[at], table.domains[at]) for at in positions]
        found = table.finders[positions] = Finder(columns, table.length)
    assert isinstance(found, Finder)
    return found


def _wanted(arg: Term, table: Background, at: int, rows: Rows) -> Array:
    domain = table.domains[at]
    column = rows.columns[arg.name] if isinstance(arg, Variable) else constant_column(arg, domain)
    return recoded(column, domain, rows.length)


def _constant_matches(args: tuple[Term, ...], bound: tuple[int, ...], table: Background) -> Array:
    mask = np.ones(table.length, np.bool_)
    for at in bound:
        mask &= table.columns[at] == constant_column(args[at], table.domains[at]).data[0]
    return np.flatnonzero(mask)


def _with_constants(args: tuple[Term, ...], rows: Rows, table: Background, match: int) -> Rows:
    """One match for all rows: its values are constants."""
    more: dict[str, Column] = {}
    for at, arg in enumerate(args):
        if isinstance(arg, Variable) and arg.name != "_":
            value = table.columns[at][match : match + 1]
            if arg.name in more and more[arg.name].data[0] != value[0]:
                return rows.take(np.empty(0, np.int64))
            more[arg.name] = Column(value, table.domains[at], constant=True)
    return rows.with_columns(more)


def _crossed(length: int, matches: Array) -> tuple[Array, Array]:
    return np.repeat(np.arange(length), len(matches)), np.tile(matches, length)


def _joined(
    goal: Term, args: tuple[Term, ...], rows: Rows, table: Background, chosen: Array, found: Array
) -> Rows:
    """Chosen rows beside the rows of the table found for them."""
    same = len(chosen) == rows.length and bool(np.all(chosen == np.arange(len(chosen))))
    result = rows if same else rows.take(chosen)
    more: dict[str, Column] = {}
    unequal = np.zeros(len(chosen), np.bool_)
    for at, arg in enumerate(args):
        if not isinstance(arg, Variable) or arg.name == "_" or arg.name in rows.columns:
            continue
        column = Column(table.columns[at], table.domains[at], found)
        if arg.name in more:
            unequal |= more[arg.name].values != column.values
        else:
            more[arg.name] = column
    result = result.with_columns(more)
    return result.where(~unequal) if unequal.any() else result
