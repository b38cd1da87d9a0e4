"""Facts with times: a goal about them asks for those that are valid at the time of its rule.

What is valid at T has begun by T, and has not ended by T: by its own end, or because another fact
of the same key has begun meanwhile. Predicates that rest on such facts are asked for at a time,
too. Made-up predicates have names that end in `$`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    Directive,
    Item,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    Within,
    functor,
    walk,
)

END = "$End"
"""The end of a match, in the conditions of a pattern."""

_TIME = {
    "initiatedAt": {2: 1, 4: 2}, "terminatedAt": {2: 1, 4: 2}, "happensAt": {2: 1},
    "initiates": {3: 2}, "terminates": {3: 2},
}  # fmt: skip
Key = tuple[str, int]


def timely(items: Iterable[Item]) -> list[Item]:
    """The items of a program, in which no fact has a time of its own any more."""
    given = list(items)
    asked: set[Key] = set()
    made: list[Clause] = []
    for item in given:
        if isinstance(item, Directive) and functor(item.goal)[0] == "valid":
            assert isinstance(item.goal, Compound)
            made += _definition(*item.goal.args)
            asked.add((made[-1].head.functor[:-1], len(made[-1].head.args) - 1))  # type: ignore[union-attr]
    if not asked:
        return given
    _spread(asked, [item for item in given if isinstance(item, Clause)])
    return [*(_timed(item, asked) for item in given), *made]


def _definition(subject: Term, since: Term, *rest: Term) -> Iterator[Clause]:
    """The clauses of `name$(args, T)`; the last one is it."""
    assert isinstance(subject, Compound)
    time = Variable("$T")
    goals: list[Term] = [subject, Compound("=<", (since, time))]
    times = [since]
    if rest and functor(rest[0])[0] == "by":
        assert isinstance(rest[0], Compound)
        later = Variable("$Later")
        keys = rest[0].args
        other = [later if a == since else a if a in keys else Variable("_") for a in subject.args]
        head = Compound(f"{subject.functor} later$", (*keys, since, time))
        among = Compound(subject.functor, tuple(other))
        bounds = (Compound("<", (since, later)), Compound("=<", (later, time)))
        yield Clause(head, (among, *bounds))
        goals.append(Compound("\\+", (head,)))
    elif rest:
        times.append(rest[0])
        goals.append(Compound("<", (time, rest[0])))
    args = tuple(arg for arg in subject.args if arg not in times)
    yield Clause(Compound(f"{subject.functor}$", (*args, time)), tuple(goals))


def _spread(asked: set[Key], clauses: list[Clause]) -> None:
    background = [c for c in clauses if functor(c.head)[0] not in _TIME]
    size = 0
    while len(asked) > size:
        size = len(asked)
        for clause in background:
            if any(_key(node) in asked for goal in clause.body for node in walk(goal)):
                asked.add(functor(clause.head))


def _key(term: Term) -> Key:
    return functor(term) if isinstance(term, Atom | Compound) else ("", -1)


def _timed(item: Item, asked: set[Key]) -> Item:
    if isinstance(item, PatternRule):
        return PatternRule(item.head, _pattern(item.pattern, asked))
    if not isinstance(item, Clause):
        return item
    name, arity = functor(item.head)
    if name in _TIME:
        assert isinstance(item.head, Compound)
        time = item.head.args[_TIME[name][arity]]
        return Clause(item.head, tuple(_at(goal, time, asked) for goal in item.body))
    time = Variable("$T")
    head = _at(item.head, time, asked)
    return Clause(head, tuple(_at(goal, time, asked) for goal in item.body), item.probability)


def _at(goal: Term, time: Term, asked: set[Key]) -> Term:
    args = goal.args if isinstance(goal, Compound) else ()
    if _key(goal) in asked:
        return Compound(f"{functor(goal)[0]}$", (*args, time))
    if not isinstance(goal, Compound):
        return goal
    return Compound(goal.functor, tuple(_at(arg, time, asked) for arg in args))


def _pattern(pattern: Pattern, asked: set[Key]) -> Pattern:
    if isinstance(pattern, Where):
        conditions = tuple(_at(goal, Variable(END), asked) for goal in pattern.conditions)
        return Where(_pattern(pattern.pattern, asked), conditions)
    if isinstance(pattern, Within):
        return Within(_pattern(pattern.pattern, asked), pattern.duration)
    if isinstance(pattern, Binary):
        sides = (_pattern(side, asked) for side in (pattern.left, pattern.right))
        return Binary(pattern.operator, *sides)
    if isinstance(pattern, Absence):
        parts = (pattern.absent, pattern.first, pattern.last)
        return Absence(*(_pattern(part, asked) for part in parts))
    return pattern
