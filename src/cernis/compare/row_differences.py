"""Two tables of intervals or happenings against each other, column by column.

Rows of both tables get numbers for their instances, equal where arguments and value are. Rows that
are in both are set apart first. What is left of one table can only overlap what is left of the
other, as the intervals of a pair are disjoint; so all else is said of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.knowledge.ground_values import Value
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

Columns: TypeAlias = Sequence[tuple[Array, Domain | None]]


@dataclass(frozen=True, slots=True)
class TimedRows:
    """Rows of a relation: columns of arguments and values, and where each starts and ends.

    A happening ends where it starts; the occurrence of a pattern has a start.
    """

    columns: Columns
    starts: Integers
    ends: Integers

    def __len__(self) -> int:
        return len(self.starts)


def interval_rows(table: FluentTable | None, width: int) -> TimedRows:
    """The intervals of a fluent."""
    if table is None:
        return nothing(width + 1)
    groups = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    columns = [(column[groups], domain) for column, domain in table.columns()]
    return TimedRows(columns, table.starts, table.ends)


def happening_rows(table: EventTable | None, width: int) -> TimedRows:
    """The happenings of an event."""
    if table is None:
        return nothing(width)
    columns = list(zip(table.arguments, table.domains, strict=True))
    starts = table.times if table.starts is None else table.starts
    return TimedRows(columns, starts, table.times)


def nothing(width: int) -> TimedRows:
    """No rows of so many columns."""
    empty = np.empty(0, np.int64)
    return TimedRows([(empty, None)] * width, empty, empty)


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """What is only in the first of two tables, and what only in the second: masks of rows.

    Of what is only in one, `moved` overlaps something of the same pair in the other. `gained` and
    `lost` are lengths of time in which only the second, or only the first, has a pair.
    """

    only_old: Booleans
    only_new: Booleans
    old_moved: Booleans
    new_moved: Booleans
    time_before: int
    time_after: int
    gained: int
    lost: int


def differences(old: TimedRows, new: TimedRows, run_end: int) -> RowDifferences:
    """What differs between two tables of a relation.

    For lengths of time, an open interval goes on to the end of the run.
    """
    old_ids, new_ids = instance_numbers(old.columns, new.columns, len(old), len(new))
    only_old, only_new = _unequal(old, old_ids, new, new_ids)
    old_ends, new_ends = np.minimum(old.ends, run_end), np.minimum(new.ends, run_end)
    first = _Left(old_ids[only_old], old.starts[only_old], old_ends[only_old])
    second = _Left(new_ids[only_new], new.starts[only_new], new_ends[only_new])
    overlaps_old, overlaps_new = first.overlap_with(second), second.overlap_with(first)
    old_moved, new_moved = np.zeros(len(old), np.bool_), np.zeros(len(new), np.bool_)
    old_moved[only_old], new_moved[only_new] = overlaps_old > 0, overlaps_new > 0
    return RowDifferences(
        only_old, only_new, old_moved, new_moved,
        int((old_ends - old.starts).sum()), int((new_ends - new.starts).sum()),
        int((second.ends - second.starts).sum() - overlaps_new.sum()),
        int((first.ends - first.starts).sum() - overlaps_old.sum()),
    )  # fmt: skip


def instance_numbers(
    old: Columns, new: Columns, old_length: int, new_length: int
) -> tuple[Integers, Integers]:
    """A number for each row, equal where all columns are equal, in both tables."""
    numbers = np.zeros(old_length + new_length, np.int64)
    for (first, first_domain), (second, second_domain) in zip(old, new, strict=True):
        codes, size = _shared_codes(first, first_domain, second, second_domain)
        numbers = numbers * size + codes
        # Numbers stay dense, so that they never overflow.
        numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return numbers[:old_length], numbers[old_length:]


def _shared_codes(
    first: Array, first_domain: Domain | None, second: Array, second_domain: Domain | None
) -> tuple[Integers, int]:
    """One code for each value of two columns, whatever their domains, and how many there are."""
    if first_domain is second_domain and first_domain is not None:
        return np.concatenate([first, second]).astype(np.int64), len(first_domain)
    known: dict[tuple[type, Value], int] = {}
    parts = [_recoded(*each, known) for each in ((first, first_domain), (second, second_domain))]
    return np.concatenate(parts), max(len(known), 1)


def _recoded(
    column: Array, domain: Domain | None, known: dict[tuple[type, Value], int]
) -> Integers:
    if domain is None:
        distinct, codes = np.unique(column, return_inverse=True)
        values: Sequence[Value] = distinct.tolist()
    else:
        values, codes = domain.distinct(column)
    table = [known.setdefault((type(value), value), len(known)) for value in values]
    return np.array(table, np.int64)[codes] if table else np.empty(0, np.int64)


def _unequal(
    old: TimedRows, old_ids: Integers, new: TimedRows, new_ids: Integers
) -> tuple[Booleans, Booleans]:
    """The rows of each table that the other does not have."""
    ids = np.concatenate([old_ids, new_ids])
    starts = np.concatenate([old.starts, new.starts])
    ends = np.concatenate([old.ends, new.ends])
    order = np.lexsort((ends, starts, ids))
    same = (np.diff(ids[order]) == 0) & (np.diff(starts[order]) == 0) & (np.diff(ends[order]) == 0)
    # A table has no row twice: equal rows are one of each table.
    is_shared = np.zeros(len(ids), np.bool_)
    is_shared[order[:-1][same]] = True
    is_shared[order[1:][same]] = True
    return ~is_shared[: len(old)], ~is_shared[len(old) :]


@dataclass(frozen=True, slots=True)
class _Left:
    """Intervals of some instances, disjoint for each."""

    ids: Integers
    starts: Integers
    ends: Integers

    def overlap_with(self, other: _Left) -> Integers:
        """For each interval, how many points of it the other intervals of the instance have.

        Both are sorted by instance and time; lengths up to a point are sums up to the last interval
        that starts before it, less what of that one lies after the point.
        """
        if not len(self.ids) or not len(other.ids):
            return np.zeros(len(self.ids), np.int64)
        times, ranks = np.unique(
            np.concatenate([self.starts, self.ends, other.starts]), return_inverse=True
        )
        size, count, width = len(self.ids), len(other.ids), np.int64(len(times) + 1)
        keys = other.ids * width + ranks[2 * size : 2 * size + count]
        order = np.argsort(keys, kind="stable")
        sums = np.concatenate([[0], np.cumsum((other.ends - other.starts)[order])])
        sorted_keys, sorted_ends = keys[order], other.ends[order]
        sorted_ids = other.ids[order]

        def up_to(points: Integers, point_ranks: Integers) -> Integers:
            place = np.searchsorted(sorted_keys, self.ids * width + point_ranks, "left")
            last = np.maximum(place - 1, 0)
            after = np.where(
                (place > 0) & (sorted_ids[last] == self.ids),
                np.maximum(sorted_ends[last] - points, 0),
                0,
            )
            return sums[place] - after

        return up_to(self.ends, ranks[size : 2 * size]) - up_to(self.starts, ranks[:size])
