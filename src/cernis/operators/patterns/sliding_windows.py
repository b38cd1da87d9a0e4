"""Aggregates over windows that slide along matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cernis.check.rewrites.validity import END
from cernis.errors import UnsupportedError
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.slide import GREATEST, LEAST, SUM, lows_of_span, slide, turns
from cernis.operators.collections import ROW
from cernis.operators.column_arithmetic import Numeric, rows_at
from cernis.operators.context.query_context import Context
from cernis.operators.expressions import as_column, numbers_in, numeric_value, overflow
from cernis.operators.patterns.matches import Ordered, arriving, shared_groups
from cernis.operators.patterns.totals import (
    as_list,
    can_be_added,
    has_overflow,
    one_by_one,
    with_values,
)
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.pattern_steps import BOTH, ONE, OTHER, Slide
from cernis.syntax.printer import show
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import NumericValues

_KINDS = {"sum": SUM, "avg": SUM, "min": LEAST, "max": GREATEST}


def slide_exec(step: Slide, rows: Rows, names: Sequence[str], context: Context) -> Rows:
    """Matches with the aggregate of their window, which ends with the match itself.

    Matches come in the order of their end, then start, then values. A match whose value is no
    number is left out, of windows too. `avg` is a float; the others are as their values are.
    """
    rows, values, matches = in_order_of_arrival(step, rows, names, context)
    firsts = matches.offsets[matches.groups]
    totals = aggregates(step, firsts, _lows(step, firsts, matches), values, context)
    return rows.with_columns({step.result: as_column(totals, rows.length)[0]})


def in_order_of_arrival(
    step: Slide, rows: Rows, names: Sequence[str], context: Context
) -> tuple[Rows, Numeric | None, Ordered]:
    """The matches that an aggregate is over, as they come in each of its windows; their values."""
    values: Numeric | None = None
    if step.value is not None:
        assert rows.times is not None
        timed = rows.with_columns({END: rows.times})
        known, values = with_values(numeric_value(step.value, timed), rows.length)
        rows = rows if len(known) == rows.length else rows.take(known)
    groups, _, size = shared_groups(rows, rows, step.key, context.caches)
    others = [name for name in names if name not in step.key]
    matches = arriving(rows, groups, size, others, unique=True)
    if matches.order is not None:
        rows = rows.take(matches.order)
        values = None if values is None else rows_at(values, rows.length, matches.order)
    return rows, values, matches


def _lows(step: Slide, firsts: Integers, matches: Ordered) -> Integers:
    if step.last is not None:
        return np.maximum(firsts, np.arange(len(firsts)) - step.last + 1)
    return firsts if step.past is None else lows_of_span(firsts, matches.ends, step.past)


def aggregates(
    step: Slide, firsts: Integers, lows: Integers, values: Numeric | None, context: Context
) -> Numeric:
    """The aggregate of each row's window, which begins at the low; `firsts` are of its group."""
    totals = _aggregated(step, firsts, lows, values, context)
    if has_overflow(totals):
        assert step.value is not None
        raise overflow(f"{step.kind} of {show(step.value)}", step.value)
    return totals


def _aggregated(
    step: Slide, firsts: Integers, lows: Integers, values: Numeric | None, context: Context
) -> Numeric:
    counts = np.arange(1, len(lows) + 1) - lows
    if values is None:
        return counts
    if step.kind == "fold":
        floats = values.as_floats() if isinstance(values, NumericValues) else values
        if floats is None:
            raise UnsupportedError(f"the fold of {step.result} is of numbers of several forms")
        return _folded(firsts, lows, floats, lambda a, b: _combined(step, a, b, context))
    if isinstance(values, NumericValues) or not can_be_added(values):
        each = as_list(values)
        windows = [each[low : row + 1] for row, low in enumerate(lows.tolist())]
        return one_by_one(step.kind, windows)
    found = slide(_KINDS[step.kind], firsts, lows, np.ascontiguousarray(values))
    return found / counts if step.kind == "avg" else found


# -- folds of the user's own -----------------------------------------------------------------


def _combined(step: Slide, one: Array, other: Array, context: Context) -> Array:
    """What a predicate makes of two values, for many pairs at once."""
    columns = {ROW: Column(np.arange(len(one))), ONE: Column(one), OTHER: Column(other)}
    rows = run_steps(step.fold, Rows(len(one), columns), context).settled()
    if rows.length != len(one):
        raise UnsupportedError(f"the fold of {step.result} does not give one value for each pair")
    values = numeric_column(rows.columns[BOTH], rows.length)
    found = np.empty(rows.length, values.dtype)
    found[rows.columns[ROW].expanded(rows.length)] = values
    return found


def numeric_column(column: Column, length: int) -> Array:
    """A column as numbers: as floats, if they are of several forms."""
    numbers = numbers_in(column)
    if isinstance(numbers, NumericValues):
        floats = numbers.as_floats()
        if floats is None:
            raise UnsupportedError("a fold is of numbers of several forms")
        numbers = floats
    return np.broadcast_to(numbers, length)


def _folded(
    firsts: Integers, lows: Integers, values: Array, fold: Callable[[Array, Array], Array]
) -> Array:
    """The fold of each row's window, by two stacks; all windows of one step at once.

    A stretch of rows is folded from one of its ends; stretches are no longer than windows, so that
    many steps are taken, each for all stretches, and each row takes part in two.
    """
    if not len(values):
        return values
    # What two integers make may be no integer.
    values = values.astype(np.result_type(values, fold(values[:1], values[:1])))
    lasts = turns(firsts, lows)
    rows = np.arange(len(values))
    turning = rows[lasts == rows]
    front, back = values.copy(), values.copy()
    # The front stack of a turn goes from its row back to the first of its window.
    depth = turning - lows[turning]
    for step in range(1, int(depth.max(initial=0)) + 1):
        places = turning[depth >= step] - step
        front[places] = fold(front[places], front[places + 1])
    # The back stack begins after the last row of the front one.
    height = rows - lasts - 1
    order = np.argsort(height, kind="stable")
    for places in np.split(order, np.cumsum(np.bincount(height + 1))[:-1])[2:]:
        back[places] = fold(back[places - 1], back[places])
    whole = front[lows]
    later = rows[lasts != rows]
    whole[later] = fold(front[lows[later]], back[later])
    return whole
