"""Answers as Arrow tables: typed ones, a fluent or an event each, and one for all."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa

from cernis.answers.answer_lines import argument_text, in_order, ranked, value_text
from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Array, Integers
from cernis.knowledge.ground_values import Value
from cernis.records.arrow_arrays import as_arrow, as_text, as_texts
from cernis.records.record_columns import shown
from cernis.tables.domains import EXACT, Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable

INTERVALS: Final = pa.schema([
    ("fluent", pa.string()), ("args", pa.list_(pa.string())), ("value", pa.string()),
    ("start", pa.int64()), ("end", pa.int64()), ("open", pa.bool_()),
])  # fmt: skip
"""All intervals of all fluents. Arguments and values are text; the end is null while open."""

HAPPENINGS: Final = pa.schema([
    ("event", pa.string()), ("args", pa.list_(pa.string())), ("start", pa.int64()),
    ("occurrence", pa.int64()),
])  # fmt: skip
"""All happenings of all derived events. Only occurrences of patterns have a start; they end when
they happen."""


def fluent_frame(relation: Relation, table: FluentTable, catalogue: Catalogue) -> pa.Table:
    """The intervals of one fluent, by arguments, value and start.

    The columns are the arguments by their names in the rules, then `value, start, end, open`.
    """
    table, groups = sorted_fluent(table)
    names = argument_titles(catalogue.fluents[relation].argument_names)
    columns = {
        name: values_of(column[groups], domain)
        for name, column, domain in zip(names, table.arguments, table.domains, strict=True)
    }
    columns["value"] = values_of(table.values[groups], table.value_domain)
    return pa.table({**columns, **_edges(table)})


def event_frame(relation: Relation, table: EventTable, catalogue: Catalogue) -> pa.Table:
    """The happenings of one event, by arguments and time.

    The columns are the arguments by their names in the rules, then `occurrence`. Occurrences of
    patterns have a `start` before it, and their end is their time.
    """
    table = sorted_event(table)
    names = argument_titles(catalogue.events[relation].argument_names)
    columns = {
        name: values_of(column, domain)
        for name, column, domain in zip(names, table.arguments, table.domains, strict=True)
    }
    if table.starts is not None:
        columns["start"] = as_arrow(table.starts)
    return pa.table({**columns, "occurrence": as_arrow(table.times)})


def all_intervals(answer: Answer) -> pa.Table:
    """The intervals of all fluents, by fluent, arguments, value and start."""
    parts = [pa.Table.from_batches([], INTERVALS)]
    for relation, given in sorted(answer.fluents.items()):
        table, _ = sorted_fluent(given)
        name = pa.repeat(as_text(relation.name), len(table.starts))
        parts.append(pa.table({"fluent": name, **interval_columns(table)}, INTERVALS))
    return pa.concat_tables(parts)


def interval_columns(table: FluentTable) -> dict[str, pa.Array]:
    """The columns of `INTERVALS` but the fluent's name, in the order of the table."""
    groups = _groups(table)
    arguments = zip(table.arguments, table.domains, strict=True)
    return {
        "args": lists_of([(column[groups], domain) for column, domain in arguments], len(groups)),
        "value": texts_of(table.values[groups], table.value_domain),
        **_edges(table),
    }


def all_happenings(answer: Answer) -> pa.Table:
    """The happenings of all derived events, by event, arguments and time."""
    parts = [pa.Table.from_batches([], HAPPENINGS)]
    for relation, given in sorted(answer.events.items()):
        table = sorted_event(given)
        name = pa.repeat(as_text(relation.name), len(table))
        parts.append(pa.table({"event": name, **happening_columns(table)}, HAPPENINGS))
    return pa.concat_tables(parts)


def happening_columns(table: EventTable) -> dict[str, pa.Array]:
    """The columns of `HAPPENINGS` but the event's name, in the order of the table."""
    arguments = list(zip(table.arguments, table.domains, strict=True))
    starts = table.starts
    return {
        "args": lists_of(arguments, len(table)),
        "start": pa.nulls(len(table), pa.int64()) if starts is None else as_arrow(starts),
        "occurrence": as_arrow(table.times),
    }


_TAKEN: Final = frozenset(
    {"value", "start", "end", "open", "occurrence", "query", "arrival", "probability", "retracts"}
)
"""Titles of other columns, in results or in tables of records."""


def argument_titles(names: tuple[str, ...]) -> list[str]:
    """The names of arguments as titles: in lower case, changed where other columns have the same.

    >>> argument_titles(("Vessel1", "FuelTank", "HTTPCode", "Start", "fuel_tank"))
    ['vessel1', 'fuel_tank', 'http_code', 'start_', 'fuel_tank_']
    """
    titles: list[str] = []
    for name in names:
        parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
        title = parted.lower().lstrip("_") or "argument"
        while title in _TAKEN or title in titles:
            title += "_"
        titles.append(title)
    return titles


def sorted_fluent(table: FluentTable) -> tuple[FluentTable, Integers]:
    """The table in order, and the group of each interval."""
    columns = [ranked(column, domain, argument_text, "") for column, domain in table.columns()[:-1]]
    columns.append(ranked(table.values, table.value_domain, value_text, ""))
    order, _ = in_order(columns, len(table))
    table = table.take(order)
    return table, _groups(table)


def _groups(table: FluentTable) -> Integers:
    """The group of each interval."""
    return np.repeat(np.arange(len(table)), np.diff(table.offsets))


def sorted_event(table: EventTable) -> EventTable:
    """The happenings of an event by arguments and time."""
    return table.take(event_order(table))


def event_order(table: EventTable) -> Integers:
    """The rows of an event by arguments and time."""
    columns = [
        ranked(column, domain, argument_text, "")
        for column, domain in zip(table.arguments, table.domains, strict=True)
    ]
    _, keys = in_order(columns, len(table))
    starts = table.times if table.starts is None else table.starts
    return np.lexsort((table.times, starts, keys))


def _edges(table: FluentTable) -> dict[str, pa.Array]:
    is_open = table.ends == INFINITY
    return {
        "start": as_arrow(table.starts),
        "end": as_arrow(table.ends, is_open),
        "open": as_arrow(is_open),
    }


def _distinct(column: Array, domain: Domain | None) -> tuple[list[Value], Integers]:
    """The values that are there, and which of them each row has."""
    if domain is None:
        distinct, codes = np.unique(column, return_inverse=True)
        return distinct.tolist(), codes
    values, codes = domain.distinct(column)
    return list(values), codes


def values_of(column: Array, domain: Domain | None) -> pa.Array:
    """A column as integers, floats or text, whatever all its values are; text if they differ.

    Whole numbers among floats are floats, if they are exact as such.
    """
    if domain is None:
        return as_arrow(column)
    values, codes = _distinct(column, domain)
    kinds = {type(value) for value in values}
    numbers = _whole_numbers(values) if kinds == {int} else None
    if numbers is not None:
        return as_arrow(numbers).take(as_arrow(codes))
    if (
        kinds
        and kinds <= {int, float}
        and all(-EXACT <= v <= EXACT for v in values if type(v) is int)
    ):
        return as_arrow(np.array(values, np.float64)).take(as_arrow(codes))
    return as_texts(map(shown, values)).take(as_arrow(codes))


def texts_of(column: Array, domain: Domain | None) -> pa.Array:
    """A column as texts."""
    values, codes = _distinct(column, domain)
    return _spelled(values).take(as_arrow(codes))


def _spelled(values: list[Value]) -> pa.Array:
    """Values as text. Arrow spells whole numbers as we do, and sooner."""
    numbers = _whole_numbers(values) if set(map(type, values)) == {int} else None
    return as_texts(map(shown, values)) if numbers is None else as_arrow(numbers).cast(pa.string())


def _whole_numbers(values: list[Value]) -> Integers | None:
    """Whole numbers as an array; None if some are too large for one."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return None


def lists_of(columns: list[tuple[Array, Domain | None]], length: int) -> pa.Array:
    """The texts of several columns as one list for each row."""
    width = len(columns)
    offsets = as_arrow(np.arange(length + 1, dtype=np.int32) * np.int32(width))
    texts = [texts_of(*column) for column in columns]
    if width == 1:
        return pa.ListArray.from_arrays(offsets, texts[0])
    below = pa.concat_arrays([as_texts([]), *texts])
    across = np.arange(length * width).reshape(width, length).T.ravel()
    return pa.ListArray.from_arrays(offsets, below.take(as_arrow(across)))
