"""One query: brings all strata up to a query time, bottom-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.check.model import Event, FluentKind, Relation
from cernis.errors import UnsupportedError
from cernis.operators.context import Context
from cernis.operators.grounding import distinct
from cernis.operators.heads import fired, head_column
from cernis.operators.pieces import pieces, reaching, united
from cernis.operators.simple import Carried, SimpleFluent
from cernis.operators.static import evaluate_static
from cernis.plan.builder import Plan
from cernis.plan.logical import Definition, InitialPoints, Match, PointRule, Stratum
from cernis.runtime.cycles import Cycle
from cernis.tables.columns import Array
from cernis.tables.events import by_time


@dataclass(slots=True)
class Outcome:
    """What a query counted on its way."""

    conflicts: int = 0


def evaluate(plan: Plan, context: Context, carried: dict[Relation, Carried]) -> Outcome:
    """Evaluate every stratum of a plan, from the relations that the context has."""
    outcome = Outcome()
    for stage in plan.stages:
        for stratum in stage.strata:
            outcome.conflicts += evaluate_stratum(stratum, context, carried)
    context.seen = dict(context.fluents)
    return outcome


def evaluate_stratum(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate the definitions of a stratum; gives the conflicts."""
    refuse(stratum)
    if stratum.immediate:
        return Cycle(stratum, evaluate_definition, context).settle(carried)
    return _once(stratum, context, carried)


def _once(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int:
    """Evaluate the definitions of a stratum in order; gives the conflicts."""
    return sum(
        evaluate_definition(definition, context, carried) for definition in stratum.definitions
    )


def refuse(stratum: Stratum, uncertain: bool = False) -> None:
    """Say what this version, or a run over certain records, cannot evaluate."""
    for definition in stratum.definitions:
        for rule in definition.rules:
            if isinstance(rule, InitialPoints) and rule.probability is not None and not uncertain:
                raise UnsupportedError(
                    f"{definition.relation}: what holds initially has a probability; that needs a "
                    "run over uncertain records"
                )
        if any(isinstance(rule, Match) for rule in definition.rules):
            raise UnsupportedError(f"{definition.relation}: event patterns are not supported yet")


def evaluate_definition(
    definition: Definition, context: Context, carried: dict[Relation, Carried]
) -> int:
    """Evaluate one definition; gives the number of conflicts between its values."""
    relation = definition.relation
    if definition.kind == "event":
        _event(relation, definition, context)
    elif definition.kind == FluentKind.SIMPLE:
        fluent = SimpleFluent(relation, definition, context)
        context.fluents[relation] = fluent.evaluate(carried.get(relation))
        return fluent.conflicts
    else:
        table, unsure = evaluate_static(relation, definition, context)
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
    return 0


def _left_open(relation: Relation, context: Context) -> list[Array] | None:
    """The instances so far that may go on behind the query."""
    if relation not in context.unsure:
        return None
    table, mask = context.fluents[relation], context.unsure_groups[relation]
    return [column[mask] for column in (*table.arguments, table.values)]


def _both(first: list[Array] | None, second: list[Array] | None) -> list[Array] | None:
    if first is None or second is None:
        return second if first is None else first
    return [np.concatenate(own) for own in zip(first, second, strict=True)]


def _event(relation: Relation, definition: Definition, context: Context) -> None:
    """The happenings of a derived event; what several rules or rows give is one happening."""
    domains = [context.domain("event", relation, at) for at in range(relation.arity)]
    columns: list[list[Array]] = [[] for _ in domains]
    times: list[Array] = []
    for rule in definition.rules:
        assert isinstance(rule, PointRule)
        assert isinstance(rule.head, Event)
        rows = fired(rule, relation, domains, context).settled()
        times.append(rows.at)
        for at, (arg, domain) in enumerate(zip(rule.head.args, domains, strict=True)):
            columns[at].append(head_column(arg, rows, domain))
    stacked = [np.concatenate(own) for own in columns]
    first, _ = distinct([*stacked, np.concatenate(times)], [*domains, None])
    context.events[relation] = by_time(
        [column[first] for column in stacked], domains, np.concatenate(times)[first]
    )
