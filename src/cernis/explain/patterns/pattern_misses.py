"""Why a pattern did not match: the longest part of it that did, and what was missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cernis.check.catalogue import pattern_atom
from cernis.check.model import Boundary, Event
from cernis.check.rewrites.sliding_conditions import is_sliding
from cernis.check.rewrites.validity import END, START
from cernis.errors import KnowledgeError
from cernis.evaluate.answer import Answer
from cernis.explain.body_proofs import Bindings, match_all, terms
from cernis.explain.explanation_tree import Reason
from cernis.explain.patterns.pattern_causes import PatternCauses, fits_head
from cernis.explain.patterns.pattern_matches import PatternMatch, agree, latest_matches
from cernis.explain.patterns.pattern_parts import TracedPattern, direct_parts
from cernis.explain.point_texts import point_text
from cernis.knowledge.ground_values import is_ground
from cernis.knowledge.terms import substitute
from cernis.source import NOWHERE
from cernis.syntax import show
from cernis.syntax.tree import (
    Absence,
    Binary,
    Compound,
    EventAtom,
    Number,
    Pattern,
    PatternRule,
    Term,
    TimePoint,
    Where,
    Within,
)

_MOST_PAIRS = 200
"""So many of the latest matches of two sides are compared with each other."""


@dataclass(slots=True)
class PatternMisses:
    """Explains why an event that a pattern defines did not happen at a time."""

    causes: PatternCauses
    rule: PatternRule
    answer: Answer
    parts: list[TracedPattern]
    known: Bindings
    time: int

    def reasons(self) -> Iterator[Reason]:
        """What matched of the pattern, and what was missing."""
        yield from self._missing(self.rule.pattern)

    def _missing(self, pattern: Pattern) -> Iterator[Reason]:
        if isinstance(pattern, EventAtom):
            yield self._no_event(pattern)
        elif isinstance(pattern, TimePoint):
            yield Reason("failed", f"the time-point {pattern.value} is not reached")
        elif isinstance(pattern, Within):
            yield from self._too_long(pattern)
        elif isinstance(pattern, Where):
            yield from self._not_true(pattern)
        elif isinstance(pattern, Absence):
            yield from self._present(pattern)
        elif pattern.operator == "or":
            for side in (pattern.left, pattern.right):
                yield from self._missing(side)
        else:
            yield from self._not_joined(pattern)

    def matches(self, pattern: Pattern) -> list[PatternMatch]:
        """The matches of a part up to the time asked for, the latest last."""
        return [
            match
            for part in self.parts
            if part.pattern == pattern
            for match in latest_matches(self.answer, part.trace, self.known, self.time)
        ]

    # -- what can be missing ---------------------------------------------------------------------

    def _no_event(self, atom: EventAtom) -> Reason:
        text = self.causes.atom_text(atom, self.known)
        matches = self.matches(atom)
        if matches:
            last = matches[-1]
            return self._matched(last, f"{text} happened at {point_text(last.end)}")
        return Reason("failed", f"no {text} up to {point_text(self.time)}")

    def _too_long(self, pattern: Within) -> Iterator[Reason]:
        inner = self.matches(pattern.pattern)
        if not inner:
            yield from self._missing(pattern.pattern)
            return
        limit = pattern.duration.value if isinstance(pattern.duration, Number) else None
        fits = [m for m in inner if limit is not None and m.end - m.start <= limit]
        if fits:
            yield self._matched(fits[-1], _span(fits[-1], "it matched"))
            return
        nearest = min(inner, key=lambda match: (match.end - match.start, -match.end))
        yield self._matched(nearest, _span(nearest, "without its limit it matched"))
        length = nearest.end - nearest.start
        yield Reason(
            "failed", f"failed: that is {length} long, not within {show(pattern.duration)}"
        )

    def _not_true(self, pattern: Where) -> Iterator[Reason]:
        inner = self.matches(pattern.pattern)
        if not inner:
            yield from self._missing(pattern.pattern)
            return
        failures = [(match, self._first_false(pattern, match)) for match in inner]
        known = [(match, failed) for match, failed in failures if failed is not None]
        if not known:
            last = inner[-1]
            yield self._matched(last, _span(last, "it matched"))
            return
        match, (failed, _) = min(known, key=lambda each: (each[1][1], -each[0].end))
        yield self._matched(match, _span(match, "without its condition it matched"))
        yield Reason("failed", f"failed: {show(failed)} is not true")

    def _first_false(self, pattern: Where, match: PatternMatch) -> tuple[Term, float] | None:
        """The first condition that a match does not meet, and by how much it misses."""
        bindings = {**match.bindings, START: Number(match.start), END: Number(match.end)}
        for condition in pattern.conditions:
            goal = substitute(condition, bindings)
            if is_sliding(condition):
                continue
            try:
                answer = next(self.causes.knowledge.solve(goal, 1), None)
            except KnowledgeError:
                continue
            if answer is None:
                return goal, self._distance(goal)
            bindings.update({n: t for n, t in answer.items() if is_ground(t)})
        return None

    def _distance(self, goal: Term) -> float:
        sides = [
            each.value for each in (goal.args if isinstance(goal, Compound) else ())
            if isinstance(each, Number)
        ]  # fmt: skip
        return abs(sides[0] - sides[1]) if len(sides) == 2 else float("inf")

    def _not_joined(self, pattern: Binary) -> Iterator[Reason]:
        left, right = self.matches(pattern.left), self.matches(pattern.right)
        if left and right:
            yield from self._nearest_pair(pattern, left, right)
            return
        for matches, side in ((left, pattern.left), (right, pattern.right)):
            if matches:
                yield self._matched(matches[-1], _span(matches[-1], "this part matched"))
            else:
                yield from self._missing(side)

    def _nearest_pair(
        self, pattern: Binary, left: list[PatternMatch], right: list[PatternMatch]
    ) -> Iterator[Reason]:
        pairs = [
            (one, other) for one in left[-_MOST_PAIRS:] for other in right[-_MOST_PAIRS:]
            if agree(one.bindings, other.bindings)
        ]  # fmt: skip
        if not pairs:
            yield self._matched(left[-1], _span(left[-1], "this part matched"))
            yield self._matched(right[-1], _span(right[-1], "and this one"))
            yield Reason(
                "failed", "failed: no two of them have the same values for their variables"
            )
            return
        one, other = min(pairs, key=lambda pair: abs(pair[1].start - pair[0].end))
        yield self._matched(one, _span(one, "this part matched"))
        yield self._matched(other, _span(other, "and this one"))
        yield Reason(
            "failed", f"failed: {_place(one)} {pattern.operator} {_place(other)} is not true"
        )

    def _present(self, pattern: Absence) -> Iterator[Reason]:
        both = Binary("seq", pattern.first, pattern.last, pattern.span)
        matches = self.matches(both)
        if not matches:
            yield from self._not_joined(both)
            return
        for match in reversed(matches):
            between = list(self._between(pattern, match))
            if between:
                yield self._matched(match, _span(match, "the two ends matched"))
                yield from between
                return
        yield self._matched(matches[-1], _span(matches[-1], "the two ends matched"))

    def _between(self, pattern: Absence, match: PatternMatch) -> Iterator[Reason]:
        """The events that should be absent and lie between the ends of a match."""
        count = sum(1 for _ in _atoms(pattern.first))
        first, last = match.rows[:count], match.rows[count:]
        low = max((row.end for row in first), default=match.start)
        high = min((row.start for row in last), default=match.end)
        for atom in _atoms(pattern.absent):
            entity = pattern_atom(atom.term, NOWHERE)
            if isinstance(entity, Event):
                for each in self.causes.happenings(entity.relation):
                    inside = low < each.start and each.time < high
                    if inside and match_all(entity.args, terms(each.args), match.bindings):
                        reason = self.causes.event_reason(entity.relation, each)
                        reason.text = f"failed: it lies between them: {reason.text}"
                        reason.kind = "failed"
                        yield reason
            elif isinstance(entity, Boundary):
                yield Reason("note", f"{self.causes.atom_text(atom, match.bindings)} may lie there")

    def _matched(self, match: PatternMatch, text: str) -> Reason:
        reason = Reason("condition", text, interval=(match.start, match.end))
        reason.reasons += [self.causes.row(row, 58) for row in match.rows]
        return reason


def _span(match: PatternMatch, text: str) -> str:
    if match.start == match.end:
        return f"{text} at {point_text(match.start)}"
    return f"{text} from {point_text(match.start)} to {point_text(match.end)}"


def _place(match: PatternMatch) -> str:
    return f"[{point_text(match.start)},{point_text(match.end)}]"


def _atoms(pattern: Pattern) -> Iterator[EventAtom]:
    if isinstance(pattern, EventAtom):
        yield pattern
    for part in direct_parts(pattern):
        yield from _atoms(part)


def pattern_misses(
    causes: PatternCauses, rule: PatternRule, args: tuple[Term, ...], time: int
) -> Reason:
    """Why a pattern gives no occurrence with some arguments that ends at a time."""
    reason = Reason("rule", "the pattern did not match", causes.place(rule))
    known = fits_head(rule, args)
    if known is None:
        reason.text = "the head of the pattern is about other arguments"
        return reason
    answer, parts = causes.parts(rule)
    reason.reasons += PatternMisses(causes, rule, answer, parts, known, time).reasons()
    return reason
