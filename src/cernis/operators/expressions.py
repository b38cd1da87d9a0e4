"""Arithmetic and comparisons over whole columns.

An expression without a value (a division by zero, the root of a negative number) is not a
number, and a comparison with it is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from cernis.errors import OverflowFault, UnsupportedError
from cernis.kernels.array_types import Array, Booleans
from cernis.knowledge.ground_values import standard_order, value
from cernis.knowledge.user_functions import known_function
from cernis.operators.column_arithmetic import (
    OPERATIONS,
    ORDER,
    Exact,
    Numeric,
    applied,
    compared,
    simplified,
)
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.function_columns import function_values
from cernis.source import NOWHERE
from cernis.syntax.printer import show
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import (
    Atom,
    Compound,
    Duration,
    Number,
    Term,
    Variable,
    functor,
    variables,
    walk,
)
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import (
    FRACTION,
    NO_NUMBER,
    OVERFLOW,
    WHOLE,
    Domain,
    NumericValues,
    has_gaps,
    numbers_of,
)

T = TypeVar("T")

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "infinite": math.inf}
"""Numbers that have a name in the text of an expression."""


Known: TypeAlias = dict[tuple[object, ...], tuple[Any, object]]


def remembered(term: Term, rows: Rows, known: Known, compute: Callable[[], T]) -> T:
    """A result over whole tables, computed once for all rules that ask for it."""
    names = dict.fromkeys(variable.name for variable in variables(term))
    columns = [(name, rows.columns[name]) for name in names]
    key = (show(term), *((name, identity(column)) for name, column in columns))
    if key not in known:
        # The arrays are kept beside the result, so that their identities stay theirs.
        known[key] = (compute(), [(column.data, column.index) for _, column in columns])
    result: T = known[key][0]
    return result


_MANY = 20_000
"""What is found for so many rows is kept for rules that ask the same of the same rows."""


def shared(
    name: tuple[object, ...], columns: Sequence[Column], sources: Sequence[object], rows: Rows,
    known: Known, compute: Callable[[], T],
) -> T:  # fmt: skip
    """A result about the columns of many rows and some sources, found once for all rules.

    Only the last result of each question is kept: if a source has changed since, it is computed
    again.
    """
    if rows.length < _MANY:
        return compute()
    inputs = [*columns, *([rows.times] if rows.times is not None else ())]
    key = (*name, *((identity(column), id(column.domain)) for column in inputs))
    remembered_result = known.get(key)
    if remembered_result is not None:
        before: Any = remembered_result[1]
        if all(one is other for one, other in zip(before[0], sources, strict=True)):
            return remembered_result[0]  # type: ignore[no-any-return]
    result = compute()
    # The arrays are kept beside the result, so that their identities stay theirs.
    known[key] = (result, ([*sources], [(column.data, column.index) for column in inputs]))
    return result


def identity(column: Column) -> object:
    """What identifies a column, as long as it exists."""
    return column.data[0].item() if column.constant else (id(column.data), id(column.index))


def numeric_value(term: Term, rows: Rows) -> Numeric:
    """The value of an expression for each row; one value if it is the same for all.

    A whole number of more than 64 bits, in a row that counts, is an OverflowFault.
    """
    result = _numeric_value(term, rows)
    if isinstance(result, NumericValues):
        _refuse_overflow(term, result, rows)
    return result


def overflow(message: str, term: Term | None) -> OverflowFault:
    """The error about a whole number of more than 64 bits, and where it is computed."""
    spans = [part.span for part in walk(term)] if term is not None else []
    return OverflowFault(message, next((span for span in spans if span != NOWHERE), NOWHERE))


def _refuse_overflow(term: Term, numbers: NumericValues, rows: Rows) -> None:
    over = np.broadcast_to(numbers.kinds == OVERFLOW, rows.length)
    if rows.mask is not None:
        over = over & rows.mask
    if over.any():
        raise overflow(show(term), term)


def _numeric_value(term: Term, rows: Rows) -> Numeric:
    if isinstance(term, Number):
        return _one_number(term.value)
    if isinstance(term, Duration):
        return np.array([term.amount * DURATION_UNITS[term.unit]])
    if isinstance(term, Variable):
        return numbers_in(rows.columns[term.name])
    if isinstance(term, Atom) and term.name in CONSTANTS:
        return np.array([CONSTANTS[term.name]])
    operation = OPERATIONS.get(functor(term))
    function = known_function(functor(term)) if operation is None else None
    if function is not None and isinstance(term, Compound):
        columns = [_numeric_value(arg, rows) for arg in term.args]
        return function_values(function, columns, rows.mask, rows.length, term.span)
    if operation is None or not isinstance(term, Compound):
        raise UnsupportedError(f"{show(term)} cannot be computed")
    values = [_numeric_value(arg, rows) for arg in term.args]
    with np.errstate(all="ignore"):
        over = _reused(operation, term, values)
        if over is not None:
            result: Array = operation.ufunc(*values, out=over)  # type: ignore[attr-defined]
            return result
        return applied(operation, values)


def _one_number(number: int | float) -> Numeric:
    try:
        return np.array([number], np.int64 if isinstance(number, int) else np.float64)
    except OverflowError:
        return numbers_of([number])


def _reused(operation: object, term: Compound, values: list[Numeric]) -> Array | None:
    """Where to put the result: over an operand that was made for nothing else."""
    if not isinstance(operation, Exact) or any(isinstance(each, NumericValues) for each in values):
        return None
    size = max(map(len, values))
    for arg, made in zip(term.args, values, strict=True):
        if (
            isinstance(made, np.ndarray) and isinstance(arg, Compound)
            and len(made) == size and made.dtype == np.float64
        ):  # fmt: skip
            return made
    return None


def numbers_in(column: Column) -> Numeric:
    """A column as numbers; what is none among its values is none here."""
    if column.domain is None:
        return column.values
    if column.constant:
        return simplified(numbers_of([column.value()]))
    known = column.domain.numbers()
    if not len(known):
        return np.empty(0)
    return simplified(known.take(column.values))


def _comparable(term: Term, rows: Rows) -> Numeric:
    """The value of an expression as numbers to compare: of a variable, as floats if need be."""
    if isinstance(term, Variable):
        column = rows.columns[term.name]
        if column.domain is not None and not column.constant:
            floats = column.domain.floats()
            if floats is not None:
                return floats[column.values] if len(floats) else np.empty(0)
    return numeric_value(term, rows)


_STANDARD: dict[str, Callable[[Any, Any], Any]] = {
    "@<": np.less, "@>": np.greater, "@=<": np.less_equal, "@>=": np.greater_equal,
}  # fmt: skip
COMPARISONS = frozenset({*ORDER, *_STANDARD, "=", "\\=", "==", "\\=="})


def compare(goal: Compound, rows: Rows) -> Booleans:
    """For each row: is the comparison true? One answer if it is the same for all."""
    left, right = goal.args
    if goal.functor in ORDER:
        return compared(goal.functor, _comparable(left, rows), _comparable(right, rows))
    a, b, domain = _sides(left, right, rows)
    if goal.functor in _STANDARD:
        if domain is not None:
            ranks = _ranks(domain, np.concatenate([a, b]))
            a, b = ranks[a], ranks[b]
        standard: Booleans = _STANDARD[goal.functor](a, b)
        return standard
    equal = np.asarray(a == b)
    return equal if goal.functor in ("=", "==") else ~equal


def _sides(left: Term, right: Term, rows: Rows) -> tuple[Array, Array, Domain | None]:
    """Both sides in codes of one domain, or as numbers of one form; once if constant."""
    one, other = (rows.columns[t.name] if isinstance(t, Variable) else None for t in (left, right))
    one = one or _beside(left, other)
    other = other or _beside(right, one)
    if one.domain is other.domain and one.data.dtype == other.data.dtype:
        return one.values, other.values, one.domain
    domain = Domain()
    a, b = (recoded(own, domain, 1 if own.constant else rows.length) for own in (one, other))
    return a, b, domain


def _beside(term: Term, other: Column | None) -> Column:
    """A constant as it is held on the other side, if it can be."""
    if other is None:
        return constant_column(term, Domain())
    if other.domain is not None:
        return constant_column(term, other.domain)
    known = value(term)
    if type(known) is (float if other.data.dtype.kind == "f" else int):
        return Column(np.array([known], other.data.dtype), None, constant=True)
    return constant_column(term, Domain())


def _ranks(domain: Domain, codes: Array) -> Array:
    """For each code a number: these compare as the values do in the standard order."""
    used = np.unique(codes)
    values = domain.decode(used)
    order = sorted(range(len(values)), key=lambda at: standard_order(values[at]))
    ranks = np.zeros(len(domain), np.int64)
    ranks[used[order]] = np.arange(len(used))
    return ranks


def computed(expression: Term, rows: Rows) -> tuple[Column, Booleans | None]:
    """The value of an expression as a column, and which rows have one, unless all do."""
    return as_column(numeric_value(expression, rows), rows.length)


def as_column(numbers: Numeric, length: int) -> tuple[Column, Booleans | None]:
    """Numbers as a column, and which rows have one, unless all do."""
    is_constant = len(numbers) == 1 and length != 1
    if not isinstance(numbers, NumericValues):
        valid = None
        if numbers.dtype.kind == "f" and has_gaps(numbers):
            valid = np.broadcast_to(~np.isnan(numbers), length)
        return Column(numbers, None, constant=is_constant), valid
    domain = Domain()
    codes = np.zeros(len(numbers), np.int64)
    for kind, data in ((WHOLE, numbers.ints), (FRACTION, numbers.floats)):
        own = numbers.kinds == kind
        codes[own] = domain.encode_numbers(data[own])
    domain.code(0)
    has_value = np.broadcast_to((numbers.kinds != NO_NUMBER) & (numbers.kinds != OVERFLOW), length)
    return Column(codes, domain, constant=is_constant), None if has_value.all() else has_value
