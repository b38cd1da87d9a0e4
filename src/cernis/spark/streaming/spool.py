"""A spool: messages kept on disk in the order they came, so that they can be read again.

A spool is a folder of *segments*. The messages of a segment stand one after the other in its data
file; its index has one entry of fixed size for each, so that many messages become an Arrow array
without a loop over them. The data are on disk before their entries are, so all messages that the
index lists exist, whenever the machine stops. A segment is named after the number of its first
message; numbers count from 0 and are never used again.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cernis.errors import DataError
from cernis.kernels.array_types import Integers

SCHEMA: Final = pa.schema([
    ("value", pa.string()), ("topic", pa.string()), ("received", pa.timestamp("us", "UTC")),
])  # fmt: skip
DDL: Final = "value string, topic string, received timestamp"

_ENTRY: Final = np.dtype([
    ("end", "<u8"), ("received", "<i8"), ("topic", "<u4"), ("check", "<u4"),
])  # fmt: skip
"""The end of a message in the data, when it came (in microseconds), its topic, its checksum."""

SEGMENT: Final = 1 << 26
"""Bytes of data after which a new segment starts."""

_TOPICS: Final = "topics"
_LOCK: Final = "lock"
_PATIENCE: Final = 30.0
"""Seconds that a writer waits for the one before it to end."""


class Message(NamedTuple):
    """A message, and when it came, in microseconds since 1970."""

    topic: str
    payload: bytes
    received: int


@dataclass(frozen=True, slots=True)
class Segment:
    """The files of a segment, and the number of its first message."""

    folder: Path
    first: int

    @property
    def data(self) -> Path:
        """The messages."""
        return self.folder / f"{self.first:020}.data"

    @property
    def index(self) -> Path:
        """The entries of the messages."""
        return self.folder / f"{self.first:020}.index"

    def entries(self) -> npt.NDArray[np.void]:
        """The entries that are whole; none if there is no such file."""
        try:
            size = self.index.stat().st_size // _ENTRY.itemsize
        except FileNotFoundError:
            return np.empty(0, _ENTRY)
        return np.fromfile(self.index, _ENTRY, size)


def segments(folder: Path) -> list[Segment]:
    """The segments of a spool, in order."""
    names = sorted(file.stem for file in folder.glob("*.index"))
    return [Segment(folder, int(name)) for name in names]


def bounds(folder: Path) -> tuple[int, int]:
    """The number of the first message there is, and of the next to come."""
    spooled = segments(folder)
    if not spooled:
        return 0, 0
    return spooled[0].first, spooled[-1].first + len(spooled[-1].entries())


def read(folder: Path, low: int, high: int) -> Iterator[pa.RecordBatch]:
    """The messages from `low` up to, not including, `high`, a batch a segment.

    Messages that are no longer, or not yet, there are a DataError, and so are damaged ones.
    """
    topics = _topics(folder)
    spooled = segments(folder)
    following = [*(segment.first for segment in spooled[1:]), high]
    for segment, upper in zip(spooled, following, strict=True):
        start, stop = max(low, segment.first), min(high, upper)
        if start == low < stop:
            yield _batch(segment, start - segment.first, stop - segment.first, topics)
            low = stop
    if low < high:
        raise DataError(f"the spool {folder} has no message {low}: it was removed, or is another's")


def _batch(segment: Segment, low: int, high: int, topics: Sequence[str]) -> pa.RecordBatch:
    entries = segment.entries()
    if len(entries) < high:
        raise DataError(f"{segment.index} has {len(entries)} messages, {high} are expected")
    begin = int(entries["end"][low - 1]) if low else 0
    chosen = entries[low:high]
    with segment.data.open("rb") as stream:
        stream.seek(begin)
        data = stream.read(int(chosen["end"][-1]) - begin)
    ends = chosen["end"].astype(np.int64) - begin
    offsets = np.append(0, ends)
    if len(data) < int(ends[-1]) or not _is_sound(data, offsets, chosen["check"]):
        raise DataError(f"{segment.data} is damaged between messages {low} and {high}")
    values = pa.Array.from_buffers(
        pa.large_binary(), len(chosen), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    names = pa.DictionaryArray.from_arrays(pa.array(chosen["topic"].astype(np.int32)), list(topics))
    received = pa.array(chosen["received"]).cast(pa.timestamp("us", "UTC"))
    columns = [as_text(values), names.cast(pa.string()), received]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _is_sound(data: bytes, offsets: Integers, checks: npt.NDArray[np.uint32]) -> bool:
    """Do the messages have the checksums they had?"""
    view, places = memoryview(data), offsets.tolist()
    return all(
        crc32(view[low:high]) == check
        for (low, high), check in zip(pairwise(places), checks.tolist(), strict=True)
    )


def as_text(values: pa.Array) -> pa.Array:
    """Bytes as text; bytes that are no UTF-8 become replacement characters."""
    try:
        return values.cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid:
        texts = [value.decode("utf-8", "replace") for value in values.to_pylist()]
        return pa.array(texts, pa.string())


def _topics(folder: Path) -> list[str]:
    try:
        return (folder / _TOPICS).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


def forget(folder: Path, before: int) -> None:
    """Remove the segments whose messages all come before some number; the last one stays."""
    spooled = segments(folder)
    for segment, following in pairwise(spooled):
        if following.first <= before:
            segment.index.unlink(missing_ok=True)
            segment.data.unlink(missing_ok=True)


# -- writing -----------------------------------------------------------------------------------


@dataclass
class Spool:
    """The only writer of a spool. A message that a crash has left unfinished is removed."""

    folder: Path
    limit: int = SEGMENT
    _segment: Segment = field(init=False)
    _codes: dict[str, int] = field(init=False)
    _count: int = 0
    _size: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(
            self.folder / _LOCK,
            f"another process writes the spool {self.folder}: stop it, or name another folder with "
            "the option spool",
        )
        self._codes = {name: code for code, name in enumerate(_topics(self.folder))}
        spooled = segments(self.folder)
        self._segment = spooled[-1] if spooled else Segment(self.folder, 0)
        self._mend()
        self._open()

    def _mend(self) -> None:
        """Cut off entries without data, and data without an entry."""
        entries = self._segment.entries()
        length = self._segment.data.stat().st_size if self._segment.data.exists() else 0
        entries = entries[entries["end"] <= length]
        self._count = len(entries)
        self._size = int(entries["end"][-1]) if len(entries) else 0
        for file, size in (
            (self._segment.index, self._count * _ENTRY.itemsize), (self._segment.data, self._size),
        ):  # fmt: skip
            with file.open("ab") as stream:
                stream.truncate(size)

    def _open(self) -> None:
        self._data: IO[bytes] = self._segment.data.open("ab")
        self._index: IO[bytes] = self._segment.index.open("ab")

    @property
    def next(self) -> int:
        """The number of the next message."""
        return self._segment.first + self._count

    def add(self, messages: Sequence[Message]) -> None:
        """Add messages; when it returns they are on disk."""
        if not messages:
            return
        if self._size >= self.limit:
            self._begin_segment()
        entries = np.empty(len(messages), _ENTRY)
        lengths = [len(message.payload) for message in messages]
        entries["end"] = self._size + np.cumsum(lengths)
        entries["received"] = [message.received for message in messages]
        entries["topic"] = [self._code(message.topic) for message in messages]
        entries["check"] = [crc32(message.payload) for message in messages]
        _write(self._data, b"".join(message.payload for message in messages))
        _write(self._index, entries.tobytes())
        self._size += sum(lengths)
        self._count += len(messages)

    def _code(self, topic: str) -> int:
        code = self._codes.get(topic)
        if code is None:
            code = self._codes[topic] = len(self._codes)
            with (self.folder / _TOPICS).open("ab") as stream:
                _write(stream, topic.replace("\n", " ").encode() + b"\n")
        return code

    def _begin_segment(self) -> None:
        self._data.close()
        self._index.close()
        self._segment = Segment(self.folder, self.next)
        self._count = self._size = 0
        self._open()

    def close(self) -> None:
        """Close the spool, so that another process may write it."""
        for stream in (self._data, self._index, self._lock):
            stream.close()


def _write(stream: IO[bytes], content: bytes) -> None:
    stream.write(content)
    stream.flush()
    os.fsync(stream.fileno())


def locked(file: Path, otherwise: str) -> IO[bytes]:
    """Hold a file until it is closed, or the process ends; a DataError if another does."""
    stream = file.open("ab")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                stream.close()
                raise DataError(otherwise) from None
            time.sleep(0.1)
        else:
            return stream
