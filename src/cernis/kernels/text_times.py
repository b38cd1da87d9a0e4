"""Fields of a text that are dates or times of ISO 8601, as whole numbers of a unit since 1970."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np

from cernis.kernels.array_types import Bytes, Integers, Place
from cernis.kernels.compile import kernel, part
from cernis.kernels.text_fields import Fields

NO_TIME, CLOCK, INSTANT, TOO_FINE = 0, 1, 2, 4
"""What a field is: no time of the usual form; one without a zone, or with one. A time that is finer
than the unit is marked besides."""

_NANOSECONDS: Final = 1_000_000_000
_FARTHEST: Final = 1 << 62
_ZERO, _MINUS, _PLUS, _COLON, _POINT = b"0-+:."
_LETTER_T, _LETTER_Z, _BLANK = b"TZ "
_WRONG: Final = -1_000_000
"""What no two or four digits are, whatever they are added to or multiplied with."""
_FEBRUARY, _LONG_MONTHS = 2, 0b1_0101_1010_1010
"""The months of 31 days have their bits set."""
_TIME: Final = re.compile(
    rb"[\t\n\v\f\r ]*(\d{4}-\d\d-\d\d)"
    rb"(?:[T ](\d\d:\d\d(?::\d\d(?:\.(\d{1,9}))?)?)(Z|[+-]\d\d:?\d\d)?)?[\t\n\v\f\r ]*"
)


class WrittenTimes(NamedTuple):
    """What fields are, by the words of this module, and the times of those that are some.

    Times without a zone are as clocks show them: as if they were in UTC.
    """

    kinds: Bytes
    ticks: Integers


def _read_written_plain(
    text: Bytes, lows: Integers, highs: Integers, per_second: int, ticks: Integers, kinds: Bytes
) -> None:
    """The twin of `_read_written`."""
    for row, field in enumerate(Fields(text, lows, highs).all_written()):
        kinds[row], ticks[row] = _one_written(field, per_second)


def _one_written(field: bytes, per_second: int) -> tuple[int, int]:
    match = _TIME.fullmatch(field)
    if match is None:
        return NO_TIME, 0
    day, clock, decimals, zone = (part.decode() for part in match.groups(b""))
    try:
        time = datetime.fromisoformat(f"{day}T{clock.partition('.')[0] or '00:00'}")
        shift = datetime.strptime(zone or "Z", "%z").utcoffset() or timedelta(0)
    except ValueError:
        return NO_TIME, 0
    passed = time - datetime(1970, 1, 1) - shift
    seconds = passed.days * 86_400 + passed.seconds
    if abs(seconds) >= _FARTHEST // per_second - 1:
        return NO_TIME, 0
    parts, rest = divmod(int(decimals.ljust(9, "0")), _NANOSECONDS // per_second)
    kind = (INSTANT if zone else CLOCK) | (TOO_FINE if rest else 0)
    return kind, seconds * per_second + parts


@part
def _two_digits(text: Bytes, low: int, high: int) -> int:
    """The number that two digits are."""
    if low + 2 > high:
        return _WRONG
    tens, ones = np.int64(text[low]) - _ZERO, np.int64(text[low + 1]) - _ZERO
    return int(tens * 10 + ones) if 0 <= tens <= 9 and 0 <= ones <= 9 else _WRONG


@part
def _day(year: int, month: int, day: int) -> int:
    """The number of days from 1970 to a day of the Gregorian calendar.

    Years are counted from March: then a leap day is the last of its year, and how many days come
    before a month lies on a line, rounded down.
    """
    shifted = year - (month <= _FEBRUARY)
    since_march = (month + 9) % 12
    days = (153 * since_march + 2) // 5 + day - 1
    return 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + days - 719_468


@part
def _days_of_month(year: int, month: int) -> int:
    if month == _FEBRUARY:
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if is_leap else 28
    return 31 if (_LONG_MONTHS >> month) & 1 else 30


@part
def _read_day(text: Bytes, low: int, high: int) -> tuple[bool, int]:
    """Whether a field begins with a date, and the number of its day."""
    if high - low < 10 or text[low + 4] != _MINUS or text[low + 7] != _MINUS:
        return False, 0
    year = _two_digits(text, low, high) * 100 + _two_digits(text, low + 2, high)
    month, day = _two_digits(text, low + 5, high), _two_digits(text, low + 8, high)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > _days_of_month(year, month):
        return False, 0
    return True, _day(year, month, day)


@part
def _read_clock(text: Bytes, low: int, high: int) -> tuple[int, int]:
    """The seconds of a clock that a field has at a place, and where it ends; else below zero."""
    hours, minutes = _two_digits(text, low, high), _two_digits(text, low + 3, high)
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59 or text[low + 2] != _COLON:
        return _WRONG, low
    seconds = (hours * 60 + minutes) * 60
    if low + 5 == high or text[low + 5] != _COLON:
        return seconds, low + 5
    more = _two_digits(text, low + 6, high)
    if more < 0 or more > 59:
        return _WRONG, low
    return seconds + more, low + 8


@part
def _read_decimals(text: Bytes, low: int, high: int) -> tuple[int, int]:
    """The nanoseconds that up to nine digits are, and where they end; none at all are wrong."""
    unit, nanoseconds, place = _NANOSECONDS, 0, low
    while place < high and unit > 1:
        digit = int(np.int64(text[place]) - _ZERO)
        if digit < 0 or digit > 9:
            break
        unit //= 10
        nanoseconds += digit * unit
        place += 1
    return nanoseconds if place > low else _WRONG, place


@part
def _read_shift(text: Bytes, low: int, high: int) -> tuple[bool, int]:
    """Whether the rest of a field is a zone, and by how many seconds its clocks are ahead."""
    if high - low == 1 and text[low] == _LETTER_Z:
        return True, 0
    size = high - low
    if size < 5 or size > 6 or (text[low] != _PLUS and text[low] != _MINUS):
        return False, 0
    if size == 6 and text[low + 3] != _COLON:
        return False, 0
    hours, minutes = _two_digits(text, low + 1, high), _two_digits(text, high - 2, high)
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return False, 0
    seconds = (hours * 60 + minutes) * 60
    return True, -seconds if text[low] == _MINUS else seconds


@part
def _is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@part
def _read_rest(text: Bytes, low: int, high: int) -> tuple[int, int, int]:
    """What stands after a date: the kind of the time, its seconds in UTC, and its nanoseconds."""
    wrong = NO_TIME, 0, 0
    if low == high:
        return CLOCK, 0, 0
    if text[low] != _LETTER_T and text[low] != _BLANK:
        return wrong
    seconds, place = _read_clock(text, low + 1, high)
    nanoseconds = 0
    if seconds >= 0 and place == low + 9 and place < high and text[place] == _POINT:
        nanoseconds, place = _read_decimals(text, place + 1, high)
    if seconds < 0 or nanoseconds < 0:
        return wrong
    if place == high:
        return CLOCK, seconds, nanoseconds
    is_zone, shift = _read_shift(text, place, high)
    return (INSTANT, seconds - shift, nanoseconds) if is_zone else wrong


@kernel(
    "bytes integers integers integer writable-integers writable-bytes", "nothing",
    plain=_read_written_plain,
)  # fmt: skip
def _read_written(
    text: Bytes, lows: Integers, highs: Integers, per_second: int, ticks: Integers, kinds: Bytes
) -> None:
    """Dates are midnight. A time whose count is too large for its unit is none of the usual form.

    A second has at most nine decimals, so what stands for a tick is a whole number of nanoseconds.
    """
    nanoseconds_of_tick = _NANOSECONDS // per_second
    most_seconds = _FARTHEST // per_second - 1
    for row in range(Place(len(lows))):
        kinds[row], ticks[row] = NO_TIME, 0
        low, high = lows[row], highs[row]
        while low < high and _is_blank(text[low]):
            low += 1
        while low < high and _is_blank(text[high - 1]):
            high -= 1
        is_date, day = _read_day(text, low, high)
        if not is_date:
            continue
        kind, more, nanoseconds = _read_rest(text, low + 10, high)
        seconds = day * 86_400 + more
        if kind == NO_TIME or abs(seconds) >= most_seconds:
            continue
        parts = nanoseconds // nanoseconds_of_tick
        is_fine = parts * nanoseconds_of_tick != nanoseconds
        ticks[row] = seconds * per_second + parts
        kinds[row] = kind + TOO_FINE if is_fine else kind


def read_written_times(fields: Fields, per_second: int) -> WrittenTimes:
    """Fields such as `2026-03-29`, `2026-03-29T03:00`, `2026-03-29 03:00:07.25+02:00`, as ticks.

    A clock may have seconds, and these up to nine decimals; a zone may follow a clock. What is
    finer than a tick is rounded down.

    >>> text = np.frombuffer(b"1970-01-01T00:01Z|soon", np.uint8)
    >>> fields = Fields(text, np.array([0, 18]), np.array([17, 22]))
    >>> [column.tolist() for column in read_written_times(fields, 1)]
    [[2, 0], [60, 0]]
    """
    size = len(fields.lows)
    ticks, kinds = np.empty(size, np.int64), np.empty(size, np.uint8)
    _read_written(*fields, per_second, ticks, kinds)
    return WrittenTimes(kinds, ticks)
