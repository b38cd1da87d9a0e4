"""Clauses to definitions: says of each clause what it defines, in one form for all spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cernis.check import declarations
from cernis.check.clause_parts import event_of, is_delay, pair_of, show_fluent
from cernis.check.model import (
    EDGES,
    Definitions,
    DelayedEffect,
    Event,
    Grounding,
    InitialRule,
    Pair,
    Postponable,
    StaticRule,
)
from cernis.check.pointrules import lower_change, lower_event_rule, speaks_of_time
from cernis.check.reporter import Report
from cernis.check.rewrites.boolean_pairs import expand_iff
from cernis.check.rewrites.scopes import name_apart
from cernis.check.staticrules import lower_static
from cernis.knowledge.resolution.builtins import builtin
from cernis.source import Span
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Directive,
    Item,
    Number,
    PatternRule,
    Term,
    Variable,
    functor,
    variables,
)

SHADOWED = frozenset({
    ("union_all", 2), ("intersect_all", 2), ("relative_complement_all", 3),
    ("complement_all", 2), ("intDurGreater", 3), ("intDurLess", 3), ("allen", 5),
})  # fmt: skip
"""Built-ins over intervals that rule files may bring a definition of their own for."""


@dataclass(slots=True)
class Lowered:
    """The definitions of a program and the clauses that are background knowledge."""

    definitions: Definitions = field(default_factory=Definitions)
    background: list[Clause] = field(default_factory=list)


def lower(items: Iterable[Item], report: Report) -> Lowered:
    """Sort clauses by what they define; what cannot be understood is reported and left out."""
    lowered = Lowered()
    shadowed: dict[tuple[str, int], Span] = {}
    for item in map(name_apart, items):
        if isinstance(item, Directive):
            declarations.directive(item, lowered.definitions, report)
        elif isinstance(item, PatternRule):
            lowered.definitions.patterns.append(item)
        else:
            _clause(item, lowered, report, shadowed)
    for (name, arity), span in shadowed.items():
        report.note(
            "C046", f"this definition of {name}/{arity} is not used: it is built in", span,
            help="remove it, or give it another name if it means something else",
        )  # fmt: skip
    return lowered


def _clause(
    clause: Clause, lowered: Lowered, report: Report, shadowed: dict[tuple[str, int], Span]
) -> None:
    name = functor(clause.head)
    handler = _HANDLERS.get(name)
    definitions = lowered.definitions
    if handler is not None and _is_ours(clause.head):
        _no_probability(clause, report)
        if name not in _TIMELESS or _is_timeless(clause, report):
            handler(clause, definitions, report)
    elif name in declarations.CLAUSES and _is_ours(clause.head):
        declarations.clause(clause, definitions, report)
    elif name in SHADOWED:
        shadowed.setdefault(name, clause.head.span)
    elif name in _MISPLACED:
        report.error("C062", f"{name[0]}/{name[1]} cannot be defined", clause.head.span,
                     help=_MISPLACED[name])  # fmt: skip
    elif _is_definable(clause, report, shadowed):
        lowered.background.append(clause)


_TIMELESS = frozenset({
    ("initially", 1), ("grounding", 1), ("fi", 3), ("ft", 2), ("p", 1), ("maxDuration", 3),
    ("maxDurationUE", 3),
})  # fmt: skip
"""Heads whose bodies are background knowledge only."""


def _no_probability(clause: Clause, report: Report) -> None:
    if clause.probability is not None and functor(clause.head) != ("initially", 1):
        report.error(
            "C062", "a rule has no probability", clause.head.span,
            help="probabilities stand before input records, facts, and initially(F=V)",
        )  # fmt: skip


def _is_timeless(clause: Clause, report: Report) -> bool:
    """Bodies that are no rules over time may not speak of it."""
    for goal in clause.body:
        if speaks_of_time(goal):
            report.error(
                "C060", f"{functor(clause.head)[0]} cannot depend on events and fluents", goal.span,
                help="it depends on background knowledge only",
            )  # fmt: skip
            return False
    return True


def _is_definable(clause: Clause, report: Report, shadowed: dict[tuple[str, int], Span]) -> bool:
    """Is the clause for a predicate of the user's? Built-in ones are as they are."""
    name, arity = functor(clause.head)
    known = builtin(name, arity)
    if known is None or known.library:
        return True
    if name[:1].isalpha() and known.kind != "control":
        shadowed.setdefault((name, arity), clause.head.span)
        return False
    hint = "what holds from the beginning is said with initially(F=V)" if name == "=" else ""
    report.error("C062", f"`{name}` cannot be defined", clause.head.span,
                 help=hint or "give the predicate a name of its own")  # fmt: skip
    return False


def _is_ours(head: Term) -> bool:
    """`p/1` and `index/2` may as well be a user's predicate: what they are about decides."""
    if not isinstance(head, Compound):
        return False
    if head.functor in ("p", "fi", "ft"):
        return functor(head.args[0]) == ("=", 2)
    return True


_MISPLACED = {
    ("holdsAt", 2): "define a fluent by initiatedAt/terminatedAt, or by holdsFor",
    ("initiatedAt", 1): "write initiatedAt(F=V, T)",
    ("initiatedAt", 3): "write initiatedAt(F=V, T)",
    ("terminatedAt", 1): "write terminatedAt(F=V, T)",
    ("terminatedAt", 3): "write terminatedAt(F=V, T)",
    ("happensAt", 1): "write happensAt(E, T)",
    ("holdsFor", 1): "write holdsFor(F=V, I)",
}


# -- one handler a head ----------------------------------------------------------------------


def _initiated(clause: Clause, definitions: Definitions, report: Report) -> None:
    _change(clause, True, definitions, report)


def _terminated(clause: Clause, definitions: Definitions, report: Report) -> None:
    _change(clause, False, definitions, report)


def _change(clause: Clause, initiates: bool, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    args = clause.head.args
    word = "initiatedAt" if initiates else "terminatedAt"
    pair = pair_of(args[0], report, word)
    if pair is None:
        return
    if initiates and len(args) == 4 and args[2] == Number(-1):
        _initial_change(clause, pair, definitions, report)
        return
    bounds = (args[1], args[3]) if len(args) == 4 else ()
    time = args[2] if len(args) == 4 else args[1]
    rule = lower_change(clause, initiates, pair, time, clause.body, report, bounds)
    if rule is not None:
        definitions.changes.append(rule)


def _initial_change(clause: Clause, pair: Pair, definitions: Definitions, report: Report) -> None:
    """`initiatedAt(F=V, T1, -1, T2) :- goals` is `initially(F=V) :- goals`.

    Goals that only say how -1 lies to the bounds of the window have no part in it.
    """
    assert isinstance(clause.head, Compound)
    _, first, _, last = clause.head.args
    bounds = {arg.name for arg in (first, last) if isinstance(arg, Variable)}
    names = [{variable.name for variable in variables(goal)} for goal in clause.body]
    pairs = zip(clause.body, names, strict=True)
    goals = tuple(goal for goal, goal_names in pairs if not goal_names or goal_names - bounds)
    if _is_timeless(clause, report):
        definitions.initials.append(InitialRule(pair, goals, clause.probability, clause.span))


def _older_change(clause: Clause, definitions: Definitions, report: Report) -> None:
    """`initiates(E, F=V, T) :- body` is `initiatedAt(F=V, T) :- happensAt(E, T), body`."""
    assert isinstance(clause.head, Compound)
    event, target, time = clause.head.args
    pair = pair_of(target, report, clause.head.functor)
    if pair is None:
        return
    if time == Variable("_"):
        time = Variable("_the time of the event", time.span)
    happens = Compound("happensAt", (event, time), event.span)
    initiates = clause.head.functor == "initiates"
    rule = lower_change(clause, initiates, pair, time, (happens, *clause.body), report)
    if rule is not None:
        definitions.changes.append(rule)


def _happens(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    if functor(clause.head.args[0]) in EDGES:
        report.error(
            "C062", "starts and ends follow from what a fluent does", clause.head.span,
            help="define the fluent, or give the event another name",
        )  # fmt: skip
        return
    event = event_of(clause.head.args[0], report, "happensAt")
    if event is None:
        return
    rule = lower_event_rule(clause, event, clause.head.args[1], report)
    if rule is not None:
        definitions.events.append(rule)


def _holds_for(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    target, output = clause.head.args
    pair = pair_of(target, report, "holdsFor")
    if pair is None:
        return
    if output == Atom("[]"):
        # It says what is so anyway, but in the dialect in which later clauses do not count then.
        definitions.statics.append(StaticRule(pair, (), "", clause.span))
        return
    rule = lower_static(clause, pair, output, report)
    if rule is not None:
        definitions.statics.append(rule)


def _iff(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    pair = pair_of(clause.head.args[0], report, "iff")
    if clause.body:
        report.error("C062", "a rule with iff has no `:-`", clause.body[0].span,
                     help="write the conditions after iff, with commas between them")  # fmt: skip
    elif pair is not None:
        rule = expand_iff(clause, pair, clause.head.args[1], report)
        if rule is not None:
            definitions.statics.append(rule)


def _initially(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    pair = pair_of(clause.head.args[0], report, "initially")
    if pair is not None:
        definitions.initials.append(InitialRule(pair, clause.body, clause.probability, clause.span))


def _future_initiation(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    source = pair_of(clause.head.args[0], report, clause.head.functor)
    target = pair_of(clause.head.args[1], report, clause.head.functor)
    if source is None or target is None:
        return
    if (source.relation, source.args) != (target.relation, target.args):
        report.error(
            "C044", "a delayed effect leads from one value of a fluent to another of the same",
            target.span, help=f"the second argument must be {show_fluent(source)}=...",
        )  # fmt: skip
        return
    if source.value == target.value:
        report.error("C044", "this delayed effect leads from a value to itself", target.span,
                     help="name the value that is to follow")  # fmt: skip
        return
    delay = clause.head.args[2]
    if _are_named([source, target], report) and is_delay(delay, report):
        definitions.effects.append(DelayedEffect(source, target, delay, clause.body, clause.span))


def _are_named(pairs: list[Pair], report: Report) -> bool:
    """Does a delayed effect name the values that it leads from and to?"""
    is_open = [pair for pair in pairs if any(True for _ in variables(pair.value))]
    for pair in is_open:
        report.error(
            "C044", "a delayed effect names the values that it leads from and to", pair.span,
            help=f"write one delayed effect for each value of {show_fluent(pair)}",
        )  # fmt: skip
    return not is_open


def _extensible(clause: Clause, definitions: Definitions, report: Report) -> None:
    """The older `maxDurationUE(F=V, F=V', R)`: a delayed effect that a re-initiation moves."""
    before = len(definitions.effects)
    _future_initiation(clause, definitions, report)
    for effect in definitions.effects[before:]:
        definitions.postponables.append(Postponable(effect.source, clause.body, clause.span))


def _future_termination(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    source = pair_of(clause.head.args[0], report, "ft")
    delay = clause.head.args[1]
    if source is not None and _are_named([source], report) and is_delay(delay, report):
        definitions.effects.append(DelayedEffect(source, None, delay, clause.body, clause.span))


def _postponable(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    pair = pair_of(clause.head.args[0], report, "p")
    if pair is not None:
        definitions.postponables.append(Postponable(pair, clause.body, clause.span))


def _grounding(clause: Clause, definitions: Definitions, report: Report) -> None:
    assert isinstance(clause.head, Compound)
    target = clause.head.args[0]
    entity: Pair | Event | None
    if functor(target) == ("=", 2):
        entity = pair_of(target, report, "grounding")
    else:
        entity = event_of(target, report, "grounding")
    if entity is not None:
        definitions.groundings.append(Grounding(entity, clause.body, clause.span))


_Handler = Callable[[Clause, Definitions, Report], None]

_HANDLERS: dict[tuple[str, int], _Handler] = {
    ("initiatedAt", 2): _initiated,
    ("initiatedAt", 4): _initiated,
    ("terminatedAt", 2): _terminated,
    ("terminatedAt", 4): _terminated,
    ("initiates", 3): _older_change,
    ("terminates", 3): _older_change,
    ("happensAt", 2): _happens,
    ("holdsFor", 2): _holds_for,
    ("iff", 2): _iff,
    ("initially", 1): _initially,
    ("fi", 3): _future_initiation,
    ("ft", 2): _future_termination,
    ("maxDuration", 3): _future_initiation,
    ("maxDurationUE", 3): _extensible,
    ("p", 1): _postponable,
    ("grounding", 1): _grounding,
}
