"""Data frames, Arrow tables and plain Python data as predicates: a row is a fact.

| given | facts of a predicate with |
| --- | --- |
| a table of pandas, polars or Arrow, or a DataFrame of Spark | an argument for each column |
| a list of tuples, or of mappings that have the same keys | an argument for each field |
| a mapping from names to lists | an argument for each list |
| a mapping from values to values | two arguments |
| a list of values | one argument |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from cernis.errors import DataError
from cernis.knowledge.fact_tables import FactTable, fact_table
from cernis.knowledge.ground_values import Value
from cernis.syntax.time_scale import NANOSECONDS, UNITS, FinerThanUnit, TimeScale

if TYPE_CHECKING:
    import pyarrow as pa

_TRUTH: Final = {True: "true", False: "false"}
SECONDS: Final = TimeScale()


def table_of_frame(source: Any, name: str, scale: TimeScale = SECONDS) -> FactTable:
    """The rows of a table of any kind as facts of a predicate; dates become time-points.

    What cannot be a fact, such as a missing value, is a DataError that says where it is.

    >>> table = table_of_frame([{"bed": "b1", "floor": 2}, {"bed": "b2", "floor": 3}], "bed")
    >>> [column.name for column in table.columns], list(table.rows())
    (['bed', 'floor'], [('b1', 2), ('b2', 3)])
    """
    described = f"the facts of {name}"
    table = _arrow_table(source, described)
    if table is not None:
        return _of_arrow(table, name, described, scale)
    columns = _columns(source, described)
    for title, values in columns.items():
        columns[title] = [
            python_value(value, f"{described}: {_place(row, title)}", scale)
            for row, value in enumerate(values, 1)
        ]
    titles = [str(title) for title in columns]
    return fact_table((name, len(titles)), list(columns.values()), titles)


def _place(row: int, title: object) -> str:
    return f"row {row} of column `{title}`"


def _arrow_table(source: Any, described: str) -> pa.Table | None:
    """The Arrow table of a data frame of any library; None of what is none."""
    # Spark gives its rows to the driver; no other library has a method of this name.
    collect = getattr(source, "toArrow", None)
    if callable(collect):
        source = collect()
    if not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "__arrow_c_array__"):
        return None
    import pyarrow as pa

    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    try:
        return source if isinstance(source, pa.Table) else pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"{described}: {error}") from None


def _of_arrow(table: pa.Table, name: str, described: str, scale: TimeScale) -> FactTable:
    columns = [
        column_values(column, title, described, scale)
        for title, column in zip(table.column_names, table.columns, strict=True)
    ]
    return fact_table((name, len(columns)), columns, table.column_names, table.num_rows)


def column_values(
    column: pa.ChunkedArray, title: str, described: str, scale: TimeScale = SECONDS
) -> Sequence[Value]:
    """The values of a column of Arrow's, each of which must be there."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    types = pa.types
    if types.is_timestamp(kind) or types.is_date(kind):
        values: list[Any] = _times(column.cast(kind), f"{described}: column `{title}`", scale)
    elif types.is_boolean(kind):
        values = [_TRUTH.get(each) for each in column.to_pylist()]
    elif types.is_decimal(kind):
        values = [None if each is None else float(each) for each in column.to_pylist()]
    elif types.is_null(kind) or any(
        test(kind)
        for test in (types.is_integer, types.is_floating, types.is_string, types.is_large_string,
                     types.is_string_view)
    ):  # fmt: skip
        values = column.to_pylist()
    else:
        raise DataError(
            f"{described}: column `{title}` has the type {kind}; cast it to a number or to text"
        )
    for row, each in enumerate(values, 1):
        if each is None or each != each:
            raise DataError(_missing(f"{described}: {_place(row, title)}"))
    return values


def _missing(place: str) -> str:
    return f"{place} has no value, and a fact has one in every place; fill it or leave the row out"


def _times(column: pa.ChunkedArray, described: str, scale: TimeScale) -> list[int | None]:
    """Arrow's dates and times as time-points; those without a zone are in the scale's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_date = pa.types.is_date(column.type)
    exact = pc.cast(column, pa.timestamp("s")) if is_date else column
    unit, is_naive = exact.type.unit, exact.type.tz is None
    counts = pc.cast(exact, pa.int64()).to_pylist()
    return [
        None if count is None else _time_point(count, unit, is_naive, described, scale)
        for count in counts
    ]


def _time_point(count: int, unit: str, is_naive: bool, described: str, scale: TimeScale) -> int:
    seconds, rest = divmod(count, UNITS[unit])
    nanoseconds = rest * (NANOSECONDS // UNITS[unit])
    try:
        if is_naive and scale.zone != "UTC":
            nanoseconds += scale.nanoseconds(_clock(seconds))
        else:
            nanoseconds += seconds * NANOSECONDS
        return scale.point(nanoseconds, _clock(seconds).isoformat())
    except FinerThanUnit as error:
        raise DataError(f"{described}: {error}") from None


def _clock(seconds: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


# -- plain Python ------------------------------------------------------------------------------


def _columns(source: Any, described: str) -> dict[Any, Sequence[Any]]:
    """Lists, tuples and mappings as columns by title."""
    if isinstance(source, Mapping):
        return _columns_of_mapping(source, described)
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        raise DataError(
            f"{described} cannot be a {type(source).__name__}: give a table, a list of tuples or "
            "of mappings, or the Path of a file"
        )
    rows = list(source)
    if not rows:
        return {}
    if isinstance(rows[0], Mapping):
        return _columns_of_mappings(rows, described)
    if isinstance(rows[0], Sequence) and not isinstance(rows[0], str | bytes):
        return _columns_of_tuples(rows, described)
    return {"arg1": rows}


def _columns_of_mapping(source: Mapping[Any, Any], described: str) -> dict[Any, Sequence[Any]]:
    are_lists = [
        isinstance(each, Iterable) and not isinstance(each, str | bytes | Mapping)
        for each in source.values()
    ]
    if not all(are_lists):
        if any(are_lists) or any(isinstance(each, Mapping) for each in source.values()):
            raise DataError(
                f"{described}: a mapping has either a list for each column, or a value for each key"
            )
        return {"arg1": list(source), "arg2": list(source.values())}
    columns: dict[Any, Sequence[Any]] = {title: list(each) for title, each in source.items()}
    if len({len(column) for column in columns.values()}) > 1:
        sizes = ", ".join(f"{title} {len(column)}" for title, column in columns.items())
        raise DataError(f"{described}: the columns differ in length: {sizes}")
    return columns


def _columns_of_mappings(rows: Sequence[Any], described: str) -> dict[Any, Sequence[Any]]:
    titles = list(rows[0])
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping) or set(row) != set(titles):
            listed = ", ".join(map(str, row)) if isinstance(row, Mapping) else repr(row)
            raise DataError(
                f"{described}: row {number} has {listed}, and the first row "
                f"{', '.join(map(str, titles))}"
            )
    return {title: [row[title] for row in rows] for title in titles}


def _columns_of_tuples(rows: Sequence[Any], described: str) -> dict[Any, Sequence[Any]]:
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        is_row = isinstance(row, Sequence) and not isinstance(row, str | bytes)
        if not is_row or len(row) != width:
            size = f"{len(row)} values" if is_row else repr(row)
            raise DataError(f"{described}: row {number} has {size}, and the first row {width}")
    return {f"arg{place + 1}": [row[place] for row in rows] for place in range(width)}


def python_value(value: Any, place: str, scale: TimeScale = SECONDS) -> Value:
    """A Python value as a value of a fact; dates become time-points.

    >>> python_value(True, "here"), python_value(date(1970, 1, 2), "here")
    ('true', 86400)
    """
    if hasattr(value, "item") and not isinstance(value, date):
        value = value.item()
    if value is None or value != value:
        raise DataError(_missing(place))
    if isinstance(value, bool):
        return _TRUTH[value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date):
        try:
            return scale.point(scale.nanoseconds(value), value)
        except FinerThanUnit as error:
            raise DataError(f"{place}: {error}") from None
    if isinstance(value, int | float | str):
        return value
    raise DataError(f"{place} is a {type(value).__name__}; a fact has numbers, text and times")
