"""Times of tests are read in every way they may be written, and shown in the same way."""

import pytest

from cernis.errors import DataError
from cernis.syntax.time_scale import TimeScale
from cernis.testing.case_times import CaseClock, TimeStyle, style_of

NOON = 1_769_860_800  # 2026-01-31T12:00:00Z


@pytest.mark.parametrize(
    ("text", "origin", "point"),
    [
        ("17", 5, 17),
        ("-3", 5, -3),
        ("10min", 5, 605),
        ("1h30min", 0, 5400),
        ("0s", 7, 7),
        ("10:05", 0, 36300),
        ("10:05:30", 0, 36330),
        ("10:05", NOON, NOON - 6900),
        ("25:00", NOON, NOON + 13 * 3600),
        ("2026-01-31T12:00:10", 0, NOON + 10),
        ("2026-01-31 12:00", 0, NOON),
    ],
)
def test_a_time_is_read_and_shown(text: str, origin: int, point: int) -> None:
    clock = CaseClock(TimeScale(), origin, style_of(text))
    assert clock.read(text) == point
    assert clock.read(clock.show(point)) == point


def test_finer_units_and_zones() -> None:
    clock = CaseClock(TimeScale("ms", "Europe/Athens"), NOON * 1000, TimeStyle.CLOCK)
    assert clock.read("14:00:00.250") == NOON * 1000 + 250
    assert clock.show(NOON * 1000 + 250) == "14:00:00.250"
    assert clock.read("250ms") == NOON * 1000 + 250


@pytest.mark.parametrize("text", ["soon", "10minutos", "2026-13-01", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"time|length"):
        CaseClock().read(text)
