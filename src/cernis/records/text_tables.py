"""Tables of text, whose columns are fields: files with a delimiter and titles in the first line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.separated_text import SeparatedText, separate
from cernis.kernels.text_fields import Fields
from cernis.records.arrow_arrays import as_arrow, as_numpy
from cernis.records.fields import as_texts, fields_of, plain_text, typed
from cernis.records.record_columns import Column

_MOST_BYTES: Final = 1 << 28
_FEWEST_BYTES: Final = 1 << 13


class TextColumn(NamedTuple):
    """A column of text, and the rows in which nothing is written; None if there are none."""

    fields: Fields
    gaps: Booleans | None


class RaggedLine(NamedTuple):
    """A line with more or fewer fields than there are titles."""

    line: int
    """Which line it is, the titles being on line 1."""
    fields: int
    titles: int
    text: str

    @property
    def reason(self) -> str:
        """Why the line cannot be used."""
        many = "" if self.fields == 1 else "s"
        if self.text.count('"') % 2:
            return "a quotation mark in the line is never closed; in quotes it is written twice"
        return f"the line has {self.fields} field{many}, and the first line {self.titles}"


class TextTable:
    """Rows of text under titles. A column is looked at when it is first asked for."""

    def __init__(
        self, titles: Sequence[str], size: int, read: Callable[[int], TextColumn],
        rows: Integers | None = None, lines: Integers | None = None,
        ragged: Sequence[RaggedLine] = (),
    ) -> None:  # fmt: skip
        self.column_names = [title.strip() for title in titles]
        self.ragged = ragged
        """Lines with another number of fields than there are titles."""
        self._lines = lines
        self.num_rows = size if rows is None else len(rows)
        self._size = size
        self._read = read
        self._rows = rows
        self._columns: dict[str, TextColumn] = {}
        self._texts: dict[str, pa.ChunkedArray] = {}

    def filter(self, chosen: Booleans) -> TextTable:
        """Some of the rows."""
        rows = np.flatnonzero(chosen) if self._rows is None else self._rows[chosen]
        return self._with(self.column_names, self._read, rows)

    def _with(
        self, titles: Sequence[str], read: Callable[[int], TextColumn], rows: Integers | None
    ) -> TextTable:
        return TextTable(titles, self._size, read, rows, self._lines)

    def drop_columns(self, titles: Sequence[str]) -> TextTable:
        """The table without some of its columns."""
        kept = [at for at, title in enumerate(self.column_names) if title not in titles]
        names = [self.column_names[at] for at in kept]
        return self._with(names, lambda number: self._read(kept[number]), self._rows)

    @property
    def lines(self) -> Integers | None:
        """On which lines after the titles the rows stand; None if row by row on each."""
        if self._lines is None:
            return None
        return self._lines if self._rows is None else self._lines[self._rows]

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

    def written(self, title: str) -> TextColumn:
        """A column as it is written."""
        return self._column(title)

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


def read_text_table(file: Path, delimiter: str, encoding: str | None = None) -> TextTable:
    """The table of a file. What is not plainly lines of fields is left to Arrow to understand.

    A file with nothing in it has no columns. Lines with another number of fields are left out, and
    told. What is no text of this encoding, UTF-8 unless that is said, is a DataError.
    """
    if len(delimiter.encode()) != 1:
        raise DataError(f"a delimiter is one character, such as ';', not {delimiter!r}")
    if file.stat().st_size > _MOST_BYTES and encoding is None:
        return _table_by_arrow(file, file, delimiter)
    content = _decoded(file, file.read_bytes(), encoding)
    if not content.strip():
        return TextTable(
            (), 0, lambda number: TextColumn(fields_of(pa.chunked_array([[""]])), None)
        )
    plain = _plain_table(content, delimiter)
    return _table_by_arrow(file, content, delimiter) if plain is None else plain


def _decoded(file: Path, content: bytes, encoding: str | None) -> bytes:
    """The content of a file as UTF-8; what is none is a DataError that says what it may be."""
    refuse_other_formats(file, content)
    if encoding is not None:
        try:
            return content.decode(encoding).encode()
        except LookupError:
            raise DataError(f"there is no encoding {encoding!r}; write, say, latin-1") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{file}: is not {encoding} text (byte {error.start})") from None
    if content.isascii():
        return content
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        guess = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        raise DataError(
            f"{file}:{line}: is not UTF-8 text; it may be {guess}: write encoding = "
            f'"{guess}" under [defaults] in cernis.toml, or say --map encoding={guess}, or '
            f"mapping={{'encoding': '{guess}'}}; or save the file as UTF-8"
        ) from None
    return content


_FORMATS: Final = {
    b"\x1f\x8b": "compressed by gzip: unpack it first (gunzip)",
    b"BZh": "compressed by bzip2: unpack it first (bunzip2)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it first (unzstd)",
    b"PK\x03\x04": "a zip archive, or a spreadsheet: unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet: save it as CSV",
    b"PAR1": "Parquet: give the file a name that ends in .parquet",
    b"ARROW1": "an Arrow file: read it with pyarrow.feather.read_table and give the table",
    b"SQLite format": "a database: read a table of it, with pandas.read_sql, and give the table",
}


def refuse_other_formats(file: Path, content: bytes) -> None:
    """Raise a DataError if what should be text begins like a file of another format."""
    for mark, words in _FORMATS.items():
        if content.startswith(mark):
            raise DataError(f"{file}: is {words}")


def _plain_table(content: bytes, delimiter: str) -> TextTable | None:
    """The table of a text without quotes, whose lines have as many fields, two at the least."""
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
    return b"\r" not in content or content.count(b"\r") == content.count(b"\r\n")


def _separated_column(separated: SeparatedText, number: int) -> TextColumn:
    fields = separated.fields(np.arange(1, separated.size), number)
    gaps = fields.lows == fields.highs
    return TextColumn(fields, gaps if gaps.any() else None)


# -- by Arrow --------------------------------------------------------------------------------


def _table_by_arrow(file: Path, content: bytes | Path, delimiter: str) -> TextTable:
    from pyarrow import csv

    is_file = isinstance(content, Path)
    size = file.stat().st_size if is_file else len(content)  # type: ignore[arg-type]
    if not is_file and not content.endswith((b"\n", b"\r")):  # type: ignore[union-attr]
        content += b"\n"  # type: ignore[operator]
    ragged: list[RaggedLine] = []

    def left_out(row: Any) -> str:
        ragged.append(RaggedLine(row.number, row.actual_columns, row.expected_columns, row.text))
        return "skip"

    parsing = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=left_out)
    titles = _titles(content, csv.ParseOptions(delimiter=delimiter))
    table = csv.read_csv(
        content if is_file else pa.BufferReader(content),
        # A block of the size of the file makes one piece of each column. Only one thread numbers
        # the lines that are left out.
        read_options=csv.ReadOptions(
            block_size=min(max(size, _FEWEST_BYTES), _MOST_BYTES), use_threads=is_file
        ),
        parse_options=parsing,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(titles, pa.string()), strings_can_be_null=True,
            quoted_strings_can_be_null=False, null_values=[""],
        ),
    )  # fmt: skip
    # A file that is too large to be read at once is read by several threads, without numbers.
    ragged = [each if each.line else each._replace(line=0) for each in ragged]
    return TextTable(
        table.column_names, table.num_rows, lambda number: _arrow_column(table.column(number)),
        lines=_lines_of_rows(table.num_rows, ragged), ragged=ragged,
    )  # fmt: skip


def _lines_of_rows(size: int, ragged: Sequence[RaggedLine]) -> Integers | None:
    """On which lines after the titles the rows stand that are left, if some were left out."""
    if not ragged:
        return None
    left_out = {each.line - 2 for each in ragged}
    lines = np.arange(size + len(ragged))
    return lines[~np.isin(lines, list(left_out))][:size]


def _titles(content: bytes | Path, parsing: Any) -> list[str]:
    """The titles in the first line of a text, from its first lines if they are short."""
    from pyarrow import csv

    if isinstance(content, Path):
        with content.open("rb") as stream:
            lines = stream.read(_FEWEST_BYTES)
    else:
        lines = content[:_FEWEST_BYTES]
    whole = lines.rfind(b"\n") + 1
    source: Any = pa.BufferReader(lines[:whole] if whole else content)
    # Only the titles are wanted, so lines that do not fit them are passed over.
    parsing.invalid_row_handler = lambda row: "skip"
    with csv.open_csv(source, parse_options=parsing) as reader:
        return reader.schema.names  # type: ignore[no-any-return]


def _arrow_column(column: pa.ChunkedArray) -> TextColumn:
    gaps = as_numpy(column.is_null()) if column.null_count else None
    return TextColumn(fields_of(column.fill_null("") if column.null_count else column), gaps)
