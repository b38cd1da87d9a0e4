"""The parts of a pattern as events of their own: what of a pattern matched, though not all of it.

A part is any pattern within a pattern that says by itself what its variables are. Parts are matched
without a policy: what matched is asked, and not what a policy would have taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cernis.check.checker import Checked, with_events
from cernis.check.model import Consumption, Relation
from cernis.check.rewrites.sliding_conditions import is_sliding
from cernis.check.rewrites.validity import END, START
from cernis.explain.traces.traced_rules import (
    TimedParts,
    TraceColumns,
    TracedRule,
    pattern_alternatives,
    trace_event,
)
from cernis.syntax.tree import (
    Absence,
    Binary,
    EventAtom,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    Within,
    variables,
)

_MOST_PARTS = 200
"""So many parts of the patterns of one rule are matched."""


@dataclass(frozen=True, slots=True)
class TracedPattern:
    """A part of a pattern, and the trace of its matches."""

    pattern: Pattern
    trace: TracedRule


def with_parts(checked: Checked, rule: PatternRule) -> tuple[Checked, list[TracedPattern]]:
    """A program with an event for each part of a pattern."""
    patterns: list[PatternRule] = []
    parts: list[TracedPattern] = []
    for part in list(_parts(rule.pattern))[:_MOST_PARTS]:
        for alternative in pattern_alternatives(part):
            columns = TraceColumns()
            timed = TimedParts(columns)
            matched = timed.pattern(alternative)
            relation = Relation(f"part {len(parts)}", len(columns.terms))
            head = trace_event(relation, columns.terms, part.span)
            patterns.append(PatternRule(head.term, matched, part.span))
            trace = TracedRule(
                "happens", relation, (), tuple(timed.parts), relation, part.span, True,
                terms=tuple(columns.terms),
            )  # fmt: skip
            parts.append(TracedPattern(part, trace))
    settings = replace(
        checked.definitions.settings,
        consumption_of=(
            *checked.definitions.settings.consumption_of,
            *((str(part.trace.relation), Consumption()) for part in parts),
        ),
    )
    definitions = replace(checked.definitions, settings=settings)
    return with_events(replace(checked, definitions=definitions), (), patterns), parts


def _parts(pattern: Pattern, within: Term | None = None) -> Iterator[Pattern]:
    """The parts of a pattern, the whole first; what only is absent is none."""
    if _is_closed(pattern):
        yield pattern if within is None else Within(pattern, within, pattern.span)
    if isinstance(pattern, (Within, Where)):
        yield from _parts(pattern.pattern)
    elif isinstance(pattern, Binary):
        yield from _parts(pattern.left)
        yield from _parts(pattern.right)
    elif isinstance(pattern, Absence):
        yield Binary("seq", pattern.first, pattern.last, pattern.span)
        yield from _parts(pattern.first)
        yield from _parts(pattern.last)


def _is_closed(pattern: Pattern) -> bool:
    """Do the events of a pattern give values to all that its conditions ask for?"""
    bound = bound_names(pattern)
    return all(
        v.name in bound
        for condition in _conditions(pattern)
        for v in variables(condition)
        if v.name not in (START, END, "_")
    )


def _conditions(pattern: Pattern) -> Iterator[Term]:
    if isinstance(pattern, Where):
        yield from pattern.conditions
    for part in direct_parts(pattern):
        yield from _conditions(part)


def bound_names(pattern: Pattern) -> set[str]:
    """The variables that the events of a pattern, and the equations in it, give values."""
    if isinstance(pattern, EventAtom):
        return {variable.name for variable in variables(pattern.term)}
    names = {name for part in direct_parts(pattern) for name in bound_names(part)}
    for condition in pattern.conditions if isinstance(pattern, Where) else ():
        left = getattr(condition, "args", (None,))[0]
        if is_sliding(condition) or getattr(condition, "functor", "") in ("=", "is"):
            names |= {left.name} if isinstance(left, Variable) else set()
        elif getattr(condition, "functor", "") not in ("<", ">", "=<", ">=", "=:=", "=\\=", "\\+"):
            names |= {variable.name for variable in variables(condition)}
    return names


def direct_parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns whose matches a pattern is made of."""
    if isinstance(pattern, (Where, Within)):
        return (pattern.pattern,)
    if isinstance(pattern, Binary):
        return pattern.left, pattern.right
    return (pattern.first, pattern.last) if isinstance(pattern, Absence) else ()
