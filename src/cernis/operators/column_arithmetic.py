"""Arithmetic and comparisons of numbers by column, exact for whole numbers of 64 bits.

Numbers of one form are an array, of whole numbers or of floats, in which what is no number is
numpy's nan. Numbers of several forms are `NumericValues`: what is done with them is done form by
form. A whole number of more than 64 bits is marked as such, so that who asked for it can refuse it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from cernis.kernels.array_types import Array, Booleans
from cernis.knowledge.resolution.prolog_arithmetic import EARTH
from cernis.operators.clock_columns import CLOCK_OPERATIONS
from cernis.tables.domains import EXACT, FRACTION, NO_NUMBER, OVERFLOW, WHOLE, NumericValues

Numeric: TypeAlias = Array | NumericValues
Operation: TypeAlias = Callable[..., Numeric]

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_BITS = 64


# -- several forms ---------------------------------------------------------------------------


def as_numbers(values: Numeric, length: int) -> NumericValues:
    """Numbers of any form row by row, one for all rows repeated."""
    if isinstance(values, NumericValues):
        return values if len(values) == length else values.take(np.zeros(length, np.int64))
    values = np.broadcast_to(values, length)
    if values.dtype.kind != "f":
        kinds = np.full(length, WHOLE, np.uint8)
        return NumericValues(kinds, values.astype(np.int64), np.full(length, np.nan))
    kinds = np.where(np.isnan(values), NO_NUMBER, FRACTION).astype(np.uint8)
    return NumericValues(kinds, np.zeros(length, np.int64), values.astype(np.float64))


def rows_at(values: Numeric, length: int, rows: Array) -> Numeric:
    """The numbers of some of so many rows; the one number, if it is the same for all."""
    if isinstance(values, NumericValues):
        return simplified(as_numbers(values, length).take(rows))
    return values if len(values) == 1 else values[rows]


def simplified(numbers: NumericValues) -> Numeric:
    """An array, if all numbers are of one form."""
    kinds = set(np.unique(numbers.kinds).tolist())
    if kinds == {WHOLE}:
        return numbers.ints
    if NO_NUMBER not in kinds:
        return numbers.floats if kinds <= {FRACTION} else numbers
    floats = np.where(numbers.kinds == FRACTION, numbers.floats, np.nan)
    is_one_form = kinds <= {FRACTION, NO_NUMBER}
    return floats if is_one_form else NumericValues(numbers.kinds, numbers.ints, floats)


def applied(operation: Operation, values: Sequence[Numeric]) -> Numeric:
    """What an operation on arrays makes of numbers, form by form if they are of several."""
    if not any(isinstance(each, NumericValues) for each in values):
        return operation(*values)
    length = _common_length(values)
    parts = [as_numbers(each, length) for each in values]
    result = _nothing(length)
    for kinds, rows in _alike(parts):
        if OVERFLOW in kinds:
            result.kinds[rows] = OVERFLOW
        elif NO_NUMBER not in kinds:
            own = [_of_kind(part, kind, rows) for part, kind in zip(parts, kinds, strict=True)]
            _put(result, rows, operation(*own))
    return simplified(result)


def _common_length(values: Sequence[Numeric]) -> int:
    """How many rows there are; one number goes for all."""
    lengths = {len(each) for each in values}
    return 0 if 0 in lengths else max(lengths)


def _alike(parts: list[NumericValues]) -> list[tuple[tuple[int, ...], Array]]:
    """The kinds that operands have together, and the rows of each such combination."""
    keys = np.zeros(len(parts[0]), np.int64)
    for part in parts:
        keys = keys * 4 + part.kinds
    groups = []
    for key in np.unique(keys).tolist():
        kinds = tuple(key // 4**at % 4 for at in reversed(range(len(parts))))
        groups.append((kinds, np.flatnonzero(keys == key)))
    return groups


def _of_kind(numbers: NumericValues, kind: int, rows: Array) -> Array:
    return numbers.ints[rows] if kind == WHOLE else numbers.floats[rows]


def _nothing(length: int) -> NumericValues:
    return NumericValues(
        np.full(length, NO_NUMBER, np.uint8), np.zeros(length, np.int64), np.full(length, np.nan)
    )


def _put(result: NumericValues, rows: Array, values: Numeric) -> None:
    own = as_numbers(values, len(rows))
    result.kinds[rows], result.ints[rows], result.floats[rows] = own.kinds, own.ints, own.floats


def _one_by_one(operation: Callable[..., Any], *values: Array) -> Numeric:
    """An operation on Python's numbers; None where an operand has no value, and for faults."""
    length = _common_length(values)
    result = _nothing(length)
    columns = [np.broadcast_to(each, length).tolist() for each in values]
    for row, operands in enumerate(zip(*columns, strict=True)):
        try:
            value = operation(*operands)
        except (ArithmeticError, ValueError):
            continue
        if isinstance(value, int):
            fits = _LEAST <= value <= _GREATEST
            result.kinds[row] = WHOLE if fits else OVERFLOW
            result.ints[row] = value if fits else 0
        elif isinstance(value, float) and not math.isnan(value):
            result.kinds[row], result.floats[row] = FRACTION, value
    return simplified(result)


# -- operations ------------------------------------------------------------------------------


def _magnitude(values: Array) -> int:
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def _are_whole(*values: Array) -> bool:
    return all(each.dtype.kind != "f" for each in values)


class Exact:
    """A sum, difference or product: of whole numbers exact, or marked as too large."""

    def __init__(
        self, ufunc: np.ufunc, plain: Callable[[int, int], int], bound: Callable[[int, int], int]
    ) -> None:
        self.ufunc = ufunc
        self._plain = plain
        self._bound = bound

    def __call__(self, a: Array, b: Array) -> Numeric:
        """The results; whole numbers are looked at one by one only where some may be too large."""
        if not _are_whole(a, b) or self._bound(_magnitude(a), _magnitude(b)) <= _GREATEST:
            found: Array = self.ufunc(a, b)
            return found
        return _one_by_one(self._plain, a, b)


def _same_size(ufunc: np.ufunc) -> Operation:
    """`-` and `abs`, whose result for the least whole number of 64 bits is too large."""

    def apply(a: Array) -> Numeric:
        if not _are_whole(a) or not len(a) or int(a.min()) > _LEAST:
            found: Array = ufunc(a)
            return found
        return _one_by_one(lambda x: -x if ufunc is np.negative else abs(x), a)

    return apply


def _divide(a: Array, b: Array) -> Numeric:
    """A quotient of whole numbers is whole where it is exact."""
    if not _are_whole(a, b):
        return np.asarray(np.where(b == 0, np.nan, a / np.where(b == 0, 1, b)))
    if max(_magnitude(a), _magnitude(b)) > EXACT:
        return _one_by_one(lambda x, y: x // y if x % y == 0 else x / y, a, b)
    zero = b == 0
    by = np.where(zero, 1, b)
    is_exact = ~zero & (a % by == 0)
    if is_exact.all():
        return np.asarray(a // by)
    kinds = np.where(zero, NO_NUMBER, np.where(is_exact, WHOLE, FRACTION)).astype(np.uint8)
    floats = np.where(kinds == FRACTION, a / by, np.nan)
    return simplified(NumericValues(kinds, np.where(is_exact, a // by, 0), floats))


def _whole(operation: Callable[[Array, Array], Array]) -> Operation:
    """An operation on whole numbers only; it has no value for floats, nor for division by zero."""

    def apply(a: Array, b: Array) -> Numeric:
        if not _are_whole(a, b):
            return np.full(_common_length((a, b)), np.nan)
        zero = b == 0
        over = (b == -1) & (a == _LEAST)
        result = operation(a, np.where(zero | over, 1, b))
        if not zero.any() and not over.any():
            return result
        kinds = np.where(zero, NO_NUMBER, np.where(over, OVERFLOW, WHOLE)).astype(np.uint8)
        return simplified(NumericValues(kinds, result, np.full(len(kinds), np.nan)))

    return apply


def _truncated(a: Array, b: Array) -> Array:
    quotient = a // b
    return np.asarray(quotient + ((a % b != 0) & ((a < 0) != (b < 0))))


def _power(a: Array, b: Array) -> Numeric:
    if not _are_whole(a, b):
        result = np.asarray(np.power(a.astype(float), b))
        # A float that is too large has no value, nor has a power of zero below zero.
        return np.where(np.isinf(result) & np.isfinite(a) & np.isfinite(b), np.nan, result)
    top = int(b.max(initial=0))
    if int(b.min(initial=0)) >= 0 and (top < _BITS and _magnitude(a) ** top <= _GREATEST):
        return np.asarray(np.power(a, b))
    return _one_by_one(_whole_power, a, b)


def _whole_power(x: int, y: int) -> int | float:
    if y >= _BITS and abs(x) > 1:
        return 1 << _BITS
    result: int | float = x**y
    return result


def _to_integer(rounding: Callable[[Array], Array]) -> Operation:
    def apply(a: Array) -> Numeric:
        if _are_whole(a):
            return a
        rounded = np.asarray(rounding(a))
        fits = (rounded >= _LEAST) & (rounded < -float(_LEAST))
        ints = np.where(fits, rounded, 0).astype(np.int64)
        if fits.all():
            return ints
        kinds = np.where(fits, WHOLE, np.where(np.isfinite(rounded), OVERFLOW, NO_NUMBER))
        return simplified(NumericValues(kinds.astype(np.uint8), ints, np.full(len(ints), np.nan)))

    return apply


def _round(a: Array) -> Array:
    return np.asarray(np.trunc(a + np.copysign(0.5, a)))


def _extreme(ufunc: np.ufunc, is_better: str) -> Operation:
    """The less or the greater of two; of equal numbers the first."""

    def apply(a: Array, b: Array) -> Numeric:
        if a.dtype == b.dtype:
            found: Array = ufunc(a, b)
            return found
        length = _common_length((a, b))
        one, other = as_numbers(a, length), as_numbers(b, length)
        second = compared(is_better, other, one)
        nothing = (one.kinds == NO_NUMBER) | (other.kinds == NO_NUMBER)
        kinds = np.where(nothing, NO_NUMBER, np.where(second, other.kinds, one.kinds))
        return simplified(NumericValues(
            kinds.astype(np.uint8), np.where(second, other.ints, one.ints),
            np.where(nothing, np.nan, np.where(second, other.floats, one.floats)),
        ))  # fmt: skip

    return apply


def _bounded(ufunc: np.ufunc) -> Operation:
    """A function that has no value where the result is too large for a float."""

    def apply(a: Array) -> Array:
        result = np.asarray(ufunc(a))
        return np.where(np.isinf(result) & np.isfinite(a), np.nan, result)

    return apply


def _haversine(lat1: Array, lon1: Array, lat2: Array, lon2: Array) -> Array:
    north, east = np.radians(lat2 - lat1) / 2, np.radians(lon2 - lon1) / 2
    both = np.cos(np.radians(lat1)) * np.cos(np.radians(lat2))
    chord = np.sin(north) ** 2 + both * np.sin(east) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(np.minimum(chord, 1.0))))


OPERATIONS: Final[dict[tuple[str, int], Operation]] = {
    ("+", 2): Exact(np.add, operator.add, operator.add),
    ("-", 2): Exact(np.subtract, operator.sub, operator.add),
    ("*", 2): Exact(np.multiply, operator.mul, operator.mul),
    ("/", 2): _divide, ("//", 2): _whole(_truncated), ("div", 2): _whole(np.floor_divide),
    ("mod", 2): _whole(np.mod), ("rem", 2): _whole(np.fmod),
    ("**", 2): _power, ("^", 2): _power,
    ("-", 1): _same_size(np.negative), ("+", 1): np.positive, ("abs", 1): _same_size(np.abs),
    ("sign", 1): np.sign, ("min", 2): _extreme(np.minimum, "<"),
    ("max", 2): _extreme(np.maximum, ">"),
    ("sqrt", 1): np.sqrt, ("sin", 1): np.sin, ("cos", 1): np.cos, ("tan", 1): np.tan,
    ("asin", 1): np.arcsin, ("acos", 1): np.arccos,
    ("atan", 1): np.arctan, ("atan", 2): np.arctan2, ("atan2", 2): np.arctan2,
    ("haversine", 4): _haversine, ("exp", 1): _bounded(np.exp), ("log", 1): _bounded(np.log),
    ("floor", 1): _to_integer(np.floor), ("ceiling", 1): _to_integer(np.ceil),
    ("round", 1): _to_integer(_round), ("truncate", 1): _to_integer(np.trunc),
    ("integer", 1): _to_integer(_round), ("float", 1): lambda a: a.astype(float),
    **CLOCK_OPERATIONS,
}  # fmt: skip
"""Functions of arithmetic on arrays, each of numbers of one form."""


# -- comparisons -----------------------------------------------------------------------------

ORDER: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": np.less, ">": np.greater, "=<": np.less_equal, ">=": np.greater_equal,
    "=:=": np.equal, "=\\=": np.not_equal,
}  # fmt: skip
_TURNED: Final = {"<": ">", ">": "<", "=<": ">=", ">=": "=<", "=:=": "=:=", "=\\=": "=\\="}


def compared(name: str, a: Numeric, b: Numeric) -> Booleans:
    """For each row: is the comparison true? It is false of what is no number."""
    if isinstance(a, NumericValues) or isinstance(b, NumericValues):
        return _compared_by_kinds(name, a, b)
    if a.dtype.kind != b.dtype.kind:
        if a.dtype.kind == "f":
            return compared(_TURNED[name], b, a)
        return _whole_with_float(name, a, b)
    result: Booleans = ORDER[name](a, b)
    if name == "=\\=" and a.dtype.kind == "f":
        result = result & ~np.isnan(a) & ~np.isnan(b)
    return result


def _compared_by_kinds(name: str, a: Numeric, b: Numeric) -> Booleans:
    length = _common_length((a, b))
    parts = [as_numbers(a, length), as_numbers(b, length)]
    result = np.zeros(length, np.bool_)
    for kinds, rows in _alike(parts):
        if OVERFLOW not in kinds and NO_NUMBER not in kinds:
            own = [_of_kind(part, kind, rows) for part, kind in zip(parts, kinds, strict=True)]
            result[rows] = compared(name, own[0], own[1])
    return result


def _whole_with_float(name: str, ints: Array, floats: Array) -> Booleans:
    """Whole numbers compared with floats, exactly."""
    if len(floats) == 1:
        return _with_one_float(name, ints, float(floats[0]))
    if _magnitude(ints) <= EXACT:
        return compared(name, ints.astype(np.float64), floats)
    whole = np.trunc(floats)
    inside = (whole >= _LEAST) & (whole < -float(_LEAST))
    near = np.where(inside, whole, 0).astype(np.int64)
    signs = (ints > near).astype(np.int8) - (ints < near)
    # Of numbers with the same whole part the float's fraction decides.
    fractions = np.where(inside, floats, 0) - np.where(inside, whole, 0)
    signs = np.where(signs == 0, -np.sign(fractions), signs)
    signs = np.where(inside, signs, -np.sign(floats))
    result: Booleans = ORDER[name](signs, 0) & ~np.isnan(floats)
    return result


def _with_one_float(name: str, ints: Array, number: float) -> Booleans:
    """Compare whole numbers with one float: `=<` with its floor, `>=` with its ceiling."""
    if math.isnan(number):
        return np.zeros(len(ints), np.bool_)
    if not _LEAST <= number < -float(_LEAST):
        return np.full(len(ints), bool(ORDER[name](0.0, number)))
    if number != math.floor(number) and name in ("=:=", "=\\="):
        return np.full(len(ints), name == "=\\=")
    bound = math.ceil(number) if name in ("<", ">=") else math.floor(number)
    result: Booleans = ORDER[name](ints, np.int64(bound))
    return result
