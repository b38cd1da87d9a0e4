"""What a declaration says of a number goes before what a column looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from cernis.kernels.array_types import Booleans
from cernis.knowledge.ground_values import Value, field_value
from cernis.records.record_columns import Coded, Column, column_of, shown

NUMBERS: Final = ("number", "float", "integer")
"""The types of numbers that a declaration may say."""


def as_declared(column: Column, declared: str) -> tuple[Column, Booleans | None]:
    """The column as numbers of a declared type, and the rows that are none; None if all are.

    Text that reads as a number is one. A float without a fraction is an integer, where integers
    are declared. Rows that are none keep their value.

    >>> as_declared(Coded(["7", "n/a"], np.array([0, 1, 0])), "number")[1]
    array([False,  True, False])
    """
    if not isinstance(column, Coded):
        if declared != "integer" or column.dtype.kind != "f":
            return column, None
        whole = column == np.floor(column)
        if whole.all() and np.abs(column).max(initial=0) < 2**53:
            return column.astype(np.int64), None
        return column, None if whole.all() else ~whole
    values = [_read(value, declared) for value in column.values]
    is_number = np.array([_is_number(value, declared) for value in values], np.bool_)
    wrong = ~is_number[column.codes] if len(values) else np.zeros(len(column), np.bool_)
    if wrong.any():
        return Coded(values, column.codes), wrong
    return _plain(values, column), None


def value_as_declared(value: Value, declared: str) -> tuple[Value, bool]:
    """One value as a number of a declared type, and whether it is one.

    >>> value_as_declared("7", "integer"), value_as_declared("n/a", "number")
    ((7, True), ('n/a', False))
    """
    read = _read(value, declared)
    return read, _is_number(read, declared)


def not_declared(name: str, value: Value, declared: str) -> str:
    """Why a record with a value that is no number of its type cannot be used."""
    text = shown(value)
    comma = text.replace(",", ".", 1)
    more = ""
    if "," in text and not isinstance(field_value(comma), str):
        more = f": write {comma}, with a point"
    article = "an integer" if declared == "integer" else "a number"
    return f"{name} is declared {declared}, and {text} is not {article}{more}"


def _read(value: Value, declared: str) -> Value:
    if isinstance(value, str):
        value = field_value(value.strip())
    if declared == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _is_number(value: Value, declared: str) -> bool:
    return isinstance(value, int if declared == "integer" else int | float)


def _plain(values: Sequence[Value], column: Coded) -> Column:
    """The column as an array, if all its numbers are of one form."""
    distinct = column_of(values)
    return Coded(values, column.codes) if isinstance(distinct, Coded) else distinct[column.codes]
