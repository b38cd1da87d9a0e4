"""Texts whose lines have fields with bars between them: where lines and fields are.

The separators, bars and line feeds, are marked once, and fields are what lies between two of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from cernis.kernels.array_types import Bytes, Integers, Matrix, Place, SmallIntegers
from cernis.kernels.compile import kernel, part, word_at
from cernis.kernels.sweep.word_bits import lowest_bit
from cernis.kernels.text_fields import Fields, address_of, copy_bytes

NEWLINE, RETURN = b"\n\r"
ZERO, ONE, THREE = (np.uint64(number) for number in (0, 1, 3))
_EVERY, _NEWLINES = np.uint64(0x0101010101010101), np.uint64(0x0A0A0A0A0A0A0A0A)
_LOWS, _HIGHS = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
_TEXT_BYTES: Final = 1 << 20
"""How many bytes are separated by numpy before the kernel is compiled."""


def _separate_plain(
    text: Bytes, address: int, bar: int, separators: SmallIntegers, firsts: SmallIntegers
) -> tuple[int, int]:
    """The twin of `_separate`."""
    places = np.flatnonzero((text == bar) | (text == NEWLINE))
    separators[1 : 1 + len(places)] = places
    ends = np.flatnonzero(text[places] == NEWLINE)
    firsts[1 : 1 + len(ends)] = ends + 1
    return len(places), len(ends)


@part
def _zero_bytes(word: np.uint64) -> np.uint64:
    """The highest bit of each byte of a word that is zero."""
    return ~(((word & _LOWS) + _LOWS) | word) & _HIGHS


@kernel(
    "bytes integer integer writable-small writable-small", "integer integer",
    rows=_TEXT_BYTES, plain=_separate_plain,
)  # fmt: skip
def _separate(
    text: Bytes, address: int, bar: int, separators: SmallIntegers, firsts: SmallIntegers
) -> tuple[int, int]:
    """Gives how many separators and how many lines there are.

    Both are written from the second place on, and so is, for each line, the place of the separator
    after it.
    """
    count, lines, bars = ZERO, ZERO, _EVERY * np.uint64(bar)
    whole = len(text) >> 3
    for word in range(whole):
        eight = word_at(address + word * 8)
        newlines = _zero_bytes(eight ^ _NEWLINES)
        marked = newlines | _zero_bytes(eight ^ bars)
        while marked != ZERO:
            bit = lowest_bit(marked)
            count += ONE
            separators[count] = word * 8 + np.int64(bit >> THREE)
            firsts[lines + ONE] = count
            lines += (newlines >> bit) & ONE
            marked &= marked - ONE
    for place in range(whole * 8, len(text)):
        if text[place] == NEWLINE or text[place] == bar:
            count += ONE
            separators[count] = place
            firsts[lines + ONE] = count
            lines += ONE if text[place] == NEWLINE else ZERO
    return int(count), int(lines)


class SeparatedText(NamedTuple):
    """A text whose lines have fields with bars between them; its last line ends with a line feed.

    Field f of line l lies between the separators `firsts[l] + f` and the one after it. The first
    separator stands before the text.
    """

    text: Bytes
    separators: SmallIntegers
    firsts: SmallIntegers

    @property
    def size(self) -> int:
        """How many lines there are."""
        return len(self.firsts) - 1

    @property
    def starts(self) -> Integers:
        """Where each line begins."""
        return self.separators[self.firsts[:-1]].astype(np.int64) + 1

    def fields(self, lines: Integers, number: int) -> Fields:
        """The fields of this number of some lines; carriage returns do not count at their ends."""
        lows, highs = np.empty(len(lines), np.int64), np.empty(len(lines), np.int64)
        _bound(self.text, self.separators, self.firsts, lines, number, lows, highs)
        return Fields(self.text, lows, highs)

    def grouped(self, groups: Integers) -> tuple[SeparatedText, Integers, Integers]:
        """The lines group by group, so that those that are read together lie together.

        Gives also which lines they are, and where the lines of each group begin, and the last end.
        Nothing is copied if all are of the first group, as in a file of one kind of record.
        """
        if not groups.any():
            return self, np.arange(self.size), np.array([0, self.size])
        places = self.separators[self.firsts]
        sizes = [np.bincount(groups), *(np.bincount(groups, np.diff(own)).astype(np.int64)
                                        for own in (self.firsts, places))]  # fmt: skip
        bounds = np.zeros((3, len(sizes[0]) + 1), np.int64)
        np.cumsum(sizes, axis=1, out=bounds[:, 1:])
        text, separators = np.empty_like(self.text), np.empty_like(self.separators)
        firsts, order = np.empty_like(self.firsts), np.empty(self.size, np.int64)
        separators[0], firsts[0] = -1, 0
        _arrange(*self, address_of(self.text), groups, bounds.copy(), text, address_of(text),
                 separators, firsts, order)  # fmt: skip
        return SeparatedText(text, separators, firsts), order, bounds[0]


def separate(content: bytes, bar: str = "|") -> SeparatedText:
    """Find the lines and fields of a text; what comes after the last line feed is left out."""
    text = np.frombuffer(content, np.uint8)
    separators, firsts = np.empty(len(text) + 2, np.int32), np.empty(len(text) + 2, np.int32)
    separators[0], firsts[0] = -1, 0
    count, lines = _separate(text, address_of(text), ord(bar), separators, firsts)
    separators.resize(count + 1, refcheck=False)
    firsts.resize(lines + 1, refcheck=False)
    return SeparatedText(text, separators, firsts)


def _bound_plain(
    text: Bytes, separators: SmallIntegers, firsts: SmallIntegers, lines: Integers, number: int,
    lows: Integers, highs: Integers,
) -> None:  # fmt: skip
    """The twin of `_bound`."""
    places = firsts[lines] + number
    lows[:] = separators[places] + 1
    highs[:] = separators[places + 1]
    ends = text[highs] == NEWLINE
    while len(rows := np.flatnonzero(ends & (highs > lows))):
        rows = rows[text[highs[rows] - 1] == RETURN]
        if not len(rows):
            break
        highs[rows] -= 1


@kernel(
    "bytes small small integers integer writable-integers writable-integers", "nothing",
    plain=_bound_plain,
)  # fmt: skip
def _bound(
    text: Bytes, separators: SmallIntegers, firsts: SmallIntegers, lines: Integers, number: int,
    lows: Integers, highs: Integers,
) -> None:  # fmt: skip
    for row in range(Place(len(lines))):
        place = Place(firsts[Place(lines[row])] + number)
        low, high = np.int64(separators[place]) + 1, np.int64(separators[place + ONE])
        if text[high] == NEWLINE:
            while high > low and text[high - 1] == RETURN:
                high -= 1
        lows[row] = low
        highs[row] = high


def _arrange_plain(
    text: Bytes, separators: SmallIntegers, firsts: SmallIntegers, address: int, groups: Integers,
    cursors: Matrix, new_text: Bytes, new_address: int, new_separators: SmallIntegers,
    new_firsts: SmallIntegers, order: Integers,
) -> None:  # fmt: skip
    """The twin of `_arrange`."""
    order[:] = np.argsort(groups, kind="stable")
    bounds = (separators[firsts] + 1).tolist()
    content = text.tobytes()
    lines = [content[bounds[line] : bounds[line + 1]] for line in order.tolist()]
    bars = text[separators[1:]]
    bar = int(bars[bars != NEWLINE][0]) if (bars != NEWLINE).any() else NEWLINE
    new_text[:], new_separators[:], new_firsts[:] = separate(b"".join(lines), chr(bar))


@kernel(
    "bytes small small integer integers writable-matrix writable-bytes integer writable-small "
    "writable-small writable-integers",
    "nothing",
    plain=_arrange_plain,
)
def _arrange(
    text: Bytes, separators: SmallIntegers, firsts: SmallIntegers, address: int, groups: Integers,
    cursors: Matrix, new_text: Bytes, new_address: int, new_separators: SmallIntegers,
    new_firsts: SmallIntegers, order: Integers,
) -> None:  # fmt: skip
    """Copy each line to where its group goes on: its row, its separators and its bytes."""
    for line in range(Place(len(groups))):
        group = Place(groups[line])
        row, count, to = cursors[0, group], cursors[1, group], cursors[2, group]
        first, last = Place(firsts[line]), Place(firsts[line + ONE])
        low, high = np.int64(separators[first]) + 1, np.int64(separators[last]) + 1
        for separator in range(first + ONE, last + ONE):
            count += 1
            new_separators[count] = separators[separator] - low + to
        order[row] = line
        new_firsts[row + 1] = count
        copy_bytes(text, address, low, high, new_text, new_address, to)
        cursors[0, group], cursors[1, group], cursors[2, group] = row + 1, count, to + high - low
