"""The fluents and events that phrases stand for: what counts, waits and remembers for them.

Each is named after its phrase, with the variables of the phrase as arguments, and defined once.
The definitions are right under either rule for ties: no pair of them is initiated and broken at
one point, except where the comments say why that does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from string import ascii_uppercase

from cernis.check.model import Relation
from cernis.check.rewrites.rewriting import Scope, names, renamed
from cernis.syntax.phrase_parser import AT_LEAST, NO_WITHIN
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Clause, Compound, Item, Term, Variable, functor


@dataclass(slots=True)
class Timers:
    """The timers of one program; `take` gives the definitions of those that are new."""

    items: tuple[Item, ...]
    auxiliary: set[Relation] = field(default_factory=set)
    _new: list[Clause] = field(default_factory=list)

    def take(self) -> list[Clause]:
        """The definitions that have come up since the last call."""
        taken, self._new = self._new, []
        return taken

    def when(self, pair: Term, duration: Term, goals: tuple[Term, ...], scope: Scope) -> Term:
        """The pair that is initiated when the given one has held for the duration."""
        timer, is_new = self._named("when {}", (_at_least(pair, duration), *goals), pair, duration)
        if is_new:
            self._counting(timer, pair, duration, goals, scope)
            # Only its initiation is asked for. That it ends soon keeps the state small, and that
            # the given pair does not end it lets rules of that pair wait for it.
            self._define("ft", (_is(timer, "reached"), duration))
        return _is(timer, "reached")

    def held(self, pair: Term, duration: Term, goals: tuple[Term, ...], scope: Scope) -> Term:
        """The pair that holds, together with the given one, once that has held for the duration.

        Where the given pair ends just as the duration is over, this one may be left holding alone.
        """
        timer, is_new = self._named("while {}", (_at_least(pair, duration), *goals), pair, duration)
        if is_new:
            self._counting(timer, pair, duration, goals, scope)
            self._at("terminatedAt", _is(timer, "reached"), _edge("end", pair), goals, scope)
        return _is(timer, "reached")

    def _counting(
        self, timer: Term, pair: Term, duration: Term, goals: tuple[Term, ...], scope: Scope
    ) -> None:
        """Count from each start of the pair until it ends, at most for the duration."""
        counting, reached = _is(timer, "counting"), _is(timer, "reached")
        self._at("initiatedAt", counting, _edge("start", pair), goals, scope)
        self._at("terminatedAt", counting, _edge("end", pair), goals, scope)
        self._define("fi", (counting, reached, duration))
        for initial in _initial(self.items, pair, scope):
            self._new.append(
                Clause(Compound("initially", (counting,), pair.span), (*initial, *goals))
            )

    def missed(
        self, absent: Term, duration: Term, first: Term, goals: tuple[Term, ...], scope: Scope
    ) -> Term:
        """The event that happens the duration after the first one, if the absent one does not.

        Each happening of the first event waits for itself: the time at which it happened is an
        argument. At the end of the wait the last happening of the absent event must not be later.
        """
        known = set(names(first, duration))
        absent = renamed(absent, lambda v: v if v.name in known else _unnamed(v))
        phrase = Compound(NO_WITHIN, (absent, duration, first), first.span)
        event, is_new = self._named("{}", (phrase, *goals), first, duration)
        if is_new:
            time = scope.fresh("T", first.span)
            since, last = (scope.fresh(name, first.span) for name in ("Since", "Last"))
            waiting = self._line(duration, first, goals, time, since)
            memory = self._memory(absent, known, time, last)
            later = Compound(">", (last, since))
            body = (
                Compound("initiatedAt", (_is(waiting, "due"), time)),
                Compound("\\+", (_happens(absent, time),)),
                Compound("\\+", (Compound(",", (Compound("holdsAt", (memory, time)), later)),)),
            )
            self._new.append(Clause(_happens(event, time), body, None, first.span))
        return event

    def _line(
        self, duration: Term, first: Term, goals: tuple[Term, ...], time: Variable, since: Variable
    ) -> Term:
        """A fluent for each happening of an event, due after the duration; gives its term."""
        terms = (duration, first, *goals)
        fluent, is_new = self._named("{} after {}", terms, first, duration, also=since)
        if is_new:
            started = renamed(fluent, lambda v: time if v == since else v)
            body = (_happens(first, time), *goals)
            self._new.append(
                Clause(Compound("initiatedAt", (_is(started, "waiting"), time)), body, None)
            )
            self._define("fi", (_is(fluent, "waiting"), _is(fluent, "due"), duration))
            self._define("ft", (_is(fluent, "due"), duration))
        return fluent

    def _memory(self, absent: Term, known: set[str], time: Variable, last: Variable) -> Term:
        """The pair that says when the absent event last happened."""
        shared = [Variable(name, absent.span) for name in names(absent) if name in known]
        title = _title("last {}", (absent,))
        span = absent.span
        fluent: Term = Compound(title, tuple(shared), span) if shared else Atom(title, span)
        relation = Relation(show(fluent) if not shared else title, len(shared))
        if relation not in self.auxiliary:
            self.auxiliary.add(relation)
            head = Compound("initiatedAt", (Compound("=", (fluent, time)), time))
            self._new.append(Clause(head, (_happens(absent, time),), None))
        return Compound("=", (fluent, last))

    # -- clauses ------------------------------------------------------------------------------

    def _named(
        self, form: str, terms: tuple[Term, ...], about: Term, duration: Term,
        also: Variable | None = None,
    ) -> tuple[Term, bool]:  # fmt: skip
        """The term named after terms, and whether it is new; its arguments are their variables."""
        title = _title(form, terms)
        args: list[Term] = [Variable(name, about.span) for name in names(about, duration)]
        args += [also] if also is not None else []
        term: Term = Compound(title, tuple(args), about.span) if args else Atom(title, about.span)
        relation = Relation(title if args else show(term), len(args))
        is_new = relation not in self.auxiliary
        self.auxiliary.add(relation)
        return term, is_new

    def _define(self, name: str, args: tuple[Term, ...]) -> None:
        self._new.append(Clause(Compound(name, args, args[-1].span), (), None, args[-1].span))

    def _at(
        self, name: str, pair: Term, event: Term, goals: tuple[Term, ...], scope: Scope
    ) -> None:
        time = scope.fresh("T", event.span)
        head = Compound(name, (pair, time), event.span)
        self._new.append(Clause(head, (_happens(event, time), *goals), None, event.span))


def _at_least(pair: Term, duration: Term) -> Term:
    return Compound(AT_LEAST, (pair, duration))


def _is(fluent: Term, value: str) -> Term:
    return Compound("=", (fluent, Atom(value)), fluent.span)


def _edge(name: str, pair: Term) -> Term:
    return Compound(name, (pair,), pair.span)


def _happens(event: Term, time: Variable) -> Term:
    return Compound("happensAt", (event, time), event.span)


def _unnamed(variable: Variable) -> Variable:
    """A variable that may have any value."""
    return Variable("_", variable.span)


def _title(form: str, terms: tuple[Term, ...]) -> str:
    """The terms as a name: the same for terms that differ in the names of variables only.

    The first terms fill the form; those that are left are conditions.
    """
    order = names(*terms)
    letters = {name: Variable(_letter(number)) for number, name in enumerate(order)}
    shown = [show(renamed(term, lambda v: letters.get(v.name, v))) for term in terms]
    size = form.count("{}")
    conditions = f" where {', '.join(shown[size:])}" if shown[size:] else ""
    return form.format(*shown[:size]) + conditions


def _letter(number: int) -> str:
    return ascii_uppercase[number] if number < len(ascii_uppercase) else f"V{number}"


def _initial(items: Iterable[Item], pair: Term, scope: Scope) -> Iterator[tuple[Term, ...]]:
    """For each `initially` that may be of the pair, the goals under which it is."""
    assert isinstance(pair, Compound)
    for item in items:
        if not isinstance(item, Clause) or functor(item.head) != ("initially", 1):
            continue
        assert isinstance(item.head, Compound)
        fresh = {name: scope.fresh(name, pair.span) for name in names(item.head, *item.body)}
        other, *body = (
            renamed(term, lambda v, fresh=fresh: fresh.get(v.name, v))  # type: ignore[misc]
            for term in (item.head.args[0], *item.body)
        )
        same = _same(pair, other)
        if same is not None:
            yield (*body, *same)


def _same(left: Term, right: Term) -> tuple[Term, ...] | None:
    """The equations under which two terms are the same; None if they never are."""
    if isinstance(left, Variable) or isinstance(right, Variable):
        return (Compound("=", (left, right), left.span),)
    if isinstance(left, Compound) and functor(left) == functor(right):
        assert isinstance(right, Compound)
        parts = [_same(mine, other) for mine, other in zip(left.args, right.args, strict=True)]
        if None in parts:
            return None
        return tuple(goal for part in parts if part for goal in part)
    return () if left == right else None
