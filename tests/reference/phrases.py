"""Phrases written out: one fluent a phrase, however often others say the same.

`F=V for at least D` is a fluent that counts from each start of F=V and is reached D later; what
has been reached stays so until the next start, so that it means something only while F=V holds.
`no E within D after A` is a fluent for each A that an E behind it ends; it is due after D.

What is made up here has a name that begins with `$`, and is left out of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Item,
    Number,
    Term,
    Variable,
    functor,
    variables,
    walk,
)

from .terms import listing

AT_LEAST = {"for at least", "holds for at least"}
_OVER_TIME = {
    ("happensAt", 2), ("holdsAt", 2), ("initiatedAt", 2), ("terminatedAt", 2), ("holdsFor", 2),
    ("union_all", 2), ("intersect_all", 2), ("relative_complement_all", 3), ("complement_all", 2),
    ("intDurGreater", 3), ("intDurLess", 3), ("allen", 5), ("iff", 2), ("=", 2), ("not", 1),
}  # fmt: skip


def is_made_up(entity: Term) -> bool:
    """Is the pair or event one of those behind phrases?"""
    inner = entity.args[0] if isinstance(entity, Compound) and entity.functor == "=" else entity
    return functor(inner)[0].startswith("$")


def plain(items: Iterable[Item]) -> list[Item]:
    """The items of a program without phrases."""
    given = list(items)
    writer = _Writer([item for item in given if isinstance(item, Clause)])
    written = [new for item in given for new in writer.item(item)]
    return [*written, *writer.made]


class _Writer:
    def __init__(self, clauses: list[Clause]) -> None:
        self._initials = [c for c in clauses if functor(c.head) == ("initially", 1)]
        self._numbers = count(1)
        self.made: list[Item] = []

    def item(self, item: Item) -> Iterator[Item]:
        """What an item stands for; new definitions are put into `made`."""
        if not isinstance(item, Clause):
            yield item
            return
        name = functor(item.head)[0]
        if name.startswith("expires after"):
            assert isinstance(item.head, Compound)
            yield Clause(Compound("ft", item.head.args), item.body)
            if name.endswith("renewed"):
                yield Clause(Compound("p", item.head.args[:1]), item.body)
            return
        self._goals = list(_timeless(item))
        body = [part for goal in item.body for part in self._goal(goal)]
        head = item.head
        if isinstance(head, Compound) and head.functor == "iff":
            head = Compound("iff", (head.args[0], self._combination(head.args[1])))
        yield Clause(head, tuple(body), item.probability)

    def _goal(self, goal: Term) -> list[Term]:
        if not isinstance(goal, Compound):
            return [goal]
        name = functor(goal)
        phrase = goal.args[0]
        kind = functor(phrase)[0]
        if name == ("happensAt", 2) and kind in AT_LEAST:
            return [Compound("initiatedAt", (self._timer(phrase)[1], goal.args[1]))]
        if name == ("happensAt", 2) and kind == "no within after":
            return self._absence(phrase, goal.args[1])
        if name == ("holdsAt", 2) and kind in AT_LEAST:
            return [Compound("holdsAt", (pair, goal.args[1])) for pair in self._timer(phrase)]
        if name == ("holdsFor", 2) and kind in AT_LEAST:
            both = [Variable(f"_H{next(self._numbers)}") for _ in range(2)]
            parts = zip(self._timer(phrase), both, strict=True)
            goals: list[Term] = [Compound("holdsFor", part) for part in parts]
            return [*goals, Compound("intersect_all", (listing(both), goal.args[1]))]
        args = [self._goal(arg) for arg in goal.args]
        joined = (own[0] if len(own) == 1 else Compound(",", tuple(own)) for own in args)
        return [Compound(goal.functor, tuple(joined))]

    def _combination(self, term: Term) -> Term:
        if not isinstance(term, Compound):
            return term
        if term.functor in AT_LEAST:
            return Compound("and", self._timer(term))
        return Compound(term.functor, tuple(self._combination(arg) for arg in term.args))

    def _timer(self, phrase: Term) -> tuple[Term, Term]:
        """The pair of the phrase, and what is initiated when it has held for long enough."""
        assert isinstance(phrase, Compound)
        pair, duration = _without_anonymous(phrase.args[0]), phrase.args[1]
        timer = self._fluent("$held", pair, duration)
        counting, reached = _value(timer, "counting"), _value(timer, "reached")
        time = Variable("_Time")
        for change, edge in (("initiatedAt", "start"), ("terminatedAt", "end")):
            happens = Compound("happensAt", (Compound(edge, (pair,)), time))
            self._make(Compound(change, (counting, time)), happens, *self._goals)
        self._make(Compound("fi", (counting, reached, duration)))
        for initial in self._initials:
            assert isinstance(initial.head, Compound)
            same = Compound("=", (pair, _apart(initial.head.args[0])))
            body = [_apart(goal) for goal in initial.body]
            self._make(Compound("initially", (counting,)), *body, same, *self._goals)
        return pair, reached

    def _absence(self, phrase: Term, now: Term) -> list[Term]:
        assert isinstance(phrase, Compound)
        absent, duration, first = phrase.args
        known = {v.name for term in (first, duration) for v in variables(term)}
        absent = _mapped(absent, lambda v: v if v.name in known else Variable("_"))
        time, since = Variable("_Time"), Variable("_Since")
        wait = self._fluent("$wait", first, duration, since)
        waiting, due = _value(wait, "waiting"), _value(wait, "due")
        happens = Compound("happensAt", (first, time))
        itself = Compound("is", (since, time))
        self._make(Compound("initiatedAt", (waiting, time)), happens, itself, *self._goals)
        waits = Compound("holdsAt", (waiting, time))
        happens = Compound("happensAt", (absent, time))
        self._make(Compound("terminatedAt", (waiting, time)), happens, waits)
        self._make(Compound("fi", (waiting, due, duration)))
        event = self._fluent("$missed", first, duration)
        missed = Compound("initiatedAt", (due, time))
        self._make(
            Compound("happensAt", (event, time)), missed, Compound("\\+", (happens,))
        )  # fmt: skip
        return [Compound("happensAt", (event, now))]

    def _fluent(self, name: str, *terms: Term) -> Term:
        names = dict.fromkeys(v.name for term in terms for v in variables(term))
        args = [Variable(own) for own in names if own != "_"]
        return Compound(name, (Number(next(self._numbers)), *args))

    def _make(self, head: Term, *body: Term) -> None:
        self.made.append(Clause(head, body))


def _timeless(clause: Clause) -> Iterator[Term]:
    """The goals that may compute a duration: no variable of theirs is bound by time alone."""
    head = clause.head
    goals = list(clause.body)
    if isinstance(head, Compound) and head.functor == "iff":
        goals = list(head.args[1].args) if functor(head.args[1])[0] == "," else [head.args[1]]  # type: ignore[union-attr]
    over_time = [goal for goal in goals if _is_over_time(goal)]
    phrases = [node for goal in over_time for node in walk(goal) if _is_phrase(node)]
    own = {v.name for phrase in phrases for v in variables(phrase)}
    foreign = {v.name for goal in over_time for v in variables(goal)} - own
    for goal in goals:
        if goal not in over_time and foreign.isdisjoint(v.name for v in variables(goal)):
            yield goal


def _is_over_time(goal: Term) -> bool:
    return any(functor(node) in _OVER_TIME or _is_phrase(node) for node in walk(goal))


def _is_phrase(term: Term) -> bool:
    return functor(term)[0] in {*AT_LEAST, "no within after"}


def _value(fluent: Term, value: str) -> Term:
    return Compound("=", (fluent, Atom(value)))


def _without_anonymous(term: Term) -> Term:
    numbers = count(1)
    return _mapped(term, lambda v: Variable(f"_Any{next(numbers)}") if v.name == "_" else v)


def _apart(term: Term) -> Term:
    return _mapped(term, lambda v: v if v.name == "_" else Variable(f"{v.name}_initially"))


def _mapped(term: Term, rename: Callable[[Variable], Term]) -> Term:
    if isinstance(term, Variable):
        return rename(term)
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(_mapped(arg, rename) for arg in term.args))
    return term
