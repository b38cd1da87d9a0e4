"""Adds to a fault of evaluation the rule that it happened in, and the place of that rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cernis.errors import FunctionFault, OverflowFault, TooManyMatches
from cernis.plan.builder import Plan
from cernis.source import Span


@contextmanager
def naming_the_rule_at_fault(plan: Plan) -> Iterator[None]:
    """Add the place in the program to a fault that happens within, and what stands there."""
    try:
        yield
    except OverflowFault as fault:
        if fault.rule:
            raise
        raise OverflowFault(fault.expression, fault.span, _rule_at(plan, fault.span)) from fault
    except FunctionFault as fault:
        if fault.rule:
            raise
        rule = _rule_at(plan, fault.span)
        raise FunctionFault(fault.name, fault.reason, fault.span, rule) from fault
    except TooManyMatches as fault:
        if fault.text:
            raise
        sources = plan.checked.sources
        place, text = sources.place(fault.span), " ".join(sources.text(fault.span).split())
        raise TooManyMatches(fault.pairs, fault.span, str(place or ""), text) from None


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
