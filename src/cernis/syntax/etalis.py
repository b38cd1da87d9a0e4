"""Rule files of ETALIS, which end in `.event`: what they say is put into the words of cernis.

Operators have ETALIS's ranks and may stand in quotes. Facts in `db(...)`, conditions in `db(...)`,
`prolog(...)`, `check`, `timestamp` and `event_multiply`, the negation `cnot`, windows of labelled
rules and the flag of the consumption policy become facts, `where`, `not(...)[...]`, `within` and a
directive. What has no counterpart is an error that names what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cernis.errors import Diagnostic
from cernis.syntax.faults import Unexpected, error
from cernis.syntax.grammar import Operation, PatternGrammar
from cernis.syntax.operators import INFIX
from cernis.syntax.pattern_parser import conditions, pattern
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    Directive,
    EventAtom,
    Item,
    Pattern,
    PatternRule,
    Sequence,
    Term,
    Where,
    Within,
    conjuncts,
    functor,
)

if TYPE_CHECKING:
    from cernis.source import Span
    from cernis.syntax.clause_parser import ClauseParser

ENDING: Final = ".event"
_CONDITIONS: Final = frozenset({("db", 1), ("prolog", 1)})
_FACTS: Final = _CONDITIONS | {("static", 1)}
_WINDOWS: Final = frozenset({"event_rule_window", "window"})


def is_event_file(name: str) -> bool:
    """Is this the name of a rule file of ETALIS?"""
    return name.endswith(ENDING)


# -- operators -------------------------------------------------------------------------------


def _where(parser: ClauseParser, left: Pattern, start: int, rank: int) -> Pattern:
    """`P check (...)`, `P timestamp (...)`, `P event_multiply (...)`: conditions on P."""
    goals = tuple(_in_time(goal) for goal in conditions(parser))
    return Where(left, goals, (start, parser.spans[parser.position - 1][1]))


def _in_time(goal: Term) -> Term:
    """A condition on the times of a match, with the names `start` and `end` for them."""
    if not isinstance(goal, Compound):
        return goal
    name = functor(goal)
    if name in (("t1", 1), ("t2", 1)):
        time = Atom("start" if goal.functor == "t1" else "end", goal.span)
        return Compound("=", (goal.args[0], time), goal.span)
    if name == ("datime_minus_datime", 3):
        later, earlier, difference = goal.args
        return Compound(
            "=", (difference, Compound("-", (later, earlier), goal.span)), goal.span
        )  # fmt: skip
    return goal


def _absence(parser: ClauseParser, left: Pattern, start: int, rank: int) -> Pattern:
    """`(A seq B) cnot C` is `not(C)[A, B]`."""
    mark = parser.spans[parser.position - 1]
    absent = pattern(parser, rank - 1)
    span = (start, parser.spans[parser.position - 1][1])
    if isinstance(left, Binary) and left.operator == "seq":
        return Absence(absent, left.left, left.right, span)
    raise Unexpected(
        error("C068", "what must not happen is not said to lie between two events", mark,
              help_="cnot stands after a sequence, (a seq b) cnot c; or write not(c)[a, b]")
    )  # fmt: skip


def _joined(operator: str) -> Operation:
    """Two patterns and an operator; one of them may be a condition, `db(...)` or `prolog(...)`."""

    def join(parser: ClauseParser, left: Pattern, start: int, rank: int) -> Pattern:
        right = pattern(parser, rank - 1)
        span = (start, parser.spans[parser.position - 1][1])
        if _is_condition(right):
            return Where(left, _goals(right), span)
        if _is_condition(left):
            return Where(right, _goals(left), span)
        return Binary(operator, left, right, span)

    return join


def _is_condition(part: Pattern) -> bool:
    return isinstance(part, EventAtom) and functor(part.term) in _CONDITIONS


def _goals(part: Pattern) -> tuple[Term, ...]:
    assert isinstance(part, EventAtom)
    assert isinstance(part.term, Compound)
    return conjuncts(part.term.args[0])


_ACTION = (
    "let the program that reads the answers act: after `cernis run`, "
    "or as a sink of `cernis stream`"
)

_RULE_ALONE = (
    "write it as a rule of its own; rules do not change rules, as with ins_event_rule: change the "
    "file, and let a session go on with `program.restore`"
)

GRAMMAR: Final = PatternGrammar(
    ranks={
        "seq": 10, "equals": 10, "meets": 10, "during": 10, "starts": 10, "finishes": 10,
        "cnot": 20, "not": 20, "and": 30, "par": 40, "check": 50, "timestamp": 50,
        "event_multiply": 50, "or": 60, "within": 70, "where": 70,
    },
    further={
        "seq": _joined("seq"), "and": _joined("and"), "cnot": _absence, "not": _absence,
        "check": _where, "timestamp": _where, "event_multiply": _where,
    },
    refused={
        "do": ("a rule only recognises, it does nothing: `do` is not there", _ACTION),
        "fnot": (
            "that something has never happened, `fnot`, is not there",
            "say between what it must not happen: not(c)[a, b]",
        ),
        "forall_seq": (
            "`forall_seq` is not there",
            "seq combines all that fit under the policy unrestricted; or collect values with an "
            "aggregate, as in where N = count(past(60))",
        ),
        "star_times": (
            "repetition, `star_times`, is not there",
            "write a recursive rule: many(1) <- a. many(N + 1) <- many(N) seq a.",
        ),
        "ntimes": ("repetition, `ntimes`, is not there", "write it out: a seq a seq a"),
        "<-": ("a rule stands inside of another, or of a condition", _RULE_ALONE),
        "rule:": ("a labelled rule stands inside of another, or of a condition", _RULE_ALONE),
    },
    may_quote=True,
    arrows=frozenset({"iff"}),
    highest_head=INFIX["iff"][1],
)  # fmt: skip


# -- whole files -----------------------------------------------------------------------------


def adapted(items: Iterable[Item]) -> tuple[list[Item], list[Diagnostic]]:
    """The clauses of a file in the words of cernis, and what cannot be said in them."""
    clauses = list(items)
    windows = dict(_windows(clauses))
    kept: list[Item] = []
    faults: list[Diagnostic] = []
    for item in clauses:
        if _property(item) is not None:
            continue
        try:
            kept.append(_adapted(item, windows))
        except Unexpected as fault:
            faults.append(fault.diagnostic)
    return kept, faults


def _adapted(item: Item, windows: dict[str, Term]) -> Item:
    if isinstance(item, PatternRule):
        return _rule(item, windows)
    if isinstance(item, Directive):
        return _directive(item)
    if functor(item.head) in _FACTS and not item.body:
        assert isinstance(item.head, Compound)
        fact = item.head.args[0]
        if not isinstance(fact, (Atom, Compound)):
            _refuse(f"{item.head.functor}(...) holds no fact", fact.span, "write the fact: p(1, 2)")
        return replace(item, head=fact)
    return item


def _directive(item: Directive) -> Item:
    """The policy is the one flag that says what a program means."""
    goal = item.goal
    if functor(goal) == ("set_etalis_flag", 2):
        assert isinstance(goal, Compound)
        flag, value = goal.args
        if flag == Atom("event_consumption_policy"):
            return replace(item, goal=Compound("consumption", (value,), goal.span))
    return item


def _rule(rule: PatternRule, windows: dict[str, Term]) -> PatternRule:
    _refuse_alarm(rule.head)
    for part in _events(rule.pattern):
        _refuse_event(part)
    label, properties = _label(rule)
    window = properties.get("event_rule_window") or properties.get("window") or windows.get(label)
    limited = rule.pattern
    if window is not None:
        limited = Within(rule.pattern, window, rule.pattern.span)
    return replace(rule, pattern=limited, label=Atom(label) if label else None)


def _label(rule: PatternRule) -> tuple[str, dict[str, Term]]:
    """The name of a rule, and its properties: `r1([property(window, 3)]) 'rule:' ...`."""
    label = rule.label
    if isinstance(label, Compound) and len(label.args) == 1:
        return label.functor, dict(_listed(label.args[0]))
    return functor(label)[0] if label is not None else "", {}


def _listed(properties: Term) -> Iterator[tuple[str, Term]]:
    for each in properties.items if isinstance(properties, Sequence) else ():
        if isinstance(each, Compound) and functor(each) == ("property", 2):
            yield functor(each.args[0])[0], each.args[1]


def _windows(items: Iterable[Item]) -> Iterator[tuple[str, Term]]:
    """How long the matches of each labelled rule may be, as facts of their own say."""
    for item in items:
        window = _property(item)
        if window is not None and functor(window.args[1])[0] in _WINDOWS:
            yield functor(window.args[0])[0], window.args[2]


def _property(item: Item) -> Compound | None:
    """`event_rule_property(r1, window, 3).`"""
    if isinstance(item, Clause) and functor(item.head) == ("event_rule_property", 3):
        assert isinstance(item.head, Compound)
        return item.head
    return None


def _events(whole: Pattern) -> Iterator[EventAtom]:
    stack = [whole]
    while stack:
        part = stack.pop()
        if isinstance(part, EventAtom):
            yield part
        elif isinstance(part, (Where, Within)):
            stack.append(part.pattern)
        elif isinstance(part, Binary):
            stack += (part.right, part.left)
        elif isinstance(part, Absence):
            stack += (part.absent, part.last, part.first)


_SYMBOLS = {"*": "seq", "/\\": "and", "\\/": "or"}


def _refuse_event(part: EventAtom) -> None:
    """Raise for what stands in the place of an event and is none."""
    name, arity = functor(part.term)
    if name in _SYMBOLS and arity == 2:
        _refuse(f"`{name}` joins no events", part.span, f"write {_SYMBOLS[name]}")
    if (name, arity) in _CONDITIONS:
        _refuse(f"{name}(...) is a condition, and no event comes before it", part.span,
                "let an event come before it: a(X) where p(X)")  # fmt: skip
    if name == "aggregate" and arity == 3:
        _refuse(
            "an aggregate is no event of its own", part.span,
            "write it as a condition, with its window: a(X) where N = count(all)",
        )  # fmt: skip


def _refuse_alarm(head: Term) -> None:
    name, _ = functor(head)
    if name.startswith("exceptionAlarm"):
        _refuse(
            f"a rule sets no alarm: {name} is not there", head.span,
            "say what does not happen in time: no b(X) within 60 after a(X), in a rule with "
            "happensAt; or let a fluent end after a time: ft(f(X)=true, 60)",
        )  # fmt: skip


def _refuse(message: str, span: Span, help_: str) -> None:
    raise Unexpected(error("C068", message, span, help_=help_))
