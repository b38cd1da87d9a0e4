"""Conditions of patterns, written out: the times of a match, and aggregates wherever they stand.

In a `where`, `start` and `end` are the times of the match so far, which is what the `where` closes
over, wherever a number stands: in comparisons of numbers, in expressions, and where `=` gives a
variable its value. Beside the argument of an event, `K = end`, they are values like any other. An
aggregate over a window may stand in an expression: `P > 2 * avg(P, last(50))` becomes
`A = avg(P, last(50)), P > 2 * A`. Later passes see variables and plain aggregates only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from cernis.check.rewrites.rewriting import with_parts
from cernis.check.rewrites.sliding_conditions import is_aggregate, is_sliding, leading
from cernis.check.rewrites.validity import END, START
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Compound,
    EventAtom,
    Item,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    Within,
    functor,
    variables,
)

COMPARING: Final = frozenset({"<", ">", "=<", ">=", "=:=", "=\\=", "is", "=", "\\=", "==", "\\=="})
EQUATING: Final = frozenset({"=", "\\=", "==", "\\=="})
"""Goals that compare values of any kind."""

HOLDING: Final = frozenset({",", ";", "->", "\\+", "not"})
"""Goals that hold others."""

_AS_NUMBERS: Final = {"=": "=:=", "is": "=:=", "==": "=:=", "\\=": "=\\=", "\\==": "=\\="}
_TIMES: Final = {"start": START, "end": END}


def write_out_conditions(items: Iterable[Item]) -> tuple[Item, ...]:
    """The program with plain conditions in its patterns."""
    return tuple(
        replace(item, pattern=_Conditions().pattern(item.pattern))
        if isinstance(item, PatternRule)
        else item
        for item in items
    )


@dataclass(slots=True)
class _Conditions:
    """The conditions of one rule; `aggregates` are those taken out of the others of a `where`."""

    count: int = 0
    aggregates: list[Term] = field(default_factory=list)

    def pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, Where):
            inner = self.pattern(pattern.pattern)
            bound = _bound(inner)
            self.aggregates = []
            rest = tuple(self.goal(goal, bound) for goal in pattern.conditions)
            return replace(pattern, pattern=inner, conditions=(*self.aggregates, *rest))
        return with_parts(pattern, self.pattern)

    def goal(self, goal: Term, bound: set[str]) -> Term:
        if not isinstance(goal, Compound):
            return goal
        if goal.functor in HOLDING:
            return replace(goal, args=tuple(self.goal(arg, bound) for arg in goal.args))
        if goal.functor not in COMPARING:
            return goal
        if is_sliding(goal):
            result, source = goal.args
            assert isinstance(source, Compound)
            if isinstance(result, Variable) and result.name not in bound:
                return replace(goal, args=(result, self.inside(source)))
        if goal.functor in EQUATING and not _gives_value(goal, bound):
            args = [a if isinstance(a, Atom) else self.expression(a) for a in goal.args]
        else:
            args = [self.expression(arg) for arg in goal.args]
        name = goal.functor
        if any(map(is_aggregate, goal.args)):
            # An aggregate that gives no variable its value is compared as a number.
            name = _AS_NUMBERS.get(name, name)
        return replace(goal, functor=name, args=tuple(args))

    def expression(self, term: Term) -> Term:
        """An expression, in which aggregates have become variables."""
        if isinstance(term, Atom):
            name = _TIMES.get(term.name)
            return term if name is None else Variable(name, term.span)
        if not isinstance(term, Compound):
            return term
        if not is_aggregate(term):
            return self.inside(term) if functor(term) in FUNCTIONS else term
        self.count += 1
        result = Variable(f"<aggregate {self.count}>", term.span)
        self.aggregates.append(Compound("=", (result, self.inside(term)), term.span))
        return result

    def inside(self, term: Compound) -> Compound:
        """A term with plain operands; of an aggregate, only its value is an expression."""
        if not is_aggregate(term):
            return replace(term, args=tuple(map(self.expression, term.args)))
        position = leading(term.functor) - 1
        args = (
            self.expression(arg) if position == place else arg
            for place, arg in enumerate(term.args)
        )
        return replace(term, args=tuple(args))


def _gives_value(goal: Compound, bound: set[str]) -> bool:
    """Is it `=` with a variable that the pattern gives no value?"""
    is_new = (isinstance(arg, Variable) and arg.name not in bound for arg in goal.args)
    return goal.functor == "=" and any(is_new)


def _bound(pattern: Pattern) -> set[str]:
    """The variables that a pattern may give values."""
    if isinstance(pattern, EventAtom):
        return {variable.name for variable in variables(pattern.term)}
    if isinstance(pattern, Where):
        condition_names = {v.name for condition in pattern.conditions for v in variables(condition)}
        return _bound(pattern.pattern) | condition_names
    if isinstance(pattern, Within):
        return _bound(pattern.pattern)
    if isinstance(pattern, Binary):
        return _bound(pattern.left) | _bound(pattern.right)
    if isinstance(pattern, Absence):
        return _bound(pattern.first) | _bound(pattern.last)
    return set()
