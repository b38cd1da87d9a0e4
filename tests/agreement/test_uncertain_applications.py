"""The applications over uncertain records: what noise leaves of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cernis
from cernis.answers.accuracy import compare, learn_durations
from cernis.answers.noise import gamma_confidences
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.program import Program
from examples.surveillance.generate import TICK, generate

EXAMPLES = Path(__file__).parents[2] / "examples"
EVENTS = ("walking", "running", "active", "inactive", "abrupt")
RECORDS = 24_000


@pytest.fixture(scope="module")
def surveillance() -> Program:
    folder = EXAMPLES / "surveillance"
    return cernis.load(folder / "uncertain.cer", [folder / "facts.cer"])


def scenes(mean: float | None, touched: tuple[str, ...] = EVENTS) -> dict[str, pa.Table]:
    chance = np.random.default_rng(3)
    tables = {}
    for name, table in generate(RECORDS, 6, 2).items():
        columns = {"val" if t == "value" else t: table[t] for t in table.column_names}
        if mean is not None and name in touched:
            times = table["occurrence"].to_numpy()
            columns["probability"] = pa.array(gamma_confidences(times, chance, mean, mean))
        tables[name] = pa.table(columns)
    return tables


def test_without_noise_all_is_certain(surveillance: Program) -> None:
    found = surveillance.run_uncertain(scenes(None))
    assert set(found.probabilities["probability"].to_pylist()) == {1.0}
    crisp = surveillance.run(scenes(None), ties="initiation")
    rows = found.intervals.drop_columns(["probability"]).to_pylist()
    assert rows == crisp.intervals.to_pylist()
    assert {row["fluent"] for row in rows} == {"person", "moving", "meeting", "fighting"}


@pytest.mark.parametrize("touched", [EVENTS, (*EVENTS, "coord", "orientation")])
def test_noise_leaves_what_happened(surveillance: Program, touched: tuple[str, ...]) -> None:
    crisp = surveillance.run(scenes(None), ties="initiation").intervals.to_pylist()
    found = surveillance.run_uncertain(scenes(0.7, touched)).intervals.to_pylist()
    for row in crisp:
        if row["fluent"] in ("moving", "meeting") and row["end"] - row["start"] > 40 * TICK:
            overlapping = [
                other for other in found
                if (other["fluent"], other["args"]) == (row["fluent"], row["args"])
                and other["start"] < row["end"] and (other["end"] or row["end"]) > row["start"]
            ]  # fmt: skip
            assert overlapping, row


def test_durations_help_a_small_memory(surveillance: Program) -> None:
    result = surveillance.run_uncertain(scenes(1.5))
    end = result.summary.end
    known = {name: own for name, (own, _) in learn_durations(result.answer, TICK, end).items()}
    chosen = UncertainSettings(memory=10, durations=known)
    bounds = (result.summary.start, end, TICK)
    scores = {
        (each.fluent, each.variant): each.points.f1
        for each in compare(result.answer, bounds, chosen, [10])
    }
    for fluent in ("moving/2", "meeting/2", "fighting/2"):
        assert scores[fluent, "bd"] > 0.8, fluent


def test_rendez_vous_and_tugging() -> None:
    pytest.importorskip("shapely")
    import tempfile

    from examples.maritime.simulate import simulate
    from examples.maritime.uncertain import uncertain_events

    simulation = simulate(20, 5)
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.cer"
        facts.write_text(simulation.facts)
        program = cernis.load(EXAMPLES / "maritime" / "uncertain.cer", [facts])
    near, far = (program.run_uncertain(uncertain_events(simulation, c)) for c in (1e9, 5e3))
    for fluent in ("rendezVous", "tugging"):
        assert len(near.fluent(fluent)) >= 1
        assert len(far.fluent(fluent)) >= 1
    truth = {
        (row["fluent"], str(row["vessel1"]), str(row["vessel2"]))
        for row in simulation.truth.to_pylist() if row["fluent"] in ("rendezVous", "tugging")
    }  # fmt: skip
    found = {(row["fluent"], *row["args"]) for row in near.intervals.to_pylist()}
    assert truth <= found
