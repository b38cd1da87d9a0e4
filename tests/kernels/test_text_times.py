"""Dates and times in fields of a text, compiled and not."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import numpy as np
import pytest

from cernis.kernels import text_times
from cernis.kernels.text_times import CLOCK, INSTANT, NO_TIME, TOO_FINE, read_written_times
from tests.kernels.test_text_fields import fields

ODD = [
    "", " ", "7", "soon", "2026-03", "2026-3-29", "2026-02-29", "2024-02-30", "2026-13-01",
    "2026-00-10", "2026-04-31", "0000-01-01", "2026-03-29T", "2026-03-29T03", "2026-03-29T24:00",
    "2026-03-29T23:60", "2026-03-29T23:59:60", "2026-03-29T03:00:00.", "2026-03-29T03:00.5",
    "2026-03-29T03:00:00.1234567890", "2026-03-29T03:00+2", "2026-03-29T03:00+24:00",
    "2026-03-29T03:00 UTC", "2026-03-29Z", "2026-03-29_03:00", "2026/03/29", "12026-03-29",
    "2026-03-29T03:00:00Zx", "2026-03-29T03:00:00+02:0", "2026-03-29T03-00", "-2026-03-29",
]  # fmt: skip
UNITS = [1, 1_000, 1_000_000, 1_000_000_000]


def drawn(random: Random) -> str:
    """A time of the usual form, or one with a character that is changed or missing."""
    if random.random() < 0.2:
        return random.choice(ODD)
    text = f"{random.randrange(1, 10_000):04}-{random.randrange(1, 13):02}-"
    text += f"{random.randrange(1, 32):02}"
    if random.random() < 0.9:
        text += f"{random.choice('T ')}{random.randrange(24):02}:{random.randrange(60):02}"
        if random.random() < 0.8:
            text += f":{random.randrange(60):02}"
            if random.random() < 0.5:
                text += "." + "".join(random.choices("0123456789", k=random.randrange(1, 10)))
        text += random.choice(["", "", "Z", "+02:00", "-1130", "+0000"])
    if random.random() < 0.2:
        place = random.randrange(len(text))
        text = text[:place] + random.choice(["", "x", "0", " "]) + text[place + 1 :]
    return random.choice(["", "", " ", "\t"]) + text + random.choice(["", "", " "])


@pytest.mark.parametrize("seed", range(40))
def test_times_equal_those_of_the_twin(seed: int) -> None:
    print("seed", seed)
    random = Random(seed)
    written = fields([drawn(random).encode() for _ in range(50)])
    per_second = random.choice(UNITS)
    ticks, kinds = np.zeros((2, 50), np.int64), np.zeros((2, 50), np.uint8)
    for row, read in enumerate((text_times._read_written, text_times._read_written_plain)):
        read(*written, per_second, ticks[row], kinds[row])
    assert kinds[0].tolist() == kinds[1].tolist()
    assert ticks[0].tolist() == ticks[1].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_times_are_those_of_the_calendar(seed: int) -> None:
    print("seed", seed)
    random = Random(seed)
    times = [
        datetime(random.randrange(1, 10_000), random.randrange(1, 13), random.randrange(1, 29),
                 random.randrange(24), random.randrange(60), random.randrange(60), tzinfo=UTC)
        for _ in range(100)
    ]  # fmt: skip
    read = read_written_times(fields([time.isoformat().encode() for time in times]), 1)
    assert read.kinds.tolist() == [INSTANT] * 100
    passed = [time - datetime(1970, 1, 1, tzinfo=UTC) for time in times]
    assert read.ticks.tolist() == [each.days * 86_400 + each.seconds for each in passed]


def test_what_is_finer_than_the_unit_is_rounded_down_and_marked() -> None:
    words = [b"1969-12-31T23:59:59.25", b"1970-01-01 00:00:00.250Z", b"1970-01-01"]
    read = read_written_times(fields(words), 1)
    assert read.kinds.tolist() == [CLOCK | TOO_FINE, INSTANT | TOO_FINE, CLOCK]
    assert read.ticks.tolist() == [-1, 0, 0]
    read = read_written_times(fields(words), 1_000)
    assert (read.kinds.tolist(), read.ticks.tolist()) == ([CLOCK, INSTANT, CLOCK], [-750, 250, 0])


def test_what_is_of_another_form_or_too_far_is_no_time() -> None:
    read = read_written_times(fields([word.encode() for word in ODD]), 1)
    assert read.kinds.tolist() == [NO_TIME] * len(ODD)
    far = read_written_times(fields([b"9999-01-01", b"2026-01-01"]), 1_000_000_000)
    assert far.kinds.tolist() == [NO_TIME, CLOCK]
