"""Rules over intervals across a window's edge: what a rule sees of intervals that are over.

A window forgets what ended before its edge. A relation may hold between an interval that goes on
after the edge and one that does not; so a program can say how far back from the edge the rules with
such relations see. How long an interval is that reaches beyond the edge may rest on others that do
not; so rules with durations see as far back as durations reach. What rules say of points up to the
edge stands all the same, but for intervals whose length is decided now.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cernis.check.model import Relation
from cernis.operators.context.query_context import Context
from cernis.plan.logical import IntervalRule
from cernis.plan.properties.relation_roles import EVERYTHING
from cernis.tables.interval_pieces import chosen, pieces, united


def looking_back(rule: IntervalRule, context: Context) -> Context:
    """The context as a rule sees it: with what is remembered, if it relates or measures."""
    memory = _memory_of(rule, context)
    relations = rule.needs.relations & context.relations.remembered.keys()
    if memory == 0 or not relations:
        return context
    wider = replace(
        context.relations, fluents=dict(context.relations.fluents),
        open_at_query=dict(context.relations.open_at_query),
    )  # fmt: skip
    wider_context = replace(context, relations=wider)
    for relation in relations:
        _widen(relation, memory, wider_context)
    return wider_context


def _memory_of(rule: IntervalRule, context: Context) -> int | None:
    """How far before the window a rule sees; None if it sees everything."""
    memory = context.roles.memory if rule.needs.relates_intervals else 0
    reach = context.roles.reach.get(rule.head.relation, 0)
    if memory is None or reach >= EVERYTHING:
        return None
    # As far as `QueryWindow.earliest_start`.
    return max(memory, reach + context.window.tick if reach else 0)


def _widen(relation: Relation, memory: int | None, context: Context) -> None:
    table, window = context.relations.fluents.get(relation), context.window
    remembered = pieces(context.relations.remembered[relation])
    if memory is not None:
        oldest = window.forgotten + window.tick - memory
        remembered = [chosen(piece, piece[3] > oldest) for piece in remembered]
    parts = [*pieces(table), *remembered]
    context.relations.fluents[relation] = united(parts, context.encoding.fluents[relation])
    if table is not None and relation in context.relations.open_at_query:
        # The groups have other numbers now.
        open_ones = np.flatnonzero(context.relations.open_at_query[relation])
        columns = [column[open_ones] for column in (*table.arguments, table.values)]
        context.relations.leave_open(relation, columns)
