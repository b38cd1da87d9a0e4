"""Rewriting terms of the syntax tree: substitution, fresh names, unification of a head."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from cernis.knowledge.ground_values import is_ground, same
from cernis.syntax.tree import (
    Atom,
    Compound,
    Sequence,
    Term,
    Variable,
    children,
    conjuncts,
    functor,
)

TRUE: Final = Atom("true")
FAIL: Final = Atom("fail")
_NUMBERED: Final = re.compile(r"_\d+$")


def rewrite(term: Term, leaf: Callable[[Variable], Term]) -> Term:
    """The term with each variable replaced; parts without variables are kept as they are."""
    if isinstance(term, Variable):
        return leaf(term)
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(rewrite(arg, leaf) for arg in term.args), term.span)
    if isinstance(term, Sequence):
        items = tuple(rewrite(item, leaf) for item in term.items)
        return Sequence(items, term.tail and rewrite(term.tail, leaf), term.span)
    return term


def substitute(term: Term, bindings: Mapping[str, Term]) -> Term:
    """The term with the variables that have a binding replaced, once; `_` has none."""
    if not bindings:
        return term
    return rewrite(term, lambda variable: bindings.get(variable.name, variable))


def spoken(names: Iterable[str]) -> str:
    """The first of some variables in the order of their names, as its author wrote it."""
    return _NUMBERED.sub("", min(names))


class Names:
    """Gives names that are not taken: `Speed` becomes `Speed_1`, or the next that is free."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def fresh(self, name: str) -> Variable:
        """A variable of a name not given before; `_` and `_Speed` become `X_1` and `Speed_1`."""
        base = _NUMBERED.sub("", name.lstrip("_")) or "X"
        base = base if base[0].isupper() else f"X{base}"
        while True:
            self._last[base] = number = self._last.get(base, 0) + 1
            made = f"{base}_{number}"
            if made not in self._taken:
                self._taken.add(made)
                return Variable(made)

    def renamed(self, terms: Iterable[Term], only: Collection[str] | None = None) -> list[Term]:
        """The terms with fresh names, the same for the same, each `_` becoming one of its own.

        With `only`, the other variables keep their names.
        """
        fresh_names: dict[str, Term] = {}

        def leaf(variable: Variable) -> Term:
            name = variable.name
            if name == "_":
                return self.fresh(name)
            if only is not None and name not in only:
                return variable
            if name not in fresh_names:
                fresh_names[name] = self.fresh(name)
            return fresh_names[name]

        return [rewrite(term, leaf) for term in terms]


def conjunction(goals: Iterable[Term]) -> Term:
    """The goals as one: flat, `true` left out, `fail` if one of them is."""
    flat = [each for goal in goals for each in conjuncts(goal) if each != TRUE]
    if FAIL in flat:
        return FAIL
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else Compound(",", tuple(flat))


def disjunction(goals: Iterable[Term]) -> Term:
    """The goals as alternatives: flat, those that fail left out."""
    flat: list[Term] = []
    for goal in goals:
        nested = isinstance(goal, Compound) and goal.functor == ";" and not _is_if(goal)
        flat.extend(goal.args if isinstance(goal, Compound) and nested else (goal,))
    flat = [each for each in flat if each != FAIL]
    if not flat:
        return FAIL
    return flat[0] if len(flat) == 1 else Compound(";", tuple(flat))


def _is_if(goal: Compound) -> bool:
    return any(isinstance(arg, Compound) and arg.functor == "->" for arg in goal.args)


def negation(goal: Term) -> Term:
    """The goal negated; `true` and `fail` become each other."""
    if goal in (TRUE, FAIL):
        return FAIL if goal == TRUE else TRUE
    return Compound("\\+", (goal,))


def unify_head(
    head: Iterable[Term], args: Iterable[Term]
) -> tuple[dict[str, Term], list[tuple[Term, Term]]] | None:
    """What makes the arguments of a head those of a goal, with which it shares no variable.

    Gives a substitution for variables of the head and the equations that are left, each of an
    argument of the goal and a term; None if they cannot be equal.
    """
    bindings: dict[str, Term] = {}
    equations: list[tuple[Term, Term]] = []
    stack = list(zip(head, args, strict=True))[::-1]
    while stack:
        pattern, actual = stack.pop()
        if isinstance(pattern, Variable):
            if pattern.name in bindings:
                equations.append((actual, pattern))
            else:
                bindings[pattern.name] = actual
        elif _alike(pattern, actual):
            stack.extend(list(zip(children(pattern), children(actual), strict=True))[::-1])
        else:
            equations.append((actual, pattern))
    settled = [(left, substitute(right, bindings)) for left, right in equations]
    if any(_apart(left, right) for left, right in settled):
        return None
    return bindings, [(left, right) for left, right in settled if not same(left, right)]


def _alike(left: Term, right: Term) -> bool:
    """Compound terms of one name and number of arguments: equal if their arguments are."""
    return isinstance(left, Compound) and functor(left) == functor(right)


def _apart(left: Term, right: Term) -> bool:
    """Can the two terms never be equal? Judged by their tops, and in full if both are ground."""
    if isinstance(left, Variable) or isinstance(right, Variable):
        return False
    if is_ground(left) and is_ground(right):
        return not same(left, right)
    return type(left) is not type(right) or functor(left) != functor(right)
