"""Event patterns: state that grows without bound, and recursion that goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.catalogue import pattern_head, pattern_uses
from cernis.check.model import Consumption, Definitions, Event
from cernis.check.pointrules import speaks_of_time
from cernis.check.report import Report
from cernis.check.sliding import is_sliding, sliding
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Compound,
    Duration,
    EventAtom,
    Number,
    Pattern,
    PatternRule,
    Variable,
    Where,
    Within,
    functor,
    variables,
)


def check_patterns(definitions: Definitions, report: Report) -> None:
    """Warn of patterns that must remember everything; report recursion without progress."""
    for rule in definitions.patterns:
        consumption = consumption_of(rule, definitions)
        if consumption.policy == "unrestricted" and not _is_bounded(rule.pattern):
            report.warn(
                "C071", "this pattern has no `within`: every part ever seen must be remembered",
                rule.pattern.span,
                help="add within and a duration, or choose :- consumption(recent).",
            )  # fmt: skip
        _recursion(rule, report)
        for part in _parts(rule.pattern):
            _atom(part, report)
            _duration(part, report)
            _conditions(part, report)
    _preferences(definitions, report)


def _preferences(definitions: Definitions, report: Report) -> None:
    """What a policy prefers matches by is a variable of some pattern that follows it."""
    settings = definitions.settings
    asked = dict.fromkeys([("", settings.consumption), *settings.consumption_of], False)
    for rule in definitions.patterns:
        own = consumption_of(rule, definitions)
        names = {v.name for part in _parts(rule.pattern) for v in _variables(part)}
        relation = pattern_head(rule).relation
        for name in ("", str(relation), relation.name):
            if own.preference is not None and own.preference.variable in names:
                asked[name, own] = True
    for (name, own), is_there in asked.items():
        preference = own.preference
        if preference is not None and preference.variable and not is_there:
            where = f"of {name} " if name else ""
            report.error(
                "C064", f"no pattern {where}has a variable {preference.variable}", preference.span,
                help="write it as the pattern has it",
            )  # fmt: skip


def _parts(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all it is made of."""
    yield pattern
    if isinstance(pattern, (Where, Within)):
        yield from _parts(pattern.pattern)
    elif isinstance(pattern, Binary):
        yield from _parts(pattern.left)
        yield from _parts(pattern.right)
    elif isinstance(pattern, Absence):
        for part in (pattern.absent, pattern.first, pattern.last):
            yield from _parts(part)


def _atom(part: Pattern, report: Report) -> None:
    """A pattern is made of events and of fluents with their values."""
    if not isinstance(part, EventAtom):
        return
    term = part.term
    about = term.args[0] if isinstance(term, Compound) and functor(term) == ("=", 2) else term
    if not isinstance(about, (Atom, Compound)):
        report.error("C062", f"{show(term)} is neither an event nor a fluent", part.span,
                     help="name an event, or a fluent with its value: f(X)=true")  # fmt: skip


def _duration(part: Pattern, report: Report) -> None:
    if not isinstance(part, Within):
        return
    duration = part.duration
    if isinstance(duration, Duration) or (isinstance(duration, Number) and duration.value >= 0):
        return
    bound = {v.name for atom in _parts(part.pattern) for v in _variables(atom)}
    names = {variable.name for variable in variables(duration)}
    if names and names <= bound and isinstance(duration, (Variable, Compound)):
        return
    report.error("C066", f"{show(duration)} is no duration", duration.span,
                 help="write a number, or a number with a unit: 10min")  # fmt: skip


def _variables(part: Pattern) -> Iterator[Variable]:
    if isinstance(part, EventAtom):
        yield from variables(part.term)
    elif isinstance(part, Where):
        for condition in part.conditions:
            yield from variables(condition)


def _conditions(part: Pattern, report: Report) -> None:
    if isinstance(part, Where):
        for condition in part.conditions:
            if speaks_of_time(condition):
                report.error(
                    "C060", "conditions of a pattern are about its arguments", condition.span,
                    help="use the fluent as a pattern: a(X) during f(X)=true",
                )  # fmt: skip
            elif is_sliding(condition) and sliding(condition) is None:
                report.error(
                    "C066", f"{show(condition)} is no aggregate over a window", condition.span,
                    help="write a value, what tells windows apart, and the window: "
                    "A = avg(P, X, last(50)) or A = sum(P, past(10min))",
                )  # fmt: skip


def consumption_of(rule: PatternRule, definitions: Definitions) -> Consumption:
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
