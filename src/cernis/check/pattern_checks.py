"""Event patterns: state that grows without bound, and what cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cernis.check.amounts import FARTHEST, amount, is_length
from cernis.check.catalogue import pattern_head
from cernis.check.functions import check_expression
from cernis.check.model import EDGES, Consumption, Definitions
from cernis.check.pointrules import speaks_of_time
from cernis.check.reporter import Report
from cernis.check.rewrites.match_conditions import COMPARING, EQUATING, HOLDING
from cernis.check.rewrites.sliding_conditions import is_sliding, sliding
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.source import Sources
from cernis.syntax.etalis import is_event_file
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Compound,
    Directive,
    EventAtom,
    Item,
    Pattern,
    PatternRule,
    Term,
    TimePoint,
    Variable,
    Where,
    Within,
    functor,
    variables,
)


def check_pattern_atoms(definitions: Definitions, report: Report) -> None:
    """Report what is no event or fluent to look for, while atoms are as they were written."""
    for rule in definitions.patterns:
        for part in _parts(rule.pattern):
            _atom(part, report)


def check_patterns(definitions: Definitions, report: Report) -> None:
    """Warn of patterns that must remember everything; report what cannot be computed."""
    terms = _terms_elsewhere(definitions)
    for rule in definitions.patterns:
        consumption = consumption_of(rule, definitions)
        if consumption.policy == "unrestricted" and not _is_bounded(rule.pattern):
            report.warn(
                "C071", "this pattern has no `within`: every part ever seen must be remembered",
                rule.pattern.span,
                help="add within and a duration, or choose :- consumption(recent).",
            )  # fmt: skip
        for part in _parts(rule.pattern):
            _time_point(part, report)
            _duration(part, report)
            _conditions(part, report)
            _functions(part, terms, report)
        # What a head computes is a number; any other term is a value.
        for arg in pattern_head(rule).args:
            check_expression(arg, False, report.error)
    _preferences(definitions, report)


def note_policy(items: Sequence[Item], sources: Sources, report: Report) -> None:
    """Note, once, that a rule file of ETALIS says no policy: the usual one is another there."""
    rules = [item for item in items if isinstance(item, PatternRule)]
    if any(isinstance(i, Directive) and functor(i.goal)[0] == "consumption" for i in items):
        return
    for rule in rules:
        source = sources.source_at(rule.span[0])
        if source is not None and is_event_file(source.name) and not _is_alone(rule.pattern):
            report.note(
                "C069", "all that fits is combined here; in ETALIS it is the most recent",
                rule.pattern.span, help="say which is meant: :- consumption(recent).",
            )  # fmt: skip
            return


def _is_alone(pattern: Pattern) -> bool:
    """Does the pattern combine nothing?"""
    return not any(isinstance(part, (Binary, Absence)) for part in _parts(pattern))


def _preferences(definitions: Definitions, report: Report) -> None:
    """What a policy prefers matches by is a variable of some pattern that follows it."""
    settings = definitions.settings
    is_bound = dict.fromkeys([("", settings.consumption), *settings.consumption_of], False)
    for rule in definitions.patterns:
        consumption = consumption_of(rule, definitions)
        names = {v.name for part in _parts(rule.pattern) for v in _variables(part)}
        relation = pattern_head(rule).relation
        for name in ("", str(relation), relation.name):
            if consumption.preference is not None and consumption.preference.variable in names:
                is_bound[name, consumption] = True
    for (name, consumption), is_there in is_bound.items():
        preference = consumption.preference
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
    if isinstance(term, Compound) and functor(term) in EDGES:
        term = term.args[0] if functor(term.args[0]) == ("=", 2) else term
    about = term.args[0] if isinstance(term, Compound) and functor(term) == ("=", 2) else term
    if not isinstance(about, (Atom, Compound)):
        report.error("C062", f"{show(term)} is neither an event nor a fluent", part.span,
                     help="name an event, or a fluent with its value: f(X)=true")  # fmt: skip
    for arg in about.args if isinstance(about, Compound) else ():
        if functor(arg) in FUNCTIONS and any(variables(arg)):
            report.error(
                "C062", f"{show(arg)} would have to be computed to find the event", arg.span,
                help=f"give the argument a name of its own, and say where Name = {show(arg)}",
            )  # fmt: skip


def _time_point(part: Pattern, report: Report) -> None:
    if not isinstance(part, TimePoint):
        return
    if abs(part.value) > FARTHEST or part.value != int(part.value):
        report.error("C066", f"{show(part)} is no time-point", part.span,
                     help="time-points are whole numbers from -2**62 to 2**62")  # fmt: skip


def _duration(part: Pattern, report: Report) -> None:
    if not isinstance(part, Within):
        return
    duration = part.duration
    if is_length(amount(duration)):
        return
    bound = {v.name for atom in _parts(part.pattern) for v in _variables(atom)}
    names = {variable.name for variable in variables(duration)}
    if names and names <= bound and isinstance(duration, (Variable, Compound)):
        return
    report.error("C066", f"{show(duration)} is no duration", duration.span,
                 help="write a number below 2**62, or one with a unit: 10min")  # fmt: skip


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


# -- functions -------------------------------------------------------------------------------


def _terms_elsewhere(definitions: Definitions) -> set[tuple[str, int]]:
    """The compound terms that events and fluents of patterns have as arguments."""
    functors: set[tuple[str, int]] = set()
    for rule in definitions.patterns:
        atoms = [part.term for part in _parts(rule.pattern) if isinstance(part, EventAtom)]
        for term in (rule.head, *atoms):
            below = list(term.args) if isinstance(term, Compound) else []
            while below:
                arg = below.pop()
                if isinstance(arg, Compound):
                    functors.add(functor(arg))
                    below += arg.args
    return functors


def _functions(part: Pattern, terms: set[tuple[str, int]], report: Report) -> None:
    """What is computed in a pattern is made of functions and aggregates that there are."""
    if isinstance(part, Within):
        check_expression(part.duration, True, report.error)
    elif isinstance(part, Where):
        bound = {v.name for below in _parts(part.pattern) for v in _variables(below)}
        for condition in part.conditions:
            _condition(condition, bound, terms, report)
            bound |= {variable.name for variable in variables(condition)}


def _condition(goal: Term, bound: set[str], terms: set[tuple[str, int]], report: Report) -> None:
    if not isinstance(goal, Compound) or is_sliding(goal):
        return
    if goal.functor in HOLDING:
        for arg in goal.args:
            _condition(arg, bound, terms, report)
    elif goal.functor in EQUATING and len(goal.args) == 2:
        for arg, other in (goal.args, goal.args[::-1]):
            # What gives a variable its value is computed, unless it is a term that events have.
            gives = isinstance(other, Variable) and other.name not in bound
            check_expression(arg, gives and functor(arg) not in terms, report.error)
    elif goal.functor in COMPARING:
        for arg in goal.args:
            check_expression(arg, True, report.error)


def consumption_of(rule: PatternRule, definitions: Definitions) -> Consumption:
    """The consumption policy that a rule follows: its own, else the program's."""
    settings = definitions.settings
    by_relation = dict(settings.consumption_of)
    relation = pattern_head(rule).relation
    return by_relation.get(str(relation), by_relation.get(relation.name, settings.consumption))


def _is_bounded(pattern: Pattern) -> bool:
    """Does a `within` stand around everything that joins two parts?"""
    if isinstance(pattern, Within):
        return True
    if isinstance(pattern, Where):
        return _is_bounded(pattern.pattern)
    if isinstance(pattern, Binary):
        return pattern.operator == "or" and _is_bounded(pattern.left) and _is_bounded(pattern.right)
    return not isinstance(pattern, Absence)
