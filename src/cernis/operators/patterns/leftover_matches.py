"""What matches after a window's edge can still be made with, by the meaning of their step.

Three steps need less of the past than a `within` says, or need not all of it where there is none:

- `P seq Q` under chronological consumption: what was used up before the edge is gone, and only the
  P that are left can be taken;
- `P seq Q` under recent consumption, where all that fits is told by the variables that both have,
  and Q are points: of each group, only the P that ended last;
- an aggregate over the last N matches: the last N - 1 of each key.

P and Q are occurrences, with conditions or without, and the step is all of its rule's pattern: what
a step above it needs of the past would have to be kept otherwise.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Booleans, Integers
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_context import Context
from cernis.operators.patterns.matches import arriving, shared_groups
from cernis.operators.patterns.pairing import joined
from cernis.operators.patterns.pattern_operators import USED, refined, side_rows
from cernis.plan.pattern_steps import Join, Refine, Slide, Step
from cernis.tables.columns import Rows
from cernis.tables.event_tables import EventTable, first_rows


def leftover(
    step: Step, before: EventTable, right: EventTable | None, edge: int, context: Context
) -> EventTable:
    """Of the occurrences up to an edge, those that are needed after it.

    `before` are those of the first part that were left by the last edge or have been passed since,
    `right` those of the second part that have been passed since.
    """
    starts = before.times if before.starts is None else before.starts
    before = before.take(first_rows([*before.arguments, starts, before.times]))
    if isinstance(step, Refine):
        kept = _lately(step, side_rows(step.part, before, context), len(before), context.caches)
    else:
        assert isinstance(step, Join)
        assert right is not None
        rows = side_rows(step.left, before, context)
        if step.consumption == "recent":
            kept = _last(step, rows, len(before), context.caches)
        else:
            kept = _unused(step, rows, side_rows(step.right, right, context), before, context)
            if step.limit >= 0:
                starts = before.times if before.starts is None else before.starts
                kept &= starts > edge - step.limit
    return before.take(np.flatnonzero(kept))


def _unused(step: Join, left: Rows, right: Rows, before: EventTable, context: Context) -> Booleans:
    """Which occurrences of the left no match up to the edge has used up."""
    kept = np.zeros(len(before), np.bool_)
    kept[_which(left)] = True
    for found in joined(step, [left], [right], [], context, refined):
        kept[_which(found)] = False
    return kept


def _last(step: Join, rows: Rows, count: int, caches: QueryCaches) -> Booleans:
    """Which occurrences of the left end last of those that agree in what both sides share."""
    shared = [name for name in step.left.names if name in step.right.names]
    groups, _, size = shared_groups(rows, rows, shared, caches)
    last = np.full(size, np.iinfo(np.int64).min)
    np.maximum.at(last, groups, rows.points)
    kept = np.zeros(count, np.bool_)
    kept[_which(rows)[rows.points == last[groups]]] = True
    return kept


def _lately(step: Refine, rows: Rows, count: int, caches: QueryCaches) -> Booleans:
    """Which occurrences may be in the window of one that is still to come."""
    kept = np.zeros(count, np.bool_)
    for slide in step.around:
        if not isinstance(slide, Slide):
            continue
        assert slide.last is not None
        groups, _, size = shared_groups(rows, rows, slide.key, caches)
        others = [name for name in step.part.names if name not in slide.key]
        arrivals = arriving(rows, groups, size, others, unique=True)
        stops = arrivals.offsets[arrivals.groups + 1] if len(arrivals.groups) else arrivals.groups
        recent = np.flatnonzero(stops - np.arange(len(arrivals.groups)) < slide.last)
        kept[_which(rows)[arrivals.rows(recent)]] = True
    return kept


def _which(rows: Rows) -> Integers:
    found: Integers = rows.columns[USED].expanded(rows.length)
    return found
