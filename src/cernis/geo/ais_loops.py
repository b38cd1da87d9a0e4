"""AIS sentences to position reports, compiled: one pass over the bytes of many lines.

A line is `[time]!AIVDM,parts,part,sequence,channel,payload,fill*checksum[,time]`. The payload has
six bits in each character. The common position reports, of types 1, 2, 3 and 18, that are in one
part are decoded here; what is of another type or in several parts is left to others.
`cernis.geo.ais` says what becomes of it.
"""

from __future__ import annotations

from cernis.kernels.array_types import Bytes, Floats, Integers
from cernis.kernels.compile import kernel, part

POSITION, LEFT, OTHER_TYPE, BLANK = range(4)
"""What a line is: a position report, one to be looked at elsewhere, one of no interest, nothing;"""

NO_SENTENCE, NO_CHECKSUM, BAD_CHECKSUM, BAD_PAYLOAD, SHORT = range(4, 9)
"""or faulty."""

NO_TIME = -(1 << 62)

DAY = 86_400
_COMMA, _STAR, _BANG, _MINUS, _COLON = 44, 42, 33, 45, 58


@part
def _digit(byte: int) -> int:
    """The value of a decimal digit, else -1."""
    return int(byte) - 48 if 48 <= byte <= 57 else -1


@part
def _hex(byte: int) -> int:
    if 48 <= byte <= 57:
        return int(byte) - 48
    upper = int(byte) & 0xDF
    return upper - 55 if 65 <= upper <= 70 else -1


@part
def _number(text: Bytes, start: int, stop: int) -> int:
    """The whole number that a text starts with; NO_TIME if it does not or is too long."""
    number = 0
    place = start
    while place < stop and place - start < 18 and _digit(text[place]) >= 0:
        number = number * 10 + _digit(text[place])
        place += 1
    return number if place > start else NO_TIME


@part
def _fixed(text: Bytes, start: int, length: int) -> int:
    """A number of so many digits, else NO_TIME."""
    number = 0
    for place in range(start, start + length):
        if _digit(text[place]) < 0:
            return NO_TIME
        number = number * 10 + _digit(text[place])
    return number


@part
def _date(text: Bytes, start: int, stop: int) -> int:
    """Seconds since 1970 of `YYYY-MM-DD hh:mm:ss`, with any character in the middle."""
    if stop - start < 19 or text[start + 4] != _MINUS or text[start + 7] != _MINUS:
        return NO_TIME
    if text[start + 13] != _COLON or text[start + 16] != _COLON:
        return NO_TIME
    year, month, day = (
        _fixed(text, start, 4),
        _fixed(text, start + 5, 2),
        _fixed(text, start + 8, 2),
    )
    clock = _fixed(text, start + 11, 2), _fixed(text, start + 14, 2), _fixed(text, start + 17, 2)
    if min(year, month, day, clock[0], clock[1], clock[2]) < 0:
        return NO_TIME
    # Years that begin in March have their leap day last.
    year -= month <= 2
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468
    return days * DAY + clock[0] * 3600 + clock[1] * 60 + clock[2]


@part
def _seconds(time: int) -> int:
    """A time in seconds; numbers too large for that are milliseconds."""
    return time // 1000 if time > 100_000_000_000 else time


@part
def _time(text: Bytes, start: int, bang: int, after: int, stop: int) -> int:
    """The time before the sentence, in a tag block or plain, or after it."""
    for place in range(start, bang - 2):
        if text[place] == 99 and text[place + 1] == _COLON and text[start] == 92:
            return _seconds(_number(text, place + 2, bang))
    if bang > start and text[start] != 92:
        date = _date(text, start, bang)
        return date if date != NO_TIME else _seconds(_number(text, start, bang))
    if after < stop and text[after] == _COMMA:
        return _seconds(_number(text, after + 1, stop))
    return NO_TIME


@part
def _bits(text: Bytes, payload: int, first: int, count: int) -> int:
    """A number of so many bits of a payload."""
    number = 0
    last = first + count - 1
    for place in range(first // 6, last // 6 + 1):
        value = int(text[payload + place]) - 48
        number = (number << 6) | (value - 8 if value > 40 else value)
    return (number >> (5 - last % 6)) & ((1 << count) - 1)


@part
def _signed(text: Bytes, payload: int, first: int, count: int) -> int:
    number = _bits(text, payload, first, count)
    return number - (1 << count) if number >= 1 << (count - 1) else number


@part
def _checked(text: Bytes, bang: int, stop: int) -> int:
    """The place of the star before the checksum; negative: what is wrong with it."""
    total = 0
    place = bang + 1
    while place < stop and text[place] != _STAR:
        total ^= int(text[place])
        place += 1
    if place + 2 >= stop:
        return -NO_CHECKSUM
    high, low = _hex(text[place + 1]), _hex(text[place + 2])
    if high < 0 or low < 0:
        return -NO_CHECKSUM
    return place if total == high * 16 + low else -BAD_CHECKSUM


@part
def _payload(text: Bytes, bang: int, star: int) -> tuple[int, int]:
    """Where the payload of a sentence starts, and where it stops; (0, 0) if there is none."""
    commas, start = 0, 0
    for place in range(bang, star):
        if text[place] == _COMMA:
            commas += 1
            if commas == 5:
                start = place + 1
            elif commas == 6:
                return start, place
    return 0, 0


@part
def _is_ais(text: Bytes, bang: int, stop: int) -> bool:
    """Is it `!xxVDM,` or `!xxVDO,`?"""
    if stop - bang < 7 or text[bang + 3] != 86 or text[bang + 4] != 68:
        return False
    return text[bang + 5] in (77, 79) and bool(text[bang + 6] == _COMMA)


@part
def _kind(text: Bytes, bang: int, star: int, payload: int, stop: int) -> int:
    """What a sentence with a right checksum is."""
    if payload >= stop:
        return BAD_PAYLOAD
    for place in range(payload, stop):
        if text[place] < 48 or text[place] > 119 or 88 <= text[place] <= 95:
            return BAD_PAYLOAD
    if text[bang + 7] != 49 or text[bang + 8] != _COMMA:
        return LEFT
    kind = _bits(text, payload, 0, 6)
    if kind in (5, 19, 24, 27):
        return LEFT
    if kind not in (1, 2, 3, 18):
        return OTHER_TYPE if 1 <= kind <= 27 else BAD_PAYLOAD
    fill = max(0, _digit(text[stop + 1])) if stop + 1 < star else 0
    return POSITION if (stop - payload) * 6 - fill >= 168 else SHORT


@kernel(
    "bytes integers integers writable-integers writable-integers writable-integers "
    "writable-floats writable-floats writable-floats writable-floats writable-floats",
    "nothing",
)
def decode(
    text: Bytes, starts: Integers, stops: Integers,
    kinds: Integers, times: Integers, vessel: Integers,
    lon: Floats, lat: Floats, speed: Floats, course: Floats, heading: Floats,
) -> None:  # fmt: skip
    """What each line is, its time, and what it says if it is a position report."""
    for line in range(len(starts)):
        start, stop = starts[line], stops[line]
        bang = start
        while bang < stop and text[bang] != _BANG:
            bang += 1
        times[line] = NO_TIME
        if start == stop:
            kinds[line] = BLANK
            continue
        if not _is_ais(text, bang, stop):
            kinds[line] = NO_SENTENCE
            continue
        star = _checked(text, bang, stop)
        if star < 0:
            kinds[line] = -star
            continue
        times[line] = _time(text, start, bang, star + 3, stop)
        payload, end = _payload(text, bang, star)
        kinds[line] = _kind(text, bang, star, payload, end)
        if kinds[line] == POSITION:
            # Class B reports leave out the status and the rate of turn: all is 4 bits earlier.
            shift = 4 if _bits(text, payload, 0, 6) == 18 else 0
            vessel[line] = _bits(text, payload, 8, 30)
            speed[line] = _bits(text, payload, 50 - shift, 10) / 10
            lon[line] = _signed(text, payload, 61 - shift, 28) / 600_000
            lat[line] = _signed(text, payload, 89 - shift, 27) / 600_000
            course[line] = _bits(text, payload, 116 - shift, 12) / 10
            heading[line] = _bits(text, payload, 128 - shift, 9)
