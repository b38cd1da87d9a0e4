"""Fields of a text: numbers, times and equal texts, compiled and not."""

from random import Random

import numpy as np
import pytest

from cernis.kernels import text_fields
from cernis.kernels.text_fields import (
    OPEN_END,
    Fields,
    copy_texts,
    number_texts,
    read_floats,
    read_integers,
    read_times,
)

WORDS = [
    b"1", b"-1", b"+1", b" 1", b"1 ", b"\t12\r", b"", b"-", b"--1", b"1-", b"007", b"-0", b"0.5",
    b".5", b"5.", b".", b"-.", b"-2.25", b"1.2.3", b"1e5", b"inf", b" inf ", b"info", b"a", b"abc",
    b"abcdefgh", b"abcdefghi", b"abcdefghijklmnopqrstu", b"abcdefghijklmnopqrstv", b"x\0", b"x",
    b"999999999999999999", b"9223372036854775806", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775807", b"-9223372036854775808", b"99999999999999999999", b"123456789.123456",
    b"123456789012.345", b"1234567890123.456", b"same head, A, same tail",
    b"same head, B, same tail", b"same head, A, and same tail", b"0.000000000000001",
    b"\xc3\xa9", b"12\xff",
]  # fmt: skip


def fields(words: list[bytes]) -> Fields:
    """Words with one byte between them, and none after the last."""
    highs = np.cumsum([len(word) + 1 for word in words]) - 1
    lows = highs - [len(word) for word in words]
    return Fields(np.frombuffer(b"|".join(words), np.uint8), lows, highs)


def drawn(seed: int) -> Fields:
    """Words at random, mostly of one kind, so that some columns are numbers throughout."""
    chance = Random(seed)
    numbers = [b"%d" % chance.randrange(10 ** chance.randrange(1, 19)) for _ in range(5)]
    floats = [b"%.3f" % chance.uniform(-1000, 1000) for _ in range(5)]
    pool = chance.choice([numbers, floats, WORDS, WORDS])
    return fields(chance.choices(pool, k=chance.randrange(1, 40)))


def test_whole_numbers() -> None:
    read = read_integers(fields([b"12", b"-7", b"007", b"9223372036854775807"]))
    assert read is not None
    assert read.tolist() == [12, -7, 7, (1 << 63) - 1]
    assert read_integers(fields([b"12", b"+7"])) is None
    assert read_integers(fields([b"9223372036854775808"])) is None


@pytest.mark.parametrize("word", [b"0.1", b"-0.0", b"5.", b".5", b"123456789.12345", b"0.30000000"])
def test_floats_are_the_nearest_ones(word: bytes) -> None:
    numbers, count = read_floats(fields([word]))
    assert (count, numbers[0].hex()) == (1, float(word).hex())


def test_times() -> None:
    odd = np.zeros(6, np.bool_)
    words = [b" +5 ", b"-3", b"inf", b"soon", b"1700000000000000000", b""]
    times = read_times(fields(words), True, odd)
    assert odd.tolist() == [False, False, False, True, False, True]
    assert times[~odd].tolist() == [5, -3, OPEN_END, 1_700_000_000_000_000_000]


def test_many_texts() -> None:
    words = [b"word%d" % number for number in range(9000)]
    numbers, rows = number_texts(fields([*words, *words]))
    assert numbers.tolist() == 2 * list(range(9000))
    assert rows.tolist() == list(range(9000))


@pytest.mark.parametrize("seed", range(60))
def test_numbers_equal_those_of_the_twins(seed: int) -> None:
    print("seed", seed)
    given = drawn(seed)
    lows = given.lows
    integers, floats = np.zeros((2, len(lows)), np.int64), np.zeros((2, len(lows)))
    counts = (
        text_fields._read_integers(*given, integers[0]),
        text_fields._read_integers_plain(*given, integers[1]),
    )
    assert counts[0] == counts[1]
    assert integers[0, : counts[0]].tolist() == integers[1, : counts[0]].tolist()
    powers = text_fields._POWERS
    counts = (
        text_fields._read_floats(*given, powers, floats[0]),
        text_fields._read_floats_plain(*given, powers, floats[1]),
    )
    assert counts[0] == counts[1]
    assert floats[0, : counts[0]].tolist() == floats[1, : counts[0]].tolist()


@pytest.mark.parametrize("seed", range(60))
def test_numbers_of_both_kinds_equal_those_of_the_twin(seed: int) -> None:
    print("seed", seed)
    given = drawn(seed)
    size = len(given.lows)
    kinds, integers = np.zeros((2, size), np.uint8), np.zeros((2, size), np.int64)
    floats = np.zeros((2, size))
    for row, read in enumerate((text_fields._read_numbers, text_fields._read_numbers_plain)):
        read(*given, text_fields._POWERS, kinds[row], integers[row], floats[row])
    assert kinds[0].tolist() == kinds[1].tolist()
    for kind, numbers in ((text_fields.INTEGER, integers), (text_fields.FLOAT, floats)):
        assert numbers[0][kinds[0] == kind].tolist() == numbers[1][kinds[0] == kind].tolist()


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("may_be_open", [0, 1])
def test_times_equal_those_of_the_twin(seed: int, may_be_open: int) -> None:
    print("seed", seed)
    given = drawn(seed)
    times, odd = np.zeros((2, len(given.lows)), np.int64), np.zeros((2, len(given.lows)), np.bool_)
    text_fields._read_times(*given, may_be_open, times[0], odd[0])
    text_fields._read_times_plain(*given, may_be_open, times[1], odd[1])
    assert odd[0].tolist() == odd[1].tolist()
    assert times[0][~odd[0]].tolist() == times[1][~odd[0]].tolist()


@pytest.mark.parametrize("seed", range(60))
def test_equal_texts_are_numbered_as_by_the_twin(seed: int) -> None:
    print("seed", seed)
    given = drawn(seed)
    numbers, rows = number_texts(given)
    written = given.all_written()
    distinct = list(dict.fromkeys(written))
    assert [distinct[number] for number in numbers.tolist()] == written
    assert [written[row] for row in rows.tolist()] == distinct
    offsets, copied = copy_texts(given)
    assert copied.tobytes() == b"".join(written)
    assert np.diff(offsets).tolist() == [len(word) for word in written]
