"""`cernis.toml`: which columns of a table are the times, the value and the arguments of a relation.

`[defaults]` says what columns are called: `occurrence = "time"`, and for one relation alone
`[defaults.spo2]`. Each mapping is a table `[[input]]` with the keys `relation`, `occurrence` or
`start` and `end`, and where needed `file` (a name or a pattern; else the file or table that is
called as the relation), `arrival`, `value`, `probability`, `arguments`, `where` (which rows),
`delimiter` and `encoding`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from cernis.errors import DataError
from cernis.records.column_names import NO_NAMES, ColumnNames, column_names
from cernis.records.column_titles import Titles

FILE_NAME: Final = "cernis.toml"
_TEXTS: Final = (
    "file", "relation", "arrival", "occurrence", "start", "end", "value", "probability",
    "delimiter", "encoding",
)  # fmt: skip
_KEYS: Final = (*_TEXTS, "arguments", "where")
_SECTIONS: Final = frozenset({"defaults", "input"})


@dataclass(frozen=True, slots=True)
class InputMapping:
    """How the rows of some files become records of one relation."""

    file: str
    relation: str
    titles: Titles
    where: tuple[tuple[str, Any], ...] = ()
    delimiter: str | None = None
    encoding: str | None = None

    def is_for(self, file: Path) -> bool:
        """Is it about this file? Its name or the end of its path must match."""
        if not self.file:
            return file.stem == self.relation
        return fnmatch(file.name, self.file) or fnmatch(file.as_posix(), f"*/{self.file}")


@dataclass(frozen=True, slots=True)
class Mappings:
    """All mappings of a `cernis.toml`."""

    inputs: tuple[InputMapping, ...] = ()
    names: ColumnNames = NO_NAMES
    """What columns are called, of all files and tables that no mapping is about."""

    @property
    def are_default(self) -> bool:
        """Do they say nothing?"""
        return not self.inputs and self.names is NO_NAMES

    def of_table(self, relation: str) -> list[InputMapping]:
        """The mappings about a table in memory: those of its relation that name no file."""
        return [each for each in self.inputs if not each.file and each.relation == relation]

    def of(self, file: Path) -> list[InputMapping]:
        """The mappings about a file; there may be one for each of several relations."""
        return [mapping for mapping in self.inputs if mapping.is_for(file)]


def read_mappings(
    source: str | Path | Mapping[str, Any] | Mappings | None, beside: Path
) -> Mappings:
    """The mappings of a file, or of what one would hold; those that have been read already.

    Without any, those of the `cernis.toml` in a folder, or else in the current one, if there is.
    Names of columns alone go before what that file says; inputs are in place of it.
    """
    if isinstance(source, Mappings):
        return source
    if isinstance(source, Mapping):
        said = _mappings(source if _SECTIONS & set(source) else {"defaults": source}, "the mapping")
        if said.inputs:
            return said
        in_file = _mappings_of_file(None, beside)
        return replace(in_file, names=said.names.over(in_file.names))
    return _mappings_of_file(source, beside)


def read_names(source: str | Path | Mapping[str, Any] | Mappings | None) -> Mappings:
    """The mappings for tables in memory: those that are said; no file is looked for."""
    return Mappings() if source is None else read_mappings(source, Path(FILE_NAME).parent)


def _mappings_of_file(source: str | Path | None, beside: Path) -> Mappings:
    candidates = [beside / FILE_NAME, Path(FILE_NAME)] if source is None else [Path(source)]
    file = next((each for each in candidates if source is not None or each.is_file()), None)
    if file is None:
        return Mappings()
    try:
        return _mappings(tomllib.loads(file.read_text("utf-8")), str(file))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: {error}") from None


def said_in(file: Path, names: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says of columns, with these names before its own."""
    try:
        said = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: {error}") from None
    _mappings(said, str(file))
    return {**said, "defaults": {**said.get("defaults", {}), **names}}


def _mappings(data: Mapping[str, Any], source: str) -> Mappings:
    for key in data:
        if key not in _SECTIONS:
            raise DataError(
                f"{source}: there is no section {key}; there are [defaults] and [[input]]"
            )
    entries = data.get("input", [])
    defaults = data.get("defaults", {})
    if not isinstance(defaults, Mapping):
        raise DataError(f"{source}: write [defaults], with one bracket, before names of columns")
    if not isinstance(entries, list):
        raise DataError(f"{source}: write [[input]], with two brackets, before each mapping")
    return Mappings(
        tuple(
            _input(entry, f"{source}: input {number}") for number, entry in enumerate(entries, 1)
        ),
        column_names(defaults, f"{source}: defaults"),
    )


def _input(entry: Any, source: str) -> InputMapping:
    if not isinstance(entry, Mapping):
        raise DataError(f"{source} is no table")
    for key in entry:
        if key not in _KEYS:
            raise DataError(f"{source}: there is no key {key}; there are {', '.join(_KEYS)}")
    if "relation" not in entry:
        raise DataError(f"{source}: relation is missing")
    for key in _TEXTS:
        if not isinstance(entry.get(key, ""), str):
            raise DataError(f"{source}: {key} must be text")
    arguments = entry.get("arguments", [])
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise DataError(f"{source}: arguments must be a list of column names")
    where = entry.get("where", {})
    if not isinstance(where, Mapping):
        raise DataError(f"{source}: where must be a table of columns and values")
    titles = _titles(entry, tuple(arguments), source)
    return InputMapping(
        entry.get("file", ""), entry["relation"], titles, tuple(where.items()),
        entry.get("delimiter"), entry.get("encoding"),
    )  # fmt: skip


def _titles(entry: Mapping[str, Any], arguments: tuple[str, ...], source: str) -> Titles:
    at_point, on_interval = "occurrence" in entry, "start" in entry and "end" in entry
    if at_point == on_interval or (at_point and "end" in entry):
        raise DataError(f"{source}: give either occurrence, or start and end")
    start = entry["occurrence" if at_point else "start"]
    end = None if at_point else entry["end"]
    return Titles(
        entry.get("arrival"), start, end, entry.get("value"), arguments,
        probability=entry.get("probability"),
    )  # fmt: skip
