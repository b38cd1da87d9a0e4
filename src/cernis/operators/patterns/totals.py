"""Sums, averages and extremes of numbers of any form, group by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from cernis.kernels.array_types import Array
from cernis.operators.column_arithmetic import Numeric, as_numbers, simplified
from cernis.tables.domains import FRACTION, NO_NUMBER, OVERFLOW, WHOLE, NumericValues, numbers_of

_GREATEST: Final = (1 << 63) - 1

_PLAIN: Final[dict[str, Callable[[Sequence[Any]], Any]]] = {
    "sum": sum, "min": min, "max": max, "avg": lambda values: float(sum(values) / len(values)),
}  # fmt: skip


def with_values(values: Numeric, length: int) -> tuple[Array, Numeric]:
    """The rows that have a number, and these numbers."""
    if isinstance(values, NumericValues):
        own = as_numbers(values, length)
        rows = np.flatnonzero(own.kinds != NO_NUMBER)
        return rows, simplified(own.take(rows))
    values = np.broadcast_to(values, length)
    if values.dtype.kind != "f" or not np.isnan(values).any():
        return np.arange(length), values
    rows = np.flatnonzero(~np.isnan(values))
    return rows, values[rows]


def as_list(values: Numeric) -> list[int | float]:
    """Numbers one by one."""
    if not isinstance(values, NumericValues):
        return values.tolist()  # type: ignore[no-any-return]
    both = zip(values.kinds.tolist(), values.ints.tolist(), values.floats.tolist(), strict=True)
    return [whole if kind == WHOLE else fraction for kind, whole, fraction in both]


def can_be_added(values: Numeric) -> bool:
    """Are numbers of one form, and small enough that no sum of theirs can be too large?"""
    if isinstance(values, NumericValues):
        return False
    if values.dtype.kind == "f" or not len(values):
        return True
    return max(int(values.max()), -int(values.min())) * len(values) <= _GREATEST


def one_by_one(kind: str, groups: Sequence[Sequence[int | float]]) -> Numeric:
    """The aggregate of each group; of nothing, a sum is 0, and all else has no value."""
    found = [_PLAIN[kind](own) if own or kind == "sum" else None for own in groups]
    return simplified(numbers_of(found))


def totals(kind: str, groups: Array, values: Numeric, length: int) -> Numeric:
    """The aggregate of the numbers of each group; of nothing, a sum is 0, all else has no value."""
    counts = np.bincount(groups, minlength=length)
    if not can_be_added(values):
        return one_by_one(kind, _parted(groups, as_list(values), counts))
    assert isinstance(values, np.ndarray)
    if kind in ("sum", "avg"):
        sums = np.zeros(length, values.dtype if len(values) else np.int64)
        np.add.at(sums, groups, values)
        if kind == "avg":
            return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return sums if sums.dtype.kind != "f" else _with_zeros(sums, counts)
    return _extremes(kind, groups, values, counts)


def _parted(groups: Array, values: list[Any], counts: Array) -> list[list[Any]]:
    order = np.argsort(groups, kind="stable").tolist()
    ends = np.cumsum(counts).tolist()
    return [[values[at] for at in order[end - count : end]]
            for end, count in zip(ends, counts.tolist(), strict=True)]  # fmt: skip


def _with_zeros(sums: Array, counts: Array) -> Numeric:
    """Sums of floats; nothing adds up to the whole number 0."""
    kinds = np.where(counts > 0, FRACTION, WHOLE).astype(np.uint8)
    return simplified(NumericValues(kinds, np.zeros(len(sums), np.int64), sums))


def _extremes(kind: str, groups: Array, values: Array, counts: Array) -> Numeric:
    extreme = np.minimum if kind == "min" else np.maximum
    result = np.zeros(len(counts), values.dtype)
    order = np.argsort(groups, kind="stable")
    if len(order):
        starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) > 0])
        result[groups[order][starts]] = extreme.reduceat(values[order], starts)
    if counts.all():
        return result
    own = as_numbers(result, len(result))
    kinds = np.where(counts > 0, own.kinds, NO_NUMBER)
    return simplified(NumericValues(kinds.astype(np.uint8), own.ints, own.floats))


def has_overflow(values: Numeric) -> bool:
    """Is some number a whole one of more than 64 bits?"""
    return isinstance(values, NumericValues) and bool((values.kinds == OVERFLOW).any())
