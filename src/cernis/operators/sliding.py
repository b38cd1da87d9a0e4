"""Aggregates over windows that slide along matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.check.validity import END
from cernis.errors import UnsupportedError
from cernis.kernels.slide import GREATEST, LEAST, SUM, lows_of_span, slide, turns
from cernis.operators.collected import ROW
from cernis.operators.context import Context
from cernis.operators.expressions import reckon
from cernis.operators.matches import Ordered, arriving, shared_groups
from cernis.operators.pipeline import run_steps
from cernis.plan.steps import BOTH, ONE, OTHER, Slide
from cernis.tables.columns import Array, Column, Rows

Integers: TypeAlias = npt.NDArray[np.int64]

_KINDS = {"sum": SUM, "avg": SUM, "min": LEAST, "max": GREATEST}


def slide_exec(step: Slide, rows: Rows, names: Sequence[str], context: Context) -> Rows:
    """Matches with the aggregate of their window, which ends with the match itself.

    Matches come in the order of their end, then start, then values. A match whose value is no
    number is left out, of windows too. `avg` is a float; the others are as their values are.
    """
    values: Array | None = None
    if step.value is not None:
        assert rows.times is not None
        timed = rows.with_columns({END: rows.times})
        values = np.broadcast_to(reckon(step.value, timed), rows.length)
        if values.dtype.kind == "f" and np.isnan(values).any():
            known = np.flatnonzero(~np.isnan(values))
            rows, values = rows.take(known), values[known]
    groups, _, size = shared_groups(rows, rows, step.key, context)
    others = [name for name in names if name not in step.key]
    matches = arriving(rows, groups, size, others, unique=True)
    if matches.order is not None:
        rows = rows.take(matches.order)
        values = None if values is None else values[matches.order]
    firsts = matches.offsets[matches.groups]
    own = None if values is None else np.ascontiguousarray(values)
    found = _aggregated(step, firsts, _lows(step, firsts, matches), own, context)
    return rows.with_columns({step.result: Column(found)})


def _lows(step: Slide, firsts: Integers, matches: Ordered) -> Integers:
    if step.last is not None:
        return np.maximum(firsts, np.arange(len(firsts)) - step.last + 1)
    return firsts if step.past is None else lows_of_span(firsts, matches.ends, step.past)


def _aggregated(
    step: Slide, firsts: Integers, lows: Integers, values: Array | None, context: Context
) -> Array:
    counts = np.arange(1, len(lows) + 1) - lows
    if values is None:
        return counts
    if step.kind == "fold":
        return _folded(firsts, lows, values, lambda a, b: _combined(step, a, b, context))
    found = slide(_KINDS[step.kind], firsts, lows, values)
    return found / counts if step.kind == "avg" else found


# -- folds of the user's own -----------------------------------------------------------------


def _combined(step: Slide, one: Array, other: Array, context: Context) -> Array:
    """What a predicate makes of two values, for many pairs at once."""
    columns = {ROW: Column(np.arange(len(one))), ONE: Column(one), OTHER: Column(other)}
    rows = run_steps(step.fold, Rows(len(one), columns), context).settled()
    if rows.length != len(one):
        raise UnsupportedError(f"the fold of {step.result} does not give one value for each pair")
    values = reckon_column(rows.columns[BOTH], rows.length)
    found = np.empty(rows.length, values.dtype)
    found[rows.columns[ROW].expanded(rows.length)] = values
    return found


def reckon_column(column: Column, length: int) -> Array:
    """A column as numbers."""
    values = column.expanded(length)
    return values if column.domain is None else np.array(column.domain.decode(values), np.float64)


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
        own = turning[depth >= step] - step
        front[own] = fold(front[own], front[own + 1])
    # The back stack begins behind the last row of the front one.
    height = rows - lasts - 1
    order = np.argsort(height, kind="stable")
    for own in np.split(order, np.cumsum(np.bincount(height + 1))[:-1])[2:]:
        back[own] = fold(back[own - 1], back[own])
    whole = front[lows]
    behind = rows[lasts != rows]
    whole[behind] = fold(front[lows[behind]], back[behind])
    return whole
