"""Writes plain data as bytes and reads it again: JSON, followed by the arrays.

A *tree* is made of dictionaries with texts as keys, lists, texts, numbers, truth values, None, and
arrays. Its bytes are a line that says what they are, a head with a checksum and a format, the tree
as JSON, and the arrays, each narrowed and compressed. Large arrays can be separate parts, named
after a digest of their content. Reading makes nothing but such trees: nothing is ever executed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.kernels.array_types import Array
from cernis.session.saved.narrow import KINDS, SAME, narrow, widen

Tree: TypeAlias = Any
Bytes: TypeAlias = bytes | memoryview

_ARRAY: Final = "@"
_CODEC: Final = "lz4"
_TYPES: Final = frozenset({"|b1", "|u1", "<u2", "<u4", "<i8", "<f8"})
_TROUBLE: Final = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, OSError,
    pa.ArrowException, RecursionError,
)  # fmt: skip
_RATIO: Final = 256
"""One compressed byte never stands for this many bytes."""

_CONSTANT: Final = 1 << 24
"""An array of one repeated number may be longer than this only if another array is as long: it has
no bytes that would prove its length."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How bytes begin, which format they have, and what errors call them."""

    magic: bytes
    format: int
    called: str


@dataclass(slots=True)
class _Writer:
    """Takes the arrays out of a tree."""

    buffers: list[Array] = field(default_factory=list)

    def take(self, array: Array) -> Tree:
        """Take an array out of the tree; gives the description that takes its place."""
        return {_ARRAY: self._narrowed(narrow(array))}

    def _narrowed(self, narrowed: tuple[str, Any, Any]) -> Tree:
        kind, number, kept = narrowed
        if isinstance(kept, tuple):
            return [kind, number, self._narrowed(kept)]
        kept = np.ascontiguousarray(kept, kept.dtype.newbyteorder("<"))
        self.buffers.append(kept)
        return [kind, number, len(self.buffers) - 1, kept.dtype.str]


@dataclass(slots=True)
class _Reader:
    """Puts the arrays back into a tree."""

    buffers: list[Bytes]
    longest: int
    """How long an array of one repeated number may be."""

    def hook(self, tree: dict[str, Tree]) -> Tree:
        return widen(self._narrowed(tree[_ARRAY])) if tree.keys() == {_ARRAY} else tree

    def _narrowed(self, description: Tree) -> tuple[str, Any, Any]:
        kind, number, kept, *of_type = description
        if kind not in KINDS:
            raise ValueError(f"there are no arrays that are {kind}")
        if not of_type:
            return kind, number, self._narrowed(kept)
        if kind == SAME and not (type(number[0]) is int and 0 <= number[1] <= self.longest):
            raise ValueError(f"there is no array of {number[1]} numbers {number[0]}")
        if of_type[0] not in _TYPES:
            raise ValueError(f"there are no arrays of {of_type[0]}")
        array = np.frombuffer(self.buffers[kept], of_type[0])
        # Arrays must be native and writable.
        return kind, number, array.astype(array.dtype.newbyteorder("="))


def sealed(tree: Tree) -> Tree:
    """A tree with a digest of its content, which shows whether it was altered afterwards."""
    return {"content": tree, "seal": _digest(tree)}


def unsealed(tree: Tree) -> Tree:
    """The content of a sealed tree; a DataError if it is another than was sealed."""
    if not isinstance(tree, dict) or tree.keys() != {"content", "seal"}:
        raise DataError("it is damaged: it has no seal")
    if tree["seal"] != _digest(tree["content"]):
        raise DataError("it was altered after it was written: its content does not fit its seal")
    return tree["content"]


def _digest(tree: Tree) -> str:
    """A digest that is the same for trees that are equal after writing and reading."""
    arrays: list[Array] = []

    def plain(array: Array) -> list[Any]:
        is_whole = array.dtype.kind in "iu"
        arrays.append(array.astype(np.int64, copy=False) if is_whole else array)
        return ["" if not len(array) else "i" if is_whole else array.dtype.kind, len(array)]

    checksum = crc32(json.dumps(tree, default=plain).encode())
    for array in arrays:
        checksum = crc32(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data, checksum)
    return f"{checksum:08x}"


def packed(tree: Tree, layout: Layout, large: int = sys.maxsize) -> tuple[bytes, dict[str, bytes]]:
    """A tree as bytes; arrays of at least `large` bytes are separate parts, by name."""
    writer = _Writer()
    text = json.dumps(tree, default=writer.take).encode()
    parts: dict[str, bytes] = {}
    descriptions: list[Tree] = []
    body: list[bytes] = []
    for buffer in [memoryview(text), *(each.data for each in writer.buffers)]:
        name = None
        if body and buffer.nbytes >= large:
            name = blake2b(buffer, digest_size=12).hexdigest()
        content = b"" if name in parts else _compressed(buffer)
        if name is None:
            body.append(content)
        else:
            parts.setdefault(name, content)
        descriptions.append([name or len(content), buffer.nbytes])
    whole = b"".join(body)
    head = json.dumps(
        {"format": layout.format, "check": crc32(whole), "buffers": descriptions}
    ).encode()
    return b"".join([layout.magic, b"\n%08x " % crc32(head), head, b"\n", whole]), parts


def _compressed(buffer: memoryview) -> bytes:
    return pa.compress(buffer, _CODEC, asbytes=True) if buffer.nbytes else b""


def unpacked(
    content: Bytes, layout: Layout, parts: Mapping[str, Bytes] | None = None
) -> tuple[int, Tree]:
    """The format of some bytes, and the tree; a DataError if it cannot be read.

    A format that is newer than the layout's is refused; an older one is for the caller to migrate.
    """
    magic, head, body = _split(memoryview(content))
    if magic != layout.magic:
        raise DataError(f"it is no {layout.called}")
    try:
        check, _, text = head.partition(b" ")
        if int(check, 16) != crc32(text):
            raise DataError("its head is damaged")
        description = json.loads(text)
        if type(description["format"]) is not int or description["format"] < 1:
            raise ValueError(f"there is no format {description['format']}")
        if description["format"] > layout.format:
            raise DataError(
                f"it has format {description['format']}, and this version of cernis reads formats "
                f"up to {layout.format}: use a newer version"
            )
        if crc32(body) != description["check"]:
            raise DataError("it is damaged, or cut short")
        first, *others = list(_buffers(body, description["buffers"], parts or {}))
        longest = max([_CONSTANT, *(memoryview(each).nbytes for each in others)])
        return description["format"], json.loads(
            bytes(first), object_hook=_Reader(others, longest).hook
        )
    except _TROUBLE as error:
        raise DataError(f"it cannot be read: {error}") from error


def _split(content: memoryview) -> tuple[bytes, bytes, memoryview]:
    """The first line of some bytes, the second line, and the rest."""
    start = bytes(content[:64]).partition(b"\n")[0]
    rest = content[len(start) + 1 :]
    end, step = -1, 1 << 16
    for low in range(0, len(rest), step):
        end = bytes(rest[low : low + step]).find(b"\n")
        if end >= 0:
            end += low
            break
    return (start, bytes(rest[:end]), rest[end + 1 :]) if end >= 0 else (start, b"", rest)


def _buffers(
    body: memoryview, descriptions: list[Tree], parts: Mapping[str, Bytes]
) -> Iterator[bytes | memoryview]:
    start = 0
    for place, size in descriptions:
        if isinstance(place, str):
            content = memoryview(parts[place])
        elif 0 <= place <= len(body) - start:
            content, start = body[start : start + place], start + place
        else:
            raise ValueError("an array lies outside of it")
        if not 0 <= size <= _RATIO * (len(content) + _RATIO):
            raise ValueError(f"there are no {size} bytes in {len(content)} that are compressed")
        yield pa.decompress(content, size, _CODEC, asbytes=True) if size else b""
