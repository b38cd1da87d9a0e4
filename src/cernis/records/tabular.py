"""Tables of records: Arrow tables, and what can become one, as a data frame can."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.amounts import FARTHEST
from cernis.errors import DataError
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.kernels.text_fields import number_texts
from cernis.records.arrow_arrays import as_arrow, as_numpy, is_text_type
from cernis.records.column_titles import (
    CLOCK_TIMES,
    NAMES,
    TableForm,
    Titles,
    folded,
    is_in_order,
    likely_relation,
    mapped_form,
    refuse_duplicates,
    table_form,
)
from cernis.records.column_troubles import title_list
from cernis.records.fields import fields_of
from cernis.records.gathering import NO_TIME, Gathering
from cernis.records.mapping import Mappings
from cernis.records.record_columns import (
    INFINITE,
    Coded,
    Column,
    RecordColumns,
    as_text,
)
from cernis.records.record_shapes import Shapes
from cernis.records.text_tables import TextTable
from cernis.records.time_columns import fields_as_times, time_points
from cernis.records.times import NO_TIME_AT_ALL, SECONDS
from cernis.syntax.time_scale import TimeScale
from cernis.tables.domains import Texts, has_gaps

_BLOCK: Final = 1 << 18
"""How many texts are numbered at once."""
_CHANCE: Final = r"^\s*[+]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
_NUMBERS: Final = (
    pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null,
)  # fmt: skip


def is_table(source: Any) -> bool:
    """Is it an Arrow table, or a data frame that can be turned into one?"""
    return isinstance(source, pa.Table | pa.RecordBatch) or hasattr(source, "__arrow_c_stream__")


def as_table(source: Any) -> pa.Table:
    """The Arrow table of a table, record batch or data frame; an index is left out."""
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    table = source if isinstance(source, pa.Table) else _converted(source)
    # Arrow computes little with views of text, which some libraries hand out.
    titles = [title.strip() for title in table.column_names]
    if titles != table.column_names:
        table = table.rename_columns(titles)
    types = table.schema.types
    seen = [_seen(kind) for kind in types]
    if seen == types:
        return table
    fields = zip(table.schema, seen, strict=True)
    return table.cast(pa.schema([field.with_type(kind) for field, kind in fields]))


def _converted(source: Any) -> pa.Table:
    titles = getattr(source, "columns", None)
    if titles is not None and not callable(titles):
        refuse_duplicates([str(title) for title in titles], "the table")
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        words = ": ".join(str(each) for each in reversed(error.args))
        raise DataError(
            f"the table cannot be read: {words}; make the column of one type, as "
            'df["name"].astype(str) does'
        ) from None


def _seen(kind: pa.DataType) -> pa.DataType:
    """The type without views."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_seen(kind.value_type))
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _seen(kind.value_type))
    return kind


def add_table(
    name: str, table: pa.Table | TextTable, gathering: Gathering, source: str,
    titles: Titles | None = None, *, chosen: Booleans | None = None, listed: bool = False,
) -> None:  # fmt: skip
    """Take in a table of one relation; the columns are known by their titles unless these are said.

    A table of text has its titles on a line of their own, and a field that reads as a number is
    one. If rows are chosen, the others are passed over. Columns that are `listed`, or that the
    table itself says to be so, are in the order of the arguments.
    """
    is_text = isinstance(table, TextTable)
    is_own = titles is None and chosen is None and not (is_text or listed) and source == name
    first = gathering.sources.begin(source) + is_text
    gathering.sources.grow(_line_count(table))
    places = _line_places(table, first)
    if chosen is not None:
        table, places = _rows(table, chosen), places[chosen]
    if not gathering.shapes.knows(name):
        gathering.ignore(name, table.num_rows)
        return
    if not table.column_names and not table.num_rows:
        # A data frame that nothing was put into.
        gathering.note(f"{source or name} has no columns and no rows")
        return
    shapes, ids = gathering.shapes, gathering.ids
    if titles is None:
        metadata = None if isinstance(table, TextTable) else table.schema.metadata
        listed = listed or is_in_order(metadata)
        form = table_form(name, table.column_names, shapes, source or name, ids, listed=listed)
    else:
        form = mapped_form(name, replace(titles, ids=ids), shapes)
    _Reading(name, table, places, gathering, form).add()
    if is_own and not isinstance(table, TextTable):
        gathering.shapes.plain_tables.pop(name, None)
        plain = _plain_table(table.schema, form, gathering)
        if plain is not None:
            gathering.shapes.plain_tables[name] = plain


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table of events with nothing but whole times, numbers, and texts in dictionaries.

    A further table with this schema is read column by column, if nothing in it is missing.
    """

    schema: pa.Schema
    form: TableForm
    times: tuple[int, ...]
    """The columns of the arrival and of the occurrence, or the start and the end."""
    columns: tuple[tuple[int, Any], ...]
    """The columns of the arguments, each with numpy's type for its numbers; of texts, None."""
    texts: dict[int, Texts] = field(default_factory=dict)
    """The dictionaries of the last table, by column."""


def _plain_table(schema: pa.Schema, form: TableForm, gathering: Gathering) -> PlainTable | None:
    """What tables of a schema are, if they can be read column by column."""
    titles, shapes, types = form.titles, gathering.shapes, schema.types
    others = (titles.retracts, titles.probability, gathering.ids)
    is_declared = any(shapes.declared_text(form.form)) or any(shapes.declared_numbers(form.form))
    if any(other is not None for other in others) or is_declared:
        return None
    arrival = titles.start if titles.arrival is None else titles.arrival
    named = [arrival, titles.start, *([] if titles.end is None else [titles.end])]
    times = tuple(schema.get_field_index(title) for title in named)
    places = [schema.get_field_index(title) for title in form.columns]
    is_plain = all(place >= 0 for place in (*times, *places))
    is_plain = is_plain and all(pa.types.is_int64(types[place]) for place in times)
    if not is_plain or not all(_is_plain_type(types[place]) for place in places):
        return None
    columns = tuple((place, _number_type(types[place])) for place in places)
    return PlainTable(schema, form, times, columns)


def _is_plain_type(kind: pa.DataType) -> bool:
    types = pa.types
    is_text = types.is_dictionary(kind) and is_text_type(kind.value_type)
    return bool(is_text or types.is_int64(kind) or types.is_float64(kind))


def _number_type(kind: pa.DataType) -> Any:
    return None if pa.types.is_dictionary(kind) else kind.to_pandas_dtype()


def add_plain_table(name: str, table: Any, gathering: Gathering, mappings: Mappings) -> bool:
    """Take in a table like the last one of its name, if that can be read column by column."""
    plain = gathering.shapes.plain_tables.get(name)
    is_plain = plain is not None and isinstance(table, pa.Table) and mappings.are_default
    if plain is None or not is_plain or not table.schema.equals(plain.schema, check_metadata=True):
        return False
    times, columns = _plain_times(table, plain), _plain_columns(table, plain)
    if times is None or columns is None or gathering.ids is not None or not table.num_rows:
        return False
    first = gathering.sources.begin(name)
    gathering.sources.grow(table.num_rows)
    gathering.warn(plain.form.warning)
    gathering.note(plain.form.note)
    places = np.arange(first, first + table.num_rows)
    gathering.add(RecordColumns(plain.form.form, times, columns, places))
    return True


def _plain_times(table: pa.Table, plain: PlainTable) -> list[Integers] | None:
    """The times, the first two of which are one array if they are equal; None if one is missing."""
    times = [_plain_numbers(table.column(place), np.int64) for place in plain.times]
    known = [each for each in times if each is not None]
    if len(known) < len(times):
        return None
    return [known[1], *known[1:]] if np.array_equal(known[0], known[1]) else known


def _plain_columns(table: pa.Table, plain: PlainTable) -> list[Column] | None:
    """The arguments; None if a value is missing."""
    columns: list[Column] = []
    for place, kind in plain.columns:
        column = table.column(place)
        if kind is None:
            coded = _plain_texts(column, plain, place)
            if coded is None:
                return None
            columns.append(coded)
            continue
        values = _plain_numbers(column, kind)
        if values is None or (kind is np.float64 and has_gaps(values)):
            return None
        columns.append(values)
    return columns


def _plain_numbers(column: pa.ChunkedArray, kind: Any) -> Array | None:
    """Numbers of eight bytes in one piece; None if they are in several, or one is missing."""
    if column.num_chunks != 1 or column.null_count:
        return None
    chunk = column.chunk(0)
    return np.frombuffer(chunk.buffers()[1], kind, len(chunk), 8 * chunk.offset)


def _plain_texts(column: pa.ChunkedArray, plain: PlainTable, place: int) -> Coded | None:
    """Texts in a dictionary that is used as a whole; None if there are none."""
    if column.num_chunks != 1 or column.null_count:
        return None
    chunk = column.chunk(0)
    known, dictionary = plain.texts.get(place), chunk.dictionary
    codes = as_numpy(chunk.indices)
    if known is None or not known.array.equals(pc.cast(dictionary, pa.large_string())):
        if dictionary.null_count:
            return None
        known = plain.texts[place] = Texts(pc.cast(dictionary, pa.large_string()))
    used = np.bincount(codes, minlength=len(dictionary)) > 0
    return Coded(known, codes) if used.all() else None


def add_mixed_table(table: pa.Table | TextTable, gathering: Gathering, source: str) -> None:
    """Take in a table that says in a column of which relation each row is.

    The arguments are a column `args` of lists, or all columns that are left; of these a relation
    takes those that are not empty throughout its rows, or that are called as its arguments.
    """
    is_text = isinstance(table, TextTable)
    if not table.column_names and not table.num_rows:
        gathering.note(f"{source or 'the table'} has no columns and no rows")
        return
    by, coded = _relations(table, gathering.shapes, source or "the table")
    first = gathering.sources.begin(source) + is_text
    gathering.sources.grow(_line_count(table))
    places = _line_places(table, first)
    numbers = as_numpy(coded.indices)
    for code, name in enumerate(coded.dictionary.to_pylist()):
        rows = np.flatnonzero(numbers == code)
        if gathering.is_clock(name):
            _tell_clock(_taken(table, rows), places[rows], gathering)
            continue
        if not gathering.shapes.knows(name):
            gathering.ignore(name, len(rows))
            continue
        rows_of_name = _taken(table, rows).drop_columns([by])
        for chosen, part in _by_length(rows_of_name):
            part = _without_empty(part, gathering.shapes, name)
            form = table_form(
                name, part.column_names, gathering.shapes, source or name, gathering.ids,
                listed="args" in rows_of_name.column_names,
            )  # fmt: skip
            _Reading(name, part, places[rows[chosen]], gathering, form).add()


def _taken(table: pa.Table | TextTable, rows: Integers) -> pa.Table | TextTable:
    """Rows of a table by their numbers, which go up."""
    if isinstance(table, TextTable):
        chosen = np.zeros(table.num_rows, np.bool_)
        chosen[rows] = True
        return table.filter(chosen)
    return table.take(pa.array(rows))


def _line_count(table: pa.Table | TextTable) -> int:
    """How many lines, or rows, there are: of text the titles and what was left out, too."""
    if isinstance(table, TextTable):
        return 1 + table.num_rows + len(table.ragged)
    return int(table.num_rows)


def _line_places(table: pa.Table | TextTable, first: int) -> Integers:
    """The places of the rows of a table, the first line of which, after any titles, has this."""
    lines = table.lines if isinstance(table, TextTable) else None
    return first + (np.arange(table.num_rows) if lines is None else lines)


def _tell_clock(table: pa.Table | TextTable, places: Integers, gathering: Gathering) -> None:
    """Take in rows of `$clock`: the latest time of each says up to when all has come."""
    latest, is_known = np.full(len(places), -FARTHEST), np.zeros(len(places), np.bool_)
    names = gathering.shapes.names
    for title in (names.column(role) or role for role in CLOCK_TIMES):
        if title not in table.column_names:
            continue
        times, known, _ = time_points(
            table.column(title), title, live=True, scale=gathering.shapes.time_scale
        )
        latest = np.where(known, np.maximum(latest, times), latest)
        is_known |= known
    gathering.tell_clock(latest, places, is_known, lambda row: _row_text(table, row))


def _row_text(table: pa.Table | TextTable, row: int) -> str:
    return str({title: table.column(title)[row].as_py() for title in table.column_names})


def _relations(
    table: pa.Table | TextTable, shapes: Shapes, source: str
) -> tuple[str, pa.DictionaryArray]:
    """The column that names the relation of each row, and the names in it.

    If there are several that may, the first with a name that rules mention does.
    """
    titles = table.column_names
    refuse_duplicates(titles, source)
    names_of_title = {}
    said = shapes.names.column("name")
    candidates = NAMES if said is None or said not in titles else (said,)
    for title in [title for title in candidates if title in titles]:
        column = table.column(title)
        if pa.types.is_nested(column.type):
            raise DataError(f"column {title} of {source} has the type {column.type}, and not text")
        names = pc.cast(column, pa.string()).fill_null("").combine_chunks()
        if isinstance(names, pa.ChunkedArray):
            names = pa.concat_arrays(names.chunks)
        names_of_title[title] = names.dictionary_encode()
        if any(map(shapes.knows, names_of_title[title].dictionary.to_pylist())):
            return title, names_of_title[title]
    if not names_of_title:
        raise DataError(no_name(source, titles, likely_relation(titles, shapes)))
    return next(iter(names_of_title.items()))


def no_name(source: str, titles: Iterable[str], relation: str) -> str:
    """A table of all relations lacks the column of their names: what to do."""
    return (
        f"{source} has no column name, which tells the relation of each row; there are "
        f"{title_list(list(titles))}. Give one table a relation: {{'{relation}': table}}; or say "
        "which column it is: mapping={'name': 'COLUMN'}"
    )


def _by_length(
    table: pa.Table | TextTable,
) -> list[tuple[Integers, pa.Table | TextTable]]:
    """The table with its lists of arguments as columns, part by part where lengths differ."""
    if isinstance(table, TextTable) or "args" not in table.column_names:
        return [(np.arange(table.num_rows), table)]
    lists = table.column("args").combine_chunks()
    lengths = as_numpy(pc.list_value_length(lists).fill_null(0))
    parts = []
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        part = table.take(pa.array(rows)).drop_columns(["args"])
        own = lists.take(pa.array(rows))
        for at in range(length):
            part = part.append_column(f"argument {at + 1}", pc.list_element(own, at))
        parts.append((rows, part))
    return parts


def _without_empty(table: pa.Table | TextTable, shapes: Shapes, name: str) -> pa.Table | TextTable:
    """The rows of a relation without columns that have nothing in them, but for its arguments.

    An end that is missing leaves an interval open, and a probability that is missing is none.
    """
    kept = {"end", "probability", *map(folded, shapes.slot_names(name))}
    called = zip(table.column_names, shapes.names.called(name, table.column_names), strict=True)
    titles = [title for title, word in called if folded(word) not in kept]
    empty = [title for title in titles if table.column(title).null_count == table.num_rows]
    return table.drop_columns(empty)


def _rows(table: pa.Table | TextTable, chosen: Booleans) -> pa.Table | TextTable:
    """Some rows of a table."""
    return table.filter(chosen if isinstance(table, TextTable) else pa.array(chosen))


class _Reading:
    """One relation's rows on their way in."""

    def __init__(
        self, name: str, table: pa.Table | TextTable, places: Integers, gathering: Gathering,
        form: TableForm,
    ) -> None:  # fmt: skip
        self._name = name
        self._table = table
        self._places = places
        self._gathering = gathering
        self._form = form
        self._titles = form.titles

    def add(self) -> None:
        """Take the rows in; those with something missing or wrong are set aside."""
        missing = [t for t in self._titles.used if t not in self._table.column_names]
        if missing:
            there = ", ".join(self._table.column_names)
            raise DataError(f"{self._name} has no column {missing[0]}; there are {there}")
        form, columns = self._form.form, self._form.columns
        self._gathering.warn(self._form.warning)
        self._gathering.note(self._form.note)
        times, whole = self._times()
        if not whole.all():
            times = self._keep(times, self._timed(), NO_TIME_AT_ALL)
            times, whole = self._times()
        times = self._keep(times, whole, NO_TIME)
        named = [] if self._titles.ids is None else [self._titles.ids]
        times = self._keep(times, self._filled([*columns, *named]), "a value is missing")
        shapes = self._gathering.shapes
        kinds = zip(columns, shapes.declared_text(form), strict=True)
        read = [self._column(*each) for each in kinds]
        flags = self._flags()
        chances = self._chances()
        ids = self._column(named[0]) if named else None
        part = RecordColumns(form, times, read, self._places, flags, chances=chances, ids=ids)
        self._gathering.add(part)

    def _flags(self) -> Booleans | None:
        """Which rows retract another; what is missing does not."""
        title = self._titles.retracts
        if title is None:
            return None
        column = without_dictionary(self._table.column(title))
        if is_text_type(column.type):
            words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            known = pc.is_in(words, pa.array(["true", "false", ""], column.type))
            if pc.all(pc.or_kleene(known, pc.is_null(words))).as_py() is not False:
                column = pc.equal(words, "true")
        if not pa.types.is_boolean(column.type) and not pa.types.is_null(column.type):
            raise DataError(f"column {title} of {self._name} must hold true or false")
        return as_numpy(pc.fill_null(column.cast(pa.bool_()), False))

    def _chances(self) -> Floats | None:
        """The probabilities of the rows, out of bounds where one is missing or is none."""
        if self._titles.probability is None:
            return None
        column = without_dictionary(self._table.column(self._titles.probability))
        kind = column.type
        if isinstance(self._table, TextTable):
            column = pc.if_else(pc.match_substring_regex(column, _CHANCE), column, "-1")
        elif not any(test(kind) for test in _NUMBERS):
            raise DataError(
                f"column {self._titles.probability} of {self._name} must hold numbers, "
                f"not {column.type}"
            )
        chances = as_numpy(pc.cast(column, pa.float64()).fill_null(-1.0))
        return np.where(np.isnan(chances), -1.0, chances)

    def _keep(self, times: list[Integers], mask: Booleans | None, reason: str) -> list[Integers]:
        """Go on with some of the rows and their times, and set aside the others."""
        if mask is None or mask.all():
            return times
        for row in np.flatnonzero(~mask).tolist():
            cells = [_cell(self._table.column(t)[row]) for t in self._titles.used]
            text = "|".join([self._name, *cells])
            self._gathering.set_aside(int(self._places[row]), reason, text)
        self._table = _rows(self._table, mask)
        self._places = self._places[mask]
        return [time[mask] for time in times]

    def _timed(self) -> Booleans:
        """The rows in which no time is missing."""
        filled = np.ones(self._table.num_rows, np.bool_)
        for title in (self._titles.start, self._titles.arrival):
            if title is not None:
                is_null = self._table.column(title).is_null(nan_is_null=True)
                filled &= ~as_numpy(is_null)
        return filled

    def _times(self) -> tuple[list[Integers], Booleans]:
        titles = self._titles
        start, whole = self._time(titles.start)
        times = [start, start]
        if titles.arrival is not None and not self._are_equal(titles.arrival, titles.start):
            times[0], known = self._time(titles.arrival)
            whole &= known
        if titles.end is not None:
            end, known = self._time(titles.end, INFINITE)
            times.append(end)
            whole &= known
        return times, whole

    def _are_equal(self, title: str, other: str) -> bool:
        """Is it plain that columns are equal, as where records arrive when they happen?"""
        if isinstance(self._table, TextTable):
            return False
        return bool(self._table.column(title).equals(self._table.column(other)))

    def _time(self, title: str, missing: int | None = None) -> tuple[Integers, Booleans]:
        described = f"{title} of {self._name}"
        if isinstance(self._table, TextTable):
            times, known, dated = fields_as_times(
                *self._table.written(title), described, missing, live=self._gathering.live,
                scale=self._gathering.shapes.time_scale, warn=self._gathering.warn,
            )  # fmt: skip
        else:
            times, known, dated = time_points(
                self._table.column(title), described, missing, live=self._gathering.live,
                scale=self._gathering.shapes.time_scale, warn=self._gathering.warn,
            )  # fmt: skip
        self._gathering.dated |= dated
        return times, known

    def _filled(self, columns: list[str]) -> Booleans | None:
        """The rows with a value in each column; None for all."""
        is_filled: Booleans | None = None
        for title in columns:
            if isinstance(self._table, TextTable):
                empty = self._table.gaps(title)
                if empty is not None:
                    is_filled = ~empty if is_filled is None else is_filled & ~empty
                continue
            column = self._table.column(title)
            gaps = as_numpy(column.is_null()) if column.null_count else None
            if pa.types.is_floating(column.type):
                # Without a number, Arrow's null becomes numpy's.
                values = as_numpy(pc.cast(column, pa.float64()).fill_null(np.nan))
                gaps = np.isnan(values) if has_gaps(values) else None
            if gaps is not None:
                is_filled = ~gaps if is_filled is None else is_filled & ~gaps
        return is_filled

    def _column(self, title: str, declared_text: bool = False) -> Column:
        if isinstance(self._table, TextTable):
            return self._table.values(title, declared_text)
        column = self._table.column(title)
        described = f"column {title} of {self._name}"
        if declared_text and (pa.types.is_temporal(column.type) or is_text_type(column.type)):
            column = pc.cast(column, pa.large_string())
        read = argument_column(column, described, self._gathering.shapes.time_scale)
        return as_text(read) if declared_text else read


def _cell(scalar: Any) -> str:
    found = scalar.as_py()
    return "" if found is None else str(found)


def argument_column(column: pa.ChunkedArray, described: str, scale: TimeScale = SECONDS) -> Column:
    """A column without gaps as whole numbers, floats, or values of any kind."""
    kind = column.type
    types = pa.types
    if types.is_null(kind):
        # All rows lack a value, and were set aside.
        return Coded([], np.empty(0, np.int64))
    if types.is_unsigned_integer(kind) and kind.bit_width == 64:
        return Coded(column.to_pylist(), np.arange(len(column)))
    if types.is_integer(kind):
        return as_numpy(column).astype(np.int64, copy=False)
    if types.is_floating(kind) or types.is_decimal(kind):
        return as_numpy(pc.cast(column, pa.float64()))
    if types.is_boolean(kind):
        return Coded(["false", "true"], as_numpy(column).astype(np.int64))
    if types.is_timestamp(kind) or types.is_date(kind):
        return time_points(column, described.removeprefix("column "), scale=scale)[0]
    if types.is_dictionary(kind):
        return _dictionary(column, described, scale)
    if is_text_type(kind):
        return _texts(column)
    raise DataError(f"{described} has the type {kind}; cast it to a number or to text")


def without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with its values in place of places in a dictionary."""
    kind = column.type
    return pc.cast(column, kind.value_type) if pa.types.is_dictionary(kind) else column


def _texts(column: pa.ChunkedArray) -> Coded:
    """Texts by number, block by block, so that what is between stays in the cache."""
    codes: Array = np.empty(len(column), np.int32)
    blocks = range(0, len(column), _BLOCK)
    parts = []
    for low in blocks:
        block = column.slice(low, _BLOCK)
        codes[low : low + _BLOCK], rows = number_texts(fields_of(block))
        parts.append(pc.cast(block.take(as_arrow(rows)), pa.large_string()).combine_chunks())
    distinct = pa.chunked_array(parts, pa.large_string()).combine_chunks()
    if len(blocks) < 2:
        return Coded(Texts(distinct), codes)
    merged = distinct.dictionary_encode()
    places, first = as_numpy(merged.indices), 0
    for low, part in zip(blocks, parts, strict=True):
        codes[low : low + _BLOCK] = places[first:][codes[low : low + _BLOCK]]
        first += len(part)
    return Coded(Texts(merged.dictionary), codes)


def _places(column: pa.ChunkedArray) -> Integers:
    """The places of the rows in the one dictionary of all pieces, in integers of any size."""
    return as_numpy(pa.chunked_array([piece.indices for piece in column.chunks]))


def _dictionary(column: pa.ChunkedArray, described: str, scale: TimeScale) -> Column:
    if not column.num_chunks:
        return Coded([], np.empty(0, np.int64))
    whole = column.unify_dictionaries()
    dictionary = whole.chunk(0).dictionary
    codes = _places(whole)
    used = np.bincount(codes, minlength=len(dictionary)) > 0
    if not used.all():
        dictionary, codes = dictionary.filter(as_arrow(used)), (np.cumsum(used) - 1)[codes]
    if is_text_type(dictionary.type) and not dictionary.null_count:
        return Coded(Texts(pc.cast(dictionary, pa.large_string())), codes)
    values = argument_column(pa.chunked_array([dictionary]), described, scale)
    if isinstance(values, Coded):
        return Coded(values.values, values.codes[codes])
    return values[codes]
