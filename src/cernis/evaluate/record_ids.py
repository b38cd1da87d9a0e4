"""Records by their ids: which are there, which come again, and which one is to be taken back.

An id names one record of its relation for as long as that is in the window. A record whose id is
there already is a duplicate, whatever else it says. A retraction takes back the record that has its
id, and the id is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cernis.evaluate.changes.stores import Rows
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.knowledge.ground_values import Value
from cernis.records.record_columns import Coded, Column, RecordColumns

_ROOM: Final = 1 << 12
_WASTE: Final = 4
"""Ids get new numbers when so many times as many have one as are there."""


@dataclass(slots=True)
class Sorted:
    """What becomes of records with ids, by their rows."""

    come: Integers
    gone: Integers
    """The numbers of earlier records that are taken back."""
    duplicates: int
    unmatched: Integers
    """Retractions that find nothing to take back."""


@dataclass(slots=True)
class Ledger:
    """The records of one relation that are there, by id."""

    _numbers: dict[Value, int] = field(default_factory=dict)
    _is_there: Booleans = field(default_factory=lambda: np.zeros(0, np.bool_))
    _rows: list[Array] = field(default_factory=list)
    """Columns of the records by number: arguments first."""
    _width: int = 0
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def sort(self, part: RecordColumns) -> tuple[Sorted, Integers]:
        """What becomes of records, taken in order of arrival and as they are; and their numbers."""
        assert part.ids is not None
        numbers = self._numbered(listed(part.ids))
        order = np.lexsort((np.arange(len(part)), part.times[0], numbers))
        ranked = numbers[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = ranked[1:] != ranked[:-1]
        retracts = np.zeros(len(part), np.bool_) if part.retracts is None else part.retracts
        asked = np.isin(ranked, numbers[retracts]) if retracts.any() else np.zeros_like(first)
        # Without retractions, the first of an id counts unless one is there.
        fresh = first & ~asked & ~self._is_there[ranked]
        simple = Sorted(
            order[fresh], np.empty(0, np.int64), int(np.count_nonzero(~asked & ~fresh)),
            np.empty(0, np.int64),
        )  # fmt: skip
        found = self._one_by_one(order[asked], numbers, retracts, simple) if asked.any() else simple
        return found, numbers

    def _one_by_one(
        self, rows: Integers, numbers: Integers, retracts: Booleans, known: Sorted
    ) -> Sorted:
        """Records and retractions of one id in turn: what is there at the end, and what not."""
        come: dict[int, int] = {}
        gone: set[int] = set()
        unmatched: list[int] = []
        there = {int(n) for n in np.unique(numbers[rows]) if self._is_there[n]}
        duplicates = known.duplicates
        for row in rows.tolist():
            number = int(numbers[row])
            if not retracts[row]:
                if number in there:
                    duplicates += 1
                else:
                    there.add(number)
                    come[number] = row
            elif number not in there:
                unmatched.append(row)
            else:
                there.remove(number)
                if come.pop(number, None) is None:
                    gone.add(number)
        more = np.array(list(come.values()), np.int64)
        return Sorted(
            np.concatenate([known.come, more]), np.array(sorted(gone), np.int64), duplicates,
            np.array(unmatched, np.int64),
        )  # fmt: skip

    def _numbered(self, ids: list[Value]) -> Integers:
        """The numbers of ids; new ones get some."""
        known = list(map(self._numbers.get, ids))
        if None in known:
            first = len(self._numbers)
            new = dict.fromkeys(each for each, at in zip(ids, known, strict=True) if at is None)
            self._numbers.update(zip(new, range(first, first + len(new)), strict=True))
            known = list(map(self._numbers.get, ids))
            self._let_grow(len(self._numbers))
        return np.array(known, np.int64)

    def _let_grow(self, count: int) -> None:
        if count > len(self._is_there):
            more = max(count, 2 * len(self._is_there), _ROOM) - len(self._is_there)
            self._is_there = np.concatenate([self._is_there, np.zeros(more, np.bool_)])
            self._rows = [np.concatenate([own, np.zeros(more, own.dtype)]) for own in self._rows]

    def rows(self, numbers: Integers) -> Rows:
        """The records that have some numbers."""
        columns = [column[numbers] for column in self._rows]
        return Rows(columns[: self._width], columns[self._width :])

    def take_out(self, numbers: Integers) -> None:
        """Forget records."""
        self._is_there[numbers] = False
        self.count -= len(numbers)

    def put_in(self, numbers: Integers, rows: Rows) -> None:
        """Remember records by their numbers."""
        columns = [*rows.arguments, *rows.columns]
        if not self._rows:
            self._width = len(rows.arguments)
            self._rows = [np.zeros(len(self._is_there), column.dtype) for column in columns]
        for at, column in enumerate(columns):
            kind = np.promote_types(self._rows[at].dtype, column.dtype)
            self._rows[at] = self._rows[at].astype(kind, copy=False)
            self._rows[at][numbers] = column
        self._is_there[numbers] = True
        self.count += len(numbers)

    def forget(self, edge: int) -> None:
        """Forget records that are over at an edge: their time, or end, is not after it."""
        if not self._rows:
            return
        column = self._rows[self._width + (len(self._rows) - self._width > 1)]
        over = self._is_there & (column <= edge)
        self.count -= int(np.count_nonzero(over))
        self._is_there &= ~over
        if len(self._numbers) > _WASTE * max(self.count, _ROOM):
            ids, rows = self.known()
            self._numbers, self._rows, self.count = {}, [], 0
            self._is_there = np.zeros(0, np.bool_)
            self.enter(ids, rows)

    def known(self) -> tuple[list[Value], Rows]:
        """The ids that are there, and their records."""
        there = np.flatnonzero(self._is_there)
        ids = list(self._numbers)
        return [ids[at] for at in there.tolist()], self.rows(there)

    def enter(self, ids: Sequence[Value], rows: Rows) -> None:
        """Remember records by their ids."""
        if len(ids):
            self.put_in(self._numbered(list(ids)), rows)


def listed(column: Column) -> list[Value]:
    """The ids of a column, one for each record."""
    if isinstance(column, Coded):
        values = column.values[:]
        return [values[at] for at in column.codes.tolist()]
    return column.tolist()  # type: ignore[no-any-return]
