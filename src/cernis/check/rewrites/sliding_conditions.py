"""Aggregates over windows that slide along the matches of a pattern: `A = avg(P, X, last(50))`.

The window is `last(N)`, the last N matches; `past(D)`, those that ended at most D before; or
`all`. Before it may stand a variable, or a list of them, that tells windows apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cernis.check.amounts import amount, is_length
from cernis.source import Span
from cernis.syntax.tree import Atom, Compound, Number, Sequence, Term, Variable

KINDS = frozenset({"sum", "count", "avg", "min", "max", "fold"})
_WINDOWS = frozenset({"last", "past"})


@dataclass(frozen=True, slots=True)
class Sliding:
    """An aggregate: what it gives its result, of which values, in which window.

    `last` is the greatest number of matches in the window, `past` its length in time; both are
    None for all matches so far. `fold` names the predicate that combines two values.
    """

    kind: str
    result: Variable
    value: Term | None
    key: tuple[Variable, ...]
    last: int | None
    past: int | None
    fold: str
    span: Span


def is_sliding(goal: Term) -> bool:
    """Does a condition have the form of an aggregate, right or wrong?"""
    if not isinstance(goal, Compound) or goal.functor not in ("=", "is") or len(goal.args) != 2:
        return False
    return is_aggregate(goal.args[1])


def is_aggregate(term: Term) -> bool:
    """Has a term the form of an aggregate over a window, right or wrong?"""
    return isinstance(term, Compound) and term.functor in KINDS and has_window(term)


def has_window(term: Compound) -> bool:
    """Is the last argument of a term a window?"""
    window = term.args[-1]
    named = isinstance(window, Compound) and window.functor in _WINDOWS
    return named or window == Atom("all")


def sliding(goal: Term) -> Sliding | None:
    """The aggregate that a condition of the form of one is; None if something is wrong with it."""
    assert isinstance(goal, Compound)
    result, source = goal.args
    assert isinstance(source, Compound)
    kind, (*args, window) = source.functor, source.args
    first = leading(kind)
    length = _window(window)
    if not isinstance(result, Variable) or length is None or len(args) not in (first, first + 1):
        return None
    key = _key(args[first]) if len(args) > first else ()
    fold = args[0].name if kind == "fold" and isinstance(args[0], Atom) else ""
    if key is None or (kind == "fold" and not fold):
        return None
    value = args[first - 1] if first else None
    return Sliding(kind, result, value, key, *length, fold, goal.span)


def leading(kind: str) -> int:
    """How many arguments of an aggregate stand before what tells windows apart."""
    return {"count": 0, "fold": 2}.get(kind, 1)


def _window(term: Term) -> tuple[int | None, int | None] | None:
    """The number of matches and the length in time that bound a window."""
    if term == Atom("all"):
        return None, None
    if not isinstance(term, Compound) or len(term.args) != 1:
        return None
    size = term.args[0]
    if term.functor == "last":
        count = size.value if isinstance(size, Number) else None
        return (count, None) if isinstance(count, int) and is_length(count, 1) else None
    said = amount(size)
    return (None, int(said)) if said is not None and is_length(said) else None


def _key(term: Term) -> tuple[Variable, ...] | None:
    items: Iterable[Term] = term.items if isinstance(term, Sequence) else (term,)
    names = tuple(item for item in items if isinstance(item, Variable))
    return names if len(names) == len(tuple(items)) else None
