"""Starts and ends that are none of a fluent, but of a window that comes after a gap.

Where steps are longer than windows, the points up to `forgotten` are evaluated without records, and
input fluents are seen again from the next point on. An input fluent that is seen from there has not
started there: it may have held before. A statically determined fluent starts or ends at `forgotten`
only if it does so, too, should such fluents have held there as they do at the next point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Booleans
from cernis.operators.intervals.pieces import chosen, pieces, united
from cernis.operators.intervals.static_fluents import evaluate_static
from cernis.operators.query_context import Context
from cernis.plan.logical import Definition, Fetch, IntervalRule
from cernis.tables.interval_tables import FluentTable


def clip_input(relation: Relation, context: Context) -> None:
    """Mark the instances of an input fluent that are seen from the point after a gap on."""
    if context.forgotten > context.edge:
        table = context.fluents[relation]
        mask = _with_edge(table, table.starts == context.forgotten + context.tick)
        if mask.any():
            context.clipped[relation] = mask


@dataclass(slots=True)
class Clipped:
    """A statically determined fluent, as it would be had its parts held before they are seen."""

    relation: Relation
    table: FluentTable
    marked: list[Array]
    """The instances that were marked before, by what other definitions say of the fluent."""

    @staticmethod
    def of(definition: Definition, context: Context) -> Clipped | None:
        """What a definition says so; None if nothing it is made of is marked."""
        relation, parts = definition.relation, _clipped_parts(definition, context)
        if not parts and relation not in context.clipped:
            return None
        moved = replace(
            context, fluents={**context.fluents, **{r: _moved(r, context) for r in parts}},
            unsure=set(), unsure_groups={}, ordered={}, computed={}, profile=None, timing=None,
        )  # fmt: skip
        table, _ = evaluate_static(relation, definition, moved)
        before = context.fluents.get(relation)
        table = united([*pieces(before), *pieces(table)], relation, context)
        return Clipped(relation, table, _marked(relation, context))

    def mark(self, context: Context) -> None:
        """Mark the instances that start or end at the edge as they are, and not so."""
        point = context.forgotten + context.tick
        own = context.fluents[self.relation]
        groups = np.flatnonzero(_with_edge_at(own, point))
        columns = [column[groups] for column in (*own.arguments, own.values)]
        found = self.table.finder(tuple(range(len(columns)))).one(columns, len(groups))
        is_edge = (found >= 0) & np.append(_with_edge_at(self.table, point), False)[found]
        columns = [column[~is_edge] for column in columns]
        if self.marked:
            columns = [np.concatenate(both) for both in zip(columns, self.marked, strict=True)]
        context.clip(self.relation, columns)


def _clipped_parts(definition: Definition, context: Context) -> set[Relation]:
    """The fluents that rules are made of, and of which instances are marked."""
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    fetched = (step for rule in rules for step in rule.steps if isinstance(step, Fetch))
    return {step.pair.relation for step in fetched} & context.clipped.keys()


def _marked(relation: Relation, context: Context) -> list[Array]:
    """The arguments and values of the instances that are marked; empty if none are."""
    if relation not in context.clipped:
        return []
    table, mask = context.fluents[relation], context.clipped[relation]
    return [column[mask] for column in (*table.arguments, table.values)]


def _moved(relation: Relation, context: Context) -> FluentTable:
    """A fluent whose marked instances start or end one point earlier."""
    table, point = context.fluents[relation], context.forgotten + context.tick
    ((arguments, values, starts, ends),) = pieces(table)
    marked = np.repeat(context.clipped[relation], np.diff(table.offsets))
    starts = np.where(marked & (starts == point), context.forgotten, starts)
    ends = np.where(marked & (ends == point), context.forgotten, ends)
    return united([chosen((arguments, values, starts, ends), starts < ends)], relation, context)


def _with_edge_at(table: FluentTable, point: int) -> Booleans:
    """The groups of which an interval starts or ends at a point."""
    return _with_edge(table, (table.starts == point) | (table.ends == point))


def _with_edge(table: FluentTable, intervals: Booleans) -> Booleans:
    """The groups of some intervals, as a mask."""
    mask = np.zeros(len(table), np.bool_)
    mask[np.repeat(np.arange(len(table)), np.diff(table.offsets))[intervals]] = True
    return mask
