"""Calls of functions that the caller gave: each gets the name under which its function is known.

A function that gives truth values is a condition of its own, `is_risky(A, B)`, and is written out
as a comparison. Nothing else of a program may have the name of a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from cernis.check.reporter import Report
from cernis.check.rewrites.rewriting import with_parts
from cernis.check.rewrites.time_literals import mapped
from cernis.knowledge.ground_values import Key
from cernis.knowledge.user_functions import UserFunction
from cernis.syntax.tree import (
    Clause,
    Compound,
    Item,
    Number,
    Pattern,
    PatternRule,
    Term,
    Where,
    functor,
)

_CONTROL: Final = frozenset({(",", 2), (";", 2), ("->", 2), ("\\+", 1), ("not", 1), ("once", 1)})
_TEMPORAL: Final = frozenset(
    {"initiatedAt", "terminatedAt", "happensAt", "holdsAt", "holdsFor", "initially", "iff", "start",
     "end", "="}
)  # fmt: skip


def call_functions(
    items: Iterable[Item], functions: Iterable[UserFunction], report: Report
) -> list[Item]:
    """The program with its calls of functions under the names of these."""
    known = {(each.name, len(each.typed.arguments)): each for each in functions}
    if not known:
        return list(items)
    return [_item(item, known, report) for item in items]


def _item(item: Item, known: Mapping[Key, UserFunction], report: Report) -> Item:
    if isinstance(item, PatternRule):
        return replace(item, pattern=_pattern(item.pattern, known))
    if not isinstance(item, Clause):
        return item
    for term in (item.head, *item.body):
        for relation in _relations(term, term is item.head):
            if functor(relation) in known:
                name = functor(relation)[0]
                report.error(
                    "C025", f"{name} is a function that was given to this program, and is also "
                    "what this rule speaks of", relation.span,
                    help="give the function, or the other, another name",
                )  # fmt: skip
                return item
    head = mapped(item.head, lambda part: _called(part, known))
    return replace(item, head=head, body=tuple(_goal(goal, known) for goal in item.body))


def _relations(term: Term, is_head: bool) -> Iterator[Term]:
    """The events and fluents that a head or a condition is about, and the head of a predicate."""
    if not isinstance(term, Compound):
        return
    if term.functor in _TEMPORAL and (term.functor != "=" or is_head):
        for arg in term.args[:1]:
            yield arg
            yield from _relations(arg, True)
    elif is_head:
        yield term
    elif functor(term) in _CONTROL:
        for arg in term.args:
            yield from _relations(arg, False)


def _pattern(pattern: Pattern, known: Mapping[Key, UserFunction]) -> Pattern:
    if isinstance(pattern, Where):
        conditions = tuple(_goal(goal, known) for goal in pattern.conditions)
        return replace(pattern, pattern=_pattern(pattern.pattern, known), conditions=conditions)
    return with_parts(pattern, lambda part: _pattern(part, known))


def _goal(goal: Term, known: Mapping[Key, UserFunction]) -> Term:
    """A condition; one that is the call of a function is true where that gives true."""
    if functor(goal) in _CONTROL and isinstance(goal, Compound):
        return replace(goal, args=tuple(_goal(arg, known) for arg in goal.args))
    called: Term = mapped(goal, lambda part: _called(part, known))
    function = known.get(functor(goal))
    if function is not None and function.typed.result == "boolean":
        return Compound("=:=", (called, Number(1, goal.span)), goal.span)
    return called


def _called(part: Any, known: Mapping[Key, UserFunction]) -> Any:
    if not isinstance(part, Compound) or functor(part) not in known:
        return None
    args = tuple(mapped(arg, lambda inner: _called(inner, known)) for arg in part.args)
    return Compound(known[functor(part)].functor, args, part.span)
