"""Random alterations of saved states whose checksums are computed anew.

A saved state is a tree of plain data (`cernis.session.saved.plain_trees`). It is altered as a
tree, as the JSON text that its arrays are written beside, or in the head that lists the arrays.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.session.saved.plain_trees import Layout, packed, sealed, unpacked

Tree = Any
Key = str | int

LARGEST = (1 << 63) - 1
NUMBERS = (
    0, 1, -1, 2, 7, 255, 1 << 31, (1 << 31) - 1, 1 << 40, 10**12, 10**17, 1 << 62, LARGEST,
    -LARGEST, -LARGEST - 1, 1 << 63, 1 << 64, 10**30, 0.5, -3.5, 1e300, float("nan"), float("inf"),
)  # fmt: skip
TEXTS = ("", "ann", "no such thing", "../../stream.json", "event", "é\x00", "x" * 300, "1")
OTHERS: tuple[Tree, ...] = (None, True, False, [], {}, "text", 3, -4.5, [1, [2]], {"a": 1}, [None])
KINDS = ("bool", "uint8", "uint16", "uint32", "int64", "float64")


@dataclass(frozen=True)
class Site:
    """A place in a tree: what holds it, and under which key."""

    parent: Any
    key: Key

    @property
    def content(self) -> Tree:
        """What is there."""
        return self.parent[self.key]

    def put(self, content: Tree) -> None:
        """Put something else there."""
        self.parent[self.key] = content


def sites(tree: Tree) -> Iterator[tuple[str, Site]]:
    """All places of a tree, each with its path."""
    items: Iterator[tuple[Key, Tree]] = iter(())
    if isinstance(tree, dict):
        items = iter(list(tree.items()))
    elif isinstance(tree, list):
        items = iter(list(enumerate(tree)))
    for key, child in items:
        yield str(key), Site(tree, key)
        for path, site in sites(child):
            yield f"{key}.{path}", site


def as_lists(tree: Tree) -> Tree:
    """A copy of a tree that can be altered: tuples as lists."""
    if isinstance(tree, dict):
        return {key: as_lists(each) for key, each in tree.items()}
    if isinstance(tree, list | tuple):
        return [as_lists(each) for each in tree]
    return tree.copy() if isinstance(tree, np.ndarray) else tree


def altered_tree(tree: Tree, random: Random) -> tuple[str, Tree]:
    """The tree with one thing altered, and what that was."""
    own = as_lists(tree)
    known = list(sites(own))
    # Places deep inside are many: half of the alterations are of any, half of one kind of place.
    if random.random() < 0.5:
        word = random.choice(sorted({path.rpartition(".")[2] for path, _ in known}))
        known = [each for each in known if each[0].rpartition(".")[2] == word]
    path, site = random.choice(known)
    told = _alter(site, random)
    return f"{path}: {told}", own


def _alter(site: Site, random: Random) -> str:
    content = site.content
    roll = random.random()
    if roll < 0.08:
        other = copy.deepcopy(random.choice(OTHERS))
        site.put(other)
        return f"{_shown(content)} becomes {other!r}"
    if roll < 0.14:
        if isinstance(site.parent, dict):
            del site.parent[site.key]
            return "left out"
        del site.parent[site.key]
        return "left out of the list"
    changed = _changed(content, random)
    site.put(changed)
    return f"{_shown(content)} becomes {_shown(changed)}"


def _shown(content: Tree) -> str:
    if isinstance(content, np.ndarray):
        return f"{content.dtype}{content.tolist()[:12]}({len(content)})"
    return repr(content)[:80]


def _changed(content: Tree, random: Random) -> Tree:
    if isinstance(content, np.ndarray):
        return _changed_array(content, random)
    if isinstance(content, bool) or content is None:
        return random.choice((True, False, None, 3, "x", [], np.arange(3)))
    if isinstance(content, int | float):
        return random.choice(
            (content + random.choice((1, -1, 10, -10)), -content, random.choice(NUMBERS))
        )
    if isinstance(content, str):
        return random.choice((content + "x", content[:-1], content.upper(), *TEXTS))
    if isinstance(content, list):
        return _changed_list(content, random)
    if isinstance(content, dict):
        return _changed_table(content, random)
    return content


def _changed_list(content: list[Tree], random: Random) -> Tree:
    roll = random.randrange(5)
    if roll == 0 and content:
        return [*content, copy.deepcopy(random.choice(content))]
    if roll == 1 and content:
        return content[:-1]
    if roll == 2:
        return content[::-1]
    if roll == 3:
        return [*content, random.choice(OTHERS)]
    return []


def _changed_table(content: dict[str, Tree], random: Random) -> Tree:
    if not content:
        return {"more": 1}
    keys = list(content)
    if random.random() < 0.5 and len(keys) > 1:
        one, two = random.sample(keys, 2)
        return {**content, one: content[two], two: content[one]}
    key = random.choice(keys)
    return {**{k: v for k, v in content.items() if k != key}, f"{key}s": content[key]}


def _changed_array(array: np.ndarray[Any, Any], random: Random) -> np.ndarray[Any, Any]:
    def one(change: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
        found = array.copy()
        at = random.randrange(len(found))
        found[at] = change(found[at].item())
        return found

    def number() -> Any:
        if array.dtype.kind == "f":
            return float(random.choice(NUMBERS))
        if array.dtype.kind == "i":
            return random.choice([n for n in NUMBERS if isinstance(n, int) and abs(n) <= LARGEST])
        return random.choice((0, 1))

    if not len(array):
        return random.choice((np.arange(2), np.ones(1), np.full(3, -1), np.zeros(1, np.bool_)))
    roll = random.randrange(10)
    if roll == 0:
        return array[:-1]
    if roll == 1:
        return np.concatenate([array, array[-1:]])
    if roll == 2:
        return array[::-1].copy()
    if roll == 3:
        with np.errstate(all="ignore"):
            return array.astype(random.choice(KINDS))
    if roll == 4:
        return np.zeros(0, array.dtype)
    if roll == 5 and array.dtype.kind in "if":
        return one(lambda value: value + random.choice((1, -1, 5, -5)) if abs(value) < 1e15 else 0)
    if roll == 6 and array.dtype.kind in "if":
        with np.errstate(all="ignore"):
            return -array
    if roll == 7:
        return np.repeat(array[:1], len(array))
    return one(lambda _: number())


# -- bytes -------------------------------------------------------------------------------------


def altered(content: bytes, layout: Layout, random: Random, is_sealed: bool) -> tuple[str, bytes]:
    """A saved state with something altered, its checksums valid again, and what was altered.

    If it is to be sealed again, so is what can still be read of it.
    """
    told, changed = _altered(content, layout, random)
    if not is_sealed:
        return told, changed
    try:
        found, tree = unpacked(changed, layout)
        return told, packed(sealed(tree["content"]), replace(layout, format=found))[0]
    except (DataError, KeyError, TypeError, AttributeError):
        return told, changed


def _altered(content: bytes, layout: Layout, random: Random) -> tuple[str, bytes]:
    roll = random.random()
    if roll < 0.72:
        found, tree = unpacked(content, layout)
        told, other = altered_tree(tree["content"], random)
        written = packed({**tree, "content": other}, replace(layout, format=found))
        return told, written[0]
    magic, head, buffers = _opened(content)
    if roll < 0.88:
        tree = json.loads(buffers[0])
        told, other = altered_tree(tree["content"], random)
        buffers[0] = _text({**tree, "content": other})
        return f"text: {told}", _closed(magic, head, buffers)
    if roll < 0.94:
        at = random.randrange(len(buffers))
        changed = bytearray(buffers[at])
        for _ in range(random.choice((1, 1, 2, 8))):
            if changed:
                changed[random.randrange(len(changed))] = random.randrange(256)
        told = f"bytes of buffer {at}: {bytes(buffers[at])[:24]!r} becomes {bytes(changed)[:24]!r}"
        buffers[at] = bytes(changed)
        return told, _closed(magic, head, buffers)
    told, other = altered_tree(head, random)
    return f"head: {told}", _closed(magic, other, buffers, is_head_kept=True)


def _text(tree: Tree) -> bytes:
    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else str(value)

    return json.dumps(tree, default=plain).encode()


def _opened(content: bytes) -> tuple[bytes, dict[str, Any], list[bytes]]:
    magic, second, body = content.split(b"\n", 2)
    head = json.loads(second.partition(b" ")[2])
    buffers, at = [], 0
    for place, size in head["buffers"]:
        if isinstance(place, str):
            buffers.append(b"")
            continue
        own = body[at : at + place]
        at += place
        buffers.append(bytes(pa.decompress(own, size, "lz4", asbytes=True)) if size else b"")
    return magic, head, buffers


def _closed(
    magic: bytes, head: Mapping[str, Any], buffers: list[bytes], is_head_kept: bool = False
) -> bytes:
    places = head.get("buffers", [])
    packed_buffers = [pa.compress(own, "lz4", asbytes=True) if own else b"" for own in buffers]
    body = b"".join(packed_buffers)
    if not is_head_kept:
        told = [
            place if isinstance(place[0], str) else [len(own), len(raw)]
            for place, own, raw in zip(places, packed_buffers, buffers, strict=True)
        ]
        head = {**head, "buffers": told}
    if not isinstance(head.get("check"), int) or not is_head_kept:
        head = {**head, "check": crc32(body)}
    text = _text(head)
    return b"".join([magic, b"\n%08x " % crc32(text), text, b"\n", body])
