"""Input fluents that were given as intervals, as tables of maximal intervals for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Floats, Integers
from cernis.records.record_columns import (
    INFINITE,
    RecordColumns,
    RecordKind,
    Records,
    coding_of,
)
from cernis.tables.interval_tables import FluentTable


@dataclass(slots=True)
class InputIntervals:
    """The intervals of an input fluent, and of which one each record is a part.

    `chances` are the probabilities of records, if any is uncertain; such intervals stand as they
    were given, one for each record.
    """

    table: FluentTable
    chances: Floats | None
    places: Integers
    """The numbers of the records."""
    rows: Integers
    """For each record the interval that it is a part of, counted through the table."""


def input_intervals(records: Records | None) -> dict[Relation, InputIntervals]:
    """The input fluents of which there are records on intervals that were not taken back."""
    parts = records.relations.items() if records else ()
    return {
        form.relation: _intervals(part)
        for form, part in sorted(parts, key=lambda each: each[0].relation)
        if form.kind is RecordKind.INTERVAL and len(part)
    }


def _intervals(part: RecordColumns) -> InputIntervals:
    if part.gone is not None:
        part = part.take(part.gone == INFINITE)
    (values, value_domain), *coded = [coding_of(column) for column in part.columns]
    arguments = [column for column, _ in coded]
    groups, heads = _numbered([*arguments, values])
    starts, ends = part.times[1], part.times[2]
    order = np.lexsort((ends, starts, groups))
    if part.chances is None:
        is_first = _is_first(groups[order], starts[order], ends[order])
    else:
        is_first = np.ones(len(order), np.bool_)
    rows = np.empty(len(order), np.int64)
    rows[order] = np.cumsum(is_first) - 1
    firsts = order[is_first]
    last = np.zeros(len(firsts), np.int64)
    np.maximum.at(last, rows, ends)
    counts = np.bincount(groups[firsts], minlength=len(heads))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    table = FluentTable(
        [column[heads] for column in arguments], values[heads], [domain for _, domain in coded],
        value_domain, offsets, starts[firsts], last,
    )  # fmt: skip
    chances = None if part.chances is None else part.chances[firsts]
    return InputIntervals(table, chances, part.places, rows)


def _numbered(columns: Sequence[Array]) -> tuple[Integers, Integers]:
    """Equal numbers for rows that are equal in all columns, and a row of each number."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1].ravel()
        numbers = numbers * (int(codes.max(initial=0)) + 1) + codes
        numbers = np.unique(numbers, return_inverse=True)[1].ravel()
    _, heads = np.unique(numbers, return_index=True)
    return numbers, heads


def _is_first(groups: Integers, starts: Integers, ends: Integers) -> Array:
    """Which of the intervals, sorted by group and start, touches none that stands before it.

    Ends become ranks, so that the largest end so far of each group is a running maximum over all.
    """
    distinct, ranks = np.unique(ends, return_inverse=True)
    reach = np.maximum.accumulate(groups * len(distinct) + ranks.ravel())
    is_first = np.ones(len(groups), np.bool_)
    before = distinct[reach[:-1] - groups[:-1] * len(distinct)]
    is_first[1:] = (groups[1:] != groups[:-1]) | (starts[1:] > before)
    return is_first
