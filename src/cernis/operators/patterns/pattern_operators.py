"""The steps of event patterns, evaluated for all entities at once.

A step is evaluated once a query, however many rules have it.
"""

from __future__ import annotations

import numpy as np

from cernis.check.model import Boundary, Event, Pair
from cernis.check.rewrites.validity import END, START
from cernis.operators.column_arithmetic import compared
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.expressions import numeric_value
from cernis.operators.occurrences import bound_rows, closed_intervals, occurrence_table
from cernis.operators.patterns.matches import called, starts_of
from cernis.operators.patterns.pairing import joined
from cernis.operators.patterns.sliding_windows import slide_exec
from cernis.operators.rule_pipeline import concatenated, run_steps
from cernis.plan.pattern_steps import (
    Around,
    Choice,
    Conditions,
    Instant,
    Join,
    Longest,
    Occurrences,
    Refine,
    Slide,
    Step,
    StepUse,
)
from cernis.plan.properties.pattern_needs import history_key
from cernis.tables.columns import Column, Rows
from cernis.tables.event_tables import EventTable, stacked


def matches(part: StepUse, context: Context) -> list[Rows]:
    """The matches of a part under the names it has there; tables that are not empty first."""
    return called(part, _evaluated(part.step, context))


def _evaluated(step: Step, context: Context) -> list[Rows]:
    known = context.caches.matched.get(id(step))
    if known is None:
        known = context.caches.matched[id(step)] = _evaluate(step, context)
    return known


def _evaluate(step: Step, context: Context) -> list[Rows]:
    if context.measuring.profile is None:
        return _rows_of_step(step, context)
    with context.measuring.profile.measured(type(step).__name__, step.span, 0) as cost:
        found = _rows_of_step(step, context)
        cost.rows_out += sum(rows.length for rows in found)
    return found


def _rows_of_step(step: Step, context: Context) -> list[Rows]:
    if isinstance(step, Occurrences):
        return [_occurrences(step, context)]
    if isinstance(step, Instant):
        return [_instant(step, context.window)]
    if isinstance(step, Choice):
        return _either(step, context)
    if isinstance(step, Refine):
        return _refined(step, context)
    return _joined(step, context)


# -- what occurs -----------------------------------------------------------------------------


USED = "<used>"
"""A column with the occurrence that a row of `side_rows` is made of."""


def side_rows(part: StepUse, table: EventTable, context: Context) -> Rows:
    """The matches of a part, made of given occurrences; each row names its occurrence."""
    step = part.step
    if isinstance(step, Refine):
        rows = side_rows(step.part, table, context)
        for around in step.around:
            rows = refined(around, rows, context)
    else:
        assert isinstance(step, Occurrences)
        rows = _of_table(step, table, {USED: Column(np.arange(len(table)))})
    (found,) = called(part, [rows])
    return found.with_columns({USED: rows.columns[USED]})


def _occurrences(step: Occurrences, context: Context) -> Rows:
    """One row for each occurrence: of those kept from before the window, and of the window."""
    return _of_table(step, known_occurrences(step.atom, context), {})


def _of_table(step: Occurrences, table: EventTable, more: dict[str, Column]) -> Rows:
    atom = step.atom
    pair = atom.pair if isinstance(atom, Boundary) else atom
    args = list(pair.args) if isinstance(pair, Event) else [*pair.args, pair.value]
    ends = Column(table.times)
    starts = ends if table.starts is None else Column(table.starts)
    rows = Rows(len(table), {START: starts, **more}, ends)
    return bound_rows(args, table, rows).settled()


def known_occurrences(atom: Event | Boundary | Pair, context: Context) -> EventTable:
    """The occurrences of an atom that have ended by the query, those before the window included."""
    table = window_occurrences(atom, context)
    before = context.relations.history.get(history_key(atom))
    return table if before is None or not len(before) else stacked([before, table])


def window_occurrences(atom: Event | Boundary | Pair, context: Context) -> EventTable:
    """The occurrences of an atom that end inside of the window."""
    if isinstance(atom, Pair):
        return closed_intervals(atom, context)
    if isinstance(atom, Event) and atom.relation in context.relations.events:
        return context.relations.events[atom.relation]
    return occurrence_table(atom, context)[0]


def _instant(step: Instant, window: QueryWindow) -> Rows:
    """A time-point occurs once the query has come to it."""
    has_come = step.time <= window.query
    times = Column(np.full(int(has_come), step.time, np.int64))
    return Rows(int(has_come), {START: times}, times)


# -- what is left, and what either gives -----------------------------------------------------


def _either(step: Choice, context: Context) -> list[Rows]:
    found = [rows for part in step.parts for rows in matches(part, context)]
    tables: dict[frozenset[str], list[Rows]] = {}
    for rows in found:
        tables.setdefault(frozenset(rows.columns), []).append(rows)
    return [concatenated(alike) for alike in tables.values()]


def _refined(step: Refine, context: Context) -> list[Rows]:
    parts = _first_part(step, step.part, context)
    for around in step.around:
        if isinstance(around, Slide):
            names = step.part.names
            parts = [slide_exec(around, concatenated(parts), names, context)]
        else:
            parts = [refined(around, rows, context) for rows in parts]
    return parts


def refined(around: Around, rows: Rows, context: Context) -> Rows:
    """What `where` or `within` leaves of matches."""
    if isinstance(around, Conditions):
        if not around.at_end:
            return run_steps(around.steps, rows, context).settled()
        assert rows.times is not None
        found = run_steps(around.steps, rows.with_columns({END: rows.times}), context).settled()
        columns = {name: column for name, column in found.columns.items() if name != END}
        return Rows(found.length, columns, found.times)
    assert isinstance(around, Longest)
    short = compared("=<", rows.points - starts_of(rows), numeric_value(around.duration, rows))
    return rows.where(np.broadcast_to(short, rows.length)).settled()


def _first_part(step: Join | Refine, part: StepUse, context: Context) -> list[Rows]:
    """The matches of a step's first part; where it is known what it needs, no others."""
    if id(step) not in context.relations.leftover:
        return matches(part, context)
    below: Step = part.step
    while isinstance(below, Refine):
        below = below.part.step
    assert isinstance(below, Occurrences)
    own = [context.relations.leftover[id(step)], window_occurrences(below.atom, context)]
    rows = side_rows(part, stacked([table for table in own if len(table)] or own[1:]), context)
    columns = {name: column for name, column in rows.columns.items() if name != USED}
    return [Rows(rows.length, columns, rows.times)]


def _joined(step: Join, context: Context) -> list[Rows]:
    left, right = _first_part(step, step.left, context), matches(step.right, context)
    if id(step) in context.relations.leftover:
        right = [rows.where(rows.points > context.window.edge).settled() for rows in right]
    absent = [] if step.absent is None else matches(step.absent.part, context)
    return joined(step, left, right, absent, context, refined)
