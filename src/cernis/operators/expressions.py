"""Arithmetic and comparisons over whole columns.

An expression without a value (a division by zero, the root of a negative number) is not a
number, and a comparison with it is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cernis.errors import UnsupportedError
from cernis.knowledge.arithmetic import EARTH
from cernis.knowledge.values import value
from cernis.operators.context import constant_column
from cernis.syntax.printer import show
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import Atom, Compound, Duration, Number, Term, Variable, functor, variables
from cernis.tables.columns import Array, Column, Rows
from cernis.tables.domains import Domain, numbers

Mask = npt.NDArray[np.bool_]
T = TypeVar("T")

_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}


def column_of(term: Term, rows: Rows, domain: Domain | None = None) -> Column:
    """A variable's column, or a ground term as one value of the domain."""
    if isinstance(term, Variable):
        return rows.columns[term.name]
    return constant_column(term, domain)


Known: TypeAlias = dict[tuple[object, ...], tuple[Any, object]]


def remembered(what: Term, rows: Rows, known: Known, compute: Callable[[], Array]) -> Array:
    """A result over whole tables, computed once for all rules that ask for it."""
    names = dict.fromkeys(variable.name for variable in variables(what))
    columns = [(name, rows.columns[name]) for name in names]
    key = (show(what), *((name, identity(column)) for name, column in columns))
    if key not in known:
        # The arrays are kept beside the result, so that their identities stay theirs.
        known[key] = (compute(), [(column.data, column.index) for _, column in columns])
    result: Array = known[key][0]
    return result


_MANY = 20_000
"""What is found for so many rows is kept for rules that ask the same of the same rows."""


def shared(
    what: tuple[object, ...], columns: Sequence[Column], sources: Sequence[object], rows: Rows,
    known: Known, compute: Callable[[], T],
) -> T:  # fmt: skip
    """A result about the columns of many rows and some sources, found once for all rules.

    There is one for each question, the last: if a source is another by now, it is found anew.
    """
    if rows.length < _MANY:
        return compute()
    asked = [*columns, *([rows.times] if rows.times is not None else ())]
    key = (*what, *((identity(own), id(own.domain)) for own in asked))
    found = known.get(key)
    if found is not None:
        before: Any = found[1]
        if all(one is other for one, other in zip(before[0], sources, strict=True)):
            return found[0]  # type: ignore[no-any-return]
    result = compute()
    # The arrays are kept beside the result, so that their identities stay theirs.
    known[key] = (result, ([*sources], [(own.data, own.index) for own in asked]))
    return result


def identity(column: Column) -> object:
    """What tells a column from others, as long as it lives."""
    return column.data[0].item() if column.constant else (id(column.data), id(column.index))


def reckon(term: Term, rows: Rows) -> Array:
    """The value of an expression for each row; one value if it is the same for all."""
    if isinstance(term, Number):
        return np.array([term.value])
    if isinstance(term, Duration):
        return np.array([term.amount * DURATION_UNITS[term.unit]])
    if isinstance(term, Variable):
        return _numbers_of(rows.columns[term.name])
    if isinstance(term, Atom) and term.name in _CONSTANTS:
        return np.array([_CONSTANTS[term.name]])
    operation = _OPERATIONS.get(functor(term))
    if operation is None or not isinstance(term, Compound):
        raise UnsupportedError(f"{show(term)} cannot be computed")
    values = [reckon(arg, rows) for arg in term.args]
    with np.errstate(all="ignore"):
        result: Array = operation(*values, **_reused(operation, term, values))
    return result


def _reused(operation: Callable[..., Array], term: Compound, values: list[Array]) -> dict[str, Any]:
    """Where to put the result: over an operand that was made for nothing else."""
    size = max(map(len, values))
    for arg, made in zip(term.args, values, strict=True):
        if (
            isinstance(operation, np.ufunc) and isinstance(arg, Compound)
            and len(made) == size and made.dtype == np.float64
        ):  # fmt: skip
            return {"out": made}
    return {}


def _numbers_of(column: Column) -> Array:
    """A column as numbers; text among its values is not a number."""
    if column.domain is None:
        return column.values
    table = np.array([v if isinstance(v, (int, float)) else math.nan for v in column.domain.values])
    if not len(table):
        return np.empty(0)
    return table[column.values]


def _divide(a: Array, b: Array) -> Array:
    quotient = np.where(b == 0, np.nan, a / np.where(b == 0, 1, b))
    whole = a.dtype.kind == b.dtype.kind == "i"
    if whole and not np.isnan(quotient).any() and bool(np.all(a % np.where(b == 0, 1, b) == 0)):
        return np.asarray(a // b)
    return quotient


def _whole(operation: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def apply(a: Array, b: Array) -> Array:
        result = operation(a, np.where(b == 0, 1, b))
        return np.where(b == 0, np.nan, result) if bool(np.any(b == 0)) else result

    return apply


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == b.dtype.kind == "i" and bool(np.all(b >= 0)):
        exact = np.power(a, b)
        # Integers of 64 bits may overflow where those of other systems grow.
        if bool(np.all(np.abs(np.power(a.astype(float), b)) < 2**62)):
            return np.asarray(exact)
    return np.asarray(np.power(a.astype(float), b))


def _to_integer(rounding: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def apply(a: Array) -> Array:
        if a.dtype.kind == "i":
            return a
        rounded = np.asarray(rounding(a))
        if bool(np.all(np.abs(rounded) < 2**62)):
            return rounded.astype(np.int64)
        return rounded

    return apply


def _round(a: Array) -> Array:
    return np.asarray(np.trunc(a + np.copysign(0.5, a)))


def _haversine(lat1: Array, lon1: Array, lat2: Array, lon2: Array) -> Array:
    north, east = np.radians(lat2 - lat1) / 2, np.radians(lon2 - lon1) / 2
    both = np.cos(np.radians(lat1)) * np.cos(np.radians(lat2))
    chord = np.sin(north) ** 2 + both * np.sin(east) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(np.minimum(chord, 1.0))))


_OPERATIONS: dict[tuple[str, int], Callable[..., Array]] = {
    ("+", 2): np.add, ("-", 2): np.subtract, ("*", 2): np.multiply, ("/", 2): _divide,
    ("//", 2): _whole(lambda a, b: (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)),
    ("div", 2): _whole(np.floor_divide), ("mod", 2): _whole(np.mod),
    ("rem", 2): _whole(np.fmod), ("**", 2): _power, ("^", 2): _power,
    ("-", 1): np.negative, ("+", 1): np.positive, ("abs", 1): np.abs, ("sign", 1): np.sign,
    ("min", 2): np.minimum, ("max", 2): np.maximum, ("sqrt", 1): np.sqrt, ("sin", 1): np.sin,
    ("cos", 1): np.cos, ("tan", 1): np.tan, ("asin", 1): np.arcsin, ("acos", 1): np.arccos,
    ("atan", 1): np.arctan, ("atan", 2): np.arctan2, ("atan2", 2): np.arctan2,
    ("haversine", 4): _haversine,
    ("exp", 1): np.exp, ("log", 1): np.log,
    ("floor", 1): _to_integer(np.floor), ("ceiling", 1): _to_integer(np.ceil),
    ("round", 1): _to_integer(_round), ("truncate", 1): _to_integer(np.trunc),
    ("integer", 1): _to_integer(_round), ("float", 1): lambda a: a.astype(float),
}  # fmt: skip

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, ">": np.greater, "=<": np.less_equal, ">=": np.greater_equal,
    "=:=": np.equal, "=\\=": np.not_equal,
}  # fmt: skip
_STANDARD: dict[str, Callable[[Any, Any], Any]] = {
    "@<": np.less, "@>": np.greater, "@=<": np.less_equal, "@>=": np.greater_equal,
}  # fmt: skip
COMPARISONS = frozenset({*_ORDER, *_STANDARD, "=", "\\=", "==", "\\=="})


def compare(goal: Compound, rows: Rows) -> Mask:
    """For each row: is the comparison true? One answer if it is the same for all."""
    left, right = goal.args
    if goal.functor in _ORDER:
        a, b = reckon(left, rows), reckon(right, rows)
        result: Mask = _ORDER[goal.functor](a, b)
        if goal.functor == "=\\=":
            result = result & ~np.isnan(a) & ~np.isnan(b)
        return result
    if goal.functor in _STANDARD:
        ranks = _ranks(_texts(left, rows), _texts(right, rows))
        standard: Mask = _STANDARD[goal.functor](*ranks)
        return standard
    equal = _equal(left, right, rows)
    return equal if goal.functor in ("=", "==") else ~equal


def _equal(left: Term, right: Term, rows: Rows) -> Mask:
    if not isinstance(left, Variable):
        left, right = right, left
    if not isinstance(left, Variable):
        return np.array([value(left) == value(right)])
    a = rows.columns[left.name]
    b = column_of(right, rows, a.domain) if isinstance(right, Variable) else None
    if b is None:
        known = value(right)
        if a.domain is None:
            if isinstance(known, str):
                return np.array([False])
            return np.asarray(a.values == known)
        b = constant_column(right, a.domain)
    if a.domain is b.domain:
        return np.asarray(a.values == b.values)
    return np.array(
        [x == y for x, y in zip(_decoded(a, rows), _decoded(b, rows), strict=True)], np.bool_
    )


def _decoded(column: Column, rows: Rows) -> list[Any]:
    values = column.expanded(rows.length)
    if column.domain is None:
        return values.tolist()  # type: ignore[no-any-return]
    return column.domain.decode(values)


def _texts(term: Term, rows: Rows) -> list[Any]:
    if isinstance(term, Variable):
        return _decoded(rows.columns[term.name], rows)
    return [value(term)] * rows.length


def _ranks(left: list[Any], right: list[Any]) -> tuple[Array, Array]:
    """Numbers that compare as the values do in the standard order: numbers, then text."""
    distinct = sorted({*left, *right}, key=lambda v: (isinstance(v, str), v))
    rank = {v: at for at, v in enumerate(distinct)}
    return np.array([rank[v] for v in left]), np.array([rank[v] for v in right])


def computed(expression: Term, rows: Rows) -> Column:
    """The value of an expression as a column of numbers."""
    result = reckon(expression, rows)
    if len(result) == 1 and rows.length != 1:
        return Column(result, None, constant=True)
    return Column(numbers(result) if result.dtype.kind not in "if" else result)
