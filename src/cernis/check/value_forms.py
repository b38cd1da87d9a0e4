"""Forms of values: whole numbers, floats, and all else; and which of them an expression may have.

A value keeps its form: 2, 2.0 and '2' are three values. What is known of a class of arguments is
the set of forms that its values may have, which decides how the class is held.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

from cernis.knowledge.user_functions import known_function
from cernis.knowledge.zone_clock import CLOCK_RANGES
from cernis.syntax.tree import Atom, Compound, Duration, Number, Term, Variable, functor


class ValueForm(IntFlag):
    """The forms that values may have; none if there are no values."""

    NOTHING = 0
    INTEGER = 1
    FLOAT = 2
    NUMBER = 3
    OTHER = 4
    ANY = 7


@dataclass(frozen=True, slots=True)
class Flow:
    """Values of an expression of one rule become values of a slot or variable."""

    target: Hashable
    expression: Term
    scope: int


INFINITE: Final = frozenset({"inf", "infinite"})
"""Texts that are numbers wherever a number is meant."""

_WHOLE: Final = frozenset({
    "//", "div", "mod", "rem", "gcd", ">>", "<<", "/\\", "\\/", "xor", "floor", "ceiling",
    "round", "integer", "truncate", *CLOCK_RANGES,
})  # fmt: skip
_SAME: Final = frozenset({"abs", "sign", "-", "+"})
_EITHER: Final = frozenset({"min", "max"})


def form_of_value(value: object) -> ValueForm:
    """The form of one value.

    >>> [form_of_value(each).name for each in (2, 2.0, "2")]
    ['INTEGER', 'FLOAT', 'OTHER']
    """
    if isinstance(value, int):
        return ValueForm.INTEGER
    return ValueForm.FLOAT if isinstance(value, float) else ValueForm.OTHER


def form_of_term(term: Term) -> ValueForm:
    """The form of a ground term as a value."""
    return form_of_value(term.value) if isinstance(term, Number) else ValueForm.OTHER


def form_of_expression(term: Term, of_variable: Callable[[str], ValueForm]) -> ValueForm:
    """The forms that the value of an expression may have, given those of its variables.

    Where a variable has no values, neither has the expression.
    """
    if isinstance(term, Variable):
        return _as_number(of_variable(term.name))
    if isinstance(term, Number):
        return form_of_term(term)
    if isinstance(term, Atom):
        return ValueForm.FLOAT
    if isinstance(term, Duration) or not isinstance(term, Compound):
        return ValueForm.NUMBER
    parts = [form_of_expression(arg, of_variable) for arg in term.args]
    if not all(parts):
        return ValueForm.NOTHING
    return _result(functor(term), term.args, parts)


def _as_number(form: ValueForm) -> ValueForm:
    """What a value is as a number: a text may be an infinite one."""
    return (form & ValueForm.NUMBER) | (
        ValueForm.FLOAT if form & ValueForm.OTHER else ValueForm.NOTHING
    )


def _result(name: tuple[str, int], args: tuple[Term, ...], parts: list[ValueForm]) -> ValueForm:
    if name[0] in _WHOLE:
        return ValueForm.INTEGER
    function = known_function(name)
    if function is not None:
        is_float = function.typed.result == "float"
        return ValueForm.FLOAT if is_float else ValueForm.INTEGER
    together = ValueForm.NOTHING
    for part in parts:
        together |= part
    if name[1] == 1:
        return together if name[0] in _SAME else ValueForm.FLOAT
    if name[0] in _EITHER:
        return together
    if name[0] in ("+", "-", "*"):
        return _sum(parts)
    if name[0] in ("**", "^") and _is_natural(args[1]):
        return parts[0]
    if name[0] in ("/", "**", "^"):
        return (
            ValueForm.NUMBER if all(part & ValueForm.INTEGER for part in parts) else ValueForm.FLOAT
        )
    return ValueForm.FLOAT if name[0] in ("atan", "atan2", "haversine") else ValueForm.NUMBER


def _sum(parts: list[ValueForm]) -> ValueForm:
    """Whole if all operands are, a float if one is."""
    whole = (
        ValueForm.INTEGER if all(part & ValueForm.INTEGER for part in parts) else ValueForm.NOTHING
    )
    return whole | (
        ValueForm.FLOAT if any(part & ValueForm.FLOAT for part in parts) else ValueForm.NOTHING
    )


def _is_natural(term: Term) -> bool:
    return isinstance(term, Number) and isinstance(term.value, int) and term.value >= 0
