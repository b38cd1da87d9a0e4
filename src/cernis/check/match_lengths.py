"""How long the matches of patterns can be, and patterns that can never match.

A length is that of a closed interval, its end minus its start. An event of the input, or of a
rule over time-points, is a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cernis.check.amounts import length
from cernis.check.catalogue import pattern_atom, pattern_head
from cernis.check.model import Boundary, Definitions, Event, Relation
from cernis.check.reporter import Report
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Absence,
    Binary,
    EventAtom,
    Pattern,
    PatternRule,
    Where,
    Within,
    event_atoms,
)

Lengths: TypeAlias = tuple[float, float]
"""The least and the greatest length."""

_POINT: Lengths = (0, 0)
_ANY: Lengths = (0, math.inf)


def check_lengths(definitions: Definitions, report: Report) -> None:
    """Warn of patterns that can never match."""
    rules: dict[Relation, list[PatternRule]] = {}
    for rule in definitions.patterns:
        rules.setdefault(pattern_head(rule).relation, []).append(rule)
    points = {rule.event.relation for rule in definitions.events}
    lengths = _Measuring(rules, points, report)
    for relation in _callees_first(rules):
        lengths.of_event(relation)


def _callees_first(rules: Mapping[Relation, list[PatternRule]]) -> Iterator[Relation]:
    """Each event after those that its patterns are made of, as far as there is no recursion."""
    visited: set[Relation] = set()
    for root in rules:
        stack = [root]
        while stack:
            relation = stack[-1]
            below = [] if relation in visited else _events_in(rules[relation])
            visited.add(relation)
            waiting = [each for each in below if each in rules and each not in visited]
            stack += waiting
            if not waiting:
                yield stack.pop()


def _events_in(rules: Iterable[PatternRule]) -> list[Relation]:
    """The events that patterns are made of."""
    atoms = (atom for rule in rules for atom in event_atoms(rule.pattern))
    meant = [pattern_atom(atom.term, atom.span) for atom in atoms]
    return [atom.relation for atom in meant if isinstance(atom, Event)]


@dataclass(slots=True)
class _Measuring:
    """The lengths of events, as they are asked for."""

    rules: Mapping[Relation, list[PatternRule]]
    points: set[Relation]
    """Events that rules over time-points define."""
    report: Report
    known: dict[Relation, Lengths] = field(default_factory=dict)

    def of_event(self, relation: Relation) -> Lengths:
        if relation not in self.rules:
            return _POINT
        if relation not in self.known:
            # A recursion may make it as long as it likes.
            self.known[relation] = _ANY
            each = [self.of(rule.pattern) for rule in self.rules[relation]]
            each += [_POINT] if relation in self.points else []
            self.known[relation] = min(e[0] for e in each), max(e[1] for e in each)
        return self.known[relation]

    def of(self, pattern: Pattern) -> Lengths:
        if isinstance(pattern, EventAtom):
            atom = pattern_atom(pattern.term, pattern.span)
            if isinstance(atom, Event):
                return self.of_event(atom.relation)
            return _POINT if isinstance(atom, Boundary) else _ANY
        if isinstance(pattern, Where):
            return self.of(pattern.pattern)
        if isinstance(pattern, Within):
            return self._within(pattern)
        if isinstance(pattern, Absence):
            self.of(pattern.absent)
            return _sum(self.of(pattern.first), self.of(pattern.last), 1)
        if isinstance(pattern, Binary):
            return self._joined(pattern)
        return _POINT

    def _within(self, pattern: Within) -> Lengths:
        least, greatest = self.of(pattern.pattern)
        longest = length(pattern.duration)
        if least > longest:
            self._never(pattern, f"what it is around lasts {least:g} at least")
            return _ANY
        return least, min(greatest, longest)

    def _joined(self, pattern: Binary) -> Lengths:
        left, right = self.of(pattern.left), self.of(pattern.right)
        operator = pattern.operator
        if operator == "or":
            return min(left[0], right[0]), max(left[1], right[1])
        if operator in ("seq", "meets"):
            return _sum(left, right, operator == "seq")
        if operator == "and":
            return max(left[0], right[0]), math.inf
        # How much longer than the left the right has to be, or either than a point.
        more = {"during": 2, "starts": 1, "finishes": 1}.get(operator, 0)
        if operator == "par":
            return self._overlapping(pattern, left, right)
        if operator == "equals":
            least, greatest = max(left[0], right[0]), min(left[1], right[1])
        else:
            least, greatest = max(right[0], left[0] + more), right[1]
        if least > greatest:
            self._never(pattern, f"{_shown(pattern.right)} is never long enough for {operator}"
                        if more else "the two are never of one length")  # fmt: skip
            return _ANY
        return least, greatest

    def _overlapping(self, pattern: Binary, left: Lengths, right: Lengths) -> Lengths:
        for side, lengths in ((pattern.left, left), (pattern.right, right)):
            if lengths[1] < 1:
                self._never(pattern, f"{_shown(side)} is a point, and overlaps nothing")
                return _ANY
        return max(left[0], right[0], 1), left[1] + right[1]

    def _never(self, pattern: Pattern, reason: str) -> None:
        self.report.warn(
            "C072", f"this pattern can never match: {reason}", pattern.span,
            help="points follow one another (seq), come in any order (and) or at once (meets)",
        )  # fmt: skip


def _sum(left: Lengths, right: Lengths, gap: int) -> Lengths:
    greatest = math.inf if gap else left[1] + right[1]
    return left[0] + right[0] + gap, greatest


def _shown(pattern: Pattern) -> str:
    """A part of a pattern in a sentence."""
    return show(pattern.term) if isinstance(pattern, EventAtom) else "one side"
