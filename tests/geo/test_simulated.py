"""What simulated vessels do is recognised: from positions over events to the fluents of the rules.

The tolerance is a minute at each end of an interval: three positions of a moving vessel. A vessel
that does not move reports every three minutes, and one report in twenty is lost; what begins or
ends with its silence is known to two reports.
"""

import pytest

from cernis.geo.events import positions_to_events
from cernis.geo.parameters import Parameters
from examples.maritime.recognised import areas_of, recognised
from examples.maritime.simulate import SCORED, Score, Simulation, score, simulate

TOLERANCE, SILENT = 60, 2 * 200
UNSURE = ("gap", "anchoredOrMoored")


def scores(simulation: Simulation, parameters: Parameters | None = None) -> dict[str, Score]:
    intervals = recognised(simulation, parameters).intervals
    close = score(intervals, simulation.truth, TOLERANCE)
    loose = score(intervals, simulation.truth, SILENT)
    return {name: loose[name] if name in UNSURE else own for name, own in close.items()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_planted_is_found_and_nothing_else(seed: int) -> None:
    print(f"seed {seed}")
    simulation = simulate(40, seed, bad=0.002)
    found = scores(simulation)
    assert set(found) == set(SCORED)
    for name, own in found.items():
        assert own.planted >= 4, name
        assert own.missed == [], name
        assert own.wrong == [], name


def test_bad_positions_are_set_aside_and_counted() -> None:
    simulation = simulate(20, 5, bad=0.003)
    assert min(simulation.bad.values()) > 20
    aside = positions_to_events(simulation.positions).set_aside["reason"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in aside} == simulation.bad


def test_thinned_velocities_still_show_what_is_planted() -> None:
    simulation = simulate(40, 4)
    thin = Parameters(velocity_every=180)
    found = scores(simulation, thin)
    for name, own in found.items():
        assert (own.missed, own.wrong) == ([], []), name
    counts = [
        len(positions_to_events(simulation.positions, own).relations["velocity"])
        for own in (Parameters(), thin)
    ]
    assert counts[1] < counts[0] / 4


def test_the_same_seed_gives_the_same_simulation() -> None:
    one, two, other = simulate(10, 1), simulate(10, 1), simulate(10, 2)
    assert one.positions.equals(two.positions)
    assert one.truth.equals(two.truth)
    assert not one.positions.equals(other.positions)


# The checks above can fail.


def test_a_truth_elsewhere_is_missed() -> None:
    simulation = simulate(10, 1)
    intervals = recognised(simulation).intervals
    start = simulation.truth.column_names.index("start")
    later = [start + 500 for start in simulation.truth["start"].to_pylist()]
    found = score(intervals, simulation.truth.set_column(start, "start", [later]), TOLERANCE)
    assert all(own.recall == 0 and own.precision == 0 for own in found.values())
    assert all(own.planted == len(own.missed) > 0 for own in found.values())


def test_parameters_matter() -> None:
    simulation = simulate(20, 1)
    assert scores(simulation, Parameters(proximity_distance=20.0))["rendezVous"].recall == 0
    assert scores(simulation, Parameters(gap_period=9_000))["gap"].recall == 0
    assert scores(simulation, Parameters(turn_angle=170.0))["trawling"].recall == 0
    assert scores(simulation, Parameters(slow_speed=15.0))["loitering"].precision < 1


def test_without_areas_nothing_is_near_anything() -> None:
    simulation = simulate(10, 1)
    found = positions_to_events(simulation.positions)
    assert len(found.relations["entersArea"]) == 0
    assert len(
        positions_to_events(simulation.positions, areas=areas_of(simulation)).relations[
            "entersArea"
        ]
    )
