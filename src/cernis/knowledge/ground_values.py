"""Ground terms as the values that tables hold, and the one equality of background knowledge.

An atom and a string are both text, so `'north sea'` and `"north sea"` are one value, a `str`.
Numbers are Python's `int` and `float`, and a value keeps its form: `3` and `3.0` are two values.
Every other ground term (a compound term, a list, a duration) stays a `Term`, brought into a form
in which equal terms are equal objects.

All routes that answer a predicate share this equality, so the route never changes an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from cernis.syntax.tree import (
    Atom,
    Compound,
    Duration,
    Number,
    Sequence,
    Term,
    Text,
    Variable,
    variables,
)

_NUMBER: Final = re.compile(r"[+-]?(?:\d+(\.\d*)?|(\.\d+))([eE][+-]?\d+)?", re.ASCII)
_LONGEST_NUMBER: Final = 400

Value: TypeAlias = int | float | str | Compound | Sequence | Duration
"""What a cell of a table holds. Text is `str`; there are no booleans and no nulls."""

Row: TypeAlias = tuple[Value, ...]

Key: TypeAlias = tuple[str, int]
"""A predicate: its name and its number of arguments."""


class WholeFloat(float):
    """A float without a fraction inside of background knowledge, where values are looked up.

    Python takes `3.0` for `3`; this is equal to floats alone.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


def told_apart(value: Any) -> Any:
    """A value that is equal to no value of another form.

    >>> told_apart(3.0) == 3, told_apart(3.0) == 3.0
    (False, True)
    """
    return WholeFloat(value) if type(value) is float and value.is_integer() else value


def plain(value: Any) -> Any:
    """A value as it is outside of background knowledge."""
    return float(value) if type(value) is WholeFloat else value


def label(key: Key) -> str:
    """A predicate as it is spoken of: `linked/2`."""
    return f"{key[0]}/{key[1]}"


def is_ground(term: Term) -> bool:
    """Has the term no variables?"""
    return next(variables(term), None) is None


def value(term: Term) -> Value:
    """The value of a ground term; a term with variables is a `ValueError`.

    >>> value(Atom("tug")), value(Text("tug")), value(Number(3))
    ('tug', 'tug', 3)
    """
    if isinstance(term, Atom):
        return term.name
    if isinstance(term, Number | Text):
        return term.value
    if isinstance(term, Variable) or not is_ground(term):
        raise ValueError("a value has no variables")
    return canonical(term)  # type: ignore[return-value]


def term_of(value: Value) -> Term:
    """The term of a value: text becomes an atom.

    >>> term_of("north sea")
    Atom(name='north sea')
    """
    if isinstance(value, str):
        return Atom(value)
    if isinstance(value, int | float):
        return Number(plain(value))
    return value


def canonical(term: Term) -> Term:
    """The same term, written so that terms with equal values compare equal.

    Strings become atoms, and a list whose tail is a list becomes one list. Variables stay.
    """
    if isinstance(term, Text):
        return Atom(term.value)
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(map(canonical, term.args)))
    if isinstance(term, Sequence):
        return _list(map(canonical, term.items), term.tail and canonical(term.tail))
    return term


def _list(items: Iterable[Term], tail: Term | None) -> Term:
    if isinstance(tail, Sequence):
        return Sequence((*items, *tail.items), tail.tail)
    return Sequence(tuple(items), None if tail == Atom("[]") else tail)


def same(left: Term, right: Term) -> bool:
    """Are two terms equal as values? Variables are equal by name."""
    return canonical(left) == canonical(right)


def field_value(field: str) -> Value:
    """A field that reads as a number is a number, all else is text, spaces around it included.

    >>> field_value("003"), field_value("2.50"), field_value("1e3"), field_value("nan")
    (3, 2.5, 1000.0, 'nan')
    """
    number = _NUMBER.fullmatch(field)
    if number is None or len(field) > _LONGEST_NUMBER:
        return field
    if any(number.groups()):
        return float(field)
    return int(field)


def standard_order(value: Value) -> tuple[object, ...]:
    """A key that sorts values in the standard order: numbers, text, then compound terms.

    Of equal numbers the float comes first; compound terms go by their number of arguments, their
    name, and their arguments; a list is a compound term of its first item and the rest.

    >>> sorted(["b", 2, 2.0, "a"], key=standard_order)
    [2.0, 2, 'a', 'b']
    """
    if isinstance(value, str):
        return 3, value
    if isinstance(value, int | float):
        return 1, plain(value), isinstance(value, int)
    if isinstance(value, Duration):
        return 2, value.unit, value.amount
    if isinstance(value, Sequence):
        return _list_order(value)
    parts = (standard_order(_plain(arg)) for arg in value.args)
    return 5, len(value.args), value.functor, *parts


def _list_order(listed: Sequence) -> tuple[object, ...]:
    """Flat, as lists may be long: each further item stands after the mark of one more pair."""
    pair = (5, 2, "[|]")
    key: list[object] = [*pair]
    for number, item in enumerate(listed.items):
        key += [pair] if number else []
        key.append(standard_order(_plain(item)))
    key.append(standard_order("[]" if listed.tail is None else _plain(listed.tail)))
    return tuple(key)


def _plain(term: Term) -> Value:
    if isinstance(term, Atom):
        return term.name
    return term.value if isinstance(term, Number | Text) else term  # type: ignore[return-value]
