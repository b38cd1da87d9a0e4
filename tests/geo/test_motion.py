"""Critical points of tracks made by hand."""

import pyarrow as pa

from tests.geo.tables import events, table, track


def shifted(positions: pa.Table, seconds: int) -> pa.Table:
    return positions.set_column(1, "t", pa.array(positions["t"].to_numpy() + seconds))


def test_a_vessel_that_goes_on_steadily_has_velocities_only() -> None:
    assert events(track([10.0] * 5, course=30.0)) == {
        "velocity": [(60 * at, 1, 10.0, 30.0, 511) for at in range(5)]
    }


def test_a_stop() -> None:
    found = events(track([10.0, 10.0, 0.2, 0.1, 0.0, 0.3, 10.0, 10.0]))
    assert found["stop_start"] == [(120, 1)]
    assert found["stop_end"] == [(360, 1)]
    assert "slow_motion_start" not in found


def test_a_stop_needs_some_positions() -> None:
    assert "stop_start" not in events(track([10.0, 0.2, 0.1, 10.0]))
    assert events(track([10.0, 0.2, 0.1, 10.0]), stop_points=2)["stop_start"] == [(60, 1)]


def test_a_stop_goes_on_while_the_vessel_sways_about() -> None:
    swaying = [10.0, 0.2, 0.1, 1.0, 0.2, 1.5, 0.0, 10.0]
    found = events(track(swaying))
    assert (found["stop_start"], found["stop_end"]) == ([(60, 1)], [(420, 1)])
    # 1.5 knots for ten minutes lead far from where the stop began.
    away = events(track([0.1, 0.1, 0.1, 1.5, 1.5, 1.5], every=600))
    assert (away["stop_start"], away["stop_end"]) == ([(0, 1)], [(2400, 1)])


def test_slow_motion_is_what_is_no_stop() -> None:
    found = events(track([10.0, 4.0, 3.0, 3.0, 0.1, 0.1, 0.1, 4.0, 4.0, 4.0, 4.0, 9.0], every=300))
    # At the first position at 4 knots again, the vessel is still where it had stopped.
    assert found["slow_motion_start"] == [(300, 1), (2400, 1)]
    assert found["slow_motion_end"] == [(1200, 1), (3300, 1)]
    assert (found["stop_start"], found["stop_end"]) == ([(1200, 1)], [(2400, 1)])


def test_a_gap() -> None:
    one = track([10.0] * 3)
    found = events(pa.concat_tables([one, shifted(one, 5_000)]))
    assert (found["gap_start"], found["gap_end"]) == ([(120, 1)], [(5_000, 1)])
    assert "gap_start" not in events(pa.concat_tables([one, shifted(one, 120 + 1800)]))


def test_what_a_gap_cuts_off_does_not_end_and_begins_anew() -> None:
    idle = track([0.0] * 3)
    found = events(pa.concat_tables([idle, shifted(idle, 5_000)]))
    assert found["stop_start"] == [(0, 1), (5_000, 1)]
    assert "stop_end" not in found


def test_silence_at_the_end_is_a_gap_if_the_end_is_known() -> None:
    both = pa.concat_tables([track([10.0] * 2), track([10.0] * 30, vessel=2)])
    assert "gap_start" not in events(both)
    assert events(both, until=1_900)["gap_start"] == [(60, 1)]
    assert "gap_end" not in events(both, until=1_900)
    assert "gap_start" not in events(both, until=1_860)


def test_a_change_of_speed_lasts_until_the_mean_has_caught_up() -> None:
    found = events(track([10.0] * 6 + [14.0] * 8), speed_points=4)
    # Means before the new speed: 10, 11, 12, 13; 14 is a quarter more than 11, not than 12.
    assert found["change_in_speed_start"] == [(360, 1)]
    assert found["change_in_speed_end"] == [(480, 1)]


def test_idle_vessels_do_not_change_their_speed() -> None:
    assert "change_in_speed_start" not in events(track([0.1, 0.4, 0.0, 0.3, 0.2]))


def turning(courses: list[float], speed: float = 10.0) -> pa.Table:
    return table([
        (1, 60 * at, 0.001 * at, 0.0, speed, course, 511) for at, course in enumerate(courses)
    ])  # fmt: skip


def test_turns_at_once_and_little_by_little() -> None:
    assert events(turning([0, 20, 20, 4, 355]))["change_in_heading"] == [(60, 1), (180, 1)]
    assert events(turning([350, 0, 10, 20, 30]))["change_in_heading"] == [(120, 1), (240, 1)]
    assert "change_in_heading" not in events(turning([350, 5, 352, 4, 350]))


def test_the_course_of_an_idle_vessel_means_nothing() -> None:
    assert "change_in_heading" not in events(turning([0, 90, 180, 270], speed=0.2))


def test_velocities_can_be_thinned() -> None:
    steady = events(track([10.0] * 10), velocity_every=180)
    assert [row[0] for row in steady["velocity"]] == [0, 180, 360, 540]
    turned = events(turning([0] * 4 + [40] * 6), velocity_every=180)
    assert [row[0] for row in turned["velocity"]] == [0, 180, 240, 420]


def test_arrivals_say_when_events_are_known() -> None:
    from cernis.geo.events import positions_to_events

    one = track([10.0, 0.1, 0.1, 0.1, 10.0])
    found = positions_to_events(pa.concat_tables([one, shifted(one, 9_000)]), arrivals=True)
    stops, gaps = (found.relations[name].to_pylist() for name in ("stop_start", "gap_start"))
    assert [(row["arrival"], row["occurrence"]) for row in stops] == [(180, 60), (9_180, 9_060)]
    assert [(row["arrival"], row["occurrence"]) for row in gaps] == [(240 + 1_801, 240)]
