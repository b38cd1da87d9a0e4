"""Relations between intervals across a window's edge: what a rule sees of intervals that are over.

A window forgets what ended before its edge. A relation may hold between an interval that goes on
after the edge and one that does not; so a program can say how far back from the edge the rules
with such relations see. What they say of points up to the edge stands all the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cernis.check.model import Relation
from cernis.operators.context.query_context import Context
from cernis.plan.logical import IntervalRule
from cernis.tables.interval_pieces import pieces, united


def looking_back(rule: IntervalRule, context: Context) -> Context:
    """The context as a rule sees it: with what is remembered, if it relates intervals."""
    if not rule.needs.relates_intervals:
        return context
    relations = rule.needs.relations & context.relations.remembered.keys()
    if not relations:
        return context
    wider = replace(
        context.relations, fluents=dict(context.relations.fluents),
        open_at_query=dict(context.relations.open_at_query),
    )  # fmt: skip
    wider_context = replace(context, relations=wider)
    for relation in relations:
        _widen(relation, wider_context)
    return wider_context


def _widen(relation: Relation, context: Context) -> None:
    table = context.relations.fluents.get(relation)
    parts = [*pieces(table), *pieces(context.relations.remembered[relation])]
    context.relations.fluents[relation] = united(parts, context.encoding.fluents[relation])
    if table is not None and relation in context.relations.open_at_query:
        # The groups have other numbers now.
        open_ones = np.flatnonzero(context.relations.open_at_query[relation])
        columns = [column[open_ones] for column in (*table.arguments, table.values)]
        context.relations.leave_open(relation, columns)
