"""Records by their ids: which are present, which are duplicates, and which are retracted.

An id names one record of its relation for as long as that record is in the window. A record whose
id is present already is a duplicate, whatever else it says. A retraction removes the record that
has its id, and then the id is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cernis.evaluate.stores import StoredRows
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.knowledge.ground_values import Value
from cernis.records.record_columns import Coded, Column, RecordColumns

_ROOM: Final = 1 << 12
_WASTE: Final = 4
"""Ids are numbered again when this many times as many ids have a number as are present."""


@dataclass(slots=True)
class SortedRecords:
    """What becomes of records with ids."""

    added_rows: Integers
    retracted_numbers: Integers
    """The numbers of earlier records that are retracted."""
    duplicates: int
    unmatched_rows: Integers
    """The rows of retractions for which no record is present."""


@dataclass(slots=True)
class RecordsById:
    """The records of one relation that are present, by id."""

    _numbers: dict[Value, int] = field(default_factory=dict)
    _is_present: Booleans = field(default_factory=lambda: np.zeros(0, np.bool_))
    _rows: list[Array] = field(default_factory=list)
    """Columns of the records by number: arguments first."""
    _width: int = 0
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def sort_records(self, part: RecordColumns) -> tuple[SortedRecords, Integers]:
        """What becomes of records, in order of arrival and then of rows; and their numbers."""
        assert part.ids is not None
        numbers = self._numbered(ids_in_order(part.ids))
        order = np.lexsort((np.arange(len(part)), part.times[0], numbers))
        ordered = numbers[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = ordered[1:] != ordered[:-1]
        retracts = np.zeros(len(part), np.bool_) if part.retracts is None else part.retracts
        has_retraction = np.zeros_like(is_first)
        if retracts.any():
            has_retraction = np.isin(ordered, numbers[retracts])
        # Without retractions, the first record of an id counts unless one is present.
        is_added = is_first & ~has_retraction & ~self._is_present[ordered]
        sorted_records = SortedRecords(
            order[is_added], np.empty(0, np.int64),
            int(np.count_nonzero(~has_retraction & ~is_added)), np.empty(0, np.int64),
        )  # fmt: skip
        if has_retraction.any():
            rows = order[has_retraction]
            sorted_records = self._follow_each(rows, numbers, retracts, sorted_records)
        return sorted_records, numbers

    def _follow_each(
        self, rows: Integers, numbers: Integers, retracts: Booleans, others: SortedRecords
    ) -> SortedRecords:
        """Follow records and retractions of the same ids one by one; the result adds to others."""
        added: dict[int, int] = {}
        retracted: set[int] = set()
        unmatched: list[int] = []
        present = {int(number) for number in np.unique(numbers[rows]) if self._is_present[number]}
        duplicates = others.duplicates
        for row in rows.tolist():
            number = int(numbers[row])
            if not retracts[row]:
                if number in present:
                    duplicates += 1
                else:
                    present.add(number)
                    added[number] = row
            elif number not in present:
                unmatched.append(row)
            else:
                present.remove(number)
                if added.pop(number, None) is None:
                    retracted.add(number)
        more = np.array(list(added.values()), np.int64)
        return SortedRecords(
            np.concatenate([others.added_rows, more]), np.array(sorted(retracted), np.int64),
            duplicates, np.array(unmatched, np.int64),
        )  # fmt: skip

    def _numbered(self, ids: list[Value]) -> Integers:
        """The numbers of ids; ids that have no number yet get one."""
        numbers = list(map(self._numbers.get, ids))
        if None in numbers:
            first = len(self._numbers)
            new = dict.fromkeys(
                record_id for record_id, number in zip(ids, numbers, strict=True) if number is None
            )
            self._numbers.update(zip(new, range(first, first + len(new)), strict=True))
            numbers = list(map(self._numbers.get, ids))
            self._make_room(len(self._numbers))
        return np.array(numbers, np.int64)

    def _make_room(self, count: int) -> None:
        if count > len(self._is_present):
            more = max(count, 2 * len(self._is_present), _ROOM) - len(self._is_present)
            self._is_present = np.concatenate([self._is_present, np.zeros(more, np.bool_)])
            self._rows = [
                np.concatenate([column, np.zeros(more, column.dtype)]) for column in self._rows
            ]

    def rows(self, numbers: Integers) -> StoredRows:
        """The records that have some numbers."""
        columns = [column[numbers] for column in self._rows]
        return StoredRows(columns[: self._width], columns[self._width :])

    def remove(self, numbers: Integers) -> None:
        """Forget records."""
        self._is_present[numbers] = False
        self.count -= len(numbers)

    def insert(self, numbers: Integers, rows: StoredRows) -> None:
        """Remember records by their numbers."""
        columns = [*rows.arguments, *rows.columns]
        if not self._rows:
            self._width = len(rows.arguments)
            self._rows = [np.zeros(len(self._is_present), column.dtype) for column in columns]
        for position, column in enumerate(columns):
            dtype = np.promote_types(self._rows[position].dtype, column.dtype)
            self._rows[position] = self._rows[position].astype(dtype, copy=False)
            self._rows[position][numbers] = column
        self._is_present[numbers] = True
        self.count += len(numbers)

    def forget(self, edge: int) -> None:
        """Forget records that are over at an edge: their time, or end, is not after it."""
        if not self._rows:
            return
        column = self._rows[self._width + (len(self._rows) - self._width > 1)]
        over = self._is_present & (column <= edge)
        self.count -= int(np.count_nonzero(over))
        self._is_present &= ~over
        if len(self._numbers) > _WASTE * max(self.count, _ROOM):
            ids, rows = self.present()
            self._numbers, self._rows, self.count = {}, [], 0
            self._is_present = np.zeros(0, np.bool_)
            self.restore(ids, rows)

    def present(self) -> tuple[list[Value], StoredRows]:
        """The ids that are present, and their records."""
        numbers = np.flatnonzero(self._is_present)
        ids = list(self._numbers)
        return [ids[number] for number in numbers.tolist()], self.rows(numbers)

    def restore(self, ids: Sequence[Value], rows: StoredRows) -> None:
        """Remember records by their ids."""
        if len(ids):
            self.insert(self._numbered(list(ids)), rows)


def ids_in_order(column: Column) -> list[Value]:
    """The ids of a column, one for each record."""
    if isinstance(column, Coded):
        values = column.values[:]
        return [values[code] for code in column.codes.tolist()]
    return column.tolist()  # type: ignore[no-any-return]
