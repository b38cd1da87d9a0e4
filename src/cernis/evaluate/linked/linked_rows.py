"""Rows of records that a walk over linked instances goes over, and rows that it has written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Booleans, Integers, Words
from cernis.kernels.linked.linked_output import alone
from cernis.kernels.linked.record_order import by_time


class FiredRows(NamedTuple):
    """What records fire: the time, the instance by handle and kind, and the fired word."""

    times: Integers
    instances: Integers
    fired: Words

    def where(self, chosen: Integers | Booleans | slice) -> FiredRows:
        """The rows at some places."""
        return FiredRows(self.times[chosen], self.instances[chosen], self.fired[chosen])

    def in_order(self) -> FiredRows:
        """The rows in the order of time."""
        if len(self.times) < 2 or bool((self.times[1:] >= self.times[:-1]).all()):
            return self
        return FiredRows(*by_time(*self))


NO_ROWS = FiredRows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))


def joined_rows(parts: Sequence[FiredRows]) -> FiredRows:
    """Rows one after the other."""
    if len(parts) == 1:
        return parts[0]
    return FiredRows(*map(np.concatenate, zip(NO_ROWS, *parts, strict=True)))


def without_rows(rows: FiredRows, gone: FiredRows) -> tuple[FiredRows, int]:
    """Rows without those that are taken back, one for one; and how many of these there are not."""
    if not len(gone.times):
        return rows, 0
    columns = [np.concatenate(pair) for pair in zip(rows, gone, strict=True)]
    order = np.lexsort((np.arange(len(columns[0])), *reversed(columns)))
    is_gone = order >= len(rows.times)
    begins = _group_beginnings([column[order] for column in columns])
    group = np.cumsum(begins) - 1
    taken = np.bincount(group, is_gone, minlength=int(begins.sum())).astype(np.int64)
    there = np.bincount(group, minlength=len(taken)) - taken
    rank = np.arange(len(order)) - np.flatnonzero(begins)[group]
    # Within a group the rows that are there come first.
    stays = ~is_gone & (rank >= taken[group])
    return rows.where(np.sort(order[stays])), int(np.maximum(taken - there, 0).sum())


class ToldRows(NamedTuple):
    """What a walk has written: codes, numbers of instances, starts and ends."""

    codes: Integers
    numbers: Integers
    starts: Integers
    ends: Integers

    def where(self, chosen: Integers | Booleans | slice) -> ToldRows:
        """The rows at some places."""
        return ToldRows(*(column[chosen] for column in self))

    def coded(self, first: int, stop: int) -> ToldRows:
        """The rows whose codes are in a range; they are sorted by code."""
        low, high = np.searchsorted(self.codes, [first, stop])
        return self.where(slice(low, high))


NOTHING = ToldRows(*(np.empty(0, np.int64) for _ in range(4)))


def joined_told(parts: Sequence[ToldRows]) -> ToldRows:
    """Rows one after the other, in no order."""
    if len(parts) == 1:
        return parts[0]
    return ToldRows(*map(np.concatenate, zip(NOTHING, *parts, strict=True)))


def differing(before: ToldRows, after: ToldRows) -> tuple[ToldRows, ToldRows]:
    """The rows that are only in the first, and those that are only in the second; all sorted."""
    is_gone, is_new = alone(np.column_stack(before), np.column_stack(after))
    return before.where(is_gone), after.where(is_new)


def _group_beginnings(columns: Sequence[Integers]) -> Booleans:
    """Where equal rows begin, in sorted ones."""
    begins = np.ones(len(columns[0]), np.bool_)
    begins[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return begins
