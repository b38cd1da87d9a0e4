"""Fields of a text: the numbers they are, and which of them are equal.

A text is an array of bytes. Fields are given by the places at which they begin and end in it. Eight
bytes are looked at together wherever that is possible.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np

from cernis.kernels.array_types import (
    Booleans,
    Bytes,
    Floats,
    Integers,
    Place,
    SmallIntegers,
    Words,
)
from cernis.kernels.compile import kernel, part, put_word, shortened, word_at

MINUS, PLUS, POINT, DIGIT = b"-+.0"
NEITHER, INTEGER, FLOAT = range(3)
"""What a field is read as, one by one."""
OPEN_END: Final = (1 << 63) - 1
"""What a time `inf` is read as."""

ZERO, ONE, TWO, EIGHT = (np.uint64(number) for number in (0, 1, 2, 8))
_LOW_HALF: Final = np.uint64((1 << 32) - 1)
_SPREAD, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
_OTHER_SPREAD, _HALF = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(32)
_SHORT: Final = 16
"""Fields of no more bytes are equal if they have the same first word, last word and length."""
_MOST_DIGITS, _MOST_EXACT, _MOST_DECIMALS = 19, 15, 22
_FIRST_BITS: Final = 12
_POWERS: Final = np.array([10.0**power for power in range(_MOST_DECIMALS + 1)])
_INTEGER: Final = re.compile(rb"-?[0-9]{1,19}")
_FLOAT: Final = re.compile(rb"-?(?:[0-9]+\.[0-9]*|\.[0-9]+)")
_TIME: Final = re.compile(rb"[\t\n\v\f\r ]*([+-]?[0-9]{1,19}|inf)[\t\n\v\f\r ]*")


class Fields(NamedTuple):
    """Fields of a text: row r is `text[lows[r]:highs[r]]`."""

    text: Bytes
    lows: Integers
    highs: Integers

    def all_written(self) -> list[bytes]:
        """The bytes of each field."""
        content = self.text.data
        pairs = zip(self.lows.tolist(), self.highs.tolist(), strict=True)
        return [bytes(content[low:high]) for low, high in pairs]

    def some(self, rows: Integers) -> Fields:
        """The fields of some rows."""
        return Fields(self.text, self.lows[rows], self.highs[rows])


def address_of(text: Bytes) -> int:
    """Where the bytes of a text are in memory."""
    address: int = text.__array_interface__["data"][0]
    return address


# -- bytes ----------------------------------------------------------------------------------


@part
def _word(text: Bytes, address: int, place: int, high: int) -> np.uint64:
    """The next bytes of a field, up to eight; what comes after its end is zero."""
    left = high - place
    if place + 8 <= len(text):
        word = word_at(address + place)
        return word if left >= 8 else word & ((ONE << (np.uint64(left) * EIGHT)) - ONE)
    word = ZERO
    for byte in range(min(left, 8)):
        word |= np.uint64(text[place + byte]) << (np.uint64(byte) * EIGHT)
    return word


@part
def copy_bytes(
    text: Bytes, address: int, low: np.int64, high: np.int64, new_text: Bytes, new_address: int,
    to: np.int64,
) -> None:  # fmt: skip
    """Copy bytes eight at a time; the last eight overlap those before them."""
    if high - low < 8:
        for place in range(low, high):
            new_text[to + place - low] = text[place]
        return
    for place in range(low, high - 8, 8):
        put_word(new_address + to + place - low, word_at(address + place))
    put_word(new_address + to + high - low - 8, word_at(address + high - 8))


# -- numbers ---------------------------------------------------------------------------------


def _read_integers_plain(text: Bytes, lows: Integers, highs: Integers, numbers: Integers) -> int:
    """The twin of `_read_integers`."""
    for row, field in enumerate(Fields(text, lows, highs).all_written()):
        number = int(field) if _INTEGER.fullmatch(field) else OPEN_END + 1
        if not -OPEN_END <= number <= OPEN_END:
            return row
        numbers[row] = number
    return len(lows)


@part
def _integer(text: Bytes, low: int, high: int) -> tuple[bool, np.int64]:
    """Whether a field is a whole number of 64 bits, and which."""
    is_negative = low < high and text[low] == MINUS
    low += is_negative
    if low == high or high - low > _MOST_DIGITS:
        return False, np.int64(0)
    number = ZERO
    for place in range(low, high):
        digit = np.uint64(text[place]) - np.uint64(DIGIT)
        if digit > np.uint64(9):
            return False, np.int64(0)
        number = number * np.uint64(10) + digit
    if number > np.uint64(OPEN_END):
        return False, np.int64(0)
    return True, -np.int64(number) if is_negative else np.int64(number)


@kernel(
    "bytes integers integers writable-integers", "integer", plain=_read_integers_plain
)  # fmt: skip
def _read_integers(text: Bytes, lows: Integers, highs: Integers, numbers: Integers) -> int:
    """Gives how many fields were read up to the first that is no whole number of 64 bits."""
    for row in range(Place(len(lows))):
        is_number, numbers[row] = _integer(text, lows[row], highs[row])
        if not is_number:
            return int(row)
    return len(lows)


def read_integers(fields: Fields) -> Integers | None:
    """Fields as whole numbers of 64 bits; None unless all are."""
    numbers = np.empty(len(fields.lows), np.int64)
    read = _read_integers(*fields, numbers)
    return numbers if read == len(numbers) else None


def _is_short_float(field: bytes) -> bool:
    digits = len(field) - 1 - field.startswith(b"-")
    return digits <= _MOST_EXACT and _FLOAT.fullmatch(field) is not None


def _read_floats_plain(
    text: Bytes, lows: Integers, highs: Integers, powers: Floats, numbers: Floats
) -> int:
    """The twin of `_read_floats`."""
    for row, field in enumerate(Fields(text, lows, highs).all_written()):
        if not _is_short_float(field):
            return row
        numbers[row] = float(field)
    return len(lows)


@part
def _float(text: Bytes, low: int, high: int, powers: Floats) -> tuple[bool, float]:
    """Whether a field is a float of few digits with a point, and which.

    So few digits are a whole number that a float holds exactly, and so is the power of ten by which
    it is divided: the quotient is rounded once, to the nearest float.
    """
    is_negative = low < high and text[low] == MINUS
    low += is_negative
    if high - low < 2 or high - low - 1 > _MOST_EXACT:
        return False, 0.0
    number, point = np.int64(0), np.int64(-1)
    for place in range(low, high):
        digit = np.int64(text[place]) - DIGIT
        if 0 <= digit <= 9:
            number = number * 10 + digit
        elif text[place] == POINT and point < 0:
            point = np.int64(place)
        else:
            return False, 0.0
    if point < 0:
        return False, 0.0
    value = float(number) / powers[high - point - 1]
    return True, -value if is_negative else value


@kernel(
    "bytes integers integers floats writable-floats", "integer", plain=_read_floats_plain
)  # fmt: skip
def _read_floats(
    text: Bytes, lows: Integers, highs: Integers, powers: Floats, numbers: Floats
) -> int:
    """Gives how many fields were read up to the first that is none, or that has many digits."""
    for row in range(Place(len(lows))):
        is_number, numbers[row] = _float(text, lows[row], highs[row], powers)
        if not is_number:
            return int(row)
    return len(lows)


def read_floats(fields: Fields) -> tuple[Floats, int]:
    """Fields with a point in them as floats, up to the first that has none or has many digits."""
    numbers = np.empty(len(fields.lows), np.float64)
    return numbers, _read_floats(*fields, _POWERS, numbers)


def _read_numbers_plain(
    text: Bytes, lows: Integers, highs: Integers, powers: Floats, kinds: Bytes,
    integers: Integers, floats: Floats,
) -> None:  # fmt: skip
    """The twin of `_read_numbers`."""
    for row, field in enumerate(Fields(text, lows, highs).all_written()):
        kinds[row] = NEITHER
        if _INTEGER.fullmatch(field) and abs(int(field)) <= OPEN_END:
            kinds[row], integers[row] = INTEGER, int(field)
        elif _is_short_float(field):
            kinds[row], floats[row] = FLOAT, float(field)


@kernel(
    "bytes integers integers floats writable-bytes writable-integers writable-floats", "nothing",
    plain=_read_numbers_plain,
)  # fmt: skip
def _read_numbers(
    text: Bytes, lows: Integers, highs: Integers, powers: Floats, kinds: Bytes,
    integers: Integers, floats: Floats,
) -> None:  # fmt: skip
    for row in range(Place(len(lows))):
        kinds[row] = NEITHER
        is_number, integers[row] = _integer(text, lows[row], highs[row])
        if is_number:
            kinds[row] = INTEGER
        else:
            is_number, floats[row] = _float(text, lows[row], highs[row], powers)
            if is_number:
                kinds[row] = FLOAT


def read_numbers(fields: Fields) -> tuple[Bytes, Integers, Floats]:
    """What each field is, `INTEGER`, `FLOAT` or `NEITHER`; and the numbers of both kinds."""
    size = len(fields.lows)
    kinds, integers, floats = np.empty(size, np.uint8), np.zeros(size, np.int64), np.zeros(size)
    _read_numbers(*fields, _POWERS, kinds, integers, floats)
    return kinds, integers, floats


def _read_times_plain(
    text: Bytes, lows: Integers, highs: Integers, may_be_open: int, times: Integers, odd: Booleans
) -> None:
    """The twin of `_read_times`."""
    for row, field in enumerate(Fields(text, lows, highs).all_written()):
        match = _TIME.fullmatch(field)
        if match is not None and match[1] == b"inf" and may_be_open:
            times[row] = OPEN_END
        elif match is None or match[1] == b"inf" or abs(int(match[1])) >= OPEN_END:
            odd[row] = True
        else:
            times[row] = int(match[1])


@part
def _is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@part
def _is_open(text: Bytes, low: int, high: int) -> bool:
    """Is it `inf`?"""
    return high - low == 3 and text[low] == 105 and text[low + 1] == 110 and text[low + 2] == 102


@kernel(
    "bytes integers integers integer writable-integers writable-booleans", "nothing",
    plain=_read_times_plain,
)  # fmt: skip
def _read_times(
    text: Bytes, lows: Integers, highs: Integers, may_be_open: int, times: Integers, odd: Booleans
) -> None:
    """Mark the fields that are no time, or none of the usual form."""
    for row in range(Place(len(lows))):
        low, high = lows[row], highs[row]
        while low < high and _is_blank(text[low]):
            low += 1
        while low < high and _is_blank(text[high - 1]):
            high -= 1
        if may_be_open and _is_open(text, low, high):
            times[row] = OPEN_END
            continue
        is_negative = low < high and text[low] == MINUS
        if is_negative or (low < high and text[low] == PLUS):
            low += 1
        is_odd = low == high or high - low > _MOST_DIGITS
        number = ZERO
        while low < high and not is_odd:
            digit = np.uint64(text[low]) - np.uint64(DIGIT)
            is_odd = digit > np.uint64(9)
            number = number * np.uint64(10) + digit
            low += 1
        is_odd |= number >= np.uint64(OPEN_END)
        odd[row] |= is_odd
        times[row] = -np.int64(number) if is_negative else np.int64(number)


def read_times(fields: Fields, may_be_open: bool, odd: Booleans) -> Integers:
    """Fields as time-points, `inf` among them if it may be; those that are odd are marked, too.

    A time has at most 19 digits, a sign if need be, and blanks around it. What is marked already
    stays so.
    """
    times = np.empty(len(fields.lows), np.int64)
    _read_times(*fields, int(may_be_open), times, odd)
    return times


# -- equal texts -----------------------------------------------------------------------------


@part
def _last_word(address: int, low: int, high: int) -> np.uint64:
    """The last eight bytes of a field of more than eight, which may be among the first; else 0."""
    return word_at(address + high - 8) if high - low > 8 else ZERO


@part
def _hash(
    text: Bytes, address: int, low: int, high: int, first: np.uint64, last: np.uint64
) -> np.uint64:
    """The hash of a field, whose first and last words are these.

    Two products that do not wait for each other are what most fields take.
    """
    mixed = (first ^ np.uint64(high - low)) * _SPREAD + (last ^ (last >> _SHIFT)) * _OTHER_SPREAD
    for place in range(low + 8, high - 8, 8):
        mixed = ((mixed ^ (mixed >> _SHIFT)) ^ _word(text, address, place, high)) * _SPREAD
    return (mixed ^ (mixed >> _SHIFT)) * _SPREAD


@part
def _is_same(text: Bytes, address: int, low: int, high: int, other: int, other_high: int) -> bool:
    if high - low != other_high - other:
        return False
    for offset in range(0, high - low, 8):
        if _word(text, address, low + offset, high) != _word(
            text, address, other + offset, other_high
        ):
            return False
    return True


def _number_texts_plain(
    text: Bytes, address: int, lows: Integers, highs: Integers, begin: int, bits: int,
    slots: Words, known: Integers, numbers: Integers, count: int,
) -> tuple[int, int]:  # fmt: skip
    """The twin of `_number_texts`: it needs no slots, and begins again when there is more room."""
    numbered: dict[bytes, int] = {}
    for row, field in enumerate(Fields(text, lows, highs).all_written()):
        number = numbers[row] = numbered.setdefault(field, len(numbered))
        if number == len(known):
            return 0, 0
        if number == count:
            known[number], count = row, count + 1
    return len(lows), len(numbered)


@kernel(
    "bytes integer integers integers integer integer writable-words writable-integers "
    "writable-integers integer",
    "integer integer",
    plain=_number_texts_plain,
    counted=(2, 3),
)
def _number_texts(
    text: Bytes, address: int, lows: Integers, highs: Integers, begin: int, bits: int,
    slots: Words, known: Integers, numbers: Integers, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Number fields in the order they come, equal ones alike, while there is room for more.

    A slot is four words: the first and the last of a field, its length beside its number and one,
    and its hash. Gives the row it came to, and how many different fields are known then.
    """
    shift, last_slot = Place(64 - bits), (ONE << Place(bits)) - ONE
    for row in range(begin, len(lows)):
        low, high = lows[row], highs[row]
        first, last = _word(text, address, low, high), _last_word(address, low, high)
        mixed = _hash(text, address, low, high, first, last)
        length = np.uint64(high - low)
        place = (mixed >> shift) << TWO
        while slots[place + TWO] != ZERO:
            if (
                slots[place] == first
                and slots[place + ONE] == last
                and slots[place + TWO] >> _HALF == length
            ):
                if length <= _SHORT:
                    break
                other = Place(known[Place(slots[place + TWO] & _LOW_HALF) - ONE])
                if _is_same(text, address, low, high, lows[other], highs[other]):
                    break
            place = (((place >> TWO) + ONE) & last_slot) << TWO
        if slots[place + TWO] == ZERO:
            if count == len(known):
                return row, count
            known[count] = row
            count += 1
            slots[place], slots[place + ONE] = first, last
            slots[place + TWO] = (length << _HALF) | np.uint64(count)
            slots[place + TWO + ONE] = mixed
        numbers[row] = np.int64(slots[place + TWO] & _LOW_HALF) - 1
    return len(lows), count


@kernel("words integer writable-words", "nothing")
def _enter_again(slots: Words, bits: int, larger: Words) -> None:
    """Enter what is in slots into more slots."""
    shift, last_slot = Place(64 - bits), (ONE << Place(bits)) - ONE
    for old in range(Place(0), Place(len(slots)), Place(4)):
        if slots[old + TWO] == ZERO:
            continue
        place = (slots[old + TWO + ONE] >> shift) << TWO
        while larger[place + TWO] != ZERO:
            place = (((place >> TWO) + ONE) & last_slot) << TWO
        for word in range(Place(4)):
            larger[place + word] = slots[old + word]


def number_texts(fields: Fields) -> tuple[Integers, Integers]:
    """A number for each field, the same for equal ones, from 0 on in the order they are met.

    Gives also the row in which each number first comes.

    >>> text = np.frombuffer(b"a|b|a", np.uint8)
    >>> numbers, rows = number_texts(Fields(text, np.array([0, 2, 4]), np.array([1, 3, 5])))
    >>> numbers.tolist(), rows.tolist()
    ([0, 1, 0], [0, 1])
    """
    text, lows, highs = fields
    numbers = np.empty(len(lows), np.int64)
    row, count, bits, address = 0, 0, _FIRST_BITS, address_of(text)
    slots, known = np.zeros(4 << bits, np.uint64), np.empty(1 << (bits - 1), np.int64)
    while True:
        row, count = _number_texts(
            text, address, lows, highs, row, bits, slots, known, numbers, count
        )
        if row == len(lows):
            return numbers, shortened(known, count)
        bits += 2
        larger = np.zeros(4 << bits, np.uint64)
        known = np.concatenate([known, np.empty((1 << (bits - 1)) - len(known), np.int64)])
        _enter_again(slots, bits, larger)
        slots = larger


def _copy_plain(
    text: Bytes, address: int, lows: Integers, highs: Integers, offsets: SmallIntegers,
    copied: Bytes, new_address: int,
) -> None:  # fmt: skip
    """The twin of `_copy`."""
    content = b"".join(Fields(text, lows, highs).all_written())
    copied[:] = np.frombuffer(content, np.uint8)


@kernel(
    "bytes integer integers integers small writable-bytes integer", "nothing", plain=_copy_plain
)  # fmt: skip
def _copy(
    text: Bytes, address: int, lows: Integers, highs: Integers, offsets: SmallIntegers,
    copied: Bytes, new_address: int,
) -> None:  # fmt: skip
    for row in range(Place(len(lows))):
        copy_bytes(
            text, address, lows[row], highs[row], copied, new_address, np.int64(offsets[row])
        )


def copy_texts(fields: Fields) -> tuple[SmallIntegers, Bytes]:
    """The bytes of the fields one after the other, and where each begins and the last ends."""
    text, lows, highs = fields
    offsets = np.zeros(len(lows) + 1, np.int32)
    np.cumsum(highs - lows, out=offsets[1:])
    copied = np.empty(int(offsets[-1]), np.uint8)
    _copy(text, address_of(text), lows, highs, offsets, copied, address_of(copied))
    return offsets, copied
