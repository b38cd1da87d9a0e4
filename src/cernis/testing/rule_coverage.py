"""Which rules the cases have let fire, and which conditions they have decided both ways.

A condition is decided if it was true for some rows that reached it, and false for others. One that
was never false could be left out of its rule, and no case would notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cernis.check.catalogue import pattern_head
from cernis.check.model import Relation
from cernis.operators.context.measuring import Profile
from cernis.program import Program
from cernis.source import Span
from cernis.testing.case_answers import CaseAnswer

_TESTS: Final = ("Filter", "Stab", "AntiStab", "EventAntiJoin", "Exclude", "Except", "Resolve")
"""Operators that keep rows or leave them out; others may make several rows of one."""

_WIDTH: Final = 70


@dataclass(slots=True)
class _Counted:
    """A rule, or a condition in it: how many rows came to it, and how many were left."""

    text: str
    rows_in: int = 0
    rows_out: int = 0
    is_test: bool = True


@dataclass(slots=True)
class RuleCoverage:
    """Counts over all cases; places are those of the rules' files."""

    rules: dict[str, _Counted] = field(default_factory=dict)
    conditions: dict[str, _Counted] = field(default_factory=dict)

    def add(self, program: Program, profile: Profile, answer: CaseAnswer) -> None:
        """Count what a run of one case did."""
        definitions = program.checked.definitions
        spans = [rule.span for rule in definitions.changes]
        for span in spans + [rule.span for rule in definitions.events]:
            self._add_point_rule(program, span, profile)
        for static in definitions.statics:
            self._add_whole_rule(program, static.span, static.pair.relation, answer)
        for pattern in definitions.patterns:
            self._add_whole_rule(program, pattern.span, pattern_head(pattern).relation, answer)

    def _add_point_rule(self, program: Program, span: Span, profile: Profile) -> None:
        """A rule over time-points: its operators, in the order in which they ran."""
        steps = [
            (operator, place, cost)
            for (operator, place), cost in profile.costs.items()
            if span[0] <= place[0] and place[1] <= span[1] and not operator.startswith("Inertia")
        ]
        outer = [
            step for step in steps if not any(_is_inside(step[1], other[1]) for other in steps)
        ]
        rule = self._counted(self.rules, program, span)
        if rule is None:
            return
        rule.rows_out += outer[-1][2].rows_out if outer else 0
        for operator, place, cost in outer:
            if operator != "Scan" and (known := self._counted(self.conditions, program, place)):
                known.rows_in += cost.rows_in
                known.rows_out += cost.rows_out
                known.is_test = operator in _TESTS

    def _add_whole_rule(
        self, program: Program, span: Span, relation: Relation, answer: CaseAnswer
    ) -> None:
        """A rule over intervals, or a pattern: it has fired if there is anything of its head."""
        rule = self._counted(self.rules, program, span)
        if rule is not None:
            rule.rows_out += len(answer.held[relation]) + len(answer.happened[relation])

    def _counted(self, known: dict[str, _Counted], program: Program, span: Span) -> _Counted | None:
        place = program.sources.place(span)
        if place is None:
            return None
        text = " ".join(program.sources.text(span).split())
        text = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        return known.setdefault(str(place), _Counted(text))

    def lines(self) -> Iterator[str]:
        """How much is covered, and what is not."""
        fired = sum(rule.rows_out > 0 for rule in self.rules.values())
        verdicts = {place: _verdict(each) for place, each in self.conditions.items()}
        decided = sum(not verdict for verdict in verdicts.values())
        yield (
            f"coverage: {fired} of {len(self.rules)} rules fired, "
            f"{decided} of {len(verdicts)} conditions decided"
        )
        for place, rule in self.rules.items():
            if not rule.rows_out:
                yield f"  {place}  never fired    {rule.text}"
        for place, verdict in verdicts.items():
            if verdict:
                yield f"  {place}  {verdict:<13}  {self.conditions[place].text}"


def _verdict(condition: _Counted) -> str:
    """Why a condition is not decided; empty if it is."""
    if not condition.rows_in:
        return "never reached"
    if not condition.rows_out:
        return "never true"
    is_always = condition.is_test and condition.rows_out >= condition.rows_in
    return "never false" if is_always else ""


def _is_inside(span: Span, other: Span) -> bool:
    return other != span and other[0] <= span[0] and span[1] <= other[1]
