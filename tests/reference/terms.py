"""Terms of the reference evaluator: unification, substitution, lists, and the order of terms.

An environment maps names of variables to terms. It is never changed in place: unification gives
a larger copy. Slow, and easy to see through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Duration,
    Number,
    Sequence,
    Term,
    Text,
    Variable,
    functor,
    variables,
)

Env = dict[str, Term]

NIL = Atom("[]")


def listing(items: Iterable[Term], tail: Term | None = None) -> Term:
    """The list of the items; with a tail, the list that goes on with it.

    One list has one form: a tail that is itself a list is merged, an empty one left out.
    """
    front = tuple(items)
    if isinstance(tail, Sequence):
        return Sequence(front + tail.items, tail.tail)
    if tail == NIL:
        tail = None
    if not front:
        return NIL if tail is None else tail
    return Sequence(front, tail)


def members(term: Term) -> tuple[Term, ...] | None:
    """The items of a proper list; None for anything else."""
    if term == NIL:
        return ()
    if isinstance(term, Sequence) and term.tail is None:
        return term.items
    return None


def uncons(term: Sequence) -> tuple[Term, Term]:
    """First item and the rest of a non-empty list."""
    return term.items[0], listing(term.items[1:], term.tail)


def substitute(term: Term, env: Mapping[str, Term]) -> Term:
    """The term with every variable that has a value replaced by it, all the way down."""
    if isinstance(term, Variable):
        value = env.get(term.name)
        return term if value is None or value == term else substitute(value, env)
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(substitute(arg, env) for arg in term.args))
    if isinstance(term, Sequence):
        tail = None if term.tail is None else substitute(term.tail, env)
        return listing((substitute(item, env) for item in term.items), tail)
    return term


def is_ground(term: Term) -> bool:
    """Has the term no variables?"""
    return next(variables(term), None) is None


def unify(left: Term, right: Term, env: Env) -> Env | None:
    """The environment under which both terms are the same; None where there is none.

    Numbers unify by type and value: `3` and `3.0` do not.
    """
    left, right = _deref(left, env), _deref(right, env)
    if isinstance(left, Variable):
        return env if left == right else {**env, left.name: right}
    if isinstance(right, Variable):
        return {**env, right.name: left}
    if isinstance(left, Compound) and isinstance(right, Compound):
        if left.functor != right.functor or len(left.args) != len(right.args):
            return None
        return unify_all(left.args, right.args, env)
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return unify_all(uncons(left), uncons(right), env)
    return env if left == right else None


def unify_all(lefts: Iterable[Term], rights: Iterable[Term], env: Env) -> Env | None:
    """Unify pairwise; both sides have the same length."""
    current: Env | None = env
    for left, right in zip(lefts, rights, strict=True):
        if current is None:
            return None
        current = unify(left, right, current)
    return current


def _deref(term: Term, env: Env) -> Term:
    while isinstance(term, Variable) and term.name in env:
        term = env[term.name]
    return term


class Renamer:
    """Gives terms variables that nobody else has; each renamer in use needs a mark of its own."""

    def __init__(self, mark: str = "#") -> None:
        self._mark = mark
        self._numbers = count(1)

    def fresh(self) -> Variable:
        """A new variable. Its mark cannot be part of a name in the text."""
        return Variable(f"_{self._mark}{next(self._numbers)}")

    def term(self, term: Term, names: Env) -> Term:
        """The term with each variable renamed after `names`, which grows; each `_` is new."""
        if isinstance(term, Variable):
            if term.name == "_":
                return self.fresh()
            return names.setdefault(term.name, self.fresh())
        if isinstance(term, Compound):
            return Compound(term.functor, tuple(self.term(arg, names) for arg in term.args))
        if isinstance(term, Sequence):
            tail = None if term.tail is None else self.term(term.tail, names)
            return Sequence(tuple(self.term(item, names) for item in term.items), tail)
        return term

    def clause(self, clause: Clause) -> Clause:
        """The clause with all its variables renamed."""
        names: Env = {}
        head = self.term(clause.head, names)
        body = tuple(self.term(goal, names) for goal in clause.body)
        return Clause(head, body, clause.probability, clause.span)

    def anonymous(self, term: Term) -> Term:
        """The term with each `_` a variable of its own; named variables stay."""
        keep = {variable.name: variable for variable in variables(term) if variable.name != "_"}
        return self.term(term, dict(keep))


def canonical(term: Term) -> Term:
    """The term with its variables named by order of first occurrence: variants become equal."""
    names: Env = {}
    for variable in variables(term):
        names.setdefault(variable.name, Variable(f"_@{len(names)}"))
    return substitute(term, names)


def order_key(term: Term) -> tuple[object, ...]:
    """A key for the standard order: variables, numbers, atoms, strings, compound terms.

    Numbers compare by value, at equal value the float first; compound terms by number of
    arguments, then name, then arguments; a list is a compound of its first item and the rest.
    """
    if isinstance(term, Variable):
        return (0, term.name)
    if isinstance(term, Number):
        return (1, term.value, isinstance(term.value, int))
    if isinstance(term, Duration):
        return (2, term.unit, term.amount)
    if isinstance(term, Atom):
        return (3, term.name)
    if isinstance(term, Text):
        return (4, term.value)
    if isinstance(term, Sequence):
        head, tail = uncons(term)
        return (5, 2, "[|]", order_key(head), order_key(tail))
    return (5, len(term.args), term.functor, *(order_key(arg) for arg in term.args))


def one_relation(left: Term, right: Term) -> bool:
    """Are the events or fluents of one relation? Nested functors are part of its name."""
    return functor(left) == functor(right) and _alike(left, right)


def _alike(left: Term, right: Term) -> bool:
    if isinstance(left, Variable) or isinstance(right, Variable):
        return True
    if isinstance(left, Compound) and isinstance(right, Compound):
        return functor(left) == functor(right) and all(map(_alike, left.args, right.args))
    return not isinstance(left, Compound) and not isinstance(right, Compound)


CONNECTIVES = frozenset({
    ",", ";", "->", "\\+", "not", "and", "or", "^", "once", "ignore",
    "findall", "aggregate_all", "bagof", "setof", "forall",
})  # fmt: skip
"""What makes goals of goals."""


def goals_of(term: Term) -> Iterator[Compound | Atom]:
    """Every goal in a body literal, connectives left out but looked into."""
    if isinstance(term, Compound) and term.functor in CONNECTIVES:
        for arg in term.args:
            yield from goals_of(arg)
    elif isinstance(term, Compound | Atom):
        yield term
