"""The state of a stream on disk: a few parts for each bucket, versioned by micro-batch.

Micro-batch n writes version n of the state, with which micro-batch n+1 begins. A version is a file
with a head that lists all parts, and the parts that are new; the others are in the files of earlier
versions. Parts that last (records of the window) and parts that are new each time are in two files,
so that a file can be removed when nothing refers to it any more. A file is written beside its place
and moved there, so it is whole or not there; each part has a checksum. A micro-batch that is done
again writes its version again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from cernis.errors import DataError
from cernis.session.saved.tree_shapes import Named, Parts, Table, TextShape, Whole

FORMAT: Final = 1
"""The format of the files; another one is refused."""

_MAGIC: Final = b"cernis-state\n"
_HEAD, _LASTING = ".state", ".parts"
_FILE: Final = rf"\d{{12}}({re.escape(_HEAD)}|{re.escape(_LASTING)})"
_WASTE: Final = 4
_LITTLE: Final = 1 << 16
"""Files are written again when they are larger than `_WASTE` times the parts that are needed, and
by more than `_LITTLE` bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part: its bytes, and whether they are likely to stay the same for long."""

    content: bytes | memoryview
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class PartPlace:
    """The place of a part: the file, the first byte, the number of bytes, and their checksum."""

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
    {"parts": Named(Parts((TextShape(), Whole(0), Whole(0), Whole(0, (1 << 32) - 1))))},
    (_names_fit,),
)
"""The head of a version: where its parts are."""


@dataclass(frozen=True, slots=True)
class BucketStore:
    """The state of one bucket of one step."""

    folder: Path
    step: int
    bucket: int

    @property
    def _bucket_folder(self) -> Path:
        return self.folder / f"{self.step:02}-{self.bucket:05}"

    def head(self, version: int) -> bytes:
        """The head of a version, with the checksums of all its parts; a DataError if it is none."""
        file = self._head_file(version)
        try:
            with file.open("rb") as stream:
                first = stream.readline()
                second = stream.readline()
        except OSError as error:
            raise self._broken(file, error.strerror or "cannot be read") from error
        if first != _MAGIC:
            raise self._broken(file, "is no state of a stream")
        return second

    def places(self, version: int) -> dict[str, PartPlace]:
        """The places of the parts of a version; a DataError if its head cannot be read."""
        file = self._head_file(version)
        head = self._head(file, self.head(version))
        complaint = _PLACES.complaint(head, "its head")
        if complaint is not None:
            raise self._broken(file, f"has a damaged head: {complaint}")
        return {name: PartPlace(*place) for name, place in head["parts"].items()}

    def digest(self, version: int) -> str:
        """A digest of a version: of the checksums of all its parts."""
        return blake2b(self.head(version), digest_size=12).hexdigest()

    def _head_file(self, version: int) -> Path:
        return self._bucket_folder / f"{version:012}{_HEAD}"

    def _head(self, file: Path, line: bytes) -> dict[str, Any]:
        check, _, text = line.partition(b" ")
        try:
            if int(check, 16) != crc32(text):
                raise ValueError
            head: dict[str, Any] = json.loads(text)
            version = head.get("format")
        except (ValueError, AttributeError, RecursionError):
            raise self._broken(file, "has a damaged head") from None
        if version != FORMAT:
            raise self._broken(file, f"has format {version}; this version reads format {FORMAT}")
        return head

    def read(self, places: Mapping[str, PartPlace]) -> dict[str, memoryview]:
        """The parts at some places, by name; damaged ones are a DataError."""
        contents = {}
        for name, place in places.items():
            file = self._bucket_folder / place.file
            try:
                with file.open("rb") as stream:
                    stream.seek(place.offset)
                    content = stream.read(place.size)
            except OSError as error:
                raise self._broken(file, error.strerror or "cannot be read") from error
            if len(content) != place.size or crc32(content) != place.check:
                raise self._broken(file, f"is damaged in the part {name}")
            contents[name] = memoryview(content)
        return contents

    def write(
        self, version: int, parts: Mapping[str, Part], kept: Mapping[str, PartPlace]
    ) -> dict[str, PartPlace]:
        """Write a version of new parts and of parts that stay in place; gives all places."""
        self._bucket_folder.mkdir(parents=True, exist_ok=True)
        places = dict(kept)
        lasting = {name: part for name, part in parts.items() if part.lasting}
        passing = {name: part for name, part in parts.items() if not part.lasting}
        stem = f"{version:012}"
        if lasting:
            places |= _placed(lasting, stem + _LASTING, 0)
            _replace(
                self._bucket_folder / (stem + _LASTING), (part.content for part in lasting.values())
            )
        head = self._header(stem, places, passing)
        places |= _placed(passing, stem + _HEAD, len(head))
        _replace(
            self._bucket_folder / (stem + _HEAD),
            [head, *(part.content for part in passing.values())],
        )
        return places

    def _header(self, stem: str, kept: dict[str, PartPlace], passing: dict[str, Part]) -> bytes:
        """The head of a file. The places of the parts in it depend on its own length."""
        length = 0
        while True:
            places = kept | _placed(passing, stem + _HEAD, length)
            listed = {name: [p.file, p.offset, p.size, p.check] for name, p in places.items()}
            text = json.dumps({"format": FORMAT, "parts": listed}).encode() + b"\n"
            head = _MAGIC + f"{crc32(text):08x} ".encode() + text
            if len(head) == length:
                return head
            length = len(head)

    def is_wasteful(self, kept: Mapping[str, PartPlace]) -> bool:
        """Are the files of the parts that stay mostly filled with parts that are not needed?"""
        files = {place.file for place in kept.values()}
        sizes = sum((self._bucket_folder / file).stat().st_size for file in files)
        return sizes > _WASTE * sum(place.size for place in kept.values()) + _LITTLE

    def forget(self, keep: Mapping[int, Mapping[str, PartPlace]]) -> None:
        """Remove all files but those that some versions need, whose places are given."""
        needed = {f"{version:012}{_HEAD}" for version in keep}
        needed |= {place.file for places in keep.values() for place in places.values()}
        for name in os.listdir(self._bucket_folder) if self._bucket_folder.is_dir() else []:
            if name not in needed and name[:12] < f"{max(keep, default=0):012}":
                (self._bucket_folder / name).unlink(missing_ok=True)

    def _broken(self, file: Path, why: str) -> DataError:
        return DataError(
            f"the state of bucket {self.bucket} of stage {self.step} cannot be used: {file} {why}. "
            "Restore the checkpoint from a copy, or start with a new one"
        )


def _placed(parts: Mapping[str, Part], file: str, offset: int) -> dict[str, PartPlace]:
    places = {}
    for name, part in parts.items():
        size = memoryview(part.content).nbytes
        places[name] = PartPlace(file, offset, size, crc32(part.content))
        offset += size
    return places


def _replace(file: Path, contents: Iterable[bytes | memoryview]) -> None:
    """Write a file, so that it is whole or not there."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    with unfinished.open("wb") as stream:
        for content in contents:
            stream.write(content)
    unfinished.replace(file)


# -- the checkpoint ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of a stream: its settings, its state, its commits, and Spark's own checkpoint."""

    folder: Path

    @property
    def spark(self) -> Path:
        """The folder in which Spark keeps the input of each micro-batch."""
        return self.folder / "spark"

    @property
    def files(self) -> Path:
        """The folder with the list of files that were read, if the input is a folder."""
        return self.folder / "files"

    def store(self, step: int, bucket: int) -> BucketStore:
        """The state of a bucket."""
        return BucketStore(self.folder / "state", step, bucket)

    def claim(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Write the settings of the stream; a DataError if the folder has those of another one.

        Gives all settings: one that is left open (None) is as it was before.
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
            settings = {"format": FORMAT, **settings}
            _replace(file, [json.dumps(settings, indent=1).encode()])
            return dict(settings)
        # Checkpoints of earlier versions have no entry for ids, since there were none. If such a
        # stream had tables of facts, its program differs anyway, since it has the number of facts.
        before = {"ids": "", "facts": {}, "epoch": False, "causes": False, **before}
        self._compare(before, {"format": FORMAT, **settings})
        return {**settings, **before}

    def settings(self) -> dict[str, Any]:
        """The settings of the stream; a DataError if there is none in the folder."""
        file = self.folder / "stream.json"
        try:
            known: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            raise DataError(f"there is no checkpoint of a stream in {self.folder}") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DataError(f"the checkpoint {self.folder} cannot be read: {reason}") from error
        except ValueError:
            known = {}
        if not isinstance(known, dict) or "format" not in known:
            raise DataError(
                f"the checkpoint {self.folder} is damaged: its file stream.json has no settings of "
                "a stream. Restore the folder from a copy, or begin with a new one"
            )
        return known

    def _compare(self, before: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        for key, value in settings.items():
            if value is not None and before.get(key) != value:
                raise DataError(
                    f"the checkpoint {self.folder} is of another stream: "
                    f"{_difference(key, before.get(key), value)}. Go on as before, or give a new "
                    "checkpoint"
                )

    def commit(self, version: int, figures: Mapping[str, Any]) -> None:
        """Record that a micro-batch is done: its state and its changes are written."""
        folder = self.folder / "commits"
        folder.mkdir(exist_ok=True)
        _replace(folder / f"{version:012}.json", [json.dumps(figures).encode()])
        for name in sorted(os.listdir(folder))[:-_COMMITS]:
            (folder / name).unlink(missing_ok=True)

    def committed(self, version: int) -> dict[str, Any] | None:
        """The figures of a micro-batch that is done; None if it is not, or was done long ago."""
        try:
            text = (self.folder / "commits" / f"{version:012}.json").read_text("utf-8")
        except FileNotFoundError:
            return None
        figures: dict[str, Any] = json.loads(text)
        return figures

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
    """How a setting differs, in words."""
    if key != "facts":
        return f"its {key} is {_short(before)}, not {_short(now)}"
    others = sorted(name for name in before | now if before.get(name) != now.get(name))
    return f"the facts of {_short(', '.join(others))} were others"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
