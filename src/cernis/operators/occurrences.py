"""What happens at points: scans, joins and exclusions of events, starts, ends and changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeGuard

import numpy as np

from cernis.check.model import Boundary, Changes, Event, Pair, Relation
from cernis.kernels.array_types import Array
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.context.fluent_points import Points
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.definitions.asked_terminations import (
    as_said,
    of_any_value,
    of_said_value,
    of_value,
    of_values,
)
from cernis.plan.logical import EventAntiJoin, EventJoin, Occurrence, Scan
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain, numbers
from cernis.tables.event_tables import EventTable, first_rows
from cernis.tables.interval_tables import INFINITY, FluentTable

_Selection: TypeAlias = Callable[[Points], Points]


def scan_exec(step: Scan, context: Context) -> Rows:
    """One row for each happening inside the window."""
    if isinstance(step.occurrence, Boundary):
        return _scanned_edges(step, step.occurrence, context)
    return _scanned(step, context)


def _scanned_edges(step: Scan, boundary: Boundary, context: Context) -> Rows:
    """Rules that begin with the same starts or ends share their rows."""
    fluent, pair = context.relations.fluents.get(boundary.pair.relation), boundary.pair
    if pair.relation in context.relations.open_at_query:
        return _scanned(step, context)
    key = ("edges", boundary.edge, pair.relation, pair.args, pair.value, step.time)
    remembered = context.caches.computed.get(key)
    if remembered is None or remembered[1] is not fluent:
        remembered = context.caches.computed[key] = (_scanned(step, context), fluent)
    rows: Rows = remembered[0]
    return rows


def _scanned(step: Scan, context: Context) -> Rows:
    table, args = occurrence_table(step.occurrence, context)
    times = Column(table.times)
    rows = Rows(len(table), {step.time: times} if step.time else {}, times)
    return _bind(args, table, rows, None)


def event_join_exec(step: EventJoin, rows: Rows, context: Context) -> Rows:
    """Rows beside what else happens at their time."""
    table, args = occurrence_table(step.occurrence, context)
    if step.once:
        table = table.take(first_rows([*table.arguments, table.times]))
    positions = _known(args, rows)
    wanted = [_wanted(args[at], table, at, rows) for at in positions]
    chosen, found = table.index(positions).find(wanted, rows.points)
    return _bind(args, table, rows.take(chosen), found)


def event_anti_join_exec(step: EventAntiJoin, rows: Rows, context: Context) -> Rows:
    """Rows at whose time it does not happen; variables without a value stand for anything."""
    table, args = occurrence_table(step.occurrence, context)
    positions = _known(args, rows)
    wanted = [_wanted(args[at], table, at, rows) for at in positions]
    if _is_termination(step.occurrence) and positions[-1:] == (len(args) - 1,):
        return rows.where(~_is_terminated(step.occurrence, positions, wanted, rows, context))
    return rows.where(~table.index(positions).exists(wanted, rows.points))


def _is_terminated(
    changes: Changes, positions: tuple[int, ...], wanted: list[Array], rows: Rows, context: Context
) -> Array:
    """For each row: is the value that it knows terminated, or any value?"""
    one, other = (_changes(changes, own, context) for own in (of_said_value, of_any_value))
    found: Array = one.index(positions).exists(wanted, rows.points)
    return found | other.index(positions[:-1]).exists(wanted[:-1], rows.points)


def bound_rows(args: list[Term], table: EventTable, rows: Rows) -> Rows:
    """One row for each row of the table, with the values of a literal's variables."""
    return _bind(args, table, rows, None)


def closed_intervals(pair: Pair, context: Context) -> EventTable:
    """The time-points at which a pair held, as closed intervals: those that end in the window.

    What still holds, or may go on after the query, has not ended.
    """
    fluent = context.relations.fluents.get(pair.relation)
    if fluent is None:
        return _nothing(Boundary("end", pair, False), context.encoding)
    ends = fluent.ends - context.window.tick
    groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
    inside = _are_edges(pair.relation, groups, ends, context) & (fluent.ends != INFINITY)
    table = _of_fluent(fluent, groups[inside], ends[inside])
    table.starts = fluent.starts[inside]
    return table


def _known(args: list[Term], rows: Rows) -> tuple[int, ...]:
    return tuple(
        at
        for at, arg in enumerate(args)
        if not isinstance(arg, Variable) or arg.name in rows.columns
    )


def _wanted(arg: Term, table: EventTable, position: int, rows: Rows) -> Array:
    domain = table.domains[position]
    column = rows.columns[arg.name] if isinstance(arg, Variable) else constant_column(arg, domain)
    return recoded(column, domain, rows.length)


def _bind(args: list[Term], table: EventTable, rows: Rows, places: Array | None) -> Rows:
    """Give the variables of a literal the values found, or those of all rows of the table.

    Constants and repeated variables must agree.
    """
    more: dict[str, Column] = {}
    masks = []
    for position, arg in enumerate(args):
        column = Column(table.arguments[position], table.domains[position], places)
        if not isinstance(arg, Variable):
            if places is None:
                masks.append(column.values == constant_column(arg, table.domains[position]).data[0])
        elif arg.name in more:
            masks.append(more[arg.name].values == column.values)
        elif arg.name != "_" and arg.name not in rows.columns:
            more[arg.name] = column
    rows = rows.with_columns(more)
    return rows.where(np.logical_and.reduce(masks)) if masks else rows


def occurrence_table(occurrence: Occurrence, context: Context) -> tuple[EventTable, list[Term]]:
    """The happenings a literal speaks of, and its arguments in the order of their columns."""
    if isinstance(occurrence, Event):
        table = context.relations.events.get(occurrence.relation)
        if table is None:
            domains = context.encoding.events[occurrence.relation]
            none = np.empty(0, np.int64)
            table = EventTable([none] * len(domains), domains, none)
        return table.points(), list(occurrence.args)
    pair = occurrence.pair
    args = [*pair.args, pair.value]
    if isinstance(occurrence, Boundary):
        return _edges(occurrence, context), args
    return _changes(occurrence, _selected(occurrence, context.encoding), context), args


def _is_termination(occurrence: Occurrence) -> TypeGuard[Changes]:
    return isinstance(occurrence, Changes) and not occurrence.initiates


def _selected(changes: Changes, encoding: ValueEncoding) -> _Selection:
    """Which rows of a fluent's initiations or terminations a literal speaks of."""
    value = changes.pair.value
    if changes.initiates or changes.negated:
        return as_said
    if isinstance(value, Variable):
        return as_said if value.name == "_" else of_values
    code = _value_code(value, changes.pair.relation, encoding)
    return lambda points: of_value(points, code)


def _value_code(value: Term, relation: Relation, encoding: ValueEncoding) -> int:
    """The code that identifies a value of a fluent."""
    domain = encoding.fluents[relation][1]
    column = constant_column(value, domain).data
    if domain is None:
        column = encoding.domains.value_domain(relation).encode_numbers(column)
    return int(column[0])


def _edges(boundary: Boundary, context: Context) -> EventTable:
    """The starts or ends of a fluent's intervals, one tick before they show; or first points."""
    window = context.window
    fluent = context.relations.fluents.get(boundary.pair.relation)
    if fluent is None:
        return _nothing(boundary, context.encoding)
    is_first = boundary.edge == "startI"
    times = fluent.ends if boundary.edge == "end" else fluent.starts
    times = times if is_first else times - window.tick
    groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
    if is_first:
        inside = (times > window.edge) & (times <= window.query)
    else:
        inside = _are_edges(boundary.pair.relation, groups, times, context)
    if boundary.edge == "end":
        inside &= fluent.ends != INFINITY
    groups = groups[inside]
    return _of_fluent(fluent, groups, times[inside])


def _are_edges(relation: Relation, groups: Array, times: Array, context: Context) -> Array:
    """Which starts or ends of intervals lie in the window, and are no edges of the window itself.

    What depends on a point at the query may go on after it. What depends on input that is seen
    again after a gap between windows may have held, or not have held, in the gap, too.
    """
    window = context.window
    inside: Array = (times > window.edge) & (times <= window.query)
    if relation in context.relations.open_at_query:
        inside &= (times < window.query) | ~context.relations.open_at_query[relation][groups]
    if relation in context.relations.clipped:
        inside &= (times != window.forgotten) | ~context.relations.clipped[relation][groups]
    return inside


def _of_fluent(fluent: FluentTable, groups: Array, times: Array) -> EventTable:
    columns = fluent.columns()
    return EventTable(
        [data[groups] for data, _ in columns], [domain for _, domain in columns], times
    )


def _slots(occurrence: Boundary | Changes, encoding: ValueEncoding) -> list[Domain | None]:
    arguments, value = encoding.fluents[occurrence.pair.relation]
    return [*arguments, value]


def _nothing(occurrence: Boundary | Changes, encoding: ValueEncoding) -> EventTable:
    domains = _slots(occurrence, encoding)
    none = np.empty(0, np.int64)
    return EventTable([none] * len(domains), domains, none)


def _changes(changes: Changes, select: _Selection, context: Context) -> EventTable:
    """Initiations or terminations of a fluent, as rules fire them."""
    relation = changes.pair.relation
    relations = context.relations
    points = (relations.initiations if changes.initiates else relations.terminations).get(relation)
    if points is None:
        return _nothing(changes, context.encoding)
    points = select(points)
    domains = _slots(changes, context.encoding)
    if domains[-1] is None:
        # Numeric values are coded where they are compared for identity; here they are numbers.
        coded = context.encoding.domains.value_domain(relation)
        known = points.values >= 0
        values = numbers(coded.decode(points.values[known]))
        if not known.all():
            values, some = np.full(len(known), np.nan), values
            values[known] = some
        points = Points(points.arguments, values, points.times)
    return points_table(points, domains)


def points_table(points: Points, domains: list[Domain | None]) -> EventTable:
    """Points of a fluent as happenings, its value as the last argument."""
    return EventTable([*points.arguments, points.values], domains, points.times)
