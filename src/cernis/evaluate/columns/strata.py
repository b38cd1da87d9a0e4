"""One query: brings all strata up to a query time, bottom-up."""

from __future__ import annotations

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.errors import UnsupportedError
from cernis.evaluate.columns.cycle_rounds import Cycle
from cernis.evaluate.columns.pattern_rounds import has_patterns, settle
from cernis.kernels.array_types import Array
from cernis.operators.definitions.simple_fluents import Carried, SimpleFluent
from cernis.operators.intervals.gap_edges import Clipped
from cernis.operators.intervals.pieces import pieces, reaching, united
from cernis.operators.intervals.static_fluents import evaluate_static
from cernis.operators.patterns.derived_events import evaluate_event
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.logical import Definition, InitialPoints, Match, Stratum


def evaluate(plan: Plan, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate every stratum of a plan, from what the context has; gives the conflicts."""
    conflicts = 0
    for stage in plan.stages:
        for stratum in stage.strata:
            with context.timed(stratum.relations):
                conflicts += evaluate_stratum(stratum, context, carried)
    context.seen = dict(context.fluents)
    return conflicts


def evaluate_stratum(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate the definitions of a stratum; gives the conflicts."""
    refuse(stratum)
    if stratum.immediate and has_patterns(stratum):
        return settle(stratum, evaluate_definition, context, carried)
    if stratum.immediate:
        return Cycle(stratum, evaluate_definition, context).settle(carried)
    return _once(stratum, context, carried)


def _once(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate the definitions of a stratum in order; gives the conflicts."""
    return sum(
        evaluate_definition(definition, context, carried) for definition in stratum.definitions
    )


def refuse(stratum: Stratum, uncertain: bool = False) -> None:
    """Say what a run over certain records cannot evaluate."""
    for definition in stratum.definitions:
        for rule in definition.rules:
            if isinstance(rule, InitialPoints) and rule.probability is not None and not uncertain:
                raise UnsupportedError(
                    f"{definition.relation}: what holds initially has a probability; that needs a "
                    "run over uncertain records"
                )
        if uncertain and any(isinstance(rule, Match) for rule in definition.rules):
            raise UnsupportedError(
                f"{definition.relation}: event patterns over uncertain records are not supported; "
                "let it match what is certain, such as the start of a statically determined fluent"
            )


def evaluate_definition(
    definition: Definition, context: Context, carried: dict[Relation, Carried]
) -> int:
    """Evaluate one definition; gives the number of conflicts between its values."""
    relation = definition.relation
    if definition.kind == "event":
        context.events[relation] = evaluate_event(relation, definition, context)
    elif definition.kind == FluentKind.SIMPLE:
        fluent = SimpleFluent(relation, definition, context)
        context.fluents[relation] = fluent.evaluate(carried.get(relation))
        return fluent.conflicts
    else:
        table, unsure = evaluate_static(relation, definition, context)
        clipped = Clipped.of(definition, context)
        # What reaches the window's edge, and what other components say of other values.
        before = context.fluents.get(relation)
        unsure = _both(_left_open(relation, context), unsure)
        context.fluents[relation] = (
            table if before is None
            else reaching(
                united([*pieces(before), *pieces(table)], relation, context), relation, context
            )
        )  # fmt: skip
        if unsure is not None:
            context.leave_open(relation, unsure)
        if clipped is not None:
            clipped.mark(context)
    return 0


def _left_open(relation: Relation, context: Context) -> list[Array] | None:
    """The instances so far that may go on after the query."""
    if relation not in context.unsure:
        return None
    table, mask = context.fluents[relation], context.unsure_groups[relation]
    return [column[mask] for column in (*table.arguments, table.values)]


def _both(first: list[Array] | None, second: list[Array] | None) -> list[Array] | None:
    if first is None or second is None:
        return second if first is None else first
    return [np.concatenate(own) for own in zip(first, second, strict=True)]
