"""Event patterns: state that grows without bound, and recursion that goes nowhere."""

from __future__ import annotations

from cernis.check.catalogue import pattern_head, pattern_uses
from cernis.check.model import Definitions, Event
from cernis.check.report import Report
from cernis.syntax.tree import Absence, Binary, EventAtom, Pattern, PatternRule, Where, Within


def check_patterns(definitions: Definitions, report: Report) -> None:
    """Warn of patterns that must remember everything; report recursion without progress."""
    for rule in definitions.patterns:
        if consumption_of(rule, definitions) == "unrestricted" and not _is_bounded(rule.pattern):
            report.warn(
                "C071", "this pattern has no `within`: every part ever seen must be remembered",
                rule.pattern.span,
                help="add within and a duration, or choose :- consumption(recent).",
            )  # fmt: skip
        _recursion(rule, report)


def consumption_of(rule: PatternRule, definitions: Definitions) -> str:
    """The consumption policy that a rule follows: its own, else the program's."""
    settings = definitions.settings
    own = dict(settings.consumption_of)
    relation = pattern_head(rule).relation
    return own.get(str(relation), own.get(relation.name, settings.consumption))


def _is_bounded(pattern: Pattern) -> bool:
    """Does a `within` stand around everything that joins two parts?"""
    if isinstance(pattern, Within):
        return True
    if isinstance(pattern, Where):
        return _is_bounded(pattern.pattern)
    if isinstance(pattern, Binary):
        return pattern.operator == "or" and _is_bounded(pattern.left) and _is_bounded(pattern.right)
    return not isinstance(pattern, Absence)


def _recursion(rule: PatternRule, report: Report) -> None:
    """A recursive rule must join its own event with something later, so that it gets longer."""
    head = pattern_head(rule).relation
    if _extends(rule.pattern, head.name):
        return
    for use in pattern_uses(rule.pattern):
        if isinstance(use, Event) and use.relation == head:
            report.error(
                "C065", f"{head} is defined by itself over the same interval", use.span,
                help="let each step add a later event: iteration(K) seq a",
            )  # fmt: skip


def _extends(pattern: Pattern, name: str) -> bool:
    """Is every use of the event in a sequence with something else, or is there none?"""
    if isinstance(pattern, (Where, Within)):
        return _extends(pattern.pattern, name)
    if isinstance(pattern, Binary):
        if pattern.operator in ("seq", "meets"):
            return True
        return _extends(pattern.left, name) and _extends(pattern.right, name)
    if isinstance(pattern, EventAtom):
        return not any(
            isinstance(u, Event) and u.relation.name == name for u in pattern_uses(pattern)
        )
    return True
