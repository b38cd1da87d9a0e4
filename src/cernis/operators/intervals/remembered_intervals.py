"""Relations between intervals across a window's edge: what a rule sees of intervals that are over.

A window forgets what ended before its edge. A relation may hold between an interval that goes on
after the edge and one that does not; so a program can say how far back from the edge the rules
with such relations see. What they say of points up to the edge stands all the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cernis.check.model import Relation
from cernis.operators.intervals.pieces import pieces, united
from cernis.operators.query_context import Context
from cernis.plan.logical import Combine, Fetch, IntervalRule


def looking_back(rule: IntervalRule, context: Context) -> Context:
    """The context as a rule sees it: with what is remembered, if it relates intervals."""
    if not any(isinstance(step, Combine) and step.operator == "allen" for step in rule.steps):
        return context
    relations = {step.pair.relation for step in rule.steps if isinstance(step, Fetch)}
    relations &= context.remembered.keys()
    if not relations:
        return context
    wider = replace(
        context, fluents=dict(context.fluents), unsure=set(context.unsure),
        unsure_groups=dict(context.unsure_groups),
    )  # fmt: skip
    for relation in relations:
        _widen(relation, wider)
    return wider


def _widen(relation: Relation, context: Context) -> None:
    table = context.fluents.get(relation)
    parts = [*pieces(table), *pieces(context.remembered[relation])]
    context.fluents[relation] = united(parts, relation, context)
    if table is not None and relation in context.unsure:
        # The groups have other numbers now.
        open_ones = np.flatnonzero(context.unsure_groups[relation])
        columns = [column[open_ones] for column in (*table.arguments, table.values)]
        context.leave_open(relation, columns)
