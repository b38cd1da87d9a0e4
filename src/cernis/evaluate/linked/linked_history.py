"""What a walk over linked instances went over, and what it has written, query by query.

Rows of some instances can be taken out, to be written again: they are voided where they lie, so
that the rows of all other instances stay as they are.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cernis.evaluate.linked.linked_rows import (
    FiredRows,
    ToldRows,
    joined_rows,
    joined_told,
)
from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.linked.linked_tables import KIND_BITS, LINE

_VOID = np.iinfo(np.int64).min
_CODES = 63
_MOST_CHUNKS = 64
"""Rows of more queries than these are put together."""


class InstanceFlags:
    """Which instances are meant: a flag for each line in which one begins, and for each number.

    If most are meant, all are: to take out rows of most instances costs more than to write all.
    """

    def __init__(self, flags: Booleans, handles: list[Integers]) -> None:
        self.are_all = 2 * int(np.count_nonzero(flags)) > len(flags)
        self._flags, self._all = flags | self.are_all, handles
        self.only: list[Integers] | None = None
        """By kind: the handles of those that are meant; None if all are."""
        self._bases = np.cumsum([0, *map(len, handles[:-1])])
        if not self.are_all:
            self._divide(handles)

    def _divide(self, handles: list[Integers]) -> None:
        flags = self._flags
        chosen = [flags[each // LINE] for each in handles]
        self.only = [each[own] for each, own in zip(handles, chosen, strict=True)]
        self._by_number = np.concatenate([*chosen, np.zeros(1, np.bool_)])

    def other_handles(self) -> list[Integers]:
        """By kind: the handles of those that are not meant."""
        return [each[~self._flags[each // LINE]] for each in self._all]

    def of_rows(self, rows: FiredRows) -> Booleans:
        """Which rows are of instances that are meant."""
        chosen: Booleans = self._flags[rows.instances >> KIND_BITS + LINE.bit_length() - 1]
        return chosen

    def of_told(self, rows: ToldRows) -> Booleans:
        """The same for rows that were written."""
        kinds = rows.codes >> _CODES.bit_length()
        kinds %= len(self._bases)
        chosen: Booleans = self._by_number[self._bases[kinds] + rows.numbers]
        return chosen


class RecordLog:
    """The records since some time, by query."""

    def __init__(self) -> None:
        self._chunks: list[FiredRows] = []

    def append(self, rows: FiredRows) -> None:
        """Add records in the order of time."""
        if len(rows.times):
            self._chunks.append(rows)
        if len(self._chunks) > _MOST_CHUNKS:
            self.all()

    @property
    def count(self) -> int:
        """How many records there are."""
        return sum(len(rows.times) for rows in self._chunks)

    def count_up_to(self, time: int) -> int:
        """How many of them lie up to a time."""
        return sum(int(np.searchsorted(rows.times, time, side="right")) for rows in self._chunks)

    def all(self) -> FiredRows:
        """All records, in the order of time."""
        rows = joined_rows(self._chunks).in_order()
        self._chunks = [rows]
        return rows

    def keep(self, rows: FiredRows) -> None:
        """Have these records only."""
        self._chunks = [rows]

    def take_out(self, flags: InstanceFlags) -> FiredRows:
        """Take out the records of some instances, in the order of time."""
        if flags.are_all:
            taken, self._chunks = self._chunks, []
            return joined_rows(taken).in_order()
        taken, kept = [], []
        for rows in self._chunks:
            chosen = flags.of_rows(rows)
            places = np.flatnonzero(chosen)
            if len(places):
                taken.append(rows.where(places))
            kept.append(rows.where(~chosen) if len(places) else rows)
        self._chunks = [rows for rows in kept if len(rows.times)]
        return joined_rows(taken).in_order()


class ToldHistory:
    """Rows that were written, by query; those that a window has passed are forgotten.

    `until` is the column that says up to when a row counts.
    """

    def __init__(self, until: Literal["starts", "ends"]) -> None:
        self._until = until
        self._chunks: list[ToldRows] = []
        self._is_owned: list[bool] = []
        """May the last column of a chunk be written?"""

    def append(self, rows: ToldRows, bound: int) -> None:
        """Add what a query has written; of the rest, only what counts after a bound is needed."""
        if len(rows.codes):
            self._chunks.append(rows)
            self._is_owned.append(False)
        if len(self._chunks) > _MOST_CHUNKS:
            self.after(bound)

    def keep(self, rows: ToldRows) -> None:
        """Have these rows only."""
        self._chunks, self._is_owned = [rows], [False]

    def after(self, bound: int) -> ToldRows:
        """All rows that count after a bound, those of each query after those of the one before."""
        rows = joined_told([self._chosen(rows, bound) for rows in self._chunks])
        self.keep(rows)
        return rows

    def _chosen(self, rows: ToldRows, bound: int) -> ToldRows:
        counts = self._column(rows) > bound
        return rows if counts.all() else rows.where(counts)

    def _column(self, rows: ToldRows) -> Integers:
        return rows.starts if self._until == "starts" else rows.ends

    def take_out(self, flags: InstanceFlags, bound: int) -> ToldRows:
        """Take out the rows of some instances; gives those that count after a bound."""
        if flags.are_all:
            rows, self._chunks, self._is_owned = self.after(bound), [], []
            return rows
        taken = []
        for number, rows in enumerate(self._chunks):
            places = np.flatnonzero(flags.of_told(rows))
            if len(places):
                taken.append(self._chosen(rows.where(places), bound))
                self._column(self._owned(number))[places] = _VOID
        return joined_told(taken)

    def _owned(self, number: int) -> ToldRows:
        """A chunk of which nobody else has the column that is to be written."""
        if not self._is_owned[number]:
            rows = self._chunks[number]
            column = self._column(rows).copy()
            self._chunks[number] = rows._replace(**{self._until: column})
            self._is_owned[number] = True
        return self._chunks[number]
