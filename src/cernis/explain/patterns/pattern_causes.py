"""Why a pattern matched: the rows of a match, what was absent, and what its conditions said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cernis.check.catalogue import pattern_head
from cernis.check.model import Relation
from cernis.check.rewrites.sliding_conditions import Sliding, is_sliding, sliding
from cernis.evaluate.answer import Answer
from cernis.explain.body_proofs import Bindings, match_all, terms
from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import Happening, History
from cernis.explain.patterns.pattern_matches import (
    MatchedPart,
    PatternMatch,
    is_written,
    latest_matches,
    matches_at,
)
from cernis.explain.patterns.pattern_parts import TracedPattern, direct_parts
from cernis.explain.point_texts import interval_text, point_text
from cernis.knowledge.ground_values import is_ground, same, value
from cernis.knowledge.knowledge import Knowledge
from cernis.knowledge.terms import substitute
from cernis.syntax import show
from cernis.syntax.tree import (
    Absence,
    Binary,
    Compound,
    EventAtom,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    Within,
    variables,
)

if TYPE_CHECKING:
    from cernis.explain.causes import CauseTrees

_MOST_ROWS = 20
"""So many rows of an aggregate's window are listed, the latest ones."""


class PatternCauses:
    """Takes occurrences of patterns apart."""

    def __init__(self, causes: CauseTrees) -> None:
        self._causes = causes
        self._history: History = causes.history

    def occurrence(self, relation: Relation, happening: Happening, depth: int) -> Reason | None:
        """Why an event that patterns define happened; None if no pattern is seen to match."""
        for rule in self._causes.definitions.patterns:
            if pattern_head(rule).relation == relation:
                matches = self._matches(rule, happening)
                if matches:
                    return self._by_match(rule, matches, happening, depth)
        return None

    def _matches(self, rule: PatternRule, happening: Happening) -> list[PatternMatch]:
        args = terms(happening.args)
        traced: list[PatternMatch] = []
        for trace in self._history.traces:
            if trace.is_pattern and trace.span == rule.span:
                traced += matches_at(
                    self._history.answer, trace, args, happening.start, happening.time
                )
        return traced or list(self._unrestricted(rule, happening))

    def _unrestricted(self, rule: PatternRule, happening: Happening) -> Iterator[PatternMatch]:
        """What matches where the trace has nothing: a policy chose, or an aggregate was formed."""
        answer, parts = self._history.pattern_parts(rule)
        head = pattern_head(rule)
        for part in parts:
            if part.pattern == rule.pattern:
                for match in latest_matches(answer, part.trace, {}, happening.time):
                    ends = (match.start, match.end) == (happening.start, happening.time)
                    if ends and self._is_head(head.args, match.bindings, happening):
                        yield match

    def _is_head(self, args: tuple[Term, ...], bindings: Bindings, happening: Happening) -> bool:
        made = [substitute(arg, bindings) for arg in args]
        return all(
            same(arg, held) for arg, held in zip(made, terms(happening.args), strict=True)
            if is_ground(arg) and not isinstance(arg, Compound)
        )  # fmt: skip

    # -- one match -------------------------------------------------------------------------------

    def _by_match(
        self, rule: PatternRule, matches: list[PatternMatch], happening: Happening, depth: int
    ) -> Reason:
        match = replace(
            matches[0],
            bindings={**matches[0].bindings, **(fits_head(rule, terms(happening.args)) or {})},
        )
        named = {name: each for name, each in match.bindings.items() if is_written(name)}
        reason = self._causes.rule_reason(rule.span, named)
        reason.text = "by the pattern"
        reason.reasons += [self.row(each, depth + 1) for each in match.rows]
        reason.reasons += self._remarks(rule, rule.pattern, match, iter(match.rows), depth)
        if len(matches) > 1:
            more = len(matches) - 1
            noun = "match" if more == 1 else "matches"
            reason.reasons.append(Reason("note", f"and by {more} more {noun}"))
        return reason

    def row(self, row: MatchedPart, depth: int) -> Reason:
        """Why a row of a match was there."""
        relation, causes = row.part.relation, self._causes
        if row.part.kind == "happens":
            for happening in self._history.events_at(relation, row.end):
                if happening.start == row.start and all(map(same, terms(happening.args), row.args)):
                    return causes.event(relation, happening, depth)
            return Reason("note", f"{relation} at {point_text(row.end)}")
        *args, held = map(value, row.args)
        instance, tick = (tuple(args), held), self._history.tick
        if row.part.kind == "lasts":
            span = row.start, row.end + tick
            reason = causes.pair(relation, instance, row.start, depth)
            reason.text = f"{causes.name(relation, instance)} held on {interval_text(span)}"
            reason.reasons += causes.ended_reasons(relation, instance, span, depth)
            return reason
        if row.part.kind == "end":
            reason = Reason(
                "pair", f"{causes.name(relation, instance)} ends at {point_text(row.end)}"
            )
            last = causes.pair(relation, instance, row.end, depth)
            reason.reasons.append(last)
            if last.interval is not None:
                reason.reasons += causes.ended_reasons(relation, instance, last.interval, depth)
            return reason
        first = row.end if row.part.kind == "startI" else row.end + tick
        return causes.pair(relation, instance, first, depth)

    # -- conditions, lengths, absence and aggregates ---------------------------------------------

    def _remarks(
        self, rule: PatternRule, pattern: Pattern, match: PatternMatch,
        rows: Iterator[MatchedPart], depth: int, is_whole: bool = True,
    ) -> list[Reason]:  # fmt: skip
        """What a match says beside its rows; each atom of the pattern takes the next row."""
        if isinstance(pattern, EventAtom):
            next(rows, None)
            return []
        if isinstance(pattern, Where) and any(map(is_sliding, pattern.conditions)):
            said = self._conditions(pattern, match, is_whole)
            return [*self._aggregates(pattern, match, rule, depth), *said]
        if isinstance(pattern, Absence):
            return self._absent(rule, pattern, match, rows, depth)
        reasons = [
            reason
            for part in direct_parts(pattern)
            for reason in self._remarks(
                rule, part, match, rows, depth, is_whole and not isinstance(pattern, Binary)
            )
        ]
        if isinstance(pattern, Where):
            reasons += self._conditions(pattern, match, is_whole)
        if isinstance(pattern, Within) and is_whole:
            times = f"from {point_text(match.start)} to {point_text(match.end)}"
            reasons.append(Reason("condition", f"{times} is within {show(pattern.duration)}"))
        return reasons

    def _conditions(self, pattern: Where, match: PatternMatch, is_whole: bool) -> list[Reason]:
        known = match.bindings if is_whole else _without_times(match.bindings)
        return [
            Reason("condition", show(substitute(condition, known)))
            for condition in pattern.conditions
            if not is_sliding(condition) and _is_said(condition)
        ]

    def _absent(
        self,
        rule: PatternRule,
        pattern: Absence,
        match: PatternMatch,
        rows: Iterator[MatchedPart],
        depth: int,
    ) -> list[Reason]:
        counts = [sum(1 for _ in _atoms(part)) for part in (pattern.first, pattern.last)]
        first, last = ([row for row in (next(rows, None) for _ in range(n)) if row] for n in counts)
        texts = [self.atom_text(atom, match.bindings) for atom in _atoms(pattern.absent)]
        text = f"no {' or '.join(texts)}"
        if first and last:
            low, high = max(row.end for row in first), min(row.start for row in last)
            text += f" after {point_text(low)} and before {point_text(high)}"
        return [
            *self._remarks(rule, pattern.first, match, iter(first), depth, False),
            *self._remarks(rule, pattern.last, match, iter(last), depth, False),
            Reason("absent", text, self._causes.place(pattern.span)),
        ]

    def atom_text(self, atom: EventAtom, bindings: Bindings) -> str:
        """An event of a pattern with what is bound."""
        return show(substitute(atom.term, bindings))

    @property
    def knowledge(self) -> Knowledge:
        """The background of the program."""
        return self._history.knowledge

    def parts(self, rule: PatternRule) -> tuple[Answer, list[TracedPattern]]:
        """The parts of a pattern, and an answer that has the matches of each."""
        return self._history.pattern_parts(rule)

    def happenings(self, relation: Relation) -> list[Happening]:
        """All happenings of an event."""
        return self._history.events(relation)

    def event_reason(self, relation: Relation, happening: Happening) -> Reason:
        """Why an event happened."""
        return self._causes.event(relation, happening, 58)

    def place(self, rule: PatternRule) -> str:
        """Where a rule stands."""
        return self._causes.place(rule.span)

    def _aggregates(
        self, pattern: Where, match: PatternMatch, rule: PatternRule, depth: int
    ) -> Iterator[Reason]:
        """For each aggregate of a condition, its value and the rows of its window."""
        answer, parts = self._history.pattern_parts(rule)
        for condition in pattern.conditions:
            aggregate = sliding(condition) if is_sliding(condition) else None
            if aggregate is None:
                continue
            known = {name: term for name, term in match.bindings.items() if is_written(name)}
            reason = Reason("condition", f"{_aggregate_text(condition, known)}, over these matches")
            window = _window(aggregate, [
                each for part in parts if part.pattern == pattern.pattern
                for each in latest_matches(answer, part.trace, _key(aggregate, known), match.end)
            ])  # fmt: skip
            for each in window[-_MOST_ROWS:]:
                reason.reasons += [self.row(row, depth + 1) for row in each.rows]
            if len(window) > _MOST_ROWS:
                more = f"and {len(window) - _MOST_ROWS} matches before these"
                reason.reasons.append(Reason("note", more))
            yield reason


def _aggregate_text(condition: Term, known: Bindings) -> str:
    """An aggregate as it is written, with the value that it gave."""
    assert isinstance(condition, Compound)
    result, formed = condition.args
    held = substitute(result, known)
    is_hidden = isinstance(held, Variable) and held.name.startswith("<")
    return show(formed) if is_hidden else f"{show(held)} = {show(formed)}"


def _window(aggregate: Sliding, matches: list[PatternMatch]) -> list[PatternMatch]:
    """The matches of a window that ends with the last one."""
    ordered = sorted(matches, key=lambda each: (each.end, each.start))
    if aggregate.last is not None:
        return ordered[-aggregate.last :]
    if aggregate.past is not None and ordered:
        since = ordered[-1].end - aggregate.past
        return [each for each in ordered if each.end >= since]
    return ordered


def _key(aggregate: Sliding, known: Bindings) -> Bindings:
    return {each.name: known[each.name] for each in aggregate.key if each.name in known}


def _atoms(pattern: Pattern) -> Iterator[EventAtom]:
    if isinstance(pattern, EventAtom):
        yield pattern
    for part in direct_parts(pattern):
        yield from _atoms(part)


def _is_said(condition: Term) -> bool:
    """Does a condition stand in the text of a rule?"""
    return not any(v.name.startswith(("<start of", "<end of")) for v in variables(condition))


def _without_times(bindings: Bindings) -> Bindings:
    return {name: each for name, each in bindings.items() if not name.startswith("<")}


def fits_head(rule: PatternRule, args: tuple[Term, ...]) -> Bindings | None:
    """What the arguments of a question say of the variables of a pattern; None if it cannot fit."""
    pairs = [
        (own, asked) for own, asked in zip(pattern_head(rule).args, args, strict=True)
        if isinstance(own, Variable) or is_ground(own)
    ]  # fmt: skip
    return match_all(tuple(own for own, _ in pairs), tuple(asked for _, asked in pairs), {})
