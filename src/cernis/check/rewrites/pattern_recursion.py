"""Recursion of event patterns: a step counts only where it strictly extends the interval.

A step of a recursion joins an occurrence of an event that is being defined with something else.
With `seq` what comes out is longer than either; with `and` or `meets` it may be the very interval
again, and such a step does not count. That is a condition of the join like any other, so it is
written out as one: the occurrence gives its times to two variables, and the whole must differ from
these. A rule that only gives another name to such an event, `any(X) <- a(X) or run(X)`, joins
nothing and is no step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from cernis.check.catalogue import pattern_head, pattern_uses
from cernis.check.dependencies import Dependencies, Vertex
from cernis.check.model import Definitions, Event, Relation
from cernis.check.rewrites.validity import END, START
from cernis.source import Span
from cernis.syntax.tree import (
    Binary,
    Compound,
    EventAtom,
    Number,
    Pattern,
    PatternRule,
    Term,
    TimePoint,
    Variable,
    Where,
    Within,
)

_EXTENDING: Final = {
    "seq": (True, True), "during": (True, False), "starts": (True, False),
    "finishes": (True, False),
}  # fmt: skip
"""For operators whose result is always longer than a side: which sides that is."""


def extend_strictly(definitions: Definitions, graph: Dependencies) -> None:
    """Give the joins of recursive patterns the condition that they extend what they build upon."""
    of = {vertex: index for index, part in enumerate(graph.components) for vertex in part.vertices}
    for index, rule in enumerate(definitions.patterns):
        head = pattern_head(rule).relation
        component = of.get(Vertex(head))
        members = {v.relation for v, part in of.items() if part == component and v.value is None}
        definitions.patterns[index] = replace(rule, pattern=_rule(rule, members))


def _rule(rule: PatternRule, members: set[Relation]) -> Pattern:
    return _Steps(members).pattern(rule.pattern)


@dataclass(slots=True)
class _Steps:
    """Writes the condition around the joins of one rule."""

    members: set[Relation]
    names: list[str] = field(default_factory=list)
    count: int = 0

    def pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, (Where, Within)):
            return replace(pattern, pattern=self.pattern(pattern.pattern))
        if isinstance(pattern, Binary) and pattern.operator == "or":
            return replace(
                pattern, left=self.pattern(pattern.left), right=self.pattern(pattern.right)
            )
        if isinstance(pattern, (EventAtom, TimePoint)):
            return pattern
        self.names = []
        marked = self._marked(pattern, False)
        conditions = tuple(_is_longer(name, pattern.span) for name in self.names)
        return Where(marked, conditions, pattern.span) if conditions else marked

    def _marked(self, pattern: Pattern, is_extended: bool) -> Pattern:
        """A pattern in which occurrences that may not be extended tell their times."""
        if isinstance(pattern, EventAtom):
            return pattern if is_extended or not self._is_member(pattern) else self._timed(pattern)
        if isinstance(pattern, (Where, Within)):
            return replace(pattern, pattern=self._marked(pattern.pattern, is_extended))
        if isinstance(pattern, Binary):
            left, right = _EXTENDING.get(pattern.operator, (False, False))
            before = len(self.names)
            one = self._marked(pattern.left, is_extended or left)
            middle = len(self.names)
            other = self._marked(pattern.right, is_extended or right)
            if pattern.operator == "or":
                # Where one side has no such occurrence, there is nothing that must be extended.
                one = _with_nothing(one, self.names[middle:])
                other = _with_nothing(other, self.names[before:middle])
            return replace(pattern, left=one, right=other)
        # The two sides of an absence are a sequence; what is absent is no part of the match.
        return pattern

    def _is_member(self, pattern: EventAtom) -> bool:
        return any(
            isinstance(use, Event) and use.relation in self.members for use in pattern_uses(pattern)
        )

    def _timed(self, pattern: EventAtom) -> Pattern:
        self.count += 1
        name = str(self.count)
        self.names.append(name)
        start, end = _times(name, pattern.span)
        times = (Variable(START, pattern.span), Variable(END, pattern.span))
        conditions = (_equals(start, times[0]), _equals(end, times[1]))
        return Where(pattern, conditions, pattern.span)


def _times(name: str, span: Span) -> tuple[Variable, Variable]:
    return Variable(f"<start of {name}>", span), Variable(f"<end of {name}>", span)


def _equals(left: Term, right: Term) -> Term:
    return Compound("=", (left, right), left.span)


def _is_longer(name: str, span: Span) -> Term:
    """A match is never shorter than its parts: it is longer unless it has their times."""
    start, end = _times(name, span)
    same = (
        Compound("=:=", (start, Variable(START, span)), span),
        Compound("=:=", (end, Variable(END, span)), span),
    )
    return Compound("\\+", (Compound(",", same, span),), span)


def _with_nothing(pattern: Pattern, names: list[str]) -> Pattern:
    """A pattern with times, for some occurrences it does not have, that no interval has."""
    if not names:
        return pattern
    span = pattern.span
    conditions: list[Term] = []
    for name in names:
        start, end = _times(name, span)
        conditions += [_equals(start, Number(1, span)), _equals(end, Number(0, span))]
    return Where(pattern, tuple(conditions), span)
