"""Events of any form, and files of any format, as records."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.checker import Checked
from cernis.errors import DataError
from cernis.kernels.array_types import Booleans
from cernis.records.arrow_arrays import as_numpy, is_text_type
from cernis.records.column_names import ColumnNames
from cernis.records.column_titles import likely_relation, refuse_duplicates, relation_title
from cernis.records.column_troubles import seems_separated
from cernis.records.gathering import Gathering
from cernis.records.mapping import FILE_NAME, InputMapping, Mappings, read_mappings, read_names
from cernis.records.python_rows import add_json_lines, add_rows
from cernis.records.record_columns import Records
from cernis.records.record_shapes import Shapes
from cernis.records.tabular import (
    add_mixed_table,
    add_plain_table,
    add_table,
    as_table,
    is_table,
    without_dictionary,
)
from cernis.records.text_records import read_stream
from cernis.records.text_tables import TextTable, read_text_table, refuse_other_formats

Events: TypeAlias = Any
"""What `read_events` takes. No type says it: a data frame of any library is welcome."""

Progress: TypeAlias = Callable[[int], None]
"""Hears how many bytes more have been read."""

Read = TypeVar("Read")

STANDARD_INPUT: Final = "-"
_PARQUET: Final = (".parquet", ".pq")
_JSON: Final = (".jsonl", ".ndjson", ".json")
_TABLES: Final = (".csv", ".tsv")
_SHOWN: Final = 5


def read_events(
    events: Events, checked: Checked, mapping: str | Path | Mapping[str, Any] | None = None,
    progress: Progress = lambda size: None, *, uncertain: bool = False,
) -> Records:  # fmt: skip
    """All records of some events, ready to be encoded; uncertain ones only if that is said.

    Events are one of

    - a file or several: text records, Parquet, JSON lines, CSV (`-` is standard input);
    - text records themselves: a string of several lines, or lines one by one; a string of one line
      is a record if it has a `|` in it and there is no file of that name;
    - an Arrow table or a data frame with a column `name`, or a mapping from names to such tables
      without it;
    - tuples `(name, arrival, occurrence, ...)` or mappings by title, one for each record; or a
      mapping
      from names to such, without the name.
    """
    if isinstance(events, Records):
        return events
    reader = _Reader(Gathering(Shapes(checked), uncertain=uncertain), mapping, progress)
    reader.add(events)
    return reader.gathering.records()


def read_unresolved(
    events: Events, checked: Checked, mapping: str | Path | Mapping[str, Any] | None = None,
    ids: str | None = None, *, uncertain: bool = False, shapes: Shapes | None = None,
) -> Records:  # fmt: skip
    """As `read_events`, with retractions among the records: what they take back came earlier.

    `ids` is the title of the column of ids, if records have such; in tuples and text records, the
    last field is the id. Who reads often gives the `shapes` of the program, which know what earlier
    tables were.
    """
    if isinstance(events, Records):
        return events
    gathering = Gathering(shapes or Shapes(checked), uncertain=uncertain, ids=ids)
    _Reader(gathering, mapping, lambda size: None).add(events)
    return gathering.unresolved()


def read_file(file: Path, gathering: Gathering, mappings: Mappings) -> None:
    """Take in one file by its ending, or by what mappings say of it."""
    _Reader(gathering, mappings, lambda size: None).add_file(file)


def refuse_set_aside(records: Records) -> None:
    """Raise a DataError if there are records that cannot be used; it lists the first ones."""
    set_aside = records.set_aside
    if not set_aside:
        return
    lines = [f"{len(set_aside)} of {records.count} records cannot be used"]
    lines += [f"{aside}" for aside in set_aside[:_SHOWN]]
    if len(set_aside) > _SHOWN:
        lines.append(f"and {len(set_aside) - _SHOWN} more")
    raise DataError("\n".join(lines))


def add_rows_of(
    name: str, table: pa.Table, gathering: Gathering, mappings: Mappings, *, listed: bool = False
) -> None:
    """Take in a table of one relation, whose columns are called as mappings say."""
    mapped = mappings.of_table(name)
    for mapping in mapped:
        _take_mapped(name, table, mapping, gathering)
    if not mapped:
        with _named(gathering, mappings.names):
            add_table(name, table, gathering, name, listed=listed)


def add_mixed_rows(
    table: pa.Table, gathering: Gathering, mappings: Mappings, source: str = ""
) -> None:
    """Take in a table with a column that names relations, whose columns mappings name."""
    with _named(gathering, mappings.names):
        add_mixed_table(table, gathering, source)


def see_columns(source: str, titles: Sequence[str], mappings: Iterable[InputMapping]) -> None:
    """Raise a DataError if columns are missing that mappings name."""
    for mapping in mappings:
        wanted = [*mapping.titles.used, *(title for title, _ in mapping.where)]
        refuse_duplicates([t for t in titles if t in wanted], source)
        for title in wanted:
            if title not in titles:
                raise DataError(
                    f"{source} has no column {title}, which {mapping.relation} is to be read from; "
                    f"there are {', '.join(titles)}"
                )


def _take_mapped(
    source: str, table: pa.Table | TextTable, mapping: InputMapping, gathering: Gathering
) -> None:
    """Take in the rows of a table that a mapping is about."""
    if not table.column_names and not table.num_rows:
        return
    see_columns(source, table.column_names, [mapping])
    add_table(
        mapping.relation, table, gathering, source, mapping.titles, chosen=_chosen(table, mapping)
    )


@contextmanager
def _named(gathering: Gathering, names: ColumnNames) -> Iterator[None]:
    """Read tables whose columns are called otherwise."""
    shapes = gathering.shapes
    gathering.shapes = shapes.named(names)
    try:
        yield
    finally:
        gathering.shapes = shapes


class _Reader:
    """Reads one thing after the other into one gathering."""

    def __init__(
        self, gathering: Gathering, mapping: str | Path | Mapping[str, Any] | Mappings | None,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.gathering = gathering
        self._mapping = mapping
        if isinstance(mapping, Mapping):
            # A file may serve several programs; what a caller says is about this one.
            read_names(mapping).names.check(gathering.shapes.input_arguments)
        self._progress = progress

    def add(self, events: Events) -> None:
        """Take in events of any form."""
        if is_table(events):
            with _named(self.gathering, read_names(self._mapping).names):
                add_mixed_table(as_table(events), self.gathering, "")
        elif isinstance(events, Mapping):
            refuse_one_record(events)
            mappings = read_names(self._mapping)
            for name, rows in events.items():
                self._add_relation(str(name), rows, mappings)
        elif isinstance(events, tuple) and len(events) > 2 and not is_table(events[0]):
            raise DataError(
                f"{events!r:.100} is one record: give a list of records, [{events!r:.50}]"
                if isinstance(events[0], str) and not all(isinstance(e, str) for e in events)
                else f"{events!r:.100}: give a list, in place of a tuple"
            )
        elif isinstance(events, str) and ("\n" in events or _is_record(events)):
            read_stream(io.BytesIO(events.encode()), "", self.gathering, self._progress)
        elif isinstance(events, str | Path):
            self.add_file(Path(events))
        elif isinstance(events, Iterable) and not isinstance(events, bytes):
            self._add_several(events)
        else:
            raise DataError(
                f"events cannot be a {type(events).__name__}; give tables, rows or files"
            )

    def _add_relation(self, name: str, rows: Events, mappings: Mappings) -> None:
        if isinstance(rows, Mapping) and all(map(is_column, rows.values())):
            rows = as_table(dict(rows))
        if add_plain_table(name, rows, self.gathering, mappings):
            return
        if is_table(rows):
            add_rows_of(name, as_table(rows), self.gathering, mappings)
        elif isinstance(rows, Iterable) and not isinstance(rows, str | bytes | Mapping):
            with _named(self.gathering, mappings.names):
                add_rows(rows, self.gathering, name, name)
        else:
            raise DataError(
                f"{name} must be a table or a list of rows, not a {type(rows).__name__}"
                f"{'; its collect() gives one' if hasattr(rows, 'collect') else ''}"
            )

    def _add_several(self, events: Iterable[Any]) -> None:
        rest = iter(events)
        first = next(rest, None)
        if first is None:
            return
        every = chain([first], rest)
        if is_table(first) or isinstance(first, Path):
            for each in every:
                self.add(each)
        elif isinstance(first, str) and "|" in first:
            text = "\n".join(line.rstrip("\r\n") for line in every)
            read_stream(io.BytesIO(text.encode()), "", self.gathering, self._progress)
        elif isinstance(first, str):
            for each in every:
                self.add_file(Path(each))
        else:
            with _named(self.gathering, read_names(self._mapping).names):
                add_rows(every, self.gathering, "", None)

    def add_file(self, file: Path) -> None:
        """Take in a file by its ending, or by what a mapping says of it."""
        if str(file) == STANDARD_INPUT:
            read_stream(sys.stdin.buffer, "standard input", self.gathering, self._progress)
            return
        see(file)
        known = read_mappings(self._mapping, file.parent)
        mappings = known.of(file)
        if mappings:
            self._add_mapped(file, mappings)
            self._progress(file.stat().st_size)
            return
        with _named(self.gathering, known.names):
            self._add_by_ending(file)

    def _add_by_ending(self, file: Path) -> None:
        names = self.gathering.shapes.names
        if file.suffix.lower() in _PARQUET:
            self._add_own(file, _guarded(file, lambda: _parquet(file)))
        elif file.suffix.lower() in _JSON:
            with _opened(file) as stream:
                add_json_lines(stream, self.gathering, str(file))
        elif file.suffix.lower() in _TABLES and not _has_bars(file):
            delimiter = _delimiter(file, names.column("delimiter"))
            encoding = names.column("encoding")
            table = _guarded(file, lambda: read_text_table(file, delimiter, encoding))
            self._add_own(file, self._checked_text(file, table, delimiter))
        else:
            with _opened(file) as stream:
                refuse_other_formats(file, stream.read(16))
                stream.seek(0)
                read_stream(stream, str(file), self.gathering, self._progress)
            return
        self._progress(file.stat().st_size)

    def _add_own(self, file: Path, table: pa.Table | TextTable) -> None:
        """A table that says itself what it is, by its columns or by the name of its file."""
        if self._is_mixed(file, table):
            add_mixed_table(table, self.gathering, str(file))
        else:
            self._say_of_name(file.stem, table)
            add_table(file.stem, table, self.gathering, str(file))

    def _is_mixed(self, file: Path, table: pa.Table | TextTable) -> bool:
        """Does the table say in a column of which relation each row is?

        If the file is called as a relation, only a column with the name of some relation does.
        """
        shapes = self.gathering.shapes
        title = relation_title(table.column_names, shapes, file.stem)
        if title is None or not table.num_rows:
            return False
        if not shapes.knows(file.stem) or shapes.names.column("name") == title:
            return True
        names = pc.unique(without_dictionary(table.column(title)))
        return any(shapes.knows(str(name)) for name in names.to_pylist())

    def _say_of_name(self, name: str, table: pa.Table | TextTable) -> None:
        """The rows of a file that is called as no relation are not used: say what would help."""
        shapes = self.gathering.shapes
        known = shapes.input_names
        if not shapes.knows(name) and table.num_rows and known:
            relation = likely_relation(table.column_names, shapes)
            self.gathering.warn(
                f"the rows of {name} are of no relation: the file is called so, and there is no "
                f"column name; the input is {', '.join(known[:_SHOWN])}. Call the file "
                f"{relation}, or give its table as {{'{relation}': table}}"
            )

    def _checked_text(self, file: Path, table: TextTable, delimiter: str) -> TextTable:
        """The table; lines that do not fit are set aside, another delimiter is an error."""
        titles = table.column_names
        if not titles:
            self.gathering.warn(f"{file} is empty: it has not even titles")
        elif len(titles) == 1 and (sign := seems_separated(titles[0], delimiter)):
            shown = "\\t" if sign == "\t" else sign
            raise DataError(
                f"{file}: its first line seems to have {sign!r} between titles, and not "
                f'{delimiter!r}: write delimiter = "{shown}" under [defaults] in cernis.toml, or '
                f"say --map delimiter='{shown}', or mapping={{'delimiter': '{shown}'}}"
            )
        if table.ragged:
            first = self.gathering.sources.begin(str(file))
            for each in table.ragged:
                self.gathering.set_aside(first + each.line - 1, each.reason, each.text)
            self.gathering.sources.grow(max(each.line for each in table.ragged))
        return table

    def _add_mapped(self, file: Path, mappings: list[InputMapping]) -> None:
        ending = file.suffix.lower()
        for mapping in mappings:
            if ending in _PARQUET:
                table = _guarded(file, lambda: _parquet(file))
            elif ending in _JSON:
                table = _guarded(file, lambda: _json(file))
            else:
                delimiter, encoding = mapping.delimiter or _delimiter(file), mapping.encoding
                table = _guarded(
                    file,
                    lambda d=delimiter, e=encoding: read_text_table(file, d, e),  # type: ignore[misc]
                )
                self._checked_text(file, table, delimiter)
            _take_mapped(str(file), table, mapping, self.gathering)


def _is_record(text: str) -> bool:
    """Is a string of one line a text record, and not the name of a file?"""
    try:
        return "|" in text and not Path(text).exists()
    except (OSError, ValueError):
        # No file can have this name.
        return True


def see(file: Path) -> None:
    """Raise a DataError unless it is a file."""
    try:
        if file.is_dir():
            raise DataError(f"{file}: is a directory; name files of it{_some_files(file)}")
        if file.exists():
            return
    except (OSError, ValueError) as error:
        raise DataError(f"{str(file)[:100]!r} is no name of a file: {error}") from None
    raise DataError(
        f"{file}: there is no such file (looked in {file.parent.absolute()}); a text record has "
        "fields with | between them: name|arrival|occurrence|..."
    )


def input_files(paths: Sequence[str | Path]) -> list[Path]:
    """The files that paths, folders and patterns name, each once; no file is a DataError.

    A folder stands for all files below it, except `cernis.toml` and those whose name, or the name
    of a folder on the way, begins with `_` or `.`.
    """
    files: dict[Path, None] = {}
    for path in paths:
        matching = _matching(str(path))
        if not matching and Path(path).is_dir():
            raise DataError(f"{path}: the folder has no files of records")
        if not matching:
            raise DataError(
                f"{path}: there is no such file (looked in {Path(path).parent.absolute()})"
            )
        files.update(dict.fromkeys(matching))
    return list(files)


def _matching(path: str) -> list[Path]:
    file = Path(path)
    names = [file] if file.exists() else [Path(each) for each in sorted(glob(path))]
    return [each for name in names for each in (_below(name) if name.is_dir() else [name])]


def _below(folder: Path) -> list[Path]:
    hidden = ("_", ".")
    return [
        file for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != FILE_NAME
        and not any(part.startswith(hidden) for part in file.relative_to(folder).parts)
    ]  # fmt: skip


def _some_files(folder: Path) -> str:
    """A file of a folder, as an example."""
    names = sorted(each.name for each in folder.iterdir() if each.is_file())
    return f", such as {folder / names[0]}" if names else ""


def _opened(file: Path) -> BinaryIO:
    return _guarded(file, lambda: file.open("rb"))


def _guarded(file: Path, read: Callable[[], Read]) -> Read:
    try:
        return read()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error


def _has_bars(file: Path) -> bool:
    """Does the first line look like a text record?"""
    with _opened(file) as stream:
        return b"|" in stream.readline(1 << 16)


def _delimiter(file: Path, said: str | None = None) -> str:
    """What stands between fields: what is said, or what the ending says."""
    usual = "\t" if file.suffix.lower() == ".tsv" else ","
    return usual if said is None else said.replace("\\t", "\t")


def is_column(column: Any) -> bool:
    """Is it a list or an array, as of a column?"""
    return isinstance(column, list | tuple) or hasattr(column, "__array__")


def refuse_one_record(events: Mapping[Any, Any]) -> None:
    """Raise a DataError if a mapping is one record, and not tables by name."""
    is_named = not {"name", "event", "occurrence"}.isdisjoint(events)
    if is_named and any(isinstance(each, str | int | float) for each in events.values()):
        raise DataError(
            "a mapping gives tables, or lists of rows, by the names of relations; one record is "
            "given in a list: [{...}]"
        )


def _parquet(file: Path) -> pa.Table:
    """The table of a file; text comes as a dictionary, as it mostly lies in the file."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        texts = [field.name for field in opened.schema_arrow if is_text_type(field.type)]
    with parquet.ParquetFile(file, read_dictionary=texts) as opened:
        return opened.read()


def _json(file: Path) -> pa.Table:
    from pyarrow import json

    return json.read_json(file)


def _chosen(table: pa.Table | TextTable, mapping: InputMapping) -> Booleans | None:
    """The rows that a mapping is about; None for all."""
    chosen: Booleans | None = None
    for title, wanted in mapping.where:
        column = without_dictionary(table.column(title))
        text = str(wanted).lower() if isinstance(wanted, bool) else str(wanted)
        equal = (
            pc.equal(column, text)
            if isinstance(table, TextTable)
            else pc.equal(column, pa.scalar(wanted))
        )
        is_equal = as_numpy(pc.fill_null(equal, False))
        chosen = is_equal if chosen is None else chosen & is_equal
    return chosen
