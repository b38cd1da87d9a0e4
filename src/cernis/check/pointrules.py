"""Rules over time-points: the bodies of initiatedAt, terminatedAt and happensAt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cernis.check.clause_parts import event_of, pair_of
from cernis.check.model import (
    EDGES,
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Either,
    Event,
    EventRule,
    Happens,
    Holds,
    Literal,
    Pair,
    Unless,
    temporal,
)
from cernis.check.reporter import Report, did_you_mean, misspelt
from cernis.check.rewrites import two_times
from cernis.errors import Correction, Note
from cernis.knowledge.scope import GROUPING, hidden_names, without_carets
from cernis.source import NOWHERE, Span
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Term,
    Variable,
    children,
    conjuncts,
    functor,
    variables,
    walk,
)

TEMPORAL = frozenset({
    ("happensAt", 2), ("holdsAt", 2), ("initiatedAt", 2), ("terminatedAt", 2),
    ("initiatedAt", 4), ("terminatedAt", 4),
})  # fmt: skip
OVER_INTERVALS = frozenset({
    ("holdsFor", 2), ("union_all", 2), ("intersect_all", 2), ("relative_complement_all", 3),
    ("complement_all", 2), ("intDurGreater", 3), ("intDurLess", 3), ("allen", 5),
})  # fmt: skip
AGGREGATES = {
    ("count", 0): "count", ("count", 1): "count", ("sum", 1): "sum", ("min", 1): "min",
    ("max", 1): "max", ("avg", 1): "avg", ("min", 2): "min_with", ("max", 2): "max_with",
    ("bag", 1): "findall", ("set", 1): "set",
}  # fmt: skip
"""What `aggregate_all` can ask for over time, and the kind of collection that it is."""


def is_temporal(term: Term) -> bool:
    """Does a literal over time stand anywhere in the term?"""
    return any(functor(node) in TEMPORAL for node in walk(term))


def speaks_of_time(term: Term) -> bool:
    """Does a literal over time-points or intervals stand anywhere in the term?"""
    return any(functor(node) in TEMPORAL or functor(node) in OVER_INTERVALS for node in walk(term))


def lower_change(
    clause: Clause, initiates: bool, pair: Pair, time: Term, body: Iterable[Term], report: Report,
    bounds: tuple[Term, ...] = (),
) -> ChangeRule | None:  # fmt: skip
    """A rule for the initiation or termination of a pair; None if it cannot be understood."""
    name = _time_name(time, clause, report)
    if name is None:
        return None
    literals = _Body(name, time.span, report, clause, frozenset(_names(bounds))).lower(body)
    if literals is None or not _starts_from_event(literals, clause, report):
        return None
    return ChangeRule(initiates, pair, name, literals, clause.span)


def lower_event_rule(clause: Clause, event: Event, time: Term, report: Report) -> EventRule | None:
    """A rule that defines an event; None if it cannot be understood."""
    name = _time_name(time, clause, report)
    if name is None:
        return None
    literals = _Body(name, time.span, report, clause, frozenset()).lower(clause.body)
    if literals is None or not _starts_from_event(literals, clause, report):
        return None
    return EventRule(event, name, literals, clause.span)


def _names(terms: Iterable[Term]) -> list[str]:
    return [variable.name for term in terms for variable in variables(term)]


def _time_name(time: Term, clause: Clause, report: Report) -> str | None:
    if isinstance(time, Variable) and time.name != "_":
        return time.name
    report.error(
        "C062", f"the time of a rule must be a variable, not {show(time)}", time.span,
        help="write T; what holds from the beginning is said with initially(F=V)",
    )  # fmt: skip
    return None


_LITERALS: Final = ("happensAt", "holdsAt", "holdsFor")
"""What a rule over time may have in its body."""


def _starts_from_event(body: tuple[Literal, ...], clause: Clause, report: Report) -> bool:
    """Something must happen for anything to change: inertia does the rest."""
    if _has_trigger(body):
        return True
    first = next(iter(temporal(body)), None)
    slip = next((goal for goal in clause.body if misspelt(functor(goal)[0], _LITERALS)), None)
    if slip is not None and functor(slip)[0] not in _LITERALS:
        name = functor(slip)[0]
        report.error(
            "C034", f"this rule waits for no event, and {name} is none of the language", slip.span,
            help=did_you_mean(name, _LITERALS, "write happensAt(E, T)"),
        )  # fmt: skip
        return False
    report.error(
        "C034", "this rule waits for no event", first.span if first else clause.head.span,
        help="begin the body with a positive happensAt(E, T); to follow a fluent, use "
             "happensAt(start(F=V), T), or define this one by holdsFor",
    )  # fmt: skip
    return False


def _has_trigger(body: tuple[Literal, ...]) -> bool:
    for literal in body:
        if isinstance(literal, (Happens, Boundary, Changes)) and not literal.negated:
            return True
        if isinstance(literal, Either) and all(map(_has_trigger, literal.branches)):
            return True
    return False


@dataclass(slots=True)
class _Body:
    """Lowers the goals of one body; all of its literals over time must share one time."""

    time: str
    time_span: Span
    report: Report
    clause: Clause
    bounds: frozenset[str]
    failed: bool = False

    def lower(self, goals: Iterable[Term]) -> tuple[Literal, ...] | None:
        literals = self._goals(goals)
        return None if self.failed else literals

    def _goals(self, goals: Iterable[Term]) -> tuple[Literal, ...]:
        literals = []
        for goal in self._counted(tuple(goals)):
            literal = self._goal(goal)
            if literal is not None:
                literals.append(literal)
        return tuple(literals)

    def _counted(self, goals: tuple[Term, ...]) -> Iterable[Term]:
        """The goals, with one that counts in place of a list that only its length is asked of."""
        lengths = {goal.args[0]: goal.args[1] for goal in goals
                   if isinstance(goal, Compound) and functor(goal) == ("length", 2)}  # fmt: skip
        if not lengths:
            yield from goals
            return
        listed = {result for goal in goals if (result := self._listed(goal)) is not None}
        for goal in goals:
            result = self._listed(goal)
            if isinstance(goal, Compound) and result is not None and result in lengths:
                count = (Atom("count"), goal.args[1], lengths[result])
                yield Compound("aggregate_all", count, goal.span)
            elif functor(goal) != ("length", 2) or children(goal)[0] not in listed:
                yield goal

    def _listed(self, goal: Term) -> Term | None:
        """The list that a goal over time gives, if one other goal names it."""
        if functor(goal) != ("findall", 3) or not is_temporal(goal):
            return None
        result = children(goal)[2]
        if not isinstance(result, Variable):
            return None
        names = _names((self.clause.head, *self.clause.body))
        return result if names.count(result.name) == 2 else None

    def _goal(self, goal: Term) -> Literal | None:
        name = functor(goal)
        if name in TEMPORAL:
            return self._temporal(goal, False)
        if name in (("\\+", 1), ("not", 1)):
            return self._negation(goal)
        if name in OVER_INTERVALS:
            self._fail(
                "C060", f"{name[0]} speaks of intervals, and this rule of time-points", goal.span,
                "use holdsAt(F=V, T)",
            )  # fmt: skip
            return None
        if not is_temporal(goal):
            return self._condition(goal)
        if not isinstance(goal, Compound):
            self._fail(
                "C060", f"{show(goal)} is no condition", goal.span,
                "write the literals one after the other, with commas between them",
            )  # fmt: skip
            return None
        return self._compound(goal)

    def _condition(self, goal: Term) -> Literal | None:
        # Bounds of the four-argument forms are the window's, and the engine sees to those.
        if self.bounds and any(v.name in self.bounds for v in variables(goal)):
            return None
        if goal == Atom("true") or goal == Atom("!"):
            return None
        return Condition(goal, False, goal.span)

    def _negation(self, goal: Term) -> Literal | None:
        assert isinstance(goal, Compound)
        inner = goal.args[0]
        if functor(inner) in TEMPORAL:
            return self._temporal(inner, True, goal.span)
        if is_temporal(inner):
            return Unless(self._goals(conjuncts(inner)), goal.span)
        return Condition(inner, True, goal.span)

    def _compound(self, goal: Term) -> Literal | None:
        assert isinstance(goal, Compound)
        if goal.functor == ";":
            branches = tuple(self._goals(conjuncts(branch)) for branch in goal.args)
            return Either(branches, goal.span)
        if goal.functor == ",":
            return Either((self._goals(goal.args),), goal.span)
        if functor(goal) == ("findall", 3):
            template, inner, result = goal.args
            return Collect("findall", template, self._goals(conjuncts(inner)), result, goal.span)
        if functor(goal) in GROUPING:
            return self._grouping(goal)
        if functor(goal) == ("aggregate_all", 3):
            return self._aggregate(goal)
        if functor(goal) == ("forall", 2):
            condition, action = goal.args
            refuted = (*conjuncts(condition), Compound("\\+", (action,), action.span))
            return Unless(self._goals(refuted), goal.span)
        self._fail(
            "C060", f"{show(goal)} cannot speak of time here", goal.span,
            "literals over time stand in conjunctions, disjunctions, negations, forall, findall "
            "and its kin",
        )  # fmt: skip
        return None

    def _grouping(self, goal: Compound) -> Literal:
        template, inner, result = goal.args
        inner, _ = without_carets(inner)
        hidden = hidden_names(goal) | {self.time}
        by = dict.fromkeys(v.name for v in variables(inner) if v.name not in {*hidden, "_"})
        body = self._goals(conjuncts(inner))
        return Collect(goal.functor, template, body, result, goal.span, tuple(by))

    def _aggregate(self, goal: Compound) -> Literal | None:
        computed, inner, result = goal.args
        kind = AGGREGATES.get(functor(computed))
        if kind is None:
            names = sorted({name for name, _ in AGGREGATES})
            self._fail("C060", f"{show(computed)} is no aggregate", computed.span,
                       f"there are {', '.join(names)}")  # fmt: skip
            return None
        template: Term = Atom("true")
        if isinstance(computed, Compound):
            template = computed.args[0] if len(computed.args) == 1 else computed
        return Collect(kind, template, self._goals(conjuncts(inner)), result, goal.span)

    def _temporal(self, goal: Term, negated: bool, span: Span | None = None) -> Literal | None:
        assert isinstance(goal, Compound)
        where = span or goal.span
        time = goal.args[2] if len(goal.args) == 4 else goal.args[1]
        self._same_time(time, goal)
        if goal.functor == "happensAt":
            return self._happening(goal.args[0], negated, where)
        pair = pair_of(goal.args[0], self.report, goal.functor)
        if pair is None:
            self.failed = True
            return None
        if goal.functor == "holdsAt":
            return Holds(pair, negated, where)
        return Changes(goal.functor == "initiatedAt", pair, negated, where)

    def _happening(self, term: Term, negated: bool, span: Span) -> Literal | None:
        edge = EDGES.get(functor(term))
        if edge is not None and isinstance(term, Compound):
            inner = term.args[0]
            if functor(inner) == ("=", 2):
                pair = pair_of(inner, self.report, term.functor)
                if pair is None:
                    self.failed = True
                    return None
                return Boundary(edge, pair, negated, span)
        event = event_of(term, self.report, "happensAt")
        if event is None:
            self.failed = True
            return None
        return Happens(event, negated, span)

    def _same_time(self, time: Term, goal: Term) -> None:
        if isinstance(time, Variable) and time.name == self.time:
            return
        self._fail(
            "C033", f"{show(time)} is not the time of this rule", time.span,
            two_times.help_for(time, goal, self.time, self.clause),
            Note(f"the rule's time is {self.time}", self.time_span),
            correction=two_times.correction(time, self.time, self.clause),
        )  # fmt: skip

    def _fail(
        self, code: str, message: str, span: Span, help_: str, *notes: Note,
        correction: Correction | None = None,
    ) -> None:  # fmt: skip
        self.failed = True
        shown = tuple(note for note in notes if note.span != NOWHERE)
        self.report.error(code, message, span, *shown, help=help_, correction=correction)
