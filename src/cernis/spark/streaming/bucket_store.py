"""The state of a stream on disk: a few parts for each bucket, versioned by micro-batch.

What a bucket leaves to micro-batch n+1 is version n. A version is a file with a head that lists all
parts, and the parts that are new; the others are where an earlier version has put them. Parts that
last (records of the window) and parts that are new each time are in two files, so that a file can
be removed when nothing refers to it any more. A file is written beside its place and moved there,
so it is whole or not there; each part has a checksum. A micro-batch that is done again writes its
version again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from cernis.errors import DataError
from cernis.session.saved.tree_shapes import Named, Parts, Table, Text, Whole

FORMAT: Final = 1
"""The format of the files; another one is refused."""

_MAGIC: Final = b"cernis-state\n"
_HEAD, _LASTING = ".state", ".parts"
_FILE: Final = rf"\d{{12}}({re.escape(_HEAD)}|{re.escape(_LASTING)})"
_WASTE: Final = 4
_LITTLE: Final = 1 << 16
"""Files are written again when they are larger than so many times what is needed of them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part: its bytes, and whether they are likely to stay the same for long."""

    content: bytes | memoryview
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part is: the file, from which byte on, how many, and their checksum."""

    file: str
    offset: int
    size: int
    check: int


def _names_fit(tree: Any) -> str | None:
    """Parts are in files of the bucket."""
    names = [place[0] for place in tree["parts"].values()]
    foreign = [name for name in names if not re.fullmatch(_FILE, name)]
    return f"{foreign[0][:40]!r} is no file of parts" if foreign else None


_PLACES: Final = Table(
    {"parts": Named(Parts((Text(), Whole(0), Whole(0), Whole(0, (1 << 32) - 1))))}, (_names_fit,)
)
"""The head of a version: where its parts are."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The state of one bucket of one step."""

    folder: Path
    step: int
    bucket: int

    @property
    def _own(self) -> Path:
        return self.folder / f"{self.step:02}-{self.bucket:05}"

    def places(self, version: int) -> dict[str, Place]:
        """Where the parts of a version are; a DataError if that cannot be found out."""
        file = self._own / f"{version:012}{_HEAD}"
        try:
            with file.open("rb") as stream:
                first = stream.readline()
                told = stream.readline()
        except OSError as error:
            raise self._broken(file, error.strerror or "cannot be read") from error
        if first != _MAGIC:
            raise self._broken(file, "is no state of a stream")
        head = self._head(file, told)
        found = _PLACES.complaint(head, "its head")
        if found is not None:
            raise self._broken(file, f"has a damaged head: {found}")
        return {name: Place(*place) for name, place in head["parts"].items()}

    def _head(self, file: Path, told: bytes) -> dict[str, Any]:
        check, _, text = told.partition(b" ")
        try:
            if int(check, 16) != crc32(text):
                raise ValueError
            head: dict[str, Any] = json.loads(text)
            found = head.get("format")
        except (ValueError, AttributeError, RecursionError):
            raise self._broken(file, "has a damaged head") from None
        if found != FORMAT:
            raise self._broken(file, f"has format {found}; this version reads format {FORMAT}")
        return head

    def read(self, places: Mapping[str, Place]) -> dict[str, memoryview]:
        """The parts at some places, by name; damaged ones are a DataError."""
        found = {}
        for name, place in places.items():
            file = self._own / place.file
            try:
                with file.open("rb") as stream:
                    stream.seek(place.offset)
                    content = stream.read(place.size)
            except OSError as error:
                raise self._broken(file, error.strerror or "cannot be read") from error
            if len(content) != place.size or crc32(content) != place.check:
                raise self._broken(file, f"is damaged in the part {name}")
            found[name] = memoryview(content)
        return found

    def write(
        self, version: int, parts: Mapping[str, Part], kept: Mapping[str, Place]
    ) -> dict[str, Place]:
        """Write a version: new parts, and those that are where they were. Gives all places."""
        self._own.mkdir(parents=True, exist_ok=True)
        places = dict(kept)
        lasting = {name: part for name, part in parts.items() if part.lasting}
        passing = {name: part for name, part in parts.items() if not part.lasting}
        stem = f"{version:012}"
        if lasting:
            places |= _placed(lasting, stem + _LASTING, 0)
            _replace(self._own / (stem + _LASTING), (part.content for part in lasting.values()))
        head = self._header(stem, places, passing)
        places |= _placed(passing, stem + _HEAD, len(head))
        _replace(self._own / (stem + _HEAD), [head, *(part.content for part in passing.values())])
        return places

    def _header(self, stem: str, kept: dict[str, Place], passing: dict[str, Part]) -> bytes:
        """The head of a file. It has the places of the parts after it, so its length matters."""
        length = 0
        while True:
            places = kept | _placed(passing, stem + _HEAD, length)
            told = {name: [p.file, p.offset, p.size, p.check] for name, p in places.items()}
            text = json.dumps({"format": FORMAT, "parts": told}).encode() + b"\n"
            head = _MAGIC + f"{crc32(text):08x} ".encode() + text
            if len(head) == length:
                return head
            length = len(head)

    def is_wasteful(self, kept: Mapping[str, Place]) -> bool:
        """Do the files of parts that stay hold mostly what nobody needs any more?"""
        files = {place.file for place in kept.values()}
        sizes = sum((self._own / file).stat().st_size for file in files)
        return sizes > _WASTE * sum(place.size for place in kept.values()) + _LITTLE

    def forget(self, keep: Iterable[int]) -> None:
        """Remove all files but those that some versions need."""
        needed = set()
        keep = list(keep)
        for version in keep:
            stem = f"{version:012}"
            if (self._own / (stem + _HEAD)).exists():
                needed.add(stem + _HEAD)
                needed |= {place.file for place in self.places(version).values()}
        for name in os.listdir(self._own) if self._own.is_dir() else []:
            if name not in needed and name[:12] < f"{max(keep, default=0):012}":
                (self._own / name).unlink(missing_ok=True)

    def _broken(self, file: Path, why: str) -> DataError:
        return DataError(
            f"the state of bucket {self.bucket} of stage {self.step} cannot be used: {file} {why}. "
            "Restore the checkpoint from a copy, or start with a new one"
        )


def _placed(parts: Mapping[str, Part], file: str, offset: int) -> dict[str, Place]:
    places = {}
    for name, part in parts.items():
        size = memoryview(part.content).nbytes
        places[name] = Place(file, offset, size, crc32(part.content))
        offset += size
    return places


def _replace(file: Path, contents: Iterable[bytes | memoryview]) -> None:
    """Write a file, so that it is whole or not there."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    with unfinished.open("wb") as stream:
        for content in contents:
            stream.write(content)
    unfinished.replace(file)


# -- the whole of it ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of a stream: what it is of, its state, its commits, and Spark's own checkpoint."""

    folder: Path

    @property
    def spark(self) -> Path:
        """Where Spark keeps which input each micro-batch had."""
        return self.folder / "spark"

    @property
    def files(self) -> Path:
        """Where the list of files is that were found, if the input is a folder."""
        return self.folder / "files"

    def shelf(self, step: int, bucket: int) -> Shelf:
        """The state of a bucket."""
        return Shelf(self.folder / "state", step, bucket)

    def claim(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Say what the stream is of; a DataError if the folder is that of another one.

        Gives what the folder says: a setting that is left open (None) is as it was before.
        """
        file = self.folder / "stream.json"
        try:
            before = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            before = None
        except (OSError, ValueError) as error:
            raise DataError(f"the checkpoint {self.folder} cannot be read: {error}") from error
        if before is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            told = {"format": FORMAT, **told}
            _replace(file, [json.dumps(told, indent=1).encode()])
            return dict(told)
        # Streams of old say nothing of ids: they had none. Where one of old had tables of facts,
        # its program is another text, since how many facts there were is part of it.
        before = {"ids": "", "facts": {}, **before}
        self._compare(before, {"format": FORMAT, **told})
        return {**told, **before}

    def _compare(self, before: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        for key, value in told.items():
            if value is not None and before.get(key) != value:
                raise DataError(
                    f"the checkpoint {self.folder} is of another stream: "
                    f"{_difference(key, before.get(key), value)}. Go on as before, or give a new "
                    "checkpoint"
                )

    def commit(self, version: int, told: Mapping[str, Any]) -> None:
        """Say that a micro-batch is done: its state is there and its changes are in the sink."""
        folder = self.folder / "commits"
        folder.mkdir(exist_ok=True)
        _replace(folder / f"{version:012}.json", [json.dumps(told).encode()])
        for name in sorted(os.listdir(folder))[:-_COMMITS]:
            (folder / name).unlink(missing_ok=True)

    def committed(self, version: int) -> dict[str, Any] | None:
        """What was said of a micro-batch when it was done; None if it was not, or is long ago."""
        try:
            text = (self.folder / "commits" / f"{version:012}.json").read_text("utf-8")
        except FileNotFoundError:
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def last(self) -> int:
        """The last micro-batch that is done; -1 if there is none."""
        try:
            names = [n for n in os.listdir(self.folder / "commits") if n.endswith(".json")]
        except FileNotFoundError:
            return -1
        return max((int(name[:12]) for name in names if not name.startswith(".")), default=-1)


_COMMITS: Final = 100
"""Commits that are kept."""


def _difference(key: str, before: Any, now: Any) -> str:
    """What of a setting is another, in words."""
    if key != "facts":
        return f"its {key} is {_short(before)}, not {_short(now)}"
    others = sorted(name for name in before | now if before.get(name) != now.get(name))
    return f"the facts of {_short(', '.join(others))} were others"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
