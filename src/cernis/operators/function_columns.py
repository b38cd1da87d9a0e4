"""Functions that a caller gave to a program, on the columns of a rule.

A function is called once for all rows that count and that have all its arguments; the others have
no value. It sees whole numbers where it is declared to take these, else floats.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.errors import CernisError, FunctionFault
from cernis.kernels.array_types import Array, Booleans
from cernis.knowledge.user_functions import UserFunction
from cernis.operators.column_arithmetic import Numeric
from cernis.source import Span
from cernis.tables.domains import FRACTION, NO_NUMBER, WHOLE, NumericValues


def function_values(
    function: UserFunction, values: Sequence[Numeric], mask: Booleans | None, length: int,
    span: Span,
) -> Numeric:  # fmt: skip
    """The value of a function for each row; one, if its arguments are the same for all."""
    is_constant = length != 1 and all(len(each) == 1 for each in values)
    count = 1 if is_constant else length
    counts = np.ones(count, np.bool_) if mask is None or is_constant else mask.copy()
    columns = []
    for kind, each in zip(function.typed.arguments, values, strict=True):
        column, is_known = _as_kind(each, kind, count)
        counts &= is_known
        columns.append(column)
    rows = np.flatnonzero(counts)
    if not len(rows):
        return np.full(count, np.nan)
    chosen = columns if len(rows) == count else [column[rows] for column in columns]
    return _spread(_called(function, chosen, span), rows, count)


def _called(function: UserFunction, columns: list[Array], span: Span) -> Array:
    try:
        result: Array = function.of_columns(columns)
    except CernisError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if type(error) is not ValueError else str(error)
        raise FunctionFault(function.name, reason, span) from error
    return result


def _spread(result: Array, rows: Array, count: int) -> Numeric:
    """The values in their rows; rows without one have no number."""
    if result.dtype.kind == "f":
        floats = np.full(count, np.nan)
        floats[rows] = result
        return floats
    if len(rows) == count:
        return result.astype(np.int64)
    kinds = np.full(count, NO_NUMBER, np.uint8)
    kinds[rows] = WHOLE
    ints = np.zeros(count, np.int64)
    ints[rows] = result
    return NumericValues(kinds, ints, np.full(count, np.nan))


def _as_kind(values: Numeric, kind: str, count: int) -> tuple[Array, Booleans]:
    """Numbers as whole ones or as floats, and the rows in which they are such."""
    if isinstance(values, NumericValues):
        is_known = (values.kinds == WHOLE) | (values.kinds == FRACTION)
        floats = np.where(values.kinds == WHOLE, values.ints, values.floats)
        if kind == "integer":
            column, is_whole = _whole(floats)
            return _wide(np.where(values.kinds == WHOLE, values.ints, column), count), _wide(
                is_known & is_whole, count
            )
        return _wide(floats, count), _wide(is_known, count)
    if values.dtype.kind != "f":
        column = values if kind == "integer" else values.astype(np.float64)
        return _wide(column, count), np.ones(count, np.bool_)
    if kind == "integer":
        column, is_whole = _whole(values)
        return _wide(column, count), _wide(is_whole, count)
    return _wide(values, count), _wide(~np.isnan(values), count)


def _whole(floats: Array) -> tuple[Array, Booleans]:
    is_whole = np.isfinite(floats) & (floats == np.floor(floats)) & (np.abs(floats) < 2**63)
    return np.where(is_whole, floats, 0).astype(np.int64), is_whole


def _wide(array: Array, count: int) -> Array:
    return array if len(array) == count else np.broadcast_to(array, count)
