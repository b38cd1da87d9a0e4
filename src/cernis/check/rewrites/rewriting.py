"""Small tools for passes that turn clauses into other clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from cernis.check.pointrules import speaks_of_time
from cernis.source import Span
from cernis.syntax.phrase_parser import is_phrase
from cernis.syntax.tree import (
    Absence,
    Binary,
    Compound,
    EventAtom,
    Pattern,
    Sequence,
    Term,
    Variable,
    Where,
    Within,
    variables,
    walk,
)


class Scope:
    """The names of variables that a clause uses, and new ones."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._names = set(names(*terms))

    def fresh(self, prefix: str, span: Span) -> Variable:
        """A variable of a name that is not used yet: the prefix, or the prefix and a number."""
        number = 0
        name = prefix
        while name in self._names or name == "_":
            number += 1
            name = f"{prefix}{number}"
        self._names.add(name)
        return Variable(name, span)


def names(*terms: Term) -> list[str]:
    """The names of the variables of the terms, each once, in reading order; no `_`."""
    occurring = (variable.name for term in terms for variable in variables(term))
    return [name for name in dict.fromkeys(occurring) if name != "_"]


def replaced(term: Term, rule: Callable[[Term], Term | None]) -> Term:
    """The term with each outermost part that the rule has an answer for replaced by it."""
    new = rule(term)
    if new is not None:
        return new
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(replaced(arg, rule) for arg in term.args), term.span)
    if isinstance(term, Sequence):
        tail = None if term.tail is None else replaced(term.tail, rule)
        return Sequence(tuple(replaced(item, rule) for item in term.items), tail, term.span)
    return term


def renamed(term: Term, rename: Callable[[Variable], Term]) -> Term:
    """The term with each of its variables replaced."""
    return replaced(term, lambda part: rename(part) if isinstance(part, Variable) else None)


def needed_goals(about: Term, duration: Term, goals: Iterable[Term]) -> tuple[Term, ...]:
    """The goals of background knowledge that give a duration its value, in their order.

    Those are the goals that the variables of the duration lead to. A goal with a variable that
    another literal over time binds is none of them: a duration depends on what it is about only.
    """
    own_names = set(names(about, duration))
    timeless, foreign = [], set()
    for goal in goals:
        if speaks_of_time(goal) or any(map(is_phrase, walk(goal))):
            foreign.update(names(goal))
        else:
            timeless.append(goal)
    foreign -= own_names
    wanted = set(names(duration)) - set(names(about))
    chosen: list[Term] = []
    while True:
        more = [g for g in timeless if g not in chosen and _leads(names(g), wanted, foreign)]
        if not more:
            return tuple(goal for goal in timeless if goal in chosen)
        chosen += more
        wanted |= set(names(*more)) - set(names(about))


def _leads(goal_names: list[str], wanted: set[str], foreign: set[str]) -> bool:
    return not wanted.isdisjoint(goal_names) and foreign.isdisjoint(goal_names)


def with_parts(pattern: Pattern, rewrite: Callable[[Pattern], Pattern]) -> Pattern:
    """A pattern whose direct parts, in their order in the text, are rewritten."""
    if isinstance(pattern, Where | Within):
        return replace(pattern, pattern=rewrite(pattern.pattern))
    if isinstance(pattern, Binary):
        return replace(pattern, left=rewrite(pattern.left), right=rewrite(pattern.right))
    if isinstance(pattern, Absence):
        absent, first, last = map(rewrite, (pattern.absent, pattern.first, pattern.last))
        return replace(pattern, absent=absent, first=first, last=last)
    return pattern


def pattern_terms(pattern: Pattern) -> Iterator[Term]:
    """The terms that stand in a pattern."""
    if isinstance(pattern, EventAtom):
        yield pattern.term
    elif isinstance(pattern, Where):
        yield from pattern_terms(pattern.pattern)
        yield from pattern.conditions
    elif isinstance(pattern, Within):
        yield from pattern_terms(pattern.pattern)
        yield pattern.duration
    elif isinstance(pattern, Binary):
        yield from pattern_terms(pattern.left)
        yield from pattern_terms(pattern.right)
    elif isinstance(pattern, Absence):
        for part in (pattern.absent, pattern.first, pattern.last):
            yield from pattern_terms(part)
