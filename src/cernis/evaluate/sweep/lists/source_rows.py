"""Sources of programs over lists as rows of their relations, and rows as sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.sweep.lanes import ListSource, is_hidden

_NONE = np.empty(0, np.int64)


def sorted_intervals(parts: Sequence[BitIntervals]) -> BitIntervals:
    """Intervals by number, key, start and end."""
    if not parts:
        return BitIntervals(_NONE, _NONE, _NONE, _NONE)
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    order = np.lexsort((columns[3], columns[2], columns[1], columns[0]))
    return BitIntervals(*(column[order] for column in columns))


def of_number(intervals: BitIntervals, number: int) -> BitIntervals:
    """The intervals of the source with a number."""
    chosen = np.flatnonzero(intervals.bits == number)
    return BitIntervals(*(column[chosen] for column in intervals))


def rows_of_source(
    source: ListSource, intervals: BitIntervals, key_columns: Sequence[Array],
    encoding: ValueEncoding,
) -> StoredRows:  # fmt: skip
    """Intervals of a source as rows of its relation. Those of a hidden list have no value."""
    count = len(intervals.keys)
    by_place = dict(zip(source.positions, key_columns, strict=True))
    if is_hidden(source.relation):
        arguments, values = list(key_columns), np.zeros(count, np.int64)
    else:
        domains, value_domain = encoding.fluent(source.relation)
        arguments = [
            by_place[place] if term is None
            else np.full(count, constant_column(term, domains[place]).data[0])
            for place, term in enumerate(source.arguments)
        ]  # fmt: skip
        values = np.full(count, constant_column(source.value, value_domain).data[0])
    return StoredRows(arguments, [intervals.starts, intervals.ends, values])


def older_intervals(
    source: ListSource, number: int, rows_of: Mapping[Relation, StoredRows],
    numbers: Callable[[list[Array], int], Integers], context: Context,
) -> BitIntervals:  # fmt: skip
    """The intervals of a source that ended before the window, among rows of its relation."""
    rows = rows_of.get(source.relation)
    if rows is None:
        return BitIntervals(_NONE, _NONE, _NONE, _NONE)
    rows = rows.take(rows.columns[1] <= context.window.edge + context.window.tick)
    chosen = np.arange(len(rows))
    if not is_hidden(source.relation):
        chosen = matching_rows(source, rows, context)
    columns = [rows.arguments[place][chosen] for place in source.positions]
    keys = numbers(columns, len(chosen))
    starts, ends = rows.columns[0][chosen], rows.columns[1][chosen]
    return BitIntervals(np.full(len(chosen), number), keys, starts, ends)


def matching_rows(source: ListSource, rows: StoredRows, context: Context) -> Integers:
    """The rows of a relation that have the constants and the value of a source."""
    domains, value_domain = context.encoding.fluent(source.relation)
    counts = rows.columns[2] == constant_column(source.value, value_domain).data[0]
    for column, term, domain in zip(rows.arguments, source.arguments, domains, strict=True):
        if term is not None:
            counts &= column == constant_column(term, domain).data[0]
    return np.flatnonzero(counts)
