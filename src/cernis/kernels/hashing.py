"""Hash tables: from keys to rows, and to numbers of their own."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Place, SmallIntegers
from cernis.kernels.compile import kernel, part

ZERO, ONE = np.uint64(0), np.uint64(1)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern: multiplying by it spreads keys over the high bits."""

_FEWEST_BITS, _MANY_BITS = 4, 16


@part
def _place(key: int, slots: SmallIntegers, known: Integers, shift: Place, last: Place) -> Place:
    """Where the number of a key is, or would be."""
    slot = (Place(key) * SPREAD) >> shift
    while slots[slot] != 0 and known[Place(slots[slot] - 1)] != key:
        slot = (slot + ONE) & last
    return slot


@kernel(
    "integers integer writable-small integer writable-integers writable-integers integer",
    "integer integer",
)
def _intern(
    keys: Integers, begin: int, slots: SmallIntegers, bits: int, known: Integers, numbers: Integers,
    count: int,
) -> tuple[int, int]:  # fmt: skip
    """Number keys that are new, in the order they come, while there is room for more.

    Gives the row it came to, and how many keys are known then.
    """
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    row, rows = Place(begin), Place(len(keys))
    while row < rows and count < len(known):
        slot = _place(keys[row], slots, known, shift, last)
        if slots[slot] == 0:
            known[Place(count)] = keys[row]
            count += 1
            slots[slot] = count
        numbers[row] = slots[slot] - 1
        row += ONE
    return int(row), count


@kernel("integers integer writable-small", "integer")
def _enter_rows(keys: Integers, bits: int, slots: SmallIntegers) -> int:
    """Enter the rows of keys, of equal ones the last; gives how many keys there are that differ."""
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    count = 0
    for row in range(Place(len(keys))):
        slot = _place(keys[row], slots, keys, shift, last)
        count += slots[slot] == 0
        slots[slot] = row + ONE
    return count


@kernel("integers integer writable-small", "nothing")
def _enter_numbers(known: Integers, bits: int, slots: SmallIntegers) -> None:
    """Enter the numbers of keys that all differ."""
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    for number in range(Place(len(known))):
        slot = (Place(known[number]) * SPREAD) >> shift
        while slots[slot] != 0:
            slot = (slot + ONE) & last
        slots[slot] = number + ONE


@kernel("integers small integers integer writable-integers", "nothing")
def _find_numbers(
    wanted: Integers, slots: SmallIntegers, known: Integers, bits: int, numbers: Integers
) -> None:
    shift, last = Place(64 - bits), (ONE << Place(bits)) - ONE
    for row in range(Place(len(wanted))):
        numbers[row] = slots[_place(wanted[row], slots, known, shift, last)] - 1


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
        self._bits = _FEWEST_BITS
        # Slots hold numbers, from 1 on, and no keys: the table is small, and mostly at hand.
        self._slots = np.zeros(1 << self._bits, np.int32)
        self._known = np.empty(1 << (self._bits - 1), np.int64)

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> Integers:
        """The keys by their numbers."""
        return self._known[: self._count]

    def of(self, keys: Integers) -> Integers:
        """The number of each key; new ones are numbered."""
        keys = np.ascontiguousarray(keys)
        numbers = np.empty(len(keys), np.int64)
        row = 0
        while row < len(keys):
            if self._count == len(self._known):
                self._grow()
            row, self._count = _intern(
                keys, row, self._slots, self._bits, self._known, numbers, self._count
            )
        return numbers

    def find(self, keys: Integers) -> Integers:
        """The number of each key, or -1; none is numbered."""
        found = np.empty(len(keys), np.int64)
        _find_numbers(np.ascontiguousarray(keys), self._slots, self._known, self._bits, found)
        return found

    def _grow(self) -> None:
        """Make room for more; at most half of the slots are taken."""
        self._bits += 2 if self._bits < _MANY_BITS else 1
        known = np.empty(1 << (self._bits - 1), np.int64)
        known[: self._count] = self.keys
        self._known = known
        self._slots = np.zeros(1 << self._bits, np.int32)
        _enter_numbers(self.keys, self._bits, self._slots)


class RowTable:
    """Finds the row of a key; of keys that are equal, the last.

    At most half of the slots are taken. They hold rows, from 1 on.
    """

    def __init__(self, keys: Integers) -> None:
        self._keys = np.ascontiguousarray(keys)
        self._bits = max(len(keys).bit_length() + 1, _FEWEST_BITS)
        self._slots = np.zeros(1 << self._bits, np.int32)
        self.distinct = int(_enter_rows(self._keys, self._bits, self._slots))

    def find(self, wanted: Integers) -> Integers:
        """The row of each key, or -1."""
        found = np.empty(len(wanted), np.int64)
        _find_numbers(np.ascontiguousarray(wanted), self._slots, self._keys, self._bits, found)
        return found


def find_plain(keys: Integers, wanted: Integers) -> Integers:
    """The twin of `RowTable(keys).find(wanted)`."""
    rows = {key: row for row, key in enumerate(keys.tolist())}
    return np.array([rows.get(key, -1) for key in wanted.tolist()], np.int64)
