"""Hash tables: from keys to rows, and to numbers of their own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cernis.kernels.compile import kernel, part

Integers = npt.NDArray[np.int64]
Place = np.uint64

ZERO, ONE = np.uint64(0), np.uint64(1)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern: multiplying by it spreads keys over the high bits."""


@part
def _slot(key: int, slots: Integers, shift: Place, last: Place) -> Place:
    """Where a key is, or would be."""
    slot = (Place(key) * SPREAD) >> shift
    while slots[(slot << ONE) + ONE] != 0 and slots[slot << ONE] != key:
        slot = (slot + ONE) & last
    return slot


@kernel("integers writable-integers integer", "integer")
def _enter(keys: Integers, slots: Integers, bits: int) -> int:
    """Enter all keys; gives how many there are that differ."""
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    count = 0
    for row in range(Place(len(keys))):
        slot = _slot(keys[row], slots, shift, last)
        count += slots[(slot << ONE) + ONE] == 0
        slots[slot << ONE] = keys[row]
        slots[(slot << ONE) + ONE] = np.int64(row) + 1
    return count


@kernel("integers integers integer writable-integers", "nothing")
def _find(wanted: Integers, slots: Integers, bits: int, found: Integers) -> None:
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    for row in range(Place(len(wanted))):
        slot = _slot(wanted[row], slots, shift, last)
        found[row] = slots[(slot << ONE) + ONE] - 1


@kernel("integers writable-integers integer writable-integers writable-integers integer", "integer")
def _intern(
    keys: Integers, slots: Integers, bits: int, known: Integers, found: Integers, count: int
) -> int:
    """Number keys that are new, in the order they come; gives how many are known then."""
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    for row in range(Place(len(keys))):
        slot = _slot(keys[row], slots, shift, last)
        if slots[(slot << ONE) + ONE] == 0:
            slots[slot << ONE] = keys[row]
            slots[(slot << ONE) + ONE] = count + 1
            known[Place(count)] = keys[row]
            count += 1
        found[row] = slots[(slot << ONE) + ONE] - 1
    return count


@kernel("integers integers integer integer writable-integers", "nothing")
def _time_keys(groups: Integers, times: Integers, least: int, span: int, keys: Integers) -> None:
    for row in range(Place(len(times))):
        at = times[row] - least
        is_known = at >= 0 and at < span and groups[row] >= 0
        keys[row] = groups[row] * span + at if is_known else -1


def time_keys(groups: Integers, times: Integers, least: int, span: int) -> Integers:
    """One number for a group and a time that lies in `[least, least + span)`; else -1.

    A group below 0 has none.
    """
    keys = np.empty(len(times), np.int64)
    _time_keys(np.ascontiguousarray(groups), np.ascontiguousarray(times), least, span, keys)
    return keys


def time_keys_plain(groups: Integers, times: Integers, least: int, span: int) -> Integers:
    """The twin of `time_keys`."""
    rows = zip(groups.tolist(), times.tolist(), strict=True)
    keys = [g * span + t - least if g >= 0 and 0 <= t - least < span else -1 for g, t in rows]
    return np.array(keys, np.int64)


class Numbering:
    """Numbers keys densely, in the order they are met.

    >>> numbering = Numbering()
    >>> numbering.of(np.array([70, 50, 70])).tolist(), numbering.keys.tolist()
    ([0, 1, 0], [70, 50])
    """

    def __init__(self) -> None:
        self._count = 0
        self._bits = 4
        self._slots = np.zeros(2 << self._bits, np.int64)
        self._known = np.empty(0, np.int64)

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> Integers:
        """The keys by their numbers."""
        return self._known[: self._count]

    def of(self, keys: Integers) -> Integers:
        """The number of each key; new ones are numbered."""
        self._make_room(len(keys))
        found = np.empty(len(keys), np.int64)
        self._count = int(
            _intern(np.ascontiguousarray(keys), self._slots, self._bits, self._known, found,
                    self._count)
        )  # fmt: skip
        return found

    def find(self, keys: Integers) -> Integers:
        """The number of each key, or -1."""
        found = np.empty(len(keys), np.int64)
        _find(np.ascontiguousarray(keys), self._slots, self._bits, found)
        return found

    def _make_room(self, more: int) -> None:
        """Let at most half of the slots be taken, should all be new."""
        most = self._count + more
        if most > len(self._known):
            self._known = np.concatenate([self.keys, np.empty(2 * most - self._count, np.int64)])
        bits = most.bit_length() + 1
        if bits > self._bits:
            self._bits = bits
            self._slots = np.zeros(2 << bits, np.int64)
            _enter(self.keys, self._slots, bits)


class RowTable:
    """Finds the row of a key; of keys that are equal, the last.

    At most half of the slots are taken. A slot is two numbers: a key, and its row plus one.
    """

    def __init__(self, keys: Integers) -> None:
        self._bits = max(len(keys).bit_length() + 1, 4)
        self._slots = np.zeros(2 << self._bits, np.int64)
        self.distinct = int(_enter(np.ascontiguousarray(keys), self._slots, self._bits))

    def find(self, wanted: Integers) -> Integers:
        """The row of each key, or -1."""
        found = np.empty(len(wanted), np.int64)
        _find(np.ascontiguousarray(wanted), self._slots, self._bits, found)
        return found


def find_plain(keys: Integers, wanted: Integers) -> Integers:
    """The twin of `RowTable(keys).find(wanted)`."""
    rows = {key: row for row, key in enumerate(keys.tolist())}
    return np.array([rows.get(key, -1) for key in wanted.tolist()], np.int64)
