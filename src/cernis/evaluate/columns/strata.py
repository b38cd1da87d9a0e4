"""Evaluates all strata of a plan at one query time, bottom-up."""

from __future__ import annotations

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.errors import UnsupportedError
from cernis.evaluate.columns.cycle_rounds import CycleRounds
from cernis.evaluate.columns.pattern_rounds import settle_recursion
from cernis.evaluate.columns.window_carry import reaching
from cernis.kernels.array_types import Array
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.definitions.simple_fluents import Carried, SimpleFluent
from cernis.operators.intervals.gap_edges import Clipped
from cernis.operators.intervals.static_fluents import evaluate_static
from cernis.operators.patterns.derived_events import evaluate_event
from cernis.plan.builder import Plan
from cernis.plan.logical import Definition, InitialPoints, Stratum
from cernis.tables.interval_pieces import pieces, united


def evaluate(plan: Plan, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate every stratum of a plan from the tables of the context; gives the conflicts."""
    conflicts = 0
    for stage in plan.stages:
        for stratum in stage.strata:
            with context.measuring.timed(stratum.relations):
                conflicts += evaluate_stratum(stratum, context, carried)
    context.relations.seen = dict(context.relations.fluents)
    return conflicts


def evaluate_stratum(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate the definitions of a stratum; gives the conflicts."""
    refuse_unsupported(stratum)
    if stratum.immediate and stratum.recursion is not None:
        return settle_recursion(stratum, stratum.recursion, evaluate_definition, context, carried)
    if stratum.immediate:
        return CycleRounds(stratum, evaluate_definition, context).settle(carried)
    return _evaluate_in_order(stratum, context, carried)


def _evaluate_in_order(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate the definitions of a stratum in order; gives the conflicts."""
    return sum(
        evaluate_definition(definition, context, carried) for definition in stratum.definitions
    )


def refuse_unsupported(stratum: Stratum, uncertain: bool = False) -> None:
    """Raise an error if a stratum has what cannot be evaluated over such records."""
    for definition in stratum.definitions:
        for rule in definition.rules:
            if isinstance(rule, InitialPoints) and rule.probability is not None and not uncertain:
                raise UnsupportedError(
                    f"{definition.relation}: what holds initially has a probability; that needs a "
                    "run over uncertain records"
                )


def evaluate_definition(
    definition: Definition, context: Context, carried: dict[Relation, Carried]
) -> int:
    """Evaluate one definition; gives the number of conflicts between its values."""
    relation = definition.relation
    if definition.kind == "event":
        context.relations.events[relation] = evaluate_event(relation, definition, context)
    elif definition.kind == FluentKind.SIMPLE:
        fluent = SimpleFluent(relation, definition, context)
        context.relations.fluents[relation] = fluent.evaluate(carried.get(relation))
        return fluent.conflicts
    else:
        table, unsure = evaluate_static(relation, definition, context)
        clipped = Clipped.of(definition, context)
        # The context has the intervals that reach the window's edge, and those of other values.
        # What another definition of the fluent has not continued was put by: this one may do so.
        before = context.relations.fluents.get(relation)
        past = context.relations.past.pop(relation, [])
        unsure = _joined(_left_open(relation, context.relations), unsure)
        if before is not None:
            parts = [*pieces(before), *past, *pieces(table)]
            whole = united(parts, context.encoding.fluents[relation])
            table = reaching(whole, relation, context)
        context.relations.fluents[relation] = table
        if unsure is not None:
            context.relations.leave_open(relation, unsure)
        if clipped is not None:
            clipped.mark(context)
    return 0


def _left_open(relation: Relation, relations: QueryRelations) -> list[Array] | None:
    """The instances of the table so far that may go on after the query."""
    mask = relations.open_at_query.get(relation)
    if mask is None:
        return None
    table = relations.fluents[relation]
    return [column[mask] for column in (*table.arguments, table.values)]


def _joined(first: list[Array] | None, second: list[Array] | None) -> list[Array] | None:
    if first is None or second is None:
        return second if first is None else first
    return [np.concatenate(columns) for columns in zip(first, second, strict=True)]
