"""Derived events: the happenings that rules give, and the occurrences of patterns."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Event, Relation
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.rule_heads import fired, head_columns
from cernis.operators.distinct import distinct
from cernis.operators.expressions import computed
from cernis.operators.patterns.matches import starts_of
from cernis.operators.patterns.pattern_operators import matches
from cernis.plan.logical import Definition, Match, PointRule
from cernis.plan.rule_plans import is_expression
from cernis.syntax.tree import Compound, Term
from cernis.tables.columns import Rows
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable, by_time, distinct_rows, stacked


def evaluate_event(relation: Relation, definition: Definition, context: Context) -> EventTable:
    """What happens by all rules of an event; what several rules or rows give is there once."""
    domains = context.encoding.events[relation]
    points = [rule for rule in definition.rules if isinstance(rule, PointRule)]
    tables = [_fired(rule, relation, domains, context) for rule in points]
    patterns = [rule for rule in definition.rules if isinstance(rule, Match)]
    if not patterns:
        return _once(tables, domains)
    tables += [
        _occurring(rule, rows, domains)
        for rule in patterns
        for rows in ended_matches(matches(rule.part, context), context)
    ]
    table = stacked(tables) if tables else _no_occurrence(domains)
    if table.starts is None:
        table.starts = table.times
    assert table.starts is not None
    first = distinct_rows(table.arguments, table.starts, table.times)
    return table if first is None else table.take(first)


def _fired(
    rule: PointRule, relation: Relation, domains: list[Domain | None], context: Context
) -> EventTable:
    assert isinstance(rule.head, Event)
    rows = fired(rule, relation, domains, context).settled()
    return EventTable(head_columns(rule.head.args, rows, domains), domains, rows.points)


def _once(tables: list[EventTable], domains: list[Domain | None]) -> EventTable:
    table = stacked(tables)
    first, _ = distinct([*table.arguments, table.times], [*domains, None])
    return by_time([c[first] for c in table.arguments], domains, table.times[first])


def _no_occurrence(domains: list[Domain | None]) -> EventTable:
    none = np.empty(0, np.int64)
    return EventTable([none] * len(domains), domains, none, none)


# -- patterns --------------------------------------------------------------------------------


def ended_matches(parts: list[Rows], context: Context) -> list[Rows]:
    """The matches of a pattern that end inside of the window: those before it stand."""
    window = context.window
    if window.edge == window.start:
        return parts
    return [rows.where(rows.points > window.edge).settled() for rows in parts]


def _occurring(rule: Match, rows: Rows, domains: list[Domain | None]) -> EventTable:
    """The occurrences of a head; where one of its arguments has no value there is none."""
    rows = with_head_values(rule, rows)
    arguments = head_columns(rule.head.args, rows, domains)
    return EventTable(arguments, domains, rows.points, starts_of(rows))


def with_head_values(rule: Match, rows: Rows) -> Rows:
    """The matches for which each computed argument of the head has a value."""
    return _with_values([arg for arg in rule.head.args if _is_computed(arg)], rows)


def _is_computed(arg: Term) -> bool:
    return isinstance(arg, Compound) and is_expression(arg.functor)


def _with_values(expressions: list[Term], rows: Rows) -> Rows:
    for expression in expressions:
        _, valid = computed(expression, rows)
        rows = rows if valid is None else rows.where(valid).settled()
    return rows
