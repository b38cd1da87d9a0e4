"""Clocks on columns show what they show one by one, in zones of all kinds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.knowledge.zone_clock import CLOCK_RANGES, clock_function, zone_named, zone_number
from cernis.operators.clock_columns import CLOCK_OPERATIONS

ZONES = ("UTC", "+05:30", "Europe/Athens", "America/St_Johns", "Australia/Lord_Howe",
         "Africa/Cairo", "Pacific/Apia", "America/Havana")  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_columns_show_what_single_times_show(zone: str) -> None:
    """Beirut and Cairo skip midnight, Havana shows it twice, and Apia lost a day."""
    random, seed = Random(zone), zone
    day = 1_325_203_200
    times = [random.randrange(0, 1_800_000_000) for _ in range(300)]
    times += [day + random.randrange(-90_000, 90_000) for _ in range(60)]
    times += [1_430_000_000 + 86_400 * number + 79_200 for number in range(400)]
    for name in CLOCK_RANGES:
        for per_second in (1, 1000):
            points = np.array(times, np.int64) * per_second + (per_second > 1) * 7
            constants = [np.array([each]) for each in (zone_number(zone), per_second)]
            found = CLOCK_OPERATIONS[name, 3](points, *constants).tolist()
            expected = [
                clock_function(name, point, zone_number(zone), per_second)
                for point in points.tolist()
            ]
            assert found == expected, f"{name}, seed {seed}"


def test_the_day_begins_not_after_the_time() -> None:
    for zone in ZONES:
        for time in range(1_300_000_000, 1_460_000_000, 40_000):
            start = clock_function("date", time, zone_number(zone), 1)
            assert start <= time < start + 27 * 3600, (zone, time)


def test_what_is_no_time_of_a_date_has_no_hour() -> None:
    constants = [np.array([each]) for each in (zone_number("UTC"), 1)]
    shown = CLOCK_OPERATIONS["hour", 3](np.array([3600, 1 << 60]), *constants)
    assert shown[0] == 1
    assert np.isnan(shown[1])
    assert np.isnan(CLOCK_OPERATIONS["hour", 3](np.array([0.5]), *constants)).all()
    with pytest.raises(ValueError, match="too far"):
        clock_function("hour", 1 << 60, zone_number("UTC"), 1)


def test_numbers_of_zones_lead_back_to_them() -> None:
    """As in a process that has not seen their names."""
    from zoneinfo import available_timezones

    names = sorted(available_timezones())
    assert len({zone_number(name) for name in names}) == len(names)
    zone_named.cache_clear()
    assert zone_named(zone_number("-09:30")) == "-09:30"
    with pytest.raises(ValueError, match="no zone"):
        zone_named(-1)
