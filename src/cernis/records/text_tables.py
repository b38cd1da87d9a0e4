"""Tables of text, whose columns are fields: files with a delimiter and titles in the first line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.separated_text import SeparatedText, separate
from cernis.kernels.text_fields import Fields, read_times
from cernis.records.arrow_arrays import as_arrow, as_numpy
from cernis.records.fields import as_texts, fields_of, plain_text, typed
from cernis.records.record_columns import Column

_MOST_BYTES: Final = 1 << 28
_FEWEST_BYTES: Final = 1 << 13


class TextColumn(NamedTuple):
    """A column of text, and the rows in which nothing is written; None if there are none."""

    fields: Fields
    gaps: Booleans | None


class TextTable:
    """Rows of text under titles. A column is looked at when it is first asked for."""

    def __init__(
        self, titles: Sequence[str], size: int, read: Callable[[int], TextColumn],
        rows: Integers | None = None,
    ) -> None:  # fmt: skip
        self.column_names = list(titles)
        self.num_rows = size if rows is None else len(rows)
        self._size = size
        self._read = read
        self._rows = rows
        self._columns: dict[str, TextColumn] = {}
        self._texts: dict[str, pa.ChunkedArray] = {}

    def filter(self, chosen: Booleans) -> TextTable:
        """Some of the rows."""
        rows = np.flatnonzero(chosen) if self._rows is None else self._rows[chosen]
        return TextTable(self.column_names, self._size, self._read, rows)

    def _column(self, title: str) -> TextColumn:
        if title not in self._columns:
            fields, gaps = self._read(self.column_names.index(title))
            if self._rows is not None:
                fields = fields.some(self._rows)
                gaps = None if gaps is None else gaps[self._rows]
            self._columns[title] = TextColumn(fields, gaps)
        return self._columns[title]

    def gaps(self, title: str) -> Booleans | None:
        """The rows in which nothing is written in a column; None if there are none."""
        return self._column(title).gaps

    def times(self, title: str) -> Integers | None:
        """A column as times; None unless all are written as whole numbers."""
        odd = np.zeros(self.num_rows, np.bool_)
        times = read_times(self._column(title).fields, False, odd)
        return None if odd.any() else times

    def values(self, title: str, declared_text: bool) -> Column:
        """A column as numbers, or as values of any kind; as it is written, if it is to be text."""
        fields = self._column(title).fields
        return plain_text(fields) if declared_text else typed(fields)

    def column(self, title: str) -> pa.ChunkedArray:
        """A column as Arrow has it, null where nothing is written."""
        if title not in self._texts:
            fields, gaps = self._column(title)
            texts = as_texts(fields)
            if gaps is not None:
                texts = pc.if_else(as_arrow(~gaps), texts, pa.scalar(None, pa.string()))
            self._texts[title] = pa.chunked_array([texts])
        return self._texts[title]


def read_text_table(file: Path, delimiter: str) -> TextTable:
    """The table of a file. What is not plainly lines of fields is left to Arrow to understand."""
    plain = _plain_table(file, delimiter)
    return _table_by_arrow(file, delimiter) if plain is None else plain


def _plain_table(file: Path, delimiter: str) -> TextTable | None:
    """The table of a file without quotes, whose lines have as many fields, two at the least."""
    if file.stat().st_size > _MOST_BYTES or len(delimiter.encode()) != 1:
        return None
    content = file.read_bytes()
    if b"\n" not in content or not _is_plain(content):
        return None
    content += b"" if content.endswith(b"\n") else b"\n"
    separated = separate(content, delimiter)
    widths = np.diff(separated.firsts)
    if widths[0] < 2 or widths.min() != widths.max():
        return None
    header = [separated.fields(np.zeros(1, np.int64), at) for at in range(widths[0])]
    titles = [fields.all_written()[0].decode() for fields in header]
    return TextTable(titles, separated.size - 1, lambda at: _separated_column(separated, at))


def _is_plain(content: bytes) -> bool:
    """Is it text without quotes, and without carriage returns but before line feeds?"""
    if b'"' in content or content.startswith(b"\xef\xbb\xbf"):
        return False
    if b"\r" in content and content.count(b"\r") != content.count(b"\r\n"):
        return False
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False


def _separated_column(separated: SeparatedText, number: int) -> TextColumn:
    fields = separated.fields(np.arange(1, separated.size), number)
    gaps = fields.lows == fields.highs
    return TextColumn(fields, gaps if gaps.any() else None)


# -- by Arrow --------------------------------------------------------------------------------


def _table_by_arrow(file: Path, delimiter: str) -> TextTable:
    from pyarrow import csv

    parsing = csv.ParseOptions(delimiter=delimiter)
    # A block of the size of the file makes one piece of each column.
    size = min(max(file.stat().st_size, _FEWEST_BYTES), _MOST_BYTES)
    table = csv.read_csv(
        file,
        read_options=csv.ReadOptions(block_size=size),
        parse_options=parsing,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(_titles(file, parsing), pa.string()),
            strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""],
        ),
    )  # fmt: skip
    return TextTable(
        table.column_names, table.num_rows, lambda number: _arrow_column(table.column(number))
    )


def _titles(file: Path, parsing: Any) -> list[str]:
    """The titles in the first line of a file, from its first lines if they are short."""
    from pyarrow import csv

    with file.open("rb") as stream:
        lines = stream.read(_FEWEST_BYTES)
    source = pa.BufferReader(lines[: lines.rfind(b"\n") + 1]) if b"\n" in lines else file
    with csv.open_csv(source, parse_options=parsing) as reader:
        return reader.schema.names  # type: ignore[no-any-return]


def _arrow_column(column: pa.ChunkedArray) -> TextColumn:
    gaps = as_numpy(column.is_null()) if column.null_count else None
    return TextColumn(fields_of(column.fill_null("") if column.null_count else column), gaps)
