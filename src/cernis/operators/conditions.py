"""Conditions without time: filters, computed columns, look-ups, exclusions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.errors import KnowledgeError, UnsupportedError
from cernis.kernels.array_types import Array, Booleans
from cernis.kernels.bounds import bounded
from cernis.knowledge.ground_values import label
from cernis.knowledge.knowledge import UNCERTAIN
from cernis.operators.context.background_tables import BackgroundTables
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.context.lasting_results import Background
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.expressions import (
    COMPARISONS,
    CONSTANTS,
    as_column,
    compare,
    identity,
    numeric_value,
    remembered,
    shared,
)
from cernis.plan.logical import Compute, Exclude, Filter, Lookup
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Compound, Term, Text, Variable, functor
from cernis.tables.columns import Column, Rows
from cernis.tables.interval_tables import Finder


def filter_exec(step: Filter, rows: Rows, context: Context) -> Rows:
    """The rows for which a comparison is true."""
    mask = _truth(step, rows, context.caches)
    if len(mask) == 1 and rows.length != 1:
        return rows if mask[0] else rows.settled().take(np.empty(0, np.int64))
    return rows.where(mask)


_WORTH_KEEPING = 10_000
"""Results over so many rows of a table are kept for the rules that ask for the same."""


def _computed(source: Term, rows: Rows, caches: QueryCaches) -> tuple[Column, Booleans | None]:
    if rows.length <= _WORTH_KEEPING or rows.times is None or rows.times.index is not None:
        return as_column(numeric_value(source, rows), rows.length)
    found = remembered(source, rows, caches.computed, lambda: numeric_value(source, rows))
    return as_column(found, rows.length)


def _truth(step: Filter, rows: Rows, caches: QueryCaches) -> Booleans:
    goal = step.condition
    if not isinstance(goal, Compound) or goal.functor not in COMPARISONS:
        raise UnsupportedError(f"{show(goal)} cannot be decided column by column")
    if rows.length > _WORTH_KEEPING and rows.times is not None and rows.times.index is None:
        mask = remembered(goal, rows, caches.computed, lambda: compare(goal, rows))
    else:
        mask = compare(goal, rows)
    return ~mask if step.negated else mask


def all_true(steps: Sequence[Filter], rows: Rows, caches: QueryCaches) -> Booleans:
    """For each row: are all comparisons true?"""
    mask = np.ones(1, np.bool_)
    for step in steps:
        mask = mask & _truth(step, rows, caches)
    return np.broadcast_to(mask, rows.length)


def compute_exec(step: Compute, rows: Rows, context: Context) -> Rows:
    """The rows with a further column; rows whose expression has no value are left out."""
    source = step.expression
    if not step.is_number:
        return rows.with_columns({step.variable: _as_it_is(source, rows, context.encoding)})
    if isinstance(source, (Atom, Text)) and show(source) not in CONSTANTS:
        column, valid = as_column(np.array([np.nan]), rows.length)
    else:
        column, valid = _computed(source, rows, context.caches)
    rows = rows.with_columns({step.variable: column})
    if valid is None:
        return rows
    return rows.settled().take(np.empty(0, np.int64)) if column.constant else rows.where(valid)


def _as_it_is(source: Term, rows: Rows, encoding: ValueEncoding) -> Column:
    if isinstance(source, Variable):
        return rows.columns[source.name]
    return constant_column(source, encoding.domains.of("computed"))


def lookup_exec(step: Lookup, rows: Rows, context: Context) -> Rows:
    """The rows joined with a table; a row with several matches becomes several."""
    table = _table(step.goal, context.background)
    args = step.goal.args if isinstance(step.goal, Compound) else ()
    bound = _bound(args, rows)
    if step.rank:
        return _ranked(step, args, bound, rows.settled(), table)
    if not bound:
        rows = rows.settled()
        matches = np.arange(table.length)
        return _joined(step.goal, args, rows, table, *_crossed(rows.length, matches))
    if all(not isinstance(args[position], Variable) for position in bound):
        matches = _constant_matches(step, args, bound, table, context.background)
        if len(matches) == 1:
            return _with_constants(args, rows, table, int(matches[0]))
        rows = rows.settled()
        return _joined(step.goal, args, rows, table, *_crossed(rows.length, matches))
    finder = _finder(table, bound)
    if finder.unique:
        by_value = _by_value(step.goal, args, bound, rows, table, finder, context.caches)
        if by_value is not None:
            return by_value
    rows = rows.settled()
    if finder.unique:
        chosen, found = _matches(step.goal, args, bound, rows, table, finder, context.caches)
        return _joined(step.goal, args, rows, table, chosen, found)
    wanted = [_wanted(args[position], table, position, rows) for position in bound]
    return _joined(step.goal, args, rows, table, *finder.all(wanted, rows.length))


def _ranked(
    step: Lookup, args: tuple[Term, ...], bound: tuple[int, ...], rows: Rows, table: Background
) -> Rows:
    """A join that names the row of the table, too."""
    if bound:
        wanted = [_wanted(args[at], table, at, rows) for at in bound]
        chosen, places = _finder(table, bound).all(wanted, rows.length)
    else:
        chosen, places = _crossed(rows.length, np.arange(table.length))
    ranked = rows.take(chosen).with_columns({step.rank: Column(places)})
    return _joined(step.goal, args, ranked, table, np.arange(len(chosen)), places)


def _matches(
    goal: Term, args: tuple[Term, ...], bound: tuple[int, ...], rows: Rows, table: Background,
    finder: Finder, caches: QueryCaches,
) -> tuple[Array, Array]:  # fmt: skip
    """The rows that have a match, and the match of each; rules that ask the same share them."""

    def find() -> tuple[Array, Array]:
        wanted = [_wanted(args[position], table, position, rows) for position in bound]
        found = finder.one(wanted, rows.length)
        chosen = np.flatnonzero(found >= 0)
        return chosen, found[chosen]

    columns = [
        rows.columns[arg.name] for position in bound if isinstance(arg := args[position], Variable)
    ]
    roles = (None if isinstance(args[position], Variable) else args[position] for position in bound)
    what = ("matches", functor(goal), bound, *roles)
    return shared(what, columns, [table], rows, caches.computed, find)


def keeps_rows(step: Lookup, rows: Rows, background: BackgroundTables) -> bool:
    """Is a look-up one that adds columns to rows as they are, or leaves some out?"""
    if step.rank:
        return False
    table = _table(step.goal, background)
    args = step.goal.args if isinstance(step.goal, Compound) else ()
    bound = _bound(args, rows)
    if bound and all(not isinstance(args[position], Variable) for position in bound):
        return len(_constant_matches(step, args, bound, table, background)) == 1
    free = [arg.name for position, arg in enumerate(args) if position not in bound]  # type: ignore[union-attr]
    return (
        bool(bound)
        and len(free)
        == len(set(free) | {f"_{position}" for position, name in enumerate(free) if name == "_"})
        and _finder(table, bound).unique
        and _view(args, bound, rows, table) is not None
    )


def exclude_exec(step: Exclude, rows: Rows, context: Context) -> Rows:
    """The rows without a match in a table; variables without a value stand for anything."""
    table = _table(step.goal, context.background)
    args = step.goal.args if isinstance(step.goal, Compound) else ()
    bound = _bound(args, rows)
    if not bound or not table.length:
        return rows if not table.length else rows.settled().take(np.empty(0, np.int64))
    finder = _finder(table, bound)
    view = _view(args, bound, rows, table)
    if view is not None:
        values, keys, index = view
        return rows.where((finder.one(keys, len(values)) < 0)[index])
    rows = rows.settled()
    wanted = [_wanted(args[at], table, at, rows) for at in bound]
    return rows.where(finder.one(wanted, rows.length) < 0)


def _view(
    args: tuple[Term, ...], bound: tuple[int, ...], rows: Rows, table: Background
) -> tuple[Array, list[Array], Array] | None:
    """Where one column decides the match: its distinct values, their keys, and each row's."""
    names = {arg.name for position in bound if isinstance(arg := args[position], Variable)}
    if len(names) != 1:
        return None
    column = rows.columns[names.pop()]
    view = column.dictionary(rows.length)
    if view is None:
        return None
    values, index = view
    few = Rows(len(values), {})
    keys = []
    for position in bound:
        arg, domain = args[position], table.domains[position]
        each = Column(values, column.domain) if isinstance(arg, Variable) else None
        each = each or constant_column(arg, domain)
        keys.append(recoded(each, domain, few.length))
    return values, keys, index


def _by_value(
    goal: Term, args: tuple[Term, ...], bound: tuple[int, ...], rows: Rows, table: Background,
    finder: Finder, caches: QueryCaches,
) -> Rows | None:  # fmt: skip
    """A join computed on the distinct values of the one column that decides it.

    Rules that look up the same by the same column share the result.
    """
    free = [
        arg.name for position, arg in enumerate(args)
        if position not in bound and isinstance(arg, Variable) and arg.name != "_"
    ]  # fmt: skip
    view = _view(args, bound, rows, table)
    if view is None or len(free) != len(set(free)):
        return None
    key = (
        "look-up",
        functor(goal),
        *(_role(arg, position in bound, rows) for position, arg in enumerate(args)),
    )
    if key not in caches.computed:
        caches.computed[key] = (_matched(args, bound, table, finder, *view), view)
    columns, mask = caches.computed[key][0]
    more = {
        arg.name: columns[position] for position, arg in enumerate(args)
        if position not in bound and isinstance(arg, Variable) and arg.name != "_"
    }  # fmt: skip
    rows = rows.with_columns(more)
    return rows if mask is None else rows.where(mask)


def _role(arg: Term, is_bound: bool, rows: Rows) -> object:
    """What an argument of a look-up is, as far as the result depends on it."""
    if not is_bound:
        return "free"
    return identity(rows.columns[arg.name]) if isinstance(arg, Variable) else show(arg)


def _matched(
    args: tuple[Term, ...], bound: tuple[int, ...], table: Background, finder: Finder,
    values: Array, keys: list[Array], index: Array,
) -> tuple[dict[int, Column], Booleans | None]:  # fmt: skip
    """The columns a look-up adds, by position, and the rows that have a match if not all do."""
    found = finder.one(keys, len(values))
    has = found >= 0
    at_hand = np.where(has, found, 0)
    columns = {}
    for position in range(len(args)):
        if position not in bound:
            data = (
                table.columns[position][at_hand]
                if table.length
                else np.zeros(len(values), np.int64)
            )
            columns[position] = Column(data, table.domains[position], index)
    return columns, None if has.all() else has[index]


# -- parts -----------------------------------------------------------------------------------


def _table(goal: Term, background: BackgroundTables) -> Background:
    name, arity = (goal.functor, len(goal.args)) if isinstance(goal, Compound) else (show(goal), 0)
    predicate = background.knowledge.predicates.get((name, arity))
    if predicate is not None and predicate.chances is not None:
        raise KnowledgeError(label((name, arity)), UNCERTAIN)
    return background.table(name, arity)


def _bound(args: tuple[Term, ...], rows: Rows) -> tuple[int, ...]:
    """The positions whose values are known."""
    return tuple(
        at
        for at, arg in enumerate(args)
        if not isinstance(arg, Variable) or arg.name in rows.columns
    )


def _finder(table: Background, positions: tuple[int, ...]) -> Finder:
    finder = table.finders.get(positions)
    if finder is None:
        columns = [(table.columns[at], table.domains[at]) for at in positions]
        finder = table.finders[positions] = Finder(columns, table.length)
    assert isinstance(finder, Finder)
    return finder


def _wanted(arg: Term, table: Background, position: int, rows: Rows) -> Array:
    domain = table.domains[position]
    column = rows.columns[arg.name] if isinstance(arg, Variable) else constant_column(arg, domain)
    return recoded(column, domain, rows.length)


def _constant_matches(
    step: Lookup, args: tuple[Term, ...], bound: tuple[int, ...], table: Background,
    background: BackgroundTables,
) -> Array:  # fmt: skip
    """The rows of a table that have the constants of a look-up."""

    def find() -> Array:
        mask = np.ones(table.length, np.bool_)
        for at in bound:
            mask &= table.columns[at] == constant_column(args[at], table.domains[at]).data[0]
        return np.flatnonzero(mask)

    filling = background.filling(functor(step.goal))
    if filling:
        return find()
    found: Array = background.memo.once("matches", step, find)
    return found


def _with_constants(args: tuple[Term, ...], rows: Rows, table: Background, match: int) -> Rows:
    """One match for all rows: its values are constants."""
    more: dict[str, Column] = {}
    for position, arg in enumerate(args):
        if isinstance(arg, Variable) and arg.name != "_":
            value = table.columns[position][match : match + 1]
            if arg.name in more and more[arg.name].data[0] != value[0]:
                return rows.settled().take(np.empty(0, np.int64))
            more[arg.name] = Column(value, table.domains[position], constant=True)
    return rows.with_columns(more)


def _crossed(length: int, matches: Array) -> tuple[Array, Array]:
    bounded(length * len(matches))
    return np.repeat(np.arange(length), len(matches)), np.tile(matches, length)


def _joined(
    goal: Term, args: tuple[Term, ...], rows: Rows, table: Background, chosen: Array, places: Array
) -> Rows:
    """Chosen rows beside the rows of the table found for them."""
    same = len(chosen) == rows.length and bool(np.all(chosen == np.arange(len(chosen))))
    result = rows if same else rows.take(chosen)
    more: dict[str, Column] = {}
    unequal = np.zeros(len(chosen), np.bool_)
    for position, arg in enumerate(args):
        if not isinstance(arg, Variable) or arg.name == "_" or arg.name in rows.columns:
            continue
        column = Column(table.columns[position], table.domains[position], places)
        if arg.name in more:
            unequal |= more[arg.name].values != column.values
        else:
            more[arg.name] = column
    result = result.with_columns(more)
    return result.where(~unequal) if unequal.any() else result
