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
from cernis.operators.context.measuring import Measuring
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.intervals.static_fluents import evaluate_static
from cernis.plan.logical import Definition, IntervalRule
from cernis.tables.interval_pieces import chosen, pieces, united
from cernis.tables.interval_tables import FluentTable


def clip_input(relation: Relation, context: Context) -> None:
    """Mark the instances of an input fluent that are seen from the point after a gap on."""
    window = context.window
    if window.forgotten > window.edge:
        table = context.relations.fluents[relation]
        mask = _with_edge(table, table.starts == window.forgotten + window.tick)
        if mask.any():
            context.relations.clipped[relation] = mask


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
        relation, parts = definition.relation, _clipped_parts(definition, context.relations)
        if not parts and relation not in context.relations.clipped:
            return None
        relations = replace(
            context.relations, open_at_query={},
            fluents={**context.relations.fluents, **{r: _moved(r, context) for r in parts}},
        )  # fmt: skip
        moved = replace(
            context, relations=relations, caches=context.caches.for_other_tables(),
            measuring=Measuring(),
        )  # fmt: skip
        table, _ = evaluate_static(relation, definition, moved)
        before = context.relations.fluents.get(relation)
        table = united([*pieces(before), *pieces(table)], context.encoding.fluents[relation])
        return Clipped(relation, table, _marked(relation, context.relations))

    def mark(self, context: Context) -> None:
        """Mark the instances that start or end at the edge as they are, and not so."""
        point = context.window.forgotten + context.window.tick
        own = context.relations.fluents[self.relation]
        groups = np.flatnonzero(_with_edge_at(own, point))
        columns = [column[groups] for column in (*own.arguments, own.values)]
        found = self.table.finder(tuple(range(len(columns)))).one(columns, len(groups))
        is_edge = (found >= 0) & np.append(_with_edge_at(self.table, point), False)[found]
        columns = [column[~is_edge] for column in columns]
        if self.marked:
            columns = [np.concatenate(both) for both in zip(columns, self.marked, strict=True)]
        context.relations.clip(self.relation, columns)


def _clipped_parts(definition: Definition, relations: QueryRelations) -> set[Relation]:
    """The fluents that rules are made of, and of which instances are marked."""
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    fetched = {relation for rule in rules for relation in rule.needs.relations}
    return fetched & relations.clipped.keys()


def _marked(relation: Relation, relations: QueryRelations) -> list[Array]:
    """The arguments and values of the instances that are marked; empty if none are."""
    if relation not in relations.clipped:
        return []
    table, mask = relations.fluents[relation], relations.clipped[relation]
    return [column[mask] for column in (*table.arguments, table.values)]


def _moved(relation: Relation, context: Context) -> FluentTable:
    """A fluent whose marked instances start or end one point earlier."""
    window = context.window
    table, point = context.relations.fluents[relation], window.forgotten + window.tick
    ((arguments, values, starts, ends),) = pieces(table)
    marked = np.repeat(context.relations.clipped[relation], np.diff(table.offsets))
    starts = np.where(marked & (starts == point), window.forgotten, starts)
    ends = np.where(marked & (ends == point), window.forgotten, ends)
    return united(
        [chosen((arguments, values, starts, ends), starts < ends)],
        context.encoding.fluents[relation],
    )


def _with_edge_at(table: FluentTable, point: int) -> Booleans:
    """The groups of which an interval starts or ends at a point."""
    return _with_edge(table, (table.starts == point) | (table.ends == point))


def _with_edge(table: FluentTable, intervals: Booleans) -> Booleans:
    """The groups of some intervals, as a mask."""
    mask = np.zeros(len(table), np.bool_)
    mask[np.repeat(np.arange(len(table)), np.diff(table.offsets))[intervals]] = True
    return mask
