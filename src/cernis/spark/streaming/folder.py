"""Files that appear in a folder: a listing finds them and a log keeps them, so each is read once.

Spark's own source of files skips files that are old or begin with `_`, and after some time forgets
which files it has seen. Here only the path of a file matters: whatever its name and its age, it is
read once.

The files that a listing finds are written as a *bundle* of lines, one for each file, into a folder
that Spark reads; the names and ages of bundles are such that Spark skips none. The *log* has a line
for each file that was ever found. A bundle is written before its files are in the log, and Spark
removes it when its micro-batch is done; so whenever the process ends, each file is in a bundle or
in the log, or is found again.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from cernis.errors import DataError
from cernis.spark.streaming.spool import locked

HIDDEN: Final = "it begins with a dot or is in _temporary, as files do that are not finished"
NO_FILE: Final = "it is no regular file"
UNLISTED: Final = "the folder may not be listed"

_LOG: Final = "log"
_DIGITS: Final = 15
_COST: Final = 1 << 16
"""Opening a file takes as long as reading so many bytes."""
_UNFINISHED: Final = "_temporary"
_COPYING: Final = "._COPYING_"
_SETTLED: Final = 2_000_000_000
"""Nanoseconds after its last change from which the time of a folder shows all changes."""


def address(path: str) -> str:
    """A path as plain text, also if its names are no UTF-8."""
    return quote_from_bytes(os.fsencode(path), "/")


def path_of(text: str) -> str:
    """The path that an address stands for."""
    return os.fsdecode(unquote_to_bytes(text))


class Entry(NamedTuple):
    """A file in the folder: its address, the reason why it is skipped or None, and its size."""

    address: str
    skipped: str | None = None
    size: int = 0

    def line(self) -> str:
        """The entry as a line of text."""
        return json.dumps(self) + "\n"

    @staticmethod
    def of(line: str | bytes) -> Entry:
        """The entry from such a line."""
        return Entry(*json.loads(line))


# -- the log -----------------------------------------------------------------------------------


@dataclass
class FileLog:
    """All files that were ever found; on disk, one on each line."""

    folder: Path
    known: set[str] = field(init=False, default_factory=set)
    last: int = 0
    """When the last bundle was written, by what is on disk."""

    def __post_init__(self) -> None:
        busy = f"another stream goes on from {self.folder.parent}: stop it first"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder / "lock", busy)
        self._stream: IO[bytes] = (self.folder / _LOG).open("ab")
        try:
            self._load()
        except (OSError, ValueError):
            self.close()
            raise

    def _load(self) -> None:
        """Read the log; a last line that a crash has left unfinished is cut off."""
        content = (self.folder / _LOG).read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._stream.truncate(len(whole))
        for line in whole.decode("ascii").splitlines():
            stamp, _, file_address = line.partition(" ")
            self.last = max(self.last, int(stamp))
            self.known.add(file_address)

    def add(self, entries: Iterable[Entry], stamp: int) -> None:
        """Add the files that are not there yet, with the time of the last bundle."""
        new = [file_address for file_address in dict.fromkeys(entry.address for entry in entries)
               if file_address not in self.known]  # fmt: skip
        self._stream.write("".join(f"{stamp} {file_address}\n" for file_address in new).encode())
        self._stream.flush()
        self.known |= set(new)

    def close(self) -> None:
        """Close the log, so that another stream may use it."""
        self._stream.close()
        self._lock.close()


# -- bundles -----------------------------------------------------------------------------------


@dataclass
class Bundles:
    """A folder of bundles: files of lines, which are named and dated in their order.

    A bundle has at most as many files as there shall be tasks. If the number of entries of a
    micro-batch is limited, it has exactly as many, so that a micro-batch can be limited to one
    bundle by its number of files.
    """

    folder: Path
    parts: int
    at_most: int | None = None
    last: int = 0
    """When the last bundle was written, in milliseconds; the next is later."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._beside = self.folder.with_name("unfinished")
        self._beside.mkdir(exist_ok=True)

    def entries(self) -> Iterator[Entry]:
        """All entries that are there; a file that Spark removes meanwhile was read before."""
        for file in sorted(self.folder.iterdir()):
            self.last = max(self.last, int(file.name[:_DIGITS]))
            with suppress(FileNotFoundError):
                yield from map(Entry.of, filter(str.strip, file.read_text("ascii").splitlines()))

    def add(self, entries: Sequence[Entry]) -> None:
        """Write entries as bundles, in their order."""
        size = self.at_most or len(entries)
        for first in range(0, len(entries), size):
            self._write(entries[first : first + size])

    def _write(self, entries: Sequence[Entry]) -> None:
        self.last = max(time.time_ns() // 1_000_000, self.last + 1)
        count = self.parts if self.at_most else min(self.parts, len(entries))
        for number, group in enumerate(groups_of(entries, count)):
            file = self._beside / f"{self.last:0{_DIGITS}}-{number:04}"
            # Spark would skip an empty file; a blank line makes it not empty, and has no meaning.
            file.write_text("".join(entry.line() for entry in group) or "\n", "ascii")
            os.utime(file, ns=(self.last * 1_000_000,) * 2)
            file.replace(self.folder / file.name)


def groups_of(entries: Sequence[Entry], count: int) -> list[list[Entry]]:
    """So many groups of about the same size: the largest entry first, to the smallest group."""
    groups: list[list[Entry]] = [[] for _ in range(count)]
    heap = [(0, number) for number in range(count)]
    for entry in sorted(entries, key=lambda entry: entry.size, reverse=True):
        size, smallest = heappop(heap)
        groups[smallest].append(entry)
        heappush(heap, (size + entry.size + _COST, smallest))
    return groups


# -- the listing -------------------------------------------------------------------------------


@dataclass
class Listing:
    """Looks for files in a folder, and in those below it.

    A folder that has not changed is not looked through again.
    """

    folder: str
    pattern: str = "*"
    _listed: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """By folder whose time shows all changes: when it changed last, and the folders in it."""

    def __post_init__(self) -> None:
        self._wanted = [re.compile(fnmatch.translate(part)) for part in alternatives(self.pattern)]

    def new(self, known: set[str]) -> list[Entry]:
        """The files that are not known yet, the oldest first; of one age, by name."""
        dated: list[tuple[int, Entry]] = []
        ahead, visited = [self.folder], set()
        while ahead:
            folder = ahead.pop()
            try:
                about = os.stat(folder)
                if (about.st_dev, about.st_ino) in visited:
                    continue
                visited.add((about.st_dev, about.st_ino))
                ahead += self._below(folder, about.st_mtime_ns, dated)
            except OSError as error:
                dated += self._unlisted(folder, error)
        fresh = {entry.address: (age, entry) for age, entry in dated if entry.address not in known}
        by_age = sorted(fresh.values(), key=lambda each: (each[0], each[1].address))
        return [entry for _, entry in by_age]

    def _unlisted(self, folder: str, error: OSError) -> list[tuple[int, Entry]]:
        if folder == self.folder:
            why = error.strerror or str(error)
            raise DataError(f"the folder {folder} cannot be listed: {why}") from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            # It was moved away, or removed.
            return []
        return [(0, Entry(address(folder), UNLISTED))]

    def _below(self, folder: str, changed: int, dated: list[tuple[int, Entry]]) -> list[str]:
        """Add the files of a folder to `dated`, with their ages; gives the folders in it."""
        listed = self._listed.get(folder)
        if listed is not None and listed[0] == changed:
            return listed[1]
        began = time.time_ns()
        folders: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir() and not _is_unfinished(entry.name):
                    folders.append(entry.path)
                else:
                    dated += self._entry(entry)
        # Two changes within the same moment give a folder the same time.
        if changed < began - _SETTLED:
            self._listed[folder] = changed, folders
        return folders

    def _entry(self, entry: os.DirEntry[str]) -> Iterator[tuple[int, Entry]]:
        try:
            if _is_unfinished(entry.name):
                yield 0, Entry(address(entry.path), HIDDEN)
            elif not any(pattern.match(entry.name) for pattern in self._wanted):
                return
            elif entry.is_file():
                about = entry.stat()
                yield about.st_mtime_ns, Entry(address(entry.path), None, about.st_size)
            else:
                yield 0, Entry(address(entry.path), NO_FILE)
        except FileNotFoundError:
            return


def _is_unfinished(name: str) -> bool:
    """Is a file, or a folder, by its name one that is being written?"""
    return name.startswith(".") or name == _UNFINISHED or name.endswith(_COPYING)


def alternatives(pattern: str) -> list[str]:
    """A pattern with braces as several patterns without.

    >>> alternatives("*.{txt,csv}")
    ['*.txt', '*.csv']
    """
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        return [pattern]
    before, after = pattern[: braces.start()], pattern[braces.end() :]
    choices = [before + part + after for part in braces[1].split(",")]
    return [pattern for choice in choices for pattern in alternatives(choice)]
