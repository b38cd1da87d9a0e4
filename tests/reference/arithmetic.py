"""Arithmetic of conditions, one function an operator, as section 2 of the semantics lists them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Atom, Compound, Duration, Number, Term, Variable

from .calendar import SECONDS, clock, is_clock
from .terms import substitute

Numeric = int | float


class TooLarge(KnowledgeError):
    """A whole number needs more than 64 bits."""


class NoValue(Exception):
    """The expression has no value: not a number, a division by zero, a root of -1, ..."""


def seconds(duration: Duration) -> Numeric:
    """The duration as a number of seconds, the unit of time-points; whole where it is whole."""
    if duration.unit not in SECONDS:
        raise NoValue(f"unknown unit {duration.unit}")
    value = duration.amount * SECONDS[duration.unit]
    return int(value) if value == int(value) else value


def _divide(left: Numeric, right: Numeric) -> Numeric:
    """`/`: whole where both sides are whole and the division leaves no rest, else a float."""
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _whole(left: Numeric, right: Numeric) -> tuple[int, int]:
    if not isinstance(left, int) or not isinstance(right, int):
        raise NoValue("whole numbers are needed")
    return left, right


def _truncating_division(left: Numeric, right: Numeric) -> int:
    whole, by = _whole(left, right)
    quotient = abs(whole) // abs(by)
    return quotient if (whole < 0) == (by < 0) else -quotient


def _modulo(left: Numeric, right: Numeric) -> int:
    """`mod`: the result has the sign of the divisor."""
    whole, by = _whole(left, right)
    return whole % by


def _round(value: Numeric) -> int:
    """Halves go away from zero."""
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


UNARY: Mapping[str, Callable[[Numeric], Numeric]] = {
    "-": lambda value: -value,
    "+": lambda value: value,
    "abs": abs,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "floor": math.floor,
    "ceiling": math.ceil,
    "round": _round,
    "truncate": math.trunc,
}

BINARY: Mapping[str, Callable[[Numeric, Numeric], Numeric]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "//": _truncating_division,
    "mod": _modulo,
    "**": lambda left, right: left**right,
    "min": min,
    "max": max,
    "atan2": math.atan2,
    "atan": math.atan2,
}

ROW_FUNCTIONS: dict[str, Callable[..., Numeric]] = {}
"""Functions that a test gives to a program; the reference calls them for each row."""

CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}
"""Numbers that have a name in the text of an expression. As a value, `e` is a text like others."""

INFINITE = ("inf", "infinite")
"""Numbers wherever a number is meant, as values too."""

LEAST, GREATEST = -(2**63), 2**63 - 1
"""Whole numbers are exact between these; beyond them there are none."""

COMPARISONS: Mapping[str, Callable[[Numeric, Numeric], bool]] = {
    "=:=": lambda left, right: left == right,
    "=\\=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "=<": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}


def evaluate(term: Term, bindings: Mapping[str, Term]) -> Numeric:
    """The value of an arithmetic expression.

    Raises NoValue where it has none, and KnowledgeError where a variable is unbound or a whole
    number would need more than 64 bits: the first is a matter of the data, the others are not.
    """
    term = substitute(term, bindings)
    if isinstance(term, Variable):
        raise KnowledgeError("is/2", f"the variable {term.name} has no value")
    if isinstance(term, Number):
        return term.value
    if isinstance(term, Duration):
        return seconds(term)
    if isinstance(term, Atom) and term.name in INFINITE:
        return math.inf
    if isinstance(term, Compound):
        return _apply(term.functor, [evaluate(arg, {}) for arg in term.args])
    raise NoValue(f"not a number: {term}")


def with_constants(term: Term) -> Term:
    """The text of a goal or head with numbers for the `pi` and `e` of its expressions.

    To be done before values take the place of variables. An atom alone is an expression only in
    what compares or computes numbers.
    """
    if not isinstance(term, Compound):
        return term
    arity = len(term.args)
    numeric = term.functor in COMPARISONS or term.functor == "is"
    if numeric or (arity == 1 and term.functor in UNARY) or (arity == 2 and term.functor in BINARY):
        return Compound(term.functor, tuple(map(_with_number, term.args)))
    return Compound(term.functor, tuple(map(with_constants, term.args)))


def _with_number(term: Term) -> Term:
    if isinstance(term, Atom) and term.name in CONSTANTS:
        return Number(CONSTANTS[term.name])
    return with_constants(term)


def exact(value: Numeric) -> Numeric:
    """The value, unless it is a whole number of more than 64 bits."""
    if isinstance(value, int) and not LEAST <= value <= GREATEST:
        raise TooLarge("is/2", f"{value} needs more than 64 bits")
    return value


def _apply(name: str, values: list[Numeric]) -> Numeric:
    try:
        if is_clock(name):
            result: Numeric = clock(name, values[0])
        elif name in ROW_FUNCTIONS:
            result = ROW_FUNCTIONS[name](*values)
        elif len(values) == 1 and name in UNARY:
            result = UNARY[name](values[0])
        elif len(values) == 2 and name in BINARY:
            result = BINARY[name](values[0], values[1])
        else:
            raise NoValue(f"unknown function {name}/{len(values)}")
    except (ArithmeticError, ValueError) as error:
        raise NoValue(str(error)) from error
    if isinstance(result, complex) or (isinstance(result, float) and math.isnan(result)):
        raise NoValue("not a real number")
    return exact(result)
