"""`cernis.toml`: which columns of a file are the times, the value and the arguments of a relation.

Each mapping is a table `[[input]]` with the keys `file` (a name or a pattern), `relation`,
`occurrence` or `start` and `end`, and where needed `arrival`, `value`, `probability`, `arguments`,
`where` (which rows) and `delimiter`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from cernis.errors import DataError
from cernis.records.column_titles import Titles

FILE_NAME: Final = "cernis.toml"
_TEXTS: Final = (
    "file", "relation", "arrival", "occurrence", "start", "end", "value", "probability",
    "delimiter",
)  # fmt: skip
_KEYS: Final = (*_TEXTS, "arguments", "where")


@dataclass(frozen=True, slots=True)
class InputMapping:
    """How the rows of some files become records of one relation."""

    file: str
    relation: str
    titles: Titles
    where: tuple[tuple[str, Any], ...] = ()
    delimiter: str = ","

    def is_for(self, file: Path) -> bool:
        """Is it about this file? Its name or the end of its path must match."""
        return fnmatch(file.name, self.file) or fnmatch(file.as_posix(), f"*/{self.file}")


@dataclass(frozen=True, slots=True)
class Mappings:
    """All mappings of a `cernis.toml`."""

    inputs: tuple[InputMapping, ...] = ()

    def of(self, file: Path) -> list[InputMapping]:
        """The mappings about a file; there may be one for each of several relations."""
        return [mapping for mapping in self.inputs if mapping.is_for(file)]


def read_mappings(
    source: str | Path | Mapping[str, Any] | Mappings | None, beside: Path
) -> Mappings:
    """The mappings of a file, or of what one would hold; those that have been read already.

    Without any, those of the `cernis.toml` in a folder, or else in the current one, if there is.
    """
    if isinstance(source, Mappings):
        return source
    if isinstance(source, Mapping):
        return _mappings(source, "the mapping")
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


def _mappings(data: Mapping[str, Any], source: str) -> Mappings:
    entries = data.get("input", [])
    if not isinstance(entries, list):
        raise DataError(f"{source}: write [[input]], with two brackets, before each mapping")
    return Mappings(
        tuple(_input(entry, f"{source}: input {number}") for number, entry in enumerate(entries, 1))
    )


def _input(entry: Any, source: str) -> InputMapping:
    if not isinstance(entry, Mapping):
        raise DataError(f"{source} is no table")
    for key in entry:
        if key not in _KEYS:
            raise DataError(f"{source}: there is no key {key}; there are {', '.join(_KEYS)}")
    for key in ("file", "relation"):
        if key not in entry:
            raise DataError(f"{source}: {key} is missing")
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
    delimiter = entry.get("delimiter", ",")
    return InputMapping(entry["file"], entry["relation"], titles, tuple(where.items()), delimiter)


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
