"""Statically determined fluents: lists of intervals combined, all instances at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.check.model import Grounding, Relation
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.collections import ROW
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.definitions.grounding import allowed
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.intervals.bindings import distinct_rows, instances
from cernis.operators.intervals.interval_lists import evaluate_lists, matching
from cernis.operators.intervals.remembered_intervals import looking_back
from cernis.operators.rule_pipeline import concatenated
from cernis.plan.logical import (
    Definition,
    Fetch,
    IntervalRule,
)
from cernis.tables.columns import Rows
from cernis.tables.domains import Domain
from cernis.tables.interval_pieces import united
from cernis.tables.interval_tables import FluentTable, Piece


def evaluate_static(
    relation: Relation, definition: Definition, context: Context
) -> tuple[FluentTable, list[Array] | None]:
    """The intervals of a fluent; several rules, and several rows of one, add up.

    Also gives the instances that may go on after the query, if there are such.
    """
    domains, value_domain = context.encoding.fluents[relation]
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    results = [one for rule in rules for one in _rule(rule, definition.groundings, context)]
    if len(results) == 1 and results[0].is_distinct and context.window.edge == context.window.start:
        table = results[0].table(domains, value_domain)
    else:
        reach = context.roles.reach.get(relation, 0)
        parts = [each.piece(context.window, reach) for each in results]
        table = united(parts, (domains, value_domain))
    if definition.groundings and len(table):
        values, coded = table.values, value_domain
        if coded is None:
            coded = context.encoding.domains.value_domain(relation)
            values = coded.encode_numbers(values)
        may = allowed(definition.groundings, table.arguments, domains, values, coded, context)
        table = table.take(np.flatnonzero(may)) if not may.all() else table
    unsure = [each.unsure_instances() for each in results if each.unsure is not None]
    columns = [np.concatenate(own) for own in zip(*unsure, strict=True)] if unsure else None
    return table, columns


def _rule(
    rule: IntervalRule, groundings: tuple[Grounding, ...], context: Context
) -> list[_RuleIntervals]:
    """The intervals one rule gives, for the instances some required fluent has."""
    context = looking_back(rule, context)
    needs = rule.needs
    parts = [instances(rule, needed, groundings, context) for needed in needs.alternatives]
    rows = concatenated(parts)
    if len(parts) > 1 or needs.may_repeat:
        rows = distinct_rows(rows)
    if not rows.length:
        return []
    lists = evaluate_lists(rule.steps, rows, context)
    offsets, starts, ends = lists[rule.output].packed()
    if not len(starts):
        return []
    domains, value_domain = context.encoding.fluents[rule.head.relation]
    arguments = [
        head_column(arg, rows, domain) for arg, domain in zip(rule.head.args, domains, strict=True)
    ]
    values = head_column(rule.head.value, rows, value_domain)
    names = {name for name in rows.columns if name != ROW}
    is_distinct = names <= needs.head_names
    unsure = _unsure_rows(rule, rows, context.relations)
    return [_RuleIntervals(arguments, values, offsets, starts, ends, is_distinct, unsure)]


def _unsure_rows(rule: IntervalRule, rows: Rows, relations: QueryRelations) -> Booleans | None:
    """The rows that look at a fluent which may go on after the query; None if there are none."""
    is_unsure: Booleans | None = None
    for step in rule.steps:
        if isinstance(step, Fetch) and step.pair.relation in relations.open_at_query:
            chosen, groups = matching(step.pair, rows, relations.fluents[step.pair.relation])
            unsure = chosen[relations.open_at_query[step.pair.relation][groups]]
            if len(unsure):
                is_unsure = np.zeros(rows.length, np.bool_) if is_unsure is None else is_unsure
                is_unsure[unsure] = True
    return is_unsure


@dataclass(slots=True)
class _RuleIntervals:
    """What a rule gives: rows of a head and a list of intervals; each head once, if distinct."""

    arguments: list[Array]
    values: Array
    offsets: Integers
    starts: Integers
    ends: Integers
    is_distinct: bool
    unsure: Booleans | None = None
    """The rows that may go on after the query."""

    def unsure_instances(self) -> list[Array]:
        """The arguments and values of those rows."""
        return [column[self.unsure] for column in (*self.arguments, self.values)]

    def table(self, domains: list[Domain | None], value_domain: Domain | None) -> FluentTable:
        """The rows that have intervals, as they are."""
        some = np.flatnonzero(np.diff(self.offsets))
        return FluentTable(
            [column[some] for column in self.arguments], self.values[some], domains, value_domain,
            np.append(self.offsets[some], self.offsets[-1]), self.starts, self.ends,
        )  # fmt: skip

    def piece(self, window: QueryWindow, reach: int) -> Piece:
        """The intervals one by one. What was derived up to the window's edge stands.

        Whether an interval is long may be decided after its beginning: it may begin before the edge
        by as much as durations reach.
        """
        owner = np.repeat(np.arange(len(self.values)), np.diff(self.offsets))
        bound = window.edge + window.tick
        keep = self.ends > bound
        owner = owner[keep]
        starts = np.maximum(self.starts, window.earliest_start(reach))[keep]
        return [c[owner] for c in self.arguments], self.values[owner], starts, self.ends[keep]
