"""Phrases in the literals of one clause, replaced by literals over their timers."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.clause_parts import is_delay
from cernis.check.reporter import Report
from cernis.check.rewrites.rewriting import Scope, names, needed_goals, renamed, replaced
from cernis.check.rewrites.timers import Timers
from cernis.syntax.phrase_parser import AT_LEAST, HOLDS_AT_LEAST, NO_WITHIN
from cernis.syntax.printer import show
from cernis.syntax.tree import Clause, Compound, Sequence, Term, Variable, functor, variables

_AT_LEAST = ((AT_LEAST, 2), (HOLDS_AT_LEAST, 2))


def is_pair(term: Term, report: Report) -> bool:
    """Is it a fluent with its value? If not, that is reported."""
    if functor(term) == ("=", 2):
        return True
    report.error("C062", f"{show(term)} is no fluent with its value", term.span,
                 help=f"write {show(term)}=true")  # fmt: skip
    return False


class Rewriting:
    """Rewrites one clause; phrases in places where they have no meaning are left in it."""

    def __init__(self, clause: Clause, timers: Timers, report: Report) -> None:
        self._clause = clause
        self._timers = timers
        self._report = report
        self._scope = Scope((clause.head, *clause.body))
        self._goals = tuple(_members(clause.head)) + clause.body
        self.is_sound = True
        """Do the parts of all phrases fit? What does not is reported."""

    def clause(self) -> Clause:
        """The clause with its phrases replaced."""
        clause = self._clause
        head = replaced(clause.head, self._in_iff) if _is_iff(clause.head) else clause.head
        body = tuple(part for goal in clause.body for part in self._goal(goal))
        return Clause(head, body, clause.probability, clause.span)

    def _goal(self, goal: Term) -> Iterator[Term]:
        """What stands for a goal of the body."""
        if isinstance(goal, Compound) and _is_held_for(goal):
            yield from self._over_intervals(goal)
            return
        new = replaced(goal, self._at_point)
        yield from new.args if isinstance(new, Compound) and new.functor == "," else (new,)

    def _over_intervals(self, goal: Compound) -> Iterator[Term]:
        parts = self._held(goal.args[0])
        results = [self._scope.fresh("I", goal.span) for _ in parts]
        for part, intervals in zip(parts, results, strict=True):
            yield Compound("holdsFor", (part, intervals), goal.span)
        yield Compound("intersect_all", (Sequence(tuple(results)), goal.args[1]), goal.span)

    def _in_iff(self, term: Term) -> Term | None:
        return Compound("and", self._held(term), term.span) if functor(term) in _AT_LEAST else None

    def _at_point(self, literal: Term) -> Term | None:
        """A literal over time-points about a phrase, replaced; None for anything else."""
        if not isinstance(literal, Compound) or len(literal.args) != 2:
            return None
        phrase, time = literal.args
        about = functor(phrase)
        if functor(literal) == ("happensAt", 2) and about in _AT_LEAST:
            return Compound("initiatedAt", (self._reached(phrase), time), literal.span)
        if functor(literal) == ("happensAt", 2) and about == (NO_WITHIN, 3):
            return Compound("happensAt", (self._missed(phrase), time), literal.span)
        if functor(literal) == ("holdsAt", 2) and about in _AT_LEAST:
            held = self._held(phrase)
            both = tuple(Compound("holdsAt", (part, time), literal.span) for part in held)
            return Compound(",", both, literal.span)
        return None

    def _reached(self, phrase: Term) -> Term:
        """What is initiated when the pair of a phrase has held for long enough."""
        pair, duration = self._parts(phrase)
        goals = self._computing(pair, duration)
        if not is_pair(pair, self._report) or goals is None:
            return self._unsound(pair)
        return self._timers.when(pair, duration, goals, self._scope)

    def _held(self, phrase: Term) -> tuple[Term, Term]:
        """The pair of a phrase, and what holds once it has held for long enough."""
        pair, duration = self._parts(phrase)
        goals = self._computing(pair, duration)
        if not is_pair(pair, self._report) or goals is None:
            return pair, self._unsound(pair)
        return pair, self._timers.held(pair, duration, goals, self._scope)

    def _parts(self, phrase: Term) -> tuple[Term, Term]:
        """Pair and duration. As the pair is repeated, a `_` in it gets a name."""
        assert isinstance(phrase, Compound)
        pair, duration = phrase.args
        named = renamed(pair, lambda v: self._scope.fresh("_", v.span) if v.name == "_" else v)
        return named, duration

    def _missed(self, phrase: Term) -> Term:
        """The event of a phrase about absence."""
        assert isinstance(phrase, Compound)
        absent, duration, first = phrase.args
        goals = self._computing(first, duration)
        if goals is None or not self._are_events(absent, first) or not self._is_bound(phrase):
            return self._unsound(first)
        return self._timers.missed(absent, duration, first, goals, self._scope)

    def _unsound(self, part: Term) -> Term:
        """Something in the place of a phrase that cannot be used, whose clause is left out."""
        self.is_sound = False
        return part

    def _computing(self, about: Term, duration: Term) -> tuple[Term, ...] | None:
        """The goals that compute a duration; None if it has no value."""
        if not is_delay(duration, self._report):
            return None
        goals = needed_goals(about, duration, self._goals)
        known = names(about, *goals)
        for variable in variables(duration):
            if variable.name not in known:
                self._report.error(
                    "C030", f"nothing gives {variable.name} a value for this phrase", variable.span,
                    help=f"compute it from {show(about)} by background knowledge; what happens or "
                         "holds elsewhere cannot set a duration",
                )  # fmt: skip
                return None
        return goals

    def _are_events(self, *events: Term) -> bool:
        for event in events:
            if functor(event) == ("=", 2) or not functor(event)[0]:
                self._report.error("C062", f"{show(event)} is no event", event.span,
                                   help="name an event, or start(F=V) or end(F=V)")  # fmt: skip
                return False
        return True

    def _is_bound(self, phrase: Compound) -> bool:
        """Does the rest of the clause do without the variables of the absent event?"""
        absent_names = set(names(phrase.args[0])) - set(names(*phrase.args[1:]))
        inside = [variable.name for variable in variables(phrase)]
        whole = [v for term in (self._clause.head, *self._clause.body) for v in variables(term)]
        for name in sorted(absent_names):
            places = [variable for variable in whole if variable.name == name]
            if len(places) > inside.count(name):
                self._no_value(name, next(v for v in variables(phrase) if v.name == name))
                return False
        return True

    def _no_value(self, name: str, place: Variable) -> None:
        self._report.error(
            "C031", f"{name} gets no value from an event that does not happen", place.span,
            help=f"write _{name} for any, or let the event that follows `after` have it too",
        )  # fmt: skip


def _is_held_for(goal: Compound) -> bool:
    return functor(goal) == ("holdsFor", 2) and functor(goal.args[0]) in _AT_LEAST


def _is_iff(head: Term) -> bool:
    return functor(head) == ("iff", 2)


def _members(term: Term) -> Iterator[Term]:
    """The members of the conjunction after iff; nothing for other heads."""
    if isinstance(term, Compound) and (_is_iff(term) or term.functor in (",", "and")):
        for arg in term.args[1 if _is_iff(term) else 0 :]:
            yield from _members(arg) if functor(arg)[0] in (",", "and") else (arg,)
