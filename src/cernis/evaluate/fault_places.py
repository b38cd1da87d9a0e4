"""Where the rule stands that could not be evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cernis.errors import OverflowFault
from cernis.plan.builder import Plan
from cernis.source import Span


@contextmanager
def told_where(plan: Plan) -> Iterator[None]:
    """Lets faults of computing name the rule they are of, and the place of what it computes."""
    try:
        yield
    except OverflowFault as fault:
        if fault.rule:
            raise
        raise OverflowFault(fault.expression, fault.span, _rule_at(plan, fault.span)) from fault


def _rule_at(plan: Plan, span: Span) -> str:
    place = plan.checked.sources.place(span)
    heads = [
        str(definition.relation)
        for stage in plan.stages
        for stratum in stage.strata
        for definition in stratum.definitions
        for rule in definition.rules
        if rule.span[0] <= span[0] < rule.span[1]
    ]
    named = [f"a rule of {heads[0]}"] if heads else []
    return ", ".join([*([str(place)] if place is not None else []), *named])
