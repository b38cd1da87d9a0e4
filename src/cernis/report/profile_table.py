"""What rules cost, as a table: rule by rule, the dearest first, and within each its operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from cernis.source import Sources, Span


class Measured(Protocol):
    """What one operator has cost."""

    calls: int
    seconds: float
    rows_in: int
    rows_out: int


@dataclass(slots=True)
class _Rule:
    """A rule, and what its operators have cost."""

    span: Span
    costs: list[tuple[str, Span, Measured]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(cost.seconds for _, span, cost in self.costs if not self._is_inside(span))

    def _is_inside(self, span: Span) -> bool:
        """Is an operator part of another, whose time has its own in it?"""
        return any(
            other != span and other[0] <= span[0] and span[1] <= other[1]
            for _, other, _ in self.costs
            if other != self.span
        )


_WIDTH = 64
"""So much of a literal is shown."""


def as_text(
    costs: Iterable[tuple[str, Span, Measured]], rules: Iterable[Span], sources: Sources
) -> str:
    """The table. Costs are by operator and the span of its literal; rules are their spans."""
    measured_rules = _by_rule(costs, rules)
    whole = sum(rule.seconds for rule in measured_rules)
    lines = [f"{'time':>9}  {'share':>5}  {'calls':>7}  {'rows in':>11}  {'rows out':>11}"]
    for rule in sorted(measured_rules, key=lambda rule: -rule.seconds):
        share = rule.seconds / whole if whole else 0.0
        place = sources.place(rule.span)
        title = f"{place}  " if place else ""
        lines.append(f"\n{_time(rule.seconds)}  {share:5.0%}  {title}{_words(rule.span, sources)}")
        lines += [_line(*cost, sources) for cost in sorted(rule.costs, key=_dearest)]
    return "\n".join([*lines, f"\n{_time(whole)}  in all"])


def seconds_by_rule(
    costs: Iterable[tuple[str, Span, Measured]], rules: Iterable[Span]
) -> dict[Span, float]:
    """What each rule has cost, of those that cost anything."""
    return {rule.span: rule.seconds for rule in _by_rule(costs, rules)}


def _by_rule(costs: Iterable[tuple[str, Span, Measured]], rules: Iterable[Span]) -> list[_Rule]:
    known = {span: _Rule(span) for span in rules}
    for cost in costs:
        own = next((r for r in known if r[0] <= cost[1][0] and cost[1][1] <= r[1]), cost[1])
        known.setdefault(own, _Rule(own)).costs.append(cost)
    return [rule for rule in known.values() if rule.costs]


def _dearest(cost: tuple[str, Span, Measured]) -> float:
    return -cost[2].seconds


def _line(operator: str, span: Span, cost: Measured, sources: Sources) -> str:
    counts = f"{cost.calls:>7,}  {cost.rows_in:>11,}  {cost.rows_out:>11,}"
    literal = "" if operator.startswith("Inertia") else _words(span, sources)
    return f"{_time(cost.seconds)}         {counts}  {operator} {literal}".rstrip()


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:6,.1f} ms"


def _words(span: Span, sources: Sources) -> str:
    """The text of a span in one line, as much of it as there is room for."""
    source = sources.source_at(span[0])
    if source is None:
        return ""
    text = " ".join(source.text[span[0] - source.base : span[1] - source.base].split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
